"""Circumcenters of the cone of consistent costs, from its extreme rays.

    circumcenter              max t  subject to  e . theta >= t for every ray e,  ||theta||_2 <= 1, whose dual is
                              min ||sum_k w_k e_k||_2  over weights w >= 0 that sum to 1; theta is that sum, up to length
    ellipsoidal circumcenter  the centre of the smallest ellipsoid around the ends of the rays, all of length 1

If the ends lie in one plane, as those of p rays in p dimensions do, the ellipsoid is the smallest one in that plane.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.core.outcome import SolveOutcome, Status
from surefoot.core.solve_options import SolveOptions
from surefoot.exceptions import InconsistentDataError, UnsupportedProblemError
from surefoot.inverse.exact.circumcenter_search import FarRays
from surefoot.inverse.exact.constraint_generation import LossCuts
from surefoot.inverse.exact.cut_pool import CutPool
from surefoot.inverse.exact.double_description import MOST_RAYS, RayCone, consistent_rays
from surefoot.inverse.exact.least_distance import nearest_to_zero
from surefoot.inverse.problem.distance import NO_DISTANCE
from surefoot.inverse.problem.problem import InverseProblem
from surefoot.inverse.problem.ray_proof import RayProof, ellipsoid_volumes, largest_angle, least_angle, widest_angle

RayOutcome = SolveOutcome[FloatArray, RayProof]
ELLIPSOID_STEPS = 20_000
ELLIPSOID_GAP = 1e-7
# In more dimensions than this, so many rays are a sign of many more.
FEW_DIMENSIONS, FEW_RAYS = 8, 200


def _rays(solver: LossCuts, task: InverseProblem, pool: CutPool, options: SolveOptions, most: int = MOST_RAYS) -> RayCone:
    eye = np.eye(task.n_features)
    for direction in eye if np.all(task.prior.lower >= 0) else np.vstack((eye, -eye)):
        solver.losses(task, direction, pool)
    return consistent_rays(solver, task, pool, options, most)


def _plain(problem: InverseProblem) -> InverseProblem:
    return replace(problem, distance=NO_DISTANCE, hard=True, kappa=1.0)


def circumcenter(solver: LossCuts, problem: InverseProblem, options: SolveOptions) -> tuple[InverseProblem, RayOutcome]:
    """The axis of the smallest circular cone around the consistent costs."""
    task = _plain(problem)
    pool = CutPool(task)
    # Without negative costs there is another way if rays are many, as they are in more dimensions than a few.
    other = bool(np.all(task.prior.lower >= 0))
    try:
        cone = _rays(solver, task, pool, options, FEW_RAYS if other and task.n_features > FEW_DIMENSIONS else MOST_RAYS)
    except UnsupportedProblemError:
        if not other or not task.prior.is_cone or task.prior.psd:
            raise
        return task, _from_far_rays(solver, task, pool, options)
    weights = nearest_to_zero(cone.rays)
    theta = weights @ cone.rays
    return task, _outcome(task, cone, pool, theta / np.linalg.norm(theta), weights, options)


def _from_far_rays(solver: LossCuts, task: InverseProblem, pool: CutPool, options: SolveOptions) -> RayOutcome:
    rays, weights, theta = FarRays(solver, task, pool, options).run()
    if len(rays) == 0:
        if options.out_of_time:
            raise UnsupportedProblemError("no consistent cost was found within the time limit; choose approach='incenter'.")
        raise InconsistentDataError("no cost vector but 0 explains all observations. approach='asl' learns from such data.")
    proof = RayProof(np.empty(0, dtype=np.int32), (), rays, weights, complete=False)
    status = Status.TIME_LIMIT if options.out_of_time else Status.STALLED
    upper, lower = widest_angle(theta, task.prior), least_angle(rays, weights)
    return SolveOutcome(status, theta, proof, upper, lower, len(pool.owners), options.elapsed)


def ellipsoidal_circumcenter(
    solver: LossCuts, problem: InverseProblem, options: SolveOptions
) -> tuple[InverseProblem, RayOutcome]:
    """The centre of the smallest ellipsoid around the ends of the rays."""
    task = _plain(problem)
    pool = CutPool(task)
    cone = _rays(solver, task, pool, options)
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
