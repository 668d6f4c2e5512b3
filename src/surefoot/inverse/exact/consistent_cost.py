"""Consistent costs: any of one norm, and the one nearest to a guess."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.core.certificate import rounded_down
from surefoot.core.outcome import SolveOutcome, Status
from surefoot.core.solve_options import SolveOptions
from surefoot.exceptions import InconsistentDataError, UnsupportedProblemError
from surefoot.inverse.exact.balanced_units import ObservationSizes
from surefoot.inverse.exact.constraint_generation import ConstraintGeneration, CostOutcome
from surefoot.inverse.exact.cost_run import CUT_SHORT
from surefoot.inverse.exact.parameters import ConsistencyParameters
from surefoot.inverse.exact.sphere_facets import LeastSuboptimality
from surefoot.inverse.oracle.cut_separation import Separation
from surefoot.inverse.problem.cost_proof import FacetProof
from surefoot.inverse.problem.distance import NO_DISTANCE
from surefoot.inverse.problem.problem import InverseProblem


class ConsistentCost:
    """Any consistent cost: equation (5) of Zattoni Scroccaro, Atasoy and Mohajerin Esfahani (2024)."""

    name = "feasibility"

    def __init__(self, separation: Separation) -> None:
        self.suboptimality = LeastSuboptimality(separation, any_consistent=True)

    def refuses(self, problem: InverseProblem) -> str | None:
        return self.suboptimality.refuses(problem)

    def solve(self, problem: InverseProblem, options: SolveOptions) -> SolveOutcome[FloatArray, FacetProof]:
        """The first cost without suboptimality, of a norm that all directions of the prior set reach.

        Raises
        ------
        InconsistentDataError
            If there is none, with a proof. No other cost of the prior set but 0 is consistent then (:mod:`~.sphere_facets`).
        """
        found = self.suboptimality.solve(problem, options)
        unit = self.suboptimality.unit(problem)
        # Suboptimality is a difference of costs of this size.
        size = float(ObservationSizes.of(problem).losses(found.primal).mean())
        if found.lower_bound > max(0.5 * found.upper_bound, ConsistencyParameters.conflict * size):
            which = f" of those whose largest entry, without its sign, is {unit:.17g}" if unit < 1 else ""
            raise InconsistentDataError(
                f"no cost vector of the prior set but 0 explains all observations: the mean suboptimality{which} is "
                f"{rounded_down(found.lower_bound, 3)} or more. approach='asl' learns from inconsistent data.",
                problem,
                found,
            )
        return found


def refuse_without_rays(separation: Separation, problem: InverseProblem, options: SolveOptions) -> None:
    """Raise where a cone of consistent costs has no rays: because there is no such cost, or because arithmetic hides them."""
    ConsistentCost(separation).solve(replace(problem, distance=NO_DISTANCE, kappa=0.0, hard=False), options)
    raise UnsupportedProblemError(
        "the consistent costs leave too little room for their extreme rays to be told apart; choose approach='feasibility'."
    )


class NearestConsistentCost:
    """The consistent cost nearest to a guess in the l1 norm (Wang, 2009), by constraint generation."""

    name = "cutting-plane"

    def __init__(self, separation: Separation) -> None:
        self.generation = ConstraintGeneration(separation)

    def refuses(self, problem: InverseProblem) -> str | None:
        return self.generation.refuses(problem)

    def solve(self, problem: InverseProblem, options: SolveOptions) -> CostOutcome:
        """The nearest cost; ``INFEASIBLE`` if no cost but 0 is consistent, as far as the arithmetic tells."""
        if problem.prior.psd:
            from surefoot.inverse.exact.quadratic_cost import QuadraticCost  # others do without it

            found = QuadraticCost(self.generation.separation).solve(problem, options)
            none = not np.isfinite(found.upper_bound)
        else:
            found = self.generation.solve(problem, options)
            none = found.status not in (Status.OPTIMAL, *CUT_SHORT)
        size = ConsistencyParameters.zero * np.abs(problem.regularizer.center).max()
        return replace(found, status=Status.INFEASIBLE) if none or np.abs(found.primal).max() <= size else found
