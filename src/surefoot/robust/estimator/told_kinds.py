"""Kinds of columns that prices decide: one rule for shift models and for the models fitted with them.

Types say what a column is: text, booleans and categories are categories, numbers are numbers. A price or a certainty that names
a column says more, and decides:

- a column whose levels a shift model changes is a category, and so are its columns of numbers that are all 0 or 1, which it
  flips unless told otherwise;
- a column of 0 and 1 that ``categorical_weights`` names is a category;
- a boolean column that ``numeric_weights`` or a numeric certainty names is a number.

Everything else is left to the types, and a price that contradicts them is refused where it is read. Sparse tables hold numbers,
and ``categorical_features`` other than "from_dtype" has the last word.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from surefoot.design.encode.schema import Kind, column_position
from surefoot.design.read.column import Column, NumberColumn
from surefoot.design.read.table import Table
from surefoot.exceptions import InvalidTableError

ToldKinds = Callable[[Table], Mapping[int, Kind]]


def kinds_of_weights(numeric: Any, categorical: Any) -> ToldKinds:
    """The kinds that ``numeric_weights`` and ``categorical_weights`` decide."""

    def decide(table: Table) -> Mapping[int, Kind]:
        found: dict[int, Kind] = {}
        for at in _places(categorical, table, "categorical_weights"):
            if is_binary(table.columns[at]):
                found[at] = "categorical"
        for at in _places(numeric, table, "numeric_weights"):
            if _is_boolean(table.columns[at]):
                found[at] = "numeric"
        return found

    return decide


def kinds_of_shift(numeric: Any, categorical: Any) -> ToldKinds:
    """The kinds that the prices of a shift model decide."""

    def decide(table: Table) -> Mapping[int, Kind]:
        known = {name: at for at, name in enumerate(table.names)}
        found: dict[int, Kind] = {}
        for name in categorical if isinstance(categorical, Mapping) else ():
            if name in known:
                found[known[name]] = "categorical"
        for name, price in numeric.items() if isinstance(numeric, Mapping) else ():
            if name in known and math.isfinite(price) and _is_boolean(table.columns[known[name]]):
                found[known[name]] = "numeric"
        return found

    return decide


def _places(given: Any, table: Table, parameter: str) -> Iterable[int]:
    names = given if isinstance(given, Mapping) else ()
    return [column_position(name, table.names, table.named, parameter) for name in names]


def is_binary(column: Column) -> bool:
    """Whether a column holds numbers, all of them 0 or 1."""
    try:
        if column.natural_kind() != "numeric":
            return False
        values = column.numbers()
    except InvalidTableError:
        return False
    return bool(np.all((values == 0) | (values == 1)))


def _is_boolean(column: Column) -> bool:
    return isinstance(column, NumberColumn) and column.natural_kind() == "categorical"
