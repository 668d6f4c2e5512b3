"""The best model and the best proof that a cone-programming solver has so far, and the outcome they amount to."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.core.outcome import Progress, SolveOutcome, Status
from surefoot.core.solve_options import SolveOptions
from surefoot.robust.conic.distance_program import deterring_price, robust_objective
from surefoot.robust.conic.pieces import Coordinates
from surefoot.robust.conic.proven_plan import Multipliers, proven_plan
from surefoot.robust.problem.problem import RobustCoefficients, RobustLogisticProblem, ShiftPlan
from surefoot.robust.registry import RobustOutcome
from surefoot.robust.scaling.standard_rows import StandardRows
from surefoot.robust.separation import require_attained


class Incumbent:
    """Collects what cone programmes find about one problem; everything in standard coordinates until ``outcome``.

    A model counts with its exact objective, never with the programme's; a bound counts with the repaired plan that proves it.
    """

    def __init__(
        self, problem: RobustLogisticProblem, options: SolveOptions, warm_start: RobustCoefficients | None = None
    ) -> None:
        self.started = time.perf_counter()
        self.options = options
        # A hundredth of the gap asked for leaves room for what the repair of the plan costs. Where nothing bounds the
        # coefficients, a proof rests on the curvature at the model, which must be that much closer.
        unbounded = (
            problem.radius == 0 or np.isinf(np.append(problem.cost.numeric_weights, problem.cost.categorical_weights)).any()
        )
        self.cone_options = replace(options, tolerance=(1e-4 if unbounded else 1e-2) * options.tolerance)
        self.standard = StandardRows.of(problem)
        self.problem = self.standard.problem
        require_attained(self.problem)
        self.coordinates = Coordinates(self.problem)
        # The loss is positive, and the model that knows nothing is a model.
        self.coefficients = self.coordinates.unpack(np.zeros(self.coordinates.size))
        self.upper_bound = robust_objective(self.problem, self.coefficients)
        self.lower_bound = 0.0
        if warm_start is not None:
            self._offer_model(self.standard.standardize(warm_start))
        self.plan: ShiftPlan | None = None
        self.history: list[Progress] = []

    @property
    def optimal(self) -> bool:
        return self.upper_bound - self.lower_bound <= self.options.tolerance * abs(self.upper_bound)

    def offer(self, x: FloatArray, multipliers: Multipliers) -> RobustCoefficients:
        """Take what is better in a programme's solution, model or proof; returns the model as it is there, feasible or not."""
        coefficients = self.coordinates.unpack(x)
        self._offer_model(coefficients)
        self._offer_plan(multipliers, coefficients)
        return coefficients

    def _offer_model(self, given: RobustCoefficients) -> None:
        """Take a model if it is better.

        An interior point violates the limit on the numeric coefficients by a little. Raising the price, shrinking the
        coefficients and giving up the numeric columns altogether (which a huge radius asks for) all mend it; the best of them
        counts.
        """
        gamma = self.problem.cost.numeric_weights
        needed = self.problem.cost.admitting_price(given.numeric)
        candidates = [replace(given, price=max(given.price, needed))]
        if self.problem.radius > 0:
            candidates.append(replace(given, numeric=self._shrunk(given, needed)))
            candidates.append(replace(given, numeric=np.where(np.isfinite(gamma), 0.0, given.numeric), price=0.0))
        for candidate in candidates:
            objective = robust_objective(self.problem, candidate)
            if objective < self.upper_bound:
                self.coefficients, self.upper_bound = candidate, objective

    def _shrunk(self, given: RobustCoefficients, needed: float) -> FloatArray:
        """Numeric coefficients that the given price admits; it needed to be ``needed``."""
        gamma = self.problem.cost.numeric_weights
        movable = np.isfinite(gamma)
        if self.problem.cost.numeric_norm == "l1":
            # inf * 0 is no number; a column with an infinite weight has no ceiling at any price.
            ceiling = np.where(movable, given.price * np.where(movable, gamma, 0.0), np.inf)
            return np.clip(given.numeric, -ceiling, ceiling)
        share = given.price / needed if given.price < needed else 1.0
        return np.where(movable, share * given.numeric, given.numeric)

    def _offer_plan(self, multipliers: Multipliers, coefficients: RobustCoefficients) -> None:
        """Take the plan that the multipliers amount to if it proves more."""
        proven = proven_plan(self.coordinates, multipliers, coefficients, self.upper_bound)
        if self.plan is None or proven.value > self.lower_bound:
            self.plan = proven.plan
            self.lower_bound = max(proven.value, self.lower_bound)

    def record(self, iteration: int) -> None:
        """One more line of history, told to whoever listens."""
        self.history.append(Progress(iteration, self.upper_bound, self.lower_bound, time.perf_counter() - self.started))
        if self.options.on_progress is not None:
            self.options.on_progress(self.history[-1])

    def outcome(self, ended: Status, iterations: int) -> RobustOutcome:
        """The result in the original coordinates; ``ended`` says why the solver stopped if not for the gap."""
        coefficients = self.coefficients
        if self.problem.radius == 0:
            coefficients = replace(coefficients, price=deterring_price(self.problem, coefficients))
        restored = self.standard.restore(coefficients)
        return SolveOutcome(
            status=Status.OPTIMAL if self.optimal else ended,
            primal=restored,
            dual=self.standard.restore_plan(self.plan) if self.plan is not None else None,
            upper_bound=robust_objective(self.standard.original, restored),
            lower_bound=self.lower_bound,
            iterations=iterations,
            seconds=time.perf_counter() - self.started,
            history=tuple(self.history),
        )
