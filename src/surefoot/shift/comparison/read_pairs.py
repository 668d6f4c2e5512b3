"""Two tables read side by side: which columns they share, what each holds, and what a move costs.

With a robust model its schema and its ground cost decide. Otherwise numbers cost 1 / (standard deviation in the first table)
per unit and a change of level 1, which is what a robust model fitted to the first table would take by default.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.design.encode.schema import ColumnSchema, Kind
from surefoot.design.encode.table_encoder import TableEncoder, require_finite
from surefoot.design.read.column import Column
from surefoot.design.read.identifiers import is_identifier
from surefoot.design.read.shared_levels import shared_levels
from surefoot.design.read.table import Table, read_column, read_table
from surefoot.exceptions import InvalidTableError
from surefoot.robust.problem.unit_free_weights import unit_free_weights
from surefoot.shift.comparison.column_pairs import (
    LABEL_NAME,
    CategoricalPair,
    ColumnPair,
    NumericPair,
    SharedColumns,
    scaled_values,
    shown_levels,
)
from surefoot.shift.comparison.priced_model import PricedModel

# Labels of more distinct numbers than this are amounts, not classes.
_MOST_CLASSES = 10


def read_shared_columns(
    X_a: Any, X_b: Any, priced: PricedModel | None, expected: Sequence[str] | None, categorical_features: Any
) -> SharedColumns:
    """Read both tables.

    Parameters
    ----------
    X_a, X_b : tables
    priced : PricedModel, optional
        A robust model, which says what the columns are and what they cost.
    expected : sequence of str, optional
        The columns that a model without prices looks at.
    categorical_features
        As in :class:`~surefoot.ShiftModel`; a robust model knows.

    Raises
    ------
    InvalidTableError
        If a table cannot be read, or the two have no column in common.
    """
    with _told_as("X_a"):
        first = read_table(X_a)
    with _told_as("X_b"):
        second = read_table(X_b)
    first, second = _named_alike(first, second)
    wanted: Sequence[str] | None = expected
    if priced is not None:
        schema = priced.schema
        wanted = schema.names
        # Columns of tables, or of a model, that were never named go by their order.
        if not (first.named and schema.named) and len(first.names) == len(schema.names):
            first, second = replace(first, names=schema.names), _renamed(second, first.names, schema.names)
    kinds = _listed_kinds(first, categorical_features) if priced is None else {}
    names = [name for name in first.names if wanted is None or name in wanted]
    shared = [name for name in names if name in second.names]
    if not shared:
        raise InvalidTableError(
            f"the tables have no column in common to compare: X_a has {', '.join(first.names[:8])}, "
            f"X_b has {', '.join(second.names[:8])}."
        )
    columns: list[ColumnPair] = []
    retyped, identifiers = [], []
    for name in shared:
        pair = (first.columns[first.names.index(name)], second.columns[second.names.index(name)])
        known: Kind | None = kinds.get(name) if priced is None else priced.column(name)[0].kind
        if known != "categorical" and _retyped(pair):
            retyped.append(name)
        elif kinds.get(name) != "categorical" and is_identifier(pair):
            identifiers.append(name)
        elif priced is not None:
            columns.append(_priced_pair(name, pair, priced))
        elif (known or _agreed_kind(name, pair)) == "numeric":
            columns.append(_numeric_pair(name, pair))
        else:
            columns.append(_categorical_pair(name, pair))
    if not columns and identifiers:
        raise InvalidTableError(
            f"no column is left to compare: {shown_levels(identifiers, 5)} have a value of their own in nearly every row, as "
            "identifiers do. Name columns in categorical_features to compare them all the same."
        )
    if not columns:
        raise InvalidTableError(
            f"no column is left to compare: {', '.join(map(repr, retyped))} hold{'s' * (len(retyped) == 1)} numbers in one "
            "table and text or truth values in the other. Give both the same type, or name columns in categorical_features to "
            "take every distinct value as a level."
        )
    return SharedColumns(
        tuple(columns),
        (first.n_rows, second.n_rows),
        missing=tuple(name for name in (names if wanted is None else wanted) if name not in second.names),
        extra=tuple(name for name in second.names if name not in shared),
        lacking=tuple(name for name in wanted or () if name not in first.names),
        retyped=tuple(retyped),
        identifiers=tuple(identifiers),
    )


def read_labels(y_a: Any, y_b: Any, n_rows: tuple[int, int], priced: PricedModel | None, *, classes: bool) -> ColumnPair:
    """The labels as one more column; ``classes`` says that a classifier is to predict them."""
    columns = (read_column(y_a, "y_a"), read_column(y_b, "y_b"))
    for column, rows, name in zip(columns, n_rows, ("a", "b"), strict=True):
        codes = column.categories().codes
        if codes.size != rows:
            raise InvalidTableError(f"X_{name} has {rows:,} rows, but y_{name} has {codes.size:,} labels.")
        gaps = np.flatnonzero(codes < 0)
        if gaps.size:
            raise InvalidTableError(f"y_{name} has {gaps.size} missing label(s), the first in row {gaps[0]}. Drop those rows.")
    price = math.inf if priced is None else priced.cost.label_weight
    counted = price < math.inf
    numeric = not classes and _agreed_kind("y", columns, ("y_a", "y_b")) == "numeric"
    if numeric and any(len(column.categories().values) > _MOST_CLASSES for column in columns):
        return replace(_numeric_pair(LABEL_NAME, columns), counted=False)
    pair = _categorical_pair(LABEL_NAME, columns)
    return replace(pair, price=price if counted else 1.0, counted=counted)


@contextmanager
def _told_as(which: str) -> Iterator[None]:
    try:
        yield
    except InvalidTableError as error:
        raise InvalidTableError(f"{which}: {error}") from error


def _named_alike(first: Table, second: Table) -> tuple[Table, Table]:
    """Names for an array beside a data frame: its columns go by their order."""
    if first.named == second.named:
        return first, second
    if len(first.names) != len(second.names):
        raise InvalidTableError(
            f"one table has names of columns and the other has none, so columns go by their order; but X_a has "
            f"{len(first.names)} and X_b {len(second.names)}. Pass two data frames, or the same columns."
        )
    names = first.names if first.named else second.names
    return replace(first, names=names), replace(second, names=names)


def _renamed(table: Table, before: tuple[str, ...], after: tuple[str, ...]) -> Table:
    names = dict(zip(before, after, strict=True))
    return replace(table, names=tuple(names.get(name, name) for name in table.names))


def _listed_kinds(first: Table, categorical_features: Any) -> dict[str, Kind]:
    """Kinds that the user named; none where the types decide."""
    if isinstance(categorical_features, str) and categorical_features == "from_dtype":
        return {}
    return dict(zip(first.names, TableEncoder(categorical_features=categorical_features).kinds(first), strict=True))


def _retyped(columns: tuple[Column, Column]) -> bool:
    """Whether the one table has numbers and the other text, or truth values; a column without values is what the other is."""
    kinds: list[Kind] = []
    for column, which in zip(columns, ("X_a", "X_b"), strict=True):
        with _told_as(which):
            kinds.append(column.natural_kind())
    if kinds[0] == kinds[1] or any(np.all(column.categories().codes < 0) for column in columns):
        return False
    text, measured = columns[kinds.index("categorical")], columns[kinds.index("numeric")]
    try:
        text.numbers()
    except InvalidTableError:
        return True
    truths = all(isinstance(value, (bool, np.bool_)) for value in text.categories().values)
    return truths and not set(measured.categories().values) <= {0, 1}  # truth values beside 0 and 1 are the same


def _agreed_kind(name: str, columns: tuple[Column, Column], tables: tuple[str, str] = ("X_a", "X_b")) -> Kind:
    """The kind of a column that both tables have; a column without values is what the other is."""
    kinds: list[Kind] = []
    for column, which in zip(columns, tables, strict=True):
        with _told_as(which):
            kinds.append(column.natural_kind())
    if kinds[0] == kinds[1]:
        return kinds[0]
    for at in (0, 1):
        if np.all(columns[at].categories().codes < 0):
            return kinds[1 - at]
    try:
        for column in columns:
            column.numbers()
    except InvalidTableError as error:
        other = ("text", "numbers") if kinds[0] == "categorical" else ("numbers", "text")
        raise InvalidTableError(
            f"column {name!r} holds {other[0]} in {tables[0]} and {other[1]} in {tables[1]}. Give both the same type"
            + (", or name the column in categorical_features to take every distinct value as a level." if name != "y" else ".")
        ) from error
    return "categorical"  # truth values beside 0 and 1


def _priced_pair(name: str, columns: tuple[Column, Column], priced: PricedModel) -> ColumnPair:
    column, price = priced.column(name)
    counted = price < math.inf
    if column.kind == "numeric":
        numeric = _numeric_pair(name, columns, column)
        low, high = priced.ends(name)
        values = columns[1].numbers()
        numeric = replace(numeric, outside=float(np.mean((values < low) | (values > high))))
        return replace(numeric, price=price) if counted else replace(numeric, counted=False)
    categorical = _categorical_pair(name, columns)
    return replace(categorical, price=price) if counted else replace(categorical, counted=False)


def _numeric_pair(name: str, columns: tuple[Column, Column], known: ColumnSchema | None = None) -> NumericPair:
    """At the price 1 / standard deviation of the first table, 1 where it is constant."""
    read = []
    for column, which in zip(columns, ("X_a", "X_b"), strict=True):
        with _told_as(which):
            values = column.numbers()
            require_finite(values[:, None], [column.label], allow_missing=True, first_row=column.first_row)
        read.append(values)
    gaps = (np.isnan(read[0]), np.isnan(read[1]))
    median = None if known is None else known.median
    filler = _median(*read) if median is None else median
    first, second = (np.where(gap, filler, values) for gap, values in zip(gaps, read, strict=True))
    scaled, centre, unit = scaled_values(first, second)
    price = float(unit_free_weights(first[:, None], np.full(first.size, 1.0 / first.size))[0])
    # A model that fills gaps does not see them; anyone else does.
    return NumericPair(name, scaled, gaps, centre, unit, price, gap_price=1.0 if median is None else 0.0)


def _median(first: FloatArray, second: FloatArray) -> float:
    for values in (first, second):
        present = np.sort(values[~np.isnan(values)])
        if present.size:
            return float(present[(present.size - 1) // 2] / 2 + present[present.size // 2] / 2)
    return 0.0


def _categorical_pair(name: str, columns: tuple[Column, Column]) -> CategoricalPair:
    levels, (before, after) = shared_levels(columns)
    return CategoricalPair(name, (before.astype(np.intp), after.astype(np.intp)), levels, 1.0)
