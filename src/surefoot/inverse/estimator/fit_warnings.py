"""What is told after a fit: that it is not proven, or that its cost is of no use, and what to do about it.

A cost of 0 prices all decisions alike. A cost for which none of the observed decisions is a best one explains nothing. A
caller's solver that answers alike whatever things cost makes every cost a guess. None of this contradicts a certificate: the
best of useless answers is still the best.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np

from surefoot.core.certificate import rounded_up
from surefoot.core.outcome import Status
from surefoot.core.solve_options import SolveOptions
from surefoot.exceptions import ConvergenceLimitWarning, WeakModelWarning, ZeroCostWarning
from surefoot.inverse.estimator.deaf_solver import deafness
from surefoot.inverse.forward.models.called_model import as_forward
from surefoot.inverse.forward.programs import CallableProblem
from surefoot.inverse.oracle.cut_separation import Separation
from surefoot.inverse.problem.distance import NO_DISTANCE
from surefoot.inverse.problem.predicted_distances import tied_costs
from surefoot.inverse.problem.problem import InverseProblem
from surefoot.sklearn_api.limit_warning import warn_of_limit


def warn_of_fit(model: Any, problem: InverseProblem, separation: Separation, options: SolveOptions) -> None:
    """Warn of what is wrong with a fitted model; called by its fit."""
    nothing, certificate = not np.any(model.cost_), model.certificate_
    limited = model.outcome_.status in (Status.ITERATION_LIMIT, Status.TIME_LIMIT)
    doubt = "" if options.out_of_time else deafness(problem, separation)
    if doubt:
        text = f"InverseOptimizer learned from a forward solver about which there is a doubt: {doubt}"
        warnings.warn(text, WeakModelWarning, stacklevel=3)
    if model.approach == "predictability" and not limited and 0 < certificate.upper_bound < np.inf:
        warnings.warn(
            "No cost was found that predicts all observed decisions; this one's mean distance is at most "
            f"{rounded_up(certificate.upper_bound, 9)}. Certificates of predictability prove no lower bound but 0: "
            "such a cost is never verified, one of approach='suboptimality' can be.",
            ConvergenceLimitWarning,
            stacklevel=3,
        )
    elif limited or not (certificate.verified or certificate.trust):
        lost = " found no cost but 0, which prices all decisions alike, and" if nothing else ""
        advice = "" if limited else unit_advice(problem)
        warn_of_limit(SimpleNamespace(outcome=model.outcome_, certificate=certificate), f"InverseOptimizer{lost}", advice)
    elif certificate.trust and not isinstance(as_forward(model.forward), CallableProblem):
        warnings.warn(
            f"InverseOptimizer is optimal only provided that {certificate.trust}, which was not recomputed.",
            ConvergenceLimitWarning,
            stacklevel=3,
        )
    elif nothing:
        why = _why_zero(problem, certificate.upper_bound)
        warnings.warn(f"The best cost is 0, which prices all decisions alike: {why}", ZeroCostWarning, stacklevel=3)
    elif not options.out_of_time and _explains_nothing(model, problem, separation, options):
        count = (
            f"none of the {problem.n_examples} observed decisions is"
            if problem.n_examples > 1
            else "the observed decision is not"
        )
        warnings.warn(
            f"The learned cost explains nothing: {count} a best one for it. As far as the features tell, the decisions "
            "contradict each other, or the prior or the centre outweighs them. Give features that tell the decisions apart, a "
            "wider prior, or a smaller kappa.",
            WeakModelWarning,
            stacklevel=3,
        )


def unit_advice(problem: InverseProblem) -> str:
    """What to do about columns of very different sizes, or nothing."""
    # Imported where it is needed: a fit imports the solver that it runs and no other.
    from surefoot.inverse.exact.balanced_units import unit_advice as advice

    return advice(problem)


def _why_zero(problem: InverseProblem, objective: float) -> str:
    if np.all(problem.prior.lower >= 0) and np.all(problem.prior.upper <= 0):
        return "the prior set holds no other cost. Give a wider prior."
    if problem.distance.absent:
        return (
            "without a distance nothing is lost by that. Give a distance, a prior that excludes 0 (prior='simplex'), or "
            "approach='suboptimality', which seeks a cost of one norm."
        )
    if objective <= 0:
        return (
            "no decision that is open is at a distance from the observed one, so that there is nothing to learn from. Give "
            "observations with a choice, or another distance."
        )
    return (
        "as far as this model can see, the decisions contradict each other, or kappa outweighs them. Give features that tell "
        "the decisions apart, a smaller kappa, a prior that excludes 0 (prior='simplex'), or approach='suboptimality'."
    )


def _explains_nothing(model: Any, problem: InverseProblem, separation: Separation, options: SolveOptions) -> bool:
    """Whether every observation has a decision that costs less than the observed one.

    Where decisions are whole or listed: of continuous ones a little noise leaves none the best.
    """
    if problem.hard or not model.certificate_.upper_bound > 0:
        return False
    if not all(example.inside and bool(example.instance.decisions.whole.all()) for example in problem.examples):
        return False
    forward = as_forward(model.forward)
    if isinstance(forward, CallableProblem) and not forward.exact:
        return False
    plain = replace(problem, distance=NO_DISTANCE)
    found, _ = separation.losses(plain, model.cost_, seconds=options.seconds_left)
    return bool(np.all(found > tied_costs(plain, model.cost_)))
