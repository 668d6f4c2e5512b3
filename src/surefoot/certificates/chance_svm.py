"""The verdict on a chance-constrained SVM.

    lower bound  <=  objective of every plane,      upper bound = objective of the plane at hand,

both recomputed from the samples with NumPy, the Gram matrix in blocks. The lower bound is the dual of
:mod:`surefoot.problems.chance_svm` (Lemma 1 of the paper) at a coefficient c_s for every sample. Whatever coefficients are
given, the bound is that of a feasible point near them:

- a batch whose y_i sum_s c_s is not positive is left out; one above C_i is scaled down to it;
- deviations from the mean that are longer than the ellipsoid allows are shortened to it;
- the class with the larger sum is scaled down, so that all coefficients add up to 0.

So an infeasible mix is not refused but pays: its bound is lower. Nothing here knows how plane and mix were found.
"""

from __future__ import annotations

import numpy as np

from surefoot.certificates.certificate import Certificate
from surefoot.certificates.robust_logistic import require_tolerance
from surefoot.exceptions import CertificateError
from surefoot.problems.arrays import FloatArray
from surefoot.problems.chance_svm import ChanceSVMProblem, EllipsoidMix, KernelPlane

_EPS = float(np.finfo(np.float64).eps)


def certify_chance_svm(
    problem: ChanceSVMProblem, plane: KernelPlane, mix: EllipsoidMix | None, tolerance: float
) -> Certificate:
    """Judge a plane and what is said to prove it best.

    Parameters
    ----------
    problem : ChanceSVMProblem
    plane : KernelPlane
    mix : EllipsoidMix or None
        Without one the lower bound is 0, since no objective is negative.
    tolerance : float
        The relative gap to prove; what rounding may cost is allowed on top.

    Returns
    -------
    Certificate
        ``witness`` is the mix.

    Raises
    ------
    CertificateError
        If the problem's own arrays break its conventions, or plane or mix do not have one finite coefficient per sample.
    """
    require_tolerance(tolerance)
    try:
        problem.check()
    except ValueError as flaw:
        raise CertificateError(f"the problem breaks its own conventions: {flaw}") from flaw
    _require_coefficients(problem, "plane", plane.coefficients)
    if not np.isfinite(plane.intercept):
        raise CertificateError(f"the plane's intercept is {plane.intercept}.")
    feasible, weights, reserve = np.zeros(problem.n_samples), np.zeros(problem.n_batches), 0.0
    if mix is not None:
        _require_coefficients(problem, "mix", mix.coefficients)
        feasible, weights, reserve = feasible_mix(problem, mix.coefficients)
    values = problem.values(np.stack((plane.coefficients, feasible), axis=1))
    squared_length = max(float(plane.coefficients @ values[:, 0]), 0.0)
    upper = 0.5 * squared_length + problem.hinge(problem.demands(values[:, 0], squared_length), plane.intercept)
    length = np.sqrt(max(float(feasible @ values[:, 1]), 0.0))
    lower = max(0.0, float(weights.sum()) - 0.5 * max(0.0, length - reserve) ** 2)
    return _verdict(problem, upper, lower, _rounding(problem, plane, feasible), tolerance, mix)


def feasible_mix(problem: ChanceSVMProblem, coefficients: FloatArray) -> tuple[FloatArray, FloatArray, float]:
    """A feasible dual point near the coefficients: its own coefficients, the weights alpha_i, and R of the dual's objective."""
    signs = np.repeat(problem.labels, problem.sizes)
    given = problem.sums(signs * coefficients)
    weights = np.clip(given, 0.0, problem.costs)
    scale = np.where(given > 0, weights / np.where(given > 0, given, 1.0), 0.0)
    # tau_i sqrt(p_s) g_s of the module docstring of the problem: what is left beside the mean.
    beside = np.repeat(scale, problem.sizes) * signs * coefficients - np.repeat(weights, problem.sizes) * problem.weights
    lengths = np.sqrt(problem.sums(beside * beside / problem.weights))
    allowed = problem.tau * weights
    beside *= np.repeat(np.where(lengths > allowed, allowed / np.where(lengths > 0, lengths, 1.0), 1.0), problem.sizes)
    # Coordinates beside the mean add up to 0; rounding may have left something.
    beside -= np.repeat(problem.sums(beside), problem.sizes) * problem.weights
    totals = {label: float(weights[problem.labels == label].sum()) for label in (-1.0, 1.0)}
    least = min(totals.values())
    share = np.array([least / totals[label] if totals[label] > 0 else 0.0 for label in problem.labels.tolist()])
    mixed = signs * np.repeat(share, problem.sizes) * (np.repeat(weights, problem.sizes) * problem.weights + beside)
    weights = share * weights
    coordinates = share * np.minimum(lengths, allowed) / problem.tau
    spare = np.sqrt(np.maximum(weights * weights - coordinates * coordinates, 0.0))
    reserve = float(problem.tau * np.sqrt(problem.covariance_radius) @ spare + problem.mean_radius @ weights)
    return mixed, weights, reserve


def _require_coefficients(problem: ChanceSVMProblem, name: str, coefficients: FloatArray) -> None:
    if coefficients.shape != (problem.n_samples,):
        raise CertificateError(
            f"the {name} has coefficients of shape {coefficients.shape}; there are {problem.n_samples} samples."
        )
    wrong = np.flatnonzero(~np.isfinite(coefficients))
    if wrong.size:
        raise CertificateError(f"coefficient {wrong[0]} of the {name} is {coefficients[wrong[0]]}.")


def _rounding(problem: ChanceSVMProblem, plane: KernelPlane, mix: FloatArray) -> float:
    """What rounding may cost both bounds: sums of many products err like the root of their number."""
    longest = float(problem.kernel.diagonal(problem.samples).max())
    sizes = [float(np.abs(part).sum()) for part in (plane.coefficients, mix)]
    quadratic = sum(size * size for size in sizes) * longest
    linear = float(problem.costs.sum()) * (1.0 + abs(plane.intercept) + sizes[0] * longest)
    return 4 * _EPS * float(np.sqrt(problem.n_samples)) * (quadratic + linear)


def _verdict(
    problem: ChanceSVMProblem, upper: float, lower: float, rounding: float, tolerance: float, mix: EllipsoidMix | None
) -> Certificate:
    gap = upper - lower
    relative_gap = gap / upper if upper > 0 else gap
    consistent = gap >= -rounding
    verified = bool(consistent and gap <= tolerance * abs(upper) + rounding)
    if verified:
        claim = (
            f"No plane has an objective below {lower:.10g} on these batches; this one has {upper:.10g}, so it is optimal to a "
            f"relative gap of {max(relative_gap, 0.0):.1e} (asked for: {tolerance:.1e})."
        )
    else:
        reason = (
            f"the relative gap {relative_gap:.1e} is above the tolerance {tolerance:.1e}"
            if consistent
            else "the bounds contradict each other, so at least one of them is wrong"
        )
        claim = (
            f"Not proven optimal: this plane has an objective of {upper:.10g}, and none has one below {lower:.10g}; {reason}."
        )
    return Certificate(
        claim=claim,
        upper_bound=upper,
        lower_bound=lower,
        gap=gap,
        relative_gap=relative_gap,
        tolerance=tolerance,
        witness=mix,
        verified=verified,
        problem_digest=problem.digest(),
    )
