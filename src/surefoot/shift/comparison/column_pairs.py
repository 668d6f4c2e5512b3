"""The columns that two tables share, as numbers that can be compared.

Numbers of a column are put into units in which both tables lie within [-1, 1], so that neither huge offsets nor huge values
cost digits. A gap of a numeric column is filled (with the median the model fills in, or that of the first table), and going
missing has a price of its own; a gap of a categorical column is a level like others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from surefoot.core.arrays import BoolArray, FloatArray, RowArray
from surefoot.design.encode.schema import Level

# How tables call the label among the columns.
LABEL_NAME = "(label)"


@dataclass(frozen=True, eq=False)
class NumericPair:
    """A numeric column of both tables.

    Attributes
    ----------
    name : str
    values : pair of ndarrays
        In units of ``unit``, from ``centre``; gaps are filled.
    gaps : pair of ndarrays of bool
    centre, unit : float
    price : float
        Of one unit of the column, as a person would say it.
    gap_price : float
        Of a value that goes missing or comes back.
    counted : bool
        Whether the price is part of a joint cost. Not so for columns of which the model says that they never shift (``price``
        is then that of a default model), and for labels without a price.
    outside : float
        The share of rows of the second table beyond the range that the model was told.
    """

    name: str
    values: tuple[FloatArray, FloatArray]
    gaps: tuple[BoolArray, BoolArray]
    centre: float
    unit: float
    price: float
    gap_price: float
    counted: bool = True
    outside: float = 0.0

    kind = "numeric"

    @property
    def scaled_price(self) -> float:
        """The price of one unit of ``values``."""
        # Beyond this a sum over columns would overflow.
        return min(self.price * self.unit, 1e150)

    def mean(self, which: int) -> float:
        """The mean of the values that are there, NaN if there are none."""
        present = self.values[which][~self.gaps[which]]
        return self.centre + self.unit * float(present.mean()) if present.size else float("nan")


@dataclass(frozen=True, eq=False)
class CategoricalPair:
    """A categorical column of both tables.

    Attributes
    ----------
    name : str
    codes : pair of ndarrays
        Places in ``levels``.
    levels : tuple
        Those of either table, a gap (None) last.
    price : float
        Of a change of level.
    counted : bool
        As above.
    """

    name: str
    codes: tuple[RowArray, RowArray]
    levels: tuple[Level, ...]
    price: float
    counted: bool = True

    kind = "categorical"

    def shares(self, which: int) -> FloatArray:
        """The share of each level."""
        codes = self.codes[which]
        found: FloatArray = np.bincount(codes, minlength=len(self.levels)) / codes.size
        return found


ColumnPair = NumericPair | CategoricalPair


@dataclass(frozen=True, eq=False)
class SharedColumns:
    """What two tables have in common.

    Attributes
    ----------
    columns : tuple of NumericPair and CategoricalPair
        In the order of the first table.
    n_rows : pair of int
    missing : tuple of str
        Columns of the first table, or of the model, that the second lacks.
    extra : tuple of str
        Columns of the second table that are not compared.
    lacking : tuple of str
        Columns of the model that the first table lacks.
    retyped : tuple of str
        Columns of numbers in one table and of text or truth values in the other, which are not compared.
    identifiers : tuple of str
        Columns with a value of its own in nearly every row, which are not compared.
    """

    columns: tuple[ColumnPair, ...]
    n_rows: tuple[int, int]
    missing: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()
    lacking: tuple[str, ...] = ()
    retyped: tuple[str, ...] = ()
    identifiers: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)


def row_count(column: ColumnPair, which: int) -> int:
    """Rows of the first (0) or the second (1) table."""
    return int((column.codes if isinstance(column, CategoricalPair) else column.values)[which].size)


def chosen_rows(column: ColumnPair, rows: tuple[RowArray, RowArray]) -> ColumnPair:
    """The column of some rows of each table."""
    if isinstance(column, CategoricalPair):
        return replace(column, codes=(column.codes[0][rows[0]], column.codes[1][rows[1]]))
    values = column.values[0][rows[0]], column.values[1][rows[1]]
    return replace(column, values=values, gaps=(column.gaps[0][rows[0]], column.gaps[1][rows[1]]))


def scaled_values(before: FloatArray, after: FloatArray) -> tuple[tuple[FloatArray, FloatArray], float, float]:
    """Both columns in units in which they lie within [-1, 1], the centre and the unit."""
    low = min(float(before.min()), float(after.min()))
    high = max(float(before.max()), float(after.max()))
    # Halves, because the range of +-1e308 is no number.
    centre, unit = low / 2 + high / 2, high / 2 - low / 2
    if unit == 0:
        return (np.zeros(before.size), np.zeros(after.size)), low, 1.0
    return ((before - centre) / unit, (after - centre) / unit), centre, unit


def price_text(price: float) -> str:
    """A price for a sentence or a table: three digits, or all before the point."""
    return f"{price:,.0f}" if 1000 <= abs(price) < 1e9 else f"{price:.3g}"


def shown_levels(levels: Sequence[Level], most: int = 3) -> str:
    """Some levels in a sentence; one more is named, too, rather than counted."""
    most = len(levels) if len(levels) == most + 1 else most
    named = ", ".join("(missing)" if level is None else repr(level) for level in levels[:most])
    return named + (f" and {len(levels) - most:,} more" if len(levels) > most else "")
