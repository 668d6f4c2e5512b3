"""Whether risks are right: the logistic regression of the labels on the log odds of the risks (Cox, Biometrika 1958).

The slope is 1 for risks that are right, below 1 for risks that are too far from the mean, as those of an overfitted model are
on new rows. With the slope held at 1 the intercept is calibration in the large: 0 where the risks are right on average.
Intervals are those of the likelihood's curvature (Wald), with weights counted as numbers of rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from surefoot.core.arrays import BoolArray, FloatArray

Interval = tuple[float, float]
# Newton's method on two coefficients; where classes are separated there is no slope to be found.
_MOST_STEPS, _STEP, _LARGEST = 50, 1e-10, 1e3
# Of the normal distribution, for 95 %.
_Z = 1.959963984540054


@dataclass(frozen=True)
class Recalibration:
    """Coefficients with 95 % intervals; NaN where they cannot be found.

    Attributes
    ----------
    intercept, slope : float
        Of the regression on both.
    intercept_interval, slope_interval : tuple of float
    in_the_large : float
        The intercept where the slope is held at 1.
    in_the_large_interval : tuple of float
    """

    intercept: float
    slope: float
    intercept_interval: Interval
    slope_interval: Interval
    in_the_large: float
    in_the_large_interval: Interval


def recalibration(log_odds: FloatArray, positive: BoolArray, weights: FloatArray) -> Recalibration:
    """The regression of labels on log odds; weights count rows."""
    design = np.column_stack([np.ones_like(log_odds), log_odds])
    (intercept, slope), own, other = _fitted(design, np.zeros_like(log_odds), positive, weights, np.array([0.0, 1.0]))
    (moved,), whole, _ = _fitted(design[:, :1], log_odds, positive, weights, np.zeros(1))
    return Recalibration(intercept, slope, own, other, moved, whole)


def _fitted(
    design: FloatArray, offset: FloatArray, positive: BoolArray, weights: FloatArray, start: FloatArray
) -> tuple[FloatArray, Interval, Interval]:
    """Coefficients, and the intervals of the first and of the last of them."""
    at = start
    for _ in range(_MOST_STEPS):
        risk = 1.0 / (1.0 + np.exp(-np.clip(design @ at + offset, -700, 700)))
        hessian = (design * (weights * risk * (1 - risk))[:, None]).T @ design
        if not np.linalg.cond(hessian) < 1e12:
            break
        step = np.linalg.solve(hessian, design.T @ (weights * (positive - risk)))
        at = at + step
        if not np.abs(at).max() < _LARGEST:
            break
        if np.abs(step).max() <= _STEP:
            half = _Z * np.sqrt(np.diagonal(np.linalg.inv(hessian)))
            ends = [(float(value - own), float(value + own)) for value, own in zip(at, half, strict=True)]
            return at, ends[0], ends[-1]
    none = (math.nan, math.nan)
    return np.full(start.size, math.nan), none, none
