"""Wide numeric tables: Newton steps that never form a Hessian, and multipliers for what is not smooth.

    min over b, lambda of   lambda radius + sum_i w_i (h(z_i . b) + max(z_i . b - lambda kappa, 0))
    subject to   || (b_j / gamma_j)_j ||_* <= lambda,

with z_i = y_i (1, x_i) and h(m) = log(1 + exp(-m)); :mod:`surefoot.robust.first_order.admm_bounds` says why this is the robust
problem. A Hessian of p columns has p squared entries, which ends every dense method at some ten thousand columns. Here the
kinks of the label price are given multipliers, which leaves a smooth function of the model
(:mod:`surefoot.robust.wide.wide_smoothing`). Its Newton steps need products with the rows only, some tens each, and on sparse
rows these cost what is written in them.

The norm decides how the constraint is kept. In the l1 metric it is a box, and steps are clipped to it
(:mod:`surefoot.robust.wide.wide_box`). In the others it is a cone, which gets multipliers as well
(:mod:`surefoot.robust.wide.wide_lagrangian`): those lie in its polar by construction. Either way, whenever the smooth function
is nearly minimised, the slopes of the rows are a shift plan that nearly keeps to the budget, and mixing it with cheaper plans
makes one that does (:class:`~surefoot.robust.first_order.admm_bounds.Evidence`). The objective of a model is exact, with its
best price. Their difference is a true gap, and it alone ends a solve as optimal.

Penalties grow slowly. Steep kinks would make Newton's method stop at each of them; with shallow ones a few updates of the
multipliers more are needed, and they are cheap because the next minimum is close by.
"""

from __future__ import annotations

import time

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.core.blas_threads import blas_threads
from surefoot.core.outcome import Status
from surefoot.core.solve_options import SolveOptions
from surefoot.robust.first_order.admm_bounds import line_of
from surefoot.robust.first_order.numeric_run import NumericRun
from surefoot.robust.problem.problem import RobustCoefficients, RobustLogisticProblem
from surefoot.robust.registry import RobustOutcome, require_acceptance
from surefoot.robust.scaling.standard_rows import StandardRows
from surefoot.robust.separation import require_attained
from surefoot.robust.wide.wide_box import Box
from surefoot.robust.wide.wide_lagrangian import Lagrangian
from surefoot.robust.wide.wide_rows import WideRows
from surefoot.robust.wide.wide_smoothing import Smoothed

DEFAULT_STEPS = 3000
# So many steps without a tenth of progress say that double precision is at its end.
PATIENCE = 400
# First width of the smoothed kinks, in units of the margin: few rows are farther than this from theirs.
FIRST_WIDTH = 4.0
# Conjugate gradients stop at this share of the gradient, and go on where that was too early.
ACCURACY, BEST_ACCURACY = 0.1, 1e-9
# Part of the gap, or of what smoothing hides, that a gradient may cost without harm.
ENOUGH = 0.03
# A proof takes a pass over the rows: it is made when what the gradient can cost the bound is not far above the gap.
WORTH_PROVING = 2.0

# Box. Multipliers of kinks are updated when the gradient can cost the bound this much of what smoothing hides from the model.
SHARE_OF_SMOOTHING = 2.0
# Smoothing that hides less than this share of the gap allowed needs no update any more.
SMALL_SMOOTHING = 0.3
# The width falls by this factor where an update left more than this share of what was hidden before it. It should not be more
# than so many times the margin at which rows flip, but that margin is a guess at first: no update follows it by more than the
# last factor.
NARROWING, HIDDEN_STILL, WIDEST, FARTHEST = 3.0, 0.4, 3.0, 8.0
# So many steps in a row without any progress at the best accuracy say that double precision is at its end.
STANDSTILL = 3

# Cone. Multipliers are updated when what is left of the gradient could cost the bound no more than this share of the gap, or
# after so many steps. Those grow each time: with first multipliers a minimum is not worth much, but updates far from a minimum
# lead astray.
SHARE_OF_GAP = 1.0
INNER_STEPS, INNER_GROWTH = 12.0, 1.5
# A penalty grows by this factor when an update left more than this share of what the one before it had to correct.
GROWTH, STALE = 1.5, 0.7


class _Run(NumericRun):
    """One solve, in the units of :class:`WideRows`."""

    def __init__(self, rows: WideRows, options: SolveOptions, started: float) -> None:
        super().__init__(rows, options, started, most_steps=DEFAULT_STEPS, patience=PATIENCE)
        self.wide_rows = rows

    def prove(self, x: FloatArray, smoothed: Smoothed) -> None:
        """A bound from the rows' slopes at a point."""
        self.evidence.add(line_of(self.rows, smoothed.flips - smoothed.slopes, max(float(x[-1]), 0.0), x[:-1]))

    def first_point(self, warm_start: RobustCoefficients | None) -> tuple[FloatArray, FloatArray]:
        """The warm start, or the model that only knows how frequent the labels are, and its margins."""
        rows = self.wide_rows
        x = np.zeros(rows.weights.size + 1)
        if warm_start is not None:
            x[:-1] = rows.coefficients(warm_start)
            x[-1] = max(warm_start.price, rows.least_price(x[:-1]))
        elif rows.first:
            share = float(rows.shares[rows.problem.labels > 0].sum() / rows.shares.sum())
            share = min(max(share, 1e-6), 1.0 - 1e-6)
            x[0] = np.log(share / (1.0 - share))
        margins: FloatArray = rows.rows @ x[:-1]
        self.offer(x[:-1], margins)
        return x, margins

    def minimise_in_box(self, warm_start: RobustCoefficients | None) -> Status:
        """Projected Newton steps and updates of the kinks' multipliers until the end."""
        box = Box(self.wide_rows, FIRST_WIDTH, lambda: self.options.out_of_time)
        smoothing = box.smoothing
        point = box.at(self.first_point(warm_start)[0])
        accuracy, idle, hidden_before = ACCURACY, 0, np.inf
        while True:
            step, newton, diagonal = box.descend(point, accuracy)
            idle = 0 if step is not None else idle + 1
            point = step or point
            value = self.offer(point.x[:-1], point.smoothed.margins)
            loss = box.loss(point)
            if loss <= WORTH_PROVING * self.gap or self.options.out_of_time or not self.history or idle:
                self.prove(point.x, point.smoothed)
            ended = self.record()
            if ended is None and idle > STANDSTILL and accuracy <= BEST_ACCURACY:
                ended = Status.STALLED
            if ended is not None:
                return ended
            # As accurate as the last step turned out to be in what it left of the gradient (Eisenstat and Walker 1996).
            left = float(np.sqrt(point.gradient @ (point.gradient / diagonal)))
            missed = abs(left - newton.left) / newton.before if newton.before > 0 else 0.0
            hidden = value - point.smoothed.value
            # More than this is not asked of the gradient before the kinks move, or the solve ends.
            needed = min(ENOUGH * max(self.goal, hidden) / loss, ACCURACY) if loss > 0 else ACCURACY
            small = hidden <= SMALL_SMOOTHING * self.goal
            accuracy = max(min(missed, ACCURACY), needed) if step is not None else 1e-3 * accuracy
            accuracy = max(accuracy, BEST_ACCURACY)
            if smoothing.has_kinks and (idle or (not small and loss <= SHARE_OF_SMOOTHING * hidden)):
                smoothing.update(point.smoothed)
                stale = not small and hidden > HIDDEN_STILL * hidden_before
                narrowed = smoothing.width / NARROWING if stale else smoothing.width
                fitting = max(WIDEST * smoothing.kappa * point.price, smoothing.width / FARTHEST)
                smoothing.width = min(narrowed, fitting)
                hidden_before = hidden
                point = box.at(point.x, smoothing.at(point.price, point.smoothed.margins))

    def minimise_over_cone(self, warm_start: RobustCoefficients | None) -> Status:
        """Newton steps and updates of all multipliers until the end."""
        rows = self.wide_rows
        lagrangian = Lagrangian(rows, FIRST_WIDTH, lambda: self.options.out_of_time)
        point = lagrangian.start(*self.first_point(warm_start))
        gradient = lagrangian.gradient(point)
        inner, patience, accuracy, before = 0, INNER_STEPS, ACCURACY, (np.inf, np.inf)
        last_loss = np.inf
        while True:
            step, whole = lagrangian.descend(point, gradient, accuracy)
            stuck = not step.value < point.value
            point, gradient, inner = step, lagrangian.gradient(step), inner + 1
            if lagrangian.norm != "linf":
                # For the sum of coefficients only the nearest admitted model will do: it has zeros, this one has none.
                self.offer(point.x[:-1], point.smoothed.margins)
            admitted = lagrangian.admitted(point)
            self.offer(admitted[:-1], rows.rows @ admitted[:-1])
            # What the bound loses, to first order, to a gradient that should have vanished; on its way a price may pass 0.
            loss = max(abs(float(point.x[-1])), self.price) * (rows.gradient_price(gradient[:-1]) + abs(float(gradient[-1])))
            # Where whole steps leave most of the gradient, it is conjugate gradients that stopped too early.
            if stuck or (whole and loss > 0.5 * last_loss):
                accuracy = max(0.1 * accuracy, BEST_ACCURACY)
            elif whole:
                accuracy = ACCURACY
            last_loss = loss
            if loss <= WORTH_PROVING * SHARE_OF_GAP * self.gap or self.options.out_of_time or not self.history:
                self.prove(point.x, point.smoothed)
            ended = self.record()
            if ended is not None:
                if ended is not Status.OPTIMAL:
                    self.prove(point.x, point.smoothed)
                return ended
            at_rest = stuck and accuracy <= BEST_ACCURACY
            if loss <= SHARE_OF_GAP * self.gap or inner >= patience or at_rest:
                off = lagrangian.update(point)
                if off[0] > STALE * before[0]:
                    lagrangian.penalty *= GROWTH
                if off[1] > STALE * before[1]:
                    lagrangian.smoothing.width /= GROWTH
                patience *= INNER_GROWTH if inner >= patience else 1.0
                inner, accuracy, before, last_loss = 0, ACCURACY, off, np.inf
                point = lagrangian.at(point.x, point.smoothed.margins)
                gradient = lagrangian.gradient(point)


class Wide:
    """The matrix-free solver for numeric columns; see the module docstring."""

    name = "wide"

    def refuses(self, problem: RobustLogisticProblem) -> str | None:
        """Why the problem cannot be taken, or None."""
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
            run = _Run(WideRows(standard.problem), options, started)
            in_box = problem.cost.numeric_norm == "l1"
            status = run.minimise_in_box(warm) if in_box else run.minimise_over_cone(warm)
            return run.outcome(status, standard)
