"""Baselines: penalised logistic regression, rounded to integer points (Section 6.1 of Ustun and Rudin, JMLR 2019).

1. A pool of real-valued fits over the regularisation path (:mod:`surefoot.riskscore.baselines.regularisation_path`).
2. Each is rounded (``rd``: to the nearest integers, ``rsrd``: after rescaling, ``seqrd``: one coordinate at a time) and, where
   the name has a star, polished by discrete coordinate descent over the columns that the rounded card uses.
3. The admissible card with the least objective is returned.

It ends with the pool. Nothing here searches for the optimum: the dual bound is the best tangent bound over all fits of the pool
(:mod:`surefoot.riskscore.baselines.tangent_bound`), so it holds, but it is only as good as real-valued cards are.
"""

from __future__ import annotations

from typing import cast

import numpy as np

from surefoot.core.outcome import SolveOutcome, Status, handed_over
from surefoot.core.solve_options import SolveOptions
from surefoot.core.solve_run import SolveRun
from surefoot.exceptions import InfeasibleProblemError, SolveInterrupted, UnsupportedProblemError
from surefoot.riskscore.baselines.discrete_descent import polished
from surefoot.riskscore.baselines.merged_rows import ScoreRows
from surefoot.riskscore.baselines.regularisation_path import PathModel, regularisation_path
from surefoot.riskscore.baselines.rounding import nearest, rescaled, sequential
from surefoot.riskscore.baselines.tangent_bound import TangentProof, tangent_bound
from surefoot.riskscore.problem.problem import RiskScore, RiskScoreProblem
from surefoot.riskscore.registry import ROUNDED

RoundedOutcome = SolveOutcome[RiskScore, TangentProof]


class RoundedScore:
    """One of the six baselines, by name."""

    def __init__(self, name: str = "seqrd*") -> None:
        if name not in ROUNDED:
            raise ValueError(f"{name!r} is no rounding method. Choose one of {', '.join(map(repr, ROUNDED))}.")
        self.name = name

    def refuses(self, problem: RiskScoreProblem) -> str | None:
        """Why the problem cannot be taken, or None; rules are no reason, as every card is checked for them."""
        if problem.shift is not None and problem.shift.radius > 0:
            return "its fits are those of the plain loss, and the problem is robust (radius > 0)."
        if problem.scale == "free":
            return "its fits are those of unit scale, and the problem has a free scale."
        return None

    def solve(self, problem: RiskScoreProblem, options: SolveOptions) -> RoundedOutcome:
        """The best admissible card of the pool, or of what a limit left of it.

        Raises
        ------
        InfeasibleProblemError
            If no card was admissible by the time limit.
        SolveInterrupted
            On Ctrl-C: a ``KeyboardInterrupt`` whose ``outcome`` is the best of what there was.
        UnsupportedProblemError
            If no card of the pool is admissible: rounding cannot look for one that obeys the rules.
        """
        run = _PoolRun(self.name, problem, options)
        ended = run.round_pool()
        if run.primal is None and ended is Status.INTERRUPTED:
            raise SolveInterrupted("interrupted before a score card that obeys the rules was found.")
        if run.primal is None and ended is Status.TIME_LIMIT:
            raise InfeasibleProblemError("no score card that obeys the rules was found in the time given; allow more of it.")
        if run.primal is None:
            raise UnsupportedProblemError(
                f"solver={self.name!r} cannot solve this problem: none of its {run.n_models} fits, rounded, obeys size and "
                "rules, and rounding does not look further. Use solver='exact'."
            )
        return handed_over(cast(RoundedOutcome, run.outcome(ended, run.n_models)))


class _PoolRun(SolveRun[RiskScore | None, TangentProof]):
    """The pool, card by card; without an incumbent at first, and with 0 as a bound of the loss."""

    def __init__(self, name: str, problem: RiskScoreProblem, options: SolveOptions) -> None:
        origin = TangentProof(np.zeros(problem.n_columns + 1))
        super().__init__(options, None, lower_bound=0.0, dual=origin, started=options.started)
        self.name, self.problem = name, problem
        self.rows = ScoreRows.of(problem)
        self.n_models = 0
        self.seen: set[bytes] = set()

    def round_pool(self) -> Status:
        """Round every fit; says why it ended."""
        try:
            for model in regularisation_path(self.rows, self.problem, stopped=self._stopped):
                self._round(model)
                if self._stopped():
                    return Status.TIME_LIMIT
        except KeyboardInterrupt:
            return Status.INTERRUPTED
        return Status.STALLED

    def _stopped(self) -> bool:
        return self.options.out_of_time

    def _round(self, model: PathModel) -> None:
        self.n_models += 1
        bound = tangent_bound(self.problem, model.point, model.loss, model.gradient)
        self.tighten(bound, TangentProof(model.point))
        card = self._rounded(model)
        if card is None or not self._is_new(card) or not self.problem.admits(card):
            return
        if self.name.endswith("*"):
            card = self._polished(card)
        if self.improve(card, self.problem.objective(card)):
            self.record(self.n_models)

    def _rounded(self, model: PathModel) -> RiskScore | None:
        if self.name.startswith("rd"):
            return nearest(self.problem, model.point)
        if self.name.startswith("rsrd"):
            return rescaled(self.problem, model.point)
        return sequential(self.problem, self.rows, model.point, self.problem.max_features, self._stopped)

    def _is_new(self, card: RiskScore) -> bool:
        key = np.append(card.intercept, card.points).astype(np.int32).tobytes()
        new = key not in self.seen
        self.seen.add(key)
        return new

    def _polished(self, card: RiskScore) -> RiskScore:
        """Polished over its own columns, so that it does not grow."""
        used = np.flatnonzero(card.points).tolist()
        return polished(self.problem, self.rows, card, used, self._stopped)
