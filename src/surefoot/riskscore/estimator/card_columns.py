"""The columns of a training table as rules speak of them: by name or position, with what they hold and may get."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surefoot.core.arrays import FloatArray, IntArray

# How names of threshold and level columns go on after the name of the variable they were made from.
_CONDITION = re.compile(r" (>=|>|<=|<|==|=|in|missing)( |$)")
_LISTED = 10


@dataclass(frozen=True)
class CardColumns:
    """What rules need to know of a table.

    Attributes
    ----------
    names : tuple of str
    binary : ndarray of shape (n_columns,), bool
        Which columns hold 0 and 1 and nothing else.
    lower, upper : ndarray of shape (n_columns,)
        Smallest and largest points of each column.
    shares : ndarray of shape (n_columns,), optional
        Weight of the rows with a 1 in each column of 0 and 1; NaN in others.
    """

    names: tuple[str, ...]
    binary: NDArray[np.bool_]
    lower: IntArray
    upper: IntArray
    shares: FloatArray | None = None

    def find(self, column: Any, rule: str) -> int:
        """Position of a column that is given by name or by position.

        Raises
        ------
        ValueError
            If there is no such column; the message names ``rule`` and the names that come closest.
        """
        if isinstance(column, str):
            if column in self.names:
                return self.names.index(column)
            raise ValueError(f"{rule} names column {column!r}, which the table does not have. {self._nearest(column)}")
        if isinstance(column, (int, np.integer)) and not isinstance(column, bool):
            if 0 <= column < len(self.names):
                return int(column)
            raise ValueError(f"{rule} names column {column}, but positions run from 0 to {len(self.names) - 1}.")
        raise ValueError(f"{rule} names column {column!r}; columns are given by name or by position.")

    def find_all(self, columns: Any, rule: str) -> tuple[int, ...]:
        """Positions of several columns, or of a single one that is given alone."""
        single = isinstance(columns, (str, int, np.integer))
        if not single and not isinstance(columns, Iterable):
            raise ValueError(f"{rule} names columns {columns!r}; give a list of names or positions.")
        found = tuple(self.find(column, rule) for column in ([columns] if single else columns))
        for k, at in enumerate(found):
            if at in found[:k]:
                raise ValueError(f"{rule} names column {self.names[at]!r} twice.")
        if not found:
            raise ValueError(f"{rule} names no column.")
        return found

    def of_variable(self, variable: Any, rule: str) -> tuple[int, ...]:
        """Positions of a list of columns, or, for the name of a variable, of all columns made from it ("age >= 40", ...)."""
        if not isinstance(variable, str):
            return self.find_all(variable, rule)
        made = tuple(
            at
            for at, name in enumerate(self.names)
            if name == variable or (name.startswith(variable) and _CONDITION.match(name, len(variable)))
        )
        if made:
            return made
        raise ValueError(
            f"{rule} names {variable!r}, but no column is made from a variable of that name. {self._nearest(variable)}"
        )

    def require_binary(self, columns: Iterable[int], rule: str) -> None:
        """Raise ``ValueError`` for the first column that holds anything but 0 and 1."""
        for at in columns:
            if not self.binary[at]:
                raise ValueError(
                    f"{rule} needs columns of 0 and 1, but column {self.names[at]!r} holds other values. "
                    "ThresholdBinarizer makes 0/1 columns from numbers and categories."
                )

    def limits(self, at: int) -> range:
        """All points that a column may have, 0 included."""
        return range(int(self.lower[at]), int(self.upper[at]) + 1)

    def _nearest(self, name: str) -> str:
        lowered: dict[str, str] = {}
        for known in self.names:
            lowered.setdefault(known.lower(), known)
        close = [lowered[match] for match in difflib.get_close_matches(name.lower(), lowered, n=3, cutoff=0.6)]
        close += [known for known in self.names if name.lower() in known.lower() and known not in close][: 3 - len(close)]
        if close:
            return f"Did you mean {' or '.join(map(repr, close))}?"
        listed = ", ".join(map(repr, self.names[:_LISTED]))
        more = f" and {len(self.names) - _LISTED} more" if len(self.names) > _LISTED else ""
        return f"The columns are {listed}{more}."
