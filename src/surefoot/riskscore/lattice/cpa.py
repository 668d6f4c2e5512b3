"""The cutting-plane algorithm (Algorithm 1 of Ustun and Rudin, JMLR 2019).

The loss is replaced by the tangent planes at the cards found so far; the best card of that programme is found and proven, a
tangent plane is added at it, and so on, until the programme's value meets the loss of the best card. Every programme must be
solved to the end before the next cut, which becomes slow with many columns: the paper calls it stalling. A solve that is
stopped keeps the bound of the programme it was in.
"""

from __future__ import annotations

import numpy as np

from surefoot.core.backends.highs import BOUND_SLACK
from surefoot.core.outcome import Status
from surefoot.core.solve_options import SolveOptions
from surefoot.exceptions import InfeasibleProblemError
from surefoot.riskscore.baselines.merged_rows import coordinates
from surefoot.riskscore.lattice.cut_run import NO_CARD, CutOutcome, CutRun, refuses_to_cut
from surefoot.riskscore.lattice.cut_tree import CutTree
from surefoot.riskscore.problem.problem import RiskScore, RiskScoreProblem


class CPA:
    """Cutting planes, every programme solved to the end."""

    name = "cpa"

    def refuses(self, problem: RiskScoreProblem) -> str | None:
        """Why the problem cannot be taken, or None."""
        return refuses_to_cut(problem)

    def solve(self, problem: RiskScoreProblem, options: SolveOptions) -> CutOutcome:
        """The best card up to ``options.tolerance``, or the best found with a valid bound.

        Raises
        ------
        InfeasibleProblemError
            If no card obeys the rules.
        SolveInterrupted
            On Ctrl-C: a ``KeyboardInterrupt`` whose ``outcome`` is what would have been returned.
        """
        run = CutRun(problem, options)
        try:
            while not run.closed:
                if options.out_of_time and run.card is not None:
                    return run.outcome(Status.TIME_LIMIT, run.programmes)
                if options.max_iter is not None and run.programmes >= options.max_iter:
                    return run.outcome(Status.ITERATION_LIMIT, run.programmes)
                if not _next_cut(run):
                    return run.outcome(Status.TIME_LIMIT if options.out_of_time else Status.STALLED, run.programmes)
        except KeyboardInterrupt:
            return run.outcome(Status.INTERRUPTED, run.programmes)
        return run.outcome(Status.OPTIMAL, run.programmes)


def _next_cut(run: CutRun) -> bool:
    """Solve the programme, take its bound, cut at its best card; whether that was a new cut."""
    found: list[tuple[float, RiskScore]] = []

    def cutoff() -> float:
        return min(found)[0] - BOUND_SLACK if found else np.inf

    def take(card: RiskScore, value: float) -> None:
        if not found or value < found[0][0]:
            found[:] = [(value, card)]
        # Even without time there should be a card to return.
        run.offer(card)

    tree = CutTree(run.master, cutoff, take, cutting=False)
    try:
        while not tree.empty and not (run.options.out_of_time and run.card is not None):
            tree.advance(run.seconds_left if run.card is not None else np.inf)
    finally:
        run.raise_bound(min(tree.bound, cutoff()))
        tree.close()
    if tree.empty and not found:
        raise InfeasibleProblemError(NO_CARD)
    run.programmes += 1
    new = bool(found) and run.cut_at(coordinates(found[0][1]))
    run.record(run.programmes)
    return new
