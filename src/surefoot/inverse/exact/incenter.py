"""The incenter of the cone of consistent costs: equation (13) of Zattoni Scroccaro, Atasoy and Mohajerin Esfahani (2024).

    min R(theta)   subject to   <theta, phi(s_i, x_i) - phi(s_i, x)> + d(x_i, x) <= 0   for all x in X(s_i) and all i

by constraint generation. Where its master is infeasible, the mean loss of every cost is bounded from below instead, by an
infeasible subsystem of few decisions if there is one, and the data are refused with that proof.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from surefoot.core.certificate import rounded_down
from surefoot.core.outcome import Status
from surefoot.core.solve_options import SolveOptions
from surefoot.exceptions import InconsistentDataError, UnsupportedProblemError
from surefoot.inverse.exact.constraint_generation import ConstraintGeneration, CostOutcome
from surefoot.inverse.exact.cost_conflict import few_in_conflict
from surefoot.inverse.exact.cost_run import CUT_SHORT
from surefoot.inverse.oracle.cut_separation import Separation
from surefoot.inverse.problem.cost_proof import CostProof, proven_bound
from surefoot.inverse.problem.problem import InverseProblem

_NO_MARGIN = (
    "no quadratic cost was found that prices every other decision above the observed one by the distance asked for. Near a "
    "decision inside of its bounds a quadratic cost rises less than any distance of continuous unknowns: give "
    "distance=('none', 'l2'), which measures whole unknowns alone, or choose approach='asl' or 'suboptimality'."
)


class Incenter:
    """The cost of least regularizer that leaves every observation its distance."""

    name = "incenter"

    def __init__(self, separation: Separation) -> None:
        self.generation = ConstraintGeneration(separation)

    def refuses(self, problem: InverseProblem) -> str | None:
        return self.generation.refuses(problem)

    def solve(self, problem: InverseProblem, options: SolveOptions) -> CostOutcome:
        """The incenter of a ``hard`` problem.

        Raises
        ------
        InconsistentDataError
            If there is none; ``outcome.dual`` bounds the mean loss of every cost from below.
        """
        if problem.prior.psd:
            return self._quadratic(problem, options)
        pool = self.generation.separation.pool(problem)
        outcome = self.generation.solve(problem, options, pool)
        if outcome.status in (Status.OPTIMAL, *CUT_SHORT) or np.isfinite(outcome.upper_bound):
            return outcome
        soft = replace(problem, hard=False, kappa=0.0, clamp=True)
        least = self.generation.solve(soft, options, pool.over(soft))
        if least.status is Status.INTERRUPTED:
            return least
        proof = few_in_conflict(soft, pool.cuts(), self.generation.parameters.box_radius)
        if proof is not None:
            bound = proven_bound(soft, soft.cuts(proof.owners.tolist(), proof.points), proof)
            if bound > 0:
                found = replace(least, dual=proof, lower_bound=bound)
                raise InconsistentDataError(_conflict_message(problem, proof, bound), soft, found)
        if least.lower_bound > 0.5 * least.upper_bound > 0 and least.dual is not None:
            raise InconsistentDataError(_conflict_message(problem, least.dual, least.lower_bound), soft, least)
        # Infeasible to the master's tolerances, and yet without a proof: nothing is known.
        return replace(least, status=Status.STALLED)

    def _quadratic(self, problem: InverseProblem, options: SolveOptions) -> CostOutcome:
        """The same for quadratic costs, in one programme.

        Raises
        ------
        UnsupportedProblemError
            If it has no solution, which proves nothing.
        """
        from surefoot.inverse.exact.quadratic_cost import QuadraticCost  # others do without it

        outcome = QuadraticCost(self.generation.separation).solve(problem, options)
        if not (np.isfinite(outcome.upper_bound) or outcome.status is Status.INTERRUPTED or options.out_of_time):
            raise UnsupportedProblemError(_NO_MARGIN)
        return outcome


def _conflict_message(problem: InverseProblem, proof: CostProof, bound: float) -> str:
    """Which observations no cost explains together."""
    weights = np.bincount(proof.owners, weights=proof.weights, minlength=problem.n_examples)
    at = np.flatnonzero(weights > 1e-6 * weights.max())
    names = ", ".join(str(problem.examples[k].index) for k in at[:10].tolist())
    more = f" and {at.size - 10} others" if at.size > 10 else ""
    continuous, integer = problem.distance.spelled()
    whole = np.concatenate([example.instance.decisions.whole for example in problem.examples])
    spelled = f"{continuous!r} of continuous, {integer!r} of whole unknowns"
    if whole.all() or not whole.any():
        spelled = repr(integer if whole.all() else continuous)
    return (
        f"no cost vector explains observations {names}{more} together by the distance asked for: none of the prior set prices "
        f"every other decision above the observed one by its distance ({spelled}); the mean loss is at least "
        f"{rounded_down(bound, 3)}. approach='asl' learns from such data; distance='none' allows ties."
    )
