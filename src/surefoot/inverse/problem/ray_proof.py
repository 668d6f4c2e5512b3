"""The circumcenter of the cone of consistent costs: equations (7) and (25) of Zattoni Scroccaro et al. (2024).

    min over unit vectors theta of   max over unit vectors c in C of   the angle between theta and c.

If C is pointed, the largest angle is met at an extreme ray, and min over rays e of <theta, e> is to be made large. For rays e_k
in C with weights w_k >= 0 summing to 1, every unit vector theta has min_k <theta, e_k> <= ||sum_k w_k e_k||_2: a bound on how
small the angle can get. Decisions bound C from outside, so the extreme rays of the cone they leave bound the angle of theta.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from surefoot.core.arrays import BoolArray, FloatArray, IntArray
from surefoot.inverse.problem.prior_set import PriorSet


@dataclass(frozen=True, eq=False, repr=False)
class ConeCover:
    """Simplicial cones over all of space, none of which holds consistent costs far away; see ``certificate.cone_center``.

    The first corners are the unit vectors and minus their sum, of which any p span a cone.

    Attributes
    ----------
    split : ndarray of shape (nodes,)
        Cones in preorder, those of the first corners without the last one, without the one before it, and so on: whether a
        cone is split, or a leaf.
    shares : ndarray of shape (corners - p - 1, p)
        The other corners, one for each split: its coefficients in terms of the corners of the cone that it splits. It takes
        the place of each one with a coefficient above 0, in their order.
    prices : ndarray of shape (leaves, half-spaces)
        Multipliers of the slopes of the proof's decisions, of the prior set's bounds that are 0, lower ones first, and of its
        rows.
    mixes : ndarray of shape (corners, rays)
        Every corner is as near to a sum of rays, with these factors, as it matters; empty where rays do not matter.
    axis : ndarray of shape (p,)
        What stands for theta there, since a centre may be at a right angle to rays; empty where rays do not matter.
    """

    split: BoolArray
    shares: FloatArray
    prices: FloatArray
    mixes: FloatArray
    axis: FloatArray


@dataclass(frozen=True, eq=False, repr=False)
class RayProof:
    """Rays inside the cone with weights, and decisions that bound the cone from outside, as far as ``cover`` tells.

    Unless it is ``complete``, nothing says that the cone has no other rays.
    """

    owners: IntArray
    points: tuple[FloatArray, ...]
    rays: FloatArray
    weights: FloatArray
    complete: bool = True
    cover: ConeCover | None = None


def ellipsoid_volumes(rays: FloatArray, weights: FloatArray) -> tuple[float, float]:
    """Logarithms of two volumes, within the plane of the rays' ends: of an ellipsoid around them, and of one no smaller does.

    With c and S the weighted mean and covariance of the ends in n dimensions, the ellipsoid (x - c)' S^-1 (x - c) <= n has a
    volume that no ellipsoid around the ends undercuts, whatever the weights; blown up until it holds all ends it is one.
    """
    normalised = np.maximum(weights, 0.0) / np.maximum(weights, 0.0).sum()
    middle = normalised @ rays
    _, size, axes = np.linalg.svd(rays - rays.mean(axis=0), full_matrices=False)
    n = int((size > 1e-9 * max(float(size[0]), 1e-300)).sum())
    if n == 0:
        return 0.0, 0.0
    flat = (rays - middle) @ axes[:n].T
    sign, spread = np.linalg.slogdet(n * (flat * normalised[:, None]).T @ flat)
    if sign <= 0:
        return np.inf, -np.inf
    try:
        largest = np.einsum("ki,ij,kj->k", flat, np.linalg.inv((flat * normalised[:, None]).T @ flat), flat).max()
    except np.linalg.LinAlgError:
        return np.inf, -np.inf
    return float(spread / 2 + n / 2 * np.log(max(largest / n, 1.0))), float(spread / 2)


def least_angle(rays: FloatArray, weights: FloatArray) -> float:
    """No unit vector keeps all rays within a smaller angle."""
    normalised = np.maximum(weights, 0.0)
    normalised = normalised / normalised.sum()
    unit = rays / np.linalg.norm(rays, axis=1)[:, None]
    return float(np.arccos(np.clip(np.linalg.norm(normalised @ unit), 0.0, 1.0)))


def largest_angle(theta: FloatArray, rays: FloatArray) -> float:
    """The largest angle of a vector to rays, by chords: cosines of small angles have no digits."""
    unit = rays / np.linalg.norm(rays, axis=1)[:, None]
    chord = np.linalg.norm(unit - theta / np.linalg.norm(theta), axis=1).max()
    return float(2.0 * np.arcsin(min(chord / 2.0, 1.0)))


def widest_angle(theta: FloatArray, prior: PriorSet) -> float:
    """The largest angle of a vector to whatever a prior set without negative entries holds; pi for other sets.

    The least <theta, c> over unit vectors c >= 0 is the smallest entry of theta, at one of the axes, or minus the length of
    its negative part, along that part.
    """
    length = float(np.linalg.norm(theta))
    if length == 0 or not np.all(prior.lower >= 0):
        return float(np.pi)
    least = -float(np.linalg.norm(np.minimum(theta, 0.0))) if theta.min() < 0 else float(theta.min())
    return float(np.arccos(np.clip(least / length, -1.0, 1.0)))
