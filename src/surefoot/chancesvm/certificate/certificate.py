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

Where inputs were given by their moments, samples stand for them; see :mod:`surefoot.chancesvm.certificate.moment_distance`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from surefoot.chancesvm.certificate.inner_products import InnerProducts
from surefoot.chancesvm.certificate.moment_distance import MOMENTS, moment_distance
from surefoot.core.arrays import BoolArray, FloatArray
from surefoot.core.certificate import Certificate, Statement, digest, verdict
from surefoot.core.definite import inverse_form
from surefoot.core.enclosure import Enclosure, choose, enclose, join
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
        if not (np.array_equal(answer[0].samples, problem.samples) and answer[0].kernel == problem.kernel):
            raise CertificateError("answers are judged together only if their problems have the same samples and kernel.")
    products = InnerProducts(problem.kernel, problem.samples)
    batches = [_Batches(problem) for problem, _, _ in answers]
    mixes = [own.mix(None if mix is None else mix.coefficients) for own, (_, _, mix) in zip(batches, answers, strict=True)]
    planes = np.stack([plane.coefficients for _, plane, _ in answers], axis=1)
    mixed = join([mix.coefficients[:, None] for mix in mixes], axis=1)
    if products.landmarks is None:
        used = np.flatnonzero(np.any([planes.any(axis=1), *(mix.used for mix in mixes)], axis=0))
        values, lengths = products.evaluated(used, join((planes, mixed), axis=1))
        squares, flaw = lengths[len(answers) :], ""
    else:
        found = products.evaluated_on_landmarks(products.landmarks, enclose(planes), mixed)
        values, lengths, squares = *found[:2], inverse_form(found[3], found[2])
        outside = np.delete(planes, products.landmarks, axis=0).any()
        flaw = "a plane uses samples that are no landmarks" if outside else ""
    return [
        verdict(
            _statement(products, own, flaw),
            upper=np.inf if flaw else float(own.objective(lengths[at], values[:, at], float(plane.intercept)).high),
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
    """Feasible coefficients and where they may differ from 0, the sum of all alpha_i, and R."""

    coefficients: Enclosure
    used: BoolArray
    total: Enclosure
    reserve: Enclosure

    def bound(self, square: Enclosure) -> Enclosure:
        left = (square.maximum(0.0).sqrt() - self.reserve).maximum(0.0)
        return self.total - left * left * 0.5


class _Batches:
    """The batches of a problem, in enclosures."""

    def __init__(self, problem: ChanceSVMProblem) -> None:
        self.problem, self.count = problem, problem.labels.size
        self.batch = np.repeat(np.arange(self.count), np.diff(problem.starts))
        self.weights = enclose(problem.weights) / self.sums(enclose(problem.weights))[self.batch]
        self.tau = ((1.0 - enclose(problem.violation)) / problem.violation).sqrt()
        self.given = moment_distance(problem, self.weights)

    def sums(self, values: Enclosure) -> Enclosure:
        return values.sums_by_place(self.batch, self.count)

    def objective(self, square: Enclosure, values: Enclosure, intercept: float) -> Enclosure:
        """The objective of a plane with this ||w||^2 and these values w . phi(x_s)."""
        problem, square = self.problem, square.maximum(0.0)
        means = self.sums(self.weights * values)
        beside = values - means[self.batch]
        further, wider = enclose(problem.mean_radius), enclose(problem.covariance_radius)
        if self.given is not None:
            further, wider = further + self.given.mean, wider + self.given.covariance
        spread = (self.sums(self.weights * (beside * beside)) + square * wider).maximum(0.0).sqrt()
        demand = 1.0 - (means + intercept) * problem.labels + self.tau * spread + square.sqrt() * further
        return square * 0.5 + (demand.maximum(0.0) * problem.costs).sum()

    def mix(self, given: FloatArray | None) -> _Mix:
        """The feasible mix made from any coefficients."""
        problem, labels, nothing = self.problem, self.problem.labels, np.zeros(self.batch.size)
        signed = enclose(nothing if given is None else labels[self.batch] * given)
        alpha = self.sums(signed)
        beside = signed - alpha[self.batch] * self.weights
        lengths = self.sums(beside * beside / self.weights).maximum(0.0).sqrt()
        # Doubles that are certainly small enough: alpha_i scale_i <= C_i and l_i shrink_i <= tau_i alpha_i.
        scale = np.where(alpha.low > 0, _below_one(problem.costs, alpha.high), 0.0)
        shrink = _below_one((self.tau * alpha).low, lengths.high)
        weights = alpha * scale
        one, other = weights[labels > 0].sum(), weights[labels < 0].sum()
        if not (one.low > 0 and other.low > 0):
            return _Mix(enclose(nothing), nothing > 0, enclose(0.0), enclose(0.0))
        heavy = 1.0 if one.mid >= other.mid else -1.0
        ratio = other / one if heavy > 0 else one / other
        balance = choose(labels == heavy, ratio, 1.0) * _below_one(np.array(1.0), ratio.high)
        weights = weights * balance
        moved = beside * (scale * shrink)[self.batch] * balance[self.batch]
        lengths = lengths * (scale * shrink) * balance
        room = self.tau * weights
        spare = (room * room - lengths * lengths).maximum(0.0).sqrt() * enclose(problem.covariance_radius).sqrt()
        reserve = (spare + weights * problem.mean_radius).sum()
        if self.given is not None:
            reserve = reserve - (room * self.given.shortfall() + weights * self.given.mean).sum()
        coefficients = (weights[self.batch] * self.weights + moved) * labels[self.batch]
        return _Mix(coefficients, scale[self.batch] > 0, weights.sum(), reserve)


def _below_one(numerator: FloatArray, divisor: FloatArray) -> FloatArray:
    """Doubles at or below 1 and at or below the quotients."""
    return np.where(numerator >= divisor, 1.0, np.clip((enclose(numerator) / divisor).low, 0.0, 1.0))


def _statement(products: InnerProducts, own: _Batches, flaw: str) -> Statement:
    models, remarks = f"plane of {products.words()}", []
    if products.landmarks is not None:
        models = f"plane that combines these {products.landmarks.size} landmarks by {products.words()}"
        remarks = [f"Nothing is said about planes that use more of the {products.samples.shape[0]} samples."]
    if own.given is not None and own.given.least.min() < 0:
        remarks += ["Some covariances may have negative eigenvalues: variances count as 0 where these make them negative."]
    scope = "on these batches" if own.given is None else "on these means and covariances"
    return Statement(models, "objective", scope, flaw=flaw, remark=" ".join(remarks))


def _problem_digest(own: _Batches, products: InnerProducts) -> str:
    names = ("samples", "starts", "weights", *PER_BATCH) + (() if own.given is None else MOMENTS)
    parts = {name: getattr(own.problem, name) for name in names}
    called = products.matrix if products.name == "callable" else None
    seen = {"landmarks": products.landmarks, "centre": products.centre, "matrix": called}
    return digest(f"chance-constrained SVM {products.words()}", parts | seen)


def _is_sound(problem: ChanceSVMProblem) -> bool:
    """Whether shapes and numbers are those that ChanceSVMProblem asks for."""
    starts, count, sizes = problem.starts, problem.samples.shape[0], np.diff(problem.starts)
    return bool(
        (problem.samples.ndim, starts.ndim, problem.weights.shape) == (2, 1, (count,))
        and (sizes.size >= 2 and sizes.min() > 0 and starts[0] == 0 and starts[-1] == count)
        and all(
            part.shape == sizes.shape and np.isfinite(part).all() for part in [getattr(problem, name) for name in PER_BATCH]
        )
        and (np.isfinite(problem.samples).all() and np.isfinite(problem.weights).all() and problem.weights.min() > 0)
        and np.abs(np.add.reduceat(problem.weights, starts[:-1]) - 1.0).max() <= WEIGHT_SLACK
        and (set(problem.labels.tolist()) == {-1.0, 1.0} and problem.costs.min() > 0)
        and (problem.violation.min() > 0 and problem.violation.max() < 1)
        and min(problem.mean_radius.min(), problem.covariance_radius.min()) >= 0
    )


def _require_answer(problem: ChanceSVMProblem, plane: KernelPlane, mix: EllipsoidMix | None) -> None:
    if not _is_sound(problem):
        raise CertificateError("the problem breaks its own conventions, those of ChanceSVMProblem for shapes and numbers.")
    for name, given in (("plane", plane.coefficients), ("mix", plane.coefficients if mix is None else mix.coefficients)):
        if np.shape(given) != problem.weights.shape or not np.isfinite(given).all():
            raise CertificateError(f"the {name} needs a finite coefficient for each sample, {problem.weights.size} in all.")
    if not np.isfinite(plane.intercept):
        raise CertificateError(f"the plane's intercept is {plane.intercept}.")
