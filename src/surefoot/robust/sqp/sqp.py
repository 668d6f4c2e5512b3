"""The default solver: SQP on a finite maximum, exact for any real weights.

The method is :mod:`surefoot.robust.sqp.sqp_loop`; here is how a problem in memory is brought to it:

1. presolve: distinct rows, centred and scaled columns, merged levels (:mod:`surefoot.robust.scaling.standard_rows`)
2. above the critical radius the model without features is optimal (:mod:`surefoot.robust.sqp.critical_radius`)
3. initial point: the warm start, or the optimum of a sample of the rows, or a shrunken Newton step
   (:mod:`surefoot.robust.sqp.initial_point`)
4. the SQP loop, its dual bound, and the way back to the units of the table

Warm starts. The solver keeps what its last solve prepared. A problem with the same rows, at another radius or other prices, is
not presolved again, and a start from its last answer comes with the working set of that solve. If only the radius has changed,
twice in a row, the start is the linear extrapolation through the last two answers, if that is better.

Samples. The optimum of a sample of a large table is within sampling error of the table's, which saves the iterations in which
many rows are tied.
"""

from __future__ import annotations

import math
import time
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from surefoot import _native
from surefoot.core.arrays import FloatArray
from surefoot.core.blas_threads import blas_threads
from surefoot.core.outcome import Status
from surefoot.core.solve_options import SolveOptions
from surefoot.core.solve_run import SolveRun
from surefoot.robust.problem.problem import RobustCoefficients, RobustLogisticProblem, ShiftPlan
from surefoot.robust.problem.terms import Terms
from surefoot.robust.registry import RobustOutcome, require_acceptance
from surefoot.robust.scaling.standard_rows import StandardRows
from surefoot.robust.separation import require_attained
from surefoot.robust.sqp.critical_radius import intercept_only
from surefoot.robust.sqp.initial_point import initial_point
from surefoot.robust.sqp.parameters import SAMPLE_DEFAULTS, SQP_DEFAULTS, SolverParameters, SqpParameters
from surefoot.robust.sqp.row_sums import RowSums, TableRows
from surefoot.robust.sqp.sqp_loop import SqpLoop, minimise

SAMPLE = SAMPLE_DEFAULTS
LIMITS = SolverParameters()


def too_wide(terms: Terms) -> str | None:
    """Why a dense method cannot take so many coefficients, or None."""
    # "linf" puts a magnitude beside every numeric coefficient.
    columns = terms.n_numeric * (2 if terms.cost.numeric_norm == "linf" else 1)
    coordinates = 2 + columns + int(terms.n_levels.sum()) + terms.n_categorical
    most = LIMITS.max_coordinates
    if coordinates > most:
        return f"its Hessian would have {coordinates} rows, more than the {most} that a dense method can take."
    return None


@dataclass(frozen=True)
class _Point:
    """A lifted vector and the objective there."""

    x: FloatArray
    objective: float

    @classmethod
    def of(cls, rows: TableRows, x: FloatArray) -> _Point:
        return cls(x, rows.objective(x))

    def or_better(self, other: _Point) -> _Point:
        return other if other.objective < self.objective else self


@dataclass(frozen=True)
class _PreviousSolve:
    """What a solve leaves for the next one on the same rows: presolved rows, answer, working set, and the answer before."""

    standard: StandardRows
    rows: TableRows
    answer: RobustCoefficients
    x: FloatArray
    working_set: _native.WorkingSet
    before: tuple[float, FloatArray] | None

    def extrapolated(self, standard: StandardRows, rows: TableRows, given: _Point) -> _Point:
        """The extrapolation through the last two answers to another radius, if that is better than a given point.

        In the radius itself paths are piecewise smooth; in its logarithm they are straight where the data are nearly separable.
        """
        here, radius = standard.problem.radius, self.standard.problem.radius
        if self.before is None or standard.original.cost is not self.standard.original.cost or self.before[0] == radius:
            return given
        earlier_radius, earlier = self.before
        for scale in (float, math.log) if min(here, radius, earlier_radius) > 0 else (float,):
            ahead = (scale(here) - scale(radius)) / (scale(radius) - scale(earlier_radius))
            given = given.or_better(_Point.of(rows, rows.tighten(self.x + ahead * (self.x - earlier))))
        return given


class SQP:
    """The default solver; see the module docstring."""

    name = "sqp"

    def __init__(self, parameters: SqpParameters = SQP_DEFAULTS) -> None:
        self.parameters = parameters
        self._last: _PreviousSolve | None = None

    def refuses(self, problem: RobustLogisticProblem) -> str | None:
        """Why the problem cannot be taken, or None."""
        return too_wide(problem.terms)

    def solve(
        self, problem: RobustLogisticProblem, options: SolveOptions, warm_start: RobustCoefficients | None = None
    ) -> RobustOutcome:
        """Minimise until the relative gap is at most the tolerance, or a limit ends it."""
        require_acceptance(self, problem)
        # A path goes on from its last answer, on the same rows as a rule, and needs BLAS only to polish.
        on_path = self._last is not None and warm_start is self._last.answer and not options.polish
        limit = nullcontext() if on_path else blas_threads(options.n_threads, problem.n_numeric + int(problem.n_levels.sum()))
        with limit:
            return self._solve(problem, options, warm_start)

    def _solve(
        self, problem: RobustLogisticProblem, options: SolveOptions, warm_start: RobustCoefficients | None
    ) -> RobustOutcome:
        started = time.perf_counter()
        last, again = self._last, self._last.standard.posed_as(problem) if self._last is not None else None
        standard = again if again is not None else StandardRows.of(problem)
        # Whatever happens now, the rows of another table are let go.
        self._last = None
        if last is not None and again is not None:
            rows = last.rows.posed_as(standard.problem, options.n_threads)
        else:
            rows = TableRows(standard.problem, options.n_threads)
        if last is None or again is None or not _below_critical(again, last):
            known = intercept_only(standard.problem)
            if known is not None:
                return _known_outcome(standard, rows, known, options, started)
        if standard.problem.labels.min() == standard.problem.labels.max():
            require_attained(standard.problem)
        # A path comes from above the critical radius with a model that says nothing about the columns.
        warm = warm_start is not None and bool(warm_start.numeric.any() or warm_start.levels.any())
        given = _Point.of(rows, rows.lift(standard.standardize(warm_start))) if warm_start is not None and warm else None
        working_set = last.working_set if last is not None and again is not None and warm_start is last.answer else None
        if last is not None and working_set is not None and given is not None:
            given = last.extrapolated(standard, rows, given)
        # Iterations over all rows are expensive where many are tied, as the working set tells.
        few_ties = working_set is not None and SAMPLE.divisor * len(working_set) < rows.n_rows
        start = given if given is not None and few_ties else _start(rows, standard.problem, options, self.parameters, given)
        # Without a priori bounds the proof rests on curvature at the model itself, so the model must be closer to the optimum.
        tolerance = options.tolerance if rows.fully_priced else LIMITS.unbounded_tolerance * options.tolerance
        loop = SqpLoop(rows, start.x, tolerance, objective=start.objective, warm_start=warm, parameters=self.parameters)
        if working_set is not None:
            loop.working_set = working_set
        if not warm and _sample_size(rows) >= SAMPLE.good_rows_per_coefficient * rows.n_coefficients:
            loop.regularisation = SAMPLE.good_regularisation
        run: SolveRun[Any, Any] = SolveRun(options, None, started=started)
        status = minimise(loop, run, lambda: _refuse_separable(rows, standard.problem, loop.x))
        coefficients = rows.unlift(loop.x)
        if problem.radius == 0:
            coefficients = replace(coefficients, price=rows.deterring_price(loop.x))
        answer = standard.restore(coefficients)
        bound = loop.bound
        before = (last.standard.problem.radius, last.x) if last is not None and working_set is not None else None
        self._last = _PreviousSolve(standard, rows, answer, loop.x, loop.working_set, before)
        run.primal, run.dual = answer, standard.restore_plan(bound.plan(rows)) if bound is not None else None
        return run.outcome(status, converged=status is Status.OPTIMAL)


def _below_critical(standard: StandardRows, last: _PreviousSolve) -> bool:
    """Whether the last solve shows that the model without features is not the best one here either."""
    here, there = standard.original, last.standard.original
    return here.cost is there.cost and here.radius <= there.radius


def _known_outcome(
    standard: StandardRows,
    rows: TableRows,
    known: tuple[RobustCoefficients, ShiftPlan],
    options: SolveOptions,
    started: float,
) -> RobustOutcome:
    """The outcome above the critical radius: the plan proves the objective itself."""
    coefficients, plan = known
    objective = rows.objective(rows.lift(coefficients))
    run: SolveRun[RobustCoefficients, ShiftPlan] = SolveRun(
        options, standard.restore(coefficients), objective, lower_bound=objective, started=started
    )
    run.record(1)
    run.dual = standard.restore_plan(plan)
    return run.outcome(Status.OPTIMAL, converged=True)


def _start(
    rows: TableRows,
    problem: RobustLogisticProblem,
    options: SolveOptions,
    parameters: SqpParameters,
    given: _Point | None = None,
) -> _Point:
    """A point near the optimum: that of a sample of the rows if the table is large, else a clipped Newton step.

    A given point is where the sample begins, and stays the start if it is better than the sample's own.
    """
    sample = _sample(rows, problem)
    if sample is None:
        return _Point.of(rows, initial_point(rows, seconds_left=options.seconds_left)) if given is None else given
    x = coarse_minimiser(sample, options, SAMPLE.tolerance, given.x if given else None, parameters)
    found = _Point.of(rows, rows.tighten(x))
    return found if given is None else given.or_better(found)


def _sample(rows: TableRows, problem: RobustLogisticProblem) -> RobustLogisticProblem | None:
    size = _sample_size(rows)
    if size == 0:
        return None
    # The same rows every time, but no pattern that a sorted table could share.
    chosen = np.sort(np.random.default_rng(0).choice(rows.n_rows, size, replace=False))
    labels = problem.labels[chosen]
    if labels.min() == labels.max():
        return None
    return replace(
        problem,
        numeric=problem.numeric[chosen],
        codes=problem.codes[chosen],
        labels=labels,
        weights=problem.weights[chosen] / problem.weights[chosen].sum(),
    )


def coarse_minimiser(
    sample: RobustLogisticProblem,
    options: SolveOptions,
    tolerance: float,
    given: FloatArray | None = None,
    parameters: SqpParameters = SQP_DEFAULTS,
) -> FloatArray:
    """A lifted vector near the optimum of a sample of rows, from a given one if there is one."""
    few = TableRows(sample, options.n_threads)
    start = _start(few, sample, options, parameters, None if given is None else _Point.of(few, given))
    return approximate_minimiser(few, start.x, options, tolerance, parameters)


def approximate_minimiser(
    rows: RowSums, x: FloatArray, options: SolveOptions, tolerance: float, parameters: SqpParameters = SQP_DEFAULTS
) -> FloatArray:
    """Where iterations lead until one predicts a decrease below this fraction of the objective; without a dual bound."""
    loop = SqpLoop(rows, x, tolerance, dual_bounds=False, parameters=parameters)
    for _ in range(SAMPLE.max_steps):
        if options.out_of_time:
            break
        decreased = loop.advance(seconds_left=options.seconds_left)
        if loop.predicted_decrease <= tolerance * loop.objective or not decreased:
            break
    return loop.x


def _sample_size(rows: TableRows) -> int:
    """How many rows a cold start is made from; 0 if the table is too small to be sampled."""
    size = rows.n_rows // SAMPLE.divisor
    return size if size >= max(SAMPLE.min_rows, SAMPLE.rows_per_coefficient * rows.n_coefficients) else 0


def _refuse_separable(rows: TableRows, problem: RobustLogisticProblem, x: FloatArray) -> None:
    """Looks into separability, which takes a linear programme, only once margins have grown suspiciously wide."""
    if not rows.fully_priced and float(rows.plain_losses(x).min()) <= LIMITS.wide_margin_loss:
        require_attained(problem)
