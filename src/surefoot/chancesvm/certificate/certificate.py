"""The verdict on a chance-constrained SVM.

    lower bound  <=  objective of every plane,      upper bound = objective of the plane at hand,

both recomputed from the samples with NumPy, the Gram matrix in blocks. The lower bound is the dual of
:mod:`surefoot.chancesvm.problem.problem` (Lemma 1 of the paper) at a coefficient c_s for every sample. Whatever coefficients
are given, the bound is that of a feasible point near them (:mod:`surefoot.chancesvm.problem.feasible_mix`): an infeasible mix
is not refused, its bound is lower. Nothing here knows how plane and mix were found.

If the problem is one on landmarks (:mod:`surefoot.chancesvm.problem.landmark_kernel`), the bound holds for planes that combine
them, and the claim says so.

Both bounds are computed in double precision and not widened by its errors; what these may amount to is estimated, and only the
verdict allows for it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from surefoot.chancesvm.problem.feasible_mix import FeasibleMix, feasible_mix
from surefoot.chancesvm.problem.landmark_kernel import LandmarkKernel
from surefoot.chancesvm.problem.problem import ChanceSVMProblem, EllipsoidMix, KernelPlane
from surefoot.core.arrays import FloatArray
from surefoot.core.certificate import Certificate, require_tolerance
from surefoot.exceptions import CertificateError

Answer = tuple[ChanceSVMProblem, KernelPlane, EllipsoidMix | None]
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
        The relative gap to prove; what rounding may cost is allowed in addition.

    Returns
    -------
    Certificate
        ``witness`` is the mix.

    Raises
    ------
    CertificateError
        If the problem's own arrays break its conventions, or plane or mix do not have one finite coefficient per sample.
    """
    return certify_chance_svms([(problem, plane, mix)], tolerance)[0]


def certify_chance_svms(answers: Sequence[Answer], tolerance: float) -> list[Certificate]:
    """Judge answers to problems on the same samples with the same kernel, whose products are computed once for all of them.

    Parameters
    ----------
    answers : sequence of tuple
        Problem, plane and mix of each, as for :func:`certify_chance_svm`.
    tolerance : float

    Raises
    ------
    CertificateError
        As :func:`certify_chance_svm`, and if samples or kernels differ.
    """
    require_tolerance(tolerance)
    for problem, plane, mix in answers:
        _require_answer(problem, plane, mix)
    first = answers[0][0]
    for problem, _, _ in answers:
        same = problem.samples is first.samples or np.array_equal(problem.samples, first.samples)
        if not (same and problem.kernel == first.kernel):
            raise CertificateError("answers are judged together only if their problems have the same samples and kernel.")
    nothing = np.zeros(first.n_samples)
    mixes = [feasible_mix(problem, nothing if mix is None else mix.coefficients) for problem, _, mix in answers]
    columns = [
        part for (_, plane, _), mix in zip(answers, mixes, strict=True) for part in (plane.coefficients, mix.coefficients)
    ]
    values = first.values(np.stack(columns, axis=1)).T
    return [
        _judged(*answer, feasible, values[2 * at : 2 * at + 2], tolerance)
        for at, (answer, feasible) in enumerate(zip(answers, mixes, strict=True))
    ]


def _judged(
    problem: ChanceSVMProblem,
    plane: KernelPlane,
    mix: EllipsoidMix | None,
    feasible: FeasibleMix,
    values: FloatArray,
    tolerance: float,
) -> Certificate:
    squared_length = max(float(plane.coefficients @ values[0]), 0.0)
    upper = 0.5 * squared_length + problem.hinge(problem.demands(values[0], squared_length), plane.intercept)
    lower = max(0.0, feasible.bound(values[1]))
    return _verdict(problem, upper, lower, _rounding(problem, plane, feasible.coefficients, values), tolerance, mix)


def _require_answer(problem: ChanceSVMProblem, plane: KernelPlane, mix: EllipsoidMix | None) -> None:
    try:
        problem.check()
    except ValueError as flaw:
        raise CertificateError(f"the problem breaks its own conventions: {flaw}") from flaw
    _require_coefficients(problem, "plane", plane.coefficients)
    if not np.isfinite(plane.intercept):
        raise CertificateError(f"the plane's intercept is {plane.intercept}.")
    if mix is not None:
        _require_coefficients(problem, "mix", mix.coefficients)


def _require_coefficients(problem: ChanceSVMProblem, name: str, coefficients: FloatArray) -> None:
    if coefficients.shape != (problem.n_samples,):
        raise CertificateError(
            f"the {name} has coefficients of shape {coefficients.shape}; there are {problem.n_samples} samples."
        )
    wrong = np.flatnonzero(~np.isfinite(coefficients))
    if wrong.size:
        raise CertificateError(f"coefficient {wrong[0]} of the {name} is {coefficients[wrong[0]]}.")


def _rounding(problem: ChanceSVMProblem, plane: KernelPlane, mix: FloatArray, values: FloatArray) -> float:
    """What rounding may cost both bounds, if the errors of sums are as independent as they look."""
    sizes = [float(np.linalg.norm(part)) for part in (plane.coefficients, mix)]
    quadratic = sum(size * float(np.linalg.norm(part)) for size, part in zip(sizes, values, strict=True))
    # Projections on landmarks are shorter, but they are made of the kernel's own products.
    kernel = problem.kernel.base if isinstance(problem.kernel, LandmarkKernel) else problem.kernel
    longest = float(kernel.diagonal(problem.samples).max())
    linear = float(np.linalg.norm(problem.costs)) * (1.0 + abs(plane.intercept) + sizes[0] * longest)
    return 16 * _EPS * (quadratic + linear)


def _verdict(
    problem: ChanceSVMProblem, upper: float, lower: float, rounding: float, tolerance: float, mix: EllipsoidMix | None
) -> Certificate:
    gap = upper - lower
    relative_gap = gap / upper if upper > 0 else gap
    consistent = gap >= -rounding
    among = of_them = beyond = ""
    if isinstance(problem.kernel, LandmarkKernel):
        among, of_them = f" that combines these {problem.kernel.places.size} landmarks", " among them"
        beyond = f" Nothing is said about planes that use more of the {problem.n_samples} samples."
    verified = bool(consistent and gap <= tolerance * abs(upper) + rounding)
    if verified:
        claim = (
            f"No plane{among} has an objective below {lower:.10g} on these batches; this one has {upper:.10g}, so it is optimal"
            f"{of_them} to a relative gap of {max(relative_gap, 0.0):.1e} (asked for: {tolerance:.1e}).{beyond}"
        )
    else:
        reason = (
            f"the relative gap {relative_gap:.1e} is above the tolerance {tolerance:.1e}"
            if consistent
            else "the bounds contradict each other, so at least one of them is wrong"
        )
        claim = (
            f"Not proven optimal: this plane has an objective of {upper:.10g}, and none{among} has one below {lower:.10g}; "
            f"{reason}.{beyond}"
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
