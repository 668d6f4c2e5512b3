"""Robust logistic regression whose radius, and label weight if requested, are chosen by cross-validation."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import check_scoring, log_loss, make_scorer
from sklearn.model_selection import check_cv
from sklearn.utils import _safe_indexing, indexable
from sklearn.utils.validation import check_is_fitted

from surefoot.core.arrays import AnyArray, FloatArray
from surefoot.core.outcome import Status
from surefoot.core.solve_options import SolveOptions
from surefoot.design.encode.labels import encode_labels
from surefoot.design.write.output_frame import frame_library
from surefoot.exceptions import ConvergenceLimitWarning, InvalidTableError
from surefoot.robust.estimator.radius_path import PathPoint, RadiusPath
from surefoot.robust.estimator.robust_logistic import RobustLogisticRegression
from surefoot.robust.estimator.robust_logistic_model import RobustLogisticModel, ShiftPrices, Solution, named_solver
from surefoot.robust.problem.numeric_norm import NumericNorm
from surefoot.robust.problem.problem import RobustLogisticProblem
from surefoot.robust.problem.terms import Terms
from surefoot.robust.registry import RobustLogisticSolver, RobustOutcome
from surefoot.robust.sqp.warm_path import solve_path
from surefoot.sklearn_api.limit_warning import warn_of_limit
from surefoot.sklearn_api.parameter_checks import require_label_weight, require_radius
from surefoot.sklearn_api.training_rows import TrainingRows, flat_labels

# Levels of robustness in the experiments of Sun et al. (2025); the radius is -log(theta).
PAPER_THETAS = (0.99, 0.96, 0.93, 0.9, 0.85, 0.8, 0.75, 0.65, 0.5)
# Ends of the grid if only its size is given: from nearly plain to at most a constant model in most tables.
SMALLEST_RADIUS, LARGEST_RADIUS = 1e-3, 1.0


class RobustLogisticRegressionCV(RobustLogisticModel):
    """Robust logistic regression with the radius, and the label weight if requested, that score best on validation rows.

    For every radius r of a grid, every label weight and every fold, ::

        min over beta of   max over distributions Q within r of the fold's training rows of   E_Q[ log(1 + exp(-y score)) ]

    is solved, from the largest radius and label weight to the smallest, each solve starting where that of a neighbour on the
    grid ended. The point with the best mean score on the validation rows is chosen, and the model for it, fitted to all rows,
    is certified. See :class:`RobustLogisticRegression` for the model itself.

    Levels of categories and medians that fill gaps are learned from all rows; coefficients and the default numeric weights from
    the training rows of each fold.

    Parameters
    ----------
    radii : array-like of floats, int, or None, default=None
        The grid. None: -log(theta) for the nine levels of robustness theta between 0.5 and 0.99 of the paper. A number: that
        many radii from 0.001 to 1 in equal ratios.
    label_weights : array-like of floats, optional
        Prices kappa of flipping a label, ``inf`` among them if labels may also be right; every one is tried with every radius.
        None: only ``label_weight``.
    cv : int, splitter, or iterable of (train, test), default=5
        An int means stratified folds.
    scoring : str or callable, default="neg_log_loss"
        What to maximise on validation rows; also used by :meth:`score`.
    shift : ShiftModel, optional
        A shift model, of whose calibration the weights are used; the radius comes from ``radii``.
    numeric_weights, categorical_weights, label_weight, norm, numeric_range, categorical_features, fit_intercept, solver, tol, \
    max_iter
        As for :class:`RobustLogisticRegression`. Ranges that are observed are those of the training rows of each fold.
    time_limit : float, optional
        Most seconds for each single solve.
    verbose, n_jobs, missing_numeric, missing_categorical, unseen_categories
        As for :class:`RobustLogisticRegression`.

    Attributes
    ----------
    radius_ : float
        The radius chosen; of equally good ones the largest.
    label_weight_ : float
        The label weight chosen with it; of equally good ones the smallest.
    path_ : RadiusPath
        For each radius, in rising order, and each label weight: scores, the model on all rows, its certificate. ``path_.table``
        is a data frame.
    coef_, intercept_, classes_, dual_price_, certificate_, outcome_, solver_, n_iter_, n_features_in_, feature_names_in_, \
    schema_, ground_cost_
        Of the model with the chosen radius and label weight on all rows, as for :class:`RobustLogisticRegression`.

    Warns
    -----
    ConvergenceLimitWarning
        Once, if a limit ended any of the solves.
    RoundedInterceptWarning
        As from :class:`RobustLogisticRegression`.

    Examples
    --------
    >>> import numpy as np
    >>> import surefoot as sf
    >>> x = np.arange(40.0)[:, None]
    >>> y = (np.arange(40) % 7 + np.arange(40)) > 22
    >>> model = sf.RobustLogisticRegressionCV(radii=[0.01, 0.1], cv=4).fit(x, y)
    >>> len(model.path_), model.radius_ in (0.01, 0.1), model.certificate_.verified
    (2, True, True)
    """

    path_: RadiusPath

    def __init__(
        self,
        *,
        radii: Any = None,
        label_weights: Any = None,
        cv: Any = 5,
        scoring: Any = "neg_log_loss",
        shift: Any = None,
        numeric_weights: Any = None,
        categorical_weights: Any = None,
        label_weight: float = math.inf,
        norm: NumericNorm = "l1",
        numeric_range: Any = None,
        categorical_features: Any = "from_dtype",
        fit_intercept: bool = True,
        solver: str = "auto",
        tol: float = 1e-6,
        max_iter: int | None = None,
        time_limit: float | None = None,
        verbose: int = 0,
        n_jobs: int | None = None,
        missing_numeric: str = "error",
        missing_categorical: str = "error",
        unseen_categories: str = "error",
    ) -> None:
        self.radii = radii
        self.label_weights = label_weights
        self.cv = cv
        self.scoring = scoring
        self.shift = shift
        self.numeric_weights = numeric_weights
        self.categorical_weights = categorical_weights
        self.label_weight = label_weight
        self.norm = norm
        self.numeric_range = numeric_range
        self.categorical_features = categorical_features
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.verbose = verbose
        self.n_jobs = n_jobs
        self.missing_numeric = missing_numeric
        self.missing_categorical = missing_categorical
        self.unseen_categories = unseen_categories

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Choose the radius, and the label weight if requested, by cross-validation and fit the model with them to all rows.

        Parameters
        ----------
        X : data frame (pandas, polars, pyarrow), 2-d array, list of rows, or scipy sparse matrix (numeric)
        y : array-like of shape (n_rows,)
            Labels: any two values.
        sample_weight : array-like of shape (n_rows,), optional
            How often each row counts, in fitting and in scoring. Rows of weight 0 do not count at all.

        Returns
        -------
        self
        """
        self._require_parameters()
        solver = named_solver(self.solver)
        grid = self._grid()
        y = flat_labels(y)
        rows = self._read(X, y, sample_weight)
        prices = self._prices(X)
        scorer = self._scorer(rows.classes)
        (table,) = indexable(X)
        folds = self._folds(rows, y)
        scores = np.empty((len(grid), len(folds)))
        unproven: list[str] = []
        for at, (train, test) in enumerate(folds):
            training = rows.take(train)
            validation = _safe_indexing(table, rows.positions[test])
            labels = rows.classes[(rows.labels[test] > 0).astype(np.intp)]
            weighting = {} if sample_weight is None else {"sample_weight": rows.weights[test]}
            title = f"fold {at + 1} of {len(folds)}"
            # A score does not tell coefficients apart that differ in their last digits.
            for k, problem, outcome in self._solve_path(solver, training, prices, grid, title, polish=False):
                model = RobustLogisticRegression(**self._model_parameters(grid[k]))
                model._unpack(X, training, problem.terms, outcome.primal)
                scores[k, at] = scorer(model, validation, labels, **weighting)
                if outcome.status is not Status.OPTIMAL:
                    unproven.append(outcome.status.value)
        if np.isnan(scores).any():
            k, at = np.argwhere(np.isnan(scores))[0]
            raise ValueError(f"scoring = {self.scoring!r} gave NaN for {self._named(grid[k])} in fold {at + 1}.")

        solutions = {
            k: self._certify(problem, outcome, solver)
            for k, problem, outcome in self._solve_path(solver, rows, prices, grid, "all rows")
        }
        path = RadiusPath(tuple(_path_point(rows, solutions[k], scores[k]) for k in range(len(grid))), library=frame_library(X))
        chosen = solutions[path.points.index(path.best)]
        self._unpack(X, rows, chosen.terms, chosen.outcome.primal)
        self._unpack_proof(chosen)
        self.path_ = path
        unproven += [found.outcome.status.value for found in solutions.values() if not found.certificate.verified]
        if not chosen.certificate.verified:
            where = f"{type(self).__name__}.fit, at the chosen {self._named(_GridPoint.of(chosen.terms))},"
            warn_of_limit(chosen, where, self._advice(rows))
        elif unproven:
            warnings.warn(
                f"{len(unproven)} of {len(grid) * (len(folds) + 1)} solves along the path stopped before their tolerance "
                f"({', '.join(sorted(set(unproven)))}), so their scores are those of approximate models. The model with the "
                f"chosen radius is proven optimal to tol = {self.tol:.1e}, and its bound holds.",
                ConvergenceLimitWarning,
                stacklevel=2,
            )
        return self

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Score by ``scoring``, as in the choice of the radius; larger is better."""
        check_is_fitted(self)
        weighting = {} if sample_weight is None else {"sample_weight": sample_weight}
        return float(self._scorer(self.classes_)(self, X, y, **weighting))

    def _scorer(self, classes: AnyArray) -> Callable[..., float]:
        if isinstance(self.scoring, str) and self.scoring == "neg_log_loss":
            # The ready-made scorer cannot tell the second class where a fold holds out rows of one class only.
            scorer = make_scorer(log_loss, greater_is_better=False, response_method="predict_proba", labels=classes)
        else:
            scorer = check_scoring(self, scoring=self.scoring)
        found: Callable[..., float] = scorer
        return found

    def _grid(self) -> list[_GridPoint]:
        """All radii with all label weights, in the order of the path: by rising caution."""
        weights = [self.label_weight] if self.label_weights is None else _label_weight_grid(self.label_weights)
        return [_GridPoint(float(radius), float(weight)) for radius in _radius_grid(self.radii) for weight in weights]

    def _points(self) -> list[tuple[float, float]]:
        return [(point.radius, point.label_weight) for point in self._grid()]

    def _named(self, point: _GridPoint) -> str:
        """How messages call a point; label weights are mentioned only to those who listed some."""
        flip = "" if self.label_weights is None else f", label weight {point.label_weight:g}"
        return f"radius {point.radius:g}{flip}"

    def _model_parameters(self, point: _GridPoint) -> dict[str, Any]:
        own = self.get_params(deep=False)
        common = {name: own[name] for name in own if name not in ("radii", "label_weights", "cv", "scoring")}
        return {**common, "radius": point.radius, "label_weight": point.label_weight}

    def _folds(self, rows: TrainingRows, y: Any) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
        """Train and test rows of each fold, as places among the training rows; rows of weight 0 are in neither."""
        signs = encode_labels(y).signs
        place = np.full(signs.size, -1, dtype=np.intp)
        place[rows.positions] = np.arange(rows.positions.size)
        folds: list[tuple[NDArray[np.intp], NDArray[np.intp]]] = []
        for train, test in check_cv(self.cv, signs, classifier=True).split(np.zeros((signs.size, 1)), signs):
            weighted = [places[places >= 0] for places in (place[train], place[test])]
            for part, what in zip(weighted, ("training", "held-out"), strict=True):
                if part.size == 0:
                    raise InvalidTableError(f"Fold {len(folds) + 1} has no {what} row of positive sample_weight; change cv.")
            folds.append((weighted[0], weighted[1]))
        return folds

    def _solve_path(
        self,
        solver: RobustLogisticSolver,
        rows: TrainingRows,
        prices: ShiftPrices,
        grid: list[_GridPoint],
        what: str,
        *,
        polish: bool = True,
    ) -> Iterator[tuple[int, RobustLogisticProblem, RobustOutcome]]:
        """Solve at every point of the grid, each from the solution of a neighbour."""
        cost = self._cost(rows, prices)
        radii = sorted({point.radius for point in grid}, reverse=True)
        weights = sorted({point.label_weight for point in grid}, reverse=True)
        # One cost object a line: a warm start is faster where only the radius has changed.
        costs = [replace(cost, label_weight=weight) for weight in weights]
        lines = [
            [self._problem(rows.design, rows.labels, rows.weights, priced, radius) for radius in radii] for priced in costs
        ]

        def options(problem: RobustLogisticProblem) -> SolveOptions:
            title = f"{type(self).__name__}, {what}, {self._named(_GridPoint.of(problem.terms))}"
            return replace(self._options(title), polish=polish)

        for line, place, outcome in solve_path(lines, solver, lambda: named_solver(self.solver), options):
            problem = lines[line][place]
            yield grid.index(_GridPoint.of(problem.terms)), problem, outcome


class _GridPoint(NamedTuple):
    radius: float
    label_weight: float

    @classmethod
    def of(cls, terms: Terms) -> _GridPoint:
        return cls(terms.radius, terms.cost.label_weight)


def _label_weight_grid(weights: Any) -> list[float]:
    """Distinct label weights in falling order."""
    if not hasattr(weights, "__iter__") or isinstance(weights, (str, Mapping)):
        raise ValueError(f"label_weights = {weights!r} must be None or a list of prices; a single one is label_weight.")
    grid = {require_label_weight(weight, f"label_weights[{at}]") for at, weight in enumerate(weights)}
    if not grid:
        raise ValueError("label_weights is empty; list at least one price, inf for labels that are right.")
    return sorted(grid, reverse=True)


def _radius_grid(radii: Any) -> FloatArray:
    """Distinct radii in rising order."""
    if radii is None:
        return np.array([-math.log(theta) for theta in PAPER_THETAS])
    if isinstance(radii, (int, np.integer)) and not isinstance(radii, bool):
        if radii < 1:
            raise ValueError(f"radii = {radii!r} must be at least 1 if it is the number of radii.")
        return np.asarray(np.geomspace(SMALLEST_RADIUS, LARGEST_RADIUS, int(radii)), dtype=np.float64)
    if not hasattr(radii, "__iter__") or isinstance(radii, str):
        raise ValueError(f"radii = {radii!r} must be None, the number of radii, or a list of radii.")
    grid = [require_radius(radius, f"radii[{at}]") for at, radius in enumerate(radii)]
    if not grid:
        raise ValueError("radii is empty; list at least one radius.")
    return np.array(sorted(set(grid)))


def _path_point(rows: TrainingRows, solution: Solution, scores: FloatArray) -> PathPoint:
    model = solution.outcome.primal
    return PathPoint(
        radius=solution.terms.radius,
        label_weight=solution.terms.cost.label_weight,
        scores=scores.copy(),
        coef=rows.design.schema.join_coefficients(model.numeric, model.levels),
        intercept=float(model.intercept),
        price=float(model.price),
        # The witness has an entry per row; one per point would outweigh everything else.
        certificate=replace(solution.certificate, witness=None),
    )
