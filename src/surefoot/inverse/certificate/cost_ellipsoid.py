"""Certificates of costs with an ellipsoid around them, recomputed from the raw arrays.

    min -kappa log det A + (1/N) sum_i max over x of g(x) . theta + ||A g(x)||,     ||theta|| <= 1,

is bounded by weights w_k and vectors u_k of length at most 1 (||A g|| >= u . A g): with G = sum_k w_k g_k and M the symmetric
part of sum_k w_k u_k g_k', the objective is at least -||[G]|| + kappa p (1 - log kappa) + kappa log det M; [G] leaves out what
the bounds of Theta forbid to be of use. Where all g(x) lie in a subspace, A is an ellipsoid in that subspace.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.core.certificate import Certificate, Statement, rounded_up
from surefoot.core.enclosure import Enclosure, between, enclose
from surefoot.inverse.certificate.certificate import NEAR, conclude, require_cost
from surefoot.inverse.certificate.cost_bound import decisions_flaw, proof_cuts
from surefoot.inverse.certificate.observation import cuts, listed

if TYPE_CHECKING:
    from surefoot.inverse.problem.ellipsoidal_cost import EllipsoidalCost, EllipsoidProof
    from surefoot.inverse.problem.problem import InverseProblem

# Singular values below this fraction of the largest are 0: features do not vary in such a direction.
RANK_FRACTION = 1e-9


@np.errstate(all="ignore")
def certify_ellipsoid(
    problem: InverseProblem, cost: EllipsoidalCost, proof: EllipsoidProof | None, tolerance: float
) -> Certificate:
    """Judge a cost with an ellipsoid around it and what is said to prove it best."""
    require_cost(problem, cost.theta, tolerance)
    prior, kappa, n, p = problem.prior, problem.kappa, len(problem.examples), cost.theta.size
    points = [listed(example.instance.decisions) for example in problem.examples]
    pairs = [(example, each) for example, each in zip(problem.examples, points, strict=True) if each is not None]
    flaw, remark, upper, lower, moving = "", "", np.inf, -np.inf, np.eye(p)
    if len(pairs) < n:
        flaw = "the decisions are too many to be listed, and nothing was checked"
    elif cost.shape.shape != (p, p) or not np.isfinite(cost.shape).all() or kappa <= 0:
        flaw = "the ellipsoid has no finite matrix of this order, or kappa is not above 0"
    if not flaw:
        steep = cuts(pairs, problem.distance)[0]
        moving = _moving(steep.mid)
        inner = enclose(moving.T) @ ((enclose(cost.shape) + cost.shape.T) * 0.5) @ enclose(moving)
        extent = steep @ (enclose(moving) @ inner)
        values = (steep @ cost.theta + (extent * extent).sum(axis=1).sqrt()).high
        losses = np.maximum.reduceat(values, np.cumsum([0, *(len(each) for _, each in pairs)])[:-1]).clip(0.0)
        outside = max(0.0, float(np.max(prior.lower - cost.theta)), float(np.max(cost.theta - prior.upper)))
        longer = float(((enclose(cost.theta) * cost.theta).sum().sqrt() - 1.0).high)
        if max(longer, outside) > NEAR:
            flaw = "the cost vector is longer than 1, or outside its prior set"
        elif problem.hard and losses.max() > NEAR * steep.size.max():
            reached = problem.examples[int(np.argmax(losses))].instance.index
            flaw = f"the room around the cost reaches a decision of observation {reached}"
        else:
            over = max(longer, outside, losses.max() if problem.hard else 0.0)
            remark = f"It meets its conditions to within {rounded_up(over, 3)}." if over > 0 else ""
            room = log_det(inner)
            mean = enclose(0.0) if problem.hard else enclose(losses).sum() / float(n)
            upper = np.inf if room is None else float((mean - kappa * room[0]).high)
    if proof is not None and not flaw:
        flaw = decisions_flaw(problem, proof.owners, proof.points)
        if not flaw and not (len(proof.owners) == len(proof.weights) == len(proof.directions)):
            flaw = "the proof is refused because its parts differ in number"
        lower = -np.inf if flaw else _room_bound(problem, proof, moving)
    where = "" if moving.shape[1] == p else f", with room in the {moving.shape[1]} of {p} directions in which decisions vary"
    losses_in = "0 at most" if problem.hard else "its mean loss added"
    words = Statement(
        f"cost vector of the prior set, of length 1 at most, and ellipsoid around it{where}",
        f"objective ({kappa:g} times minus the log determinant of the ellipsoid, losses being {losses_in})",
        flaw=flaw,
        remark=remark,
    )
    answer = {"theta": cost.theta, "shape": cost.shape}
    return conclude(problem, words, answer, (upper, lower), tolerance, proof, kappa)


def _moving(every: FloatArray) -> FloatArray:
    """Columns that span all slopes: the identity where they vary in every direction."""
    p = every.shape[1]
    _, size, axes = np.linalg.svd(np.linalg.qr(every / (np.abs(every).max(initial=0.0) or 1.0), mode="r"))
    rank = int((size > RANK_FRACTION * max(float(size.max(initial=0.0)), 1e-300)).sum())
    return np.eye(p) if rank == p else np.ascontiguousarray(axes[:rank].T)


def log_det(form: Enclosure) -> tuple[Enclosure, Enclosure, float] | None:
    """log det of a positive definite matrix, T with T form T' = I + X, and a bound on the row sums of |X|; None if unproven."""
    axes = np.linalg.eigh((form.mid + form.mid.T) / 2)[1]
    n = len(axes)
    turned, near = (enclose(axes.T) @ part @ enclose(axes) for part in (form, enclose(np.eye(n))))
    diagonal = turned[np.arange(n), np.arange(n)]
    if not diagonal.low.min() > 0:
        return None
    root = diagonal.sqrt()
    rest = [float(abs(part - np.eye(n)).sum(axis=1).high.max()) for part in (turned / root[:, None] / root[None, :], near)]
    if max(rest) > 0.25:
        return None
    # |log det(I + X)| <= -n log(1 - ||X||) <= 2 n ||X|| for ||X|| <= 1/4; so for V' V.
    slack = enclose(2.0 * n) * (enclose(rest[0]) + rest[1])
    value = diagonal.log().sum()
    return between((value - slack).low, (value + slack).high), enclose(axes.T) / root[:, None], rest[0]


def _room_bound(problem: InverseProblem, proof: EllipsoidProof, moving: FloatArray) -> float:
    """The lower bound of the module docstring; -inf if it proves nothing."""
    n, order, kappa, prior = len(problem.examples), moving.shape[1], enclose(problem.kappa), problem.prior
    sort = np.argsort(proof.owners, kind="stable")
    if len(sort) == 0 or not (np.isfinite(proof.weights).all() and np.isfinite(proof.directions).all()):
        return -np.inf
    owners, weights = proof.owners[sort], enclose(np.maximum(proof.weights[sort], 0.0))
    if not problem.hard:
        sums = weights.sums_by_place(owners, n)
        weights = weights / (sums * n).maximum(1.0)[owners]
    along = enclose(proof.directions[sort])
    unit = along / (along * along).sum(axis=1).sqrt().maximum(1.0)[:, None]
    steep = proof_cuts(problem, proof.owners, proof.points)[0]
    moment = enclose(moving.T) @ ((unit * weights[:, None]).transposed @ steep) @ enclose(moving)
    found = log_det((moment + moment.transposed) * 0.5)
    if found is None:
        return -np.inf
    gradient = weights @ steep
    useful = ((gradient.high > 0) & (prior.lower < 0)) | ((gradient.low < 0) & (prior.upper > 0))
    length = (gradient[useful] * gradient[useful]).sum().sqrt()
    return float((-length + kappa * float(order) * (1.0 - kappa.log()) + kappa * found[0]).low)
