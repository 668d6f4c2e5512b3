"""Are the probabilities right? Rows of similar probability in bins: what was predicted, and what happened.

Rows of equal probability are never parted. Up to so many distinct probabilities as there may be bins, each is a bin of its own,
as on score cards; otherwise bins end at quantiles of the probability, so that all hold about as many rows.

The share of positive rows in a bin of weight n has Wilson's 95 % interval,

    (p + z^2 / 2n  +-  z sqrt(p (1 - p) / n + z^2 / 4n^2)) / (1 + z^2 / n),      z = 1.96,

which keeps within 0 and 1, and has a width also where all rows are of one class.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from surefoot.core.arrays import BoolArray, FloatArray

# Two-sided 95 %.
NORMAL_QUANTILE = 1.959963984540054


@dataclass(frozen=True, eq=False)
class Reliability:
    """Bins of rows in the order of their probability; all attributes are arrays of shape (n_bins,).

    Attributes
    ----------
    predicted, observed : ndarray
        Mean probability, and share of positive rows.
    low, high : ndarray
        Ends of the 95 % interval of the share.
    weight : ndarray
        Rows in each bin, or their weight.
    """

    predicted: FloatArray
    observed: FloatArray
    low: FloatArray
    high: FloatArray
    weight: FloatArray

    @property
    def n_outside(self) -> int:
        """How many bins predicted something outside their interval."""
        return int(np.sum((self.predicted < self.low) | (self.predicted > self.high)))


def reliability_of(
    probability: FloatArray, positive: BoolArray, weights: FloatArray | None = None, n_bins: int = 10
) -> Reliability:
    """Bins of rows by probability; see the module docstring.

    Parameters
    ----------
    probability : ndarray of shape (n_rows,)
    positive : ndarray of shape (n_rows,), bool
    weights : ndarray of shape (n_rows,), optional
    n_bins : int, default=10
        Most bins.
    """
    weights = np.ones(probability.size) if weights is None else weights
    distinct = np.unique(probability)
    if distinct.size <= n_bins:
        place = np.searchsorted(distinct, probability)
    else:
        edges = np.unique(np.quantile(probability, np.arange(1, n_bins) / n_bins))
        place = np.searchsorted(edges, probability, side="right")
    totals = np.bincount(place, weights).astype(np.float64)
    held = totals > 0
    weight = totals[held]
    predicted = np.bincount(place, weights * probability)[held] / weight
    observed = np.bincount(place, weights * positive)[held] / weight
    low, high = wilson_interval(observed, weight)
    return Reliability(predicted, observed, low, high, weight)


def wilson_interval(share: FloatArray, count: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Ends of Wilson's interval of shares of ``count`` rows."""
    z = NORMAL_QUANTILE
    middle = (share + z * z / (2 * count)) / (1 + z * z / count)
    half = z / (1 + z * z / count) * np.sqrt(share * (1 - share) / count + z * z / (4 * count * count))
    # The interval encloses the share; at shares of 0 and 1 it ends there, up to rounding.
    return np.minimum(share, middle - half), np.maximum(share, middle + half)
