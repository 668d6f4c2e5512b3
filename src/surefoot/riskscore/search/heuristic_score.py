"""A primal heuristic for risk scores: a good card in a moment, without a proof that it is the best.

Beam search over supports, whole points for the best of them, then a local search that exchanges one column at a time while that
improves the card (cpp/include/surefoot/riskscore/search/card_heuristic.hpp). The rest of the time goes to exchanges of two
columns, or, where all columns are 0/1, to the exact search, which processes supports so fast that no selection of them does
better. It ends when no exchange improves the card, or at the time limit. The lower bound holds; it is 0 where there was no time
for one.
"""

from __future__ import annotations

import numpy as np

from surefoot import _native
from surefoot.core.outcome import SolveOutcome, Status, handed_over
from surefoot.core.solve_options import SolveOptions
from surefoot.exceptions import InfeasibleProblemError, SolveInterrupted
from surefoot.riskscore.problem.problem import RiskScore, RiskScoreProblem
from surefoot.riskscore.search.exact_score import ExactScore, ScoreOutcome, SearchTally
from surefoot.riskscore.search.native_search import search_cards
from surefoot.riskscore.search.parameters import SearchParameters

# A heuristic that came to its end has nothing more to try; only a gap can tell that the card is the best.
STATUS = {
    _native.SearchEnd.COMPLETE: Status.STALLED,
    _native.SearchEnd.TIME_LIMIT: Status.TIME_LIMIT,
    _native.SearchEnd.INTERRUPTED: Status.INTERRUPTED,
}


class HeuristicScore:
    """Beam search, whole points, exchanges; or the exact search for as long as there is time."""

    name = "heuristic"

    def __init__(self, parameters: SearchParameters | None = None) -> None:
        self.parameters = SearchParameters() if parameters is None else parameters

    def _seconds(self, options: SolveOptions) -> float:
        if options.time_limit is None:
            return self.parameters.heuristic_seconds
        return max(options.time_limit - options.elapsed, 0.0)

    def refuses(self, problem: RiskScoreProblem) -> str | None:
        """Why the problem cannot be taken, or None."""
        return ExactScore().refuses(problem)

    def solve(self, problem: RiskScoreProblem, options: SolveOptions) -> ScoreOutcome:
        """A card that no exchange of one or two columns improved, or the best found in the time.

        Raises
        ------
        InfeasibleProblemError
            If no card obeys the rules, or none was found in the time given; the message says which.
        SolveInterrupted
            On Ctrl-C: a ``KeyboardInterrupt`` whose ``outcome`` is what would have been returned.
        """
        searched = bool(np.isin(problem.columns, (0.0, 1.0)).all())
        result = search_cards(problem, options, seconds=self._seconds(options), search=searched)
        if not np.isfinite(result.value) and not searched and result.end is not _native.SearchEnd.INTERRUPTED:
            # Rules that exchanges do not meet: the search finds a card, or that there is none.
            searched, result = True, search_cards(problem, options, seconds=self._seconds(options), search=True)
        status = STATUS[result.end]
        if not np.isfinite(result.value):
            if status is Status.INTERRUPTED:
                raise SolveInterrupted("interrupted before a score card that obeys the rules was found.")
            if result.end is _native.SearchEnd.COMPLETE:
                raise InfeasibleProblemError("no score card obeys the rules.")
            raise InfeasibleProblemError(
                "no score card that obeys the rules was found in the time given; allow more of it, or use solver='exact'."
            )
        optimal = result.value - result.lower_bound <= options.tolerance * abs(result.value)
        return handed_over(
            SolveOutcome(
                status=Status.OPTIMAL if optimal else status,
                primal=RiskScore(result.intercept, result.points, result.multiplier),
                dual=SearchTally(
                    0,
                    0,
                    0,
                    result.heuristic_value,
                    result.heuristic_seconds,
                    relaxed_point=result.relaxed_point if result.relaxed_point.size else None,
                ),
                upper_bound=result.value,
                lower_bound=min(result.lower_bound, result.value),
                iterations=0,
                seconds=options.elapsed,
            )
        )


def first_card(problem: RiskScoreProblem, options: SolveOptions, seconds: float) -> RiskScore | None:
    """A first incumbent for another method, found by exchanges alone; None if there is none, or none in the time given.

    Raises
    ------
    KeyboardInterrupt
        On Ctrl-C.
    """
    if ExactScore().refuses(problem) is not None:
        return None
    result = search_cards(problem, options, seconds=seconds, search=False)
    if result.end is _native.SearchEnd.INTERRUPTED:
        raise KeyboardInterrupt
    return RiskScore(result.intercept, result.points, result.multiplier) if np.isfinite(result.value) else None
