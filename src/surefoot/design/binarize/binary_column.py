"""What one 0/1 column says about a column of the table it was made from.

    operator    value               the 0/1 column is 1 where the feature
    ">="        number              is at least the value
    "="         level               is that level
    "in"        tuple of levels     is one of those levels
    "missing"   None                is missing

The name of a 0/1 column can be read aloud ("age >= 75"), the other fields can be computed with.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from surefoot.design.binarize.cuts import spelled
from surefoot.design.encode.schema import Level

Operator: TypeAlias = Literal[">=", "=", "in", "missing"]

# A group of levels is spelled out in a name up to this length; longer ones are counted.
_LONGEST_GROUP = 40


@dataclass(frozen=True)
class BinaryColumn:
    """One 0/1 column.

    Attributes
    ----------
    feature : str
        Name of the column it was made from.
    operator : {">=", "=", "in", "missing"}
    value : number, level, tuple of levels, or None
        What the feature is compared with. True, with "=", also stands for the 1 of a column that held 0 and 1 already.
    """

    feature: str
    operator: Operator
    value: Level | tuple[Level, ...] = None

    @classmethod
    def of_levels(cls, feature: str, levels: tuple[Level, ...]) -> BinaryColumn:
        """One level, several that are counted as one, or the missing one (None)."""
        if len(levels) > 1:
            return cls(feature, "in", levels)
        return cls(feature, "missing") if levels[0] is None else cls(feature, "=", levels[0])

    @property
    def name(self) -> str:
        """Name of the 0/1 column; a feature that says yes or no itself keeps its own."""
        if self.operator == "missing":
            return f"{self.feature} missing"
        if isinstance(self.value, bool):
            return self.feature if self.value else f"not {self.feature}"
        if isinstance(self.value, tuple):
            listed = self.value_text
            many = len(listed) > _LONGEST_GROUP
            return f"{self.feature} = other ({len(self.value)} levels)" if many else f"{self.feature} in {{{listed}}}"
        return f"{self.feature} {self.operator} {self.value_text}"

    @property
    def value_text(self) -> str:
        """The value as people write it; several levels are separated by commas."""
        values = self.value if isinstance(self.value, tuple) else (self.value,)
        return ", ".join(map(_shown, values)) if self.operator != "missing" else ""

    def to_dict(self) -> dict[str, Any]:
        """The fields as JSON-ready containers."""
        value = list(self.value) if isinstance(self.value, tuple) else self.value
        return {"name": self.name, "feature": self.feature, "operator": self.operator, "value": value}


def _shown(level: Level) -> str:
    return spelled(level) if isinstance(level, float) else str(level)
