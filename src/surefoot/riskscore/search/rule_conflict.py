"""Which rules contradict each other: a smallest set of them that no score card obeys.

An irreducible infeasible subset by the deletion filter (Chinneck and Dravnieks, ORSA Journal on Computing, 1991): leave out one
part after another; one without which there is still no card is dropped for good.

Whether rules leave a card is decided by a small programme first. It leaves out what would make it large (rates over thousands
of distinct rows) or what it can only say approximately (rates of real-valued scores), so it may not know; then the exact search
decides, which stops at the first card and has pruned all of them when it finds none.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from surefoot import _native
from surefoot.core.solve_options import SolveOptions
from surefoot.riskscore.problem.card_rules import CardRule
from surefoot.riskscore.problem.problem import RiskScoreProblem
from surefoot.riskscore.search.card_program import has_card
from surefoot.riskscore.search.exact_score import ExactScore
from surefoot.riskscore.search.native_search import search_cards
from surefoot.riskscore.search.parameters import DEFAULT_PARAMETERS, SearchParameters


@dataclass(frozen=True)
class RuleConflict:
    """Parts of the rules that no card obeys together.

    Attributes
    ----------
    parts : tuple of int
        Positions of the parts; none of them if limits and size alone leave no card.
    minimal : bool
        Whether it is proven that without any one of them there is a card.
    """

    parts: tuple[int, ...]
    minimal: bool


def find_conflict(
    problem: RiskScoreProblem,
    parts: Sequence[tuple[CardRule, ...]],
    seconds: float,
    parameters: SearchParameters = DEFAULT_PARAMETERS,
) -> RuleConflict | None:
    """The conflict among parts of the rules, or None if none was proven in the time given.

    What remains is irreducible: a part stays because there is a card without it and the parts left then, and later deletions
    only admit more cards.

    Parameters
    ----------
    problem : RiskScoreProblem
        Its limits and its size hold throughout; its own rules do not matter.
    parts : sequence of tuples of rules
        What is left out together, such as the rules that one wish of the user became.
    seconds : float
        Most time to spend.
    parameters : SearchParameters, optional
    """
    end = time.perf_counter() + seconds

    def verdict(chosen: list[int]) -> bool | None:
        ruled = replace(problem, rules=tuple(rule for k in chosen for rule in parts[k]))
        answer = has_card(ruled, end - time.perf_counter(), parameters)
        return _searched(ruled, end - time.perf_counter()) if answer is None else answer

    left, minimal = list(range(len(parts))), True
    if verdict(left) is not False:
        return None
    for k in range(len(parts)):
        fewer = [other for other in left if other != k]
        answer = verdict(fewer)
        if answer is False:
            left = fewer
        minimal = minimal and answer is not None
    return RuleConflict(tuple(left), minimal)


def _searched(problem: RiskScoreProblem, seconds: float) -> bool | None:
    """Whether the exact search finds a card; None if it cannot take the problem, or not in the time given."""
    if seconds <= 0 or ExactScore().refuses(problem) is not None:
        return None
    # With a gap of 1 any card is good enough.
    result = search_cards(problem, SolveOptions(tolerance=1.0), seconds=seconds)
    if np.isfinite(result.value):
        return True
    return False if result.end is _native.SearchEnd.COMPLETE else None
