"""The rows of a risk score problem, merged, with the sums that points ask of them.

    loss(x) = sum_i total_i log(1 + exp(s_i)) - positive_i s_i,   s_i = x_0 + sum_j x_j x_ij,

where equal rows are one row, ``total`` is its weight and ``positive`` the part of it with label +1. A vector of coordinates x
holds the intercept first, then the points of every column.

Cards of whole points on whole columns have whole scores, so log(1 + exp(s)) is read from a table (Section 5.1 of Ustun and
Rudin, JMLR 2019); elsewhere it is computed, four rows at a time.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import expit

from surefoot import _native
from surefoot.core.arrays import FloatArray, IntArray
from surefoot.design.encode.duplicates import collapse_rows
from surefoot.riskscore.problem.problem import RiskScore, RiskScoreProblem

# A table of scores beyond this many entries leaves the cache, and computing is faster than looking up.
LONGEST_TABLE = 1 << 14
INTERCEPT = -1


@dataclass(frozen=True, eq=False)
class ScoreRows:
    """Merged rows of a problem.

    Attributes
    ----------
    columns : ndarray of shape (n_columns, n_rows)
    total, positive : ndarray of shape (n_rows,)
    whole : ndarray of shape (n_columns, n_rows) or None
        The columns as whole numbers, where all are, and where the scores of admissible cards fit into a table.
    reach : int
        Largest whole score of an admissible card, in absolute value; 0 without a table.
    """

    columns: FloatArray
    total: FloatArray
    positive: FloatArray
    whole: IntArray | None = None
    reach: int = 0

    @cached_property
    def table(self) -> FloatArray:
        """log(1 + exp(s)) of all whole scores within reach."""
        return np.logaddexp(0.0, np.arange(-self.reach, self.reach + 1, dtype=np.float64))

    @cached_property
    def ones(self) -> FloatArray:
        """The column of the intercept."""
        return np.ones(self.n_rows)

    @cached_property
    def whole_ones(self) -> IntArray:
        return np.ones(self.n_rows, dtype=np.int32)

    @classmethod
    def of(cls, problem: RiskScoreProblem) -> ScoreRows:
        """The rows of a problem."""
        no_codes, no_labels = np.empty((problem.n_rows, 0), dtype=np.int32), np.zeros(problem.n_rows)
        merged = collapse_rows(problem.columns, no_codes, no_labels, problem.weights)
        positive = np.bincount(merged.groups, weights=problem.weights * (problem.labels > 0), minlength=merged.weights.size)
        values = np.ascontiguousarray(problem.columns[merged.representatives].T)
        reach = _whole_reach(values, problem)
        return cls(values, merged.weights, positive.astype(np.float64), values.astype(np.int32) if reach else None, reach)

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
        kept = np.sort(np.random.default_rng(random_state).choice(self.n_rows, size, replace=False))
        scale = float(self.total.sum() / self.total[kept].sum())
        whole = None if self.whole is None else np.ascontiguousarray(self.whole[:, kept])
        columns = np.ascontiguousarray(self.columns[:, kept])
        return ScoreRows(columns, scale * self.total[kept], scale * self.positive[kept], whole, self.reach)

    def scores(self, x: FloatArray) -> FloatArray:
        used = np.flatnonzero(x[1:])
        if 4 * used.size < self.n_columns:
            return np.asarray(x[1 + used] @ self.columns[used] + x[0], dtype=np.float64)
        return np.asarray(x[1:] @ self.columns + x[0], dtype=np.float64)

    def loss(self, scores: FloatArray) -> float:
        return float(self.losses_along(scores, INTERCEPT, np.zeros(1))[0])

    def gradient(self, scores: FloatArray, wanted: IntArray | None = None) -> FloatArray:
        """Slope of the loss along the intercept and every column, or along the coordinates wanted."""
        residual = self.total * expit(scores) - self.positive
        if wanted is None or 2 * wanted.size > self.n_columns:
            whole: FloatArray = np.append(residual.sum(), self.columns @ residual)
            return whole if wanted is None else whole[wanted]
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
        if self.whole is None:
            return self.losses_along(scores, column, steps.astype(np.float64))
        values = self.whole_ones if column == INTERCEPT else self.whole[column]
        losses: FloatArray = _native.axis_table_losses(
            self.total, self.positive, np.rint(scores).astype(np.int32), values, steps.astype(np.int32), self.table, -self.reach
        )
        return losses


def _whole_reach(values: FloatArray, problem: RiskScoreProblem) -> int:
    """Largest score of an admissible card in absolute value, or 0 where no table of scores is of use."""
    if values.size and not (np.abs(values).max() < LONGEST_TABLE and np.array_equal(values, np.rint(values))):
        return 0
    largest = np.abs(values).max(axis=1, initial=0.0) * np.maximum(-problem.lower, problem.upper)
    # One column more than a card may have: a descent looks at cards before it asks whether they are admissible.
    room = min(problem.max_features + 1, largest.size)
    reach = max(-problem.intercept_lower, problem.intercept_upper) + float(np.sort(largest)[largest.size - room :].sum())
    # Intercepts may be tried from any card to any other.
    return int(2 * reach) if 0 < 2 * reach <= LONGEST_TABLE // 2 else 0


def coordinates(card: RiskScore) -> FloatArray:
    """A card as a vector: intercept, then points."""
    return np.append(float(card.intercept), card.points.astype(np.float64))


def card_of(x: FloatArray) -> RiskScore:
    """The card of a vector of whole coordinates."""
    whole = np.rint(x).astype(np.int32)
    return RiskScore(int(whole[0]), whole[1:])
