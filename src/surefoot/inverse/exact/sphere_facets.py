"""The least mean suboptimality among costs of norm r.

    min over ||theta|| = r, theta in Theta, of   kappa R(theta) + (1/N) sum_i loss_i(theta),     d = 0

(a minimum of 0 solves equation (5) of Zattoni Scroccaro, Atasoy and Mohajerin Esfahani, 2024). The sphere of the largest entry
is a union of 2 p facets theta_j = +-r; in a cone without negative costs the facet sum(theta) = 1 is the whole sphere. Each
facet is a problem for constraint generation, with the best objective so far as its cutoff and the decisions found so far as its
first cuts. Termination: all facets are solved, or a cost without loss is all that is sought.

r is 1 where Theta allows that for all its directions, and else a power of 2 that it does allow (:attr:`PriorSet.reach`): some
directions of the box [-1, 0.8]^p have no member whose largest entry is 1. Losses grow with the multiple of a cost, so that no
cost of Theta but 0 is consistent if none of norm r is. With theta = r u the problem is r times

    min over ||u|| = 1, u in Theta / r, of   kappa_r R_r(u) + (1/N) sum_i loss_i(u),

where R_r has the centre theta_0 / r, and kappa_r is kappa (l1) or kappa r (l2): facets are solved in these units, with the same
multipliers.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.core.backends.highs import LinearProgramme
from surefoot.core.outcome import SolveOutcome, Status
from surefoot.core.solve_options import SolveOptions
from surefoot.exceptions import ForwardSolveError, UnsupportedProblemError
from surefoot.inverse.exact.balanced_units import ObservationSizes
from surefoot.inverse.exact.constraint_generation import ConstraintGeneration, CostOutcome
from surefoot.inverse.exact.cost_run import CostRun
from surefoot.inverse.exact.parameters import SphereParameters
from surefoot.inverse.oracle.cut_pool import CutPool
from surefoot.inverse.oracle.cut_separation import Separation
from surefoot.inverse.problem.cost_proof import CostProof, FacetProof
from surefoot.inverse.problem.prior_set import PriorSet
from surefoot.inverse.problem.problem import InverseProblem, Regularizer

SphereOutcome = SolveOutcome[FloatArray, FacetProof]


class LeastSuboptimality:
    """The cost of least objective among those of one norm.

    Parameters
    ----------
    separation : Separation
    any_consistent : bool
        Whether the first cost found without loss will do.
    """

    name = "suboptimality"

    def __init__(self, separation: Separation, *, any_consistent: bool = False) -> None:
        self.generation = ConstraintGeneration(separation)
        self.any_consistent = any_consistent

    def refuses(self, problem: InverseProblem) -> str | None:
        return self.generation.refuses(problem)

    def unit(self, problem: InverseProblem) -> float:
        """The largest entry, without its sign, of costs on the facets of a cube; 1 where there is no cube."""
        return _largest_entry(problem.prior)

    def solve(self, problem: InverseProblem, options: SolveOptions) -> SphereOutcome:
        """The cost, and bounds for every facet."""
        unit = self.unit(problem)
        if unit == 1:
            return self._solve(problem, options)
        try:
            found = self._solve(_in_units(problem, unit), options)
        except ForwardSolveError as flaw:
            # What was found until then is in these units too.
            tried = _out_of_units(flaw.outcome, unit) if isinstance(flaw.outcome, SolveOutcome) else None
            raise ForwardSolveError(str(flaw), tried) from flaw
        assert found.dual is not None
        sides = facets(problem.prior, self.generation.parameters.absolute_gap)
        return replace(_out_of_units(found, unit), dual=FacetProof(sides, found.dual.proofs))

    def _solve(self, problem: InverseProblem, options: SolveOptions) -> SphereOutcome:
        none = self.generation.parameters.absolute_gap
        sides = facets(problem.prior, none)
        pool = self.generation.separation.pool(problem)
        best: CostOutcome | None = None
        proofs: list[CostProof | None] = [None] * len(sides)
        lowest, iterations, status = np.inf, 0, Status.OPTIMAL
        for k, side in enumerate(sides):
            task = replace(problem, prior=side)
            proofs[k] = _emptiness(side)
            if proofs[k] is not None:
                continue
            cutoff = np.inf if best is None else best.upper_bound
            found = self._facet(task, options, pool.over(task), cutoff)
            proofs[k], iterations = found.dual, iterations + found.iterations
            lowest = min(lowest, found.lower_bound)
            if best is None or found.upper_bound < best.upper_bound:
                best = found
            if found.status is not Status.OPTIMAL:
                status = found.status
                if status is not Status.STALLED:
                    lowest = 0.0
                    break
            few = none * float(ObservationSizes.of(problem).units(best.primal).mean())
            if best.upper_bound <= few and (self.any_consistent or problem.kappa == 0):
                lowest = 0.0
                break
        if best is None:
            raise UnsupportedProblemError("the prior set holds no cost vector, or none but 0.")
        proof = FacetProof(sides, tuple(proofs))
        run = CostRun(options, best.primal, best.upper_bound, lower_bound=lowest, dual=proof)
        run.history.extend(best.history)
        return run.outcome(status, iterations)

    def _facet(self, task: InverseProblem, options: SolveOptions, pool: CutPool, cutoff: float) -> CostOutcome:
        if not task.prior.psd:
            return self.generation.solve(task, options, pool, cutoff=cutoff)
        from surefoot.inverse.exact.quadratic_cost import QuadraticCost  # others do without it

        return QuadraticCost(self.generation.separation).solve(task, options)


def _emptiness(prior: PriorSet) -> CostProof | None:
    """Why a facet holds no cost vector at all: multipliers of the rows that no member can satisfy; None if it may hold one."""
    p, m = prior.n_features, len(prior.ceiling)
    below = np.flatnonzero(np.diagonal(prior.upper[: prior.psd**2].reshape(prior.psd, prior.psd)) < 0)
    if below.size:
        # No entry on the diagonal of a semidefinite matrix is negative.
        price, end = np.zeros((prior.psd, prior.psd)), prior.upper[below[0] * (prior.psd + 1)]
        price[below[0], below[0]] = -SphereParameters.worth / end
        return CostProof(np.empty(0, dtype=np.int32), (), np.empty(0), np.zeros(m), 0.0, price)
    if m == 0:
        return None
    # By how much the rows are violated at least.
    programme = LinearProgramme(np.append(prior.lower, 0.0), np.append(prior.upper, np.inf), np.append(np.zeros(p), 1.0))
    columns = np.arange(p + 1, dtype=np.int32)
    for row, side in zip(prior.matrix, prior.ceiling, strict=True):
        programme.add_row(columns, np.append(row, -1.0), -np.inf, float(side))
    if prior.total is not None:
        programme.add_row(columns[:p], np.ones(p), prior.total, prior.total)
    answer = programme.solve()
    if answer.point is None or answer.prices is None or answer.point[p] <= SphereParameters.violated:
        return None
    multipliers = -answer.prices * (SphereParameters.worth / float(answer.point[p]))
    total = 0.0 if prior.total is None else float(multipliers[m])
    return CostProof(np.empty(0, dtype=np.int32), (), np.empty(0), np.maximum(multipliers[:m], 0.0), total)


def _around_zero(prior: PriorSet, zero: float) -> bool:
    """Whether a prior set holds 0, up to ``zero``, so that it holds all smaller multiples of its members too."""
    return not prior.total and prior.excess(np.zeros(prior.n_features)) <= zero


def _largest_entry(prior: PriorSet) -> float:
    return prior.reach if _around_zero(prior, 0.0) else 1.0


def _in_units(problem: InverseProblem, unit: float) -> InverseProblem:
    """The problem whose costs are those of this one over a power of 2, and whose objectives are too."""
    if unit < SphereParameters.least_reach:
        raise UnsupportedProblemError(
            f"the prior set holds cost vectors of all its directions only up to entries of {unit:.3g}; scale its bounds up."
        )
    kind, kappa = problem.regularizer.kind, problem.kappa
    regularizer = Regularizer(kind, problem.regularizer.center / unit)
    kappa = kappa * unit if kind == "l2" else kappa
    return replace(problem, prior=problem.prior.enlarged(1.0 / unit), regularizer=regularizer, kappa=kappa)


def _out_of_units(found: SolveOutcome[FloatArray, Any], unit: float) -> SolveOutcome[FloatArray, Any]:
    """An outcome in these units as one of the problem itself; multipliers are the same."""
    lines = [replace(each, upper_bound=each.upper_bound * unit, lower_bound=each.lower_bound * unit) for each in found.history]
    upper, lower = found.upper_bound * unit, found.lower_bound * unit
    return replace(found, primal=found.primal * unit, upper_bound=upper, lower_bound=lower, history=tuple(lines))


def facets(prior: PriorSet, zero: float) -> tuple[PriorSet, ...]:
    """Prior sets without 0 that cover every direction of a prior set.

    One, if the prior set excludes 0 by itself (by more than ``zero``) or is a cone without negative costs.
    """
    p = prior.n_features
    if not _around_zero(prior, zero):
        return (prior,)
    if np.all(prior.lower >= 0) and np.all(prior.upper <= 0):
        raise UnsupportedProblemError("the prior set holds no cost vector, or none but 0.")
    if np.all(prior.lower >= 0) and prior.is_cone:
        return (replace(prior, total=1.0),)
    found, reach = [], _largest_entry(prior)
    lower, upper = np.maximum(prior.lower, -reach), np.minimum(prior.upper, reach)
    # The largest entry of a semidefinite matrix is on its diagonal.
    for j in np.delete(np.arange(p), np.flatnonzero(1 - np.eye(prior.psd))).tolist():
        for value in (reach, -reach):
            if lower[j] <= value <= upper[j]:
                low, high = lower.copy(), upper.copy()
                low[j] = high[j] = value
                found.append(replace(prior, lower=low, upper=high))
    return tuple(found)
