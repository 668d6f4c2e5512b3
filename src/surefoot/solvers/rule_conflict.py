"""Which rules contradict each other: a smallest set of them that no score card obeys."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from surefoot.problems.card_rules import CardRule
from surefoot.problems.risk_score import RiskScoreProblem
from surefoot.solvers.card_program import has_card


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
        rules = tuple(rule for k in chosen for rule in parts[k])
        return has_card(replace(problem, rules=rules), end - time.perf_counter())

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
