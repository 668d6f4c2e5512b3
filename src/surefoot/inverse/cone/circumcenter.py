"""Circumcenters of the cone of consistent costs, from its extreme rays.

    circumcenter              max t  subject to  e . theta >= t for every ray e,  ||theta||_2 <= 1, whose dual is
                              min ||sum_k w_k e_k||_2  over weights w >= 0 that sum to 1; theta is that sum, up to length
    ellipsoidal circumcenter  the centre of the smallest ellipsoid around the ends of the rays, all of length 1

(equations (7) and (25) of Zattoni Scroccaro, Atasoy and Mohajerin Esfahani, 2024). Rays come from double description
(:mod:`~.double_description`); if there are too many, and costs cannot be negative, from a search
(:mod:`~.circumcenter_search`). If the ends lie in one plane, as those of p rays in p dimensions do, the ellipsoid is the
smallest one in that plane.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.optimize

from surefoot.core.arrays import FloatArray
from surefoot.core.outcome import SolveOutcome, Status
from surefoot.core.solve_options import SolveOptions
from surefoot.exceptions import UnsupportedProblemError
from surefoot.inverse.cone.circumcenter_search import CircumcenterSearch
from surefoot.inverse.cone.cone_cover import cone_cover
from surefoot.inverse.cone.double_description import consistent_rays, prior_rows, whole_ray
from surefoot.inverse.cone.minimum_ellipsoid import ellipsoid_center
from surefoot.inverse.exact.balanced_units import ObservationSizes
from surefoot.inverse.exact.consistent_cost import refuse_without_rays
from surefoot.inverse.exact.cost_run import CostRun
from surefoot.inverse.exact.least_distance import nearest_to_zero
from surefoot.inverse.exact.parameters import ConeCoverParameters, DoubleDescriptionParameters
from surefoot.inverse.oracle.cut_pool import CutPool
from surefoot.inverse.oracle.cut_separation import Separation
from surefoot.inverse.oracle.parameters import MAX_LISTED
from surefoot.inverse.problem.decision_proof import DecisionTrees, Leaf, LossProof, TermBound
from surefoot.inverse.problem.decision_set import PROGRAMME_TOLERANCE, WHOLE_ROW_TOLERANCE, LinearSet, ListedSet
from surefoot.inverse.problem.exact_weights import exact_slope
from surefoot.inverse.problem.hypothesis import LinearFeatures
from surefoot.inverse.problem.problem import Cuts, Example, InverseProblem
from surefoot.inverse.problem.ray_proof import ConeCover, RayProof, ellipsoid_volumes, largest_angle, least_angle, widest_angle

RayOutcome = SolveOutcome[FloatArray, RayProof]
PARAMETERS = DoubleDescriptionParameters()
# Radians below which an angle counts as this large when a gap is put in relation to it, as certificates have it.
LEAST_ANGLE = 0.1


class Circumcenter:
    """The axis of the smallest circular cone around the consistent costs."""

    name = "circumcenter"

    def __init__(self, separation: Separation, parameters: DoubleDescriptionParameters | None = None) -> None:
        self.separation = separation
        self.parameters = PARAMETERS if parameters is None else parameters

    def refuses(self, problem: InverseProblem) -> str | None:
        """None: whether the cone is pointed shows as its rays are sought."""
        return None

    def solve(self, problem: InverseProblem, options: SolveOptions) -> RayOutcome:
        """The circumcenter of a ``hard`` problem without a distance."""
        pool = CutPool(problem)
        # Without negative costs there is another way if rays are many, as they are in more dimensions than a few.
        searchable = bool(np.all(problem.prior.lower >= 0))
        many = searchable and problem.n_features > self.parameters.few_dimensions
        try:
            rays = self._rays(problem, pool, options, self.parameters.few_rays if many else self.parameters.max_rays)
        except UnsupportedProblemError:
            if not searchable or not problem.prior.is_cone or problem.prior.psd:
                raise
            return self._search(problem, pool, options)
        weights = nearest_to_zero(rays)
        theta = weights @ rays
        return self._outcome(problem, rays, pool, theta / np.linalg.norm(theta), weights, options)

    def _rays(self, problem: InverseProblem, pool: CutPool, options: SolveOptions, most: int) -> FloatArray:
        eye = np.eye(problem.n_features)
        for direction in eye if np.all(problem.prior.lower >= 0) else np.vstack((eye, -eye)):
            if options.out_of_time:
                break  # decisions met by then help none the less; the search for rays says that its time is over
            self.separation.losses(problem, direction, pool, seconds=options.seconds_left)
        return consistent_rays(self.separation, problem, pool, options, replace(self.parameters, max_rays=most))

    def _search(self, problem: InverseProblem, pool: CutPool, options: SolveOptions) -> RayOutcome:
        rays, weights, theta = CircumcenterSearch(self.separation, problem, pool, options).run()
        if len(rays) == 0:
            if options.out_of_time:
                raise UnsupportedProblemError("no consistent cost was found within the time limit; choose approach='incenter'.")
            refuse_without_rays(self.separation, problem, options)
        # Nothing but the prior set bounds the cone from outside.
        cover = self._cover(prior_rows(problem.prior), theta, np.eye(theta.size), rays, options)
        proof = RayProof(np.empty(0, dtype=np.int32), (), rays, weights, complete=False, cover=cover)
        upper, lower = widest_angle(theta, problem.prior), least_angle(rays, weights)
        run = CostRun(options, theta, upper, lower_bound=lower, dual=proof)
        return run.outcome(Status.TIME_LIMIT if options.out_of_time else Status.STALLED, len(pool.owners))

    def _outcome(
        self,
        problem: InverseProblem,
        extreme: FloatArray,
        pool: CutPool,
        theta: FloatArray,
        weights: FloatArray,
        options: SolveOptions,
    ) -> RayOutcome:
        theta = np.clip(theta, problem.prior.lower, problem.prior.upper)
        cuts = pool.cuts()
        # One decision for each half-space will do.
        units = ObservationSizes.of(problem).columns
        slopes = cuts.slopes / units
        size = np.linalg.norm(slopes, axis=1)
        moving = np.flatnonzero(size > 0)
        _, first = np.unique(np.round(slopes[moving] / size[moving, None], 9), axis=0, return_index=True)
        bounding = cuts.chosen(moving[first])
        rays = _inside(problem, extreme, cuts, self.parameters.inward, options)
        normals = np.vstack((bounding.slopes, prior_rows(problem.prior)))
        saved = np.where(np.arange(len(normals)) < bounding.size, self._saved(problem, rays, options), 0.0)
        for scales in (units, np.ones_like(units))[: 1 if np.all(units == 1) else 2]:
            cover = self._cover(normals, theta, extreme, rays, options, scales, saved)
            if cover is not None:
                break
        if cover is not None:
            # Decisions without a price say nothing.
            used = np.flatnonzero(np.append(cover.prices[:, : bounding.size], np.zeros((1, bounding.size)), axis=0).any(axis=0))
            rest = np.arange(bounding.size, cover.prices.shape[1])
            cover = replace(cover, prices=cover.prices[:, np.concatenate((used, rest))])
            bounding = bounding.chosen(used)
        proof = RayProof(bounding.owners, bounding.points, rays, weights, cover=cover)
        upper, lower = largest_angle(theta, extreme), least_angle(extreme, weights)
        return CostRun(options, theta, upper, lower_bound=lower, dual=proof).outcome(Status.OPTIMAL, cuts.size)

    def _saved(self, problem: InverseProblem, rays: FloatArray, options: SolveOptions) -> float:
        """What multipliers leave of a saving at rays that save nothing, a little more; nothing where decisions are listed."""
        sets = [example.instance.decisions for example in problem.examples]
        few = [isinstance(each, LinearSet) and each.n_unknowns <= MAX_LISTED and bool(each.binary.all()) for each in sets]
        if all(isinstance(each, ListedSet) or listed for each, listed in zip(sets, few, strict=True)):
            return 0.0
        usual = ConeCoverParameters.saved * max(1.0, float(ObservationSizes.of(problem).steep.max(initial=0.0)))
        most, nothing = 0.0, np.zeros(problem.n_examples)
        for ray in rays:
            proofs = self.separation.proofs(problem, ray, nothing, seconds=options.seconds_left)
            for example, proof in zip(problem.examples, proofs, strict=True):
                left = 0.0 if proof is None else _left_over(example, ray, proof)
                if left is None:
                    return usual
                most = max(most, left / float(np.abs(ray).max()))
        return ConeCoverParameters.more_saved * most

    def _cover(
        self,
        normals: FloatArray,
        theta: FloatArray,
        corners: FloatArray,
        rays: FloatArray,
        options: SolveOptions,
        units: FloatArray | None = None,
        saved: FloatArray | float = 0.0,
    ) -> ConeCover | None:
        """A cover that proves the largest angle to the corners of the cone."""
        axis = theta / np.linalg.norm(theta)
        angle = largest_angle(theta, corners)
        if not angle < np.pi / 2:
            return None

        def height(v: FloatArray) -> float:
            return float(np.linalg.norm(v - (v @ axis) * axis))

        slope, room = np.tan(angle), ConeCoverParameters.slope_room
        slopes = [slope * (1 + room) + room]
        # What decisions save, and rounding where that is more, is part of the angle, as far as the tolerance allows.
        spare = options.tolerance * max(angle, LEAST_ANGLE) * (1.0 + slope**2)
        slopes += [slope + part * spare for part in ConeCoverParameters.spare_parts if part * spare > room]
        found = (cone_cover(normals, axis, height, slope, options, units=units, saved=saved) for slope in slopes)
        return next((cover for cover in found if cover is not None), None)


def _left_over(example: Example, ray: FloatArray, proof: LossProof) -> float | None:
    """The saving that the multipliers of a linear programme bound, its conditions met as closely as certificates ask."""
    decisions, features = example.instance.decisions, example.instance.features
    if not isinstance(proof, DecisionTrees) or not isinstance(decisions, LinearSet) or not isinstance(features, LinearFeatures):
        return None
    if len(proof.multipliers) != 1:
        return None
    largest = np.abs(decisions.matrix).max(axis=1, initial=0.0)
    mixed = decisions.matrix[:, ~decisions.whole].any(axis=1)
    slack = np.where(mixed, 2 * PROGRAMME_TOLERANCE * np.maximum(1.0, largest), WHOLE_ROW_TOLERANCE * largest)
    room = np.where(decisions.whole, 0.0, 2 * PROGRAMME_TOLERANCE)
    wide = replace(decisions, low=decisions.low - slack, high=decisions.high + slack)
    cost = features.linear_cost(ray)
    leaf = Leaf(proof.multipliers[0], float(proof.slope[0]))
    bound = TermBound(wide, cost, None, example.response).leaf(leaf, decisions.lower - room, decisions.upper + room)
    return max(0.0, bound + float(cost @ example.response))


def _inside(problem: InverseProblem, rays: FloatArray, cuts: Cuts, inward: float, options: SolveOptions) -> FloatArray:
    """Rays that are consistent beyond doubt: whole multiples where there are such, others moved towards their mean."""
    moved = np.clip(rays + inward * rays.mean(axis=0), problem.prior.lower, problem.prior.upper)
    found = moved / np.linalg.norm(moved, axis=1)[:, None]
    for k, ray in enumerate(rays):
        if options.out_of_time:
            break
        whole = whole_ray(ray)
        if whole is not None and problem.prior.excess(whole) <= 0 and _is_consistent(problem, cuts, whole):
            found[k] = whole
    return np.asarray(found)


def _is_consistent(problem: InverseProblem, cuts: Cuts, ray: FloatArray) -> bool:
    """Whether no decision found so far saves anything at a ray of whole entries, without rounding."""
    gains, size = cuts.slopes @ ray, np.abs(cuts.slopes) @ np.abs(ray)
    every = list(range(ray.size))
    for k in np.flatnonzero(gains > -1e-12 * size).tolist():
        slope = exact_slope(problem.examples[int(cuts.owners[k])], cuts.points[k], every)
        if sum(part * int(entry) for part, entry in zip(slope, ray.tolist(), strict=True)) > 0:
            return False
    return True


class EllipsoidalCircumcenter(Circumcenter):
    """The centre of the smallest ellipsoid around the ends of the rays."""

    name = "ellipsoidal-circumcenter"

    def _cover(
        self,
        normals: FloatArray,
        theta: FloatArray,
        corners: FloatArray,
        rays: FloatArray,
        options: SolveOptions,
        units: FloatArray | None = None,
        saved: FloatArray | float = 0.0,
    ) -> ConeCover | None:
        """A cover that proves that consistent costs lie in the cone of the rays."""
        unit = rays / np.linalg.norm(rays, axis=1)[:, None]
        axis = nearest_to_zero(unit) @ unit
        if not np.all(unit @ axis > 0):
            return None
        axis = axis / np.linalg.norm(axis)

        def mix(v: FloatArray) -> FloatArray:
            return np.asarray(scipy.optimize.nnls(unit.T, v)[0])

        def height(v: FloatArray) -> float:
            return float(np.linalg.norm(v - mix(v) @ unit))

        return cone_cover(normals, axis, height, ConeCoverParameters.same_ray, options, mix, units, saved)

    def solve(self, problem: InverseProblem, options: SolveOptions) -> RayOutcome:
        pool = CutPool(problem)
        rays = self._rays(problem, pool, options, self.parameters.max_rays)
        middle, weights, ended = ellipsoid_center(rays, options)
        outcome = self._outcome(problem, rays, pool, middle / np.linalg.norm(middle), weights, options)
        upper, lower = ellipsoid_volumes(rays, weights)
        return replace(outcome, upper_bound=upper, lower_bound=lower, status=ended)
