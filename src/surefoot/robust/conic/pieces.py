"""The smooth pieces of the robust loss, and the coordinates in which cone programmes see them.

A piece (row i, category vector z', label flipped or not) is one of the functions whose maximum is the worst-case loss of row
i:

    softplus(-s (beta_0 + beta_x . x_i + beta_z(z'))) - lambda c,      s the final label, c the ground cost of the shift.

A programme over pieces bounds them by a variable r_i per row:

    min  radius * lambda + sum_i w_i r_i    subject to    softplus(argument) <= r_i + lambda c   for every piece,
                                                          || (beta_j / gamma_j)_j ||_* <= lambda over the numeric columns.

The dual norm is a matter of linear limits for the ground norm l1, |beta_j| <= gamma_j lambda, and for linf, where variables t_j
with |beta_j| <= gamma_j t_j add up to at most lambda; for l2 it is one second-order cone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy.sparse

from surefoot.core.arrays import BoolArray, FloatArray, IntArray, RowArray
from surefoot.robust.conic.distance_program import movable_features, shift_costs
from surefoot.robust.problem.numeric_columns import column_sizes, is_sparse
from surefoot.robust.problem.problem import RobustCoefficients, RobustLogisticProblem


class Coordinates:
    """Where each unknown of a problem stands in a programme's vector.

    Order: intercept (if any), numeric coefficients, non-reference levels, price, one part t of the price per priced numeric
    column (norm linf only), one r per row; whatever a solver adds comes after. The price and its parts are multiplied by the
    cost of all shifts together, so that small or large ground costs do not spoil the numbers.
    """

    def __init__(self, problem: RobustLogisticProblem) -> None:
        self.problem = problem
        first = int(problem.fit_intercept)
        self.numeric = slice(first, first + problem.n_numeric)
        reference = np.zeros(int(problem.level_offsets[-1]), dtype=np.bool_)
        reference[problem.level_offsets[:-1]] = True
        self.level = np.where(reference, -1, self.numeric.stop + np.cumsum(~reference) - 1)
        self.n_coefficients = self.numeric.stop + int(np.count_nonzero(~reference))
        cost = problem.cost
        self.priced = np.flatnonzero(np.isfinite(cost.numeric_weights))
        self.price = self.n_coefficients
        self.price_parts = self.price + 1
        self.loss = self.price_parts + (self.priced.size if cost.numeric_norm == "linf" else 0)
        self.size = self.loss + problem.n_rows
        shifts = np.append(cost.categorical_weights[problem.n_levels > 1], cost.label_weight)
        shifts = shifts[np.isfinite(shifts)]
        columns = cost.numeric_weights[self.priced]
        self.unit = float(shifts.sum()) if shifts.size else float(np.median(columns)) if columns.size else 1.0

    @property
    def objective(self) -> FloatArray:
        """Cost vector of radius * lambda + sum_i w_i r_i.

        No plan can spend more than all shifts together cost, so every radius beyond that has the same solutions (with price 0);
        a cap prevents huge radii from drowning the losses.
        """
        problem = self.problem
        gamma, delta, kappa = problem.cost.numeric_weights, problem.cost.categorical_weights, problem.cost.label_weight
        sizes = column_sizes(problem.numeric)
        # The sum over columns is above the other norms.
        dearest = float(gamma[self.priced] @ sizes[self.priced]) + float(delta[np.isfinite(delta)].sum())
        dearest += kappa if np.isfinite(kappa) else 0.0
        cost = np.zeros(self.size)
        cost[self.price] = min(problem.radius, 2.0 * dearest + self.unit) / self.unit
        cost[self.loss :] = problem.weights
        return cost

    def unpack(self, x: FloatArray) -> RobustCoefficients:
        """The model in a programme's vector."""
        levels = np.where(self.level >= 0, x[np.maximum(self.level, 0)], 0.0) if self.level.size else np.zeros(0)
        return RobustCoefficients(
            intercept=float(x[0]) if self.problem.fit_intercept else 0.0,
            numeric=np.array(x[self.numeric]),
            levels=levels,
            price=max(float(x[self.price]) / self.unit, 0.0),
        )

    def pack(self, coefficients: RobustCoefficients) -> FloatArray:
        """The coefficients (without price and losses) of a model."""
        x = np.zeros(self.n_coefficients)
        if self.problem.fit_intercept:
            x[0] = coefficients.intercept
        x[self.numeric] = coefficients.numeric
        held = self.level >= 0
        x[self.level[held]] = coefficients.levels[held]
        return x

    def score_rows(self, rows: RowArray, codes: IntArray, features: RowArray, scale: FloatArray) -> scipy.sparse.coo_array:
        """One row scale_k * (1, x_row, one-hot levels of the given features) per entry, in the coordinates of a programme."""
        problem = self.problem
        entry = np.arange(rows.size)
        at, column, value = [], [], []
        if problem.fit_intercept:
            at.append(entry)
            column.append(np.zeros(rows.size, dtype=np.intp))
            value.append(scale)
        if is_sparse(problem.numeric):
            entries = problem.numeric[rows].tocoo()
            at.append(entries.row)
            column.append(self.numeric.start + entries.col)
            value.append(scale[entries.row] * entries.data)
        elif problem.n_numeric:
            at.append(np.repeat(entry, problem.n_numeric))
            column.append(np.tile(np.arange(self.numeric.start, self.numeric.stop), rows.size))
            value.append((scale[:, None] * problem.numeric[rows]).ravel())
        for l in features:
            slot = self.level[problem.level_offsets[l] + codes[:, l]]
            held = slot >= 0
            at.append(entry[held])
            column.append(slot[held])
            value.append(scale[held])
        if not at:
            return scipy.sparse.coo_array((rows.size, self.size))
        parts = (np.concatenate(value), (np.concatenate(at), np.concatenate(column)))
        return scipy.sparse.coo_array(parts, shape=(rows.size, self.size))

    def price_limits(self) -> scipy.sparse.csr_array:
        """Rows of G x <= 0 that say what the price lambda must admit, as far as that is linear.

        lambda >= 0 for every norm; for l1, |beta_j| <= gamma_j lambda for every column with a finite weight; for linf,
        |beta_j| <= gamma_j t_j for these and sum_j t_j <= lambda. For l2 see ``price_cone``.
        """
        norm = self.problem.cost.numeric_norm
        gamma = self.problem.cost.numeric_weights[self.priced] / self.unit
        priced = self.priced if norm != "l2" else self.priced[:0]
        # The larger of the two entries is 1: weights of 1e9 and 1e-9 alike leave a well scaled row.
        scale = 1.0 / np.maximum(gamma[: priced.size], 1.0)
        count = priced.size
        ceiling = self.price_parts + np.arange(count) if norm == "linf" else np.full(count, self.price)
        parts = np.arange(self.price_parts, self.loss)
        row = np.concatenate((np.arange(2 * count), np.arange(2 * count), np.full(1 + parts.size, 2 * count)))
        column = np.concatenate((np.tile(self.numeric.start + priced, 2), np.tile(ceiling, 2), [self.price], parts))
        value = np.concatenate((scale, -scale, np.tile(-gamma[:count] * scale, 2), [-1.0], np.ones(parts.size)))
        return scipy.sparse.csr_array((value, (row, column)), shape=(2 * count + 1, self.size))

    def price_cone(self) -> scipy.sparse.csr_array:
        """Rows Q x whose first entry must be at least the length of the others; none but for the norm l2.

        (lambda, beta_1 / gamma_1, ..., beta_n / gamma_n) over the columns with a finite weight.
        """
        count = self.priced.size if self.problem.cost.numeric_norm == "l2" else 0
        if count == 0:
            return scipy.sparse.csr_array((0, self.size))
        gamma = self.problem.cost.numeric_weights[self.priced] / self.unit
        # One factor for the whole cone: its entries are at most 1.
        scale = min(1.0, float(gamma.min()))
        column = np.concatenate(([self.price], self.numeric.start + self.priced))
        value = np.concatenate(([scale], scale / gamma))
        return scipy.sparse.csr_array((value, (np.arange(count + 1), column)), shape=(count + 1, self.size))


@dataclass(frozen=True)
class Pieces:
    """Pieces as arrays, one entry each: row, category vector, whether the label flips."""

    row: RowArray
    codes: IntArray
    flipped: BoolArray

    @classmethod
    def unmoved(cls, problem: RobustLogisticProblem) -> Pieces:
        """Every row as it is."""
        return cls(np.arange(problem.n_rows), problem.codes, np.zeros(problem.n_rows, dtype=np.bool_))

    @classmethod
    def count(cls, problem: RobustLogisticProblem) -> int:
        """How many pieces ``every`` would list; an exact Python integer, however large."""
        vectors = 1
        for l in movable_features(problem):
            vectors *= int(problem.n_levels[l])
        return problem.n_rows * vectors * (2 if np.isfinite(problem.cost.label_weight) else 1)

    @classmethod
    def every(cls, problem: RobustLogisticProblem) -> Pieces:
        """All category vectors at a finite price, with both labels if those have one."""
        features = movable_features(problem)
        shape = tuple(int(count) for count in problem.n_levels[features])
        vectors = np.indices(shape, dtype=np.int32).reshape(features.size, math.prod(shape)).T
        row = np.repeat(np.arange(problem.n_rows), len(vectors))
        codes = problem.codes[row]
        codes[:, features] = np.tile(vectors, (problem.n_rows, 1))
        unflipped = cls(row, codes, np.zeros(row.size, dtype=np.bool_))
        if not np.isfinite(problem.cost.label_weight):
            return unflipped
        return unflipped.joined(cls(row, codes, ~unflipped.flipped))

    def joined(self, others: Pieces) -> Pieces:
        """These pieces, then the others."""
        return Pieces(
            np.concatenate((self.row, others.row)),
            np.concatenate((self.codes, others.codes)),
            np.concatenate((self.flipped, others.flipped)),
        )

    def chosen(self, which: RowArray | BoolArray) -> Pieces:
        """The pieces at these positions."""
        return Pieces(self.row[which], self.codes[which], self.flipped[which])

    def final_labels(self, problem: RobustLogisticProblem) -> FloatArray:
        return np.where(self.flipped, -1.0, 1.0) * problem.labels[self.row]

    def arguments(self, coordinates: Coordinates) -> scipy.sparse.csr_array:
        """One row -s (1, x, z') per piece."""
        problem = coordinates.problem
        features = np.arange(problem.n_categorical)
        return coordinates.score_rows(self.row, self.codes, features, -self.final_labels(problem)).tocsr()

    def allowances(self, coordinates: Coordinates) -> scipy.sparse.csr_array:
        """One row r_i + lambda c per piece."""
        count = self.row.size
        entry = np.arange(count)
        costs = shift_costs(coordinates.problem, self.row, self.codes, self.flipped) / coordinates.unit
        value = np.concatenate((np.ones(count), costs))
        column = np.concatenate((coordinates.loss + self.row, np.full(count, coordinates.price)))
        return scipy.sparse.csr_array((value, (np.tile(entry, 2), column)), shape=(count, coordinates.size))
