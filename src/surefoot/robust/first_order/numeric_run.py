"""One solve of a numeric problem by a method that keeps a model and a proof: what is known so far, and what comes of it.

The best model is measured by its exact objective at its best price, the proof is a shift plan within the radius
(:mod:`surefoot.robust.first_order.admm_bounds`); their difference is a true gap. Everything is in the units of the method's
rows until :meth:`NumericRun.outcome` takes it back to those of the problem.
"""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.core.outcome import Progress, SolveOutcome, Status
from surefoot.core.solve_options import SolveOptions
from surefoot.robust.conic.distance_program import robust_objective
from surefoot.robust.first_order.admm_bounds import Evidence, SignedRows, line_of, shift_plan
from surefoot.robust.registry import RobustOutcome
from surefoot.robust.scaling.standard_rows import StandardRows

# Aim a little below the tolerance: the certificate adds what rounding may have hidden.
AIM = 0.8


class NumericRun:
    """The best model, the best proof and the history.

    Parameters
    ----------
    rows : SignedRows
    options : SolveOptions
    started : float
        When the solve began, by ``time.perf_counter``.
    most_steps : int
        Steps where the options name no limit.
    patience : int
        So many steps without a tenth of progress say that double precision, or the method, is at its end.
    """

    def __init__(self, rows: SignedRows, options: SolveOptions, started: float, *, most_steps: int, patience: int) -> None:
        self.rows = rows
        self.options = options
        self.started = started
        self.most_steps = options.max_iter or most_steps
        self.patience = patience
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
    def goal(self) -> float:
        """The gap that ends the solve."""
        # Where a column never moves, nothing bounds its coefficient, and the certificate's proof rests on curvature at the
        # model itself, which must then be closer to the optimum.
        aim = AIM if np.isfinite(self.rows.weights[self.rows.first :]).all() else 0.01 * AIM
        return aim * self.options.tolerance * abs(self.upper_bound)

    @property
    def next_is_last(self) -> bool:
        return len(self.history) + 1 >= self.most_steps

    def offer(self, coefficients: FloatArray, margins: FloatArray, price: float | None = None) -> float:
        """Take the model at a price, or at its best one, if it is better than what is known; returns its objective."""
        if price is None:
            price = self.rows.best_price(margins, self.rows.least_price(coefficients))
        value = self.rows.value(margins, price)
        if value < self.upper_bound:
            self.coefficients, self.price, self.upper_bound = coefficients, price, value
        return value

    def record(self) -> Status | None:
        """One more line of history; how the solve ends, if it does."""
        seconds = time.perf_counter() - self.started
        self.history.append(Progress(len(self.history) + 1, self.upper_bound, self.evidence.lower_bound, seconds))
        if self.options.on_progress is not None:
            self.options.on_progress(self.history[-1])
        if self.gap <= self.goal:
            return Status.OPTIMAL
        if len(self.history) >= self.most_steps:
            return Status.ITERATION_LIMIT
        if self.options.out_of_time:
            return Status.TIME_LIMIT
        if self.gap < 0.9 * self.patience_from[1]:
            self.patience_from = (len(self.history), self.gap)
        return Status.STALLED if len(self.history) - self.patience_from[0] > self.patience else None

    def outcome(self, status: Status, standard: StandardRows) -> RobustOutcome:
        """Model and proof for the problem that the standard rows were made of; optimal only if this is still so there."""
        problem = standard.original
        primal = standard.restore(self.rows.model(self.coefficients, self.price))
        # Restoring the units rounds; the price must still admit every coefficient.
        primal = replace(primal, price=max(primal.price, problem.cost.admitting_price(primal.numeric)))
        upper_bound, lower_bound = robust_objective(problem, primal), self.evidence.lower_bound
        if status is Status.OPTIMAL and not upper_bound - lower_bound <= self.options.tolerance * abs(upper_bound):
            status = Status.STALLED
        return SolveOutcome(
            status=status,
            primal=primal,
            dual=standard.restore_plan(shift_plan(self.rows, self.evidence.proof)),
            upper_bound=upper_bound,
            lower_bound=lower_bound,
            iterations=len(self.history),
            seconds=time.perf_counter() - self.started,
            history=tuple(self.history),
        )
