"""Chance-constrained SVMs on the same batches, one after another: what one solve has found, the next begins with.

Grids of costs and violations pose hundreds of problems whose samples, batches and kernel are the same. They share

- the Gram matrix, or the coordinates of an explicit feature space;
- the directions in which the ellipsoids matter, and their inner products (:mod:`surefoot.chancesvm.solvers.flat_ellipsoids`);
- planes: any w has an objective in any of the problems, an upper bound;
- bounds: a mix of points of the ellipsoids (alpha_i of batch i) is one of larger ellipsoids too, and scaled by s it proves
  s sum_i alpha_i - 1/2 s^2 q as long as s alpha_i <= C_i, where 1/2 q is what it has lost so far.

So beyond the cost at which all slack is gone nothing is left to solve: the last plane and its bound prove each other.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from surefoot.chancesvm.problem.problem import ChanceSVMProblem
from surefoot.chancesvm.registry import ChanceOutcome
from surefoot.chancesvm.solvers.best_plane import BestPlane
from surefoot.chancesvm.solvers.flat_ellipsoids import FlatEllipsoids
from surefoot.core.arrays import FloatArray
from surefoot.core.outcome import Status
from surefoot.core.solve_options import SolveOptions

if TYPE_CHECKING:
    from surefoot.chancesvm.solvers.ellipsoid_cuts import WorstPoints

# Sizes that a plane of another problem may take, relative to its own.
KNOWN_SIZES = (0.0, 64.0)
# So many answers of neighbours are looked at.
MOST_NEAR = 3


@dataclass(frozen=True, eq=False)
class KnownMix:
    """The w of a dual's mix, with its values at the samples, and what the mix has proven for which ellipsoids."""

    coefficients: FloatArray
    values: FloatArray
    squared_length: float
    mix: FloatArray
    weights: FloatArray
    bound: float
    tau: FloatArray

    def offer(self, best: BestPlane) -> None:
        """Say what is known to another problem."""
        best.offer(self.coefficients, self.values, self.squared_length, sizes=KNOWN_SIZES)
        total = float(self.weights.sum())
        if total <= 0.0 or np.any(self.tau > best.problem.tau):
            return
        used = self.weights > 0
        lost = 2.0 * (total - self.bound)
        most = float((best.problem.costs[used] / self.weights[used]).min())
        scale = most if most * lost <= total else total / lost
        best.offer_bound(scale * self.mix, scale * total - 0.5 * scale * scale * lost)


class WorstPath:
    """What is known of problems that differ in costs and violations alone; ``near`` is what the next solve begins with."""

    def __init__(self) -> None:
        self.flat: FlatEllipsoids | None = None
        self.near: tuple[KnownMix, ...] = ()

    def require_same(self, problem: ChanceSVMProblem) -> None:
        """Raise ``ValueError`` unless the problem is one on the batches of those before."""
        if self.flat is None:
            return
        before = self.flat.problem
        for name in ("samples", "starts", "labels", "weights", "mean_radius", "covariance_radius"):
            ours, theirs = getattr(before, name), getattr(problem, name)
            if ours is not theirs and not np.array_equal(ours, theirs):
                raise ValueError(f"problems of one path differ in costs and violation alone, but {name} is not the same.")
        if before.kernel != problem.kernel:
            raise ValueError("problems of one path differ in costs and violation alone, but the kernel is not the same.")

    def remember(self) -> None:
        """Keep the last mix of a solve."""
        flat = self.flat
        assert flat is not None
        found = (flat.share * flat.mix, flat.values, flat.squared_length, flat.mix, flat.weights, flat.bound, flat.problem.tau)
        self.near = (KnownMix(*found),)


def walk_worst_path(
    solver: WorstPoints,
    problem: ChanceSVMProblem,
    costs: Sequence[float],
    violations: Sequence[FloatArray],
    options: SolveOptions,
) -> Iterator[tuple[int, int, ChanceSVMProblem, ChanceOutcome]]:
    """Solve the problem for all pairs of costs and violations: their places, the problem posed and its outcome, one by one.

    From the largest violation and the smallest cost on, so that ellipsoids and ceilings only grow and every mix stays one.
    Limits are those of each single solve.

    Parameters
    ----------
    solver : WorstPoints
    problem : ChanceSVMProblem
        Its own costs are those of a cost of 1.
    costs : sequence of float
    violations : sequence of ndarray of shape (n_batches,)
    options : SolveOptions
    """
    path = WorstPath()
    by_cost = sorted(range(len(costs)), key=lambda at: costs[at])
    above: dict[int, tuple[KnownMix, ...]] = {}
    for row in sorted(range(len(violations)), key=lambda at: -float(violations[at].sum())):
        left: tuple[KnownMix, ...] = ()
        for column in by_cost:
            path.near = tuple(dict.fromkeys((*left, *above.get(column, ()))))[:MOST_NEAR]
            posed = replace(problem, costs=costs[column] * problem.costs, violation=violations[row])
            outcome = solver.solve(posed, replace(options, started=time.perf_counter()), path)
            left = above[column] = path.near
            yield row, column, posed, outcome
            if outcome.status is Status.INTERRUPTED:
                return
