"""Exact search for risk scores: every support is visited or proven worse than a card at hand.

The search (cpp/include/surefoot/support_search.hpp) walks the supports column by column. Three bounds, all consequences of the
convexity of the loss L, rule out what cannot win; with points q in a box [l, u] around any point p with gradient g,

    L(q) >= L(p) - sum_j (g_j p_j - min(g_j l_j, g_j u_j)).

1. At the fit of a prefix, with A the columns still to be added (at most the remaining room), the sum over A of the largest
   terms bounds all supports that extend the prefix: columns and whole subtrees fall away.
2. At every Newton iterate of a support's own real-valued fit it bounds all cards on that support.
3. Within a support the intercept and the points are fixed one after another, with the same bound over the rest.

0/1 columns are counted by bits: all counts of sets of up to four columns stand in a table, one AND and population count gives
each larger one, and inclusion and exclusion turns them into cells. Other columns are cut into groups of equal rows. A small
allowance in every bound pays for rounding.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from surefoot import _native
from surefoot.exceptions import InfeasibleProblemError
from surefoot.problems.risk_score import RiskScore, RiskScoreProblem
from surefoot.solvers.native_rules import native_rules, point_limits
from surefoot.solvers.outcome import Progress, SolveOutcome, Status
from surefoot.solvers.registry import SolveOptions

_ENDS = (Status.OPTIMAL, Status.TIME_LIMIT, Status.INTERRUPTED)
# The core sizes its arrays by it; a longer card could not be added up by hand.
MOST_FEATURES = 15


@dataclass(frozen=True)
class SearchTally:
    """What a search did.

    Attributes
    ----------
    supports_fitted : int
        Supports whose real-valued fit was bounded; all others were ruled out in groups.
    supports_searched : int
        Supports whose points were searched.
    boxes_fitted : int
        Boxes of points bounded in doing so.
    heuristic_value, heuristic_seconds : float
        The card the search began with.
    """

    supports_fitted: int
    supports_searched: int
    boxes_fitted: int
    heuristic_value: float
    heuristic_seconds: float


ScoreOutcome = SolveOutcome[RiskScore, SearchTally]


class ExactScore:
    """Branch and bound over supports and whole points; ``options.tolerance`` is the relative gap at which it may stop."""

    name = "exact"

    def refuses(self, problem: RiskScoreProblem) -> str | None:
        """Why the search cannot take the problem, or None."""
        if min(problem.max_features, problem.n_columns) > MOST_FEATURES:
            return f"cards may have up to {problem.max_features} columns, and the search handles {MOST_FEATURES}."
        return None

    def solve(self, problem: RiskScoreProblem, options: SolveOptions) -> ScoreOutcome:
        """The best card, or the best found with a valid bound if a limit or Ctrl-C came first.

        Raises
        ------
        InfeasibleProblemError
            If no card obeys the rules.
        """
        history: list[Progress] = []

        def report(upper: float, lower: float, seconds: float, fitted: int) -> bool:
            history.append(Progress(fitted, upper, lower, seconds))
            if options.on_progress is not None:
                options.on_progress(history[-1])
            return True

        lower, upper = point_limits(problem)
        limit = np.inf if options.time_limit is None else max(options.time_limit - options.elapsed, 0.0)
        end, value, bound, intercept, points, fitted, searched, boxes, first_value, first_seconds = _native.search_supports(
            np.ascontiguousarray(problem.columns.T),
            problem.labels,
            problem.weights,
            lower,
            upper,
            problem.intercept_lower,
            problem.intercept_upper,
            min(problem.max_features, problem.n_columns),
            problem.penalty,
            *native_rules(problem),
            options.tolerance,
            limit,
            True,
            options.n_threads,
            report,
        )
        if not np.isfinite(value):
            if _ENDS[end] is Status.OPTIMAL:
                raise InfeasibleProblemError(
                    "no score card obeys the rules; drop one of them, or allow more columns or points."
                )
            raise InfeasibleProblemError("no score card that obeys the rules was found in the time given; allow more of it.")
        return SolveOutcome(
            status=_ENDS[end],
            primal=RiskScore(intercept, points),
            dual=SearchTally(fitted, searched, boxes, first_value, first_seconds),
            upper_bound=value,
            lower_bound=min(bound, value),
            iterations=fitted,
            seconds=options.elapsed,
            history=tuple(history),
        )
