"""The verdict on a robust logistic model.

    lower bound  <=  min over beta, lambda of F(beta, lambda)  <=  upper bound = F(beta, lambda) of the model at hand.

Both sides are recomputed from the raw arrays with NumPy:

- ``objective``: an enclosure of the objective of the model, its worst case found by the prefix argument;
- ``checked_plan``: is the plan a plan at all;
- ``weak_duality``: weak duality, with a residual penalty from the bounds of ``coefficient_bounds``;
- ``curvature_bound``: where that is not enough (radius 0, tiny radii, infinite weights), the curvature of the loss at the
  model.

Every one of these is a valid bound, so the larger lower bound counts. The loss is positive, so 0 is a lower bound whatever
the plan; it is what remains when a plan is missing, refused or worthless. Nothing here knows how the model or the plan were
found.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from surefoot.core.certificate import Certificate, require_tolerance
from surefoot.exceptions import CertificateError
from surefoot.robust.certificate.checked_plan import RefusedPlanError, check_plan
from surefoot.robust.certificate.curvature_bound import curvature_bound
from surefoot.robust.certificate.objective import WorstCaseObjective, worst_case_objective
from surefoot.robust.certificate.weak_duality import weak_duality_bound
from surefoot.robust.problem.coefficient_bounds import coefficient_bounds, numeric_centre
from surefoot.robust.problem.problem import RobustCoefficients, RobustLogisticProblem, ShiftPlan
from surefoot.robust.problem.terms import Terms


def _require_sound_problem(problem: RobustLogisticProblem) -> None:
    """A certificate about arrays that break the conventions would be about no problem at all."""
    try:
        problem.check()
    except ValueError as flaw:
        raise CertificateError(f"the problem breaks its own conventions: {flaw}") from flaw


def require_shapes(problem: Terms, coefficients: RobustCoefficients) -> None:
    """Raise if these are not the coefficients of such a problem."""
    shapes = {"intercept": (), "numeric": (problem.n_numeric,), "levels": (int(problem.level_offsets[-1]),), "price": ()}
    for name, shape in shapes.items():
        value = np.asarray(getattr(coefficients, name))
        if value.shape != shape or value.dtype.kind not in "fiu":
            raise CertificateError(
                f"coefficients.{name} is {value.dtype} of shape {value.shape}; real numbers of shape {shape} belong here."
            )


def flaw(problem: Terms, coefficients: RobustCoefficients) -> str | None:
    """Why these numbers are not a model of this problem, or None."""
    numbers = np.concatenate(([coefficients.intercept], coefficients.numeric, coefficients.levels))
    if not np.isfinite(numbers).all():
        return "a coefficient is not a finite number"
    # With radius 0 any price is free, and one that is high enough may be written as inf.
    if not coefficients.price >= 0 or (np.isinf(coefficients.price) and problem.radius > 0):
        return f"the price {coefficients.price} is not a finite number at or above 0"
    if coefficients.intercept != 0 and not problem.fit_intercept:
        return f"the intercept is {coefficients.intercept} although the model has none"
    moved = np.flatnonzero(coefficients.levels[problem.level_offsets[:-1]])
    if moved.size:
        value = coefficients.levels[problem.level_offsets[moved[0]]]
        return f"the reference level of categorical column {moved[0]} has coefficient {value} instead of 0"
    return None


def _lower_bound(
    problem: RobustLogisticProblem,
    coefficients: RobustCoefficients,
    plan: ShiftPlan,
    objective: WorstCaseObjective,
    tolerance: float,
) -> float:
    checked = check_plan(problem, plan)
    centre = numeric_centre(problem)
    bounds = coefficient_bounds(problem, ceiling_on_optimum(objective, float(problem.weights.sum())), centre)
    enough = objective.value * (1.0 - tolerance)
    # Absurdly large coefficients overflow somewhere on the way; the bound is then inf or NaN and proves nothing.
    with np.errstate(over="ignore", invalid="ignore"):
        lower = weak_duality_bound(checked, centre, bounds)
        # The second bound costs a dense Hessian: it is only worked out where the first leaves something to prove.
        if not lower >= enough:
            lower = np.nanmax((lower, curvature_bound(checked, coefficients, centre, bounds, enough=enough), 0.0))
    return max(float(lower), 0.0) if np.isfinite(lower) else 0.0


def _claim(
    upper: float, lower: float, relative_gap: float, tolerance: float, verified: bool, radius: float, reason: str
) -> str:
    loss = "worst-case log loss" if radius > 0 else "log loss"
    if verified:
        return (
            f"No model whatsoever has a {loss} below {lower:.10g} on these data; this one has {upper:.10g}, "
            f"so it is optimal to a relative gap of {relative_gap:.1e} (asked for: {tolerance:.1e})."
        )
    sentence = (
        f"Not proven optimal: this model has a {loss} of {upper:.10g}, and no model whatsoever has one below {lower:.10g}"
    )
    if not reason:
        reason = f"the relative gap {relative_gap:.1e} is above the tolerance {tolerance:.1e}"
    return f"{sentence}; {reason}."


def ceiling_on_optimum(objective: WorstCaseObjective, total_weight: float) -> float:
    """A number that the optimum cannot exceed: beta = 0, lambda = 0 is a model too, with loss log 2."""
    return min(objective.value + objective.rounding, float(np.log(2.0)) * total_weight * (1.0 + 1e-12))


def verdict(
    objective: WorstCaseObjective, lower: float, witness: Any, reason: str, tolerance: float, *, radius: float, digest: str
) -> Certificate:
    """What an objective and a lower bound amount to; ``reason`` says why the bound is poor, if somebody knows."""
    upper = objective.value
    gap = upper - lower
    relative_gap = gap / upper if 0 < upper < np.inf else gap
    consistent = gap >= -objective.rounding
    if np.isfinite(upper) and not consistent:
        reason = "the bounds contradict each other, so at least one of them is wrong"
    verified = bool(np.isfinite(upper) and consistent and relative_gap <= tolerance)
    return Certificate(
        claim=_claim(upper, lower, relative_gap, tolerance, verified, radius, reason),
        upper_bound=upper,
        lower_bound=lower,
        gap=gap,
        relative_gap=relative_gap,
        tolerance=tolerance,
        witness=witness,
        verified=verified,
        problem_digest=digest,
    )


def certify_robust_logistic(
    problem: RobustLogisticProblem, coefficients: RobustCoefficients, plan: ShiftPlan | None, tolerance: float
) -> Certificate:
    """Judge a model and the plan that is said to prove it optimal.

    Parameters
    ----------
    problem : RobustLogisticProblem
    coefficients : RobustCoefficients
        The model. A price too low for its numeric coefficients is raised to the smallest admissible one.
    plan : ShiftPlan or None
        The adversary's plan. Without one, or with one that is refused, the lower bound is 0.
    tolerance : float
        The relative gap to prove.

    Returns
    -------
    Certificate
        ``verified`` only if both bounds are finite, consistent and within the tolerance; ``witness`` is the plan, if accepted.

    Raises
    ------
    CertificateError
        If shapes do not fit the problem, or the problem's own arrays break its conventions.
    """
    require_tolerance(tolerance)
    _require_sound_problem(problem)
    require_shapes(problem.terms, coefficients)
    objective = WorstCaseObjective(value=np.inf, rounding=np.inf, price=np.inf)
    reason = flaw(problem.terms, coefficients) or ""
    lower, witness = 0.0, None
    if not reason:
        objective = worst_case_objective(problem, coefficients)
        if not np.isfinite(objective.value):
            reason = "its scores are too large for double precision"
        elif plan is None:
            reason = "there is no plan to prove a better bound"
        else:
            try:
                lower = _lower_bound(problem, coefficients, plan, objective, tolerance)
                witness = plan
            except RefusedPlanError as refusal:
                reason = f"the plan is refused because {refusal}"
    return verdict(objective, lower, witness, reason, tolerance, radius=problem.radius, digest=problem.digest())
