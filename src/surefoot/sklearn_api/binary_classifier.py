"""What a fitted classifier of two classes answers once it has scores: classes, and probabilities where scores are log odds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import expit
from sklearn.base import ClassifierMixin

from surefoot.core.arrays import AnyArray, FloatArray


class BinaryClassifier(ClassifierMixin):
    """A classifier of two classes; subclasses provide ``decision_function``, positive for the second class."""

    classes_: AnyArray
    n_features_in_: int
    feature_names_in_: AnyArray

    if TYPE_CHECKING:

        def decision_function(self, X: Any) -> FloatArray: ...

    def predict(self, X: Any) -> AnyArray:
        """The class of each row by the sign of its score; the first one where the score is 0.

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        positive = self.decision_function(X) > 0
        classes: AnyArray = self.classes_[positive.astype(np.intp)]
        return classes

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = True
        return tags


class LogisticClassifier(BinaryClassifier):
    """A binary classifier whose scores are log odds: P(second class) = 1 / (1 + exp(-score))."""

    def predict_proba(self, X: Any) -> FloatArray:
        """Probabilities of the two classes, in the order of ``classes_``.

        Returns
        -------
        ndarray of shape (n_rows, 2)
        """
        scores = self.decision_function(X)
        return np.column_stack([expit(-scores), expit(scores)])

    def predict_log_proba(self, X: Any) -> FloatArray:
        """Logarithms of :meth:`predict_proba`, exact also where a probability is too small to be written."""
        scores = self.decision_function(X)
        return np.column_stack([-np.logaddexp(0.0, scores), -np.logaddexp(0.0, -scores)])
