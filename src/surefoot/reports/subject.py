"""What a report is about: a fitted model, perhaps at the end of a pipeline, and a table with known answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from surefoot.chancesvm.estimator.chance_svc import ChanceConstrainedSVC
from surefoot.core.arrays import BoolArray, FloatArray
from surefoot.design.binarize.binary_column import BinaryColumn
from surefoot.design.read.table import Table, read_table
from surefoot.exceptions import InvalidTableError
from surefoot.reports.card.scored_rows import ScoredRows
from surefoot.riskscore.estimator.risk_score import RiskScoreClassifier
from surefoot.robust.estimator.robust_logistic_model import RobustLogisticModel
from surefoot.shift.stress.stress_test import positive_rows
from surefoot.sklearn_api.own_rows import seen_by_last_step
from surefoot.sklearn_api.proven_model import refitted
from surefoot.sklearn_api.threshold_binarizer import ThresholdBinarizer

_KINDS = (RobustLogisticModel, RiskScoreClassifier, ChanceConstrainedSVC)


@dataclass(frozen=True, eq=False)
class Subject:
    """A model and what it says about a table.

    Attributes
    ----------
    whole : estimator
        What predicts: the model, or the pipeline it stands at the end of.
    model : RobustLogisticModel, RiskScoreClassifier or ChanceConstrainedSVC
    X, y
        The table and the answers as given.
    seen : table
        X as the model sees it, after all steps before it.
    data : Table
        X, read.
    positive : ndarray of shape (n_rows,), bool
    scores : ndarray of shape (n_rows,)
    probability : ndarray of shape (n_rows, 2) or None
        None for models without.
    meanings : tuple of BinaryColumn
        What 0/1 columns say about X, if a ``ThresholdBinarizer`` stands right before the model.
    """

    whole: Any
    model: Any
    X: Any
    y: Any
    seen: Any
    data: Table
    positive: BoolArray
    scores: FloatArray
    probability: FloatArray | None
    meanings: tuple[BinaryColumn, ...]

    @property
    def classes(self) -> tuple[str, str]:
        first, second = np.asarray(_classes_of(self.model)).tolist()
        return str(first), str(second)

    @property
    def goes_by_score(self) -> bool:
        """Whether answers follow the sign of the score, and probabilities were fitted to it afterwards."""
        return isinstance(self.model, ChanceConstrainedSVC)

    @property
    def rows(self) -> ScoredRows:
        return ScoredRows(self.scores, self.positive, np.ones(self.positive.size))


def read_subject(model: Any, X: Any, y: Any) -> Subject:
    """Apply a model to a table.

    Raises
    ------
    ValueError
        If the model is of no kind that a report knows, or not fitted.
    InvalidTableError
        If the table does not fit the model, or holds rows of one class only.
    """
    model = refitted(model)
    last = model.steps[-1][1] if isinstance(model, Pipeline) else model
    if not isinstance(last, _KINDS):
        raise ValueError(
            f"a report is about a RobustLogisticRegression, a RobustLogisticRegressionCV, a RiskScoreClassifier, a "
            f"ChanceConstrainedSVC or an InverseOptimizer, or a pipeline that ends with one; this is a {type(last).__name__}."
        )
    check_is_fitted(last)
    data = read_table(X)
    classes = _classes_of(last)
    positive = positive_rows(classes, y)
    if positive.size != data.n_rows:
        raise InvalidTableError(
            f"Found input variables with inconsistent numbers of samples: X has {data.n_rows} rows, "
            f"y has {positive.size} labels."
        )
    meanings: tuple[BinaryColumn, ...] = ()
    seen = seen_by_last_step(model, X)
    if isinstance(model, Pipeline) and len(model.steps) > 1:
        before = model.steps[-2][1]
        meanings = before.columns_ if isinstance(before, ThresholdBinarizer) else ()
    turned = list(classes) != list(last.classes_)
    scores, probability = last.decision_function(seen), None
    speaks = hasattr(last, "predict_proba") and getattr(last, "sigmoid_", last) is not None
    if speaks:
        probability = np.asarray(last.predict_proba(seen), dtype=np.float64)[:, :: -1 if turned else 1]
    return Subject(
        whole=model,
        model=last,
        X=X,
        y=y,
        seen=seen,
        data=data,
        positive=positive,
        scores=np.asarray(-scores if turned else scores, dtype=np.float64),
        probability=probability,
        meanings=meanings,
    )


def _classes_of(model: Any) -> Any:
    """The negative and the positive class; a score card may give the risk of the first in sorted order."""
    return model.card_classes_ if isinstance(model, RiskScoreClassifier) else model.classes_
