"""Which rules contradict each other: a smallest set of them that no score card obeys.

Whether rules leave a card is asked of a small programme first. It leaves out what would make it large (rates over thousands of
distinct rows) or what it can only say approximately (rates of real-valued scores), so it may not know; then the exact search is
asked, which stops at the first card and has been through all of them when it finds none.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from surefoot.core.solve_options import SolveOptions
from surefoot.riskscore.problem.card_rules import CardRule
from surefoot.riskscore.problem.problem import RiskScoreProblem
from surefoot.riskscore.search.card_program import has_card
from surefoot.riskscore.search.exact_score import ExactScore
from surefoot.riskscore.search.native_search import search_cards


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


def find_conflict(problem: RiskScoreProblem, parts: Sequence[tuple[CardRule, ...]], seconds: float) -> RuleConflict | None:
    """The conflict among parts of the rules, or None if none was proven in the time given.

    Parts are left out one after another; one without which there is still no card is not needed for the conflict. What
    remains cannot be reduced: a part was kept because there is a card without it and the parts kept then, and later removals
    only make room for more cards.

    Parameters
    ----------
    problem : RiskScoreProblem
        Its limits and its size hold throughout; its own rules do not matter.
    parts : sequence of tuples of rules
        What is left out together, such as the rules that one wish of the user became.
    seconds : float
        Most time to spend.
    """
    end = time.perf_counter() + seconds

    def verdict(chosen: list[int]) -> bool | None:
        ruled = replace(problem, rules=tuple(rule for k in chosen for rule in parts[k]))
        answer = has_card(ruled, end - time.perf_counter())
        return _searched(ruled, end - time.perf_counter()) if answer is None else answer

    kept, minimal = list(range(len(parts))), True
    if verdict(kept) is not False:
        return None
    for k in range(len(parts)):
        fewer = [other for other in kept if other != k]
        answer = verdict(fewer)
        if answer is False:
            kept = fewer
        minimal = minimal and answer is not None
    return RuleConflict(tuple(kept), minimal)


def _searched(problem: RiskScoreProblem, seconds: float) -> bool | None:
    """Whether the exact search finds a card; None if it cannot take the problem, or not in the time given."""
    if seconds <= 0 or ExactScore().refuses(problem) is not None:
        return None
    # With a gap of 1 any card is good enough.
    result = search_cards(problem, SolveOptions(tolerance=1.0), seconds=seconds)
    if np.isfinite(result.value):
        return True
    return False if result.end == 0 else None
