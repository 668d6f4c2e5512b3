"""Rows of a wide problem, scaled so that one penalty suits every column.

The augmented Lagrangian penalises the distance of a model from the cone of those that the price admits, and a penalty suits a
column if it is about the curvature of the loss there. Standard columns have equal curvatures, so one penalty fits all; their
common unit is chosen such that half of the prices gamma_j are above 1. For the l2 metric every column is measured in the units
of its own price instead, in which the cone is round and its projection has a closed form.

Row i is z_i = y_i (1, x_ij), stored in one matrix; nothing of the order of columns squared is ever formed.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.sparse

from surefoot.core.arrays import FloatArray
from surefoot.robust.first_order.signed_rows import SignedRows
from surefoot.robust.problem.coefficient_bounds import coefficient_bounds
from surefoot.robust.problem.problem import RobustCoefficients, RobustLogisticProblem


class WideRows(SignedRows):
    """Signed rows, sparse if the problem is, with columns in the units of the module docstring.

    ``problem`` is the given one in these units. ``squares`` holds the squared entries, for diagonals of Hessians.
    """

    def __init__(self, standard: RobustLogisticProblem) -> None:
        prices = standard.cost.numeric_weights
        round_cone = standard.cost.numeric_norm == "l2" or prices.size == 0
        self.scale = prices if round_cone else np.full(prices.size, float(np.median(prices)))
        columns = standard.numeric * self.scale
        if standard.is_sparse:
            columns = scipy.sparse.csr_array(columns)
        cost = replace(standard.cost, numeric_weights=prices / self.scale)
        problem = replace(standard, numeric=columns, cost=cost)
        self.problem = problem
        self.first = int(problem.fit_intercept)
        ones = np.ones((problem.n_rows, self.first))
        if problem.is_sparse:
            signs = scipy.sparse.diags_array(problem.labels)
            signed = scipy.sparse.csr_array(signs @ scipy.sparse.hstack((ones, columns), format="csr"))
            self.rows, self.squares = signed, signed.power(2)
        else:
            self.rows = problem.labels[:, None] * np.hstack((ones, columns))
            self.squares = np.square(self.rows)
        self.row_weights = problem.weights
        self.gamma = np.concatenate((np.full(self.first, np.inf), cost.numeric_weights))
        self.free = np.isinf(self.gamma)
        self.free_rows = problem.labels[:, None] * ones
        self.kappa = cost.label_weight
        self.radius = problem.radius
        self.bounds = coefficient_bounds(problem, float(np.log(2.0)) * self.row_weights.sum(), np.zeros(problem.n_numeric))

    def model(self, coefficients: FloatArray, price: float) -> RobustCoefficients:
        """A model in the units of the standard problem."""
        model = super().model(coefficients, price)
        return replace(model, numeric=self.scale * model.numeric)

    def coefficients(self, model: RobustCoefficients) -> FloatArray:
        """The reverse of ``model``."""
        return super().coefficients(replace(model, numeric=model.numeric / self.scale))
