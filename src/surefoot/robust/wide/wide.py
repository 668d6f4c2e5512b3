"""Wide numeric tables: matrix-free Newton steps on an augmented Lagrangian.

    min over b, lambda of   lambda radius + sum_i w_i (h(z_i . b) + max(z_i . b - lambda kappa, 0))
    subject to   || (b_j / gamma_j)_j ||_* <= lambda,

with z_i = y_i (1, x_i) and h(m) = log(1 + exp(-m)); :mod:`surefoot.robust.first_order.value_minorants` says why this is the
robust problem. A Hessian of p columns has p squared entries, which ends every dense method at some ten thousand columns. Here
the hinges are smoothed and given multipliers, which leaves a smooth function R of the model
(:mod:`surefoot.robust.wide.smoothed_loss`), and the constraint depends on the norm: in the l1 metric it is a box, and steps are
projected onto it (:mod:`surefoot.robust.wide.box_newton`); in the others it is a cone with multipliers of its own, in its polar
(:mod:`surefoot.robust.wide.augmented_lagrangian`). One iteration:

1. A truncated Newton step on R, or on the augmented Lagrangian, by conjugate gradients: some tens of products with the rows,
   which cost what is stored in them (:mod:`surefoot.robust.wide.truncated_newton`). The forcing term follows Eisenstat and
   Walker (1996).
2. The primal bound: the exact objective of the iterate at its best price.
3. The dual bound, once the gradient is small enough for one: the slopes of the rows are a shift plan that nearly spends the
   radius, and its convex combination with a cheaper plan is one that does
   (:class:`~surefoot.robust.first_order.value_minorants.MinorantBundle`).
4. A multiplier update where the inner problem is solved to a fraction of the gap (cone), or of what smoothing hides (box).
   Penalties grow slowly: steep ones would stop Newton's method at each kink, with shallow ones a few more updates are needed,
   and they are cheap because the next minimum is close by.

The duality gap of steps 2 and 3 alone ends a solve as optimal; a gap that no longer falls ends it as stalled.

Reference: Rockafellar (1976) for the method of multipliers, Bertsekas (1982) for projected Newton steps.
"""

from __future__ import annotations

import time

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.core.blas_threads import blas_threads
from surefoot.core.outcome import Status
from surefoot.core.solve_options import SolveOptions
from surefoot.robust.first_order.numeric_run import NumericRun
from surefoot.robust.first_order.value_minorants import minorant_of
from surefoot.robust.problem.problem import RobustCoefficients, RobustLogisticProblem
from surefoot.robust.registry import RobustOutcome, ranges_refused, require_acceptance
from surefoot.robust.scaling.standard_rows import StandardRows
from surefoot.robust.separation import require_attained
from surefoot.robust.wide.augmented_lagrangian import AugmentedLagrangian
from surefoot.robust.wide.box_newton import BoxNewton
from surefoot.robust.wide.parameters import WideParameters
from surefoot.robust.wide.smoothed_loss import SmoothedPoint
from surefoot.robust.wide.wide_rows import WideRows


class _Run(NumericRun):
    """One solve, in the units of :class:`WideRows`."""

    def __init__(self, rows: WideRows, options: SolveOptions, started: float, parameters: WideParameters) -> None:
        super().__init__(
            rows,
            options,
            started,
            max_iterations=parameters.max_iterations,
            stall_iterations=parameters.stall_iterations,
        )
        self.wide_rows = rows
        self.parameters = parameters

    def update_dual_bound(self, x: FloatArray, smoothed: SmoothedPoint) -> None:
        """A dual bound from the rows' slopes at a point."""
        self.add_minorant(minorant_of(self.rows, smoothed.flips - smoothed.slopes, max(float(x[-1]), 0.0), x[:-1]))

    def initial_point(self, warm_start: RobustCoefficients | None) -> tuple[FloatArray, FloatArray]:
        """The warm start, or the model that only knows how frequent the labels are, and its margins."""
        rows = self.wide_rows
        x = np.zeros(rows.gamma.size + 1)
        if warm_start is not None:
            x[:-1] = rows.coefficients(warm_start)
            x[-1] = max(warm_start.price, rows.least_price(x[:-1]))
        elif rows.first:
            positive = float(rows.row_weights[rows.problem.labels > 0].sum() / rows.row_weights.sum())
            positive = min(max(positive, 1e-6), 1.0 - 1e-6)
            x[0] = np.log(positive / (1.0 - positive))
        margins: FloatArray = rows.rows @ x[:-1]
        self.evaluate(x[:-1], margins)
        return x, margins

    def minimise_in_box(self, warm_start: RobustCoefficients | None) -> Status:
        """Projected Newton steps and updates of the hinges' multipliers until the end."""
        settings = self.parameters
        box = BoxNewton(self.wide_rows, settings, lambda: self.options.out_of_time)
        loss = box.loss
        point = box.at(self.initial_point(warm_start)[0])
        forcing_term, failures, hidden_before = settings.largest_forcing_term, 0, np.inf
        while True:
            step, newton, diagonal = box.step(point, forcing_term)
            failures = 0 if step is not None else failures + 1
            point = step or point
            value = self.evaluate(point.x[:-1], point.smoothed.margins)
            bound_loss = box.bound_loss(point)
            close = bound_loss <= settings.dual_bound_ratio * self.gap
            if close or self.options.out_of_time or not self.history or failures:
                self.update_dual_bound(point.x, point.smoothed)
            ended = self.finish_iteration()
            if ended is None and failures > settings.stall_steps and forcing_term <= settings.smallest_forcing_term:
                ended = Status.STALLED
            if ended is not None:
                return ended
            # As accurate as the last Newton system predicted the new gradient (Eisenstat and Walker 1996, choice 1).
            norm = float(np.sqrt(point.gradient @ (point.gradient / diagonal)))
            error = abs(norm - newton.residual_norm) / newton.gradient_norm if newton.gradient_norm > 0 else 0.0
            hidden = value - point.smoothed.value
            # No smaller residual is needed before the multipliers change, or the solve ends.
            needed = settings.largest_forcing_term
            if bound_loss > 0:
                needed = min(settings.forcing_fraction * max(self.target_gap, hidden) / bound_loss, needed)
            negligible = hidden <= settings.negligible_smoothing * self.target_gap
            if step is not None:
                forcing_term = max(min(error, settings.largest_forcing_term), needed)
            else:
                forcing_term = 1e-3 * forcing_term
            forcing_term = max(forcing_term, settings.smallest_forcing_term)
            solved = not negligible and bound_loss <= settings.update_ratio * hidden
            if loss.has_hinges and (failures or solved):
                loss.update_multipliers(point.smoothed)
                slow = not negligible and hidden > settings.slow_update * hidden_before
                narrowed = loss.width / settings.width_reduction if slow else loss.width
                fitting = max(settings.widest * loss.kappa * point.price, loss.width / settings.largest_width_reduction)
                loss.width = min(narrowed, fitting)
                hidden_before = hidden
                point = box.at(point.x, loss.at(point.price, point.smoothed.margins))

    def minimise_over_cone(self, warm_start: RobustCoefficients | None) -> Status:
        """Newton steps and updates of all multipliers until the end."""
        rows, settings = self.wide_rows, self.parameters
        lagrangian = AugmentedLagrangian(rows, settings, lambda: self.options.out_of_time)
        point = lagrangian.initialise(*self.initial_point(warm_start))
        gradient = lagrangian.gradient(point)
        inner, inner_limit, forcing_term = 0, settings.inner_iterations, settings.largest_forcing_term
        corrections, last_bound_loss = (np.inf, np.inf), np.inf
        while True:
            step, full = lagrangian.step(point, gradient, forcing_term)
            stuck = not step.value < point.value
            point, gradient, inner = step, lagrangian.gradient(step), inner + 1
            if lagrangian.norm != "linf":
                # For the sum of coefficients only the nearest feasible model will do: it has zeros, this one has none.
                self.evaluate(point.x[:-1], point.smoothed.margins)
            feasible = lagrangian.nearest_feasible(point)
            self.evaluate(feasible[:-1], rows.rows @ feasible[:-1])
            # What the dual bound loses, to first order, to a gradient that should have vanished; the price of an infeasible
            # iterate may be negative.
            dual_residual = rows.gradient_price(gradient[:-1]) + abs(float(gradient[-1]))
            bound_loss = max(abs(float(point.x[-1])), self.price) * dual_residual
            # Where full steps leave most of the gradient, it is conjugate gradients that stopped too early.
            if stuck or (full and bound_loss > 0.5 * last_bound_loss):
                forcing_term = max(0.1 * forcing_term, settings.smallest_forcing_term)
            elif full:
                forcing_term = settings.largest_forcing_term
            last_bound_loss = bound_loss
            close = bound_loss <= settings.dual_bound_ratio * settings.gap_ratio * self.gap
            if close or self.options.out_of_time or not self.history:
                self.update_dual_bound(point.x, point.smoothed)
            ended = self.finish_iteration()
            if ended is not None:
                if ended is not Status.OPTIMAL:
                    self.update_dual_bound(point.x, point.smoothed)
                return ended
            minimised = bound_loss <= settings.gap_ratio * self.gap or (
                stuck and forcing_term <= settings.smallest_forcing_term
            )
            if minimised or inner >= inner_limit:
                previous, corrections = corrections, lagrangian.update_multipliers(point)
                if corrections[0] > settings.slow_correction * previous[0]:
                    lagrangian.penalty *= settings.penalty_growth
                if corrections[1] > settings.slow_correction * previous[1]:
                    lagrangian.loss.width /= settings.penalty_growth
                inner_limit *= settings.inner_growth if inner >= inner_limit else 1.0
                inner, forcing_term, last_bound_loss = 0, settings.largest_forcing_term, np.inf
                point = lagrangian.at(point.x, point.smoothed.margins)
                gradient = lagrangian.gradient(point)


class Wide:
    """The matrix-free solver for numeric columns; see the module docstring."""

    name = "wide"

    def __init__(self, *, parameters: WideParameters | None = None) -> None:
        self.parameters = parameters or WideParameters()

    def refuses(self, problem: RobustLogisticProblem) -> str | None:
        """Why the problem cannot be taken, or None."""
        if (reason := ranges_refused(problem)) is not None:
            return reason
        if problem.n_categorical:
            return f"it has {problem.n_categorical} categorical columns, and this method knows numeric columns only."
        if problem.radius == 0:
            return "its radius is 0, and this method measures columns in units of what shifting them costs."
        fixed = np.flatnonzero(np.isinf(problem.cost.numeric_weights))
        if fixed.size:
            return f"numeric column {fixed[0]} has an infinite weight, and this method needs a price on every column."
        return None

    def solve(
        self, problem: RobustLogisticProblem, options: SolveOptions, warm_start: RobustCoefficients | None = None
    ) -> RobustOutcome:
        """Minimise until the relative gap is at most the tolerance, or a limit ends it."""
        require_acceptance(self, problem)
        started = time.perf_counter()
        standard = StandardRows.of(problem)
        require_attained(standard.problem)
        warm = standard.standardize(warm_start) if warm_start is not None else None
        with blas_threads(options.n_threads):
            run = _Run(WideRows(standard.problem), options, started, self.parameters)
            in_box = problem.cost.numeric_norm == "l1"
            status = run.minimise_in_box(warm) if in_box else run.minimise_over_cone(warm)
            return run.restored_outcome(status, standard)
