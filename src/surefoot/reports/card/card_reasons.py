"""Why a person has the score that they have: the answers that add most to the risk, in the order in which they do.

A reason is an answer with more card points than a reference. The reference is the best answer to the same question (the one
with the fewest points), or the mean points of a table of people; both are in use where reasons for a refusal have to be
named. Card points are in proportion to log odds, so their order is that of the effect on the odds, at any scale of the score.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from surefoot.reports.card.card_question import CardQuestion, card_questions
from surefoot.reports.card.scored_rows import column_values
from surefoot.reports.wording import number_text, shown_name

if TYPE_CHECKING:
    from surefoot.reports.card.score_card import ScoreCard


@dataclass(frozen=True)
class CardReason:
    """One answer that adds to the risk of a person.

    Attributes
    ----------
    feature : str
        What was asked.
    answer : str
    points : float
        Card points of the answer.
    reference : float
        Card points of the best answer, or the mean ones.
    odds_ratio : float
        What the difference multiplies the odds by.
    """

    feature: str
    answer: str
    points: float
    reference: float
    odds_ratio: float

    @property
    def excess(self) -> float:
        """Points above the reference."""
        return self.points - self.reference

    def __str__(self) -> str:
        more = round(self.excess, 2)
        word = "point" if more == 1 else "points"
        said = f"{number_text(more)} {word} more, odds times {self.odds_ratio:.2g}"
        return f"{shown_name(self.feature)}: {shown_name(self.answer)} ({said})"


def card_reasons(card: ScoreCard, people: Any, most: int, typical: Any) -> Any:
    """Reasons of a person, or of every row of a table; the parameters are those of :meth:`surefoot.ScoreCard.reasons`."""
    if isinstance(most, bool) or not isinstance(most, (int, np.integer)) or most < 1:
        raise ValueError(f"most = {most!r} must be a whole number of at least 1.")
    questions = card_questions(card.lines)
    references = [_reference(question, card, typical) for question in questions]
    if getattr(people, "ndim", 0) == 1 and hasattr(people, "to_dict"):
        people = people.to_dict()  # a row of a frame
    if isinstance(people, Mapping):
        card.total(people)  # says what is missing
        return _reasons(card, questions, references, people, int(most))
    values = column_values(card, people)
    n_rows = len(next(iter(values.values()))) if values else 0
    return [
        _reasons(card, questions, references, {name: float(own[row]) for name, own in values.items()}, int(most))
        for row in range(n_rows)
    ]


def _reference(question: CardQuestion, card: ScoreCard, typical: Any) -> float:
    if typical is not None:
        values = column_values(card, typical)
        return float(np.mean(np.sum([line.points * values[line.feature] for line in question.lines], axis=0)))
    if math.isinf(question.least):
        raise ValueError(
            f"column {question.feature!r} holds numbers whose range is not known, so there is no best answer. Pass typical=, a "
            "table of people to compare with."
        )
    return float(question.least)


def _reasons(
    card: ScoreCard,
    questions: tuple[CardQuestion, ...],
    references: list[float],
    values: Mapping[str, float],
    most: int,
) -> tuple[CardReason, ...]:
    found = []
    for question, reference in zip(questions, references, strict=True):
        points = question.points(values)
        if points > reference:
            ratio = math.exp(min((points - reference) / float(card.multiplier), 700.0))
            found.append(CardReason(question.feature, question.answer(values), points, reference, ratio))
    # Equal ones stay in the order of the card.
    return tuple(sorted(found, key=lambda reason: -reason.excess)[:most])
