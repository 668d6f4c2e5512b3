"""Consistent costs: any of norm 1, and the one nearest to a guess."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.core.outcome import SolveOutcome, Status
from surefoot.core.solve_options import SolveOptions
from surefoot.exceptions import InconsistentDataError
from surefoot.inverse.exact.constraint_generation import ConstraintGeneration, CostOutcome
from surefoot.inverse.exact.cost_run import CUT_SHORT
from surefoot.inverse.exact.parameters import ConsistencyParameters
from surefoot.inverse.exact.sphere_facets import LeastSuboptimality
from surefoot.inverse.oracle.cut_separation import Separation
from surefoot.inverse.problem.cost_proof import FacetProof
from surefoot.inverse.problem.problem import InverseProblem


class ConsistentCost:
    """Any consistent cost: equation (5) of Zattoni Scroccaro, Atasoy and Mohajerin Esfahani (2024)."""

    name = "feasibility"

    def __init__(self, separation: Separation) -> None:
        self.suboptimality = LeastSuboptimality(separation, any_consistent=True)

    def refuses(self, problem: InverseProblem) -> str | None:
        return self.suboptimality.refuses(problem)

    def solve(self, problem: InverseProblem, options: SolveOptions) -> SolveOutcome[FloatArray, FacetProof]:
        """The first cost of norm 1 without suboptimality.

        Raises
        ------
        InconsistentDataError
            If there is none, with a proof.
        """
        found = self.suboptimality.solve(problem, options)
        if found.lower_bound > ConsistencyParameters.conflict:
            raise InconsistentDataError(
                f"no cost vector of norm 1 explains all observations: the mean suboptimality is {found.lower_bound:.3g} or "
                "more, whatever the cost. approach='asl' learns from inconsistent data.",
                problem,
                found,
            )
        return found


class NearestConsistentCost:
    """The consistent cost nearest to a guess in the l1 norm (Wang, 2009), by constraint generation."""

    name = "cutting-plane"

    def __init__(self, separation: Separation) -> None:
        self.generation = ConstraintGeneration(separation)

    def refuses(self, problem: InverseProblem) -> str | None:
        return self.generation.refuses(problem)

    def solve(self, problem: InverseProblem, options: SolveOptions) -> CostOutcome:
        """The nearest cost; ``INFEASIBLE`` if no cost but 0 is consistent, as far as the arithmetic tells."""
        found = self.generation.solve(problem, options)
        none = found.status not in (Status.OPTIMAL, *CUT_SHORT)
        size = ConsistencyParameters.zero * np.abs(problem.regularizer.center).max()
        return replace(found, status=Status.INFEASIBLE) if none or np.abs(found.primal).max() <= size else found
