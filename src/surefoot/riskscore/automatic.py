"""The choice between the exact search and a hybrid, by what the search is expected to take.

A search fits a share of all supports of up to k columns and rules out the others in groups. Measured on the six tables of Ustun
and Rudin (JMLR 2019) with k = 5, that share was at most a tenth (spambase 9 %, bank 5 %, mushroom 0.2 %), at about 150,000
supports a second on one core where all columns are 0/1, and 2,500 otherwise. A tenth of the supports at that speed is the
estimate; without a time limit the search is always allowed to finish.

Where it would not, the search has two thirds of the time, as the best heuristic there is, and cutting planes have the rest,
from the search's card: their relaxation may prove more than an unfinished search. The better bound counts.
"""

from __future__ import annotations

import logging
import math
from dataclasses import replace
from typing import Any

import numpy as np

from surefoot.core.outcome import SolveOutcome, Status
from surefoot.core.solve_options import SolveOptions
from surefoot.riskscore.lattice.lcpa import LCPA
from surefoot.riskscore.problem.problem import RiskScore, RiskScoreProblem
from surefoot.riskscore.search.exact_score import ExactScore

FITTED_SHARE = 0.1
BINARY_SPEED, ROW_SPEED = 150_000.0, 2_500.0
SEARCH_SHARE = 2 / 3

_log = logging.getLogger(__name__)


class AutomaticScore:
    """Exact search where it will finish, otherwise the search and cutting planes one after the other.

    ``name`` is that of the method chosen and ``reason`` says why, once a problem has been seen; both are also logged.
    ``proof_limit`` is that of the exact search.
    """

    def __init__(self, *, proof_limit: int = 0) -> None:
        self.proof_limit = proof_limit
        self.name = "auto"
        self.reason = ""

    def refuses(self, problem: RiskScoreProblem) -> str | None:
        """Why neither method can take the problem, or None."""
        reasons = [ExactScore().refuses(problem), LCPA().refuses(problem)]
        return None if None in reasons else " ".join(map(str, reasons))

    def solve(self, problem: RiskScoreProblem, options: SolveOptions) -> SolveOutcome[RiskScore, Any]:
        """Solve with the method chosen.

        Raises
        ------
        InfeasibleProblemError
            If no card obeys the rules.
        SolveInterrupted
            On Ctrl-C: a ``KeyboardInterrupt`` whose ``outcome`` is the best until then.
        """
        self.name, self.reason = _choice(problem, options)
        _log.info("solver %s: %s", self.name, self.reason)
        if self.name == "exact":
            return ExactScore(proof_limit=self.proof_limit).solve(problem, options)
        if self.name == "lcpa":
            return LCPA().solve(problem, options)
        assert options.time_limit is not None
        left = max(options.time_limit - options.elapsed, 0.0)
        search = ExactScore(proof_limit=self.proof_limit)
        searched = search.solve(problem, replace(options, time_limit=options.elapsed + SEARCH_SHARE * left))
        if searched.status is Status.OPTIMAL:
            return searched
        cut = LCPA(searched.primal).solve(problem, options)
        lower = max(searched.lower_bound, cut.lower_bound)
        best: SolveOutcome[RiskScore, Any] = cut if cut.upper_bound < searched.upper_bound else searched
        closed = best.upper_bound - lower <= options.tolerance * abs(best.upper_bound)
        return replace(
            best,
            status=Status.OPTIMAL if closed or cut.status is Status.OPTIMAL else Status.TIME_LIMIT,
            lower_bound=min(lower, best.upper_bound),
            iterations=searched.iterations + cut.iterations,
            seconds=options.elapsed,
            history=(*searched.history, *cut.history),
        )


def expected_seconds(problem: RiskScoreProblem, n_threads: int = 1) -> float:
    """What the exact search is expected to take; see the module docstring."""
    sizes = range(1, min(problem.max_features, problem.n_columns) + 1)
    supports = sum(math.comb(problem.n_columns, size) for size in sizes)
    binary = bool(np.isin(problem.columns, (0.0, 1.0)).all())
    return FITTED_SHARE * supports / ((BINARY_SPEED if binary else ROW_SPEED) * n_threads)


def _choice(problem: RiskScoreProblem, options: SolveOptions) -> tuple[str, str]:
    refused = ExactScore().refuses(problem)
    if refused is not None:
        return "lcpa", f"the exact search cannot take the problem: {refused}"
    if options.time_limit is None:
        return "exact", "there is no time limit, so the exact search can finish."
    expected, left = expected_seconds(problem, options.n_threads), options.time_limit - options.elapsed
    if expected <= left:
        return "exact", f"the exact search is expected to take up to {expected:.2g} s of the {left:.2g} s there are."
    if LCPA().refuses(problem) is not None:
        return "exact", f"the exact search may need {expected:.2g} s and has {left:.2g} s, but cutting planes cannot take it."
    return (
        "exact+lcpa",
        f"the exact search may need {expected:.2g} s and has {left:.2g} s: it goes first, cutting planes follow from its card.",
    )
