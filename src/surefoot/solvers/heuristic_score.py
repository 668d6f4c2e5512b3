"""A good score card in a moment, without a proof that it is the best.

Supports grow column by column, the few with the best real-valued fits are kept at each size (a few Newton steps tell which
fits are worth finishing), and the best whole points of the last ones are found. Then one column at a time is exchanged for
another, as long as that helps (cpp/include/surefoot/card_heuristic.hpp). The rest of the time goes to exchanges of two columns,
or, where all columns are 0/1, to the exact search, which visits supports so fast that no selection of them does better. The
lower bound holds; it is 0 where there was no time for one.
"""

from __future__ import annotations

import numpy as np

from surefoot import _native
from surefoot.exceptions import InfeasibleProblemError, SolveInterrupted
from surefoot.problems.risk_score import RiskScore, RiskScoreProblem
from surefoot.solvers.exact_score import ExactScore, ScoreOutcome, SearchTally, native_shift
from surefoot.solvers.native_rules import native_rules, point_limits
from surefoot.solvers.outcome import SolveOutcome, Status, handed_over
from surefoot.solvers.registry import SolveOptions

# Large tables are looked at for this long, unless a time limit says otherwise.
SECONDS = 1.0
# A heuristic that came to its end has nothing more to try; only a gap can tell that the card is the best.
_ENDS = (Status.STALLED, Status.TIME_LIMIT, Status.INTERRUPTED)


class HeuristicScore:
    """Beam, whole points, exchanges; or the exact search for as long as there is time."""

    name = "heuristic"

    def refuses(self, problem: RiskScoreProblem) -> str | None:
        """Why the problem cannot be taken, or None."""
        return ExactScore().refuses(problem)

    def solve(self, problem: RiskScoreProblem, options: SolveOptions) -> ScoreOutcome:
        """A card that no exchange of one or two columns improved, or the best found in the time.

        Raises
        ------
        InfeasibleProblemError
            If no card that obeys the rules was found, which does not mean that there is none.
        SolveInterrupted
            On Ctrl-C: a ``KeyboardInterrupt`` whose ``outcome`` is what would have been returned.
        """
        nothing = np.zeros(0, dtype=np.int32)
        lower, upper = point_limits(problem)
        limit = SECONDS if options.time_limit is None else max(options.time_limit - options.elapsed, 0.0)
        result = _native.search_supports(
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
            *native_shift(problem),
            *problem.multiplier_range,
            gap=options.tolerance,
            time_limit=limit,
            heuristic=True,
            n_threads=options.n_threads,
            on_progress=None,
            near_optimal=-1.0,
            near_limit=0,
            proof_limit=0,
            on_cards=None,
            resume_order=nothing,
            resume_finished=nothing.reshape(0, 2),
            resume_intercept=0,
            resume_points=nothing,
            snapshot_interval=np.inf,
            on_snapshot=None,
            search=bool(np.isin(problem.columns, (0.0, 1.0)).all()),
        )
        status = _ENDS[result.end]
        if not np.isfinite(result.value):
            if status is Status.INTERRUPTED:
                raise SolveInterrupted("interrupted before a score card that obeys the rules was found.")
            raise InfeasibleProblemError("no score card that obeys the rules was found; use solver='exact' to look further.")
        optimal = result.value - result.lower_bound <= options.tolerance * abs(result.value)
        return handed_over(
            SolveOutcome(
                status=Status.OPTIMAL if optimal else status,
                primal=RiskScore(result.intercept, result.points, result.multiplier),
                dual=SearchTally(0, 0, 0, result.heuristic_value, result.heuristic_seconds),
                upper_bound=result.value,
                lower_bound=min(result.lower_bound, result.value),
                iterations=0,
                seconds=options.elapsed,
            )
        )
