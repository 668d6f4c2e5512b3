"""Run state of the solvers for numeric columns: a primal point in the units of their rows, and a dual bound from minorants.

The incumbent is measured by its exact objective at its best price, the dual bound is a shift plan within the radius
(:mod:`surefoot.robust.first_order.value_minorants`); their difference is a true duality gap. Everything is in the units of the
method's rows until :meth:`NumericRun.restored_outcome` takes it back to those of the problem.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.core.outcome import SolveOutcome, Status
from surefoot.core.solve_options import SolveOptions
from surefoot.core.solve_run import SolveRun
from surefoot.robust.conic.distance_program import robust_objective
from surefoot.robust.first_order.parameters import NumericRunParameters
from surefoot.robust.first_order.signed_rows import SignedRows
from surefoot.robust.first_order.value_minorants import Minorant, MinorantBundle, minorant_of, shift_plan
from surefoot.robust.registry import RobustOutcome
from surefoot.robust.scaling.standard_rows import StandardRows

PARAMETERS = NumericRunParameters()


class PricedModel(NamedTuple):
    """Coefficients, and a price that admits them."""

    coefficients: FloatArray
    price: float


class NumericRun(SolveRun[PricedModel, Minorant]):
    """Incumbent, dual bound and history of one solve.

    Parameters
    ----------
    rows : SignedRows
    options : SolveOptions
    started : float
        When the solve began, by ``time.perf_counter``.
    max_iterations : int
        Where the options name no limit.
    stall_iterations : int
        So many iterations without a tenth of progress in the gap end the solve as stalled.
    """

    def __init__(
        self, rows: SignedRows, options: SolveOptions, started: float, *, max_iterations: int, stall_iterations: int
    ) -> None:
        self.rows = rows
        self.max_iterations = options.max_iter or max_iterations
        self.stall_iterations = stall_iterations
        self.bundle = MinorantBundle(rows)
        zero, no_margins = np.zeros(rows.gamma.size), np.zeros(rows.row_weights.size)
        super().__init__(options, PricedModel(zero, 0.0), rows.value(no_margins, 0.0), lower_bound=0.0, dual=self.bundle.best)
        self.started = started
        # Where flips have a finite price, slopes of 0 in every row are a plan too.
        if np.isfinite(rows.kappa):
            self.add_minorant(minorant_of(rows, no_margins, 0.0, zero))
        self._last_progress = (0, np.inf)

    @property
    def price(self) -> float:
        """Of the incumbent."""
        return self.primal.price

    @property
    def target_gap(self) -> float:
        """The gap that ends the solve."""
        bounded = np.isfinite(self.rows.gamma[self.rows.first :]).all()
        fraction = PARAMETERS.target_fraction if bounded else PARAMETERS.unbounded_target_fraction
        return fraction * self.options.tolerance * abs(self.upper_bound)

    @property
    def at_last_iteration(self) -> bool:
        return len(self.history) + 1 >= self.max_iterations

    def evaluate(self, coefficients: FloatArray, margins: FloatArray, price: float | None = None) -> float:
        """The objective of a model at a price, or at its best one; the model becomes the incumbent if it is better."""
        if price is None:
            price = self.rows.best_price(margins, self.rows.least_price(coefficients))
        value = self.rows.value(margins, price)
        self.improve(PricedModel(coefficients, price), value)
        return value

    def add_minorant(self, minorant: Minorant) -> None:
        """Take a minorant into the bundle, and the dual bound that it gives."""
        self.bundle.add(minorant)
        self.tighten(self.bundle.lower_bound, self.bundle.best)

    def finish_iteration(self) -> Status | None:
        """One more line of history; how the solve ends, if it does."""
        iteration = self.record(len(self.history) + 1).iteration
        if self.gap <= self.target_gap:
            return Status.OPTIMAL
        if iteration >= self.max_iterations:
            return Status.ITERATION_LIMIT
        if self.options.out_of_time:
            return Status.TIME_LIMIT
        if self.gap < PARAMETERS.progress * self._last_progress[1]:
            self._last_progress = (iteration, self.gap)
        return Status.STALLED if iteration - self._last_progress[0] > self.stall_iterations else None

    def restored_outcome(self, status: Status, standard: StandardRows) -> RobustOutcome:
        """Model and plan for the problem that the standard rows were made of; optimal only if this is still so there."""
        problem = standard.original
        primal = standard.restore(self.rows.model(self.primal.coefficients, self.primal.price))
        # Restoring the units rounds; the price must still admit every coefficient.
        primal = replace(primal, price=max(primal.price, problem.cost.admitting_price(primal.numeric)))
        upper_bound = robust_objective(problem, primal)
        if status is Status.OPTIMAL and not upper_bound - self.lower_bound <= self.options.tolerance * abs(upper_bound):
            status = Status.STALLED
        return SolveOutcome(
            status=status,
            primal=primal,
            dual=standard.restore_plan(shift_plan(self.rows, self.bundle.best)),
            upper_bound=upper_bound,
            lower_bound=self.lower_bound,
            iterations=len(self.history),
            seconds=self.seconds,
            history=tuple(self.history),
        )
