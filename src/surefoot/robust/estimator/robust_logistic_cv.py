"""Robust logistic regression whose radius, label weight and certainty scale are chosen by cross-validation."""

from __future__ import annotations

import math
import numbers
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from surefoot.core.arrays import FloatArray
from surefoot.core.outcome import Status
from surefoot.core.solve_options import SolveOptions
from surefoot.design.write.output_frame import frame_library
from surefoot.exceptions import ConvergenceLimitWarning
from surefoot.robust.estimator.environment_folds import EnvironmentFolds, environment_folds
from surefoot.robust.estimator.held_out_scores import HeldOutScores, make_path_scorer
from surefoot.robust.estimator.lone_intercept import MORE_RADII, WORSE_HELD_OUT
from surefoot.robust.estimator.radius_path import PathPoint, RadiusPath
from surefoot.robust.estimator.robust_logistic import RobustLogisticRegression
from surefoot.robust.estimator.robust_logistic_model import RobustLogisticModel, ShiftPrices, Solution, named_solver
from surefoot.robust.first_order.parameters import PublishedLpAdmm
from surefoot.robust.problem.numeric_norm import NumericNorm
from surefoot.robust.problem.problem import RobustLogisticProblem
from surefoot.robust.registry import RobustLogisticSolver, RobustOutcome
from surefoot.robust.sqp.warm_path import solve_path
from surefoot.sklearn_api.left_out_groups import MOST_LEFT_OUT_ALONE
from surefoot.sklearn_api.limit_warning import warn_of_limit
from surefoot.sklearn_api.parameter_checks import is_number, require_label_weight, require_radius
from surefoot.sklearn_api.path_choice import CRITERION_WORDS, require_select, warn_of_edge
from surefoot.sklearn_api.proven_model import ProofParts
from surefoot.sklearn_api.training_rows import TrainingRows, flat_labels

# Levels of robustness in the experiments of Sun et al. (2025); the radius is -log(theta).
PAPER_THETAS = (0.99, 0.96, 0.93, 0.9, 0.85, 0.8, 0.75, 0.65, 0.5)
# How far the grid reaches to either side of the automatic radius, and how many radii it has.
REACH, AROUND = 10.0, 9
# Ends of the grid if only its size is given: from nearly plain to at most a constant model in most tables.
SMALLEST_RADIUS, LARGEST_RADIUS = 1e-3, 1.0


class RobustLogisticRegressionCV(RobustLogisticModel):
    """Robust logistic regression with the radius that scores best on rows, sites or periods that were held out.

    For every radius r of a grid, every label weight, every certainty scale and every fold, ::

        min over beta of   max over distributions Q within r of the fold's training rows of   E_Q[ log(1 + exp(-y score)) ]

    is solved, from the largest radius and label weight to the smallest, each solve starting where that of a neighbour on the
    grid ended. The point that ``select`` takes by the scores on the validation rows is chosen, and the model for it, fitted to
    all rows, is certified. See :class:`RobustLogisticRegression` for the model itself.

    With ``groups`` in :meth:`fit` (the site, the period or the batch of each row) the folds are whole environments: each is
    left out in turn, as a new one will be, and scores are kept by environment.

    Levels of categories and medians that fill gaps are learned from all rows; coefficients and the default numeric weights from
    the training rows of each fold.

    Parameters
    ----------
    radii : array-like of floats, int, or None, default=None
        The grid. None: nine radii in equal ratios, from a tenth of the automatic one (:ref:`automatic-radius`) to ten times as
        much; with a shift model -log(theta) for the nine levels of robustness theta between 0.5 and 0.99 of the paper. A
        number: that many radii from 0.001 to 1 in equal ratios.
    label_weights : array-like of floats, optional
        Prices kappa of flipping a label, ``inf`` among them if labels may also be right; every one is tried with every radius.
        None: only ``label_weight``.
    certainty_scales : array-like of floats, optional
        How cautiously the certainties of ``shift`` are taken: each number multiplies the doubts 1 - certainty, so that 1 takes
        them as they are, 2 doubles the probability of a shift, and 0.5 halves it. Every one is tried with every radius. None:
        as they are.
    select : {"mean", "worst", "worst-quarter", "one-se"}, default="mean"
        What is to be best: the mean score over the folds or environments, the worst of them, or the mean over the worst
        quarter (rounded up). "one-se": the most robust point whose mean score is within one standard error of the best mean,
        where the error is that of the difference between the two, environment by environment.
    cv : int, splitter, or iterable of (train, test), default=5
        An int means stratified folds. With groups it means that every environment is left out in turn; only if there are more
        than 20, they are put into that many folds, as by scikit-learn's ``GroupKFold``. A splitter such as ``GroupKFold(3)``
        gets the groups too.
    scoring : str or callable, default="neg_log_loss"
        What to maximise on validation rows; also used by :meth:`score`. An environment of one class has a log loss, but for
        example no "roc_auc".
    shift : ShiftModel, optional
        A shift model, of whose calibration the weights are used, the label weight too if it has one and neither
        ``label_weights`` nor ``label_weight`` says otherwise; the radius comes from ``radii``.
    numeric_weights, categorical_weights, label_weight, norm, numeric_range, categorical_features, category_levels, \
    fit_intercept, solver, tol, max_iter
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
    certainty_scale_ : float
        The certainty scale chosen with them; of equally good ones the largest.
    path_ : RadiusPath
        For each radius, in rising order, each label weight and each certainty scale: scores, the model on all rows, its
        certificate. ``path_.table`` is a data frame; ``path_.environments`` names the groups, whose scores are the columns of
        ``path_.scores``, and ``path_.environment_table`` tells how each fares.
    coef_, intercept_, classes_, dual_price_, certificate_, outcome_, solver_, n_iter_, n_features_in_, feature_names_in_, \
    schema_, ground_cost_
        Of the model with the chosen radius and label weight on all rows, as for :class:`RobustLogisticRegression`.

    Warns
    -----
    ConvergenceLimitWarning
        Once, if a limit ended any of the solves.
    BelowChanceWarning
        With groups, if no value of a column occurs in more than one environment.
    DoubtfulColumnWarning
        As from :class:`RobustLogisticRegression`.
    GridEdgeWarning
        With groups, if the choice is at the edge of its grid.
    RoundedInterceptWarning
        As from :class:`RobustLogisticRegression`.
    WeakModelWarning
        Once, if the chosen model has the intercept alone though the columns say more than chance.

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
    certainty_scale_: float

    later_parameters: ClassVar[Mapping[str, Any]] = {
        **RobustLogisticModel.later_parameters,
        "certainty_scales": None,
        "select": "mean",
    }

    def __init__(
        self,
        *,
        radii: Any = None,
        label_weights: Any = None,
        certainty_scales: Any = None,
        select: str = "mean",
        cv: Any = 5,
        scoring: Any = "neg_log_loss",
        shift: Any = None,
        numeric_weights: Any = None,
        categorical_weights: Any = None,
        label_weight: float = math.inf,
        norm: NumericNorm = "l1",
        numeric_range: Any = None,
        categorical_features: Any = "from_dtype",
        category_levels: Any = None,
        fit_intercept: bool = True,
        solver: str | PublishedLpAdmm = "auto",
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
        self.certainty_scales = certainty_scales
        self.select = select
        self.cv = cv
        self.scoring = scoring
        self.shift = shift
        self.numeric_weights = numeric_weights
        self.categorical_weights = categorical_weights
        self.label_weight = label_weight
        self.norm = norm
        self.numeric_range = numeric_range
        self.categorical_features = categorical_features
        self.category_levels = category_levels
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

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None) -> Self:
        """Choose the radius, and what else has a grid, by cross-validation and fit the model with them to all rows.

        Parameters
        ----------
        X : data frame (pandas, polars, pyarrow), 2-d array, list of rows, or scipy sparse matrix (numeric)
        y : array-like of shape (n_rows,)
            Labels: any two values.
        sample_weight : array-like of shape (n_rows,), optional
            How often each row counts, in fitting and in scoring. Rows of weight 0 do not count at all.
        groups : array-like of shape (n_rows,), optional
            The environment of each row: its site, its period, its batch. Text, booleans or numbers; at least two different
            ones. In pipelines and searches they arrive by scikit-learn's metadata routing: ``set_fit_request(groups=True)``.

        Returns
        -------
        self
        """
        self._require_parameters()
        require_select(self.select)
        solver = named_solver(self.solver)
        y = flat_labels(y)
        prices = self._scaled_prices(X)
        # A scale changes prices, but not which columns have them.
        rows = self._read(X, y, sample_weight, next(iter(prices.values())))
        centre = None
        if self.radii is None and self.shift is None:
            centre = self._find_radius(rows, self._cost(rows, prices[1.0]), solver).radius
        grid = self._grid(prices, centre)
        folds = self._folds(rows, y, groups)
        held_out = HeldOutScores(self, self.scoring, X, rows, folds, len(grid), weighted=sample_weight is not None)
        unproven: list[str] = []
        for at in range(len(folds)):
            training = folds.training_rows(rows, at)
            title = f"fold {at + 1} of {len(folds)}"
            # A score does not tell coefficients apart that differ in their last digits.
            for k, problem, outcome in self._solve_path(solver, training, prices, grid, title, polish=False):
                model = RobustLogisticRegression(**self._model_parameters(grid[k]))
                model._unpack(X, training, problem.terms, outcome.primal)
                held_out.add(k, at, model)
                if outcome.status is not Status.OPTIMAL:
                    unproven.append(outcome.status.value)
        scores = held_out.values
        self._require_numbers(scores, grid, folds)

        solutions = {
            k: self._certify(problem, outcome, solver)
            for k, problem, outcome in self._solve_path(solver, rows, prices, grid, "all rows")
        }
        points = tuple(_path_point(rows, solutions[k], scores[k], grid[k].certainty_scale) for k in range(len(grid)))
        path = RadiusPath(points, frame_library(X), folds.environments, self.select)
        at = path.points.index(path.best)
        chosen = solutions[at]
        self._unpack(X, rows, chosen.terms, chosen.outcome.primal)
        self._unpack_proof(chosen)
        self.path_, self.certainty_scale_ = path, grid[at].certainty_scale
        unproven += [found.outcome.status.value for found in solutions.values() if not found.certificate.verified]
        if not chosen.certificate.verified:
            where = f"{type(self).__name__}.fit, at the chosen {self._named(grid[at])},"
            warn_of_limit(chosen, where, self._advice(rows))
        elif unproven:
            warnings.warn(
                f"{len(unproven)} of {len(grid) * (len(folds) + 1)} solves along the path stopped before their tolerance "
                f"({', '.join(sorted(set(unproven)))}), so their scores are those of approximate models. The model with the "
                f"chosen radius is proven optimal to tol = {self.tol:.1e}, and its bound holds.",
                ConvergenceLimitWarning,
                stacklevel=2,
            )
        more = any(point.coef.any() for point in points)
        if chosen.certificate.verified and not (more and groups is not None):  # that is told by the edge of the grid
            self._warn_of_lone_intercept(chosen, rows, WORSE_HELD_OUT if more else MORE_RADII)
        if groups is not None:
            self._warn_of_edges(path)
        return self

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Score by ``scoring``, as in the choice of the radius; larger is better."""
        check_is_fitted(self)
        weighting = {} if sample_weight is None else {"sample_weight": sample_weight}
        return float(make_path_scorer(self, self.scoring, self.classes_)(self, X, y, **weighting))

    @property
    def radius_reason_(self) -> str:
        """Where ``radius_`` comes from."""
        best = f"the best of {len({point.radius for point in self.path_.points})} by"
        environments = len(self.path_.environments)
        if not environments:
            return f"{best} cross-validation"
        alone = environments <= MOST_LEFT_OUT_ALONE and (self.cv is None or isinstance(self.cv, numbers.Integral))
        how = "leaving out each of" if alone else "cross-validation over"
        return f"{best} {how} {environments} environments, {CRITERION_WORDS[self.path_.select]}"

    def _scaled_prices(self, X: Any) -> dict[float, ShiftPrices]:
        """Prices by certainty scale."""
        if self.certainty_scales is None:
            return {1.0: self._prices(X)}
        scales = _certainty_scale_grid(self.certainty_scales)
        if not hasattr(self.shift, "scaled"):
            raise ValueError(
                f"certainty_scales is about the certainties of shift, but shift = {self.shift!r} has none. Pass a ShiftModel."
            )
        return {scale: self._prices(X, self.shift.scaled(scale)) for scale in scales}

    def _grid(self, prices: Mapping[float, ShiftPrices], centre: float | None) -> list[_GridPoint]:
        """All radii with all label weights and certainty scales, in the order of the path: by rising caution.

        ``centre`` is the automatic radius, around which the radii lie if no others are named.
        """
        listed = None if self.label_weights is None else _label_weight_grid(self.label_weights)
        grid = {
            _GridPoint(float(radius), float(weight), scale)
            for radius in _radius_grid(self.radii, centre)
            for scale, priced in prices.items()
            for weight in (listed or [self._label_weight(priced)])
        }
        return sorted(grid, key=lambda point: (point.radius, -point.label_weight, point.certainty_scale))

    def _folds(self, rows: TrainingRows, y: Any, groups: Any) -> EnvironmentFolds:
        return environment_folds(self.cv, rows, y, groups)

    def _require_numbers(self, scores: FloatArray, grid: list[_GridPoint], folds: EnvironmentFolds) -> None:
        if np.isnan(scores).any():
            k, owner = np.argwhere(np.isnan(scores))[0].tolist()
            advice = " Of rows of one class some scores are not defined; the log loss is." if folds.environments else ""
            raise ValueError(
                f"scoring = {self.scoring!r} gave NaN for {self._named(grid[k])} in {folds.called(owner)}.{advice}"
            )

    def _warn_of_edges(self, path: RadiusPath) -> None:
        who = f"{type(self).__name__}.fit"
        warn_of_edge("radius", path.radii.tolist(), self.radius_, "radii", who)
        if self.label_weights is not None:
            warn_of_edge("label weight", path.label_weights.tolist(), self.label_weight_, "label_weights", who)
        warn_of_edge("certainty scale", path.certainty_scales.tolist(), self.certainty_scale_, "certainty_scales", who)

    def _proof_parts(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> ProofParts:
        # Groups had a part in the choice and none in the proof, which is about the chosen model.
        return super()._proof_parts(X, y, sample_weight, None)

    def _points(self) -> list[tuple[float, float]]:
        if self.label_weights is not None:
            weights = _label_weight_grid(self.label_weights)
        else:
            # A finite price is the user's; without one the shift model's counts, which was calibrated on the rows of the fit.
            own = require_label_weight(self.label_weight)
            weights = [self.label_weight_ if own == math.inf and self.shift is not None else own]
        # Radii around the automatic one follow from the rows of the fit.
        automatic = self.radii is None and self.shift is None
        radii = np.unique(self.path_.radii) if automatic else _radius_grid(self.radii)
        return [(float(radius), weight) for radius in radii for weight in weights]

    def _named(self, point: _GridPoint) -> str:
        """How messages call a point; label weights and certainty scales are mentioned only to those who listed some."""
        flip = "" if self.label_weights is None else f", label weight {point.label_weight:g}"
        scale = "" if self.certainty_scales is None else f", certainty scale {point.certainty_scale:g}"
        return f"radius {point.radius:g}{flip}{scale}"

    def _model_parameters(self, point: _GridPoint) -> dict[str, Any]:
        own = self.get_params(deep=False)
        searched = ("radii", "label_weights", "certainty_scales", "select", "cv", "scoring")
        common = {name: own[name] for name in own if name not in searched}
        if self.certainty_scales is not None:
            common["shift"] = self.shift.scaled(point.certainty_scale)
        return {**common, "radius": point.radius, "label_weight": point.label_weight}

    def _solve_path(
        self,
        solver: RobustLogisticSolver,
        rows: TrainingRows,
        prices: Mapping[float, ShiftPrices],
        grid: list[_GridPoint],
        what: str,
        *,
        polish: bool = True,
    ) -> Iterator[tuple[int, RobustLogisticProblem, RobustOutcome]]:
        """Solve at every point of the grid, each from the solution of a neighbour."""
        costs = {scale: self._cost(rows, priced) for scale, priced in prices.items()}
        radii = sorted({point.radius for point in grid}, reverse=True)
        places = sorted({(point.certainty_scale, -point.label_weight) for point in grid})
        points = [[_GridPoint(radius, -weight, scale) for radius in radii] for scale, weight in places]
        # One cost object a line: a warm start is faster where only the radius has changed.
        priced = [replace(costs[scale], label_weight=-weight) for scale, weight in places]
        lines = [[self._problem(rows.design, rows.labels, rows.weights, cost, radius) for radius in radii] for cost in priced]
        names = {id(lines[line][at]): self._named(points[line][at]) for line in range(len(lines)) for at in range(len(radii))}

        def options(problem: RobustLogisticProblem) -> SolveOptions:
            title = f"{type(self).__name__}, {what}, {names[id(problem)]}"
            return replace(self._options(title), polish=polish)

        for line, at, outcome in solve_path(lines, solver, lambda: named_solver(self.solver), options):
            yield grid.index(points[line][at]), lines[line][at], outcome


class _GridPoint(NamedTuple):
    radius: float
    label_weight: float
    certainty_scale: float


def _label_weight_grid(weights: Any) -> list[float]:
    """Distinct label weights in falling order."""
    if not hasattr(weights, "__iter__") or isinstance(weights, (str, Mapping)):
        raise ValueError(f"label_weights = {weights!r} must be None or a list of prices; a single one is label_weight.")
    grid = {require_label_weight(weight, f"label_weights[{at}]") for at, weight in enumerate(weights)}
    if not grid:
        raise ValueError("label_weights is empty; list at least one price, inf for labels that are right.")
    return sorted(grid, reverse=True)


def _certainty_scale_grid(scales: Any) -> list[float]:
    """Distinct certainty scales in rising order."""
    if not hasattr(scales, "__iter__") or isinstance(scales, (str, Mapping)):
        raise ValueError(f"certainty_scales = {scales!r} must be None or a list of positive numbers.")
    grid = set()
    for at, scale in enumerate(scales):
        if not (is_number(scale) and 0 < scale < math.inf):
            raise ValueError(
                f"certainty_scales[{at}] = {scale!r} must be a positive number: what doubts, 1 - certainty, are multiplied by."
            )
        grid.add(float(scale))
    if not grid:
        raise ValueError("certainty_scales is empty; list at least one number, 1 for the certainties as they are.")
    return sorted(grid)


def _radius_grid(radii: Any, centre: float | None = None) -> FloatArray:
    """Distinct radii in rising order."""
    if radii is None and centre:
        return np.array([float(f"{radius:.2e}") for radius in np.geomspace(centre / REACH, centre * REACH, AROUND)])
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


def _path_point(rows: TrainingRows, solution: Solution, scores: FloatArray, certainty_scale: float) -> PathPoint:
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
        certainty_scale=certainty_scale,
    )
