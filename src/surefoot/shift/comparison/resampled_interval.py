"""Intervals from bootstrap samples.

With B samples the q quantile is the one at place q (B + 1) in their order, between two of them where that is not whole:
another draw falls below it with probability q. At place 1 + q (B - 1), as NumPy has it by default, 94 % of 200 samples count
as 95 %.

What a shift amounts to is reflected: low = 2 estimate - upper quantile, high = 2 estimate - lower quantile, the basic
bootstrap interval. Distances of samples are biased, by the difference of what is taken off for chance and what it really adds
(little where all of a column moves one way), and those of bootstrap samples are biased once more, in the same direction.
Quantiles as they are double that bias, the reflected ones take it off.

Measured at the prices of a comparison without a model, taken as they are, level 0.05, up to 300 simulated pairs of tables for
each case, 300 x 300 rows and 120 x 250, those where every column is beyond chance. Chosen on two normal columns moved, a
normal one widened, a gamma one stretched, and a category of four levels: the truth is held by 93.5 to 97.6 %, of quantiles as
NumPy has them by 88.0 to 94.9 %. Confirmed on exponential and Poisson columns stretched, Student (5) and uniform ones moved,
a category of two levels, and three of these together: 95.0 to 99.0 % (90.9 to 98.8 %).
"""

from __future__ import annotations

import numpy as np

from surefoot.core.arrays import FloatArray


def resampled_quantiles(drawn: FloatArray, level: float) -> tuple[float, float]:
    """What level / 2 of further draws lie below, and above."""
    low, high = np.quantile(drawn, [level / 2, 1 - level / 2], method="weibull")
    return float(low), float(high)


def reflected_interval(estimate: float, drawn: FloatArray, level: float) -> tuple[float, float]:
    """The interval of an amount, which is not below 0, from the same of bootstrap samples."""
    low, high = resampled_quantiles(drawn, level)
    return max(2 * estimate - high, 0.0), 2 * estimate - low
