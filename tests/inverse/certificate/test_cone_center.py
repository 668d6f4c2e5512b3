"""Certificates of circumcenters that must be refused: cones that rays do not span, and angles beyond a right one."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from surefoot.core.enclosure import Enclosure, computing_in
from surefoot.core.solve_options import SolveOptions
from surefoot.inverse.certificate.cone_center import certify_rays
from surefoot.inverse.cone.cone_cover import cone_cover
from surefoot.inverse.problem.decision_set import ListedSet
from surefoot.inverse.problem.distance import NO_DISTANCE
from surefoot.inverse.problem.hypothesis import LinearFeatures
from surefoot.inverse.problem.prior_set import PriorSet
from surefoot.inverse.problem.problem import Example, Instance, InverseProblem, Regularizer
from surefoot.inverse.problem.ray_proof import ConeCover, RayProof, largest_angle


def chosen_zero(decisions: list[list[float]]) -> InverseProblem:
    """0 was chosen among these decisions: a cost c is consistent exactly if c . x >= 0 for all of them."""
    points = np.array([[0.0] * len(decisions[0]), *decisions])
    p = points.shape[1]
    example = Example(Instance(0, ListedSet(points), LinearFeatures(np.eye(p), np.zeros(p))), np.zeros(p))
    return InverseProblem((example,), NO_DISTANCE, Regularizer("l2", np.zeros(p)), 1.0, PriorSet.of(None, p))


def proof_of(decisions: list[list[float]], rays: list[list[float]]) -> RayProof:
    """All decisions, and rays of equal weight."""
    owners = np.zeros(len(decisions), dtype=np.int32)
    weights = np.full(len(rays), 1.0 / len(rays))
    axis = np.mean(rays, axis=0) / (np.linalg.norm(np.mean(rays, axis=0)) or 1.0)
    slope = np.tan(largest_angle(axis, np.array(rays))) if axis.any() else 0.0
    normals = -np.array(decisions).reshape(len(decisions), len(rays[0]))
    cover = cone_cover(normals, axis, lambda v: float(np.linalg.norm(v - (v @ axis) * axis)), slope + 1e-9, SolveOptions())
    return RayProof(owners, tuple(np.array(point) for point in decisions), np.array(rays), weights, cover=cover)


@pytest.mark.parametrize(
    ("decisions", "named", "rays", "theta"),
    [
        # Every cost of a plane is consistent; one of them is named.
        ([[1.0, 0.0, 0.0], [-1.0, 0.0, 0.0]], 2, [[0.0, 1.0, 0.0]], [0.0, 1.0, 0.0]),
        # A wedge has its edge as the only extreme line, and this vector points away from it.
        ([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], 2, [[0.0, 0.0, 1.0], [0.0, 0.0, -1.0]], [-1.0, -1.0, 0.0]),
        # No decision is named, so that all of space is left.
        ([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], 0, [[0.0, 0.0, 1.0]], [0.0, 0.0, 1.0]),
    ],
)
def test_a_cone_that_holds_a_line_is_not_spanned_by_rays(decisions: list, named: int, rays: list, theta: list) -> None:
    certificate = certify_rays(chosen_zero(decisions), np.array(theta), proof_of(decisions[:named], rays), 1e-6)
    assert not certificate.verified


def test_a_pointed_cone_is_still_certified() -> None:
    decisions = [[1.0, 0.0], [0.0, 1.0]]
    certificate = certify_rays(chosen_zero(decisions), np.ones(2), proof_of(decisions, [[1.0, 0.0], [0.0, 1.0]]), 1e-6)
    assert certificate.verified
    assert certificate.upper_bound == pytest.approx(np.pi / 4)


@pytest.mark.parametrize("theta", [[-1.0, -1.0], [-1.0, -0.5], [1.0, -0.1], [1.0, 0.0], [2.0, 1.0]])
def test_no_consistent_cost_is_farther_than_the_claim_says(theta: list[float]) -> None:
    """Beyond a right angle a sum of rays may be farther than each of them."""
    decisions = [[1.0, 0.0], [0.0, 1.0]]
    certificate = certify_rays(chosen_zero(decisions), np.array(theta), proof_of(decisions, [[1.0, 0.0], [0.0, 1.0]]), 1e-6)
    turns = np.linspace(0.0, np.pi / 2, 91)
    products = (np.cos(turns) * theta[0] + np.sin(turns) * theta[1]) / np.linalg.norm(theta)
    assert np.arccos(np.clip(products, -1.0, 1.0)).max() <= certificate.upper_bound + 1e-9


def quarter(prices: list[list[float]], rays: list[list[float]] | None = None) -> RayProof:
    """Costs without negative entries are consistent; the three cones of e_1, e_2 and -e_1 - e_2 are the leaves of the cover.

    Each of these corners is a sum of the first two rays, or as far from them as it is long.
    """
    named = np.array([[1.0, 0.0], [0.0, 1.0]] if rays is None else rays)
    cover = ConeCover(np.zeros(3, dtype=np.bool_), np.empty((0, 2)), np.array(prices), np.eye(3, len(named)), np.ones(2))
    proof = proof_of([[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [0.0, 1.0]])
    return replace(proof, cover=cover, rays=named, weights=np.full(len(named), 1.0 / len(named)))


@pytest.mark.parametrize(
    ("prices", "angle"),
    [
        # Behind the axis the half-space that e_1 touches has to pull; then e_2.
        ([[0.0, 0.0], [0.0, 2.0], [2.0, 0.0]], np.pi / 4),
        ([[0.0, 0.0], [0.0, np.sqrt(2) + 1e-9], [np.sqrt(2) + 1e-9, 0.0]], np.pi / 4),
        # Too little of it, or none.
        ([[0.0, 0.0], [0.0, 1.4], [2.0, 0.0]], np.pi),
        ([[0.0, 0.0], [0.0, 0.0], [2.0, 0.0]], np.pi),
        ([[0.0, 0.0], [0.0, 2.0], [0.0, 0.0]], np.pi),
        # The other half-space pushes the corner e_1 up by as much.
        ([[0.0, 0.0], [2.0, 0.0], [2.0, 0.0]], np.pi),
        ([[0.0, 0.0], [0.0, 2.0], [0.0, 2.0]], np.pi),
        # 1 + sqrt(2) at e_2: h is sqrt(1/2), and so is its component along the axis.
        ([[0.0, 1.0], [0.0, 9.0], [9.0, 0.0]], np.arctan(1.0 + np.sqrt(2.0))),
        ([[0.0, 0.0], [0.0, -2.0], [2.0, 0.0]], np.pi),
        # Multipliers below 0 would pull every corner down.
        ([[-1.0, -1.0], [-1.0, 3.0], [3.0, -1.0]], np.pi),
        ([[0.0, 0.0], [0.0, 2.0]], np.pi),
    ],
)
def test_a_cover_is_worth_what_its_worst_corner_is(prices: list[list[float]], angle: float) -> None:
    problem = chosen_zero([[1.0, 0.0], [0.0, 1.0]])
    certificate = certify_rays(problem, np.ones(2), quarter(prices), 1e-6)
    assert certificate.upper_bound == pytest.approx(angle, abs=1e-8)
    assert certificate.lower_bound == pytest.approx(np.pi / 4, abs=1e-8)
    assert certificate.verified == (angle == np.pi / 4)


@pytest.mark.parametrize("stray", [[-0.1, 1.0], [-1e-9, 1.0], [1.0, -1e-300], [0.0, 0.0], [np.nan, 1.0]])
def test_rays_must_be_consistent_costs(stray: list[float]) -> None:
    problem = chosen_zero([[1.0, 0.0], [0.0, 1.0]])
    proof = quarter([[0.0, 0.0], [0.0, 2.0], [2.0, 0.0]], [[1.0, 0.0], [0.0, 1.0], stray])
    refused = certify_rays(problem, np.ones(2), proof, 1e-6)
    assert not refused.verified
    saved = -min(stray)
    if saved > 0:
        # What a decision saves at a ray is said: the bounds are about all costs at which none saves more.
        named = re.search(r"no decision saves more than (\S+) times their largest entry", refused.claim)
        assert named is not None and saved <= float(named.group(1)) <= 1.02 * saved + 1e-15
    else:
        assert "the proof is refused" in refused.claim
    inside = replace(proof, rays=np.array([[1.0, 0.0], [0.0, 1.0], [1e-300, 1.0]]))
    assert certify_rays(problem, np.ones(2), replace(inside, weights=np.array([0.5, 0.5, 0.0])), 1e-6).verified


@pytest.mark.parametrize("saved", [1e-3, 0.1, 0.3])
def test_what_a_ray_saves_widens_the_cone_that_is_bounded(saved: float) -> None:
    """Costs (a, 1) count as consistent for a >= -saved, so that the widest angle to (1, 1) is that of (-saved, 1).

    With multipliers y the corners say sqrt(1/2) + saved y <= t sqrt(1/2) at e_1 and e_2, and saved y - y <= -t sqrt(2) at
    (-1, -1): the least t that this cover proves is (1 - saved) / (1 - 3 saved).
    """
    problem = chosen_zero([[1.0, 0.0], [0.0, 1.0]])
    t = (1 - saved) / (1 - 3 * saved)
    price = t * 2**0.5 / (1 - saved) * (1 + 1e-9)
    proof = quarter([[0.0, 0.0], [0.0, price], [price, 0.0]], [[1.0, -saved], [-saved, 1.0]])
    certificate = certify_rays(problem, np.ones(2), proof, 1e-6)
    assert certificate.lower_bound == pytest.approx(np.pi / 4 + np.arctan(saved), abs=1e-9)
    assert certificate.upper_bound == pytest.approx(np.arctan(t), abs=1e-7) and not certificate.verified
    # More than rounding is saved: however near the bounds are, that is not what anybody means by a consistent cost.
    near = certify_rays(problem, np.ones(2), proof, 0.9)
    assert near.relative_gap < 0.9 and not near.verified and "ray 0 of the proof explains observation 0" in near.trust
    short = certify_rays(problem, np.ones(2), quarter([[0.0, 0.0], [0.0, 1.4143], [1.4143, 0.0]], proof.rays.tolist()), 1e-6)
    assert short.upper_bound == np.pi


@pytest.mark.parametrize("first", [0.5, 0.9, 0.2])
def test_an_ellipsoid_around_two_ends_is_as_long_as_its_farther_half(first: float) -> None:
    """The ends are sqrt(2) apart: any weights bound the half axis from below by their deviation, and that of an ellipsoid
    around the weighted mean is the distance of the farther end."""
    problem = chosen_zero([[1.0, 0.0], [0.0, 1.0]])
    proof = replace(quarter([[0.0, 0.0], [0.0, 2.0], [2.0, 0.0]]), weights=np.array([first, 1.0 - first]))
    theta = np.array([first, 1.0 - first])
    found = certify_rays(problem, theta, proof, 1e-6, ellipsoid=True)
    assert found.lower_bound == pytest.approx(np.log(np.sqrt(2.0 * first * (1.0 - first))), abs=1e-9)
    assert found.upper_bound == pytest.approx(np.log(np.sqrt(2.0) * max(first, 1.0 - first)), abs=1e-9)
    assert found.verified == (first == 0.5)
    assert "not the centre" in certify_rays(problem, theta + np.array([0.1, 0.0]), proof, 1e-6, ellipsoid=True).claim
    assert "may lie outside" in certify_rays(problem, theta, replace(proof, cover=None), 1e-6, ellipsoid=True).claim


@pytest.mark.parametrize("arithmetic", ["double", "ball"])
def test_two_rays_that_are_nearly_one_span_one_direction_in_any_arithmetic(arithmetic: str) -> None:
    """Between ends that are 3.5e-8 apart rounding alone looks like a second direction, in which nothing is proven."""
    kind = Enclosure if arithmetic == "double" else pytest.importorskip("surefoot.core.flint_enclosure").FlintEnclosure
    a, b = 1.95836471e-08, 1.55745782e-08
    rays = [[-a, -1.0], [b, -1.0]]
    proof = proof_of([[1.0, -a], [-1.0, -b]], rays)
    problem = chosen_zero([[1.0, -a], [-1.0, -b]])
    middle = np.sum([np.array(ray) / np.linalg.norm(ray) for ray in rays], axis=0)
    with computing_in(kind):
        found = certify_rays(problem, middle, replace(proof, weights=np.array([0.5, 0.5])), 1e-6, ellipsoid=True)
    assert [found.lower_bound, found.upper_bound] == pytest.approx([np.log((a + b) / 2)] * 2, abs=1e-6)
