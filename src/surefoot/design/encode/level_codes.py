"""Codes of a categorical column by levels that were learned before, with a policy for gaps and for levels nobody knew."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surefoot.design.encode.schema import Level
from surefoot.design.read.column import Categories, plain_level
from surefoot.exceptions import InvalidTableError

# Names and levels listed in a message before it says "and so many more".
_LISTED = 10


def listing(entries: Sequence[Any]) -> str:
    """Names or levels as messages show them."""
    shown = ", ".join(map(repr, entries[:_LISTED]))
    return shown if len(entries) <= _LISTED else f"{shown} and {len(entries) - _LISTED} more"


def level_codes(
    levels: Sequence[Level],
    reading: Categories,
    *,
    label: str,
    first_row: int,
    allow_missing: bool,
    unknown: int | None,
    missing_advice: str,
    unseen_advice: str,
) -> NDArray[np.int32]:
    """Place of each row's value among the levels.

    Parameters
    ----------
    levels : sequence
        Known levels; None among them is the missing one.
    reading : Categories
    label : str
        How messages call the column.
    first_row : int
        What messages call the first row.
    allow_missing : bool
        Whether gaps may occur. Where they may but None is no level, a gap is an unknown level.
    unknown : int or None
        Code of values that are no known level; None: they are errors.
    missing_advice, unseen_advice : str
        What the messages advise to choose instead.
    """
    places = {level: code for code, level in enumerate(levels)}
    arrived = [plain_level(value, label) for value in reading.values]
    translation = np.array([places.get(level, -1) for level in (*arrived, None)], dtype=np.int32)
    # Missing values carry code -1 in the reading and so pick the last entry.
    codes = translation[reading.codes]
    strange = np.flatnonzero(codes < 0)
    if strange.size == 0:
        return codes
    gaps = np.flatnonzero(reading.codes < 0)
    if gaps.size and not allow_missing:
        raise InvalidTableError(missing_category(label, first_row + gaps, missing_advice))
    known_text = {isinstance(level, str) for level in levels if level is not None}
    foreign = [at for at, level in enumerate(arrived) if known_text and isinstance(level, str) not in known_text]
    if foreign:
        row = np.flatnonzero(np.isin(reading.codes, foreign))[0]
        before, now = ("text", "a number") if True in known_text else ("numbers", "text")
        raise InvalidTableError(
            f"{label}, row {first_row + row}: {arrived[reading.codes[row]]!r} is {now}, but the column held {before} in "
            f"training (levels {listing(levels)}). Convert the column to the type it had then."
        )
    if unknown is None:
        row = strange[0]
        what = "is missing" if reading.codes[row] < 0 else f"holds {arrived[reading.codes[row]]!r}"
        raise InvalidTableError(
            f"{label}, row {first_row + row} {what}, which no training row did; known levels: {listing(levels)}. "
            f"Correct the value, or choose {unseen_advice}."
        )
    codes[strange] = unknown
    return codes


def missing_category(label: str, rows: NDArray[np.intp], advice: str) -> str:
    """The message about gaps in a categorical column."""
    return (
        f"Input X contains NaN: {label} has {rows.size} missing value(s), the first in row {rows[0]}. "
        f"Fill them, drop their rows, or choose {advice}."
    )
