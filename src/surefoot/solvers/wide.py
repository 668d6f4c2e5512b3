"""Wide numeric tables: the method of multipliers with Newton steps that never form a Hessian.

    min over b, lambda of   lambda radius + sum_i w_i (h(z_i . b) + max(z_i . b - lambda kappa, 0))
    subject to   || (b_j / gamma_j)_j ||_* <= lambda,

with z_i = y_i (1, x_i) and h(m) = log(1 + exp(-m)); :mod:`surefoot.solvers.admm_bounds` says why this is the robust problem. A
Hessian of p columns has p squared entries, which ends every dense method at some ten thousand columns. Here the cone of the
norm and the kinks of the label price are given multipliers and penalties, which leaves a smooth function of the model
(:mod:`surefoot.solvers.wide_lagrangian`). Its Newton steps need products with the rows only, some tens each, and on sparse
rows these cost what is written in them.

The multipliers of the cone lie in its polar by construction, so whenever the smooth function is nearly minimised, the slopes
of the rows are a shift plan that nearly keeps to the budget, and mixing it with cheaper plans makes one that does
(:class:`~surefoot.solvers.admm_bounds.Evidence`). The objective of a model is exact, with its best price. Their difference is a
true gap; it decides when the multipliers are updated, and it alone ends a solve as optimal.

Penalties grow slowly. Steep kinks would make Newton's method stop at each of them; with shallow ones a few updates of the
multipliers more are needed, and they are cheap because the next minimum is close by.
"""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
from threadpoolctl import threadpool_limits

from surefoot.problems.arrays import FloatArray
from surefoot.problems.robust_logistic import RobustCoefficients, RobustLogisticProblem
from surefoot.solvers.admm_bounds import Evidence, line_of, shift_plan
from surefoot.solvers.outcome import Progress, SolveOutcome, Status
from surefoot.solvers.registry import RobustOutcome, SolveOptions, require_acceptance
from surefoot.solvers.separation import require_attained
from surefoot.solvers.standard_rows import StandardRows
from surefoot.solvers.wide_cones import polar_part
from surefoot.solvers.wide_lagrangian import Lagrangian, Point
from surefoot.solvers.wide_rows import WideRows

DEFAULT_STEPS = 3000
# Multipliers are updated when what is left of the gradient could cost the bound no more than this share of the gap, or after
# so many steps. Those grow each time: with first multipliers a minimum is not worth much, but updates far from a minimum lead
# astray.
SHARE_OF_GAP = 1.0
INNER_STEPS, INNER_GROWTH = 12.0, 1.5
# A proof takes a pass over the rows: it is made when the remaining gradient leaves something to gain.
WORTH_PROVING = 2.0
# First width of the smoothed kinks, in units of the margin: few rows are farther than this from theirs.
FIRST_WIDTH = 4.0
# A penalty grows by this factor when an update left more than this share of what the one before it had to correct.
GROWTH, STALE = 1.5, 0.7
# Conjugate gradients stop at this share of the residual, and go on where that was too early.
ACCURACY, BEST_ACCURACY = 0.1, 1e-9
# So many steps without a tenth of progress say that double precision is at its end.
PATIENCE = 400
# Aim a little below the tolerance: the certificate adds what rounding may have hidden.
AIM = 0.8


class _Run:
    """One solve: the Lagrangian, the best model, the best proof and the history, all in the units of the prices."""

    def __init__(self, rows: WideRows, options: SolveOptions, started: float) -> None:
        self.rows = rows
        self.options = options
        self.started = started
        self.lagrangian = Lagrangian(rows, lambda: options.out_of_time)
        self.evidence = Evidence(rows)
        nothing, silent = np.zeros(rows.weights.size), np.zeros(rows.shares.size)
        # The model that knows nothing is a model, and the plan in which labels say nothing is a plan if flips can be paid.
        self.coefficients, self.price, self.upper_bound = nothing, 0.0, rows.value(silent, 0.0)
        if np.isfinite(rows.kappa):
            self.evidence.add(line_of(rows, silent, 0.0, nothing))
        self.history: list[Progress] = []
        self.patience_from = (0, np.inf)

    @property
    def gap(self) -> float:
        return self.upper_bound - self.evidence.lower_bound

    @property
    def optimal(self) -> bool:
        return self.gap <= AIM * self.options.tolerance * abs(self.upper_bound)

    @property
    def last_step(self) -> bool:
        return len(self.history) >= (self.options.max_iter or DEFAULT_STEPS)

    def offer(self, coefficients: FloatArray, margins: FloatArray) -> None:
        """Take a model at its best price, if it is better than the best one known."""
        price = self.rows.best_price(margins, self.rows.least_price(coefficients))
        value = self.rows.value(margins, price)
        if value < self.upper_bound:
            self.coefficients, self.price, self.upper_bound = coefficients, price, value

    def prove(self, point: Point) -> None:
        """A bound from the rows' slopes at a point."""
        self.evidence.add(line_of(self.rows, point.flips - point.slopes, max(float(point.x[-1]), 0.0), point.x[:-1]))

    def record(self) -> Status | None:
        """One more line of history; how the solve ends, if it does."""
        seconds = time.perf_counter() - self.started
        self.history.append(Progress(len(self.history) + 1, self.upper_bound, self.evidence.lower_bound, seconds))
        if self.options.on_progress is not None:
            self.options.on_progress(self.history[-1])
        if self.optimal:
            return Status.OPTIMAL
        if self.last_step:
            return Status.ITERATION_LIMIT
        if self.options.out_of_time:
            return Status.TIME_LIMIT
        if self.gap < 0.9 * self.patience_from[1]:
            self.patience_from = (len(self.history), self.gap)
        return Status.STALLED if len(self.history) - self.patience_from[0] > PATIENCE else None

    def first_point(self, warm_start: RobustCoefficients | None) -> Point:
        """The warm start, or the model that only knows how frequent the labels are; sets penalties and multipliers."""
        rows, lagrangian = self.rows, self.lagrangian
        x = np.zeros(rows.weights.size + 1)
        if warm_start is not None:
            x[:-1], x[-1] = rows.coefficients(warm_start), warm_start.price
        elif rows.first:
            share = float(rows.shares[rows.problem.labels > 0].sum() / rows.shares.sum())
            share = min(max(share, 1e-6), 1.0 - 1e-6)
            x[0] = np.log(share / (1.0 - share))
        margins = rows.rows @ x[:-1]
        self.offer(x[:-1], margins)
        lagrangian.width = FIRST_WIDTH
        point = lagrangian.at(x, margins)
        # The cone pushes as hard as the loss bends, on average over the columns.
        bends = ((rows.shares * point.slopes * (1.0 - point.slopes)) @ rows.squares)[rows.first :]
        typical = float(bends.mean()) if bends.size else 0.0
        lagrangian.penalty = typical if typical > 0 else 1.0
        point = lagrangian.at(x, margins)
        pull = lagrangian.gradient(point)[rows.first :] - lagrangian.penalty * point.polar.point
        lagrangian.cone_force = polar_part(-pull, lagrangian.weights, lagrangian.norm).point
        return lagrangian.at(x, margins)

    def minimise(self, warm_start: RobustCoefficients | None) -> Status:
        """Newton steps and updates of the multipliers until the end."""
        rows, lagrangian = self.rows, self.lagrangian
        point = self.first_point(warm_start)
        gradient = lagrangian.gradient(point)
        inner, patience, accuracy, before = 0, INNER_STEPS, ACCURACY, (np.inf, np.inf)
        last_loss = np.inf
        while True:
            step, whole = lagrangian.descend(point, gradient, accuracy)
            stuck = not step.value < point.value
            point, gradient, inner = step, lagrangian.gradient(step), inner + 1
            if lagrangian.norm != "linf":
                # For the sum of coefficients only the nearest admitted model will do: it has zeros, this one has none.
                self.offer(point.x[:-1], point.margins)
            admitted = point.x.copy()
            # In this order: where the polar part is all of an entry, what is left of it is exactly 0.
            admitted[rows.first :] += lagrangian.cone_force / lagrangian.penalty
            admitted[rows.first :] -= point.polar.point
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
                self.prove(point)
            ended = self.record()
            if ended is not None:
                if ended is not Status.OPTIMAL:
                    self.prove(point)
                return ended
            at_rest = stuck and accuracy <= BEST_ACCURACY
            if loss <= SHARE_OF_GAP * self.gap or inner >= patience or at_rest:
                off = lagrangian.update(point)
                if off[0] > STALE * before[0]:
                    lagrangian.penalty *= GROWTH
                if off[1] > STALE * before[1]:
                    lagrangian.width /= GROWTH
                patience *= INNER_GROWTH if inner >= patience else 1.0
                inner, accuracy, before, last_loss = 0, ACCURACY, off, np.inf
                point = lagrangian.at(point.x, point.margins)
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
        with threadpool_limits(limits=options.n_threads):
            run = _Run(WideRows(standard.problem), options, started)
            status = run.minimise(standard.standardize(warm_start) if warm_start is not None else None)
        primal = standard.restore(run.rows.model(run.coefficients, run.price))
        # Restoring the units rounds; the price must still admit every coefficient.
        primal = replace(primal, price=max(primal.price, problem.cost.admitting_price(primal.numeric)))
        upper_bound, lower_bound = _objective(problem, primal), run.evidence.lower_bound
        if status is Status.OPTIMAL and not upper_bound - lower_bound <= options.tolerance * abs(upper_bound):
            status = Status.STALLED
        return SolveOutcome(
            status=status,
            primal=primal,
            dual=standard.restore_plan(shift_plan(run.rows, run.evidence.proof)),
            upper_bound=upper_bound,
            lower_bound=lower_bound,
            iterations=len(run.history),
            seconds=time.perf_counter() - started,
            history=tuple(run.history),
        )


def _objective(problem: RobustLogisticProblem, model: RobustCoefficients) -> float:
    """The objective in the problem's own units."""
    margins = problem.labels * (model.intercept + problem.numeric @ model.numeric)
    losses = np.logaddexp(0.0, -margins)
    if np.isfinite(problem.cost.label_weight):
        losses += np.maximum(margins - model.price * problem.cost.label_weight, 0.0)
    return problem.radius * model.price + float(problem.weights @ losses)
