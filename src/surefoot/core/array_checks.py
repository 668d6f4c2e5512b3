"""Checks of the arrays that a problem is made of."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from surefoot.core.arrays import IntArray

# How far the weights may sum from 1: more than rounding, less than a row that somebody forgot.
WEIGHT_SLACK = 1e-6


def whole_numbers(name: str, given: ArrayLike) -> IntArray:
    """The same numbers as int32; fractions and numbers too large for it would change silently in a cast."""
    array = np.asarray(given)
    if array.dtype == np.int32:
        return np.ascontiguousarray(array)
    with np.errstate(invalid="ignore"):
        whole = np.ascontiguousarray(array, dtype=np.int32)
    wrong = np.argwhere(whole != array)
    if wrong.size:
        place = ", ".join(map(str, wrong[0]))
        raise ValueError(f"{name}[{place}] = {array[tuple(wrong[0])]} is not a whole number below 2**31.")
    return whole


def require_dimensions(rows: object, expected: tuple[tuple[str, int], ...]) -> None:
    """Raise if an array has another number of dimensions than expected."""
    for name, ndim in expected:
        shape = getattr(rows, name).shape
        if len(shape) != ndim:
            raise ValueError(f"{name} has shape {shape}; it must have {ndim} dimension{'s' if ndim > 1 else ''}.")
