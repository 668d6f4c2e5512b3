"""What both cutting-plane methods keep: the best card, the best bound, and the programme that both come from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.core.backends.highs import BOUND_SLACK
from surefoot.core.outcome import Progress, SolveOutcome, Status, handed_over
from surefoot.core.solve_options import SolveOptions
from surefoot.exceptions import InfeasibleProblemError, SolveInterrupted
from surefoot.riskscore.baselines.merged_rows import ScoreRows
from surefoot.riskscore.lattice.score_master import ScoreMaster
from surefoot.riskscore.problem.card_rules import RateRule
from surefoot.riskscore.problem.problem import RiskScore, RiskScoreProblem
from surefoot.riskscore.search.card_program import MOST_MARKED_ROWS

# Bounds of a programme in floating point cannot tell closer objectives apart: a gap of this much counts as none.
RESOLUTION = 2 * BOUND_SLACK
NO_CARD = "no score card obeys the rules; drop one of them, or allow more columns or points."


@dataclass(frozen=True)
class CutTally:
    """What a cutting-plane method did.

    Attributes
    ----------
    cuts : int
        Tangent planes of the loss in the last programme.
    programmes : int
        Programmes solved over whole points.
    resolution : float
        Objectives closer than this were not told apart.
    tree : str
        Whose branch and bound it was: "own" or "scip".
    """

    cuts: int
    programmes: int
    resolution: float = RESOLUTION
    tree: str = "own"


CutOutcome = SolveOutcome[RiskScore, CutTally]


def refuses_to_cut(problem: RiskScoreProblem) -> str | None:
    """Why a programme of cuts cannot pose the problem, or None."""
    if problem.shift is not None and problem.shift.radius > 0:
        return "its cuts are those of the plain loss, and the problem is robust (radius > 0)."
    if problem.scale == "free":
        return "its cuts are those of the loss at unit scale, and the problem has a free scale."
    for rule in problem.rules:
        if isinstance(rule, RateRule):
            chosen = problem.columns[problem.labels == rule.label]
            if not np.array_equal(chosen, np.rint(chosen)):
                return "a rate of flagged rows is limited, and the columns are not whole numbers."
            if np.unique(chosen, axis=0).shape[0] > MOST_MARKED_ROWS:
                return f"a rate of flagged rows is limited, and more than {MOST_MARKED_ROWS} of the rows it counts differ."
    return None


class CutRun:
    """State of one solve."""

    def __init__(self, problem: RiskScoreProblem, options: SolveOptions) -> None:
        self.problem, self.options = problem, options
        self.rows = ScoreRows.of(problem)
        self.master = ScoreMaster(problem, self.rows, options.n_threads)
        self.card: RiskScore | None = None
        self.upper_bound, self.lower_bound = np.inf, 0.0
        self.programmes = 0
        self.tree = "own"
        self.history: list[Progress] = []

    @property
    def accepted_gap(self) -> float:
        """The gap at which the search may stop."""
        if not np.isfinite(self.upper_bound):
            return 0.0
        return max(self.options.tolerance * abs(self.upper_bound), RESOLUTION)

    @property
    def closed(self) -> bool:
        return self.upper_bound - self.lower_bound <= self.accepted_gap + 1.5 * BOUND_SLACK

    @property
    def seconds_left(self) -> float:
        limit = self.options.time_limit
        return np.inf if limit is None else max(limit - self.options.elapsed, 0.0)

    def offer(self, card: RiskScore) -> bool:
        """Take a card if it is admissible and better; whether it is admissible."""
        if not self.problem.admits(card):
            return False
        value = self.problem.objective(card)
        if value < self.upper_bound:
            self.card, self.upper_bound = card, value
        return True

    def raise_bound(self, bound: float) -> None:
        """Take a bound of a programme if it is better."""
        self.lower_bound = max(self.lower_bound, min(bound - BOUND_SLACK, self.upper_bound))

    def cut_at(self, point: FloatArray) -> bool:
        """Cut the loss at a point; whether there was no cut yet."""
        before = self.master.n_cuts
        self.master.cut(point)
        return self.master.n_cuts > before

    def record(self, iteration: int) -> None:
        """One more line of history, told to whoever listens."""
        self.history.append(Progress(iteration, self.upper_bound, self.lower_bound, self.options.elapsed))
        if self.options.on_progress is not None:
            self.options.on_progress(self.history[-1])

    def outcome(self, ended: Status, iterations: int) -> CutOutcome:
        """The result, after Ctrl-C as ``SolveInterrupted``; ``ended`` says why the method stopped if not for the gap."""
        if self.card is None and ended is Status.INTERRUPTED:
            raise SolveInterrupted("interrupted before a score card that obeys the rules was found.")
        if self.card is None:
            raise InfeasibleProblemError("no score card that obeys the rules was found in the time given; allow more of it.")
        outcome = SolveOutcome(
            status=Status.OPTIMAL if self.closed else ended,
            primal=self.card,
            dual=CutTally(self.master.n_cuts, self.programmes, tree=self.tree),
            upper_bound=self.upper_bound,
            lower_bound=self.lower_bound,
            iterations=iterations,
            seconds=self.options.elapsed,
            history=tuple(self.history),
        )
        return handed_over(outcome)
