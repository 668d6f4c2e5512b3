"""Certificates of circumcenters of the cone of consistent costs, recomputed from the raw arrays.

Rays inside the cone C, with weights w_k >= 0 of sum 1, bound the largest angle of every unit vector theta from below:
min_k <theta, e_k> <= ||sum_k w_k e_k||.

Decisions and the prior set bound C from outside: g_k . c <= 0 for their slopes and normals g_k. Let h be a convex function
with h(a c) = a h(c) for a >= 0. A cover is a tree of simplicial cones over all of space, in which a cone is split at a point of
it, and each leaf has multipliers y >= 0. If every corner v of every leaf has

    h(v) - (sum_k y_k g_k) . v   <=   t theta . v,

then every consistent c = sum_i a_i v_i, a_i >= 0, of that leaf has h(c) <= sum_i a_i h(v_i) <= t theta . c. With
h(c) = ||c - <theta, c> theta|| for a unit vector theta no consistent cost is farther from theta than arctan t; with the
distance from the cone of the rays, and any unit vector for theta, none is outside of it by more than t of its length.

Rays of programmes are known to rounding: at a ray e a decision may save up to eps ||e||_inf. So all costs c are called
consistent at which none saves more than eps ||c||_inf, the rays among them, and g_k . c <= eps ||c||_inf is what decisions say.
Then eps (sum of the y_k of decisions) ||v||_inf is to be added to the left-hand side at every corner v, since
||c||_inf <= sum_i a_i ||v_i||_inf. The claim names eps where it is not 0.

An ellipsoid around the ends of rays has no smaller volume than (x - c)' S^-1 (x - c) <= n, c and S being their weighted mean
and covariance in n dimensions, whatever the weights; blown up until it holds all ends it is one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.core.certificate import Certificate, Statement, rounded_up
from surefoot.core.enclosure import Enclosure, enclose, join
from surefoot.inverse.certificate.certificate import NEAR, conclude, is_cone, require_cost, sizes
from surefoot.inverse.certificate.cost_bound import decisions_flaw, proof_cuts
from surefoot.inverse.certificate.cost_ellipsoid import log_det, spanned
from surefoot.inverse.certificate.decision_bound import decision_bounds
from surefoot.inverse.certificate.observation import cuts, exact_loss, exact_product, listed

if TYPE_CHECKING:
    from surefoot.inverse.problem.decision_proof import LossProof
    from surefoot.inverse.problem.distance import Distance
    from surefoot.inverse.problem.problem import Example, InverseProblem
    from surefoot.inverse.problem.ray_proof import RayProof

# Radians between a cost vector and the centre of an ellipsoid, and between a consistent cost and the cone of the rays.
SAME_RAY = 1e-6


@np.errstate(all="ignore")
def certify_rays(
    problem: InverseProblem,
    theta: FloatArray,
    proof: RayProof,
    tolerance: float,
    *,
    ellipsoid: bool = False,
    loss_proofs: Sequence[Sequence[LossProof | None]] | None = None,
) -> Certificate:
    """Judge a circumcenter: bounds are on the largest angle, in radians, or on the logarithm of the ellipsoid's volume.

    ``loss_proofs`` prove, for every ray and observation, that the ray explains the observation, where decisions cannot be
    listed; without them the rays are taken on trust, which is then said and not verified.
    """
    require_cost(problem, theta, tolerance)
    flaw = decisions_flaw(problem, proof.owners, proof.points) or _rays_flaw(problem, proof)
    saved, trust = (0.0, "") if flaw else _explained(problem, proof.rays, loss_proofs)
    saves = f"; costs count as consistent at which no decision saves more than {rounded_up(saved, 3)} times their largest entry"
    upper, lower, scope = np.inf, -np.inf, saves if saved else ""
    if not flaw:
        weights, ends = enclose(np.maximum(proof.weights, 0.0)), _unit(enclose(proof.rays))
        weights = weights / weights.sum()
        middle = (weights @ ends)[None, :]
        axis = _unit(enclose(theta)[None, :]) if theta.any() else enclose(np.zeros((1, theta.size)))
        spread = _spread(problem, axis[0], proof, saved, ends if ellipsoid else None)
        # Beyond a right angle a sum of rays may be farther than each of them.
        upper = float(np.arctan(spread)) * (1.0 + 2.0**-49) if spread < np.inf else np.pi
        # It falls from pi to 0; NumPy's arccos is taken to be right to 4 units in the last place, as its exp and log are.
        lower = float(np.arccos(np.clip((middle * middle).sum().sqrt().high, -1.0, 1.0))) * (1.0 - 2.0**-49)
        flaw = "" if proof.complete else "the cone of consistent costs has too many rays to list"
    if not flaw and ellipsoid:
        off = axis - _unit(middle)
        if spread > 0.999 * SAME_RAY:  # a sine
            flaw = "consistent costs may lie outside of the cone that the rays of the proof span"
        elif float((off * off).sum().sqrt().high) > SAME_RAY:
            flaw = "the cost vector is not the centre of the ellipsoid"
        else:
            scope += f"; every consistent cost lies within {SAME_RAY:g} rad of the cone that these span"
        upper, lower, flat = _volumes(weights, ends)
        trust = trust or flat
    models = "ellipsoid around the ends of the rays" if ellipsoid else "cost vector"
    quantity = "log volume" if ellipsoid else "largest angle to a consistent cost"
    words = Statement(models, quantity, scope, flaw=flaw, trust=trust)
    return conclude(problem, words, {"theta": theta}, (upper, lower), tolerance, proof, 1.0 if ellipsoid else 0.1)


def _rays_flaw(problem: InverseProblem, proof: RayProof) -> str:
    prior, rays, weights = problem.prior, proof.rays, proof.weights
    fits = rays.dtype == np.float64 and rays.shape == (len(weights), prior.lower.size) and len(weights) > 0
    if not fits or not np.isfinite(rays).all() or not np.isfinite(weights).all() or not weights.max() > 0:
        return "the proof is refused because rays and weights do not fit"
    if prior.psd or not is_cone(prior):
        return "the prior set is no cone of linear conditions"
    inside = np.all((rays >= prior.lower) & (rays <= prior.upper)) and np.abs(rays).max(axis=1).min() > 0
    if not inside or any(exact_product(row, ray) > 0 for row in prior.matrix for ray in rays):
        return "the proof is refused because one of its rays is 0, or lies outside the prior set"
    return ""


def _explained(problem: InverseProblem, rays: FloatArray, proofs: Any) -> tuple[float, str]:
    """What no decision saves more than at a ray, per unit of its largest entry, and what is not proven of that, or nothing.

    More than rounding is not what anybody means by a consistent cost, so that nothing is verified by such rays.
    """
    nothing, trust, saved = replace(problem.distance, continuous="none", integer="none"), "", 0.0
    for k, ray in enumerate(rays):
        bounds = decision_bounds(problem.examples, ray, nothing, None if proofs is None else proofs[k])
        rounding = NEAR * (sizes(problem)[1] * np.abs(ray)).max(axis=1)
        for example, bound, most in zip(problem.examples, bounds, rounding, strict=True):
            if bound <= 0 or (bound < np.inf and _ties(example, ray, nothing)):
                continue
            if not bound <= most:
                trust = trust or f"ray {k} of the proof explains observation {example.instance.index}"
            if bound < np.inf:
                saved = max(saved, float((enclose(bound) / float(np.abs(ray).max())).high))
    return saved, trust


def _ties(example: Example, ray: FloatArray, nothing: Distance) -> bool:
    """Whether listed decisions that may save something save nothing: decided without rounding."""
    points = listed(example.instance.decisions)
    if points is None or hasattr(example.instance.features, "inner"):
        return False
    steep = cuts([(example, points)], nothing)[0]
    return all(exact_loss(example, x, ray) <= 0 for x in points[(steep @ ray).high > 0])


def _unit(rays: Enclosure) -> Enclosure:
    return rays / (rays * rays).sum(axis=1).sqrt()[:, None]


def _spread(problem: InverseProblem, theta: Enclosure, proof: RayProof, saved: float, ends: Enclosure | None) -> float:
    """t of the module docstring, for the distance from the axis, or from the cone of ``ends``; infinite if none is proven."""
    prior, cover, eye = problem.prior, proof.cover, np.eye(problem.prior.lower.size)
    steep = proof_cuts(problem, proof.owners, proof.points)[0]
    normals = join([steep, -eye[prior.lower == 0], eye[prior.upper == 0], prior.matrix])
    found = None if cover is None else _leaves(cover, *normals.shape)
    if found is None or cover is None:
        return np.inf
    corners, leaves = found
    if ends is not None:
        if cover.mixes.shape != (corners.shape[0], ends.shape[0]) or not np.all(cover.mixes >= 0) or not cover.axis.any():
            return np.inf
        theta = _unit(enclose(cover.axis)[None, :])[0]
    toward = corners @ theta
    near = toward[:, None] * theta if ends is None else enclose(cover.mixes) @ ends
    height = ((corners - near) * (corners - near)).sum(axis=1).sqrt()
    pull = enclose(cover.prices) @ normals
    need, ahead = height[leaves] - (corners[leaves] * pull[:, None, :]).sum(axis=2), toward[leaves]
    need = need + (enclose(cover.prices[:, : steep.shape[0]]).sum(axis=1) * saved)[:, None] * abs(corners).max(axis=1)[leaves]
    front = ahead.low > 0
    t = float((need[front] / ahead[front]).high.max(initial=0.0))
    return t if np.isfinite(t) and np.all((need - t * ahead).high[~front] <= 0) else np.inf


def _leaves(cover: Any, n_normals: int, p: int) -> tuple[Enclosure, Any] | None:
    """Corners of all cones, and the places of those of every leaf; None if this is no cover.

    Unit vectors and minus their sum are the first corners, of which any p span a cone. A point with coefficients s >= 0 in a
    cone takes the place of each corner with s_i > 0: together these parts are the cone.
    """
    if cover.shares.shape != (int(cover.split.sum()), p) or not np.all((cover.shares >= 0) & (cover.shares < np.inf)):
        return None
    if not cover.shares.any(axis=1).all():  # a point of no corner splits nothing
        return None
    corners = [enclose(row)[None, :] for row in np.vstack((np.eye(p), -np.ones(p)))]
    open_ = [[k for k in range(p + 1) if k != left_out] for left_out in range(p + 1)]
    leaves = []
    for is_split in cover.split.tolist():
        if not open_:
            return None
        here = open_.pop()
        if not is_split:
            leaves.append(here)
            continue
        share, new = cover.shares[len(corners) - p - 1], len(corners)
        corners.append(enclose(share)[None, :] @ join([corners[k] for k in here]))
        open_ += [[new if j == i else k for j, k in enumerate(here)] for i in reversed(np.flatnonzero(share).tolist())]
    priced = cover.prices.shape == (len(leaves), n_normals) and np.all(cover.prices >= 0)
    return None if open_ or not priced else (join(corners), np.array(leaves))


def _volumes(weights: Enclosure, ends: Enclosure) -> tuple[float, float, str]:
    """Bounds on the log volume, and what is not proven about the dimension."""
    # Differences from one of k ends: no rounding makes more than k - 1 directions of them.
    plane = spanned(ends[1:] - ends[0])
    n = plane.shape[1]
    if n == 0:
        return 0.0, 0.0, "" if ends.shape[0] == 1 else "the rays are one ray"
    flat = (ends - weights @ ends) @ enclose(plane)
    value, turn, rest = log_det((flat * weights[:, None]).transposed @ flat)
    spread = (value + n * enclose(float(n)).log()) * 0.5
    turned = flat @ enclose(turn.T)
    largest = ((turned * turned).sum(axis=1) / (1.0 - enclose(rest))).max()
    blown = spread + n * 0.5 * (largest / float(n)).maximum(1.0).log()
    full = n == min(ends.shape[0] - 1, ends.shape[1])
    return float(blown.high), float(spread.low), "" if full else f"the ends of the rays lie in a plane of {n} dimensions"
