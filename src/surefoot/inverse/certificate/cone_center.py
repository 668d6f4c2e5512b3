"""Certificates of circumcenters and of costs with an ellipsoid around them, recomputed from the raw arrays.

Rays are checked to be consistent costs, and decisions to be decisions. That the rays are all there are is checked by listing
the extreme rays of the cone that the decisions leave, from every set of p - 1 half-spaces: slow, and with nothing in common
with how solvers find them.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from math import comb

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.core.certificate import Certificate, require_tolerance
from surefoot.inverse.certificate.certificate import decisions_flaw
from surefoot.inverse.certificate.decision_bound import decision_bound
from surefoot.inverse.certificate.listed_decisions import listed_decisions
from surefoot.inverse.certificate.parameters import MAX_LISTED, RayTolerances
from surefoot.inverse.problem.decision_proof import LossProof
from surefoot.inverse.problem.distance import NO_DISTANCE
from surefoot.inverse.problem.ellipsoidal_cost import (
    EllipsoidalCost,
    EllipsoidProof,
    ellipsoid_bound,
    ellipsoid_objective,
    moving_directions,
)
from surefoot.inverse.problem.problem import InverseProblem
from surefoot.inverse.problem.ray_proof import RayProof, ellipsoid_volumes, largest_angle, least_angle, widest_angle

TOLERANCES = RayTolerances()


def certify_rays(
    problem: InverseProblem,
    theta: FloatArray,
    proof: RayProof,
    tolerance: float,
    *,
    ellipsoid: bool = False,
    loss_proofs: Sequence[Sequence[LossProof | None]] | None = None,
) -> Certificate:
    """Judge a circumcenter: bounds are on the largest angle, in radians, or on the logarithm of the ellipsoid's volume.

    ``loss_proofs`` prove, for every ray and observation, that the ray explains the observation, where decisions are linear sets
    with unknowns that are not 0/1 or ellipsoids; without them the rays are taken on trust, which is then said and not verified.
    """
    require_tolerance(tolerance)
    stray, explained = _stray_ray(problem, proof.rays, loss_proofs)
    reason = decisions_flaw(problem, proof.owners, proof.points) or stray
    known = True
    if not reason and not proof.complete and not ellipsoid:
        return _partial(problem, theta, proof, tolerance, explained)
    if not reason:
        outer = _outer_rays(problem, proof)
        known = outer is not None and explained
        if outer is not None and not _covered(outer, proof.rays):
            reason = "the proof is refused because the cone that its decisions leave has rays that it does not name."
    if reason:
        return Certificate(reason, np.inf, -np.inf, np.inf, np.inf, tolerance, proof, False, problem.digest())
    if ellipsoid:
        upper, lower = ellipsoid_volumes(proof.rays, proof.weights)
        middle = np.maximum(proof.weights, 0.0) @ proof.rays
        off = 1.0 - float(middle @ theta) / float(np.linalg.norm(middle) * np.linalg.norm(theta))
        known = known and off <= TOLERANCES.gap
        text = f"an ellipsoid around all consistent costs has log volume {upper:.9g}, and none is below {lower:.9g}"
    else:
        upper, lower = largest_angle(theta, proof.rays), least_angle(proof.rays, proof.weights)
        # The farthest cost is a ray only up to a right angle; beyond it a sum of rays may be farther than each of them.
        upper = upper if upper <= np.pi / 2 else np.pi
        text = f"all consistent costs lie within {upper:.9g} rad of this one, and none has them within {lower:.9g}"
    gap = upper - lower
    verified = bool(known and gap <= tolerance * abs(upper) + TOLERANCES.gap)
    text += "." if known else ", if the rays are those of the consistent costs, which was not recomputed."
    return Certificate(
        text, upper, lower, gap, gap / abs(upper) if upper else gap, tolerance, proof, verified, problem.digest()
    )


def _partial(problem: InverseProblem, theta: FloatArray, proof: RayProof, tolerance: float, explained: bool) -> Certificate:
    """The verdict where other rays may exist: they bound the angle from below, and the prior set alone from above."""
    upper, lower = widest_angle(theta, problem.prior), least_angle(proof.rays, proof.weights)
    trust = "" if explained else ", if its rays are consistent, which was not recomputed"
    text = (
        f"no cost has all consistent costs within {lower:.9g} rad{trust}; that this one has them within {upper:.9g} is all "
        "that is proven, since the cone has too many rays to list."
    )
    gap = upper - lower
    return Certificate(text, upper, lower, gap, gap / upper if upper else gap, tolerance, proof, False, problem.digest())


def certify_ellipsoid(
    problem: InverseProblem, cost: EllipsoidalCost, proof: EllipsoidProof | None, tolerance: float
) -> Certificate:
    """Judge a cost with an ellipsoid around it and what is said to prove it best."""
    require_tolerance(tolerance)
    slopes = _all_slopes(problem)
    if slopes is None:
        reason = "the decisions are too many to be listed, and nothing was checked."
        return Certificate(reason, np.inf, -np.inf, np.inf, np.inf, tolerance, proof, False, problem.digest())
    moving = moving_directions(np.vstack(slopes))
    extent = moving @ (moving.T @ cost.shape @ moving)
    losses = np.array([max(0.0, float((g @ cost.theta + np.linalg.norm(g @ extent, axis=1)).max())) for g in slopes])
    reason = ""
    if np.linalg.norm(cost.theta) > 1 + TOLERANCES.inside or problem.prior.excess(cost.theta) > TOLERANCES.inside:
        reason = "the cost vector is longer than 1, or outside its prior set."
    if problem.hard and losses.max() > TOLERANCES.inside:
        reason = f"the room around the cost reaches a decision of observation {problem.examples[int(np.argmax(losses))].index}."
    upper = np.inf if reason else ellipsoid_objective(problem, cost, losses, moving)
    lower = -np.inf
    if proof is not None:
        wrong = decisions_flaw(problem, proof.owners, proof.points)
        if wrong or not (len(proof.owners) == len(proof.weights) == len(proof.directions)):
            reason = reason or wrong or "the proof is refused because its parts differ in number."
        else:
            lower = ellipsoid_bound(problem, problem.cuts(proof.owners.tolist(), proof.points).slopes, proof, moving)
    gap = upper - lower
    verified = bool(not reason and np.isfinite(gap) and gap <= tolerance * abs(upper) + TOLERANCES.gap)
    p, order = moving.shape
    where = "" if order == p else f", with room in the {order} of {p} directions in which decisions vary"
    claim = reason or f"no cost has an objective below {lower:.9g}; this one has {upper:.9g}{where}."
    return Certificate(
        claim, upper, lower, gap, gap / abs(upper) if upper else gap, tolerance, proof, verified, problem.digest()
    )


def _all_slopes(problem: InverseProblem) -> list[FloatArray] | None:
    """The slopes of all decisions, observation by observation, or None if they are too many."""
    found = []
    for example in problem.examples:
        points = listed_decisions(example.instance.decisions, MAX_LISTED)
        if points is None:
            return None
        found.append(example.slopes(points))
    return found


def _stray_ray(
    problem: InverseProblem, rays: FloatArray, loss_proofs: Sequence[Sequence[LossProof | None]] | None
) -> tuple[str, bool]:
    """What is wrong with the rays, or nothing, and whether all of them are known to explain all observations."""
    known = True
    for k, ray in enumerate(rays):
        if problem.prior.excess(ray) > TOLERANCES.inside:
            return "the proof is refused because one of its rays lies outside the prior set.", known
        for i, example in enumerate(problem.examples):
            proof = None if loss_proofs is None else loss_proofs[k][i]
            bound = decision_bound(example, ray, NO_DISTANCE, 0.0, proof=proof)
            if bound is not None and bound > TOLERANCES.inside:
                return f"the proof is refused because one of its rays does not explain observation {example.index}.", known
            known = known and bound is not None
    return "", known


def _outer_rays(problem: InverseProblem, proof: RayProof) -> FloatArray | None:
    """Extreme rays of the cone that decisions and prior set leave; None if it is not pointed, or has too many sets to try."""
    prior, p = problem.prior, problem.n_features
    eye = np.eye(p)
    slopes = problem.cuts(proof.owners.tolist(), proof.points).slopes
    rows = np.vstack((slopes, -eye[prior.lower == 0], eye[prior.upper == 0], prior.matrix))
    size = np.linalg.norm(rows, axis=1)
    rows = np.unique(np.round(rows[size > 0] / size[size > 0][:, None], 12), axis=0)
    # A cone that holds a line is not the sum of its extreme rays: naming them all says nothing about the rest.
    pointed = rows.size > 0 and np.linalg.matrix_rank(rows) == p
    if p == 1 or not pointed or comb(len(rows), p - 1) > TOLERANCES.max_sets:
        return None
    found = []
    sets = np.array(list(itertools.combinations(range(len(rows)), p - 1)), dtype=np.int64).reshape(-1, p - 1)
    for start in range(0, len(sets), TOLERANCES.block):
        _, values, vectors = np.linalg.svd(rows[sets[start : start + TOLERANCES.block]])
        lines = vectors[values[:, -1] > TOLERANCES.rank, -1, :]
        both = np.vstack((lines, -lines))
        found.append(both[np.all(both @ rows.T <= TOLERANCES.half_space, axis=1)])
    return np.vstack(found)


def _covered(outer: FloatArray, rays: FloatArray) -> bool:
    unit = rays / np.linalg.norm(rays, axis=1)[:, None]
    return bool(outer.size == 0 or np.all((outer @ unit.T).max(axis=1) >= 1.0 - TOLERANCES.same_ray))
