"""Costs that explain every decision, or the observations that no cost explains together.

    center      the cost of least R(theta) with losses at most 0: equation (13), the incenter
    on_sphere   the cost of least mean suboptimality among those of norm 1: equation (5) if it is 0

The sphere of the largest entry is a union of 2 p facets theta_j = +-1, each a linear problem; where costs cannot be negative
the facet sum(theta) = 1 is the whole sphere. Facets share the decisions found.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.core.outcome import SolveOutcome, Status
from surefoot.core.solve_options import SolveOptions
from surefoot.exceptions import InconsistentDataError, UnsupportedProblemError
from surefoot.inverse.exact.constraint_generation import NOTHING, REACH, CostOutcome, LossCuts
from surefoot.inverse.exact.cost_conflict import few_in_conflict
from surefoot.inverse.exact.cut_pool import CutPool
from surefoot.inverse.problem.cost_proof import CostProof, FacetProof, proven_bound
from surefoot.inverse.problem.prior_set import PriorSet
from surefoot.inverse.problem.problem import InverseProblem

# A mean loss above this, proven for all costs, is a conflict.
CONFLICT = 1e-7


def center(solver: LossCuts, problem: InverseProblem, options: SolveOptions) -> CostOutcome:
    """The cost of least regularizer that leaves every observation its distance.

    Raises
    ------
    InconsistentDataError
        If there is none; ``proof`` bounds the mean loss of every cost from below.
    """
    pool = CutPool(problem)
    outcome = solver.solve(replace(problem, hard=True, kappa=1.0), options, pool)
    if outcome.status is not Status.STALLED or np.isfinite(outcome.upper_bound):
        return outcome
    soft = replace(problem, hard=False, kappa=0.0, clamp=True)
    doubt = solver.solve(soft, options, pool.over(soft))
    proof = few_in_conflict(soft, pool.cuts(), REACH)
    if proof is not None:
        bound = proven_bound(soft, soft.cuts(proof.owners.tolist(), proof.points), proof)
        if bound > CONFLICT:
            found = replace(doubt, dual=proof, lower_bound=bound)
            raise InconsistentDataError(conflict_message(problem, proof, bound), soft, found)
    if doubt.lower_bound > CONFLICT and doubt.dual is not None:
        raise InconsistentDataError(conflict_message(problem, doubt.dual, doubt.lower_bound), soft, doubt)
    return replace(doubt, status=Status.STALLED)


def conflict_message(problem: InverseProblem, proof: CostProof, bound: float) -> str:
    """Which observations no cost explains together."""
    weights = np.bincount(proof.owners, weights=proof.weights, minlength=problem.n_examples)
    at = np.flatnonzero(weights > 1e-6 * weights.max())
    names = ", ".join(str(problem.examples[k].index) for k in at[:10].tolist())
    more = f" and {at.size - 10} others" if at.size > 10 else ""
    return (
        f"no cost vector explains observations {names}{more} together: the mean loss is at least {bound:.3g}, "
        "whatever the cost. approach='asl' learns from inconsistent data."
    )


def facets(prior: PriorSet) -> tuple[PriorSet, ...]:
    """Prior sets without 0 that cover every direction of a prior set.

    One, if the prior set excludes 0 by itself or costs cannot be negative.
    """
    p = prior.n_features
    if prior.total is not None and prior.total != 0:
        return (prior,)
    if prior.excess(np.zeros(p)) > NOTHING:
        return (prior,)
    if np.all(prior.lower >= 0) and prior.is_cone:
        return (replace(prior, total=1.0),)
    found = []
    lower, upper = np.maximum(prior.lower, -1.0), np.minimum(prior.upper, 1.0)
    for j in range(p):
        for value in (1.0, -1.0):
            if lower[j] <= value <= upper[j]:
                low, high = lower.copy(), upper.copy()
                low[j] = high[j] = value
                found.append(replace(prior, lower=low, upper=high))
    if not found:
        raise UnsupportedProblemError("the prior set holds no cost vector whose largest entry is 1 or -1; scale its bounds up.")
    return tuple(found)


def on_sphere(
    solver: LossCuts, problem: InverseProblem, options: SolveOptions, *, any_consistent: bool = False
) -> SolveOutcome[FloatArray, FacetProof]:
    """The cost of least objective among those of norm 1; with ``any_consistent`` the first one found without loss will do."""
    pool = CutPool(problem)
    best: CostOutcome | None = None
    sides = facets(problem.prior)
    proofs: list[CostProof | None] = [None] * len(sides)
    lowest, iterations, status = np.inf, 0, Status.OPTIMAL
    for k, side in enumerate(sides):
        task = replace(problem, prior=side)
        cutoff = np.inf if best is None else best.upper_bound
        found = solver.solve(task, options, pool.over(task), cutoff=cutoff)
        proofs[k], iterations = found.dual, iterations + found.iterations
        lowest = min(lowest, found.lower_bound)
        if best is None or found.upper_bound < best.upper_bound:
            best = found
        if found.status is not Status.OPTIMAL:
            status = found.status
            if status is not Status.STALLED:
                lowest = 0.0
                break
        if best.upper_bound <= NOTHING and (any_consistent or problem.kappa == 0):
            lowest = 0.0
            break
    assert best is not None
    proof = FacetProof(sides, tuple(proofs))
    return SolveOutcome(status, best.primal, proof, best.upper_bound, lowest, iterations, options.elapsed, best.history)
