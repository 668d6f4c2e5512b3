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
from surefoot.inverse.certificate.certificate import NEAR, READ, conclude, outside_of, require_cost
from surefoot.inverse.certificate.cost_bound import decisions_flaw, proof_cuts, shared_weights
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
    kappa, p, theta = problem.kappa, cost.theta.size, enclose(cost.theta)
    points = [listed(example.instance.decisions) for example in problem.examples]
    pairs = [(example, each) for example, each in zip(problem.examples, points, strict=True) if each is not None]
    flaw, remark, upper, lower, where = "", "", np.inf, -np.inf, ""
    if len(pairs) < len(points):
        flaw = "the decisions are too many to be listed, and nothing was checked"
    elif not all(len(each) for _, each in pairs):
        flaw = "an observation has no decision"
    elif cost.shape.shape != (p, p) or not np.isfinite(cost.shape).all() or kappa <= 0:
        flaw = "the ellipsoid has no finite matrix of this order, or kappa is not above 0"
    elif proof is not None:
        flaw = decisions_flaw(problem, proof.owners, proof.points)
        if not len(proof.owners) == len(proof.weights) == len(proof.directions):
            flaw = "the proof is refused because its parts differ in number"
    if not flaw:
        steep = cuts(pairs, problem.distance)[0]
        moving = spanned(steep)
        if moving.shape[1] < p:
            where = f", flat but for the {moving.shape[1]} of {p} directions in which decisions vary"
        inner = enclose(moving.T) @ ((enclose(cost.shape) + cost.shape.T) * 0.5) @ enclose(moving)
        extent = steep @ (enclose(moving) @ inner)
        values = (steep @ theta + (extent * extent).sum(axis=1).sqrt()).high
        losses = np.maximum.reduceat(values, np.cumsum([0, *(len(each) for _, each in pairs)])[:-1]).clip(0.0)
        longer = float(((theta * theta).sum().sqrt() - 1.0).high)
        outside = max(longer, outside_of(problem.prior, cost.theta))
        if outside > NEAR:
            flaw = "the cost vector is longer than 1, or outside its prior set"
        elif not np.isfinite(losses).all() or not all(example.inside or problem.clamp for example in problem.examples):
            flaw = "losses are too large for doubles, or a response is no decision"
        elif problem.hard and losses.max() > NEAR * (steep.size * np.abs(cost.theta)).max():
            reached = problem.examples[int(np.argmax(losses))].instance.index
            flaw = f"the room around the cost reaches a decision of observation {reached}"
        else:
            over = max(outside, losses.max() if problem.hard else 0.0)
            remark = f"It meets its conditions to within {rounded_up(max(over, READ), 3)}." if over > 0 else ""
            mean = enclose(0.0) if problem.hard else enclose(losses).sum() / float(len(losses))
            upper = float((mean - kappa * log_det(inner)[0]).high)
            lower = -np.inf if proof is None else _room_bound(problem, proof, moving)
    explaining = ", whose costs all explain the observations" if problem.hard else ""
    loss = "sum of the mean loss, with the worst cost of the ellipsoid, and" if not problem.hard else "value of"
    words = Statement(
        f"pair of a cost vector of the prior set, at most 1 long, and an ellipsoid around it{where}{explaining}",
        f"{loss} {kappa:g} times the negative log determinant of the ellipsoid",
        flaw=flaw,
        remark=remark,
    )
    answer = {"theta": cost.theta, "shape": cost.shape}
    return conclude(problem, words, answer, (upper, lower), tolerance, proof, kappa)


def spanned(rows: Enclosure) -> FloatArray:
    """Columns that span all rows, but for what may be rounding: the identity where these vary in every direction."""
    p, largest = rows.shape[1], float(np.abs(rows.mid).max(initial=0.0)) or 1.0
    _, size, axes = np.linalg.svd(np.linalg.qr(rows.mid / largest, mode="r"))
    noise = np.linalg.norm(rows.rad / largest)
    rank = int((size > max(RANK_FRACTION * float(size.max(initial=0.0)), float(noise), 1e-300)).sum())
    return np.eye(p) if rank == p else np.ascontiguousarray(axes[:rank].T)


def log_det(form: Enclosure) -> tuple[Enclosure, FloatArray, float]:
    """log det of a symmetric matrix, a triangular T with T form T' = I + X, and a bound on the row sums of |X|.

    Nothing is known of a matrix that is not proven positive definite: infinite radii.
    """
    n = form.shape[0]
    try:
        turn = np.tril(np.linalg.inv(np.linalg.cholesky(0.5 * form.mid + 0.5 * form.mid.T)))
    except np.linalg.LinAlgError:
        return between(-np.inf, np.inf), np.eye(n), np.inf
    rest = float(abs(enclose(turn) @ form @ enclose(turn.T) - np.eye(n)).sum(axis=1).high.max(initial=0.0))
    # |log det(I + X)| <= -n log(1 - ||X||) <= 2 n ||X|| for ||X|| <= 1/4.
    slack = float((enclose(2.0 * n) * rest).high) if rest <= 0.25 else np.inf
    return -2.0 * enclose(np.diagonal(turn)).log().sum() + between(-slack, slack), turn, rest


def _room_bound(problem: InverseProblem, proof: EllipsoidProof, moving: FloatArray) -> float:
    """The lower bound of the module docstring; -inf if it proves nothing."""
    kappa, prior = enclose(problem.kappa), problem.prior
    if not (np.isfinite(proof.weights).all() and np.isfinite(proof.directions).all()):
        return -np.inf
    # Losses are never below 0: that of the response itself.
    weights = shared_weights(problem, proof, np.ones(len(problem.examples), dtype=np.bool_))
    along, steep = enclose(proof.directions), proof_cuts(problem, proof.owners, proof.points)[0]
    unit = along / (along * along).sum(axis=1).sqrt().maximum(1.0)[:, None]
    moment = enclose(moving.T) @ ((unit * weights[:, None]).transposed @ steep) @ enclose(moving)
    gradient = weights @ steep
    useful = ((gradient.high > 0) & (prior.lower < 0)) | ((gradient.low < 0) & (prior.upper > 0))
    length = (gradient[useful] * gradient[useful]).sum().sqrt()
    room = float(moving.shape[1]) * (1.0 - kappa.log()) + log_det((moment + moment.transposed) * 0.5)[0]
    return float((kappa * room - length).low)
