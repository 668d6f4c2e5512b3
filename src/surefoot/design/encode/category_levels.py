"""The levels that a categorical column may take, as users say it, whether or not a row holds them.

None                          those of the training rows
"declared"                    those that the type of the column declares: a pandas Categorical, a polars Enum
["red", "green", "blue"]      these
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from surefoot.design.encode.level_codes import listing
from surefoot.design.encode.schema import Kind, Level, column_position
from surefoot.design.read.column import Categories, Column, plain_level
from surefoot.design.read.table import Table
from surefoot.exceptions import InvalidTableError

DECLARED = "declared"


def require_category_levels(given: Any, parameter: str = "category_levels") -> None:
    """Raise ``ValueError`` unless this is None, "declared", or a mapping of columns to "declared" or lists of levels."""
    if isinstance(given, Mapping):
        for column, spec in given.items():
            if spec != DECLARED if isinstance(spec, str) else not isinstance(spec, Iterable):
                raise ValueError(
                    f"{parameter} of column {column!r} = {spec!r} is not understood: list the levels, as in "
                    '["red", "green"], or say "declared" for those that the type of the column declares.'
                )
    elif not (given is None or (isinstance(given, str) and given == DECLARED)):
        raise ValueError(
            f'{parameter} = {given!r} must be None (the levels of the training rows), "declared" (those that the types of the '
            'columns declare, too), or a mapping from columns to lists of levels such as {"colour": ["red", "green"]}.'
        )


def told_levels(given: Any, table: Table, kinds: Sequence[Kind], parameter: str = "category_levels") -> dict[int, set[Level]]:
    """What is said about the levels of a table's categorical columns, by position; nothing is said of those left out.

    Raises
    ------
    ValueError
        If a column is not known, is numeric, declares nothing, or has a list of levels that are none.
    """
    require_category_levels(given, parameter)
    if given is None:
        return {}
    if isinstance(given, str):
        declared = {at: _declared(column) for at, column in enumerate(table.columns) if kinds[at] == "categorical"}
        return {at: levels for at, levels in declared.items() if levels is not None}
    found: dict[int, set[Level]] = {}
    for name, spec in given.items():
        at = column_position(name, table.names, table.named, parameter)
        column = table.columns[at]
        if kinds[at] == "numeric":
            raise ValueError(f"{parameter} names {column.label}, which is numeric: name it in categorical_features, too.")
        levels = _declared(column) if isinstance(spec, str) else {_level(value, column, parameter) for value in spec}
        if levels is None:
            raise ValueError(
                f'{parameter} of {column.label} is "declared", but its type declares none: only a pandas Categorical and a '
                "polars Enum do. List them."
            )
        found[at] = levels
    return found


def require_told(reading: Categories, told: set[Level], column: Column) -> None:
    """Raise ``InvalidTableError`` if a row holds a level that is none of those told; the message names row and level."""
    levels = [plain_level(value, column.label) for value in reading.values]
    strange = [code for code, level in enumerate(levels) if level not in told]
    rows = np.flatnonzero(np.isin(reading.codes, strange)) if strange else np.empty(0, dtype=np.intp)
    if rows.size:
        known = sorted(told, key=lambda level: (type(level).__name__, str(level)))
        raise InvalidTableError(
            f"{column.label}, row {column.first_row + rows[0]} holds {levels[reading.codes[rows[0]]]!r}, which is none of the "
            f"levels given in category_levels: {listing(known)}. Correct the value, or list it."
        )


def _declared(column: Column) -> set[Level] | None:
    declared = getattr(column, "declared", None)
    return None if declared is None else {plain_level(value, column.label) for value in declared}


def _level(value: Any, column: Column, parameter: str) -> Level:
    if value is None or value != value:
        raise ValueError(
            f"{parameter} of {column.label} lists {value!r}: gaps are no level that can be listed; missing_categorical='level' "
            "makes one of those that the rows have."
        )
    return plain_level(value, column.label)
