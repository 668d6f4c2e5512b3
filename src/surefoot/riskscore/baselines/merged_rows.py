"""The rows of a risk score problem, merged, with the loss, its gradient, and its values along a coordinate.

    L(x) = sum_i total_i log(1 + exp(s_i)) - positive_i s_i,   s_i = x_0 + sum_j x_j x_ij,

where equal rows are one row, ``total`` is its weight and ``positive`` the part of it with label +1. A vector of coordinates x
holds the intercept first, then the points of every column.

Cards of integer points on integer columns have integer scores, so log(1 + exp(s)) is looked up in a table (Section 5.1 of Ustun
and Rudin, JMLR 2019); elsewhere it is computed, four rows at a time.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import expit

from surefoot import _native
from surefoot.core.arrays import FloatArray, IntArray
from surefoot.design.encode.duplicates import collapse_rows
from surefoot.riskscore.baselines.parameters import ROUNDING_PARAMETERS
from surefoot.riskscore.problem.problem import RiskScore, RiskScoreProblem

INTERCEPT = -1  # as a column


@dataclass(frozen=True, eq=False)
class ScoreRows:
    """Merged rows of a problem.

    Attributes
    ----------
    columns : ndarray of shape (n_columns, n_rows)
    total, positive : ndarray of shape (n_rows,)
    integers : ndarray of shape (n_columns, n_rows) or None
        The columns as integers, where all are, and where the scores of admissible cards fit into a table.
    largest_score : int
        Of the table, in absolute value; 0 without a table.
    """

    columns: FloatArray
    total: FloatArray
    positive: FloatArray
    integers: IntArray | None = None
    largest_score: int = 0

    @cached_property
    def table(self) -> FloatArray:
        """log(1 + exp(s)) of all integer scores up to the largest."""
        return np.logaddexp(0.0, np.arange(-self.largest_score, self.largest_score + 1, dtype=np.float64))

    @cached_property
    def ones(self) -> FloatArray:
        """The column of the intercept."""
        return np.ones(self.n_rows)

    @cached_property
    def integer_ones(self) -> IntArray:
        return np.ones(self.n_rows, dtype=np.int32)

    @classmethod
    def of(cls, problem: RiskScoreProblem) -> ScoreRows:
        """The rows of a problem."""
        no_codes, no_labels = np.empty((problem.n_rows, 0), dtype=np.int32), np.zeros(problem.n_rows)
        merged = collapse_rows(problem.columns, no_codes, no_labels, problem.weights)
        positive = np.bincount(merged.groups, weights=problem.weights * (problem.labels > 0), minlength=merged.weights.size)
        values = np.ascontiguousarray(problem.columns[merged.representatives].T)
        largest = _largest_score(values, problem)
        return cls(values, merged.weights, positive.astype(np.float64), values.astype(np.int32) if largest else None, largest)

    @property
    def n_rows(self) -> int:
        return int(self.total.size)

    @property
    def n_columns(self) -> int:
        return int(self.columns.shape[0])

    def sample(self, size: int, random_state: int = 0) -> ScoreRows:
        """So many rows, drawn without repetition; their weights are scaled to those of all."""
        if size >= self.n_rows:
            return self
        drawn = np.sort(np.random.default_rng(random_state).choice(self.n_rows, size, replace=False))
        scale = float(self.total.sum() / self.total[drawn].sum())
        integers = None if self.integers is None else np.ascontiguousarray(self.integers[:, drawn])
        columns = np.ascontiguousarray(self.columns[:, drawn])
        return ScoreRows(columns, scale * self.total[drawn], scale * self.positive[drawn], integers, self.largest_score)

    def scores(self, x: FloatArray) -> FloatArray:
        used = np.flatnonzero(x[1:])
        if 4 * used.size < self.n_columns:
            return np.asarray(x[1 + used] @ self.columns[used] + x[0], dtype=np.float64)
        return np.asarray(x[1:] @ self.columns + x[0], dtype=np.float64)

    def loss(self, scores: FloatArray) -> float:
        return float(self.losses_along(scores, INTERCEPT, np.zeros(1))[0])

    def gradient(self, scores: FloatArray, wanted: IntArray | None = None) -> FloatArray:
        """Gradient of the loss over the intercept and every column, or over the coordinates wanted."""
        residual = self.total * expit(scores) - self.positive
        if wanted is None or 2 * wanted.size > self.n_columns:
            full: FloatArray = np.append(residual.sum(), self.columns @ residual)
            return full if wanted is None else full[wanted]
        few = self.columns[np.maximum(wanted - 1, 0)] @ residual
        return np.asarray(np.where(wanted == 0, residual.sum(), few), dtype=np.float64)

    def losses_along(self, scores: FloatArray, column: int, steps: FloatArray) -> FloatArray:
        """Losses after so many points more for a column, or for the intercept."""
        values = self.ones if column == INTERCEPT else self.columns[column]
        losses: FloatArray = _native.axis_losses(
            self.total, self.positive, scores, values, np.ascontiguousarray(steps, dtype=np.float64)
        )
        return losses

    def card_losses_along(self, scores: FloatArray, column: int, steps: IntArray) -> FloatArray:
        """The same for cards that are admissible before and after, whose scores a table may hold."""
        if self.integers is None:
            return self.losses_along(scores, column, steps.astype(np.float64))
        values = self.integer_ones if column == INTERCEPT else self.integers[column]
        losses: FloatArray = _native.axis_table_losses(
            self.total,
            self.positive,
            np.rint(scores).astype(np.int32),
            values,
            steps.astype(np.int32),
            self.table,
            -self.largest_score,
        )
        return losses


def _largest_score(values: FloatArray, problem: RiskScoreProblem) -> int:
    """Largest score of an admissible card in absolute value, or 0 where no table of scores is of use."""
    longest = ROUNDING_PARAMETERS.longest_table
    if values.size and not (np.abs(values).max() < longest and np.array_equal(values, np.rint(values))):
        return 0
    largest = np.abs(values).max(axis=1, initial=0.0) * np.maximum(-problem.lower, problem.upper)
    # One column more than a card may have: coordinate descent evaluates cards before it asks whether they are admissible.
    size = min(problem.max_features + 1, largest.size)
    score = max(-problem.intercept_lower, problem.intercept_upper) + float(np.sort(largest)[largest.size - size :].sum())
    # Intercepts may be tried from any card to any other.
    return int(2 * score) if 0 < 2 * score <= longest // 2 else 0


def coordinates(card: RiskScore) -> FloatArray:
    """A card as a vector: intercept, then points."""
    return np.append(float(card.intercept), card.points.astype(np.float64))


def card_of(x: FloatArray) -> RiskScore:
    """The card of a vector of integer coordinates."""
    integers = np.rint(x).astype(np.int32)
    return RiskScore(int(integers[0]), integers[1:])
