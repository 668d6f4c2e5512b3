"""State of a cutting-plane run: the incumbent, the dual bound, and the master programme that the bound comes from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.core.backends.highs import BOUND_SLACK
from surefoot.core.outcome import SolveOutcome, Status, handed_over
from surefoot.core.solve_options import SolveOptions
from surefoot.core.solve_run import SolveRun
from surefoot.exceptions import InfeasibleProblemError, SolveInterrupted
from surefoot.riskscore.baselines.merged_rows import ScoreRows
from surefoot.riskscore.lattice.score_master import ScoreMaster
from surefoot.riskscore.problem.problem import RiskScore, RiskScoreProblem

# Bounds of a programme in floating point cannot tell closer objectives apart: a gap of this much counts as none.
RESOLUTION = 2 * BOUND_SLACK
NO_CARD = "no score card obeys the rules; drop one of them, or allow more columns or points."


@dataclass(frozen=True)
class CutTally:
    """What a cutting-plane method did.

    Attributes
    ----------
    cuts : int
        Tangents of the loss in the last programme.
    programmes : int
        Integer programmes solved to the end by CPA, nodes of the tree of LCPA.
    resolution : float
        Objectives closer than this were not distinguished.
    tree : str
        Whose branch and bound it was: "own" or "scip".
    relaxed_point : ndarray or None
        Coefficients, intercept first, at which the tangent of the loss proves a bound of all cards.
    """

    cuts: int
    programmes: int
    resolution: float = RESOLUTION
    tree: str = "own"
    relaxed_point: FloatArray | None = None


CutOutcome = SolveOutcome[RiskScore, CutTally]


class CutRun(SolveRun[RiskScore | None, CutTally]):
    """One run of a cutting-plane method, without an incumbent at first; the loss itself is bounded by 0."""

    def __init__(self, problem: RiskScoreProblem, options: SolveOptions) -> None:
        super().__init__(options, None, lower_bound=0.0, started=options.started)
        self.problem = problem
        self.rows = ScoreRows.of(problem)
        self.master = ScoreMaster(problem, self.rows)
        self.programmes = 0
        self.tree = "own"
        self.relaxed_point: FloatArray | None = None
        # The card without columns is what a run without time returns, wherever the rules admit it.
        self.offer(RiskScore(0, np.zeros(problem.n_columns, dtype=np.int32)))

    @property
    def accepted_gap(self) -> float:
        """The gap at which the run may stop."""
        if not np.isfinite(self.upper_bound):
            return 0.0
        return max(self.options.tolerance * abs(self.upper_bound), RESOLUTION)

    @property
    def cutoff(self) -> float:
        """Cards with an objective at or above it are of no interest."""
        return self.upper_bound - self.accepted_gap

    @property
    def converged(self) -> bool:
        """Whether the gap is accepted, up to what programmes can resolve."""
        return self.gap <= self.accepted_gap + 1.5 * BOUND_SLACK

    def limit_reached(self, iterations: int) -> Status | None:
        """The limit that ends the run before another iteration, or None."""
        if self.options.out_of_time:
            return Status.TIME_LIMIT
        if self.options.max_iter is not None and iterations >= self.options.max_iter:
            return Status.ITERATION_LIMIT
        return None

    def offer(self, card: RiskScore) -> bool:
        """Take a card if it is admissible and better than the incumbent; whether it is admissible."""
        if not self.problem.admits(card):
            return False
        self.improve(card, self.problem.objective(card))
        return True

    def raise_bound(self, bound: float) -> None:
        """Take the optimum of a programme, or a bound of it, as a dual bound if it is better."""
        self.tighten(min(bound - BOUND_SLACK, self.upper_bound))

    def cut_at(self, point: FloatArray) -> bool:
        """Cut the loss at a point; whether there was no cut yet."""
        before = self.master.n_cuts
        self.master.cut(point)
        return self.master.n_cuts > before

    def cut_outcome(self, ended: Status) -> CutOutcome:
        """The result, after Ctrl-C as ``SolveInterrupted``; ``ended`` says why the method stopped if not for the gap."""
        if self.primal is None and ended is Status.INTERRUPTED:
            raise SolveInterrupted("interrupted before a score card that obeys the rules was found.")
        if self.primal is None:
            raise InfeasibleProblemError("no score card that obeys the rules was found in the time given; allow more of it.")
        self.dual = CutTally(self.master.n_cuts, self.programmes, tree=self.tree, relaxed_point=self.relaxed_point)
        return handed_over(cast(CutOutcome, self.outcome(ended, self.programmes)))
