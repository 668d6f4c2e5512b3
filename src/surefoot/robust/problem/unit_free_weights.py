"""Weights gamma that make a model independent of the units of its numeric columns.

    gamma_j = 1 / (sum_i w_i (x_ij - mean_j)^2)^(1/2),

1 for a constant column. Sums run in units of half the range of each column, so that none over- or underflows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from surefoot.core.arrays import AnyArray, FloatArray, NumericArray
from surefoot.robust.problem.numeric_columns import is_sparse


def unit_free_weights(numeric: NumericArray, weights: FloatArray) -> FloatArray:
    """1 / standard deviation of each column; 1 where it is constant.

    Parameters
    ----------
    numeric : ndarray or sparse array of shape (n_rows, n_numeric)
    weights : ndarray of shape (n_rows,)
        Row weights, summing to 1.
    """
    if numeric.shape[1] == 0:
        return np.ones(0)
    if is_sparse(numeric):
        return _sparse_weights(numeric, weights)
    lowest, highest = numeric.min(axis=0), numeric.max(axis=0)
    half_range, constant = _half_ranges(lowest, highest)
    # In units of the range nothing over- or underflows, and a large mean takes no digits from the spread.
    standard = (numeric / 2 - lowest / 2) / half_range
    spread = np.sqrt(weights @ np.square(standard - weights @ standard))
    return _inverse_spread(spread, half_range, constant)


def _sparse_weights(numeric: Any, weights: FloatArray) -> FloatArray:
    """The same, over the entries that are stored and all zeros of a column at once."""
    n_rows, n_columns = numeric.shape
    column = numeric.indices
    entry_weights = np.repeat(weights, np.diff(numeric.indptr))

    def column_sum(values: FloatArray) -> FloatArray:
        return np.bincount(column, weights=values, minlength=n_columns).astype(np.float64, copy=False)

    full = np.bincount(column, minlength=n_columns) == n_rows
    zero_weight = np.where(full, 0.0, np.maximum(1.0 - column_sum(entry_weights), 0.0))
    lowest, highest = np.where(full, np.inf, 0.0), np.where(full, -np.inf, 0.0)
    np.minimum.at(lowest, column, numeric.data)
    np.maximum.at(highest, column, numeric.data)
    half_range, constant = _half_ranges(lowest, highest)
    standard = (numeric.data / 2 - lowest[column] / 2) / half_range[column]
    standard_zero = np.where(full, 0.0, -lowest / 2) / half_range
    mean = column_sum(entry_weights * standard) + zero_weight * standard_zero
    variance = column_sum(entry_weights * np.square(standard - mean[column]))
    variance += zero_weight * np.square(standard_zero - mean)
    return _inverse_spread(np.sqrt(variance), half_range, constant)


def _half_ranges(lowest: FloatArray, highest: FloatArray) -> tuple[FloatArray, AnyArray]:
    """Half the range of each column, 1 where it is constant, and where that is."""
    # Half ranges, because the full range of a column of +-1e308 would overflow.
    half_range = highest / 2 - lowest / 2
    constant = half_range == 0
    half_range[constant] = 1.0
    return half_range, constant


def _inverse_spread(spread: FloatArray, half_range: FloatArray, constant: AnyArray) -> FloatArray:
    # A column may also be constant but for rows whose weight is beyond the precision of the others.
    constant = constant | (spread == 0)
    spread = np.where(constant, 1.0, spread)
    with np.errstate(over="ignore"):
        inverse = 1.0 / spread / half_range / 2
    return np.where(constant, 1.0, np.minimum(inverse, np.finfo(np.float64).max))
