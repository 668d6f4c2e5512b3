"""The way from a table to a certified robust model, which all robust logistic estimators go.

    fit = encode (design), pose (problem), solve (solver folders), certify (certificate), unpack (here)

The estimators differ in how they choose the radius, and in nothing else.
"""

from __future__ import annotations

import math
import numbers
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import joblib
import numpy as np
import scipy.sparse
from scipy.special import expit
from threadpoolctl import threadpool_limits

from surefoot.core.arrays import FloatArray
from surefoot.core.certificate import Certificate
from surefoot.core.outcome import Progress
from surefoot.core.solve_options import SolveOptions
from surefoot.design.encode.category_levels import require_category_levels
from surefoot.design.encode.deciding_columns import warn_of_deciding_columns
from surefoot.design.encode.doubtful_columns import categories_are_listed, named_columns, warn_of_doubtful_design
from surefoot.design.encode.numeric_range import require_numeric_range
from surefoot.design.encode.table_encoder import TableEncoder
from surefoot.exceptions import RoundedInterceptWarning
from surefoot.robust.certificate.certificate import certify_robust_logistic
from surefoot.robust.estimator.automatic_radius import FoundRadius, SamplingError, find_radius, sampling_error
from surefoot.robust.estimator.certified_outcome import certified, further_attempts
from surefoot.robust.estimator.column_ranges import Observed, far_ranges, observed_numbers, unknown_ranges, with_ranges
from surefoot.robust.estimator.fitted_robust_model import FittedRobustModel
from surefoot.robust.estimator.held_out_answers import TOLERANCE, held_out_scores
from surefoot.robust.estimator.held_out_radius import HeldOut, asked
from surefoot.robust.estimator.lone_intercept import NEGLIGIBLE, warn_of_lone_intercept
from surefoot.robust.estimator.proven_settings import require_proven_prices, require_proven_ranges, require_proven_settings
from surefoot.robust.estimator.told_kinds import ToldKinds, kinds_of_shift, kinds_of_weights
from surefoot.robust.estimator.weights import ground_cost, shift_prices, warn_of_levels_without_price
from surefoot.robust.first_order.parameters import PublishedLpAdmm
from surefoot.robust.problem.column_moments import BatchSums, RowTally, batch_sums
from surefoot.robust.problem.ground_cost import GroundCost
from surefoot.robust.problem.numeric_norm import NumericNorm, require_norm
from surefoot.robust.problem.problem import RobustCoefficients, RobustLogisticProblem
from surefoot.robust.problem.row_batch import RowBatch
from surefoot.robust.problem.terms import Terms
from surefoot.robust.problem.unit_free_weights import unit_free_weights
from surefoot.robust.registry import RobustLogisticSolver, RobustOutcome, make_solver
from surefoot.robust.sqp.warm_path import WARM_STARTED
from surefoot.robust.streaming.streamed import PartitionedOutcome
from surefoot.sklearn_api.parameter_checks import is_number, require_label_weight, require_time_limit
from surefoot.sklearn_api.progress import progress_listener
from surefoot.sklearn_api.proven_model import ProofParts, ProvenModel
from surefoot.sklearn_api.training_rows import TrainingRows, read_training_rows, refuse_groups, reread_training_rows

# Mean of a column over its spread from which on it is far from 0.
FAR = 1e3


@dataclass(frozen=True)
class ShiftPrices:
    """What the user, or a shift model, said about prices; ``radius`` is None if nobody named one.

    ``label`` is what a shift model says of labels; inf if it says nothing.
    """

    numeric: Any
    categorical: Any
    radius: float | None
    label: float = math.inf
    ranges: Any = None


@dataclass(frozen=True)
class Solution:
    """One solved and certified problem, and the name of the solver that solved it."""

    terms: Terms
    outcome: RobustOutcome | PartitionedOutcome
    certificate: Certificate
    solver: str


class RobustLogisticModel(ProvenModel, FittedRobustModel):
    """Base of the robust logistic estimators; it has no constructor, its subclasses name the parameters."""

    later_parameters: ClassVar[Mapping[str, Any]] = {"numeric_range": None, "category_levels": None}

    shift: Any
    numeric_weights: Any
    categorical_weights: Any
    label_weight: float
    norm: NumericNorm
    numeric_range: Any
    categorical_features: Any
    category_levels: Any
    solver: str | PublishedLpAdmm
    tol: float
    max_iter: int | None
    time_limit: float | None
    verbose: int
    missing_categorical: Any
    unseen_categories: Any

    n_iter_: int
    sampling_error_: SamplingError | None = None
    # Rows that count in each part of a fit from batches or on Dask, None for a table: a proof is about rows as they were cut.
    part_rows_: tuple[int, ...] | None = None
    certificate_: Certificate
    outcome_: RobustOutcome | PartitionedOutcome
    solver_: str

    def _require_parameters(self) -> None:
        """Raise on parameters that no table could make sense of."""
        require_norm("norm", self.norm)
        require_label_weight(self.label_weight)
        if not (is_number(self.tol) and 0 < self.tol < 1):
            raise ValueError(f"tol = {self.tol!r} must be a positive number below 1: the relative gap to reach.")
        if self.max_iter is not None and not (isinstance(self.max_iter, numbers.Integral) and self.max_iter >= 1):
            raise ValueError(f"max_iter = {self.max_iter!r} must be None or a whole number of at least 1.")
        require_time_limit(self.time_limit)
        require_numeric_range(self.numeric_range)
        require_category_levels(self.category_levels)
        if self.numeric_range is not None and self.norm != "l1":
            raise ValueError(
                f"numeric_range needs norm='l1', not {self.norm!r}: under another norm the price of a move along one column "
                "depends on the moves along the others, and worst cases end between the ends of ranges."
            )
        if self.shift is not None and not hasattr(self.shift, "calibrate"):
            raise ValueError(f"shift = {self.shift!r} must be None or a shift model with a method calibrate(X).")
        beside = [] if self.shift is None else self._settings_beside_shift()
        if beside:
            raise ValueError(
                f"{' and '.join(beside)} beside shift would count for nothing: a shift model says what may shift, how far, and "
                "at what price. Leave them out; or leave out shift, and take what you want of found = shift.calibrate(X): "
                "found.radius, found.numeric_weights, found.categorical_weights."
            )

    def _settings_beside_shift(self) -> list[str]:
        """Parameters that a shift model would overrule, as they were given."""
        weights = ("numeric_weights", "categorical_weights")
        return [f"{name} = {getattr(self, name)!r:.80}" for name in weights if getattr(self, name) is not None]

    def _read(self, X: Any, y: Any, sample_weight: Any, prices: ShiftPrices) -> TrainingRows:
        kinds = (kinds_of_weights if self.shift is None else kinds_of_shift)(prices.numeric, prices.categorical)
        rows = read_training_rows(self._encoder(None if scipy.sparse.issparse(X) else kinds), X, y, sample_weight)
        who, known = f"{type(self).__name__}.fit", self._known_columns()
        warn_of_doubtful_design(who, rows.design, **known, stacklevel=5)
        warn_of_deciding_columns(who, rows.design, rows.labels, stacklevel=5)
        warn_of_levels_without_price(who, rows.design, self.shift, prices.categorical, stacklevel=5)
        return rows

    def _known_columns(self) -> dict[str, Any]:
        """What the parameters say about columns, of which a fit then does not doubt what they are."""
        meant = named_columns(self.numeric_weights, self.categorical_weights, self.numeric_range)
        return {"listed": categories_are_listed(self.categorical_features), "meant": meant}

    def _encoder(self, told_kinds: ToldKinds | None = None) -> TableEncoder:
        return TableEncoder(
            categorical_features=self.categorical_features,
            missing_numeric=self.missing_numeric,
            missing_categorical=self.missing_categorical,
            unseen_categories=self.unseen_categories,
            category_levels=self.category_levels,
            told_kinds=told_kinds,
        )

    def _prices(self, X: Any, shift: Any = None) -> ShiftPrices:
        """Prices by a shift model, which is the model's own unless another one is given."""
        shift = self.shift if shift is None else shift
        if shift is None:
            return ShiftPrices(self.numeric_weights, self.categorical_weights, None, ranges=self.numeric_range)
        ambiguity = shift.calibrate(X)
        # Whatever else can calibrate may say nothing about labels and ranges.
        label = require_label_weight(getattr(ambiguity, "label_weight", math.inf), "label_weight from shift")
        ranges = getattr(ambiguity, "numeric_ranges", None)
        if ranges and self.numeric_range is not None:
            raise ValueError("numeric_range is given twice, here and in the shift model. Leave it out of one of them.")
        weights = ambiguity.numeric_weights, ambiguity.categorical_weights
        return ShiftPrices(*weights, ambiguity.radius, label, ranges or self.numeric_range)

    def _label_weight(self, prices: ShiftPrices) -> float:
        """The price of a flip: the parameter where it is finite, and otherwise that of the shift model."""
        own = float(self.label_weight)
        return own if own < math.inf else prices.label

    def _cost(self, rows: TrainingRows, prices: ShiftPrices, observed: Observed | None = None) -> GroundCost:
        """The ground cost; ``observed`` says what numbers the columns hold where the rows at hand only stand for others."""
        numeric, categorical = prices.numeric, prices.categorical
        if self.shift is not None:
            numeric, categorical = shift_prices(rows.design, numeric, categorical)
        cost = ground_cost(
            rows.design,
            rows.weights,
            numeric=numeric,
            categorical=categorical,
            label=self._label_weight(prices),
            norm=self.norm,
        )
        if prices.ranges is None:
            return cost
        seen = observed_numbers(rows.design.numeric) if observed is None else observed
        return with_ranges(cost, prices.ranges, rows.design.schema, seen, rows if observed is None else None)

    def _solve(
        self,
        solver: RobustLogisticSolver,
        problem: RobustLogisticProblem,
        title: str,
        warm_start: RobustCoefficients | None = None,
        *,
        polish: bool = True,
        started: float | None = None,
    ) -> RobustOutcome:
        options = replace(self._options(title), polish=polish)
        if started is not None:  # the search for a radius is part of the time
            options = replace(options, started=started)
        return solver.solve(problem, options, warm_start=warm_start)

    def _held_out_probability(self, X: Any, y: Any) -> FloatArray | None:
        rows = reread_training_rows(self, X, y)
        problem = self._problem(rows.design, rows.labels, rows.weights, self.ground_cost_, self.radius_)
        options = replace(self._options(""), tolerance=max(float(self.tol), TOLERANCE), polish=False, on_progress=None)
        scores = held_out_scores(problem, self._answer(), named_solver("auto"), options)
        return None if scores is None else expit(scores)

    def _find_radius(self, rows: TrainingRows, cost: GroundCost, solver: RobustLogisticSolver) -> FoundRadius:
        design, sums = rows.design, _sums(rows)
        terms = Terms(design.n_levels, cost, 0.0, bool(self.fit_intercept))
        # The other solvers find the same optimum, but not from a neighbour's.
        quick = solver if solver.name in WARM_STARTED else named_solver("auto")

        def solve(radius: float, options: SolveOptions, nearest: RobustCoefficients | None) -> RobustCoefficients:
            problem = self._problem(design, rows.labels, rows.weights, cost, radius)
            return quick.solve(problem, options, warm_start=nearest).primal

        def ask(radius: float, options: SolveOptions) -> HeldOut | None:
            problem = self._problem(design, rows.labels, rows.weights, cost, radius)
            return asked(problem, rows.counts, quick, options)

        error = sampling_error(terms, sums, RowTally.of(rows.counts))
        # One solve is shown: that of the radius found.
        return find_radius(error, solve, replace(self._options(type(self).__name__), on_progress=None), ask)

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
        # The time of the solve counts, and nothing shows the lines of further ones.
        options = replace(self._options(""), started=time.perf_counter() - outcome.seconds, on_progress=None)
        # The bounds rest on NumPy's matrix products, whose threads do not know n_jobs and compete with other jobs.
        with threadpool_limits(limits=joblib.effective_n_jobs(self.n_jobs), user_api="blas"):
            certificate, outcome = certified(problem, outcome, options, further_attempts(solver, problem, options))
        return Solution(problem.terms, outcome, certificate, solver.name)

    def _warn_of_lone_intercept(self, solution: Solution, rows: TrainingRows, advice: str) -> None:
        model = solution.outcome.primal
        if model.price * solution.terms.radius <= NEGLIGIBLE:  # other models spare the pass over the rows
            where = f"{type(self).__name__}.fit"
            warn_of_lone_intercept(solution.terms, model, _sums(rows), RowTally.of(rows.counts), where, advice)

    def _advice(self, rows: TrainingRows) -> str:
        """What to do about a fit that is not proven, if the columns tell."""
        numeric = rows.design.numeric
        far = far_ranges(self.ground_cost_, rows.design.schema, numeric)
        if far or self.fit_intercept or not isinstance(numeric, np.ndarray):
            return far
        with np.errstate(over="ignore", invalid="ignore"):
            distant = np.abs(numeric.mean(axis=0)) > FAR * np.ptp(numeric, axis=0)
        names = [column.name for column, is_far in zip(rows.design.schema.numeric_columns, distant, strict=True) if is_far]
        if not names:
            return ""
        return (
            f"Without an intercept, columns far from 0 ({', '.join(map(str, names[:5]))}{', ...' if len(names) > 5 else ''}) "
            "take its place, and doubles cannot tell what else they say: set fit_intercept=True, or subtract a constant from "
            "these columns."
        )

    def _unpack_proof(self, solution: Solution) -> None:
        self.outcome_ = solution.outcome
        self.certificate_ = solution.certificate
        self.n_iter_ = int(solution.outcome.iterations)
        self.solver_ = solution.solver
        self._seal_proof()
        self.warn_of_rounding(stacklevel=4)

    @property
    def public_rounding_(self) -> float:
        """What plain sums of ``x @ coef_ + intercept_`` lose of a score, at about: the last digit of the intercept.

        A loss log(1 + exp(v)) changes by at most its slope times that, and no slope is above its loss: it is also what they
        change of losses, relative to them, at most.
        """
        return float(np.spacing(abs(self.intercept_[0])))

    @property
    def loses_digits(self) -> bool:
        """Whether that is more than the tolerance of a proof."""
        return self.certificate_.verified and self.public_rounding_ > self.certificate_.tolerance

    def warn_of_rounding(self, stacklevel: int = 2) -> None:
        """Say so if plain sums of the public numbers are not as good as what was proven."""
        if self.loses_digits:
            warnings.warn(
                f"{type(self).__name__}: columns are so far from 0 that plain sums of coef_ . x + intercept_, as in SQL or a "
                f"spreadsheet, lose about {self.public_rounding_:.1g} of each score, more than the tolerance "
                f"{self.certificate_.tolerance:.1e}. The proof is about these numbers without rounding; predict adds up the "
                "columns of a dense table with their rounding errors, and does not lose that. For use elsewhere, subtract a "
                "constant from the columns and fit again.",
                RoundedInterceptWarning,
                stacklevel=stacklevel,
            )

    def _proven_numbers(self) -> Mapping[str, Any]:
        names = ("coef_", "intercept_", "dual_price_", "classes_", "radius_", "label_weight_", "ground_cost_")
        found = {**{name: getattr(self, name) for name in names}, "schema_": self.schema_.to_dict()}
        if self.sampling_error_ is not None:  # models with a radius of their own, and those from before, have none
            found["sampling_error_"] = self.sampling_error_
        return found

    def _points(self) -> list[tuple[float, float]]:
        """Radii with label weights that the parameters allow."""
        raise NotImplementedError

    def _require_proven_settings(self) -> None:
        """Raise unless the parameters are those of the proof; what follows from rows is for :meth:`_require_usual_prices`."""
        cost, schema = self.ground_cost_, self.schema_
        require_proven_settings(cost, self.radius_, self.label_weight_, norm=self.norm, points=self._points())
        if self.shift is None:  # its prices were calibrated on the rows of the fit
            ones = np.ones(len(schema.categorical_positions))
            require_proven_prices("numeric", self.numeric_weights, schema, cost.numeric_weights, cost.numeric_weights)
            require_proven_prices("categorical", self.categorical_weights, schema, cost.categorical_weights, ones)
            require_proven_ranges(schema, cost.numeric_ranges, unknown_ranges(self.numeric_range, schema))

    def _require_usual_prices(self, rows: TrainingRows) -> None:
        """Raise unless the numeric columns that no parameter prices have the price that follows from the rows of the proof."""
        if self.shift is None:
            usual = unit_free_weights(rows.design.numeric, rows.weights)
            cost, schema = self.ground_cost_, self.schema_
            require_proven_prices("numeric", self.numeric_weights, schema, cost.numeric_weights, usual)
            if self.numeric_range is not None:
                usual_cost = with_ranges(cost, self.numeric_range, schema, observed_numbers(rows.design.numeric), rows)
                require_proven_ranges(schema, cost.numeric_ranges, usual_cost.numeric_ranges)

    def _proof_parts(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> ProofParts:
        refuse_groups(groups)
        self._require_proven_settings()
        rows = reread_training_rows(self, X, y, sample_weight)
        problem = self._problem(rows.design, rows.labels, rows.weights, self.ground_cost_, self.radius_)
        arguments: dict[str, Any] = {
            "problem": problem,
            "coefficients": self._answer(),
            "plan": self.outcome_.dual,
            "tolerance": float(self.tol),
        }

        def judge() -> Certificate:
            # The witness as it is: whoever checks a proof repairs nothing.
            with threadpool_limits(limits=joblib.effective_n_jobs(self.n_jobs), user_api="blas"):
                found = certify_robust_logistic(**arguments)
            if found.problem_digest == self.certificate_.problem_digest:  # of other rows these prices say nothing
                self._require_usual_prices(rows)
            return found

        return ProofParts("robust", arguments, judge)


def _sums(rows: TrainingRows) -> BatchSums:
    design = rows.design
    return batch_sums(RowBatch(design.numeric, design.codes, rows.labels, rows.weights), design.n_levels)


def named_solver(solver: Any) -> RobustLogisticSolver:
    """The solver of that name, or the one that a record of settings is for."""
    if isinstance(solver, PublishedLpAdmm):
        return make_solver("lp-admm", solver)
    if not isinstance(solver, str):
        raise ValueError(
            f"solver = {solver!r} must be the name of a solver, such as 'auto', or the settings of the published LP-ADMM, "
            "PublishedLpAdmm(...)."
        )
    return make_solver(solver)
