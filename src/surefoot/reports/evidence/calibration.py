"""Whether risks are right: the logistic regression of the labels on the log odds of the risks (Cox, Biometrika 1958).

The slope is 1 for risks that are right, below 1 for risks that are too far from the mean, as those of an overfitted model are
on new rows. With the slope held at 1 the intercept is calibration in the large: 0 where the risks are right on average.
Intervals are those of the likelihood's curvature (Wald), with weights counted as numbers of rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from surefoot.core.arrays import BoolArray, FloatArray

Interval = tuple[float, float]
# Steps on two coefficients; where classes are separated there is no slope to be found.
_MOST_STEPS, _STEP, _LARGEST = 50, 1e-10, 1e3
# Of the normal distribution, for 95 %.
_Z = 1.959963984540054
_NOWHERE: Interval = (math.nan, math.nan)


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
    counting = weights > 0
    log_odds, positive, weights = log_odds[counting], positive[counting], weights[counting]
    middle = float(weights @ log_odds) / float(weights.sum())
    size = float(np.abs(log_odds - middle).max())
    if not math.isfinite(size):
        return Recalibration(math.nan, math.nan, _NOWHERE, _NOWHERE, math.nan, _NOWHERE)
    ones, none = np.ones((log_odds.size, 1)), np.zeros_like(log_odds)
    moved, spread = _fitted(ones, log_odds - middle, positive, weights)
    large = float(moved[0]) - middle
    at, covariance = np.full(2, math.nan), np.full((2, 2), math.nan)
    if size > 0:
        # On log odds of mean 0 and size 1: cards may be off by hundreds, or by a factor of a thousand.
        at, covariance = _fitted(np.column_stack([ones[:, 0], (log_odds - middle) / size]), none, positive, weights)
    back = np.array([[1.0, -middle / size], [0.0, 1.0 / size]]) if size > 0 else np.eye(2)
    intercept, slope = (back @ at).tolist()
    covariance = back @ covariance @ back.T
    return Recalibration(
        intercept,
        slope,
        _interval(intercept, float(covariance[0, 0])),
        _interval(slope, float(covariance[1, 1])),
        large,
        _interval(large, float(spread[0, 0])),
    )


def _fitted(design: FloatArray, offset: FloatArray, positive: BoolArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Coefficients and their covariance, by Newton's method from 0; NaN where there are none."""
    signs, total = np.where(positive, 1.0, -1.0), float(weights.sum())

    def loss(at: FloatArray) -> float:
        return float(weights @ np.logaddexp(0.0, -signs * (design @ at + offset))) / total

    at = np.zeros(design.shape[1])
    value = loss(at)
    for _ in range(_MOST_STEPS):
        risk = expit(design @ at + offset)
        hessian = (design * (weights * risk * (1 - risk))[:, None]).T @ design
        # A matrix of one number is never near to singular by its condition.
        if not (np.linalg.cond(hessian) < 1e12 and hessian.trace() > 1e-12 * total):
            break
        step = np.linalg.solve(hessian, design.T @ (weights * (positive - risk)))
        if np.abs(step).max() <= _STEP * (1.0 + np.abs(at).max()):
            return at, np.linalg.inv(hessian)
        # The loss is convex, so a part of a step that leads too far does not.
        while not loss(at + step) <= value and np.abs(step).max() > _STEP:
            step = step / 2
        at = at + step
        value = loss(at)
        if not np.abs(at).max() < _LARGEST:
            break
    return np.full(at.size, math.nan), np.full((at.size, at.size), math.nan)


def _interval(value: float, variance: float) -> Interval:
    half = _Z * math.sqrt(variance) if variance >= 0 else math.nan
    return value - half, value + half
