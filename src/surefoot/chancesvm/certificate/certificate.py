"""The verdict on a chance-constrained SVM: bounds that hold for real numbers, recomputed from the samples.

Batch i has a label y_i, a cost C_i and samples with weights p_s that sum to 1 within it (given weights are divided by their
sum), hence a mean mu_i and a covariance Sigma_i in feature space. With tau_i = sqrt((1 - eps_i) / eps_i) a plane (w, b) has the

    objective   1/2 ||w||^2 + sum_i C_i max(0, 1 - y_i (w . mu_i + b) + tau_i sqrt(w' Sigma_i w + v_i ||w||^2) + r_i ||w||).

Upper bound: the objective of the plane at hand, w = sum_s c_s phi(x_s).

Lower bound, from any coefficients c. Let alpha_i = y_i sum_{s in i} c_s and e_s = y_i c_s - alpha_i p_s, which add up to 0 in a
batch. If  0 <= alpha_i <= C_i,  sum_i y_i alpha_i = 0  and  l_i^2 = sum_{s in i} e_s^2 / p_s <= tau_i^2 alpha_i^2,  then
C_i max(0, t) >= alpha_i t and Cauchy's inequality give, for every plane,

    objective >= sum_i alpha_i + 1/2 ||w||^2 - w . g + R ||w|| >= sum_i alpha_i - 1/2 max(0, ||g|| - R)^2,
    g = sum_s c_s phi(x_s),    R = sum_i (sqrt(v_i) sqrt(tau_i^2 alpha_i^2 - l_i^2) + r_i alpha_i).

Coefficients that are not feasible are made so: batches with a sum that may not be positive are left out, those above C_i and
deviations longer than tau_i alpha_i are scaled down by what their enclosures need, and the heavier class is scaled down to the
weight of the other one. So an infeasible mix is not refused; its bound is lower.

Landmarks. Among the w that combine some samples S only, w . g <= ||w|| ||P g|| with P the projection onto their span. With K
their inner products and f = (phi(x_j) . g) for j in S,  ||P g||^2 = f' K^-1 f.

Where inputs were given by their moments, samples stand for them; see :mod:`surefoot.chancesvm.certificate.moment_inputs`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from surefoot.chancesvm.certificate.inner_products import InnerProducts
from surefoot.chancesvm.certificate.moment_inputs import MOMENTS, MomentInputs
from surefoot.core.arrays import BoolArray, FloatArray
from surefoot.core.certificate import Certificate, Statement, digest, verdict
from surefoot.core.enclosure import Enclosure, choose, enclose, exact_dot, join
from surefoot.exceptions import CertificateError

if TYPE_CHECKING:
    from surefoot.chancesvm.problem.problem import ChanceSVMProblem, EllipsoidMix, KernelPlane

    Answer = tuple[ChanceSVMProblem, KernelPlane, EllipsoidMix | None]

# Given weights of a batch add up to 1 within this.
WEIGHT_SLACK = 1e-9
PER_BATCH = ("labels", "costs", "violation", "mean_radius", "covariance_radius")


def certify_chance_svm(
    problem: ChanceSVMProblem, plane: KernelPlane, mix: EllipsoidMix | None, tolerance: float
) -> Certificate:
    """Judge a plane and what is said to prove it best; without a mix the lower bound is 0, since no objective is negative.

    Raises
    ------
    CertificateError
        If the problem's own arrays break its conventions, or plane or mix do not have one finite coefficient per sample.
    """
    return certify_chance_svms([(problem, plane, mix)], tolerance)[0]


@np.errstate(all="ignore")
def certify_chance_svms(answers: Sequence[Answer], tolerance: float) -> list[Certificate]:
    """Judge answers to problems on the same samples with the same kernel, whose products are computed once for all of them."""
    problem = answers[0][0]
    for answer in answers:
        _require_answer(*answer)
        same = np.array_equal(answer[0].samples, problem.samples) and answer[0].kernel is problem.kernel
        if not same or (getattr(answer[0], "means", None) is None) != (getattr(problem, "means", None) is None):
            raise CertificateError("answers are judged together only if their problems have the same samples and kernel.")
    products = InnerProducts(problem.kernel, problem.samples)
    batches = [_Batches(problem, products.origin) for problem, _, _ in answers]
    mixes = [own.mix(mix) for own, (_, _, mix) in zip(batches, answers, strict=True)]
    planes = np.stack([plane.coefficients for _, plane, _ in answers], axis=1)
    points = join([mix.point[:, None] for mix in mixes], axis=1)
    used = np.flatnonzero(np.any([planes.any(axis=1), *(mix.used for mix in mixes)], axis=0))
    values, lengths, squares = (batches[0].given or products).evaluated(planes, points, used)
    return [
        verdict(
            _statement(products, own),
            upper=float(own.objective(lengths[at], values[:, at], float(plane.intercept)).high),
            lower=max(0.0, float(mixes[at].bound(squares[at]).low)),
            tolerance=tolerance,
            witness=mix,
            problem_digest=_problem_digest(own, products),
            model_digest=digest("plane", {"coefficients": plane.coefficients, "intercept": plane.intercept}),
        )
        for at, (own, (problem, plane, mix)) in enumerate(zip(batches, answers, strict=True))
    ]


@dataclass(frozen=True)
class _Mix:
    """g as coefficients of samples, or as it is; which samples it may use; the sum of all alpha_i, and R."""

    point: Enclosure
    used: BoolArray
    total: Enclosure
    reserve: Enclosure

    def bound(self, square: Enclosure) -> Enclosure:
        left = (square.maximum(0.0).sqrt() - self.reserve).maximum(0.0)
        return self.total - left * left * 0.5


class _Batches:
    """The batches of a problem, in enclosures."""

    def __init__(self, problem: ChanceSVMProblem, centre: FloatArray) -> None:
        self.problem, self.count = problem, problem.labels.size
        self.batch = np.repeat(np.arange(self.count), np.diff(problem.starts))
        self.weights = enclose(problem.weights) / self.sums(enclose(problem.weights))[self.batch]
        self.tau = ((1.0 - enclose(problem.violation)) / problem.violation).sqrt()
        # Earlier files have no place for moments.
        by_moments = any(getattr(problem, name, None) is not None for name in ("means", "covariances"))
        self.given = MomentInputs(problem, centre) if by_moments else None

    def sums(self, values: Enclosure) -> Enclosure:
        return values.sums_by_place(self.batch, self.count)

    def moments(self, values: Enclosure) -> tuple[Enclosure, Enclosure]:
        """w . mu_i and w' Sigma_i w, from the values w . phi(x_s)."""
        means = self.sums(self.weights * values)
        beside = values - means[self.batch]
        return means, self.sums(self.weights * (beside * beside))

    def objective(self, square: Enclosure, values: Enclosure, intercept: float) -> Enclosure:
        """The objective of a plane with this ||w||^2 and these values w . phi(x_s), or this w if moments were given."""
        problem, square = self.problem, square.maximum(0.0)
        means, variances = self.moments(values) if self.given is None else self.given.moments(values)
        spread = (variances + square * problem.covariance_radius).maximum(0.0).sqrt()
        demand = 1.0 - (means + intercept) * problem.labels + self.tau * spread + square.sqrt() * problem.mean_radius
        return square * 0.5 + (demand.maximum(0.0) * problem.costs).sum()

    def mix(self, given: EllipsoidMix | None) -> _Mix:
        """The feasible mix made from any coefficients, and any directions if moments were given."""
        problem, labels = self.problem, self.problem.labels
        coefficients = np.zeros(self.batch.size) if given is None else given.coefficients
        signed = enclose(labels[self.batch] * coefficients)
        alpha = self.sums(signed)
        beside = signed - alpha[self.batch] * self.weights
        squares = self.sums(beside * beside / self.weights)
        if self.given is not None:
            beside, squares = self.given.images(getattr(given, "directions", None))
        lengths = squares.maximum(0.0).sqrt()
        # Doubles that are certainly small enough: alpha_i scale_i <= C_i and l_i shrink_i <= tau_i alpha_i.
        scale = np.where(alpha.low > 0, _below_one(problem.costs, alpha.high), 0.0)
        shrink = _below_one((self.tau * alpha).low, lengths.high)
        excess = exact_dot(scale[self.batch], coefficients)
        heavier = labels == np.sign(excess.mid)
        balance = choose(heavier, (1.0 - abs(excess) / (alpha * scale)[heavier].sum()) * scale, scale)
        weights, moved, lengths = alpha * balance, balance * shrink, lengths * shrink * balance
        room = self.tau * weights
        spare = (room * room - lengths * lengths).maximum(0.0).sqrt() * enclose(problem.covariance_radius).sqrt()
        reserve = (spare + weights * problem.mean_radius).sum()
        if self.given is None:
            point = (weights[self.batch] * self.weights + beside * moved[self.batch]) * labels[self.batch]
            # What was feasible stays as it is, to the last digit.
            point = choose((~heavier & (np.minimum(scale, shrink) == 1.0))[self.batch], coefficients, point)
        else:
            point = ((self.given.means * weights[:, None] + beside * moved[:, None]) * labels[:, None]).sum(axis=0)
        return _Mix(point, scale[self.batch] > 0, weights.sum(), reserve)


def _below_one(numerator: FloatArray, divisor: FloatArray) -> FloatArray:
    """Doubles at or below 1 and at or below the quotients."""
    return np.where(numerator >= divisor, 1.0, np.clip((enclose(numerator) / divisor).low, 0.0, 1.0))


def _statement(products: InnerProducts, own: _Batches) -> Statement:
    models, remark, scope = f"plane of {products.words()}", "", "on these batches"
    if products.landmarks is not None:
        seen = "" if products.centre is None else ", seen from a centre,"
        models = f"plane that combines these {products.landmarks.size} landmarks{seen} by {products.words()}"
        remark = f"Nothing is said about planes that use more of the {products.samples.shape[0]} samples."
    if own.given is not None:
        widened = own.problem.widening
        scope = "on these means and covariances" + f" (all variances times 1 + {widened!r})" * (widened > 0)
    scope += _units(own)
    return Statement(models, "objective at these prices of slack and violations", scope, remark=remark)


def _units(own: _Batches) -> str:
    """What was done to the rows before they were these samples."""
    named = {"standardized": ", whose columns are in standard units", "borrowed": ", with deviations borrowed from each other"}
    return "".join(words for name, words in named.items() if getattr(own.problem, name, False) is True)


def _problem_digest(own: _Batches, products: InnerProducts) -> str:
    names = ("samples", "starts", "weights", *PER_BATCH) + (() if own.given is None else MOMENTS)
    parts = {name: getattr(own.problem, name) for name in names}
    called = products.matrix if products.name == "callable" else None
    seen = {"landmarks": products.landmarks, "centre": products.centre, "matrix": called}
    return digest(f"chance-constrained SVM {products.words()}{_units(own)}", parts | seen)


def _require_answer(problem: ChanceSVMProblem, plane: KernelPlane, mix: EllipsoidMix | None) -> None:
    starts, count, sizes = problem.starts, problem.samples.shape[0], np.diff(problem.starts)
    sound = (problem.samples.ndim, starts.ndim, problem.weights.shape) == (2, 1, (count,))
    sound = sound and sizes.size >= 2 and sizes.min() > 0 and starts[0] == 0 and starts[-1] == count
    sound = sound and all(getattr(problem, name).shape == sizes.shape for name in PER_BATCH)
    # Doubles: products of whole numbers may overflow, and large ones are rounded where they meet doubles.
    numbers = [getattr(problem, name) for name in ("samples", "weights", *PER_BATCH)]
    sound = sound and all(part.dtype == np.float64 and np.isfinite(part).all() for part in numbers)
    if not (
        sound
        and (problem.weights.min() > 0 and np.abs(np.add.reduceat(problem.weights, starts[:-1]) - 1.0).max() <= WEIGHT_SLACK)
        and (set(problem.labels.tolist()) == {-1.0, 1.0} and problem.costs.min() > 0)
        and (problem.violation.min() > 0 and problem.violation.max() < 1)
        and min(problem.mean_radius.min(), problem.covariance_radius.min()) >= 0
    ):
        raise CertificateError("the problem breaks its own conventions, those of ChanceSVMProblem for shapes and numbers.")
    for name, given in (("plane", plane.coefficients), ("mix", plane.coefficients if mix is None else mix.coefficients)):
        if given.shape != problem.weights.shape or given.dtype != np.float64 or not np.isfinite(given).all():
            raise CertificateError(f"the {name} needs a finite coefficient for each sample, {problem.weights.size} in all.")
    if not np.isfinite(plane.intercept):
        raise CertificateError(f"the plane's intercept is {plane.intercept}.")
