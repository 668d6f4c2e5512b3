"""Steps of mirror descent inside a set of cost vectors.

A step from theta along a subgradient g with size eta solves (Section 5 of Zattoni Scroccaro et al., 2024)

    min  eta <g, theta'> + B(theta', theta)   over theta' in Theta,

with the Bregman divergence B of omega. Two omegas have steps in closed form:

    "euclidean"        omega(theta) = ||theta||^2 / 2     theta' = nearest point of Theta to theta - eta g
    "exponentiated"    omega(w) = sum_j w_j log w_j       w' = w exp(-eta g), scaled down if its sum exceeds the radius

The second lives on {w >= 0, sum(w) <= radius}. A cost without signs is a difference of two such vectors, theta = w+ - w-, whose
subgradients are g and -g (equation (22) of the paper); with a total (the simplex) the sum is always scaled to it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from surefoot.core.arrays import BoolArray, FloatArray
from surefoot.inverse.mirror.parameters import ExponentiatedParameters, ProjectionParameters
from surefoot.inverse.problem.prior_set import PriorSet

PROJECTION = ProjectionParameters()
EXPONENTIATED = ExponentiatedParameters()


class MirrorMap(Protocol):
    """Steps inside a set; ``state`` is the point in the coordinates of the map."""

    def begin(self, theta: FloatArray | None) -> FloatArray: ...

    def point(self, state: FloatArray) -> FloatArray: ...

    def step(self, state: FloatArray, gradient: FloatArray, size: float) -> FloatArray: ...

    def dual_norm(self, gradient: FloatArray) -> float: ...

    def divergence(self, to: FloatArray, state: FloatArray) -> float: ...


@dataclass(frozen=True, eq=False)
class EuclideanMap:
    """Subgradient steps, each with a projection onto the set."""

    prior: PriorSet

    def begin(self, theta: FloatArray | None) -> FloatArray:
        return project(self.prior, np.zeros(self.prior.n_features) if theta is None else theta)

    def point(self, state: FloatArray) -> FloatArray:
        return state

    def step(self, state: FloatArray, gradient: FloatArray, size: float) -> FloatArray:
        return project(self.prior, state - size * gradient)

    def dual_norm(self, gradient: FloatArray) -> float:
        return float(np.linalg.norm(gradient))

    def divergence(self, to: FloatArray, state: FloatArray) -> float:
        """B(to, point) for a cost vector ``to`` of the set."""
        return 0.5 * float(np.sum((to - state) ** 2))


@dataclass(frozen=True, eq=False)
class ExponentiatedMap:
    """Multiplicative steps on vectors with a bounded sum.

    Attributes
    ----------
    prior : PriorSet
        Without rows and without upper bounds; see :func:`refuses_exponentiated`.
    radius : float
        Bound on the sum of absolute values; the total itself where the prior has one.
    """

    prior: PriorSet
    radius: float

    @property
    def signed(self) -> BoolArray:
        """Which entries may be negative."""
        return np.isneginf(self.prior.lower)

    def begin(self, theta: FloatArray | None) -> FloatArray:
        """Logarithms of the weights of a point of the set; by default all weights are equal, with a sum of at most 1."""
        signed = self.signed
        count = signed.size + int(signed.sum())
        if theta is None:
            return np.full(count, np.log(self._within(1.0) / count))
        # A weight of zero would stay zero for ever: each gets a small fraction of the size of the point.
        fraction = EXPONENTIATED.first_fraction
        least = fraction * max(float(np.abs(theta).sum()), fraction) / count
        weights = np.concatenate([np.maximum(theta, 0.0), np.maximum(-theta[signed], 0.0)]) + least
        return self._scaled(np.log(weights))

    def point(self, state: FloatArray) -> FloatArray:
        signed = self.signed
        weights = np.exp(state)
        theta = weights[: signed.size].copy()
        theta[signed] -= weights[signed.size :]
        return theta

    def step(self, state: FloatArray, gradient: FloatArray, size: float) -> FloatArray:
        both = np.concatenate([gradient, -gradient[self.signed]])
        return self._scaled(state - size * both)

    def dual_norm(self, gradient: FloatArray) -> float:
        return float(np.max(np.abs(gradient)))

    def divergence(self, to: FloatArray, state: FloatArray) -> float:
        """B(to, point) for a cost vector ``to`` of the set, split into its positive and negative part."""
        target = np.concatenate([np.maximum(to, 0.0), np.maximum(-to[self.signed], 0.0)])
        logs = np.log(np.where(target > 0, target, 1.0))
        return float(np.sum(target * (logs - state)) - target.sum() + np.exp(state).sum())

    def _within(self, size: float) -> float:
        return self.radius if self.prior.total is not None else min(size, self.radius)

    def _scaled(self, logs: FloatArray) -> FloatArray:
        largest = float(logs.max())
        clipped = np.maximum(logs, largest + EXPONENTIATED.least_log)
        total = largest + float(np.log(np.sum(np.exp(clipped - largest))))
        if self.prior.total is None and total <= np.log(self.radius):
            return clipped
        scaled: FloatArray = clipped - total + np.log(self.radius)
        return scaled


def refuses_exponentiated(prior: PriorSet) -> str | None:
    """Why exponentiated steps cannot stay inside a set, or None."""
    if prior.matrix.shape[0] or prior.psd:
        return "exponentiated updates know no rows and no matrices in the prior"
    if np.any(np.isfinite(prior.upper)) or not np.all((prior.lower == 0.0) | np.isneginf(prior.lower)):
        return "exponentiated updates know no bounds in the prior but theta >= 0"
    if prior.total is not None and (prior.total <= 0 or np.any(np.isneginf(prior.lower))):
        return "exponentiated updates need theta >= 0 and a positive total where the prior has a total"
    return None


def project(prior: PriorSet, point: FloatArray) -> FloatArray:
    """The nearest point of the set: in closed form for bounds and a total, by Dykstra's alternating projections otherwise."""
    rows = prior.matrix.shape[0]
    if rows == 0 and not prior.psd:
        return _project_box(prior, point)
    lengths = np.einsum("ij,ij->i", prior.matrix, prior.matrix)
    parts = 1 + rows + (1 if prior.psd else 0)
    corrections = np.zeros((parts, point.size))
    current = point.copy()
    for _ in range(PROJECTION.max_rounds):
        change = 0.0
        for part in range(parts):
            moved = current + corrections[part]
            if part == 0:
                current = _project_box(prior, moved)
            elif part <= rows:
                row = part - 1
                over = float(prior.matrix[row] @ moved) - float(prior.ceiling[row])
                current = moved - prior.matrix[row] * (max(over, 0.0) / lengths[row]) if lengths[row] > 0 else moved
            else:
                current = _project_block(prior, moved)
            change += float(np.sum((moved - current - corrections[part]) ** 2))
            corrections[part] = moved - current
        # The point itself may stand still for many rounds and then move on; the corrections stand still only at the end.
        if change <= PROJECTION.tolerance**2 * max(1.0, float(current @ current)):
            break
    return current


def _project_box(prior: PriorSet, point: FloatArray) -> FloatArray:
    tau = 0.0 if prior.total is None else shift_to_total(prior, point)
    return np.clip(point - tau, prior.lower, prior.upper)


def shift_to_total(prior: PriorSet, point: FloatArray) -> float:
    """tau for which clip(point - tau, lower, upper) has the prior's total."""
    # The sum falls as tau grows, with bends at point - lower and point - upper and linear between: find the bends around.
    bends = np.concatenate([point - prior.lower, point - prior.upper])
    bends = np.unique(bends[np.isfinite(bends)])
    bends = np.concatenate([[bends[0] - 1.0], bends, [bends[-1] + 1.0]]) if bends.size else np.array([0.0, 1.0])

    def total(tau: float) -> float:
        return float(np.clip(point - tau, prior.lower, prior.upper).sum())

    target = 0.0 if prior.total is None else prior.total
    low, high = 0, bends.size - 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if total(bends[middle]) > target else (low, middle)
    left, right = float(bends[low]), float(bends[high])
    slope = (total(right) - total(left)) / (right - left)
    # Beyond the outermost bends the sum goes on as between the last two points; where it is flat, nothing need be shifted.
    return right if slope == 0.0 else left + (target - total(left)) / slope


def _project_block(prior: PriorSet, point: FloatArray) -> FloatArray:
    # Only the symmetric part must be positive semidefinite; the rest of the block stays as it is.
    values, vectors = np.linalg.eigh(prior.block(point))
    projected = point.copy()
    projected[: prior.psd**2] += ((vectors * np.maximum(-values, 0.0)) @ vectors.T).ravel()
    return projected
