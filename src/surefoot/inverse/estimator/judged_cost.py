"""A learned cost and its certificate, whatever the approach."""

from __future__ import annotations

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
from surefoot.inverse.problem.distance import NO_DISTANCE
from surefoot.inverse.problem.ellipsoidal_cost import EllipsoidalCost
from surefoot.inverse.problem.exact_weights import exact_proof
from surefoot.inverse.problem.problem import InverseProblem
from surefoot.inverse.problem.ray_proof import RayProof

CERTIFY: dict[str, Callable[..., Certificate]] = {
    "inverse-cost": certify_cost,
    "inverse-ellipsoid": certify_ellipsoid,
    "inverse-rays": certify_rays,
    "inverse-predictions": certify_predictions,
}


def judged(
    approach: str, problem: InverseProblem, outcome: SolveOutcome[Any, Any], tolerance: float
) -> tuple[FloatArray, Certificate]:
    """The cost vector of an outcome, and the verdict on it."""
    primal = outcome.primal
    # A copy: what a user writes into the learned cost must not change what the solver has answered.
    cost = np.array(primal.theta if isinstance(primal, EllipsoidalCost) else primal, dtype=np.float64)
    kind, arguments = proof_arguments(approach, problem, outcome, tolerance)
    return cost, CERTIFY[kind](**arguments)


def proof_arguments(
    approach: str, problem: InverseProblem, outcome: SolveOutcome[Any, Any], tolerance: float
) -> tuple[str, dict[str, Any]]:
    """Which certificate judges an outcome, and its arguments by name.

    Losses are searched anew: what the solver's programmes retain must not make a fit differ from a later verification.
    """
    separation = Separation()
    given: dict[str, Any] = {"problem": problem, "theta": outcome.primal, "proof": outcome.dual, "tolerance": tolerance}
    if isinstance(outcome.primal, EllipsoidalCost):
        del given["theta"]
        return "inverse-ellipsoid", {**given, "cost": outcome.primal}
    cost = given["theta"] = np.asarray(outcome.primal, dtype=np.float64)
    if isinstance(outcome.dual, RayProof):
        ellipsoid = approach == "ellipsoidal-circumcenter"
        plain = replace(problem, distance=NO_DISTANCE)
        proofs = [separation.proofs(plain, ray, np.zeros(problem.n_examples)) for ray in outcome.dual.rays]
        return "inverse-rays", {**given, "ellipsoid": ellipsoid, "loss_proofs": proofs}
    if approach == "predictability":
        plain, scaled = replace(problem, distance=NO_DISTANCE), cost / max(float(np.abs(cost).max()), 1e-300)
        proved = separation.proofs(plain, scaled, np.zeros(problem.n_examples))
        del given["proof"]
        return "inverse-predictions", {**given, "loss_proofs": proved}
    losses = separation.losses(problem, cost)[1]
    return "inverse-cost", {**given, "losses": losses, "loss_proofs": separation.proofs(problem, cost, losses)}


def certified(separation: Separation, problem: InverseProblem, cost: FloatArray, proof: Any, tolerance: float) -> Certificate:
    """The verdict on a cost vector, with proofs of its losses where certificates cannot recompute them alone."""
    losses = separation.losses(problem, cost)[1]
    return certify_cost(problem, cost, losses, exact_proof(problem, proof), tolerance, separation.proofs(problem, cost, losses))
