"""The circumcenter where the consistent costs have too many extreme rays to list: rays are generated as they are needed.

    min over unit vectors theta of   max over consistent c of   the angle between theta and c

One round takes the circumcenter theta of the rays found so far, whose radius bounds that of all rays from below, and searches
for a consistent cost at a larger angle: a maximum of ||c|| / (theta . c), a convex maximisation problem, which is NP-hard.
Local searches start from several points. At c with ratio r = ||c|| / (theta . c), every consistent c' with
c' . (c / ||c|| - r theta) > 0 has a larger ratio, and a linear programme finds one or there is none. The decisions that refute
what it finds become rows of the programme. Termination: no local search finds a larger angle, or a limit. So the angle is
proven from below, by rays that are consistent, and not from above.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.core.backends.highs import LinearProgramme
from surefoot.core.solve_options import SolveOptions
from surefoot.inverse.exact.least_distance import nearest_to_zero
from surefoot.inverse.exact.parameters import CircumcenterSearchParameters
from surefoot.inverse.oracle.cut_pool import CutPool
from surefoot.inverse.oracle.cut_separation import Separation
from surefoot.inverse.problem.problem import InverseProblem
from surefoot.inverse.problem.ray_proof import largest_angle

PARAMETERS = CircumcenterSearchParameters()


class CircumcenterSearch:
    """Rays of consistent costs without negative entries, by linear programmes over those of sum 1."""

    def __init__(self, separation: Separation, problem: InverseProblem, pool: CutPool, options: SolveOptions) -> None:
        self.separation, self.problem, self.pool, self.options = separation, problem, pool, options
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
            self._ascend(center, direction)
        if not self.rays:
            return np.empty((0, center.size)), np.empty(0), center
        random = np.random.default_rng(0)
        for _ in range(PARAMETERS.max_rounds):
            found = np.array(self.rays)
            weights = nearest_to_zero(found)
            center = weights @ found
            center = center / np.linalg.norm(center)
            radius = largest_angle(center, found)
            order = np.argsort(found @ center)
            few = (*found[order[: PARAMETERS.farthest_starts]], *random.normal(size=(PARAMETERS.random_starts, center.size)))
            # Before the search ends it is repeated from many starts.
            many = (*eye, *-eye, *random.normal(size=(2 * center.size, center.size)))
            if not any(self._farther(center, radius, starts) for starts in (few, many)):
                break
        used = weights > 0
        return found[used], weights[used], center

    def _farther(self, center: FloatArray, radius: float, starts: Sequence[FloatArray]) -> bool:
        """Whether a ray outside of the radius was found from some of the starts."""
        angles = [self._ascend(center, start) for start in starts if not self.options.out_of_time]
        return not self.options.out_of_time and max(angles) > radius + PARAMETERS.angle

    def _ascend(self, center: FloatArray, start: FloatArray) -> float:
        """Local search from a direction: a ray that no linear programme improves, and its angle, or 0 if there was no time."""
        ray = self._best(start)
        for _ in range(PARAMETERS.max_steps):
            if ray is None or self.options.out_of_time:
                return 0.0
            toward = float(center @ ray)
            if toward <= 0:
                break
            length = float(np.linalg.norm(ray))
            direction = ray / length - length / toward * center
            better = self._best(direction)
            if better is None or direction @ better <= PARAMETERS.ascent:
                # A local maximum over the decisions found so far; those that refute the ray cut it off.
                if not self._refuted(ray):
                    break
                better = self._best(direction)
            ray = better
        if ray is None or self._refuted(ray):
            return 0.0
        unit = ray / np.linalg.norm(ray)
        if not self.rays or np.max(np.array(self.rays) @ unit) < 1.0 - PARAMETERS.same:
            self.rays.append(unit)
        return largest_angle(center, unit[None, :])

    def _best(self, direction: FloatArray) -> FloatArray | None:
        cuts = self.pool.cuts()
        for slope in cuts.slopes[self._n_cuts :]:
            self._programme.add_row(self._all, slope, -np.inf, 0.0)
        self._n_cuts = cuts.size
        self._programme.price(-direction)
        return self._programme.solve(seconds=self.options.seconds_left).point

    def _refuted(self, ray: FloatArray) -> bool:
        """Whether some observation has a better decision than its own, which then joins the pool."""
        mark = ray.tobytes()
        if mark in self._known:
            return False
        # What is not found out in time counts as refuted: its bounds are infinite, or above 0.
        if (
            self.separation.losses(self.problem, ray, self.pool, seconds=self.options.seconds_left)[1].max()
            > PARAMETERS.consistent
        ):
            return True
        self._known.add(mark)
        return False
