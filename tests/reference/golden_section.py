"""Minima of many convex functions of one number at once, by the golden section: no derivatives, no tangents."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

# What is left of an interval after each round; one new value is needed for it.
SHARE = (5**0.5 - 1) / 2


def narrowed(
    at: Callable[[np.ndarray], np.ndarray], low: np.ndarray, high: np.ndarray, rounds: int
) -> tuple[np.ndarray, np.ndarray]:
    """Both ends of intervals that hold the minima, SHARE**rounds times as long as those given."""
    left, right = high - SHARE * (high - low), low + SHARE * (high - low)
    at_left, at_right = at(left), at(right)
    for _ in range(rounds):
        down = at_left <= at_right
        low, high = np.where(down, low, left), np.where(down, right, high)
        new = np.where(down, high - SHARE * (high - low), low + SHARE * (high - low))
        at_new = at(new)
        left, right = np.where(down, new, right), np.where(down, left, new)
        at_left, at_right = np.where(down, at_new, at_right), np.where(down, at_left, at_new)
    return low, high
