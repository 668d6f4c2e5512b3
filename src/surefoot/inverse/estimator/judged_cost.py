"""A learned cost and its certificate, whatever the approach."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.core.certificate import Certificate
from surefoot.core.outcome import SolveOutcome
from surefoot.inverse.certificate.certificate import certify_cost, certify_predictions
from surefoot.inverse.certificate.cone_center import certify_rays
from surefoot.inverse.certificate.cost_ellipsoid import certify_ellipsoid
from surefoot.inverse.oracle.cut_separation import Separation
from surefoot.inverse.problem.cost_proof import FacetProof
from surefoot.inverse.problem.cost_witness import CostWitness
from surefoot.inverse.problem.distance import NO_DISTANCE
from surefoot.inverse.problem.ellipsoidal_cost import EllipsoidalCost
from surefoot.inverse.problem.exact_weights import exact_proof, exact_sum
from surefoot.inverse.problem.problem import InverseProblem
from surefoot.inverse.problem.ray_proof import RayProof

Outcome = SolveOutcome[Any, Any]
CERTIFY: dict[str, Callable[..., Certificate]] = {
    "inverse-cost": certify_cost,
    "inverse-ellipsoid": certify_ellipsoid,
    "inverse-rays": certify_rays,
    "inverse-predictions": certify_predictions,
}


def witnessed(
    approach: str, problem: InverseProblem, outcome: Outcome, seconds: float = np.inf, earlier: Separation | None = None
) -> Outcome:
    """The outcome with all that a certificate needs, as far as it is found within so many seconds.

    Losses are searched anew: what the solver's programmes retain must not make a fit differ from its repetition. A cost whose
    entries are to have a sum has it to the last digit, where doubles allow that.
    """
    if isinstance(outcome.primal, EllipsoidalCost) or isinstance(outcome.dual, CostWitness):
        return outcome
    facets = outcome.dual.facets if isinstance(outcome.dual, FacetProof) else ()
    total = facets[0].total if len(facets) == 1 else problem.prior.total
    cost = exact_sum(np.array(outcome.primal, dtype=np.float64), total)
    until, separation = time.perf_counter() + seconds, Separation() if earlier is None else earlier.afresh()

    def left() -> float:
        return max(0.0, until - time.perf_counter())

    plain, none = replace(problem, distance=NO_DISTANCE), np.zeros(problem.n_examples)
    losses: tuple[Any, ...]
    if isinstance(outcome.dual, RayProof):
        # What a ray saves by rounding is part of what is proven.
        saved = [separation.losses(plain, ray, seconds=left())[1] for ray in outcome.dual.rays]
        pairs = zip(outcome.dual.rays, saved, strict=True)
        losses = tuple(separation.proofs(plain, ray, each, seconds=left()) for ray, each in pairs)
    elif approach == "predictability":
        losses = separation.proofs(plain, cost / max(float(np.abs(cost).max()), 1e-300), none, seconds=left())
    else:
        found = separation.losses(problem, cost, seconds=left())[1]
        losses = separation.proofs(problem, cost, found, seconds=left())
    return replace(outcome, primal=cost, dual=CostWitness(outcome.dual, losses))


def judged(approach: str, problem: InverseProblem, outcome: Outcome, tolerance: float) -> tuple[FloatArray, Certificate]:
    """The cost vector of an outcome, and the verdict on it."""
    primal = outcome.primal
    # A copy: what a user writes into the learned cost must not change what the solver has answered.
    cost = np.array(primal.theta if isinstance(primal, EllipsoidalCost) else primal, dtype=np.float64)
    kind, arguments = proof_arguments(approach, problem, outcome, tolerance)
    return cost, CERTIFY[kind](**arguments)


def proof_arguments(approach: str, problem: InverseProblem, outcome: Outcome, tolerance: float) -> tuple[str, dict[str, Any]]:
    """Which certificate judges an outcome, and its arguments by name; what the outcome lacks of a witness is searched."""
    if isinstance(outcome.primal, EllipsoidalCost):
        return "inverse-ellipsoid", {
            "problem": problem,
            "cost": outcome.primal,
            "proof": outcome.dual,
            "tolerance": tolerance,
        }
    cost = np.asarray(outcome.primal, dtype=np.float64)
    witness: Any = witnessed(approach, problem, outcome).dual
    given = {"problem": problem, "theta": cost, "tolerance": tolerance, "loss_proofs": witness.losses}
    if approach == "predictability":
        return "inverse-predictions", given
    if isinstance(witness.bound, RayProof):
        return "inverse-rays", {**given, "proof": witness.bound, "ellipsoid": approach == "ellipsoidal-circumcenter"}
    return "inverse-cost", {**given, "proof": witness.bound}


def certified(problem: InverseProblem, cost: FloatArray, proof: Any, tolerance: float, seconds: float = np.inf) -> Certificate:
    """The verdict on a cost vector, with proofs of its losses as far as they are found within so many seconds."""
    until, separation = time.perf_counter() + seconds, Separation()
    losses = separation.losses(problem, cost, seconds=seconds)[1]
    proofs = separation.proofs(problem, cost, losses, seconds=max(0.0, until - time.perf_counter()))
    return certify_cost(problem, cost, exact_proof(problem, proof), tolerance, proofs)
