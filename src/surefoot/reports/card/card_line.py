"""One line of a score card: a feature, its points, and what can be said about its values."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from surefoot.design.binarize.binary_column import BinaryColumn
from surefoot.reports.plain_json import PlainReader

ValueKind: TypeAlias = Literal["binary", "integer", "real"]


@dataclass(frozen=True)
class CardLine:
    """Points of one feature.

    Attributes
    ----------
    feature : str
        Name of the column.
    points : int
        What the line adds: ``points`` if a binary feature holds, ``points`` times the value of any other.
    kind : {"binary", "integer", "real"}
        What values the column holds: 0 and 1, whole numbers, any numbers.
    lowest, highest : float, optional
        Range of the values of an integer or real column in training; None if it is not known.
    meaning : BinaryColumn, optional
        What a binary column says about a column of the original table.
    """

    feature: str
    points: int
    kind: ValueKind = "binary"
    lowest: float | None = None
    highest: float | None = None
    meaning: BinaryColumn | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.feature, str):
            raise ValueError(f"feature {self.feature!r} is not text.")
        if type(self.points) is not int:
            raise ValueError(f"points of {self.feature!r} are {self.points!r}; points are whole numbers.")
        if self.kind not in ("binary", "integer", "real"):
            raise ValueError(f"kind of {self.feature!r} is {self.kind!r}; use 'binary', 'integer' or 'real'.")
        if self.meaning is not None and self.kind != "binary":
            raise ValueError(f"{self.feature!r} holds numbers; only a 0/1 column has a meaning.")
        ends = (self.lowest, self.highest)
        if ends == (None, None):
            return
        if None in ends or self.kind == "binary" or not all(math.isfinite(float(end)) for end in ends if end is not None):
            raise ValueError(f"the range {ends} of {self.feature!r} makes no sense; give two numbers, or none for 0/1 columns.")
        if float(ends[0] or 0) > float(ends[1] or 0):
            raise ValueError(f"the range of {self.feature!r} runs from {self.lowest} down to {self.highest}.")

    def to_dict(self) -> dict[str, Any]:
        """The line as JSON-ready containers."""
        content: dict[str, Any] = {"feature": self.feature, "points": self.points, "kind": self.kind}
        if self.lowest is not None:
            content["range"] = [self.lowest, self.highest]
        if self.meaning is not None:
            content["meaning"] = {key: entry for key, entry in self.meaning.to_dict().items() if key != "name"}
        return content

    @classmethod
    def read(cls, entry: PlainReader) -> CardLine:
        """The line that :meth:`to_dict` wrote."""
        ends = entry.optional("range")
        meaning = entry.optional("meaning")
        return cls(
            feature=entry.text("feature"),
            points=entry.whole("points"),
            kind=entry.text("kind"),  # type: ignore[arg-type]  # checked by the line itself
            lowest=None if ends is None else ends.item(0).number(),
            highest=None if ends is None else ends.item(1).number(),
            meaning=None if meaning is None else _read_meaning(meaning),
        )


def _read_meaning(entry: PlainReader) -> BinaryColumn:
    operator = entry.text("operator")
    if operator not in (">=", "=", "in", "missing"):
        raise ValueError(f"{entry.place}: {operator!r} is no operator of a 0/1 column.")
    value = entry.optional("value")
    if operator == "in":
        levels = tuple(level.level() for level in entry.items("value"))
        return BinaryColumn(entry.text("feature"), "in", levels)
    level = None if value is None else value.number() if operator == ">=" else value.level()
    if (level is None) != (operator == "missing"):
        raise ValueError(f"{entry.place}: operator {operator!r} does not go with value {level!r}.")
    return BinaryColumn(entry.text("feature"), operator, level)  # type: ignore[arg-type]  # checked above
