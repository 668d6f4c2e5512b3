"""Sequential quadratic programming on a finite maximum: exact, any real weights, a handful of iterations.

Problem. In lifted coordinates x (:mod:`surefoot.robust.sqp.lifted_coordinates`) the objective is, per row, a maximum of smooth
pieces,

    min over x of   F(x) = radius lambda + sum_i w_i max_k [ softplus(a_ik . x) - lambda cost_ik ]

subject to the linear (and for the norm "l2" conic) constraints that all rows share.

One iteration (native: cpp/include/surefoot/robust/sqp_loop.hpp):

1. Model around x:  sum_i w_i max_k (piece k linearised) + 1/2 d' (H + R) d.  H = sum_ik mass_ik (curvature of piece k), with
   the masses that the previous multipliers gave to the pieces; R is Levenberg-Marquardt regularisation, a multiple of H's
   diagonal. Exactly tied pieces of a row are nested prefixes of one order (softplus is strictly convex, so maximisers form a
   chain), and all of them enter. So do pieces within the *active width* of the maximum, and the *working set*: pieces that held
   mass before. Rows well on the wrong side are nearly linear, and every subset of their features whose moves gain nothing is
   nearly tied; one piece represents them all, with a hinge per such feature (row_model.hpp).
2. Quadratic programme: an interior point finds the step d, the predicted decrease, and multipliers, which are the adversary's
   plan (qp_interior_point.hpp).
3. Dual bound of the plan by weak duality (dual_bound.hpp), if the prediction error at x + d says that it may close the gap.
   What is left of the programme's gradient counts there as often as coefficients may be large. If the gap stays open although
   the step has nothing left to gain, the next programme is solved more exactly.
4. Line search: backtracking until the actual decrease is a tenth of the predicted one (Armijo); past x + d while F falls faster
   than predicted.
5. Update. R takes the part of a trust-region radius: a tenth after a full step with actual / predicted decrease >= 1/2, three
   times as much after a step shorter than 1/2. The active width becomes the square root of the predicted decrease, because that
   is how far losses move when a quadratic falls by so much; a shortened step doubles it and adds the pieces that are worst at x
   + d. Levels that only one or two rows hold give directions with next to no curvature and long steps. If steps stay short, or
   the bound of such a table stays behind, every row gets outer linearisation cuts, which bound its loss from below everywhere.

Termination: relative gap (F - dual bound) / |F| at most the tolerance; or the iteration or time limit; or several iterations in
a row without a decrease (stalled).

Active-set polish. A gap of 1e-6 leaves a bottom so flat that coefficients differ in the fourth digit, and which of these points
a solve ends at is chance: the initial point, the order of the rows, whether equal rows were merged. So once the gap is closed a
few more steps are solved to the last digit (:mod:`surefoot.robust.sqp.active_set_polish`). Convergence is quadratic: two or
three reach what double precision can tell, and tables in memory, in partitions, or on other machines lead to the same model
wherever the optimum is unique. Where the ties are too many for the polish, the model is known as well as its gap says, and no
better. Objectives cannot guide these steps: near an optimum they only tell points apart that are the square root of a rounding
away. The lengths of the steps do.

Reference: Nocedal and Wright, Numerical Optimization, Chapter 18; Fletcher, Practical Methods of Optimization, Chapter 14.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from surefoot import _native
from surefoot.core.arrays import FloatArray
from surefoot.core.outcome import Status
from surefoot.core.solve_options import SolveOptions
from surefoot.core.solve_run import SolveRun
from surefoot.robust.problem.coefficient_bounds import CoefficientBounds
from surefoot.robust.sqp.active_set_polish import ActiveSetStep, Multipliers, can_polish
from surefoot.robust.sqp.dual_bound import PlanBound
from surefoot.robust.sqp.parameters import (
    POLISH_DEFAULTS,
    SQP_DEFAULTS,
    PolishParameters,
    RunParameters,
    SqpParameters,
    native_parameters,
)
from surefoot.robust.sqp.row_sums import RowSums

RUN = RunParameters()


@dataclass(frozen=True)
class _PolishedPoint:
    """Where a polished step ends, and the predicted decrease of its model."""

    x: FloatArray
    objective: float
    plan: _native.Plan
    predicted_decrease: float


class SqpLoop(_native.SqpLoop):
    """The state of one minimisation over one set of rows; without dual bounds, for an initial point, it is never optimal.

    The iterations themselves are native: on a small table one takes less time than it takes two threads to hand the interpreter
    to one another.

    Parameters
    ----------
    rows : RowSums
    x : ndarray
        Lifted vector with tight envelopes.
    tolerance : float
        Relative gap.
    objective : float, optional
        At ``x``, if it is known.
    warm_start : bool
        Whether ``x`` is the optimum of a neighbouring problem.
    dual_bounds : bool
    parameters : SqpParameters
    polish_parameters : PolishParameters
    """

    def __init__(
        self,
        rows: RowSums,
        x: FloatArray,
        tolerance: float,
        *,
        objective: float | None = None,
        warm_start: bool = False,
        dual_bounds: bool = True,
        parameters: SqpParameters = SQP_DEFAULTS,
        polish_parameters: PolishParameters = POLISH_DEFAULTS,
    ) -> None:
        # They are proportional to the objective of the model at hand. Without bounds nobody needs them.
        limits = rows.coefficient_bounds(1.0) if dual_bounds else CoefficientBounds(np.inf, np.inf, np.inf)
        super().__init__(
            rows.space,
            rows.oracle,
            x,
            objective=rows.objective(x) if objective is None else objective,
            radius=rows.terms.radius,
            tolerance=RUN.tolerance_fraction * tolerance,
            price_limit=limits.price,
            intercept_limit=limits.intercept,
            level_limit=limits.levels,
            warm_start=warm_start,
            dual_bounds=dual_bounds,
            n_rows=rows.n_rows,
            n_threads=rows.n_threads,
            parameters=native_parameters(parameters),
        )
        self.rows = rows
        self.polish_parameters = polish_parameters
        self.inexact_steps = 0

    @property
    def bound(self) -> PlanBound | None:
        """The best bound so far."""
        bound = self.dual_bound
        return None if bound is None else PlanBound.of(bound)

    def polish(self, options: SolveOptions) -> None:
        """Steps to the last digit until the coefficients stand still."""
        p = self.polish_parameters
        self.regularisation = p.regularisation
        previous = increase = np.inf
        for _ in range(p.max_steps):
            if options.out_of_time or self.inexact_steps >= p.max_inexact_steps:
                break
            self.active_width = max(min(self.active_width, float(np.sqrt(self.predicted_decrease))), p.min_active_width)
            end = self._polished_point()
            if end is None:
                break
            if end.objective > (1.0 + p.objective_rounding) * self.objective:
                # The model lacked the pieces that are worst where its step ended; if adding them hardly helped, nothing will.
                if end.objective - self.objective > p.max_step_ratio * increase:
                    break
                increase = end.objective - self.objective
                self.update_working_set(end.plan, end.x)
                continue
            moved = self._distance(end.x)
            if moved > p.max_step_ratio * previous:
                break
            self.update_working_set(end.plan, None)
            self.x, self.objective = end.x, end.objective
            self.predicted_decrease = max(end.predicted_decrease, 0.0)
            # The next step is shorter by this factor at least, and usually by its square.
            if moved * (moved / previous if np.isfinite(previous) else 1.0) <= p.step_tolerance:
                break
            previous = moved

    def _distance(self, x: FloatArray) -> float:
        """How far the coefficients of a point are from the current ones, relative to the largest of these."""
        slots = slice(self.rows.n_coefficients)
        here = self.x[slots]
        return float(np.abs(x[slots] - here).max(initial=0.0) / (1.0 + np.abs(here).max(initial=0.0)))

    def _polished_point(self) -> _PolishedPoint | None:
        """Where the polished step ends, or the interior point's if no active set answers; None if it is too much work."""
        rows, x, p = self.rows, self.x, self.polish_parameters
        model = rows.row_model(x, self.region, self.working_set)
        if not can_polish(rows, model):
            # Without the ties that a step of this length could only just break there may be fewer.
            self.active_width = p.min_active_width
            model = rows.row_model(x, self.region, self.working_set)
            if not can_polish(rows, model):
                return None
        terms = rows.space.qp_terms(model, rows.terms.radius, self.regularisation)
        solution = _native.solve_qp(
            model,
            rows.space,
            x,
            terms,
            tolerance=p.qp_tolerance * self.objective,
            max_iterations=p.qp_max_iterations,
            n_threads=rows.n_threads,
        )
        step = solution.step
        multipliers = Multipliers(solution.mass, solution.hinge_mass, solution.pair_multiplier)
        polished = ActiveSetStep(rows, x, model, terms).minimiser(step, multipliers)
        self.inexact_steps += polished is None
        end = rows.tighten(x + (step if polished is None else polished))
        return _PolishedPoint(end, rows.objective(end), solution.plan, solution.predicted_decrease)


def minimise(
    loop: SqpLoop, run: SolveRun[Any, Any], check: Callable[[], None] | None = None, parameters: RunParameters = RUN
) -> Status:
    """Iterate until the gap is closed or a limit ends it; every iteration is recorded in ``run``.

    ``check`` is called now and then and at the end, and may raise.
    """
    options = run.options

    def record(iteration: int, objective: float, lower_bound: float, seconds: float) -> None:
        run.upper_bound, run.lower_bound = objective, lower_bound
        run.record(iteration, seconds=seconds)

    # The initial point is a model too, and often a good one.
    record(0, loop.objective, loop.lower_bound, run.seconds)
    status, iteration, failures = Status.ITERATION_LIMIT, 0, 0
    max_iterations = options.max_iter or parameters.max_iterations
    polishes = options.polish and options.tolerance <= loop.polish_parameters.max_tolerance
    interval, max_failures = parameters.check_interval, parameters.max_failures
    while iteration < max_iterations:
        begun = time.perf_counter() - run.started
        turn = parameters.turn_seconds
        if options.time_limit is not None:
            turn = min(turn, options.time_limit - options.elapsed)
        most = min(interval - iteration % interval, max_iterations - iteration)
        # At least one, even where the time is over.
        *before, last = loop.iterate(
            max_iterations=most,
            failures=failures,
            max_failures=max_failures,
            seconds=turn,
            seconds_left=options.seconds_left,
        )
        for done in before:
            iteration, failures = iteration + 1, 0 if done.decreased else failures + 1
            record(iteration, done.objective, done.lower_bound, begun + done.seconds)
        iteration, failures = iteration + 1, 0 if last.decreased else failures + 1
        if polishes and (loop.optimal or failures >= max_failures):
            loop.polish(options)
        record(iteration, loop.objective, loop.lower_bound, run.seconds)
        if loop.optimal:
            status = Status.OPTIMAL
            break
        if iteration % interval == 0 and check is not None:
            check()
        if failures >= max_failures:
            status = Status.STALLED
            break
        if options.out_of_time:
            status = Status.TIME_LIMIT
            break
    if check is not None:
        check()
    if not loop.has_bound:
        # A bound costs a dense factorisation per correction; without any time it would often say nothing.
        grace = math.inf if options.time_limit is None else parameters.bound_grace * options.time_limit
        loop.bound_last_step(seconds_left=max(options.seconds_left, grace))
    run.upper_bound, run.lower_bound = loop.objective, loop.lower_bound
    return status
