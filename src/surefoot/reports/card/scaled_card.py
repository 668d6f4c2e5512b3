"""A card in the points of a trade: a base score at base odds, and so many points to double the odds.

    score = base_score + points_to_double / log(2) * (log(odds of the other class) - log(base_odds))

The odds are those of the class whose risk the card does not give ("good" to "bad"), so that a higher score is a lower risk;
with ``rising=True`` they are those of the class whose risk it gives. The score is linear in the card's total, so the
questions keep their say. Every answer has points at or above 0, the worst one of a question none, and everybody begins with
``start``.

Points are whole on paper, which card points times a factor are not. Each is rounded by itself, so a sum of them may be off by
half a point per question at most; ``largest_rounding`` is how far off it can be on this card.
"""

from __future__ import annotations

import math
import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from surefoot.core.arrays import FloatArray
from surefoot.design.write.output_frame import build_frame
from surefoot.reports.card.card_question import CardQuestion, card_questions
from surefoot.reports.card.scored_rows import column_values
from surefoot.reports.markup import resource, safe
from surefoot.reports.wording import cells, number_text, risk_name, risk_text, shown_name

if TYPE_CHECKING:
    from surefoot.reports.card.score_card import ScoreCard

_PAGE = 88


@dataclass(frozen=True)
class ScaledCard:
    """A score card in points of a base score, base odds and points to double the odds.

    Parameters
    ----------
    card : ScoreCard
        Of questions: columns of 0 and 1.
    base_score, base_odds, points_to_double : float
        Score at which the odds are ``base_odds`` to 1, and points that double them.
    rising : bool
        Whether the score rises with the risk.
    """

    card: ScoreCard
    base_score: float
    base_odds: float
    points_to_double: float
    rising: bool

    def __post_init__(self) -> None:
        for name in ("base_score", "base_odds", "points_to_double"):
            value = getattr(self, name)
            known = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
            if not known or (name != "base_score" and value <= 0):
                raise ValueError(f"{name} = {value!r} must be a finite number{'' if name == 'base_score' else ' above 0'}.")
        if not isinstance(self.rising, bool):
            raise ValueError(f"rising = {self.rising!r} must be True or False.")
        for line in self.card.lines:
            if line.kind != "binary":
                raise ValueError(
                    f"column {line.feature!r} holds numbers, whose points are no list of answers. Make questions of it with "
                    "ThresholdBinarizer, and a card of those."
                )

    @property
    def start(self) -> int:
        """Points that everybody begins with: the score of the worst answers."""
        worst = sum(self._worst(question) for question in self.questions)
        return round(self.exact_score(worst))

    @property
    def questions(self) -> tuple[CardQuestion, ...]:
        """What is asked, in the order of the card."""
        return card_questions(self.card.lines)

    def points(self, question: CardQuestion) -> tuple[tuple[str, int], ...]:
        """Answers of a question with their points."""
        return tuple((answer, round(self._gain(question, own))) for answer, own in question.answers)

    def exact_score(self, total: float) -> float:
        """The score of a total of card points, not rounded."""
        return self.base_score + self._factor * (self._log_odds(total) - math.log(self.base_odds))

    def risk(self, score: float) -> float:
        """The risk that a score stands for."""
        log_odds = math.log(self.base_odds) + (score - self.base_score) / self._factor
        return float(expit(log_odds if self.rising else -log_odds))

    def scores(self, X: Any) -> NDArray[np.int64]:
        """Scores of the rows of a table that has the 0/1 columns of the card: the sum of whole points.

        Returns
        -------
        ndarray of shape (n_rows,), int
        """
        values = column_values(self.card, X)
        total = np.full(len(next(iter(values.values()))) if values else 0, self.start, dtype=np.int64)
        for question in self.questions:
            own: FloatArray = np.sum([line.points * values[line.feature] for line in question.lines], axis=0)
            distinct, place = np.unique(own, return_inverse=True)
            total += np.array([round(self._gain(question, value)) for value in distinct.tolist()], dtype=np.int64)[place]
        return total

    @property
    def largest_rounding(self) -> float:
        """How far the score of whole points may be from the exact one."""
        worst = sum(self._worst(question) for question in self.questions)
        low = high = self.start - self.exact_score(worst)
        for question in self.questions:
            gains = [self._gain(question, own) for _, own in question.answers]
            errors = [round(gain) - gain for gain in gains]
            low, high = low + min(errors), high + max(errors)
        return max(-low, high, 0.0)

    @property
    def text(self) -> str:
        """The card as lines of text."""
        rows = [("everybody", "", str(self.start))]
        for question in self.questions:
            name = shown_name(question.feature)
            for at, (answer, points) in enumerate(self.points(question)):
                rows.append((name if at == 0 else "", shown_name(answer), str(points)))
        widths = [max(cells(row[k]) for row in rows) for k in range(3)]
        body = [
            f"{name}{' ' * (widths[0] - cells(name))}  {answer}{' ' * (widths[1] - cells(answer))}  {points:>{widths[2]}}"
            for name, answer, points in rows
        ]
        rule = "-" * (sum(widths) + 4)
        told = [f"{score:>9}  {risk:>7}" for score, risk in self._score_lines()]
        return "\n".join(
            [
                shown_name(self.card.heading),
                rule,
                *body,
                rule,
                "",
                f"{'Score':>9}  {'Risk':>7}",
                *told,
                "",
                *(part for note in self._notes for part in textwrap.wrap(note, _PAGE)),
            ]
        )

    @property
    def html(self) -> str:
        """The card as a section of a page."""
        lines = [f'<tr><th scope="row">everybody</th><td></td><td class="sf-number">{self.start}</td></tr>']
        for question in self.questions:
            for at, (answer, points) in enumerate(self.points(question)):
                name = safe(shown_name(question.feature)) if at == 0 else ""
                told = f'<td>{safe(shown_name(answer))}</td><td class="sf-number">{points}</td>'
                lines.append(f'<tr><th scope="row">{name}</th>{told}</tr>')
        risks = "".join(
            f'<tr><th scope="row" class="sf-number">{score}</th><td class="sf-number">{safe(risk)}</td></tr>'
            for score, risk in self._score_lines()
        )
        heading = safe(shown_name(self.card.heading))
        columns = '<th scope="col">Question</th><th scope="col">Answer</th><th scope="col" class="sf-number">Points</th>'
        scores = '<th scope="col" class="sf-number">Score</th><th scope="col" class="sf-number">Risk</th>'
        return "\n".join(
            [
                f'<section class="sf-card" aria-label="{heading}">',
                f"<style>{resource('card.css')}</style>",
                f"<h2>{heading}</h2>",
                '<div class="sf-parts">',
                '<div class="sf-points"><table><caption>Add up the points of your answers</caption>',
                f"<thead><tr>{columns}</tr></thead><tbody>{''.join(lines)}</tbody></table></div>",
                f'<div class="sf-risks"><table><caption>Read off the {safe(risk_name(self.card.classes[1]))}</caption>',
                f"<thead><tr>{scores}</tr></thead><tbody>{risks}</tbody></table></div>",
                "</div>",
                *(f"<p>{safe(note)}</p>" for note in self._notes),
                "</section>",
            ]
        )

    def table(self) -> Any:
        """A data frame with a row for every answer: ``question``, ``answer``, ``points``, ``card_points``."""
        rows = [("everybody", "", self.start, 0)]
        for question in self.questions:
            own = zip(self.points(question), question.answers, strict=True)
            rows += [(question.feature, answer, points, card_points) for (answer, points), (_, card_points) in own]
        names = ("question", "answer", "points", "card_points")
        return build_frame({name: list(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)}, None)

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return self.html

    @property
    def _factor(self) -> float:
        return float(self.points_to_double) / math.log(2.0)

    def _log_odds(self, total: float) -> float:
        """Log odds of the class whose odds the score counts."""
        own = (self.card.intercept + total) / float(self.card.multiplier)
        return own if self.rising else -own

    def _worst(self, question: CardQuestion) -> int:
        """Card points of the answer with the lowest score."""
        own = [points for _, points in question.answers]
        return min(own) if self.rising else max(own)

    def _gain(self, question: CardQuestion, own: float) -> float:
        """Points above the worst answer, not rounded."""
        return abs(own - self._worst(question)) * self._factor / float(self.card.multiplier)

    def _score_lines(self) -> list[tuple[str, str]]:
        """Scores and risks of the rows of the card's own table of risks, lowest score first."""
        rows = self.card.table.rows if self.rising else self.card.table.rows[::-1]
        if not self.card.table.exact:
            ends = [(self.exact_score(row.low), self.exact_score(row.high), row) for row in rows]
            return [
                (
                    " to ".join(number_text(round(end)) for end in sorted((a, b))),
                    f"{risk_text(row.low_risk)} to {risk_text(row.high_risk)}",
                )
                for a, b, row in ends
            ]
        return [(number_text(round(self.exact_score(row.low))), risk_text(row.low_risk)) for row in rows]

    @property
    def _notes(self) -> list[str]:
        whose = self.card.classes[1] if self.rising else self.card.classes[0]
        scale = (
            f"{number_text(self.base_score)} points are odds of {number_text(self.base_odds)} to 1 for {shown_name(whose)!r}; "
            f"{number_text(self.points_to_double)} points double them."
        )
        rounding = f"Whole points are within {math.ceil(100 * self.largest_rounding) / 100:.2f} of the exact score."
        return [scale, f"{rounding} Each {risk_name(self.card.classes[1])} is that of an exact score.", *self.card.notes]
