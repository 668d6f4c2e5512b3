"""The approaches to inverse optimization by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from surefoot.core.outcome import SolveOutcome, Status
from surefoot.core.solve_options import SolveOptions
from surefoot.exceptions import InconsistentDataError
from surefoot.inverse.exact.circumcenter import circumcenter, ellipsoidal_circumcenter
from surefoot.inverse.exact.consistent_cost import CONFLICT, center, on_sphere
from surefoot.inverse.exact.constraint_generation import LossCuts
from surefoot.inverse.exact.cut_pool import CutPool
from surefoot.inverse.exact.ellipsoidal_master import Ellipsoidal, hardened
from surefoot.inverse.exact.predictability_search import predictability
from surefoot.inverse.exact.quadratic_cost import QuadraticCost
from surefoot.inverse.problem.distance import NO_DISTANCE
from surefoot.inverse.problem.problem import InverseProblem, Regularizer

# A solved problem, and what was found: the problem says what the bounds are about.
Answer = tuple[InverseProblem, SolveOutcome[Any, Any]]


def augmented(solver: LossCuts, problem: InverseProblem, options: SolveOptions) -> Answer:
    """The augmented suboptimality loss.

    Without a regularizer, data that some cost explains leave many costs without loss: the incenter is taken then.
    """
    if problem.prior.psd:
        return problem, QuadraticCost(solver).solve(problem, options)
    if problem.kappa > 0 or problem.distance.absent or not problem.scalable:
        return problem, solver.solve(problem, options)
    pool = CutPool(problem)
    outcome = solver.solve(replace(problem, hard=True, kappa=1.0, clamp=True), options, pool)
    if np.isfinite(outcome.upper_bound):
        # A larger multiple of a consistent cost has no loss, and rounding has no say in that.
        theta = outcome.primal * (1.0 + 1e-6)
        return problem, replace(outcome, primal=theta, upper_bound=0.0, lower_bound=0.0, dual=None)
    if outcome.status is not Status.STALLED and np.any(outcome.primal):
        # Cut short: the cost met last explains most observations, and says more than 0.
        losses = solver.losses(problem, outcome.primal)[1]
        return problem, replace(outcome, upper_bound=problem.objective(outcome.primal, losses), lower_bound=0.0, dual=None)
    return problem, solver.solve(problem, options, pool)


def incenter(solver: LossCuts, problem: InverseProblem, options: SolveOptions) -> Answer:
    """Equation (13)."""
    return replace(problem, hard=True, kappa=1.0), center(solver, problem, options)


def suboptimality(solver: LossCuts, problem: InverseProblem, options: SolveOptions) -> Answer:
    """The suboptimality loss over costs of norm 1."""
    task = replace(problem, distance=NO_DISTANCE)
    return task, on_sphere(solver, task, options)


def feasibility(solver: LossCuts, problem: InverseProblem, options: SolveOptions) -> Answer:
    """Equation (5): any consistent cost."""
    task = replace(problem, distance=NO_DISTANCE, kappa=0.0)
    found = on_sphere(solver, task, options, any_consistent=True)
    if found.lower_bound > CONFLICT:
        raise InconsistentDataError(
            f"no cost vector of norm 1 explains all observations: the mean suboptimality is {found.lower_bound:.3g} or more, "
            "whatever the cost. approach='asl' learns from inconsistent data.",
            task,
            found,
        )
    return task, found


def cutting_plane(solver: LossCuts, problem: InverseProblem, options: SolveOptions) -> Answer:
    """The consistent cost nearest to a first guess in the l1 norm (Wang, 2009); if there is none, the least suboptimality.

    The guess is the regularizer's centre, or equal costs if that is 0.
    """
    guess = problem.regularizer.center
    if not np.any(guess):
        guess = np.full(problem.n_features, 1.0 / problem.n_features)
    task = replace(problem, distance=NO_DISTANCE, hard=True, kappa=1.0, regularizer=Regularizer("l1", guess))
    found = solver.solve(task, options)
    if found.status is Status.STALLED or np.abs(found.primal).max() <= 1e-7 * np.abs(guess).max():
        # Only 0 is consistent, or nothing is.
        return suboptimality(solver, replace(problem, kappa=0.0), options)
    return task, found


def ellipsoidal_incenter(solver: LossCuts, problem: InverseProblem, options: SolveOptions) -> Answer:
    """Equation (12)."""
    start = center(solver, problem, options)
    return hardened(problem), Ellipsoidal().solve(hardened(problem), options, start.primal)


def ellipsoidal_loss(solver: LossCuts, problem: InverseProblem, options: SolveOptions) -> Answer:
    """Equation (26)."""
    if problem.kappa <= 0:
        raise ValueError("approach='ellipsoidal-asl' needs kappa above 0: nothing else bounds the ellipsoid from below.")
    start = solver.solve(problem, options)
    return problem, Ellipsoidal().solve(problem, options, start.primal)


APPROACHES: dict[str, Callable[[LossCuts, InverseProblem, SolveOptions], Answer]] = {
    "asl": augmented,
    "incenter": incenter,
    "suboptimality": suboptimality,
    "feasibility": feasibility,
    "cutting-plane": cutting_plane,
    "circumcenter": circumcenter,
    "ellipsoidal-incenter": ellipsoidal_incenter,
    "ellipsoidal-circumcenter": ellipsoidal_circumcenter,
    "ellipsoidal-asl": ellipsoidal_loss,
    "predictability": predictability,
}
