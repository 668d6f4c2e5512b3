"""Rows of several environments: one table with the name of each row's site, or a table for each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surefoot.core.arrays import FloatArray
from surefoot.design.encode.labels import encode_labels
from surefoot.design.encode.row_groups import read_row_groups
from surefoot.design.encode.schema import Level
from surefoot.design.read.column import NumberColumn, plain_level
from surefoot.design.read.stacked_tables import stacked_tables
from surefoot.design.read.table import Table, read_table
from surefoot.exceptions import InvalidTableError

# Of the values of a column; beyond it, sums of moves and of squares of them relative to the largest may not be numbers.
LARGEST_WIDTH = 1e308


@dataclass(frozen=True, eq=False)
class Environments:
    """All rows with their environments.

    Attributes
    ----------
    table : Table
        The rows of all environments, with gaps where one of them lacks a column.
    names : tuple
        Of the environments.
    codes : ndarray of shape (n_rows,)
        Position of each row's environment in ``names``.
    truths : mapping
        Columns of truth values in some of the tables and of other numbers in others, by name: an environment of either kind.
    """

    table: Table
    names: tuple[Level, ...]
    codes: NDArray[np.intp]
    truths: Mapping[str, tuple[Level, Level]] = field(default_factory=dict)

    @cached_property
    def counts(self) -> FloatArray:
        """Rows of each environment."""
        found: FloatArray = np.bincount(self.codes, minlength=len(self.names)).astype(np.float64)
        return found

    def numbers(self, position: int) -> tuple[FloatArray, NDArray[np.bool_]]:
        """A column as numbers, and where it has gaps, which hold the median of all values."""
        column = self.table.columns[position]
        if self.table.names[position] in self.truths:
            truths, measured = self.truths[self.table.names[position]]
            raise InvalidTableError(
                f"{column.label} holds truth values at {truths!r} and numbers other than 0 and 1 at {measured!r}. Give both "
                "the same type, drop the column, or name it in categorical_features to take every distinct value as a level."
            )
        values = column.numbers()
        infinite = np.flatnonzero(np.isinf(values))
        if infinite.size:
            raise InvalidTableError(
                f"Input X contains infinity: {column.label}, row {infinite[0]} holds {values[infinite[0]]}. "
                "Replace infinite values or drop their rows."
            )
        gaps: NDArray[np.bool_] = np.isnan(values)
        if gaps.all():
            raise InvalidTableError(f"{column.label} holds no value in any of the tables. Drop it.")
        low, high = float(values[~gaps].min()), float(values[~gaps].max())
        if high / 2 - low / 2 > LARGEST_WIDTH / 2:
            raise InvalidTableError(
                f"{column.label} reaches from {low:g} to {high:g}, which is further than a double can say. Divide it by a "
                "number: units do not matter."
            )
        return np.where(gaps, np.median(values[~gaps]), values), gaps

    def levels(self, position: int) -> tuple[NDArray[np.intp], int, NDArray[np.bool_]]:
        """A column as codes of levels, how many there are, and where it has gaps, which are a level like others."""
        column = self.table.columns[position]
        reading = column.categories()
        gaps: NDArray[np.bool_] = reading.codes < 0
        if gaps.all():
            raise InvalidTableError(f"{column.label} holds no value in any of the tables. Drop it.")
        plain = [plain_level(value, column.label) for value in reading.values]
        place = {level: code for code, level in enumerate(dict.fromkeys(plain))}
        codes = np.array([*(place[level] for level in plain), len(place)], dtype=np.intp)[reading.codes]
        return codes, len(place) + int(gaps.any()), gaps

    def unmeasured(self, gaps: NDArray[np.bool_]) -> tuple[Level, ...]:
        """The environments in which a column has nothing but gaps."""
        measured = np.bincount(self.codes[~gaps], minlength=len(self.names)) > 0
        return tuple(name for name, known in zip(self.names, measured, strict=True) if not known)


def read_environments(X: Any, groups: Any) -> Environments:
    """Read a table with its groups, or tables by environment.

    Parameters
    ----------
    X : table, mapping of names to tables, or list of tables
    groups : the environment of each row of a table; for a list of tables their names or None; for a mapping None
    """
    if isinstance(X, Mapping):
        if groups is not None:
            raise ValueError("X is a mapping of environments to tables, so that groups has nothing to say. Leave it out.")
        return of_tables(list(X.values()), tuple(X))
    if isinstance(X, (list, tuple)) and X and all(_is_table(item) for item in X):
        names = range(len(X)) if groups is None else list(groups)
        if len(names) != len(X):
            raise InvalidTableError(f"X has {len(X)} tables, groups has {len(names)} names. Name each table.")
        return of_tables(X, tuple(names))
    if groups is None:
        raise ValueError("groups is missing: the environment of each row. Or pass a mapping of environments to tables.")
    table = read_table(X)
    found = read_row_groups(groups, table.n_rows)
    return _several(Environments(table, found.names, found.codes))


def of_tables(tables: Sequence[Any], names: tuple[Any, ...]) -> Environments:
    """Each table is an environment."""
    repeated = [name for at, name in enumerate(names) if name in names[:at]]
    if repeated:
        raise InvalidTableError(f"the environment {repeated[0]!r} is named twice.")
    read = [read_table(table) for table in tables]
    codes = np.repeat(np.arange(len(read)), [table.n_rows for table in read])
    plain = tuple(plain_level(name, "the names of the environments") for name in names)
    return _several(Environments(stacked_tables(read), plain, codes, _truths_beside_numbers(read, plain)))


def _truths_beside_numbers(tables: Sequence[Table], names: tuple[Level, ...]) -> dict[str, tuple[Level, Level]]:
    truths: dict[str, Level] = {}
    measured: dict[str, Level] = {}
    for table, name in zip(tables, names, strict=True):
        for column_name, column in zip(table.names, table.columns, strict=True):
            if not isinstance(column, NumberColumn):
                continue
            if column.values.dtype.kind == "b":
                truths.setdefault(column_name, name)
            elif not np.isin(column.numbers()[~np.isnan(column.numbers())], (0.0, 1.0)).all():
                measured.setdefault(column_name, name)
    return {column: (truths[column], measured[column]) for column in truths if column in measured}


def read_signs(X: Any, y: Any, found: Environments) -> FloatArray:
    """Labels of all rows, -1.0 and +1.0, given in the way of the tables or as one sequence."""
    if isinstance(X, Mapping):
        if isinstance(y, Mapping):
            if set(y) != set(X):
                raise InvalidTableError("y must name the same environments as X.")
            y = [y[name] for name in X]
        y = _joined(y, found)
    elif isinstance(X, (list, tuple)) and X and all(_is_table(item) for item in X):
        if isinstance(y, Mapping):
            raise ValueError(
                "y is a mapping of environments to labels, but X is a list of tables. Give both in the same form: a mapping, "
                "or a list in the same order."
            )
        y = _joined(y, found)
    signs = encode_labels(y).signs
    if signs.size != found.codes.size:
        raise InvalidTableError(
            f"Found input variables with inconsistent numbers of samples: X has {found.codes.size} rows, y has {signs.size} "
            "labels."
        )
    return signs


def _joined(y: Any, found: Environments) -> Any:
    """Labels table by table as one sequence; one sequence for all tables stays as it is."""
    if len(y) != len(found.names) or any(np.ndim(part) != 1 for part in y):
        return y
    return np.array([label for part in y for label in np.asarray(part).tolist()], dtype=object)


def _several(found: Environments) -> Environments:
    if not found.names:
        raise InvalidTableError("X has no tables: how much environments differ takes at least two.")
    if len(found.names) < 2:
        raise InvalidTableError(
            f"there is one environment only, {found.names[0]!r}: how much environments differ takes at least two."
        )
    return found


def _is_table(item: Any) -> bool:
    """Whether an item of a list is a table, and not a row of one."""
    return len(getattr(item, "shape", ())) == 2
