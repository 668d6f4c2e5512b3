"""Which columns of a table shift, how, and how surely: a shift model and a table brought together."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.design.encode.numeric_range import is_observed, range_of
from surefoot.design.encode.schema import Kind
from surefoot.design.encode.table_encoder import TableEncoder
from surefoot.design.read.table import Table
from surefoot.design.write.rewritable_table import LevelColumn, RewritableTable
from surefoot.exceptions import InvalidTableError
from surefoot.shift.column_settings import DEFAULT_INTERVAL, by_position, interval_width
from surefoot.shift.noise import Noise, named_noise


@dataclass(frozen=True)
class NumericShift:
    """What is known about the shift of a numeric column; ``interval`` is u, in its units, ``ends`` are those of its range."""

    position: int
    name: str
    certainty: float
    interval: float
    noise: Noise
    ends: tuple[float, float] = (-math.inf, math.inf)

    @property
    def scale(self) -> float:
        """What draws of the law are multiplied by; 0 for a column that never moves."""
        if self.certainty == 1 or self.interval == 0:
            return 0.0
        return self.interval / self.noise.quantile(self.certainty)


@dataclass(frozen=True, eq=False)
class CategoricalShift:
    """What is known about the shift of a categorical column."""

    position: int
    name: str
    certainty: float
    levels: LevelColumn

    @property
    def n_levels(self) -> int:
        return len(self.levels.levels)

    @property
    def moves(self) -> bool:
        return self.certainty < 1 and self.n_levels > 1


@dataclass(frozen=True, eq=False)
class ShiftingColumns:
    """All columns whose certainty is known, in table order.

    Attributes
    ----------
    numeric : tuple of NumericShift
    categorical : tuple of CategoricalShift
    numeric_names, categorical_names : tuple of str
        All columns of either kind, also those that never shift.
    """

    numeric: tuple[NumericShift, ...]
    categorical: tuple[CategoricalShift, ...]
    numeric_names: tuple[str, ...]
    categorical_names: tuple[str, ...]

    def with_certainties(self, change: Callable[[FloatArray, FloatArray], FloatArray]) -> ShiftingColumns:
        """The same with certainties change(rho, lowest), numeric columns first; ``lowest`` is what chance alone gives."""
        rho = np.array([*(column.certainty for column in self.numeric), *(column.certainty for column in self.categorical)])
        lowest = np.array([*(0.0 for _ in self.numeric), *(1.0 / column.n_levels for column in self.categorical)])
        new, cut = change(rho, lowest).tolist(), len(self.numeric)
        return replace(
            self,
            numeric=tuple(replace(column, certainty=rho) for column, rho in zip(self.numeric, new[:cut], strict=True)),
            categorical=tuple(replace(column, certainty=rho) for column, rho in zip(self.categorical, new[cut:], strict=True)),
        )


def read_shifting_columns(
    table: RewritableTable,
    *,
    numeric_certainty: Any,
    numeric_interval: Any,
    categorical_certainty: Any,
    noise: Any,
    numeric_range: Any,
    categorical_features: Any,
    spread_of_source: bool,
) -> ShiftingColumns:
    """Apply the parameters of a shift model to a table.

    Parameters
    ----------
    table : RewritableTable
    numeric_certainty, numeric_interval, categorical_certainty, noise, numeric_range, categorical_features
        As in :class:`~surefoot.ShiftModel`.
    spread_of_source : bool
        Take standard deviations from the table itself even if there is a reference.

    Raises
    ------
    ValueError
        If columns are not known, or named twice, or a certainty is not above chance; the message names column and value.
    """
    read = table.table
    numeric = by_position(numeric_certainty, read, "numeric_certainty")
    categorical = by_position(categorical_certainty, read, "categorical_certainty")
    widths = by_position(numeric_interval, read, "numeric_interval")
    laws = by_position(noise, read, "noise")
    ranges = by_position(numeric_range, read, "numeric_range")
    kinds = _kinds(table, numeric, categorical, categorical_features)
    for parameter, named in (("numeric_interval", widths), ("noise", laws), ("numeric_range", ranges)):
        for at in named:
            if kinds[at][0] == "categorical":
                raise ValueError(f"{parameter} names {read.columns[at].label}, which is categorical: its values do not move.")
    spreads = table.table if spread_of_source else table.reference_table
    moving, changing = [], []
    for at, (kind, binary) in enumerate(kinds):
        given, named = (numeric_certainty, numeric) if kind == "numeric" else (categorical_certainty, categorical)
        certainty = named.get(at) if isinstance(given, Mapping) else given
        if certainty is None:
            continue
        if kind == "numeric":
            width = widths.get(at, DEFAULT_INTERVAL) if isinstance(numeric_interval, Mapping) else numeric_interval
            width = DEFAULT_INTERVAL if width is None else width
            u = interval_width(width, _spread(spreads, at) if isinstance(width, str) else 0.0)
            law = laws.get(at, "laplace") if isinstance(noise, Mapping) else noise
            spec = ranges.get(at) if isinstance(numeric_range, Mapping) else numeric_range
            ends = range_of(spec, *(_extremes(spreads, at) if is_observed(spec) else (0.0, 0.0)))
            moving.append(NumericShift(at, read.names[at], float(certainty), u, named_noise(law), ends))
        else:
            shift = CategoricalShift(at, read.names[at], float(certainty), table.levels(at, binary=binary))
            _require_above_chance(shift, read.columns[at].label)
            changing.append(shift)
    names = [tuple(read.names[at] for at, (kind, _) in enumerate(kinds) if kind == which) for which in _KINDS]
    return ShiftingColumns(tuple(moving), tuple(changing), *names)


_KINDS: tuple[Kind, Kind] = ("numeric", "categorical")


def _kinds(
    table: RewritableTable, numeric: Mapping[int, Any], categorical: Mapping[int, Any], categorical_features: Any
) -> list[tuple[Kind, bool]]:
    """Kind of each column, and whether it is a category because its numbers are all 0 or 1."""
    read = table.table
    both = sorted(numeric.keys() & categorical.keys())
    if both:
        raise ValueError(
            f"numeric_certainty and categorical_certainty both name {read.columns[both[0]].label}. A column either moves by "
            "numbers or changes its level."
        )
    guessed = isinstance(categorical_features, str) and categorical_features == "from_dtype"
    listed = None if guessed else TableEncoder(categorical_features=categorical_features).kinds(read)
    kinds: list[tuple[Kind, bool]] = []
    for at, column in enumerate(read.columns):
        # A column that a mapping names needs no guess, and may be of a type that allows none.
        if at in categorical:
            kinds.append(("categorical", _is_binary(table, at)))
        elif at in numeric:
            kinds.append(("numeric", False))
        elif listed is not None:
            kinds.append((listed[at], False))
        elif column.natural_kind() == "categorical":
            kinds.append(("categorical", False))
        else:
            binary = _is_binary(table, at)
            kinds.append(("categorical" if binary else "numeric", binary))
    return kinds


def _is_binary(table: RewritableTable, at: int) -> bool:
    """Whether a column holds numbers, all of them 0 or 1."""
    for read in (table.table, table.reference_table):
        column = read.columns[at]
        try:
            if column.natural_kind() != "numeric":
                return False
            values = column.numbers()
        except InvalidTableError:
            return False
        if not np.all((values == 0) | (values == 1)):
            return False
    return True


def _extremes(table: Table, at: int) -> tuple[float, float]:
    """The smallest and the largest of the values that are there."""
    column = table.columns[at]
    values = column.numbers()
    values = values[~np.isnan(values)]
    if values.size == 0 or not np.isfinite(values).all():
        what = "holds no value" if values.size == 0 else "holds an infinite value"
        raise InvalidTableError(f"{column.label} {what}, so it has no observed range. Give numeric_range in numbers.")
    return float(values.min()), float(values.max())


def _spread(table: Table, at: int) -> float:
    """Standard deviation of the values that are there."""
    column = table.columns[at]
    values = column.numbers()
    values = values[~np.isnan(values)]
    largest = float(np.abs(values).max(initial=0.0))
    if values.size == 0 or not np.isfinite(largest):
        what = "holds no value" if values.size == 0 else "holds an infinite value"
        raise InvalidTableError(f"{column.label} {what}, so it has no standard deviation. Give numeric_interval in units.")
    # In units of the largest value nothing overflows.
    return largest * float(np.std(values / largest)) if largest > 0 else 0.0


def _require_above_chance(column: CategoricalShift, label: str) -> None:
    if column.n_levels > 1 and column.certainty <= 1.0 / column.n_levels:
        chance = 1.0 / column.n_levels
        raise ValueError(
            f"categorical_certainty of {label} is {column.certainty:g}, which is not above chance: its rows hold "
            f"{column.n_levels} levels, which count whatever its type declares, and a "
            f"value that is drawn anew stays the same with probability {chance:.4g}. Its price "
            "log(rho (k - 1) / (1 - rho)) would not be positive, so a robust model could not use the column at all. Give it a "
            f"certainty above {chance:.4g}, or drop the column."
        )
