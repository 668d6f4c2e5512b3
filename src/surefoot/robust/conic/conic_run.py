"""Run state of the exponential-cone solvers: models with their exact objective, and plans repaired from multipliers."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.core.outcome import SolveOutcome, Status
from surefoot.core.solve_options import SolveOptions
from surefoot.core.solve_run import SolveRun
from surefoot.robust.conic.distance_program import deterring_price, robust_objective
from surefoot.robust.conic.parameters import ConicParameters
from surefoot.robust.conic.pieces import Coordinates
from surefoot.robust.conic.proven_plan import Multipliers, proven_plan
from surefoot.robust.problem.problem import RobustCoefficients, RobustLogisticProblem, ShiftPlan
from surefoot.robust.registry import RobustOutcome
from surefoot.robust.scaling.standard_rows import StandardRows
from surefoot.robust.separation import require_attained


class ConicRun(SolveRun[RobustCoefficients, ShiftPlan]):
    """What cone programmes have found about one problem; everything in standard coordinates until ``restored_outcome``.

    The incumbent counts with its exact objective, never with the programme's; the dual bound with the repaired plan that proves
    it. The first incumbent is the model 0, the first bound 0, because the loss is positive.
    """

    def __init__(
        self,
        problem: RobustLogisticProblem,
        options: SolveOptions,
        warm_start: RobustCoefficients | None = None,
        parameters: ConicParameters | None = None,
    ) -> None:
        started = time.perf_counter()
        self.parameters = parameters or ConicParameters()
        unbounded = (
            problem.radius == 0 or np.isinf(np.append(problem.cost.numeric_weights, problem.cost.categorical_weights)).any()
        )
        fraction = self.parameters.unbounded_cone_tolerance if unbounded else self.parameters.cone_tolerance
        self.cone_options = replace(options, tolerance=fraction * options.tolerance)
        self.standard = StandardRows.of(problem)
        self.problem = self.standard.problem
        require_attained(self.problem)
        self.coordinates = Coordinates(self.problem)
        zero = self.coordinates.unpack(np.zeros(self.coordinates.size))
        super().__init__(options, zero, robust_objective(self.problem, zero), lower_bound=0.0)
        self.started = started
        if warm_start is not None:
            self._improve_by(self.standard.standardize(warm_start))

    def update(self, x: FloatArray, multipliers: Multipliers) -> RobustCoefficients:
        """Update both bounds from a programme's solution; returns the model as it is there, feasible or not."""
        coefficients = self.coordinates.unpack(x)
        self._improve_by(coefficients)
        proven = proven_plan(self.coordinates, multipliers, coefficients, self.upper_bound)
        if self.dual is None:
            self.dual = proven.plan
        self.tighten(proven.value, proven.plan)
        return coefficients

    def _improve_by(self, given: RobustCoefficients) -> None:
        """Make a model feasible and take it if it is better than the incumbent.

        An interior point violates the constraint on the numeric coefficients by a little. Raising the price, shrinking the
        coefficients and dropping the numeric columns altogether (which a huge radius asks for) all restore feasibility; the
        best of them counts.
        """
        gamma = self.problem.cost.numeric_weights
        needed = self.problem.cost.admitting_price(given.numeric)
        candidates = [replace(given, price=max(given.price, needed))]
        if self.problem.radius > 0:
            candidates.append(replace(given, numeric=self._shrunk(given, needed)))
            candidates.append(replace(given, numeric=np.where(np.isfinite(gamma), 0.0, given.numeric), price=0.0))
        for candidate in candidates:
            self.improve(candidate, robust_objective(self.problem, candidate))

    def _shrunk(self, given: RobustCoefficients, needed: float) -> FloatArray:
        """Numeric coefficients that the given price admits; it needed to be ``needed``."""
        gamma = self.problem.cost.numeric_weights
        movable = np.isfinite(gamma)
        if self.problem.cost.numeric_norm == "l1":
            # inf * 0 is no number; a column with an infinite weight has no bound at any price.
            bound = np.where(movable, given.price * np.where(movable, gamma, 0.0), np.inf)
            return np.clip(given.numeric, -bound, bound)
        factor = given.price / needed if given.price < needed else 1.0
        return np.where(movable, factor * given.numeric, given.numeric)

    def restored_outcome(self, ended: Status, iterations: int) -> RobustOutcome:
        """The result in the original coordinates; ``ended`` says why the solver stopped if not for the gap."""
        coefficients = self.primal
        if self.problem.radius == 0:
            coefficients = replace(coefficients, price=deterring_price(self.problem, coefficients))
        restored = self.standard.restore(coefficients)
        return SolveOutcome(
            status=Status.OPTIMAL if self.converged else ended,
            primal=restored,
            dual=self.standard.restore_plan(self.dual) if self.dual is not None else None,
            upper_bound=robust_objective(self.standard.original, restored),
            lower_bound=self.lower_bound,
            iterations=iterations,
            seconds=self.seconds,
            history=tuple(self.history),
        )
