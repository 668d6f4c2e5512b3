"""The circumcenter where the consistent costs have too many extreme rays to list: rays are found as they are needed.

The circumcenter of a few consistent rays is no farther from them than that of all rays is from all: what it misses is a
consistent cost at a larger angle. To find one is to maximise a convex function, ||c|| / (theta . c), which is NP-hard; the
search climbs from several starts. Where it stands at ratio r = ||c|| / (theta . c), every consistent c' with
c' . (c / ||c|| - r theta) > 0 has a larger ratio, and a linear programme finds one or there is none. The decisions that refute
what it finds join the programme. So the angle is proven from below, by rays that are consistent, and not from above.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.core.backends.highs import LinearProgramme
from surefoot.core.solve_options import SolveOptions
from surefoot.inverse.exact.constraint_generation import LossCuts
from surefoot.inverse.exact.cut_pool import CutPool
from surefoot.inverse.exact.least_distance import nearest_to_zero
from surefoot.inverse.problem.problem import InverseProblem
from surefoot.inverse.problem.ray_proof import largest_angle

# Losses of costs whose entries sum to 1 that are no more than this are none.
CONSISTENT = 2e-8
# A ray must be farther by so many radians to count as one that was missed.
FARTHER = 1e-6
# Starts of a search that are drawn, besides the rays that are farthest already.
DRAWN, FARTHEST = 4, 4
# Rays whose cosine is 1 up to this are one.
SAME = 1e-12
MOST_STEPS = 50
MOST_ROUNDS = 100


class FarRays:
    """Consistent costs without negative entries, by linear programmes over those of sum 1."""

    def __init__(self, solver: LossCuts, problem: InverseProblem, pool: CutPool, options: SolveOptions) -> None:
        self.solver, self.problem, self.pool, self.options = solver, problem, pool, options
        p = problem.n_features
        self._all = np.arange(p, dtype=np.int32)
        self._programme = LinearProgramme(np.zeros(p), problem.prior.upper, np.zeros(p))
        self._programme.add_row(self._all, np.ones(p), 1.0, 1.0)
        for row, side in zip(problem.prior.matrix, problem.prior.ceiling, strict=True):
            self._programme.add_row(self._all, row, -np.inf, float(side))
        self._n_cuts = 0
        self._known: set[bytes] = set()
        self.rays: list[FloatArray] = []

    def run(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Rays with weights, and the circumcenter of those; no rays, if there is no consistent cost, or no time."""
        center = np.full(self.problem.n_features, self.problem.n_features**-0.5)
        eye = np.eye(self.problem.n_features)
        for direction in (*eye, *-eye):
            self._climb(center, direction)
        if not self.rays:
            return np.empty((0, center.size)), np.empty(0), center
        random = np.random.default_rng(0)
        for _ in range(MOST_ROUNDS):
            found = np.array(self.rays)
            weights = nearest_to_zero(found)
            center = weights @ found
            center = center / np.linalg.norm(center)
            radius = largest_angle(center, found)
            order = np.argsort(found @ center)
            few = (*found[order[:FARTHEST]], *random.normal(size=(DRAWN, center.size)))
            # Before the search ends it looks around once more, from many starts.
            many = (*eye, *-eye, *random.normal(size=(2 * center.size, center.size)))
            if not any(self._farther(center, radius, starts) for starts in (few, many)):
                break
        used = weights > 0
        return found[used], weights[used], center

    def _farther(self, center: FloatArray, radius: float, starts: Sequence[FloatArray]) -> bool:
        """Whether a ray outside of the radius was found from some of the starts."""
        angles = [self._climb(center, start) for start in starts if not self.options.out_of_time]
        return not self.options.out_of_time and max(angles) > radius + FARTHER

    def _climb(self, center: FloatArray, start: FloatArray) -> float:
        """Go from a direction to a ray that no linear programme betters; its angle, or 0 if there was no time."""
        ray = self._best(start)
        for _ in range(MOST_STEPS):
            if ray is None or self.options.out_of_time:
                return 0.0
            toward = float(center @ ray)
            if toward <= 0:
                break
            length = float(np.linalg.norm(ray))
            direction = ray / length - length / toward * center
            further = self._best(direction)
            if further is None or direction @ further <= 1e-10:
                # As far as the decisions found so far tell; those that refute the ray may turn the search.
                if not self._refuted(ray):
                    break
                further = self._best(direction)
            ray = further
        if ray is None or self._refuted(ray):
            return 0.0
        unit = ray / np.linalg.norm(ray)
        if not self.rays or np.max(np.array(self.rays) @ unit) < 1.0 - SAME:
            self.rays.append(unit)
        return largest_angle(center, unit[None, :])

    def _best(self, direction: FloatArray) -> FloatArray | None:
        cuts = self.pool.cuts()
        for slope in cuts.slopes[self._n_cuts :]:
            self._programme.add_row(self._all, slope, -np.inf, 0.0)
        self._n_cuts = cuts.size
        self._programme.price(-direction)
        answer = self._programme.solve()
        return answer.point

    def _refuted(self, ray: FloatArray) -> bool:
        """Whether some observation has a better decision than its own, which then joins the pool."""
        mark = ray.tobytes()
        if mark in self._known:
            return False
        if self.solver.losses(self.problem, ray, self.pool)[1].max() > CONSISTENT:
            return True
        self._known.add(mark)
        return False
