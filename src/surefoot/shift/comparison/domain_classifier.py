"""Which of two tables a row is from, by its columns: regularised logistic regression, cross-fitted.

    min over beta of   sum_i w_i log(1 + exp(-d_i z_i . beta)) + 1/2 |beta|^2  (without the intercept),

d_i = +1 for rows of the second table and -1 for those of the first, the weights of either table adding up to half of all rows,
so that 1/2 means "from either". Rows are judged by a fit to the other folds. Columns z: numbers in standard units and their
squares, levels that are not rare, gaps, and what the model says of the row, because that is what its loss depends on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.linalg
from scipy.special import expit

from surefoot.core.arrays import FloatArray, RowArray
from surefoot.shift.comparison.column_pairs import CategoricalPair, ColumnPair, NumericPair


@dataclass(frozen=True)
class DomainParameters:
    """How the classifier is fitted. Not tuned: scikit-learn's penalty, and sizes that take a second."""

    n_folds: int = 3
    # Levels of a column that get a coefficient, the most frequent ones, if so many rows have them.
    most_levels: int = 20
    fewest_rows: int = 20
    # Newton steps, and the length of a step, in standard units, that no probability notices.
    most_steps: int = 25
    least_step: float = 1e-3


PARAMETERS = DomainParameters()


def domain_features(columns: Sequence[ColumnPair], scores: tuple[FloatArray, FloatArray]) -> FloatArray:
    """What the classifier sees of all rows, those of the first table first; the last column is 1."""
    found: list[FloatArray] = []
    for column in columns:
        found += _category_features(column) if isinstance(column, CategoricalPair) else _number_features(column)
    for at in range(scores[0].shape[1]):
        score = _standard(np.concatenate([scores[0][:, at], scores[1][:, at]]))
        found += [score, _standard(np.square(score))]
    kept = [values for values in found if values.any()]
    n_rows = len(scores[0]) + len(scores[1])
    return np.column_stack([*kept, np.ones(n_rows)])


def _number_features(column: NumericPair) -> list[FloatArray]:
    values = _standard(np.concatenate(column.values))
    gaps = _standard(np.concatenate(column.gaps).astype(np.float64))
    # Of a column of two values the square says nothing new; nor does a column without gaps.
    square = _standard(np.square(values)) if np.unique(values).size > 2 else np.zeros(values.size)
    return [values, square, gaps]


def _category_features(column: CategoricalPair) -> list[FloatArray]:
    codes = np.concatenate(column.codes)
    counts = np.bincount(codes)
    frequent = np.argsort(-counts, kind="stable")[: PARAMETERS.most_levels]
    return [_standard((codes == code).astype(np.float64)) for code in frequent if counts[code] >= PARAMETERS.fewest_rows]


def _standard(values: FloatArray) -> FloatArray:
    spread = float(values.std())
    # Bounded, so that one far value does not decide where a row is from.
    return np.clip((values - values.mean()) / spread, -5.0, 5.0) if spread > 1e-12 else np.zeros(values.size)


@dataclass(frozen=True, eq=False)
class DomainClassifier:
    """Cross-fitted probabilities of being from the second table.

    Attributes
    ----------
    features : ndarray of shape (n_rows, n_features)
    second : ndarray of shape (n_rows,), +-1
    folds : ndarray of shape (n_rows,)
    """

    features: FloatArray
    second: FloatArray
    folds: RowArray

    def probabilities(
        self, counts: FloatArray, starts: Sequence[FloatArray] | None = None
    ) -> tuple[FloatArray, list[FloatArray]]:
        """For rows that count so often; and the coefficients, from which the next fit may start."""
        weights = np.empty(counts.size)
        for sign in (-1.0, 1.0):
            own = self.second == sign
            weights[own] = counts[own] * (0.5 * counts.sum() / counts[own].sum())
        found, coefficients = np.empty(counts.size), []
        for fold in range(int(self.folds.max()) + 1):
            start = None if starts is None else starts[fold]
            held = self.folds == fold
            beta = _fitted(self.features[~held], self.second[~held], weights[~held], start)
            coefficients.append(beta)
            found[held] = expit(self.features[held] @ beta)
        return found, coefficients


def stratified_folds(n_rows: tuple[int, int], rng: np.random.Generator) -> RowArray:
    """Folds with equal shares of both tables."""
    parts = [rng.permutation(np.arange(count) % PARAMETERS.n_folds) for count in n_rows]
    folds: RowArray = np.concatenate(parts).astype(np.int64)
    return folds


def _fitted(features: FloatArray, signs: FloatArray, weights: FloatArray, start: FloatArray | None) -> FloatArray:
    """Newton's method with halved steps; the objective is strongly convex but for the intercept."""
    beta = np.zeros(features.shape[1]) if start is None else start
    ridge = np.ones(beta.size)
    ridge[-1] = 1e-8
    margins = signs * (features @ beta)

    def objective(at: FloatArray, point: FloatArray) -> float:
        return float(weights @ np.logaddexp(0.0, -at) + 0.5 * ridge @ np.square(point))

    value = objective(margins, beta)
    for _ in range(PARAMETERS.most_steps):
        slopes = expit(-margins)
        gradient = -features.T @ (weights * signs * slopes) + ridge * beta
        hessian = (features.T * (weights * slopes * (1.0 - slopes))) @ features
        hessian[np.diag_indices(beta.size)] += ridge
        step = scipy.linalg.solve(hessian, -gradient, assume_a="pos")
        length = 1.0
        while length > 1e-4:
            trial = beta + length * step
            moved = signs * (features @ trial)
            reached = objective(moved, trial)
            if reached <= value:
                break
            length /= 2
        else:
            break
        beta, margins, value = trial, moved, reached
        if float(np.abs(length * step).max()) < PARAMETERS.least_step:
            break
    return beta
