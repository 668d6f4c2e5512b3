"""Standard units of columns: kernels compare rows by sums over columns, so that metres and millimetres must not decide."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from surefoot.core.arrays import FloatArray

# What sums in another order may leave of an offset or a scale, over the largest value of the column and over its scale.
_SUM_ROUNDING, _UNIT_ROUNDING = 1e-12, 1e-9
# Bounds the standard deviation of a column, over a power of 2 near its largest entry, that is taken for rounding.
_CONSTANT = 2.0**-46


@dataclass(frozen=True, eq=False)
class ColumnUnits:
    """Each column minus an offset, divided by a scale.

    Attributes
    ----------
    offsets, scales : ndarray of shape (n_columns,)
        Mean and standard deviation of the rows of training; the scale of a constant column is 1.
    """

    offsets: FloatArray
    scales: FloatArray

    def standardized(self, rows: FloatArray) -> FloatArray:
        """The rows in standard units."""
        return np.asarray((rows - self.offsets) / self.scales)

    def back(self, rows: FloatArray) -> FloatArray:
        """Rows in standard units in the units of their columns."""
        return np.asarray(rows * self.scales + self.offsets)

    def fit(self, found: ColumnUnits, rows: FloatArray) -> bool:
        """Whether these are the units that were found for rows, but for what sums in another order leave."""
        rounding = _SUM_ROUNDING * np.abs(rows).max(axis=0, initial=0.0) + _UNIT_ROUNDING * found.scales
        near = (np.abs(self.offsets - found.offsets) <= rounding) & (np.abs(self.scales - found.scales) <= rounding)
        return self.offsets.shape == found.offsets.shape and bool(near.all())

    def covariances(self, matrices: FloatArray) -> FloatArray:
        """Covariances of the rows in standard units."""
        return np.asarray(matrices / self.scales[:, None] / self.scales)


def standard_units(rows: FloatArray, weights: FloatArray, variances: FloatArray | None = None) -> ColumnUnits:
    """The units in which the rows have mean 0 and standard deviation 1.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n_columns)
    weights : ndarray of shape (n_rows,)
        Summing to 1.
    variances : ndarray of shape (n_rows, n_columns), optional
        Of the inputs whose means the rows are; they are added to those of the rows.
    """
    # Squares of huge values would overflow; a power of two rounds nothing.
    size = np.abs(rows).max(axis=0, initial=0.0)
    if variances is not None:
        size = np.maximum(size, np.sqrt(variances.max(axis=0, initial=0.0)))
    unit = np.ldexp(1.0, np.clip(np.frexp(size)[1], -1000, 1000))
    scaled = rows / unit
    offsets = weights @ scaled
    # The mean is rounded; what is left of the rows' mean beside it is no spread.
    offsets = offsets + weights @ (scaled - offsets)
    squares = weights @ np.square(scaled - offsets)
    if variances is not None:
        squares = squares + weights @ (variances / unit / unit)
    # Entries are below 1 in size, so that a spread of this size is rounding of the data, or of the mean.
    constant = np.sqrt(squares) <= _CONSTANT
    offsets = np.where(constant, scaled[0], offsets)
    scales = np.sqrt(squares) * unit
    return ColumnUnits(offsets * unit, np.where(constant | (scales == 0), 1.0, scales))
