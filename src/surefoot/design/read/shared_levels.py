"""Categorical columns of several tables read by one list of levels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from surefoot.design.encode.schema import Level
from surefoot.design.read.column import Column, plain_level, sorted_levels


def shared_levels(columns: Sequence[Column]) -> tuple[tuple[Level, ...], list[NDArray[np.int32]]]:
    """The levels of all columns, a gap (None) last, and the codes of each column's rows."""
    label = columns[0].label
    readings = [column.categories() for column in columns]
    found = [value for reading in readings for value in reading.values]
    # By their plain form: two tables may hold the same level as values of different types.
    levels: tuple[Level, ...] = sorted_levels(list(dict.fromkeys(found)), label)
    if any(np.any(reading.codes < 0) for reading in readings):
        levels = (*levels, None)
    place = {level: code for code, level in enumerate(levels)}
    coded = []
    for reading in readings:
        arrived = [plain_level(value, label) for value in reading.values]
        translation = np.array([place.get(level, -1) for level in (*arrived, None)], dtype=np.int32)
        coded.append(translation[reading.codes])
    return levels, coded
