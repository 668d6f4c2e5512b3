"""What the user said about columns, by position, with messages that name column and value."""

from __future__ import annotations

import math
import numbers
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from surefoot.design.encode.schema import column_position
from surefoot.design.read.table import Table

# The paper's choice: u_j = 0.4 sigma_j.
DEFAULT_INTERVAL = "0.4 std"
_STD = re.compile(r"\s*([0-9.]+(?:[eE][-+]?[0-9]+)?)\s*std\s*")


def by_position(given: Any, table: Table, parameter: str) -> dict[int, Any]:
    """A mapping of columns to values as one of positions to values; empty for what is no mapping."""
    if not isinstance(given, Mapping):
        return {}
    return {column_position(column, table.names, table.named, parameter): value for column, value in given.items()}


def require_certainties(given: Any, parameter: str) -> None:
    """Raise unless every certainty is a probability above 0."""
    for value, where in _entries(given, parameter):
        if not (_is_number(value) and 0 < value <= 1):
            raise ValueError(
                f"{where} = {value!r} must be a probability above 0 and at most 1: that of a shift within the interval, "
                "or of a category staying the same. 1, or leaving the column out, means that it never shifts."
            )


def require_intervals(given: Any, parameter: str) -> None:
    """Raise unless every interval is a positive number or a text such as "0.4 std"."""
    for value, where in _entries(given, parameter):
        if isinstance(value, str):
            width = _STD.fullmatch(value)
            if width is not None and _positive(width.group(1)):
                continue
        elif _is_number(value) and 0 < value < math.inf:
            continue
        raise ValueError(
            f"{where} = {value!r} must be a positive number, in the units of the column, or a multiple of its standard "
            f"deviation such as {DEFAULT_INTERVAL!r}."
        )


def interval_width(interval: Any, spread: float) -> float:
    """u, for a column with that standard deviation."""
    if isinstance(interval, str):
        width = _STD.fullmatch(interval)
        assert width is not None, "intervals are checked when a shift model is made"
        return float(width.group(1)) * spread
    return float(interval)


def _entries(given: Any, parameter: str) -> list[tuple[Any, str]]:
    if given is None:
        return []
    if isinstance(given, Mapping):
        return [(value, f"{parameter} of column {column!r}") for column, value in given.items()]
    return [(given, parameter)]


def _is_number(value: Any) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, (bool, np.bool_)) and not math.isnan(float(value))


def _positive(text: str) -> bool:
    try:
        return 0 < float(text) < math.inf
    except ValueError:
        return False
