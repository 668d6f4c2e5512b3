"""The default solver: quadratic steps on a finite maximum, exact for any real weights.

The method is :mod:`surefoot.robust.sqp.sqp_loop`; here is how a problem in memory is brought to it.

Above the critical radius nothing has to be solved (:mod:`surefoot.robust.sqp.critical_radius`).

A solver that is asked about the same rows again, at another radius or other prices, does not prepare them again, and where it
starts from its last answer it also starts from the worst cases that held it. If only the radius has changed, twice in a row,
it starts where the line through the last two answers leads, if that is better.

Large tables are solved on a sample of rows first: the point it ends at is within sampling error of the optimum, which saves the
steps in which many rows are tied.
"""

from __future__ import annotations

import math
import time
from contextlib import nullcontext
from dataclasses import dataclass, replace

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.core.blas_threads import blas_threads
from surefoot.core.outcome import Progress, SolveOutcome, Status
from surefoot.core.solve_options import SolveOptions
from surefoot.robust.problem.problem import RobustCoefficients, RobustLogisticProblem, ShiftPlan
from surefoot.robust.problem.terms import Terms
from surefoot.robust.registry import RobustOutcome, require_acceptance
from surefoot.robust.scaling.standard_rows import StandardRows
from surefoot.robust.separation import require_attained
from surefoot.robust.sqp.critical_radius import intercept_only
from surefoot.robust.sqp.initial_point import starting_point
from surefoot.robust.sqp.lifted_rows import LiftedRows, RowSums
from surefoot.robust.sqp.remembered import Remembered
from surefoot.robust.sqp.sqp_loop import Descent, minimise

# A dense Hessian of this many coordinates takes half a gigabyte and a factorisation minutes.
MOST_COORDINATES = 8000
# Samples below this size save less time than they cost.
SAMPLE_ROWS = 500
SAMPLE_SHARE = 8
# A step that promises no more than this share of the objective ends a sample: sampling itself errs by more.
SAMPLE_TOLERANCE = 1e-3
SAMPLE_STEPS = 20
# With fewer rows for each coefficient a sample is fitted to its noise; with so many its optimum is near that of the table, and
# steps from there need little damping.
LEAST_SAMPLE, GOOD_SAMPLE, SAMPLED_DAMPING = 4, 10, 0.01
# A row is this well classified only at odds of ten thousand to one: time to ask whether the data are separable.
WIDE_MARGIN_LOSS = 1e-4


def too_wide(terms: Terms) -> str | None:
    """Why a dense method cannot take so many coefficients, or None."""
    # "linf" puts a magnitude beside every numeric coefficient.
    columns = terms.n_numeric * (2 if terms.cost.numeric_norm == "linf" else 1)
    coordinates = 2 + columns + int(terms.n_levels.sum()) + terms.n_categorical
    if coordinates > MOST_COORDINATES:
        return f"its Hessian would have {coordinates} rows, more than the {MOST_COORDINATES} that a dense method can take."
    return None


@dataclass(frozen=True)
class _Point:
    """A lifted vector and the objective there."""

    x: FloatArray
    objective: float

    @classmethod
    def of(cls, rows: LiftedRows, x: FloatArray) -> _Point:
        return cls(x, rows.objective(x))

    def or_better(self, other: _Point) -> _Point:
        return other if other.objective < self.objective else self


@dataclass(frozen=True)
class _Visit:
    """What a solve leaves for the next one on the same rows."""

    standard: StandardRows
    rows: LiftedRows
    answer: RobustCoefficients
    x: FloatArray
    remembered: Remembered
    before: tuple[float, FloatArray] | None

    def extrapolated(self, standard: StandardRows, rows: LiftedRows, given: _Point) -> _Point:
        """Where the line through the last two answers leads at another radius, if that is better than a point at hand.

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

    def __init__(self) -> None:
        self._last: _Visit | None = None

    def refuses(self, problem: RobustLogisticProblem) -> str | None:
        """Why the problem cannot be taken, or None."""
        return too_wide(problem.terms)

    def solve(
        self, problem: RobustLogisticProblem, options: SolveOptions, warm_start: RobustCoefficients | None = None
    ) -> RobustOutcome:
        """Minimise until the relative gap is at most the tolerance, or a limit ends it."""
        require_acceptance(self, problem)
        # A walk that goes on from its last answer, on the same rows as a rule, asks nothing of them before it settles.
        walking = self._last is not None and warm_start is self._last.answer and not options.polish
        limit = nullcontext() if walking else blas_threads(options.n_threads, problem.n_numeric + int(problem.n_levels.sum()))
        with limit:
            return self._solve(problem, options, warm_start)

    def _solve(
        self, problem: RobustLogisticProblem, options: SolveOptions, warm_start: RobustCoefficients | None
    ) -> RobustOutcome:
        started = time.perf_counter()
        last, again = self._last, self._last.standard.posed_as(problem) if self._last is not None else None
        standard = again if again is not None else StandardRows.of(problem)
        # Whatever happens now, the rows of another table are not kept.
        self._last = None
        if last is not None and again is not None:
            rows = last.rows.posed_as(standard.problem, options.n_threads)
        else:
            rows = LiftedRows(standard.problem, options.n_threads)
        if last is None or again is None or not _below_critical(again, last):
            known = intercept_only(standard.problem)
            if known is not None:
                return _known_outcome(standard, rows, known, options, started)
        if standard.problem.labels.min() == standard.problem.labels.max():
            require_attained(standard.problem)
        # A path comes from above the critical radius with a model that says nothing about the columns.
        warm = warm_start is not None and bool(warm_start.numeric.any() or warm_start.levels.any())
        given = _Point.of(rows, rows.lift(standard.standardize(warm_start))) if warm_start is not None and warm else None
        held = last.remembered if last is not None and again is not None and warm_start is last.answer else None
        if last is not None and held is not None and given is not None:
            given = last.extrapolated(standard, rows, given)
        # Steps on all rows are dear where many are tied; the worst cases that held the last answer tell.
        free = held is not None and SAMPLE_SHARE * held.row.size < rows.n_rows
        start = given if given is not None and free else _start(rows, standard.problem, options, given)
        # Without a priori bounds the proof rests on curvature at the model itself, so the model must be closer to the optimum.
        tolerance = options.tolerance if rows.fully_priced else 1e-3 * options.tolerance
        descent = Descent(rows, start.x, tolerance, objective=start.objective, near=warm)
        if held is not None:
            descent.remembered = held
        if not warm and _sample_size(rows) >= GOOD_SAMPLE * rows.n_coefficients:
            descent.damping = SAMPLED_DAMPING
        status, history = minimise(descent, options, started, lambda: _refuse_separable(rows, standard.problem, descent.x))
        coefficients = rows.unlift(descent.x)
        if problem.radius == 0:
            coefficients = replace(coefficients, price=rows.deterring_price(descent.x))
        answer = standard.restore(coefficients)
        bound = descent.bound
        before = (last.standard.problem.radius, last.x) if last is not None and held is not None else None
        self._last = _Visit(standard, rows, answer, descent.x, Remembered(*descent.remembered), before)
        return SolveOutcome(
            status=status,
            primal=answer,
            dual=standard.restore_plan(bound.plan(rows)) if bound is not None else None,
            upper_bound=descent.objective,
            lower_bound=descent.lower_bound,
            iterations=history[-1].iteration,
            seconds=time.perf_counter() - started,
            history=history,
        )


def _below_critical(standard: StandardRows, last: _Visit) -> bool:
    """Whether the last solve shows that the model without features is not the best one here either."""
    here, there = standard.original, last.standard.original
    return here.cost is there.cost and here.radius <= there.radius


def _known_outcome(
    standard: StandardRows,
    rows: LiftedRows,
    known: tuple[RobustCoefficients, ShiftPlan],
    options: SolveOptions,
    started: float,
) -> RobustOutcome:
    """The outcome above the critical radius: the plan proves the objective itself."""
    coefficients, plan = known
    objective = rows.objective(rows.lift(coefficients))
    only = Progress(1, objective, objective, time.perf_counter() - started)
    if options.on_progress is not None:
        options.on_progress(only)
    return SolveOutcome(
        status=Status.OPTIMAL,
        primal=standard.restore(coefficients),
        dual=standard.restore_plan(plan),
        upper_bound=objective,
        lower_bound=objective,
        iterations=1,
        seconds=only.seconds,
        history=(only,),
    )


def _start(rows: LiftedRows, problem: RobustLogisticProblem, options: SolveOptions, given: _Point | None = None) -> _Point:
    """A point near the optimum: that of a sample of the rows if the table is large, else a clipped Newton step.

    A given point is where the sample begins, and stays the start if it is better than the sample's own.
    """
    sample = _sample(rows, problem)
    if sample is None:
        return _Point.of(rows, starting_point(rows)) if given is None else given
    found = _Point.of(rows, rows.tighten(coarse_minimiser(sample, options, SAMPLE_TOLERANCE, given.x if given else None)))
    return found if given is None else given.or_better(found)


def _sample(rows: LiftedRows, problem: RobustLogisticProblem) -> RobustLogisticProblem | None:
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
    sample: RobustLogisticProblem, options: SolveOptions, tolerance: float, given: FloatArray | None = None
) -> FloatArray:
    """A lifted vector near the optimum of a sample of rows, from a given one if there is one."""
    few = LiftedRows(sample, options.n_threads)
    start = _start(few, sample, options, None if given is None else _Point.of(few, given))
    return approached(few, start.x, options, tolerance)


def approached(rows: RowSums, x: FloatArray, options: SolveOptions, tolerance: float) -> FloatArray:
    """Where steps from a point lead until one promises less than this share of the objective; nothing is proven."""
    descent = Descent(rows, x, tolerance, proofs=False)
    for _ in range(SAMPLE_STEPS):
        fell = descent.advance()
        if descent.expected <= tolerance * descent.objective or not fell or options.out_of_time:
            break
    return descent.x


def _sample_size(rows: LiftedRows) -> int:
    """How many rows a cold start is made from; 0 if the table is too small to be sampled."""
    size = rows.n_rows // SAMPLE_SHARE
    return size if size >= max(SAMPLE_ROWS, LEAST_SAMPLE * rows.n_coefficients) else 0


def _refuse_separable(rows: LiftedRows, problem: RobustLogisticProblem, x: FloatArray) -> None:
    """Asks for separability, which takes a linear programme, only once margins have grown suspiciously wide."""
    if not rows.fully_priced and float(rows.plain_losses(x).min()) <= WIDE_MARGIN_LOSS:
        require_attained(problem)
