"""Rows in groups by a named column: the levels of a category, or quarters of a number."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from surefoot.core.arrays import BoolArray
from surefoot.design.read.column import Column
from surefoot.design.read.table import Table, read_column
from surefoot.exceptions import InvalidTableError
from surefoot.reports.wording import number_text

# Numbers with more values than levels that are shown are cut into quarters; rarer levels are put together.
MOST_GROUPS = 8
_QUARTERS = (0.25, 0.5, 0.75)
OTHERS, MISSING = "all others", "(missing)"


@dataclass(frozen=True, eq=False)
class RowGroup:
    """Some rows and what they have in common."""

    label: str
    rows: BoolArray


def read_groupings(by: Any, data: Table) -> dict[str, list[RowGroup]]:
    """Groups of rows for every column that ``by`` names.

    Parameters
    ----------
    by : str, sequence of str, or mapping of names to columns
        Columns of the table, or columns that the model does not see.
    data : Table

    Raises
    ------
    InvalidTableError
        If a column is not in the table, has another number of rows, or holds one value only.
    """
    if isinstance(by, Mapping):
        columns: dict[str, Column] = {str(name): read_column(values, f"by[{name!r}]") for name, values in by.items()}
    else:
        columns = {name: _column(name, data) for name in _names(by)}
    return {name: _groups(name, column, data.n_rows) for name, column in columns.items()}


def _names(by: Any) -> Sequence[str]:
    names = [by] if isinstance(by, str) else by
    if not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
        raise ValueError(f"by = {by!r:.120} must be the name of a column, a list of such, or a mapping of names to columns.")
    return names


def _column(name: str, data: Table) -> Column:
    if name not in data.names:
        raise InvalidTableError(
            f"by names the column {name!r}, which the table lacks; it has {', '.join(map(repr, data.names[:12]))}. A column "
            "that the model does not see is handed over as by={name: values}."
        )
    return data.columns[data.names.index(name)]


def _groups(name: str, column: Column, n_rows: int) -> list[RowGroup]:
    reading = column.categories()
    if reading.codes.size != n_rows:
        raise InvalidTableError(f"by[{name!r}] has {reading.codes.size} values for {n_rows} rows.")
    counts = np.bincount(reading.codes[reading.codes >= 0], minlength=len(reading.values))
    held = int(np.sum(counts > 0))
    is_number = all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in reading.values)
    missing = RowGroup(MISSING, reading.codes < 0)
    if held > MOST_GROUPS and is_number:
        found = _quarters(column)
    else:
        order = np.argsort(-counts, kind="stable")[:held]
        shown = order if held <= MOST_GROUPS else order[: MOST_GROUPS - 1]
        if is_number:
            named = sorted(shown.tolist(), key=lambda at: reading.values[at])
        else:
            named = sorted(shown.tolist(), key=lambda at: str(reading.values[at]))
        found = [RowGroup(str(reading.values[at]), reading.codes == at) for at in named]
        if held > MOST_GROUPS:
            found.append(RowGroup(OTHERS, np.isin(reading.codes, order[MOST_GROUPS - 1 :])))
    if missing.rows.any():
        found.append(missing)
    if len(found) < 2:
        raise InvalidTableError(f"the column {name!r} of by holds one value only: there are no groups to compare.")
    return found


def _quarters(column: Column) -> list[RowGroup]:
    values = column.numbers()
    known = values[np.isfinite(values)]
    edges = np.unique(np.quantile(known, _QUARTERS))
    place = np.where(np.isfinite(values), np.searchsorted(edges, values, side="right"), -1)
    ends = [number_text(float(f"{edge:.4g}")) for edge in edges]
    labels = [f"below {ends[0]}", *(f"{low} to below {high}" for low, high in itertools.pairwise(ends))]
    labels.append(f"{ends[-1]} or more")
    return [RowGroup(label, place == at) for at, label in enumerate(labels) if np.any(place == at)]
