"""What the robust logistic estimators share: the way from a table to a certified model, and everything a fitted model does.

    fit = encode (design), pose (problems), solve (solvers), certify (certificates), unpack (here)

The estimators differ in how they choose the radius, and in nothing else.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import joblib
import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from surefoot.core.arrays import FloatArray
from surefoot.core.certificate import Certificate
from surefoot.core.outcome import Progress
from surefoot.core.solve_options import SolveOptions
from surefoot.design.encode.labels import encode_labels
from surefoot.design.encode.mixed_design import MixedDesign
from surefoot.design.encode.schema import Level, Schema
from surefoot.design.encode.table_encoder import TableEncoder
from surefoot.design.write.output_frame import build_frame, frame_library
from surefoot.robust.certificate.certificate import certify_robust_logistic
from surefoot.robust.estimator.weights import ground_cost, shift_prices
from surefoot.robust.estimator.worst_case import WorstCase, describe_worst_case
from surefoot.robust.problem.ground_cost import GroundCost
from surefoot.robust.problem.numeric_norm import NumericNorm, require_norm
from surefoot.robust.problem.problem import RobustCoefficients, RobustLogisticProblem
from surefoot.robust.problem.terms import Terms
from surefoot.robust.registry import RobustLogisticSolver, RobustOutcome, make_solver
from surefoot.robust.sqp.adversary import worst_case_distribution
from surefoot.robust.streaming.streamed import PartitionedOutcome
from surefoot.sklearn_api.binary_classifier import LogisticClassifier
from surefoot.sklearn_api.lazy_answers import lazy_on_dask
from surefoot.sklearn_api.parameter_checks import is_number, require_label_weight, require_radius, require_time_limit
from surefoot.sklearn_api.progress import progress_listener
from surefoot.sklearn_api.sample_weight import row_weights
from surefoot.sklearn_api.training_rows import (
    TrainingRows,
    flat_labels,
    read_training_rows,
    require_columns_of_training,
    require_same_length,
    set_columns_of_training,
)


@dataclass(frozen=True)
class ShiftPrices:
    """What the user, or a shift model, said about prices; ``radius`` is None if nobody named one."""

    numeric: Any
    categorical: Any
    radius: float | None


@dataclass(frozen=True)
class Solution:
    """One solved and judged problem, and the name of the solver that solved it."""

    terms: Terms
    outcome: RobustOutcome | PartitionedOutcome
    certificate: Certificate
    solver: str


class RobustLogisticModel(LogisticClassifier, BaseEstimator):
    """Base of the robust logistic estimators; it has no constructor, its subclasses name the parameters."""

    shift: Any
    numeric_weights: Any
    categorical_weights: Any
    label_weight: float
    norm: NumericNorm
    categorical_features: Any
    fit_intercept: bool
    solver: str
    tol: float
    max_iter: int | None
    time_limit: float | None
    verbose: int
    n_jobs: int | None
    missing_numeric: Any
    missing_categorical: Any
    unseen_categories: Any

    schema_: Schema
    ground_cost_: GroundCost
    radius_: float
    label_weight_: float
    coef_: FloatArray
    intercept_: FloatArray
    dual_price_: float
    n_iter_: int
    certificate_: Certificate
    outcome_: RobustOutcome | PartitionedOutcome
    solver_: str

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
            How far the table may shift; None means as far as in the fit.

        Returns
        -------
        WorstCase
            ``table`` (row, mass, feature, from, to), ``expected_loss``, ``nominal_loss`` and ``summary()``; prints readably.
        """
        design = self._encode(X)
        labels = encode_labels(flat_labels(y), classes=self.classes_).signs
        require_same_length(design, labels)
        weights = row_weights(sample_weight, design.n_rows)
        reach = self.radius_ if radius is None else require_radius(radius)
        problem = self._problem(design, labels, weights, self.ground_cost_, reach)
        numeric, levels = self.schema_.split_coefficients(self.coef_[0])
        coefficients = RobustCoefficients(float(self.intercept_[0]), numeric, levels, self.dual_price_)
        return describe_worst_case(
            problem,
            coefficients,
            worst_case_distribution(problem, coefficients, n_threads=joblib.effective_n_jobs(self.n_jobs)),
            schema=self.schema_,
            classes=self.classes_,
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
        scores: FloatArray = design.numeric @ numeric + self.intercept_[0]
        start = 0
        for at, count in enumerate(design.n_levels):
            scores += levels[start : start + count][design.codes[:, at]]
            start += count
        return scores

    def _require_parameters(self) -> None:
        """Raise on parameters that no table could make sense of."""
        require_norm("norm", self.norm)
        require_label_weight(self.label_weight)
        if not (is_number(self.tol) and 0 < self.tol < math.inf):
            raise ValueError(f"tol = {self.tol!r} must be a positive number: the relative gap to reach.")
        if self.max_iter is not None and not (isinstance(self.max_iter, numbers.Integral) and self.max_iter >= 1):
            raise ValueError(f"max_iter = {self.max_iter!r} must be None or a whole number of at least 1.")
        require_time_limit(self.time_limit)
        if self.shift is not None and not hasattr(self.shift, "calibrate"):
            raise ValueError(f"shift = {self.shift!r} must be None or a shift model with a method calibrate(X).")

    def _read(self, X: Any, y: Any, sample_weight: Any) -> TrainingRows:
        return read_training_rows(self._encoder(), X, y, sample_weight)

    def _encoder(self) -> TableEncoder:
        return TableEncoder(
            categorical_features=self.categorical_features,
            missing_numeric=self.missing_numeric,
            missing_categorical=self.missing_categorical,
            unseen_categories=self.unseen_categories,
        )

    def _prices(self, X: Any) -> ShiftPrices:
        if self.shift is None:
            return ShiftPrices(self.numeric_weights, self.categorical_weights, None)
        ambiguity = self.shift.calibrate(X)
        return ShiftPrices(ambiguity.numeric_weights, ambiguity.categorical_weights, ambiguity.radius)

    def _cost(self, rows: TrainingRows, prices: ShiftPrices) -> GroundCost:
        numeric, categorical = prices.numeric, prices.categorical
        if self.shift is not None:
            numeric, categorical = shift_prices(rows.design, numeric, categorical)
        return ground_cost(
            rows.design,
            rows.weights,
            numeric=numeric,
            categorical=categorical,
            label=float(self.label_weight),
            norm=self.norm,
        )

    def _problem(
        self, design: MixedDesign, labels: FloatArray, weights: FloatArray, cost: GroundCost, radius: float
    ) -> RobustLogisticProblem:
        return RobustLogisticProblem(
            numeric=design.numeric,
            codes=design.codes,
            n_levels=design.n_levels,
            labels=labels,
            weights=weights,
            cost=cost,
            radius=radius,
            fit_intercept=bool(self.fit_intercept),
        )

    def _solve(
        self,
        solver: RobustLogisticSolver,
        problem: RobustLogisticProblem,
        title: str,
        warm_start: RobustCoefficients | None = None,
        *,
        polish: bool = True,
    ) -> RobustOutcome:
        return solver.solve(problem, replace(self._options(title), polish=polish), warm_start=warm_start)

    def _options(self, title: str) -> SolveOptions:
        listener: Callable[[Progress], None] | None = progress_listener(title) if self.verbose else None
        return SolveOptions(
            tolerance=float(self.tol),
            max_iter=None if self.max_iter is None else int(self.max_iter),
            time_limit=None if self.time_limit is None else float(self.time_limit),
            n_threads=joblib.effective_n_jobs(self.n_jobs),
            on_progress=listener,
        )

    def _certify(self, problem: RobustLogisticProblem, outcome: RobustOutcome, solver: RobustLogisticSolver) -> Solution:
        # The bounds rest on NumPy's matrix products, whose threads know nothing of n_jobs and fight over shared machines.
        with threadpool_limits(limits=joblib.effective_n_jobs(self.n_jobs), user_api="blas"):
            certificate = certify_robust_logistic(problem, outcome.primal, outcome.dual, float(self.tol))
        return Solution(problem.terms, outcome, certificate, solver.name)

    def _unpack(self, X: Any, rows: TrainingRows, terms: Terms, model: RobustCoefficients) -> None:
        """Take over what predictions need. Nothing is set before a fit has succeeded, so a failed one leaves no trace."""
        schema = rows.design.schema
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

    def _unpack_proof(self, solution: Solution) -> None:
        self.outcome_ = solution.outcome
        self.certificate_ = solution.certificate
        self.n_iter_ = int(solution.outcome.iterations)
        self.solver_ = solution.solver


def named_solver(name: Any) -> RobustLogisticSolver:
    """The solver of that name."""
    if not isinstance(name, str):
        raise ValueError(f"solver = {name!r} must be the name of a solver, such as 'auto'.")
    return make_solver(name)
