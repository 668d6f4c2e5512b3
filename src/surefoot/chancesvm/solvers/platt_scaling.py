"""Probabilities from scores: Platt's sigmoid, fitted to scores of rows that the scoring model has not seen.

    min over slope a >= 0 and offset b of  sum_i w_i (log(1 + exp(s_i)) - t_i s_i),   s_i = a f_i + b,

with targets t = (n_+ + 1) / (n_+ + 2) for rows of the second class and 1 / (n_- + 2) for the others, n_+ and n_- being their
weights: with 0 and 1 the slope of separated scores would grow without end. Two variables and a convex objective: Newton steps.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit

from surefoot.core.arrays import FloatArray

_STEPS = 100
_SMALLEST_STEP = 1e-10


@dataclass(frozen=True)
class Sigmoid:
    """The probability of the second class as a function of the score: 1 / (1 + exp(-(slope * score + offset)))."""

    slope: float
    offset: float

    def probability(self, scores: FloatArray) -> FloatArray:
        values: FloatArray = expit(self.slope * scores + self.offset)
        return values

    def complement(self, scores: FloatArray) -> FloatArray:
        """The probability of the first class, exact also where it is too small to be told from 1 - (1 - p)."""
        values: FloatArray = expit(-self.slope * scores - self.offset)
        return values


def fit_sigmoid(scores: FloatArray, labels: FloatArray, weights: FloatArray) -> Sigmoid:
    """Fit the sigmoid.

    Parameters
    ----------
    scores : ndarray of shape (n_rows,)
    labels : ndarray of shape (n_rows,)
        -1.0 and +1.0, both present.
    weights : ndarray of shape (n_rows,)
        How often each row counts.
    """
    positive, negative = weights[labels > 0].sum(), weights[labels < 0].sum()
    targets = np.where(labels > 0, (positive + 1) / (positive + 2), 1 / (negative + 2))
    level = float(logit(weights @ targets / weights.sum()))
    unit = float(np.abs(scores).max(initial=0.0))
    if unit == 0:
        return Sigmoid(0.0, level)
    rows = np.column_stack([scores / unit, np.ones_like(scores)])
    point = _newton(rows, targets, weights, np.array([0.0, level]))
    # Held-out scores that run against the labels say nothing; a falling sigmoid would contradict every prediction.
    return Sigmoid(float(point[0]) / unit, float(point[1])) if point[0] > 0 else Sigmoid(0.0, level)


def _newton(rows: FloatArray, targets: FloatArray, weights: FloatArray, point: FloatArray) -> FloatArray:
    def loss(at: FloatArray) -> float:
        margins = rows @ at
        return float(weights @ (np.logaddexp(0.0, margins) - targets * margins))

    value = loss(point)
    for _ in range(_STEPS):
        risks = expit(rows @ point)
        gradient = rows.T @ (weights * (risks - targets))
        hessian = (rows.T * (weights * risks * (1 - risks))) @ rows
        hessian += 1e-12 * max(float(np.trace(hessian)), np.finfo(np.float64).tiny) * np.eye(2)
        step = -np.linalg.solve(hessian, gradient)
        decrease = float(gradient @ step)
        if -decrease <= 1e-14 * max(value, 1.0):
            break
        size = 1.0
        while loss(point + size * step) > value + 1e-4 * size * decrease and size > _SMALLEST_STEP:
            size /= 2
        if size <= _SMALLEST_STEP:
            break
        point = point + size * step
        value = loss(point)
    return point
