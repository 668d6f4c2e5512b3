"""Several tables as one: their rows below each other, the union of their columns, gaps where a table lacks a column.

A table says nothing about the type of a column in which it has no value: a column of gaps alone is like one that is not there.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from surefoot.design.encode.schema import Kind
from surefoot.design.read.column import Categories, CodedColumn, NumberColumn, ObjectColumn
from surefoot.design.read.table import AnyColumn, Table
from surefoot.exceptions import InvalidTableError


def stacked_tables(tables: Sequence[Table]) -> Table:
    """One table of all rows.

    Parameters
    ----------
    tables : sequence of Table
        Columns are matched by name, in the order in which they first appear; those of tables without names by position.

    Raises
    ------
    InvalidTableError
        If tables without names have different numbers of columns, or only some have names.
    """
    named = {table.named for table in tables}
    widths = sorted({len(table.names) for table in tables})
    if len(named) > 1 or (named == {False} and len(widths) > 1):
        what = "some have names of columns and some have none" if len(named) > 1 else f"they have {widths} columns and no names"
        raise InvalidTableError(f"the tables cannot be put together: {what}. Pass data frames that name their columns.")
    names = tuple(dict.fromkeys(name for table in tables for name in table.names))
    places = [{name: at for at, name in enumerate(table.names)} for table in tables]
    columns = []
    for name in names:
        parts = [table.columns[at[name]] if name in at else None for table, at in zip(tables, places, strict=True)]
        columns.append(_stacked(name, parts, [table.n_rows for table in tables]))
    return Table(n_rows=sum(table.n_rows for table in tables), names=names, named=named == {True}, columns=columns)


def holds_values(column: AnyColumn) -> bool:
    """Whether a column has any value at all."""
    if isinstance(column, NumberColumn):
        present = np.ones(column.values.size, dtype=bool) if column.missing is None else ~column.missing
        return bool(present.any() and not (column.values.dtype.kind == "f" and np.isnan(column.values[present]).all()))
    return bool(np.any(column.categories().codes >= 0))


def _stacked(name: str, parts: Sequence[AnyColumn | None], lengths: Sequence[int]) -> AnyColumn:
    known = [None if part is None or not holds_values(part) else part for part in parts]
    labels = [part.label for part in parts if part is not None]
    kinds = {_kind(part) for part in known if part is not None}
    if kinds <= {"numeric"} or all(part is None or isinstance(part, NumberColumn) for part in known):
        numbers = [
            np.full(length, np.nan) if part is None else part.numbers() for part, length in zip(known, lengths, strict=True)
        ]
        truths = all(isinstance(part, NumberColumn) and part.values.dtype.kind == "b" for part in known)
        block = np.concatenate(numbers)
        return NumberColumn(labels[0], block.astype(bool) if truths and not np.isnan(block).any() else block)
    readings = [
        Categories(np.full(length, -1, dtype=np.intp), ()) if part is None else part.categories()
        for part, length in zip(known, lengths, strict=True)
    ]
    if kinds == {"categorical"}:
        values = list(dict.fromkeys(value for reading in readings for value in reading.values))
        place = {value: code for code, value in enumerate(values)}
        codes = [np.array([*(place[value] for value in one.values), -1], dtype=np.intp)[one.codes] for one in readings]
        return CodedColumn(labels[0], Categories(np.concatenate(codes), tuple(values)))
    items = [np.array([*one.values, None], dtype=object)[one.codes] for one in readings]
    return ObjectColumn(labels[0], np.concatenate(items))


def _kind(column: AnyColumn) -> Kind | None:
    """The natural kind, None for a column that has none; whoever needs it will be told why."""
    try:
        return column.natural_kind()
    except InvalidTableError:
        return None
