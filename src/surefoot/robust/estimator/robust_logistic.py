"""Logistic regression that holds up when tomorrow's table differs from today's."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from typing import Any, Self

from surefoot.design.read.dask_table import is_dask
from surefoot.robust.estimator.automatic_radius import AUTO, given_radius, is_auto
from surefoot.robust.estimator.lone_intercept import LOWER_RADIUS, SURER_SHIFT
from surefoot.robust.estimator.outside_memory.batch_fit import batched_proof, fit_batches, open_batches, table_proof
from surefoot.robust.estimator.outside_memory.dask_fit import dask_proof, fit_dask
from surefoot.robust.estimator.robust_logistic_model import RobustLogisticModel, named_solver
from surefoot.robust.first_order.parameters import PublishedLpAdmm
from surefoot.robust.problem.numeric_norm import NumericNorm
from surefoot.robust.sqp.warm_path import WARM_STARTED
from surefoot.sklearn_api.limit_warning import warn_of_limit
from surefoot.sklearn_api.parameter_checks import require_label_weight, require_radius
from surefoot.sklearn_api.proven_model import ProofParts
from surefoot.sklearn_api.training_rows import refuse_groups


class RobustLogisticRegression(RobustLogisticModel):
    """Logistic regression with the least worst-case loss over all tables near the training table.

    The model is the solution of ::

        min over beta of   max over distributions Q within radius of the training data of   E_Q[ log(1 + exp(-y score)) ]

    where the distance between distributions is the cost of moving one into the other, and moving one row costs ::

        || (gamma_j (x_j - x'_j))_j ||  +  sum_l delta_l 1[z_l != z'_l]  +  kappa 1[y != y'].

    The problem is solved to optimality, and the proof is attached to the fitted model; see ``certificate_``.

    Parameters
    ----------
    radius : float or "auto", default="auto"
        Mean cost that the adversary may spend per row. 0 is plain logistic regression. "auto" follows from the sampling error
        of the table, and nothing else: the largest radius whose premium, radius times ``dual_price_``, is at most what a fit
        gains by chance, (number of coefficients) / (2 x number of rows), and that is not above the length by which chance alone
        moves the gradient; of few rows, or where that is more than the loss, some are held out in turn, and may call for a
        multiple of it. See :ref:`automatic-radius`. ``radius_reason_`` says what it was and why.
    shift : ShiftModel, optional
        A shift model, or anything whose ``calibrate(X)`` returns ``numeric_weights`` and ``categorical_weights``
        (mappings by column name) and ``radius``. It says it all: ``radius`` and weights beside it are an error, its radius is
        not enlarged by the sampling error, and under "from_dtype" columns are of the kind that it takes them for.
    numeric_weights : float, array-like or mapping, optional
        gamma: price of moving a numeric column by one unit; one number for all, one per numeric column in table order, or a
        mapping from columns to numbers. ``inf``: the column never shifts. None, and columns that a mapping leaves out:
        1 / standard deviation, which makes the model independent of units. 1.0 means raw units.
    categorical_weights : float, array-like or mapping, optional
        delta: price of changing a categorical column, given in the same ways. None, and columns left out: 1.
    label_weight : float, default=inf
        kappa: price of flipping a label; ``inf`` means that labels are right, or, with a ``shift`` that is unsure of labels, as
        sure as that says.
    norm : {"l1", "l2", "linf"}, default="l1"
        How the prices of numeric columns combine if a row moves in several of them: "l1" adds them, so that the penalty is
        the largest ``|beta_j| / gamma_j``; "linf" takes the largest, so that the penalty is the sum of all, as in the lasso;
        "l2" lies between.
    numeric_range : None, "observed", "observed +- 10 %", or mapping, optional
        Where numeric columns move to. None: without end. "observed": from the smallest to the largest number of the training
        rows, perhaps widened at either end by a share of the way between them. A mapping gives each column its own: two finite
        ends such as (18, 100), or one of these texts; columns left out have no range. A range without width is a column that
        never shifts. Needs the norm "l1". Worst cases then end at the ends of ranges, and nothing limits a coefficient but what
        moves within them can do.
    categorical_features : "from_dtype", None, or list, default="from_dtype"
        Which columns are categories: those whose type says so (text, boolean, categorical), none, or a list of names, positions
        or booleans. With "from_dtype" a column of 0 and 1 is a category too if ``categorical_weights`` names it or ``shift``
        flips it, and a boolean one a number if ``numeric_weights`` or a numeric certainty names it (tables in memory, not
        sparse).
    category_levels : None, "declared", or mapping, optional
        Which levels categorical columns may take. None: those of the training rows. "declared": also those that the type of a
        column declares and no row holds (a pandas Categorical, a polars Enum). A mapping gives columns "declared" or a list of
        all their levels, such as ``{"colour": ["red", "green", "blue"]}``; a row that holds another one is an error. Worst
        cases may go to all of them, at the price of the column. One that no row holds has the mean coefficient of the rows: no
        model with a smaller worst case tells it from them, and it is not an error in new tables.
    fit_intercept : bool, default=True
    solver : {"auto", "sqp", "wide", "graph", "cutting-plane", "lp-admm", "conic"} or PublishedLpAdmm, default="auto"
        "auto" is "sqp", sequential quadratic steps, or "wide", which forms no Hessian, for numeric tables with more columns
        than a dense one allows. "graph", "cutting-plane" and "lp-admm" are published methods, "conic" is the monolithic model
        for small tables; all find the same optimum. :class:`~surefoot.PublishedLpAdmm` is LP-ADMM to the letter, with its
        settings; where it ends depends on them, and the certificate says how far from the optimum.
    tol : float, default=1e-6
        Relative gap between the model's objective and a proven lower bound at which to stop.
    max_iter : int, optional
        Most iterations; None leaves the choice to the solver.
    time_limit : float, optional
        Most seconds to spend in the solver; the best model found by then stays, with a bound that holds. Reading the table and
        its certificate are extra: about 0.2 s for every million numbers, and a plan that proves too little is not polished
        beyond the limit by more than a step and 0.05 s. Of "conic", "graph" and "cutting-plane" one iteration of an interior
        point cannot be interrupted, and what it found is repaired after it; "conic" and "graph" refuse limits that their first
        iteration would outlast.
    verbose : int, default=0
        Above 0: one line per iteration on standard error.
    n_jobs : int, optional
        Threads for sums over rows. None means 1 unless joblib's ``parallel_config`` says otherwise, -1 all cores.
    missing_numeric : {"error", "median"}, default="error"
        Gaps in numeric columns: an error, or filled with the median of the training rows.
    missing_categorical : {"error", "level"}, default="error"
        Gaps in categorical columns: an error, or a level of their own.
    unseen_categories : {"error", "reference"}, default="error"
        Levels that no training row had: an error, or counted as the reference level.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_coefficients)
        Numeric columns and the levels of categories other than the reference (their first in sorted order), in table order;
        :meth:`coefficients` names them.
    intercept_ : ndarray of shape (1,)
    classes_ : ndarray of shape (2,)
        The second one is the positive class.
    dual_price_ : float
        lambda: how much the worst-case loss grows per unit of radius.
    certificate_ : Certificate
        Objective of the model, a lower bound for all models, and whether they agree to ``tol``; recomputed from the raw data by
        code that knows no solver.
    outcome_ : SolveOutcome
        How the solve went: status, bounds, history.
    solver_ : str
        Name of the solver that was used, which ``solver="auto"`` leaves open.
    n_iter_ : int
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Only if the table had names.
    schema_ : Schema
        Columns, levels and policies, as learned from the training table.
    ground_cost_ : GroundCost
        The prices used.
    radius_ : float
        The radius used.
    radius_reason_ : str
        Where it comes from, as a sentence.
    sampling_error_ : SamplingError or None
        Rows, coefficients and bounds behind ``radius="auto"``; None if the radius was given.
    part_rows_ : tuple of int or None
        Rows that count in each batch or partition of the fit, which a proof remembers; None after a fit in memory.
    label_weight_ : float
        The price of a label flip used.
    public_rounding_ : float
        What plain sums of ``x @ coef_ + intercept_``, as in SQL, lose of a score: the last digit of the intercept.

    Raises
    ------
    InvalidTableError
        If the table, labels or sample weights cannot be used, or a row holds a number outside its range; the message names
        column, row and value.
    SeparableDataError
        If ``radius`` is 0 and the classes can be separated, so that no finite model is best.

    Warns
    -----
    ConvergenceLimitWarning
        If a limit ended the solve; the best model found is returned, with a bound that still holds.
    DoubtfulColumnWarning
        If columns are most likely identifiers, dates, or numbers that are text; it names them and what to do.
    RoundedInterceptWarning
        If columns are so far from 0 that plain sums of ``x @ coef_ + intercept_`` are not as good as what was proven: see
        ``public_rounding_``. ``predict`` and its kin add up the columns of a dense table without that loss.
    WeakModelWarning
        If the radius leaves only the intercept though the columns say more than chance; it names the largest that leaves more.

    Notes
    -----
    The model is that of Sun, Justin, Gomez and Vayanos, "Mixed-feature Logistic Regression Robust to Distribution Shifts"
    (AISTATS 2025).

    Examples
    --------
    >>> import surefoot as sf
    >>> X = [[1.0, "web"], [2.0, "shop"], [3.0, "web"], [4.0, "shop"], [5.0, "shop"], [6.0, "web"]]
    >>> y = ["no", "no", "yes", "no", "yes", "yes"]
    >>> model = sf.RobustLogisticRegression(radius=0.05).fit(X, y)
    >>> model.certificate_.verified
    True
    >>> print(model.predict([[5.5, "web"]])[0])
    yes
    """

    def __init__(
        self,
        *,
        radius: float | str = AUTO,
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
        self.radius = radius
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

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the model and certify it.

        Parameters
        ----------
        X : data frame (pandas, polars, pyarrow), 2-d array, list of rows, or scipy sparse matrix (numeric)
            A sparse matrix or array of any format is never made dense by ``fit``.
            Or rows that do not fit into memory: batches, that is, something that can be iterated over many times and yields
            tuples (X, y) or (X, y, sample_weight) of tables, labels and weights; or the path of a Parquet file, of a
            directory of such files, or a list of paths.
            Or rows on several machines: a dask DataFrame or a dask array, whose partitions stay where they are.
        y : array-like of shape (n_rows,)
            Labels: any two values. None for batches, the name of the target column for Parquet files. For Dask a Series or an
            array with the partitions of X, or the name of a column of X.
        sample_weight : array-like of shape (n_rows,), optional
            How often each row counts. Rows of weight 0 do not count at all. For Parquet files the name of a column; for Dask in
            the ways of y.

        Returns
        -------
        self
        """
        self._require_parameters()
        solver = named_solver(self.solver)
        radius = given_radius(self.radius)
        if is_dask(X):
            fit_dask(self, X, y, sample_weight, solver, radius)
            return self
        batches = open_batches(X, y, sample_weight)
        if batches is not None:
            fit_batches(self, batches, solver, radius)
            return self
        prices = self._prices(X)
        rows = self._read(X, y, sample_weight, prices)
        cost = self._cost(rows, prices)
        found, started = None, time.perf_counter()
        if prices.radius is not None:
            radius = require_radius(prices.radius, "radius from shift")
        elif radius is None:
            found = self._find_radius(rows, cost, solver)
            radius = found.radius
        problem = self._problem(rows.design, rows.labels, rows.weights, cost, radius)
        title = f"{type(self).__name__}, radius {radius:g}"
        nearest = found.nearest if found is not None and solver.name in WARM_STARTED else None
        outcome = self._solve(solver, problem, title, nearest, started=started)
        solution = self._certify(problem, outcome, solver)
        self._unpack(X, rows, problem.terms, solution.outcome.primal)
        self.sampling_error_ = None if found is None else found.error
        self.part_rows_ = None
        self._unpack_proof(solution)
        if not solution.certificate.verified:
            warn_of_limit(solution, f"{type(self).__name__}.fit", self._advice(rows))
        elif found is None:  # an automatic radius that leaves nothing says that there is no more than chance
            self._warn_of_lone_intercept(solution, rows, LOWER_RADIUS if self.shift is None else SURER_SHIFT)
        return self

    def _settings_beside_shift(self) -> list[str]:
        radius = [] if is_auto(self.radius) else [f"radius = {self.radius!r:.80}"]
        return [*radius, *super()._settings_beside_shift()]

    @property
    def radius_reason_(self) -> str:
        """Where ``radius_`` comes from."""
        if self.shift is not None:
            return "that of the shift model"
        error = self.sampling_error_
        return "as given" if error is None else error.reason(self.radius_, self.dual_price_)

    def _points(self) -> list[tuple[float, float]]:
        weight = require_label_weight(self.label_weight)
        if self.shift is None:
            # An automatic radius follows from the rows of the fit.
            return [(self.radius_ if is_auto(self.radius) else require_radius(self.radius), weight)]
        # Calibrated on the rows of the fit, but for a finite price of labels, which is the parameter.
        return [(self.radius_, weight if weight < math.inf else self.label_weight_)]

    def _proof_parts(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> ProofParts:
        refuse_groups(groups)
        outcome: Any = replace(self.outcome_, primal=self._answer())
        self._require_proven_settings()
        if is_dask(X):
            return dask_proof(self, X, y, sample_weight, outcome)
        batches = open_batches(X, y, sample_weight)
        if batches is not None:
            return batched_proof(self, batches, outcome)
        if self.part_rows_ is not None:
            return table_proof(self, X, y, sample_weight, outcome)
        return super()._proof_parts(X, y, sample_weight, groups)
