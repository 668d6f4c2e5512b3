"""What a person is asked for a card: one question per variable, its answers, and the card points of each.

Lines that come from one variable are answered together: of the thresholds "age >= 65" and "age >= 75" a person meets none,
the first, or both, which makes three answers. A line whose meaning is not known is a question of its own, with the answers no
and yes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise

from surefoot.design.binarize.cuts import spelled
from surefoot.reports.card.card_line import CardLine


@dataclass(frozen=True)
class CardQuestion:
    """One variable of a card.

    Attributes
    ----------
    feature : str
        Name of the variable, or of the column where nothing more is known.
    lines : tuple of CardLine
        Thresholds in rising order, others in the order of the card.
    """

    feature: str
    lines: tuple[CardLine, ...]

    @property
    def answers(self) -> tuple[tuple[str, int], ...]:
        """All answers in words, with their card points; empty for a column of numbers, which has no list of answers."""
        if self.lines[0].kind != "binary":
            return ()
        if self._alone:
            return (("no", 0), ("yes", self.lines[0].points))
        cuts, others = self._parts
        sums = [0]
        for line in cuts:
            sums.append(sums[-1] + line.points)
        gaps_only = [_level(line) for line in others] == ["not known"]
        first = (f"below {_value(cuts[0])}" if cuts else "known" if gaps_only else "none of these", 0)
        inner = [f"{_value(low)} to below {_value(high)}" for low, high in pairwise(cuts)]
        told = [*inner, f"{_value(cuts[-1])} or more"] if cuts else []
        return (first, *zip(told, sums[1:], strict=True), *((_level(line), line.points) for line in others))

    @property
    def least(self) -> float:
        """Fewest card points of an answer; minus infinity where a column of numbers has no known range."""
        if self.answers:
            return min(points for _, points in self.answers)
        line = self.lines[0]
        if line.lowest is None or line.highest is None:
            return float("-inf")
        return min(line.points * line.lowest, line.points * line.highest)

    def points(self, values: Mapping[str, float]) -> float:
        """Card points of a person, given the value of every line."""
        return float(sum(line.points * float(values[line.feature]) for line in self.lines))

    def answer(self, values: Mapping[str, float]) -> str:
        """The answer of a person in words."""
        met = [at for at, line in enumerate(self.lines) if float(values[line.feature]) != 0]
        if self.lines[0].kind != "binary":
            return spelled(float(values[self.lines[0].feature]))
        if self._alone:
            return "yes" if met else "no"
        cuts, others = self._parts
        named = [line for at, line in enumerate(self.lines) if at in met and line in others]
        if named:
            return _level(named[0])
        return self.answers[len(met)][0] if cuts else self.answers[0][0]

    @property
    def _alone(self) -> bool:
        """Whether the one line is asked by its own name: it says yes or no, or nothing is known about it."""
        meaning = self.lines[0].meaning
        return meaning is None or (len(self.lines) == 1 and isinstance(meaning.value, bool))

    @property
    def _parts(self) -> tuple[list[CardLine], list[CardLine]]:
        """Thresholds, and the other lines."""
        cuts = [line for line in self.lines if line.meaning is not None and line.meaning.operator == ">="]
        return cuts, [line for line in self.lines if line not in cuts]


def card_questions(lines: Iterable[CardLine]) -> tuple[CardQuestion, ...]:
    """The questions of a card, in the order of its lines."""
    groups: dict[tuple[bool, str], list[CardLine]] = {}
    for line in lines:
        named = line.meaning is not None
        groups.setdefault((named, line.meaning.feature if line.meaning else line.feature), []).append(line)
    return tuple(CardQuestion(name, tuple(sorted(own, key=_order))) for (_, name), own in groups.items())


def _order(line: CardLine) -> tuple[bool, float]:
    meaning = line.meaning
    if meaning is not None and meaning.operator == ">=":
        return False, float(meaning.value)  # type: ignore[arg-type]  # a threshold is a number
    return True, 0.0


def _value(line: CardLine) -> str:
    assert line.meaning is not None
    return line.meaning.value_text


def _level(line: CardLine) -> str:
    assert line.meaning is not None
    return "not known" if line.meaning.operator == "missing" else line.meaning.value_text
