"""The approaches by name: each poses a problem of its own over the same observations.

    asl                       (14), the regularised mean of augmented suboptimality losses
    suboptimality             the same without a distance, over costs of one norm
    predictability            (28), the distances of the best decisions from the observed ones, over costs of one norm
    ellipsoidal-asl           (26), as asl, with an ellipsoid of costs
    feasibility               (5), any consistent cost
    incenter                  (13), the consistent cost farthest from the boundary of the cone of consistent costs
    circumcenter              (7), the cost of least angle to all consistent ones
    ellipsoidal-incenter      (12), the centre of the largest ellipsoid of consistent costs
    ellipsoidal-circumcenter  (25), the centre of the smallest ellipsoid around the ends of the extreme rays
    cutting-plane             the consistent cost nearest to a guess in the l1 norm (Wang, 2009)

Equation numbers are those of Zattoni Scroccaro, Atasoy and Mohajerin Esfahani, "Learning in Inverse Optimization" (2024).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from surefoot.inverse.problem.distance import NO_DISTANCE
from surefoot.inverse.problem.problem import InverseProblem, Regularizer


@dataclass(frozen=True)
class Approach:
    """How an approach poses its problem.

    Attributes
    ----------
    pose : callable
        From the problem as it was given to the one that is solved: bounds and certificates are about the latter.
    is_mean_loss : bool
        Whether what is minimised is a regularised mean of losses over the prior set, which first-order methods can do.
    otherwise : str or None
        The approach to take, without a regularizer, where the posed problem is infeasible.
    """

    pose: Callable[[InverseProblem], InverseProblem]
    is_mean_loss: bool = False
    otherwise: str | None = None


def _as_given(problem: InverseProblem) -> InverseProblem:
    return problem


def _without_distance(problem: InverseProblem) -> InverseProblem:
    return replace(problem, distance=NO_DISTANCE)


def _feasibility(problem: InverseProblem) -> InverseProblem:
    return replace(problem, distance=NO_DISTANCE, kappa=0.0)


def _incenter(problem: InverseProblem) -> InverseProblem:
    return replace(problem, hard=True, kappa=1.0)


def _circumcenter(problem: InverseProblem) -> InverseProblem:
    return replace(problem, distance=NO_DISTANCE, hard=True, kappa=1.0)


def _nearest_consistent(problem: InverseProblem) -> InverseProblem:
    """The guess is the regularizer's centre, or equal costs if that is 0."""
    guess = problem.regularizer.center
    if not np.any(guess):
        guess = np.full(problem.n_features, 1.0 / problem.n_features)
    return replace(problem, distance=NO_DISTANCE, hard=True, kappa=1.0, regularizer=Regularizer("l1", guess))


def _ellipsoidal_loss(problem: InverseProblem) -> InverseProblem:
    if problem.kappa <= 0:
        raise ValueError("approach='ellipsoidal-asl' needs kappa above 0: nothing else bounds the ellipsoid from below.")
    return problem


APPROACHES: dict[str, Approach] = {
    "asl": Approach(_as_given, is_mean_loss=True),
    "incenter": Approach(_incenter),
    "suboptimality": Approach(_without_distance, is_mean_loss=True),
    "feasibility": Approach(_feasibility),
    "cutting-plane": Approach(_nearest_consistent, otherwise="suboptimality"),
    "circumcenter": Approach(_circumcenter),
    "ellipsoidal-incenter": Approach(_incenter),
    "ellipsoidal-circumcenter": Approach(_circumcenter),
    "ellipsoidal-asl": Approach(_ellipsoidal_loss),
    "predictability": Approach(_as_given),
}
