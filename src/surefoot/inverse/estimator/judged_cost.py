"""A learned cost and its certificate, whatever the approach."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.core.certificate import Certificate
from surefoot.core.outcome import SolveOutcome
from surefoot.inverse.certificate.certificate import certify_cost, certify_predictions
from surefoot.inverse.certificate.cone_center import certify_ellipsoid, certify_rays
from surefoot.inverse.oracle.cut_separation import Separation
from surefoot.inverse.problem.distance import NO_DISTANCE
from surefoot.inverse.problem.ellipsoidal_cost import EllipsoidalCost
from surefoot.inverse.problem.problem import InverseProblem
from surefoot.inverse.problem.ray_proof import RayProof


def judged(
    approach: str, separation: Separation, problem: InverseProblem, outcome: SolveOutcome[Any, Any], tolerance: float
) -> tuple[FloatArray, Certificate]:
    """The cost vector of an outcome, and the verdict on it."""
    if isinstance(outcome.primal, EllipsoidalCost):
        return outcome.primal.theta, certify_ellipsoid(problem, outcome.primal, outcome.dual, tolerance)
    cost = np.asarray(outcome.primal, dtype=np.float64)
    if isinstance(outcome.dual, RayProof):
        ellipsoid = approach == "ellipsoidal-circumcenter"
        plain = replace(problem, distance=NO_DISTANCE)
        proofs = [separation.proofs(plain, ray, np.zeros(problem.n_examples)) for ray in outcome.dual.rays]
        return cost, certify_rays(problem, cost, outcome.dual, tolerance, ellipsoid=ellipsoid, loss_proofs=proofs)
    if approach == "predictability":
        plain, scaled = replace(problem, distance=NO_DISTANCE), cost / max(float(np.abs(cost).max()), 1e-300)
        proved = separation.proofs(plain, scaled, np.zeros(problem.n_examples))
        return cost, certify_predictions(problem, cost, tolerance, proved)
    return cost, certified(separation, problem, cost, outcome.dual, tolerance)


def certified(separation: Separation, problem: InverseProblem, cost: FloatArray, proof: Any, tolerance: float) -> Certificate:
    """The verdict on a cost vector, with proofs of its losses where certificates cannot recompute them alone."""
    losses = separation.losses(problem, cost)[1]
    return certify_cost(problem, cost, losses, proof, tolerance, separation.proofs(problem, cost, losses))
