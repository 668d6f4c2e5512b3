"""Settings of a transformer by column, and the numbers in them."""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping
from typing import Any

import numpy as np

from surefoot.design.read.table import Table


def by_position(given: Mapping[Any, Any], table: Table, parameter: str) -> dict[int, Any]:
    """A mapping from columns, by name or for tables without names by position, as one from positions."""
    places: dict[Any, int] = {name: at for at, name in enumerate(table.names)}
    if not table.named:
        places.update({at: at for at in range(len(table.names))})
    for column in given:
        if column not in places:
            raise ValueError(f"{parameter} names column {column!r}, but the columns are {', '.join(map(repr, table.names))}.")
    return {places[column]: entry for column, entry in given.items()}


def threshold_limit(value: Any) -> int:
    """A largest number of thresholds, if it is one."""
    if not isinstance(value, numbers.Integral) or isinstance(value, (bool, np.bool_)) or value < 1:
        raise ValueError(f"max_thresholds = {value!r} must be a whole number of at least 1, or a mapping from columns to such.")
    return int(value)


def share_of_rows(name: str, value: Any) -> float:
    """A share of the rows up to a half, if it is one."""
    if not isinstance(value, numbers.Real) or isinstance(value, bool) or not 0 <= float(value) <= 0.5:
        raise ValueError(f"{name} = {value!r} must be a number between 0 and 0.5: a share of the rows.")
    return float(value)


def threshold_numbers(values: Any, name: str) -> list[float]:
    """The thresholds of a column, ascending."""
    try:
        found = sorted({float(value) for value in values})
    except (TypeError, ValueError):
        found = [math.nan]
    if not all(map(math.isfinite, found)):
        raise ValueError(f"thresholds of column {name!r} are {values!r}; give a list of finite numbers.")
    return found
