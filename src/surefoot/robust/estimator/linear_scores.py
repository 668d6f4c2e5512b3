"""Scores of a linear model whose large terms cancel: products and sums with their rounding errors (Ogita, Rump, Oishi 2005).

Beside a column that lies far from 0 the intercept is large and of the other sign: 1.7e9 for time stamps in seconds, 1e16 where
a column varies in its last digits only. Plain sums would lose what is left of them, which is the score.
"""

from __future__ import annotations

import numpy as np

from surefoot.core.arrays import FloatArray, NumericArray

# Intercept from which on scores are summed up with their errors: 2**-53 times this is 1e-13, which no tolerance asks for.
LARGE_INTERCEPT = 2.0**10
# Splits a double into two halves of 26 digits, whose products are exact (Dekker).
SPLITTER = 2.0**27 + 1.0


def linear_scores(numeric: NumericArray, coefficients: FloatArray, intercept: float) -> FloatArray:
    """intercept + numeric @ coefficients."""
    if not isinstance(numeric, np.ndarray) or not LARGE_INTERCEPT < abs(intercept) < np.inf:
        plain: FloatArray = numeric @ coefficients + intercept
        return plain
    total, error = np.full(numeric.shape[0], intercept), np.zeros(numeric.shape[0])
    with np.errstate(all="ignore"):
        for column, coefficient in zip(numeric.T, coefficients, strict=True):
            term, missed = _product(column, coefficient)
            # Knuth's sum of two numbers, and what it misses.
            grown = total + term
            part = grown - total
            error += (total - (grown - part)) + (term - part) + missed
            total = grown
    scores: FloatArray = total + np.where(np.isfinite(error), error, 0.0)  # beyond 1e300 nothing can be split
    return scores


def _product(first: FloatArray, second: float) -> tuple[FloatArray, FloatArray]:
    """A product of doubles, and what it misses."""
    product = first * second
    high, other = _high_half(first), _high_half(np.asarray(second))
    low, rest = first - high, second - other
    missed: FloatArray = ((high * other - product) + high * rest + low * other) + low * rest
    return product, missed


def _high_half(value: FloatArray) -> FloatArray:
    moved = SPLITTER * value
    half: FloatArray = moved - (moved - value)
    return half
