"""The approach "asl": equation (14) of Zattoni Scroccaro, Atasoy and Mohajerin Esfahani (2024)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from surefoot.core.outcome import Status
from surefoot.core.solve_options import SolveOptions
from surefoot.inverse.exact.constraint_generation import ConstraintGeneration, CostOutcome
from surefoot.inverse.exact.cost_run import CUT_SHORT
from surefoot.inverse.exact.parameters import ConsistencyParameters
from surefoot.inverse.exact.quadratic_cost import QuadraticCost
from surefoot.inverse.oracle.cut_separation import Separation
from surefoot.inverse.problem.problem import InverseProblem


class AugmentedLoss:
    """The regularised mean of augmented suboptimality losses.

    Without a regularizer, data that some cost explains leave many costs without loss: the incenter is taken then.
    """

    name = "asl"

    def __init__(self, separation: Separation) -> None:
        self.separation = separation
        self.generation = ConstraintGeneration(separation)

    def refuses(self, problem: InverseProblem) -> str | None:
        return self.generation.refuses(problem)

    def solve(self, problem: InverseProblem, options: SolveOptions) -> CostOutcome:
        if problem.prior.psd:
            return QuadraticCost(self.separation).solve(problem, options)
        if problem.kappa > 0 or problem.distance.absent or not problem.scalable:
            return self.generation.solve(problem, options)
        pool = self.separation.pool(problem)
        outcome = self.generation.solve(replace(problem, hard=True, kappa=1.0, clamp=True), options, pool)
        if np.isfinite(outcome.upper_bound):
            # A larger multiple of a consistent cost has no loss, and rounding has no say in that.
            theta = outcome.primal * (1.0 + ConsistencyParameters.scale_up)
            return replace(outcome, primal=theta, upper_bound=0.0, lower_bound=0.0, dual=None)
        if outcome.status is Status.INTERRUPTED or (outcome.status in (Status.OPTIMAL, *CUT_SHORT) and np.any(outcome.primal)):
            # Cut short: the cost met last explains most observations, and says more than 0.
            losses = self.separation.losses(problem, outcome.primal, seconds=options.seconds_left)[1]
            return replace(outcome, upper_bound=problem.objective(outcome.primal, losses), lower_bound=0.0, dual=None)
        return self.generation.solve(problem, options, pool)
