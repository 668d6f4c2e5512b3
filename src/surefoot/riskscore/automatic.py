"""The choice between the exact search and cutting planes, from what the search measures about itself.

The search always goes first: it is the best heuristic there is, and it proves the most if it ends. Under a time limit it is
looked at once, when ``search_fraction`` of the time is over, and either goes on to the end or hands its card over to LCPA,
whose relaxation may then prove more than an unfinished search. The better bound counts, and so does the better card.

What is measured is the fraction f of the tree that is done: of the supports in subtrees that are finished, or open with a bound
below the incumbent, the fraction in finished ones. After t seconds in the tree the search is estimated to need t (1 - f) / f
more (a measure of progress like the tree weight in Hendel, Anderson, Le Bodic and Pfetsch, INFORMS Journal on Computing 2022,
with subtrees weighted by their supports). It is the right quantity because subtrees that bounds rule out already weigh nothing,
whatever their size, and because it holds for any machine, table and number of threads. The gap and the number of fits per
second would not do: the bound stays where it is until the last subtrees of equal bound are finished, and how many fits there
will be is what is not known. The estimate errs on the long side, as the incumbent and the relaxation go on to prune
(``estimate_ratio``).

Without a time limit nothing is measured: the search may finish, and the result does not depend on the clock.
"""

from __future__ import annotations

import logging
import math
from dataclasses import dataclass, replace
from typing import Any

from surefoot.core.outcome import Progress, SolveOutcome, Status, handed_over
from surefoot.core.solve_options import SolveOptions
from surefoot.exceptions import SolveInterrupted
from surefoot.riskscore.lattice.lcpa import LCPA
from surefoot.riskscore.problem.problem import RiskScore, RiskScoreProblem
from surefoot.riskscore.search.exact_score import ExactScore
from surefoot.riskscore.search.heuristic_score import first_card

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class ChoiceParameters:
    """When the search hands over.

    Attributes
    ----------
    search_fraction : float
        Fraction of the time left that the search has before it is looked at. More: better estimates, less time for cutting
        planes. Not tuned.
    estimate_ratio : float
        The search hands over if it is estimated to need more than this multiple of the time left. When 18 searches of 13 tables
        (cards of 3 to 8 columns) were looked at after two thirds of the time that they took, the ratio was 0.9 to 6.3; for four
        that were not near their ends it was 28 and more. Handing over too early loses a proof; too late, a bound or a card that
        cutting planes improved in 2 of 12 cases. Not confirmed on other tables.
    exchange_fraction : float
        Fraction of the time left after that for exchanges of pairs of columns, which a search that may finish does not try.
        On HELOC (8 of 101 columns, 12 s) the loss falls from 0.5721 to 0.5709. Not tuned.
    """

    search_fraction: float = 2 / 3
    estimate_ratio: float = 8.0
    exchange_fraction: float = 0.5


class AutomaticScore:
    """Exact search where it will finish, otherwise the search and cutting planes one after the other.

    ``name`` is that of the method chosen and ``reason`` says why, once a problem has been solved; both are also logged.
    ``proof_limit`` is that of the exact search.
    """

    def __init__(self, *, proof_limit: int = 0, parameters: ChoiceParameters | None = None) -> None:
        self.proof_limit = proof_limit
        self.parameters = ChoiceParameters() if parameters is None else parameters
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
        refused = ExactScore().refuses(problem)
        if refused is not None:
            self._choose("lcpa", f"the exact search cannot take the problem: {refused}")
            return LCPA().solve(problem, options)
        if options.time_limit is None:
            self._choose("exact", "there is no time limit, so the exact search can finish.")
            return ExactScore(proof_limit=self.proof_limit).solve(problem, options)
        if LCPA().refuses(problem) is not None:
            self._choose("exact", "cutting planes cannot take the problem, so the exact search has all of the time.")
            return ExactScore(proof_limit=self.proof_limit).solve(problem, options)
        return self._search_first(problem, options)

    def _choose(self, name: str, reason: str) -> None:
        self.name, self.reason = name, reason
        _log.info("solver %s: %s", name, reason)

    def _search_first(self, problem: RiskScoreProblem, options: SolveOptions) -> SolveOutcome[RiskScore, Any]:
        self.name, self.reason = "exact", "the exact search was over before the look at its progress."
        forecast = SearchForecast(options, self.parameters)
        searched = ExactScore(proof_limit=self.proof_limit, gives_up=forecast.gives_up).solve(problem, options)
        if forecast.verdict:
            self._choose("exact+lcpa" if forecast.given_up else "exact", forecast.verdict)
        else:
            self._choose(self.name, self.reason)
        if not forecast.given_up:
            return searched
        try:
            cut = LCPA(self._exchanged(searched, problem, options)).solve(problem, options)
        except SolveInterrupted as stop:
            if isinstance(stop.outcome, SolveOutcome):
                best = _better(searched, stop.outcome, options)
                raise SolveInterrupted(str(stop), replace(best, status=Status.INTERRUPTED)) from stop
            raise
        except KeyboardInterrupt:
            return handed_over(replace(searched, status=Status.INTERRUPTED))
        return _better(searched, cut, options)

    def _exchanged(self, searched: SolveOutcome[RiskScore, Any], problem: RiskScoreProblem, options: SolveOptions) -> RiskScore:
        """The card of the search, or one that exchanges of pairs of columns make better."""
        card = first_card(problem, options, self.parameters.exchange_fraction * options.seconds_left)
        return card if card is not None and problem.objective(card) < searched.upper_bound else searched.primal


class SearchForecast:
    """Looks at a search once and says whether it should give up.

    Attributes
    ----------
    given_up : bool
    verdict : str
        What was measured and what follows; empty before the look.
    """

    def __init__(self, options: SolveOptions, parameters: ChoiceParameters) -> None:
        assert options.time_limit is not None
        self.options, self.parameters = options, parameters
        self.limit = options.time_limit
        begun = options.elapsed
        self.look_at = begun + parameters.search_fraction * (self.limit - begun)
        self.tree_begun = 0.0  # the last line before there was a tree, in seconds of the search
        self.given_up, self.verdict = False, ""

    def gives_up(self, progress: Progress, fraction_done: float) -> bool:
        """Whether the search hands over; asked with every line of its progress."""
        if math.isnan(fraction_done):
            self.tree_begun = progress.seconds
            return False  # the first cards are still being looked for, and nobody finds better ones in the time left
        if self.verdict or self.options.elapsed < self.look_at:
            return False
        if not math.isfinite(progress.upper_bound):
            return False  # there is no card to hand over
        left = max(self.limit - self.options.elapsed, 0.0)
        needed = self._needed(progress, fraction_done)
        measured = (
            f"the exact search had done {fraction_done:.2%} of its tree and may need {needed:.2g} s, with {left:.2g} s left"
        )
        self.given_up = needed > self.parameters.estimate_ratio * left
        self.verdict = f"{measured}: cutting planes follow from its card." if self.given_up else f"{measured}: it went on."
        return self.given_up

    def _needed(self, progress: Progress, fraction_done: float) -> float:
        """Seconds that the search is estimated to take from here on; none while it only writes its proof."""
        if progress.gap <= self.options.tolerance * abs(progress.upper_bound):
            return 0.0
        if not fraction_done > 0:
            return math.inf
        return (progress.seconds - self.tree_begun) * (1 - fraction_done) / fraction_done


def _better(
    searched: SolveOutcome[RiskScore, Any], cut: SolveOutcome[RiskScore, Any], options: SolveOptions
) -> SolveOutcome[RiskScore, Any]:
    """The better card with the better bound of two solves of one problem."""
    lower = max(searched.lower_bound, cut.lower_bound)
    best = cut if cut.upper_bound < searched.upper_bound else searched
    dual: Any = best.dual
    point = getattr(searched.dual, "relaxed_point", None)
    if point is not None:
        # The minimiser of a relaxation proves more than the best fit of a path.
        dual = replace(dual, relaxed_point=point)
    closed = best.upper_bound - lower <= options.tolerance * abs(best.upper_bound)
    return replace(
        best,
        dual=dual,
        status=Status.OPTIMAL if closed or cut.status is Status.OPTIMAL else Status.TIME_LIMIT,
        lower_bound=min(lower, best.upper_bound),
        iterations=searched.iterations + cut.iterations,
        seconds=options.elapsed,
        history=(*searched.history, *cut.history),
    )
