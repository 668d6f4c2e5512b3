"""Outer approximation of score cards: one run, two strategies.

Problem: over cards (b, p) with integer points in their limits, at most k of them non-zero, and with the rules obeyed,

    min  L(b, p) + penalty * #{j: p_j != 0},   L convex.

Both strategies replace L by the maximum of its tangents at the points met so far (Kelley, SIAM Journal 1960; for integer
unknowns Duran and Grossmann, Mathematical Programming 1986) in the master of :mod:`surefoot.riskscore.lattice.score_master`.
Optima of the master are dual bounds, cards that are met on the way are incumbents, and a run ends when the two agree up to the
tolerance, or up to what programmes in floating point can resolve. They differ in when they cut:

- :class:`~surefoot.riskscore.lattice.cpa.CPA` solves one integer programme after another to the end and cuts at each optimum;
- :class:`~surefoot.riskscore.lattice.lcpa.LCPA` cuts at every node of a single tree.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Generic, TypeVar

import numpy as np

from surefoot.core.outcome import Status
from surefoot.core.solve_options import SolveOptions
from surefoot.riskscore.lattice.cut_run import CutOutcome, CutRun
from surefoot.riskscore.problem.card_rules import FairRule, RateRule
from surefoot.riskscore.problem.problem import RiskScoreProblem
from surefoot.riskscore.search.parameters import DEFAULT_PARAMETERS

Run = TypeVar("Run", bound=CutRun)


class CuttingPlanes(ABC, Generic[Run]):
    """What both strategies have in common."""

    name: str

    def refuses(self, problem: RiskScoreProblem) -> str | None:
        """Why the problem cannot be taken, or None."""
        if problem.shift is not None and problem.shift.radius > 0:
            return "its cuts are those of the plain loss, and the problem is robust (radius > 0)."
        if problem.scale == "free":
            return "its cuts are those of the loss at unit scale, and the problem has a free scale."
        for rule in problem.rules:
            if isinstance(rule, FairRule):
                return "rates of groups are limited, which its programme does not know."
            if isinstance(rule, RateRule):
                chosen = problem.columns[problem.labels == rule.label]
                if not np.array_equal(chosen, np.rint(chosen)):
                    return "a rate of flagged rows is limited, and the columns are not whole numbers."
                most = DEFAULT_PARAMETERS.max_marked_rows
                if np.unique(chosen, axis=0).shape[0] > most:
                    return f"a rate of flagged rows is limited, and more than {most} of the rows it counts differ."
        return None

    def solve(self, problem: RiskScoreProblem, options: SolveOptions) -> CutOutcome:
        """The best card up to ``options.tolerance``, or the best found with a valid bound.

        Raises
        ------
        InfeasibleProblemError
            If no card obeys the rules.
        SolveInterrupted
            On Ctrl-C: a ``KeyboardInterrupt`` whose ``outcome`` is what would have been returned.
        """
        run = self._begin(problem, options)
        try:
            ended = self._iterate(run)
        except KeyboardInterrupt:
            ended = Status.INTERRUPTED
        return run.cut_outcome(ended)

    @abstractmethod
    def _begin(self, problem: RiskScoreProblem, options: SolveOptions) -> Run:
        """The state before the first iteration."""

    @abstractmethod
    def _iterate(self, run: Run) -> Status:
        """Cut until the run has converged or a limit is reached; says why it ended."""
