"""How well the models of a path do on rows that were held out, score by score: of each fold, or of each environment."""

from __future__ import annotations

import numbers
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import check_scoring, log_loss, make_scorer
from sklearn.utils import _safe_indexing, indexable

from surefoot.core.arrays import AnyArray, FloatArray
from surefoot.robust.estimator.environment_folds import EnvironmentFolds
from surefoot.robust.estimator.fitted_robust_model import FittedRobustModel
from surefoot.sklearn_api.training_rows import TrainingRows

LOG_LOSS = "neg_log_loss"


def make_path_scorer(estimator: Any, scoring: Any, classes: AnyArray) -> Callable[..., float]:
    """What ``scoring`` means: a function of a model, a table, labels and, by name, ``sample_weight``."""
    if isinstance(scoring, str) and scoring == LOG_LOSS:
        # The ready-made scorer cannot tell the second class where rows of one class only are held out.
        scorer = make_scorer(log_loss, greater_is_better=False, response_method="predict_proba", labels=classes)
    else:
        scorer = check_scoring(estimator, scoring=scoring)
    found: Callable[..., float] = scorer
    return found


class HeldOutScores:
    """Scores of every point of a grid, for every fold or environment.

    Rows of one environment may be held out in several folds; their scores are then averaged by the weight of the rows.

    Parameters
    ----------
    estimator : the search, as scikit-learn's scorers want to see it
    scoring : str or callable
    X : the table of the fit
    rows : TrainingRows
    folds : EnvironmentFolds
    n_points : int
    weighted : bool
        Whether rows have weights that scorers are to know.
    """

    def __init__(
        self,
        estimator: Any,
        scoring: Any,
        X: Any,
        rows: TrainingRows,
        folds: EnvironmentFolds,
        n_points: int,
        *,
        weighted: bool,
    ) -> None:
        self._scorer = make_path_scorer(estimator, scoring, rows.classes)
        self._scoring = scoring
        self._is_log_loss = isinstance(scoring, str) and scoring == LOG_LOSS
        (self._table,) = indexable(X)
        self._rows, self._folds, self._weighted = rows, folds, weighted
        self._sums = np.zeros((n_points, folds.n_scores))
        self._norms = np.zeros((n_points, folds.n_scores))

    def add(self, point: int, at: int, model: FittedRobustModel) -> None:
        """Score the model of a point on the rows that a fold holds out."""
        fold = self._folds.folds[at]
        scored = self._log_losses if self._is_log_loss else self._others
        for owner, value, weight in scored(model, fold.test, fold.owners):
            self._sums[point, owner] += weight * value
            self._norms[point, owner] += weight

    @property
    def values(self) -> FloatArray:
        """One row per point, one column per fold or environment; NaN where scoring gave it."""
        found: FloatArray = self._sums / self._norms
        return found

    def _log_losses(
        self, model: FittedRobustModel, test: NDArray[np.intp], owners: NDArray[np.intp]
    ) -> list[tuple[int, float, float]]:
        """Of all rows at once, from their encoding: reading the table again for each model would take as long as the fits."""
        rows = self._rows
        weights = rows.weights[test]
        losses = np.logaddexp(0.0, -rows.labels[test] * model._scores(rows.design.take(test)))
        norms = np.bincount(owners, weights=weights)
        sums = np.bincount(owners, weights=weights * losses)
        present = np.unique(owners)
        return [(int(owner), -sums[owner] / norms[owner], norms[owner]) for owner in present]

    def _others(
        self, model: FittedRobustModel, test: NDArray[np.intp], owners: NDArray[np.intp]
    ) -> list[tuple[int, float, float]]:
        rows = self._rows
        found: list[tuple[int, float, float]] = []
        for owner in np.unique(owners):
            own = test[owners == owner]
            table = _safe_indexing(self._table, rows.positions[own])
            labels = rows.classes[(rows.labels[own] > 0).astype(np.intp)]
            weighting = {"sample_weight": rows.weights[own]} if self._weighted else {}
            score = self._scorer(model, table, labels, **weighting)
            if not isinstance(score, numbers.Real | np.ndarray):
                raise ValueError(f"scoring = {self._scoring!r} gave {score!r:.80}; a score is a number, larger is better.")
            found.append((int(owner), float(score), float(rows.weights[own].sum())))
        return found
