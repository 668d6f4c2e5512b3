"""How often a row counts: ``sample_weight`` as users give it, as the array a problem needs."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.exceptions import InvalidTableError


def row_counts(sample_weight: Any, n_rows: int) -> FloatArray:
    """How often each row counts, as given: finite, not negative, not all 0.

    Parameters
    ----------
    sample_weight : None, number, or array-like of shape (n_rows,)
        None and a positive number weigh all rows equally.
    n_rows : int
    """
    if sample_weight is None or isinstance(sample_weight, numbers.Real):
        weights = np.full(n_rows, 1.0 if sample_weight is None else float(sample_weight))
    else:
        weights = np.asarray(sample_weight, dtype=np.float64)
        if weights.ndim != 1:
            raise InvalidTableError(f"Sample weights must be 1D array or scalar, got an array of shape {weights.shape}.")
        if weights.size != n_rows:
            raise InvalidTableError(f"sample_weight.shape == {weights.shape}, expected {(n_rows,)}: one weight per row.")
    wrong = np.flatnonzero(~np.isfinite(weights))
    if wrong.size:
        raise InvalidTableError(
            f"Input sample_weight contains NaN or infinity: row {wrong[0]} has weight {weights[wrong[0]]}. "
            "Use 0 to leave a row out."
        )
    wrong = np.flatnonzero(weights < 0)
    if wrong.size:
        raise InvalidTableError(
            f"Negative values in data passed to `sample_weight`: row {wrong[0]} has weight {weights[wrong[0]]}. "
            "Use 0 to leave a row out."
        )
    if not weights.max(initial=0.0) > 0:
        raise InvalidTableError("Sample weights must contain at least one non-zero number, but all rows have weight 0.")
    return weights


def row_weights(sample_weight: Any, n_rows: int) -> FloatArray:
    """Weights of the rows, summing to 1; the parameters are those of :func:`row_counts`."""
    weights = row_counts(sample_weight, n_rows)
    largest = weights.max()
    # Divided twice, because the sum of huge weights would overflow.
    scaled = weights / largest
    normalized: FloatArray = scaled / scaled.sum()
    return normalized
