"""The cutting-plane algorithm (Algorithm 1 of Ustun and Rudin, JMLR 2019): outer approximation by repeated programmes.

The problem is that of :mod:`surefoot.riskscore.lattice.cutting_planes`. One iteration:

1. Solve the master over integer points to the end, by branch and bound without new cuts. Its optimum is a dual bound; a run
   that is stopped takes the bound of the unfinished tree.
2. Offer the optimal card as incumbent.
3. Add the tangent of the loss at that card.

It ends when bound and incumbent agree. No card is met twice unless its cut is exact, so it does end; but every programme must
be solved to the end before the next cut, which becomes slow with many columns: the paper calls it stalling.
"""

from __future__ import annotations

import numpy as np

from surefoot.core.backends.highs import BOUND_SLACK
from surefoot.core.outcome import Status
from surefoot.core.solve_options import SolveOptions
from surefoot.exceptions import InfeasibleProblemError
from surefoot.riskscore.baselines.merged_rows import coordinates
from surefoot.riskscore.lattice.cut_run import NO_CARD, CutRun
from surefoot.riskscore.lattice.cut_tree import CutTree
from surefoot.riskscore.lattice.cutting_planes import CuttingPlanes
from surefoot.riskscore.problem.problem import RiskScore, RiskScoreProblem


class CPA(CuttingPlanes[CutRun]):
    """Repeated integer programmes, each solved to the end."""

    name = "cpa"

    def _begin(self, problem: RiskScoreProblem, options: SolveOptions) -> CutRun:
        return CutRun(problem, options)

    def _iterate(self, run: CutRun) -> Status:
        while not run.converged:
            limit = run.limit_reached(run.programmes)
            if limit is not None:
                return limit
            if not _solve_and_cut(run):
                return Status.TIME_LIMIT if run.options.out_of_time else Status.STALLED
        return Status.OPTIMAL


def _solve_and_cut(run: CutRun) -> bool:
    """Solve the master, take its bound, cut at its optimal card; whether that was a new cut."""
    optimal: RiskScore | None = None
    optimum = np.inf

    def take(card: RiskScore, value: float) -> None:
        nonlocal optimal, optimum
        if optimal is None or value < optimum:
            optimal, optimum = card, value
        # A run out of time needs an incumbent as well.
        run.offer(card)

    tree = CutTree(run.master, lambda: optimum - BOUND_SLACK, take, cutting=False)
    try:
        while not tree.empty and not run.options.out_of_time:
            tree.advance(run.options.seconds_left)
    finally:
        run.raise_bound(min(tree.bound, optimum - BOUND_SLACK))
        tree.close()
    if tree.empty and optimal is None and not np.isfinite(tree.bound):
        raise InfeasibleProblemError(NO_CARD)
    run.programmes += 1
    new = optimal is not None and run.cut_at(coordinates(optimal))
    run.record(run.programmes)
    return new
