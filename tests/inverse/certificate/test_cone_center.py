"""Certificates of circumcenters that must be refused: cones that rays do not span, and angles beyond a right one."""

from __future__ import annotations

import numpy as np
import pytest

from surefoot.core.solve_options import SolveOptions
from surefoot.inverse.certificate.cone_center import certify_rays
from surefoot.inverse.cone.cone_cover import cone_cover
from surefoot.inverse.problem.decision_set import ListedSet
from surefoot.inverse.problem.distance import NO_DISTANCE
from surefoot.inverse.problem.hypothesis import LinearFeatures
from surefoot.inverse.problem.prior_set import PriorSet
from surefoot.inverse.problem.problem import Example, Instance, InverseProblem, Regularizer
from surefoot.inverse.problem.ray_proof import RayProof, largest_angle


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
