"""A price path: chance-constrained SVMs on the same batches for a grid of costs and violations, each warm-started.

Hundreds of problems whose samples, batches and kernel are the same have in common

- the Gram matrix, or the coordinates of an explicit feature space;
- the directions of the master problem and their inner products (:mod:`surefoot.chancesvm.solvers.ellipsoid_master`);
- incumbents: any w has an objective in any of the problems, an upper bound;
- dual points: a feasible alpha of one problem is feasible for larger ellipsoids too, and scaled by s it proves the lower bound
  s sum_i alpha_i - 1/2 s^2 q as long as s alpha_i <= C_i, where 1/2 q = sum_i alpha_i - (its bound).

So beyond the cost at which all slack is gone nothing is left to solve: the last plane and its bound prove each other.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from surefoot.chancesvm.problem.problem import ChanceSVMProblem
from surefoot.chancesvm.registry import ChanceOutcome
from surefoot.chancesvm.solvers.ellipsoid_master import EllipsoidMaster
from surefoot.chancesvm.solvers.path_solution import PathSolution
from surefoot.core.arrays import FloatArray
from surefoot.core.outcome import Status
from surefoot.core.solve_options import SolveOptions

if TYPE_CHECKING:
    from surefoot.chancesvm.solvers.ellipsoid_cuts import EllipsoidCuts


class PricePath:
    """What is known of problems that differ in costs and violations alone; ``neighbours`` warm-start the next solve."""

    def __init__(self) -> None:
        self.master: EllipsoidMaster | None = None
        self.neighbours: tuple[PathSolution, ...] = ()

    def require_same(self, problem: ChanceSVMProblem) -> None:
        """Raise ``ValueError`` unless the problem is one on the batches of those before."""
        if self.master is None:
            return
        before = self.master.problem
        for name in ("samples", "starts", "labels", "weights", "mean_radius", "covariance_radius"):
            ours, theirs = getattr(before, name), getattr(problem, name)
            if ours is not theirs and not np.array_equal(ours, theirs):
                raise ValueError(f"problems of one path differ in costs and violation alone, but {name} is not the same.")
        if before.kernel != problem.kernel:
            raise ValueError("problems of one path differ in costs and violation alone, but the kernel is not the same.")

    def remember(self) -> None:
        """Store the solution of the last master."""
        master = self.master
        assert master is not None
        self.neighbours = (
            PathSolution(
                coefficients=master.fraction * master.mix,
                values=master.values,
                squared_norm=master.squared_norm,
                mix=master.mix,
                weights=master.weights,
                bound=master.bound,
                tau=master.problem.tau,
            ),
        )


def solve_price_path(
    solver: EllipsoidCuts,
    problem: ChanceSVMProblem,
    costs: Sequence[float],
    violations: Sequence[FloatArray],
    options: SolveOptions,
) -> Iterator[tuple[int, int, ChanceSVMProblem, ChanceOutcome]]:
    """Solve the problem for all pairs of costs and violations: their places, the problem posed and its outcome, one by one.

    From the largest violation and the smallest cost on, so that ellipsoids and ceilings only grow and dual points stay
    feasible. Limits are those of each single solve.

    Parameters
    ----------
    solver : EllipsoidCuts
    problem : ChanceSVMProblem
        Its own costs are those of a cost of 1.
    costs : sequence of float
    violations : sequence of ndarray of shape (n_batches,)
    options : SolveOptions
    """
    path, most = PricePath(), solver.parameters.max_warm_starts
    by_cost = sorted(range(len(costs)), key=lambda at: costs[at])
    above: dict[int, tuple[PathSolution, ...]] = {}
    for row in sorted(range(len(violations)), key=lambda at: -float(violations[at].sum())):
        left: tuple[PathSolution, ...] = ()
        for column in by_cost:
            path.neighbours = tuple(dict.fromkeys((*left, *above.get(column, ()))))[:most]
            posed = replace(problem, costs=costs[column] * problem.costs, violation=violations[row])
            outcome = solver.solve(posed, replace(options, started=time.perf_counter()), path)
            left = above[column] = path.neighbours
            yield row, column, posed, outcome
            if outcome.status is Status.INTERRUPTED:
                return
