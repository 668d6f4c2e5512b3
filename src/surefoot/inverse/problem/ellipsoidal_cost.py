"""Costs at the centre of an ellipsoid of costs: equations (12) and (26) of Zattoni Scroccaro et al. (2024).

    min over theta, A of   -kappa log det A + (1/N) sum_i loss_i(theta, A),     ||theta||_2 <= 1,  theta in Theta,

    loss_i(theta, A) = max over x in X(s_i) of   g(x) . theta + ||A g(x)||_2,     g(x) = phi(s_i, x_i) - phi(s_i, x).

With ``hard`` losses must be 0 at most and kappa is 1: the ellipsoidal incenter; otherwise this is the ellipsoidal augmented
suboptimality loss.

For weights w_k >= 0 of decisions (summing to at most 1/N per observation; any, if hard) and vectors u_k of length at most 1,
||A g_k|| >= u_k . A g_k, so with G = sum_k w_k g_k and M the symmetric part of sum_k w_k u_k g_k',

    objective >= min over theta of G . theta  +  min over A of <A, M> - kappa log det A
              =  -||[G]||_2  +  kappa p (1 - log kappa) + kappa log det M,

if M is positive definite; [G] leaves out what the bounds of Theta forbid to be of use. Theta has bounds that are 0 or infinite.

Few observations leave directions in which no g(x) has a component. There the ellipsoid is not bounded, and log det A has no
largest value. Its extent there says nothing either: a matrix without cross terms has the larger determinant (Fischer) and the
shorter A g, so the best theta and the best extent in the other directions do not depend on it. With the columns of B an
orthonormal basis of all g(x), A is therefore B' A B above, of order r instead of p, and g(x) in ||A g(x)|| and M is B' g(x).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from surefoot.core.arrays import FloatArray, IntArray
from surefoot.exceptions import UnsupportedProblemError
from surefoot.inverse.problem.problem import InverseProblem

# Singular values below this fraction of the largest are 0: features are constant in such a direction.
RANK_FRACTION = 1e-9


@dataclass(frozen=True, eq=False, repr=False)
class EllipsoidalCost:
    """A cost vector and the positive semidefinite matrix of the ellipsoid around it."""

    theta: FloatArray
    shape: FloatArray


@dataclass(frozen=True, eq=False, repr=False)
class EllipsoidProof:
    """Weighted decisions, with a vector of length at most 1 each."""

    owners: IntArray
    points: tuple[FloatArray, ...]
    weights: FloatArray
    directions: FloatArray


def moving_directions(slopes: FloatArray) -> FloatArray:
    """The basis B of the module docstring, as columns: the identity where features vary in every direction."""
    p = slopes.shape[1]
    largest = float(np.abs(slopes).max(initial=0.0))
    if largest == 0:
        raise UnsupportedProblemError(
            "no observation has decisions that differ in their features, so that every ellipsoid of costs explains them."
        )
    _, size, axes = np.linalg.svd(np.linalg.qr(slopes / largest, mode="r"))
    rank = int((size > RANK_FRACTION * float(size[0])).sum())
    return np.eye(p) if rank == p else np.ascontiguousarray(axes[:rank].T)


def ellipsoid_objective(problem: InverseProblem, cost: EllipsoidalCost, losses: FloatArray, moving: FloatArray) -> float:
    """-kappa log det A plus the mean of given losses, or without them if they must not be above 0."""
    sign, value = np.linalg.slogdet(moving.T @ cost.shape @ moving)
    if sign <= 0:
        return np.inf
    return float(-problem.kappa * value + (0.0 if problem.hard else losses.mean()))


def ellipsoid_bound(problem: InverseProblem, slopes: FloatArray, proof: EllipsoidProof, moving: FloatArray) -> float:
    """The bound of the module docstring; ``slopes`` are those of the proof's decisions."""
    n, order, kappa = problem.n_examples, moving.shape[1], problem.kappa
    weights = np.maximum(proof.weights, 0.0)
    if not problem.hard:
        sums = np.bincount(proof.owners, weights=weights, minlength=n)
        scale = np.divide(np.minimum(sums, 1.0 / n), sums, out=np.zeros(n), where=sums > 0)
        weights = weights * scale[proof.owners]
    length = np.linalg.norm(proof.directions, axis=1)
    unit = proof.directions / np.maximum(length, 1.0)[:, None]
    moment = moving.T @ ((unit * weights[:, None]).T @ slopes) @ moving
    sign, value = np.linalg.slogdet((moment + moment.T) / 2)
    if sign <= 0 or np.linalg.eigvalsh((moment + moment.T) / 2)[0] <= 0:
        return -np.inf
    gradient = weights @ slopes
    useful = np.where(gradient > 0, problem.prior.lower < 0, problem.prior.upper > 0)
    return float(-np.linalg.norm(gradient[useful]) + kappa * order * (1.0 - np.log(kappa)) + kappa * value)
