"""Circumcenters of the cone of consistent costs, from its extreme rays.

    circumcenter              max t  subject to  e . theta >= t for every ray e,  ||theta||_2 <= 1, whose dual is
                              min ||sum_k w_k e_k||_2  over weights w >= 0 that sum to 1; theta is that sum, up to length
    ellipsoidal circumcenter  the centre of the smallest ellipsoid around the ends of the rays, all of length 1

If the ends lie in one plane, as those of p rays in p dimensions do, the ellipsoid is the smallest one in that plane.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.optimize

from surefoot.problems.arrays import FloatArray
from surefoot.problems.circumcenter import RayProof, ellipsoid_volumes, largest_angle, least_angle
from surefoot.problems.distance import NO_DISTANCE
from surefoot.problems.inverse import InverseProblem
from surefoot.solvers.consistent_cone import RayCone, consistent_rays
from surefoot.solvers.cut_pool import CutPool
from surefoot.solvers.loss_cuts import LossCuts
from surefoot.solvers.outcome import SolveOutcome, Status
from surefoot.solvers.registry import SolveOptions

RayOutcome = SolveOutcome[FloatArray, RayProof]
ELLIPSOID_STEPS = 20_000
ELLIPSOID_GAP = 1e-7


def _rays(solver: LossCuts, problem: InverseProblem, options: SolveOptions) -> tuple[InverseProblem, RayCone, CutPool]:
    task = replace(problem, distance=NO_DISTANCE, hard=True, kappa=1.0)
    pool = CutPool(task)
    for direction in np.vstack((np.eye(problem.n_features), -np.eye(problem.n_features))):
        solver.losses(task, direction, pool)
    return task, *consistent_rays(solver, task, pool, options)


def circumcenter(solver: LossCuts, problem: InverseProblem, options: SolveOptions) -> tuple[InverseProblem, RayOutcome]:
    """The axis of the smallest circular cone around the consistent costs."""
    task, cone, pool = _rays(solver, problem, options)
    weights = nearest_to_zero(cone.rays)
    theta = weights @ cone.rays
    return task, _outcome(task, cone, pool, theta / np.linalg.norm(theta), weights, options)


def ellipsoidal_circumcenter(
    solver: LossCuts, problem: InverseProblem, options: SolveOptions
) -> tuple[InverseProblem, RayOutcome]:
    """The centre of the smallest ellipsoid around the ends of the rays."""
    task, cone, pool = _rays(solver, problem, options)
    middle, weights = ellipsoid_center(cone.rays)
    outcome = _outcome(task, cone, pool, middle / np.linalg.norm(middle), weights, options)
    upper, lower = ellipsoid_volumes(cone.rays, weights)
    return task, replace(outcome, upper_bound=upper, lower_bound=lower)


def _outcome(
    task: InverseProblem, cone: RayCone, pool: CutPool, theta: FloatArray, weights: FloatArray, options: SolveOptions
) -> RayOutcome:
    theta = np.clip(theta, task.prior.lower, task.prior.upper)
    cuts = pool.cuts()
    # Facets touch p - 1 rays or more; other decisions bound nothing, and one per facet will do.
    size = np.linalg.norm(cuts.slopes, axis=1)
    normals = cuts.slopes / np.where(size > 0, size, 1.0)[:, None]
    touching = (np.abs(cone.rays @ normals.T) <= 1e-8).sum(axis=0)
    facets = np.flatnonzero((size > 0) & (touching >= task.n_features - 1))
    _, first = np.unique(np.round(normals[facets], 9), axis=0, return_index=True)
    kept = cuts.chosen(facets[first])
    proof = RayProof(kept.owners, kept.points, cone.rays, weights)
    upper, lower = largest_angle(theta, cone.rays), least_angle(cone.rays, weights)
    return SolveOutcome(Status.OPTIMAL, theta, proof, upper, lower, cuts.size, options.elapsed)


def nearest_to_zero(points: FloatArray) -> FloatArray:
    """Weights of the point nearest to 0 in the convex hull of points.

    Least squares without signs, of sum_k w_k p_k = 0 and sum_k w_k = 1, has the same active points: at its optimum the products
    of the sum with the active points are equal, and smaller with none. An active-set method finds it exactly.
    """
    rows = np.vstack((points.T, np.ones(len(points))))
    weights, _ = scipy.optimize.nnls(rows, np.append(np.zeros(points.shape[1]), 1.0))
    return np.asarray(weights / weights.sum(), dtype=np.float64)


def ellipsoid_center(points: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Centre of the smallest ellipsoid around points, within the plane they span, and the weights of the points.

    Khachiyan's ascent on the weights, with steps away from points as well (Todd and Yildirim, 2007).
    """
    middle = points.mean(axis=0)
    _, size, axes = np.linalg.svd(points - middle, full_matrices=False)
    rank = int((size > 1e-9 * max(float(size[0]), 1e-300)).sum()) if size.size else 0
    if rank == 0:
        return middle, np.full(len(points), 1.0 / len(points))
    flat = (points - middle) @ axes[:rank].T
    lifted = np.hstack((flat, np.ones((len(flat), 1))))
    d = rank + 1
    weights = np.full(len(flat), 1.0 / len(flat))
    for _ in range(ELLIPSOID_STEPS):
        inverse = np.linalg.inv((lifted * weights[:, None]).T @ lifted)
        reach = np.einsum("ki,ij,kj->k", lifted, inverse, lifted)
        far, near = int(np.argmax(reach)), int(np.argmin(np.where(weights > 1e-12, reach, np.inf)))
        if reach[far] - d <= ELLIPSOID_GAP * d and d - reach[near] <= ELLIPSOID_GAP * d:
            break
        if reach[far] - d >= d - reach[near]:
            step, at = (reach[far] - d) / (d * (reach[far] - 1.0)), far
        else:
            step = max((reach[near] - d) / (d * (reach[near] - 1.0)), -weights[near] / (1.0 - weights[near]))
            at = near
        weights = (1.0 - step) * weights
        weights[at] += step
    return middle + (weights @ flat) @ axes[:rank], weights
