"""Platt scaling: probabilities from scores, fitted to scores of rows that the scoring model has not seen.

Problem. The probability of the second class at a score f is 1 / (1 + exp(-(a f + b))), with

    min over a >= 0 and b of  F(a, b) = sum_i w_i (log(1 + exp(s_i)) - t_i s_i),   s_i = a f_i + b,

and Platt's targets t_i = (n_+ + 1) / (n_+ + 2) for rows of the second class and 1 / (n_- + 2) for the others, n_+ and n_- being
their weights: with 0 and 1 the slope of separated scores would grow without end.

Step. Newton's method with Armijo backtracking. The gradient and the 2 x 2 Hessian, slightly regularised, give the direction d;
the step length starts at 1 and is halved until F falls by at least a fraction (armijo) of -gradient . d times the step length.
Termination. The Newton decrement -gradient . d is at the rounding of F, or no step length decreases F any more. F is convex; a
minimum with a < 0 means that scores say nothing, and the best a >= 0 is then 0.

References: Platt (1999); Lin, Lin and Weng, A note on Platt's probabilistic outputs for support vector machines (2007).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit

from surefoot.core.arrays import FloatArray


@dataclass(frozen=True)
class PlattParameters:
    """Constants of the Newton method; textbook values, not tuned."""

    max_iterations: int = 100
    # Sufficient decrease over the decrease that the gradient predicts.
    armijo: float = 1e-4
    # The shortest step length that backtracking tries.
    min_step_length: float = 1e-10
    # Bounds the Newton decrement over max(F, 1) at the end.
    decrement_tolerance: float = 1e-14
    # Regularisation of the Hessian's diagonal over its trace; scores that are all equal make it singular.
    regularisation: float = 1e-12


DEFAULT_PARAMETERS = PlattParameters()


@dataclass(frozen=True)
class PlattScaling:
    """The probability of the second class as a function of the score: 1 / (1 + exp(-(slope * score + offset)))."""

    slope: float
    offset: float

    def probability(self, scores: FloatArray) -> FloatArray:
        values: FloatArray = expit(self.slope * scores + self.offset)
        return values

    def complement(self, scores: FloatArray) -> FloatArray:
        """The probability of the first class, exact also where 1 - probability would have lost its digits."""
        values: FloatArray = expit(-self.slope * scores - self.offset)
        return values


def fit_platt_scaling(
    scores: FloatArray, labels: FloatArray, weights: FloatArray, parameters: PlattParameters = DEFAULT_PARAMETERS
) -> PlattScaling:
    """Fit slope and offset.

    Parameters
    ----------
    scores : ndarray of shape (n_rows,)
    labels : ndarray of shape (n_rows,)
        -1.0 and +1.0, both present.
    weights : ndarray of shape (n_rows,)
        How often each row counts.
    parameters : PlattParameters
    """
    positive, negative = weights[labels > 0].sum(), weights[labels < 0].sum()
    targets = np.where(labels > 0, (positive + 1) / (positive + 2), 1 / (negative + 2))
    level = float(logit(weights @ targets / weights.sum()))
    unit = float(np.abs(scores).max(initial=0.0))
    if unit == 0:
        return PlattScaling(0.0, level)
    rows = np.column_stack([scores / unit, np.ones_like(scores)])
    slope, offset = _newton(rows, targets, weights, np.array([0.0, level]), parameters)
    # Scores of calibration folds that run against the labels say nothing; a falling curve would contradict every prediction.
    return PlattScaling(float(slope) / unit, float(offset)) if slope > 0 else PlattScaling(0.0, level)


def _newton(
    rows: FloatArray, targets: FloatArray, weights: FloatArray, point: FloatArray, parameters: PlattParameters
) -> FloatArray:
    def loss(at: FloatArray) -> float:
        margins = rows @ at
        return float(weights @ (np.logaddexp(0.0, margins) - targets * margins))

    value = loss(point)
    for _ in range(parameters.max_iterations):
        risks = expit(rows @ point)
        gradient = rows.T @ (weights * (risks - targets))
        hessian = (rows.T * (weights * risks * (1 - risks))) @ rows
        hessian += parameters.regularisation * max(float(np.trace(hessian)), np.finfo(np.float64).tiny) * np.eye(2)
        direction = -np.linalg.solve(hessian, gradient)
        slope = float(gradient @ direction)
        if -slope <= parameters.decrement_tolerance * max(value, 1.0):
            break
        length = 1.0
        while (
            loss(point + length * direction) > value + parameters.armijo * length * slope
            and length > parameters.min_step_length
        ):
            length /= 2
        if length <= parameters.min_step_length:
            break
        point = point + length * direction
        value = loss(point)
    return point
