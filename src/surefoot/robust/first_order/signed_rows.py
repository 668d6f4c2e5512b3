"""Rows z_i = y_i (1, x_i) of a numeric problem, and its primal objective in terms of margins.

With margins m_i = z_i . b and softplus(m) = softplus(-m) + m, a row's worst case over its two labels is

    max(softplus(-m), softplus(m) - lambda kappa) = softplus(-m) + max(m - lambda kappa, 0).

For a given b the best price minimises lambda radius + sum_i w_i max(m_i - lambda kappa, 0) over lambda >= ||b / gamma||_*:
convex and piecewise linear with kinks at m_i / kappa, so the kink at which the weight of the rows above it falls to radius /
kappa is the exact minimiser.
"""

from __future__ import annotations

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.robust.problem.coefficient_bounds import coefficient_bounds
from surefoot.robust.problem.numeric_norm import coefficient_norm, gradient_norm
from surefoot.robust.problem.problem import RobustCoefficients, RobustLogisticProblem


class SignedRows:
    """The rows z_i = y_i (1, x_i) of a numeric problem, and the model's objective in terms of them.

    ``gamma`` are the ground-cost weights of the coordinates, inf for the intercept; ``row_weights`` the weights of the rows.
    """

    def __init__(self, problem: RobustLogisticProblem) -> None:
        self.problem = problem
        self.first = int(problem.fit_intercept)
        self.rows = np.empty((problem.n_rows, self.first + problem.n_numeric))
        self.rows[:, : self.first] = problem.labels[:, None]
        np.multiply(problem.numeric, problem.labels[:, None], out=self.rows[:, self.first :])
        self.row_weights = problem.weights
        self.gamma = np.concatenate((np.full(self.first, np.inf), problem.cost.numeric_weights))
        self.free = np.isinf(self.gamma)
        self.free_rows = self.rows[:, self.free]
        self.kappa = problem.cost.label_weight
        self.radius = problem.radius
        self.bounds = coefficient_bounds(problem, float(np.log(2.0)) * self.row_weights.sum(), np.zeros(problem.n_numeric))

    def gram(self) -> FloatArray:
        """sum_i w_i z_i z_i'."""
        gram: FloatArray = (self.rows * self.row_weights[:, None]).T @ self.rows
        return gram

    def model(self, coefficients: FloatArray, price: float) -> RobustCoefficients:
        """The coefficients as a model of ``problem``."""
        intercept = float(coefficients[0]) if self.first else 0.0
        return RobustCoefficients(intercept, coefficients[self.first :], np.zeros(0), price)

    def coefficients(self, model: RobustCoefficients) -> FloatArray:
        """The reverse of ``model``."""
        return np.concatenate((np.full(self.first, model.intercept), model.numeric))

    def least_price(self, coefficients: FloatArray) -> float:
        return coefficient_norm(coefficients, self.gamma, self.problem.cost.numeric_norm)

    def gradient_price(self, gradient: FloatArray) -> float:
        """|g| over the priced coordinates."""
        priced = ~self.free
        return gradient_norm(gradient[priced], self.gamma[priced], self.problem.cost.numeric_norm)

    def value(self, margins: FloatArray, price: float) -> float:
        """The objective of a feasible model with these margins."""
        losses = np.logaddexp(0.0, -margins)
        if np.isfinite(self.kappa):
            losses += np.maximum(margins - price * self.kappa, 0.0)
        return self.radius * price + float(self.row_weights @ losses)

    def best_price(self, margins: FloatArray, least: float) -> float:
        """The price at or above ``least`` that suits these margins best."""
        if np.isinf(self.kappa):
            return least
        above = np.flatnonzero(margins > least * self.kappa)
        order = above[np.argsort(-margins[above])]
        too_many = np.flatnonzero(np.cumsum(self.row_weights[order]) * self.kappa > self.radius)
        return max(least, float(margins[order[too_many[0]]]) / self.kappa) if too_many.size else least
