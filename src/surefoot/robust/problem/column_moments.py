"""Weight, mean, spread and range of columns, part by part: accurate for large means, and joined without a second pass.

Within a part the values are taken relative to its first row, so a column of 1e9 with a spread of 1 loses no digits. Two parts
with weights W, W', means m, m' and root mean square deviations s, s' join to (Chan, Golub and LeVeque 1983)

    mean = m + (m' - m) W' / (W + W'),     spread^2 = (W s^2 + W' s'^2) / (W + W') + W W' (m' - m)^2 / (W + W')^2.

A mean is stored as a value of the column plus an offset, because m' - m of rounded means would be noise next to a small spread.
Roots are stored instead of squares: the squares of columns of 1e200 would overflow.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse

from surefoot.core.arrays import FloatArray, IntArray
from surefoot.robust.problem.numeric_columns import is_sparse
from surefoot.robust.problem.row_batch import RowBatch


@dataclass(frozen=True)
class ColumnMoments:
    """Of the numeric columns of some rows; ``low`` and ``high`` are of rows with positive weight only.

    Attributes
    ----------
    weight : float
    origin, offset : ndarray of shape (n_numeric,)
        The mean is their sum.
    spread, low, high : ndarray of shape (n_numeric,)
        ``spread`` is the root of the weighted mean square deviation from the mean.
    """

    weight: float
    origin: FloatArray
    offset: FloatArray
    spread: FloatArray
    low: FloatArray
    high: FloatArray

    def __add__(self, other: ColumnMoments) -> ColumnMoments:
        if self.weight == 0 or other.weight == 0:
            return other if self.weight == 0 else self
        weight = self.weight + other.weight
        own, others = self.weight / weight, other.weight / weight
        apart = (other.origin - self.origin) + (other.offset - self.offset)
        within = np.hypot(np.sqrt(own) * self.spread, np.sqrt(others) * other.spread)
        return ColumnMoments(
            weight=weight,
            origin=self.origin,
            offset=self.offset + others * apart,
            spread=np.hypot(within, np.sqrt(own * others) * apart),
            low=np.minimum(self.low, other.low),
            high=np.maximum(self.high, other.high),
        )

    @property
    def mean(self) -> FloatArray:
        return self.mean_from(np.zeros_like(self.origin))

    def mean_from(self, centre: FloatArray) -> FloatArray:
        """The mean, counted from a centre."""
        mean: FloatArray = (self.origin - centre) + self.offset
        return mean

    def size_about(self, centre: FloatArray) -> FloatArray:
        """Root mean square distance from a centre."""
        size: FloatArray = np.hypot(self.spread, self.mean_from(centre))
        return size


@dataclass(frozen=True)
class RowTally:
    """How many rows there are, by their weights.

    Attributes
    ----------
    total : float
    norm : float
        Root of the sum of their squares.
    whole : bool
        Whether all of them are whole numbers.
    """

    total: float
    norm: float
    whole: bool

    def __add__(self, other: RowTally) -> RowTally:
        return RowTally(self.total + other.total, float(np.hypot(self.norm, other.norm)), self.whole and other.whole)

    @classmethod
    def of(cls, weights: FloatArray) -> RowTally:
        largest = float(weights.max(initial=0.0))
        if largest == 0:
            return cls(0.0, 0.0, True)
        whole = bool(np.all(weights == np.rint(weights)))
        with np.errstate(over="ignore"):
            total = float(weights.sum())
        # Relative to the largest, no square overflows; where the sum does, only the shares are left.
        scaled = weights / largest
        norm = float(np.linalg.norm(scaled))
        return cls(total, norm * largest, whole) if np.isfinite(total) else cls(float(scaled.sum()), norm, False)


@dataclass(frozen=True)
class BatchSums:
    """What a first pass over a table learns about the rows of either label, by which it can be standardised.

    Attributes
    ----------
    positive, negative : ColumnMoments
        Their weights are the weights of the labels.
    positive_levels, negative_levels : ndarray of shape (sum(n_levels),)
        Weight of the rows of either label at each level.
    n_rows : int
        Number of rows with positive weight.
    is_sparse : bool
        Whether any of the rows are sparse.
    tally : RowTally
        Of the weights of all rows.
    """

    positive: ColumnMoments
    negative: ColumnMoments
    positive_levels: FloatArray
    negative_levels: FloatArray
    n_rows: int
    is_sparse: bool
    tally: RowTally

    def __add__(self, other: BatchSums) -> BatchSums:
        return BatchSums(
            self.positive + other.positive,
            self.negative + other.negative,
            self.positive_levels + other.positive_levels,
            self.negative_levels + other.negative_levels,
            self.n_rows + other.n_rows,
            self.is_sparse or other.is_sparse,
            self.tally + other.tally,
        )

    @property
    def all_rows(self) -> ColumnMoments:
        return self.positive + self.negative


def batch_sums(batch: RowBatch, n_levels: IntArray) -> BatchSums:
    """The sums of one batch; ``n_levels`` are those of the whole table."""
    above, below = (np.where(batch.labels == label, batch.weights, 0.0) for label in (1.0, -1.0))

    def levels(weights: FloatArray) -> FloatArray:
        counts = [np.bincount(batch.codes[:, l], weights=weights, minlength=int(k)) for l, k in enumerate(n_levels)]
        return np.concatenate([*counts, np.empty(0)]).astype(np.float64, copy=False)

    return BatchSums(
        positive=_moments(batch, above),
        negative=_moments(batch, below),
        positive_levels=levels(above),
        negative_levels=levels(below),
        n_rows=int(np.count_nonzero(batch.weights > 0)),
        is_sparse=batch.is_sparse,
        tally=RowTally.of(batch.weights),
    )


def _moments(batch: RowBatch, weights: FloatArray) -> ColumnMoments:
    n_columns = int(batch.numeric.shape[1])
    total = float(weights.sum())
    held = np.flatnonzero(weights > 0)
    if held.size == 0:
        nothing = np.zeros(n_columns)
        return ColumnMoments(0.0, nothing, nothing, nothing, np.full(n_columns, np.inf), np.full(n_columns, -np.inf))
    fractions = weights[held] / total
    if is_sparse(batch.numeric):
        return _sparse_moments(batch.numeric[held], fractions, total)
    values = batch.numeric[held]
    low, high = values.min(axis=0), values.max(axis=0)
    shift = values[0].copy()
    values -= shift
    offset = fractions @ values
    values -= offset
    # Relative to the largest, no square overflows.
    sizes = np.maximum(np.abs(values).max(axis=0, initial=0.0), 1e-300)
    values /= sizes
    np.square(values, out=values)
    return ColumnMoments(total, shift, offset, np.sqrt(fractions @ values) * sizes, low, high)


def _sparse_moments(matrix: scipy.sparse.csr_array, fractions: FloatArray, total: float) -> ColumnMoments:
    """Columns of which most entries are 0: the mean is near 0, and what is not written down deviates by the mean."""
    n_rows, n_columns = matrix.shape
    weights = np.repeat(fractions, np.diff(matrix.indptr))
    at = matrix.indices
    mean = np.bincount(at, weights=weights * matrix.data, minlength=n_columns).astype(np.float64, copy=False)
    apart = matrix.data - mean[at]
    sizes = np.maximum(np.abs(mean), 1e-300)
    np.maximum.at(sizes, at, np.abs(apart))
    squares = np.zeros(n_columns)
    np.add.at(squares, at, weights * np.square(apart / sizes[at]))
    written = np.bincount(at, weights=weights, minlength=n_columns)
    squares += np.maximum(1.0 - written, 0.0) * np.square(mean / sizes)
    low, high = np.full(n_columns, np.inf), np.full(n_columns, -np.inf)
    np.minimum.at(low, at, matrix.data)
    np.maximum.at(high, at, matrix.data)
    gaps = np.bincount(at, minlength=n_columns) < n_rows
    low[gaps], high[gaps] = np.minimum(low[gaps], 0.0), np.maximum(high[gaps], 0.0)
    return ColumnMoments(total, np.zeros(n_columns), mean, np.sqrt(squares) * sizes, low, high)
