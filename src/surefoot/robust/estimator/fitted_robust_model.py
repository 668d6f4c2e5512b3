"""What a fitted robust logistic model does: scores, probabilities, named coefficients, and its worst case."""

from __future__ import annotations

from typing import Any

import joblib
import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from surefoot.core.arrays import FloatArray
from surefoot.design.encode.mixed_design import MixedDesign
from surefoot.design.encode.schema import Level, Schema
from surefoot.design.encode.table_encoder import TableEncoder
from surefoot.design.write.output_frame import build_frame, frame_library
from surefoot.robust.estimator.column_ranges import far_ranges, widened
from surefoot.robust.estimator.linear_scores import linear_scores
from surefoot.robust.estimator.worst_case import WorstCase, describe_worst_case
from surefoot.robust.problem.ground_cost import GroundCost
from surefoot.robust.problem.numeric_columns import in_less_memory
from surefoot.robust.problem.problem import RobustCoefficients, RobustLogisticProblem
from surefoot.robust.problem.terms import Terms
from surefoot.robust.sqp.adversary import worst_case_distribution
from surefoot.sklearn_api.binary_classifier import LogisticClassifier
from surefoot.sklearn_api.finite_model import ADVICE, require_finite_model
from surefoot.sklearn_api.lazy_answers import lazy_on_dask
from surefoot.sklearn_api.parameter_checks import require_radius
from surefoot.sklearn_api.training_rows import (
    TrainingRows,
    require_columns_of_training,
    reread_training_rows,
    set_columns_of_training,
)


class FittedRobustModel(LogisticClassifier, BaseEstimator):
    """A robust logistic model as fitted; how it came about is the business of its subclasses."""

    fit_intercept: bool
    n_jobs: int | None
    missing_numeric: Any

    schema_: Schema
    ground_cost_: GroundCost
    radius_: float
    label_weight_: float
    coef_: FloatArray
    intercept_: FloatArray
    dual_price_: float

    @lazy_on_dask(lambda model: np.empty(0))
    def decision_function(self, X: Any) -> FloatArray:
        """Log odds of the second class.

        Parameters
        ----------
        X : data frame, 2-d array, scipy sparse matrix, dask DataFrame or dask array
            The columns of the training table, in the same order.

        Returns
        -------
        ndarray of shape (n_rows,)
            For a dask table a dask array, as from the methods below.
        """
        return self._scores(self._encode(X))

    predict = lazy_on_dask(lambda model: model.classes_[:0])(LogisticClassifier.predict)
    predict_proba = lazy_on_dask(lambda model: np.empty((0, 2)))(LogisticClassifier.predict_proba)
    predict_log_proba = lazy_on_dask(lambda model: np.empty((0, 2)))(LogisticClassifier.predict_log_proba)

    def coefficients(self) -> Any:
        """All coefficients by name.

        Returns
        -------
        data frame
            Columns ``feature``, ``level`` (None for numeric columns) and ``coefficient``, in the order of the training table.
            The first level of each category is the reference, with coefficient 0. The frame belongs to the library of the
            training table; after a fit on arrays it is a pandas frame, or a NumPy record array without pandas.
        """
        check_is_fitted(self)
        numeric, levels = self.schema_.split_coefficients(self.coef_[0])
        names = self.schema_.coefficient_names(include_reference=True)
        is_numeric = np.repeat(
            [column.kind == "numeric" for column in self.schema_.columns],
            [max(column.n_levels, 1) for column in self.schema_.columns],
        )
        values = np.empty(len(names))
        values[is_numeric], values[~is_numeric] = numeric, levels
        features: list[Level] = [feature for feature, _ in names]
        return build_frame({"feature": features, "level": [level for _, level in names], "coefficient": values}, self._library)

    def worst_case(self, X: Any, y: Any, sample_weight: Any = None, *, radius: float | None = None) -> WorstCase:
        """The shift of a table that would hurt this model most.

        Parameters
        ----------
        X : data frame, 2-d array, or scipy sparse matrix
        y : array-like of shape (n_rows,)
            Labels among ``classes_``.
        sample_weight : array-like of shape (n_rows,), optional
        radius : float, optional
            How much the table may shift; None means as much as in the fit. Numbers outside the range of their column widen it.

        Returns
        -------
        WorstCase
            ``table`` (row, mass, feature, from, to), ``expected_loss``, ``nominal_loss`` and ``summary()``; prints readably.
        """
        rows = reread_training_rows(self, X, y, sample_weight)
        design, labels, weights = rows.design, rows.labels, rows.weights
        budget = self.radius_ if radius is None else require_radius(radius)
        problem = self._problem(design, labels, weights, widened(self.ground_cost_, design.numeric), budget)
        coefficients = self._answer()
        return describe_worst_case(
            problem,
            coefficients,
            worst_case_distribution(problem, coefficients, n_threads=joblib.effective_n_jobs(self.n_jobs)),
            schema=self.schema_,
            classes=self.classes_,
            positions=rows.positions,
            nominal_loss=float(weights @ np.logaddexp(0.0, -labels * self._scores(design))),
            library=frame_library(X) or self._library,
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.input_tags.allow_nan = self.missing_numeric == "median"
        return tags

    def _encode(self, X: Any) -> MixedDesign:
        require_columns_of_training(self, X)
        return TableEncoder.from_schema(self.schema_).encode(X)

    def _scores(self, design: MixedDesign) -> FloatArray:
        numeric, levels = self.schema_.split_coefficients(self.coef_[0])
        scores = linear_scores(design.numeric, numeric, float(self.intercept_[0]))
        start = 0
        for at, count in enumerate(design.n_levels):
            scores += levels[start : start + count][design.codes[:, at]]
            start += count
        return scores

    def _answer(self) -> RobustCoefficients:
        """The model as its public numbers say."""
        numeric, levels = self.schema_.split_coefficients(self.coef_[0])
        return RobustCoefficients(float(self.intercept_[0]), numeric, levels, float(self.dual_price_))

    def _problem(
        self, design: MixedDesign, labels: FloatArray, weights: FloatArray, cost: GroundCost, radius: float
    ) -> RobustLogisticProblem:
        return RobustLogisticProblem(
            numeric=in_less_memory(design.numeric),
            codes=design.codes,
            n_levels=design.n_levels,
            labels=labels,
            weights=weights,
            cost=cost,
            radius=radius,
            fit_intercept=bool(self.fit_intercept),
        )

    def _unpack(self, X: Any, rows: TrainingRows, terms: Terms, model: RobustCoefficients) -> None:
        """Take over what predictions need. Nothing is set before a fit has succeeded, so a failed one leaves no trace."""
        schema = rows.design.schema
        far = far_ranges(terms.cost, schema, None)
        require_finite_model(
            f"{type(self).__name__}.fit", model.numeric, model.levels, model.intercept, model.price, advice=far or ADVICE
        )
        self._library = frame_library(X)
        self.schema_ = schema
        self.classes_ = rows.classes
        self.ground_cost_ = terms.cost
        self.radius_ = terms.radius
        self.label_weight_ = terms.cost.label_weight
        self.coef_ = schema.join_coefficients(model.numeric, model.levels)[None, :]
        self.intercept_ = np.array([model.intercept], dtype=np.float64)
        self.dual_price_ = float(model.price)
        set_columns_of_training(self, schema.names, named=schema.named)
