"""Projections onto the cone of models that a price admits, and onto its polar, with their derivatives.

Price and model together lie in the convex cone

    C = {(b, lambda) : || (b_j / gamma_j)_j ||_* <= lambda},

the epigraph of a weighted maximum norm (l1 metric), of a length (l2) or of a weighted sum (linf metric). Any v is the sum of
its nearest point in C and its nearest point in the polar cone, {(g, -r) : || (gamma_j g_j)_j || <= r} with the norm of the
metric itself, and the two are perpendicular (Moreau). So the polar part is at once what v lacks to be admitted and, as a
multiplier, a gradient within the budget of a shift plan.

Maximum norm. The projection clips |b_j| to gamma_j L, where the level L solves

    L - lambda = sum_j gamma_j max(|b_j| - gamma_j L, 0),

that is, L = (lambda + sum gamma_j |b_j|) / (1 + sum gamma_j^2) with sums over the k entries of the largest |b_j| / gamma_j, for
the largest k whose k-th largest ratio is above that quotient. It is the apex of the cone if lambda <= -sum_j gamma_j |b_j|.

Sum. The polar cone of {sum_j |b_j| / gamma_j <= lambda} is the mirror image, lambda to -lambda, of the cone of the maximum norm
with weights 1 / gamma_j.

Length, with weights 1: the second-order cone. In between C and its polar, b shrinks to (lambda + |b|) / 2 of its direction.

The derivative of a projection exists almost everywhere, and is symmetric with eigenvalues between 0 and 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from surefoot.core.arrays import BoolArray, FloatArray
from surefoot.robust.problem.numeric_norm import NumericNorm


@dataclass(frozen=True)
class PolarProjection:
    """The nearest point of the polar cone, its derivative, and the derivative's diagonal.

    Vectors hold the coefficients first and the price last, as everywhere in this method.
    """

    point: FloatArray
    derivative: Callable[[FloatArray], FloatArray]
    diagonal: FloatArray


def project_onto_polar(v: FloatArray, weights: FloatArray, norm: NumericNorm) -> PolarProjection:
    """The part of v in the polar of C, for the given norm of the metric; the weights of l2 must be 1."""
    if norm == "l2":
        return _second_order_cone(v)
    if norm == "l1":
        projection = _MaxNormProjection.of(v, weights)
        return PolarProjection(v - projection.nearest, lambda d: d - projection.derivative(d), 1.0 - projection.diagonal)
    mirror = np.ones(v.size)
    mirror[-1] = -1.0
    projection = _MaxNormProjection.of(mirror * v, 1.0 / weights)
    return PolarProjection(
        mirror * projection.nearest, lambda d: mirror * projection.derivative(mirror * d), projection.diagonal
    )


@dataclass(frozen=True)
class _MaxNormProjection:
    """The projection onto the cone of the maximum norm.

    ``above`` are the entries that are clipped, ``normal`` their weights with the signs of the entries: what they move by when
    the level rises by 1. ``squared_norm`` is 1 + |normal|^2, and inf inside the cone and at its apex.
    """

    nearest: FloatArray
    above: BoolArray
    normal: FloatArray
    squared_norm: float
    inside: bool

    @classmethod
    def of(cls, v: FloatArray, weights: FloatArray) -> _MaxNormProjection:
        sizes, price = np.abs(v[:-1]), float(v[-1])
        ratios = sizes / weights
        if float(ratios.max(initial=0.0)) <= price:
            return cls(v, np.zeros(sizes.size, dtype=np.bool_), np.zeros(0), np.inf, True)
        if float(weights @ sizes) <= -price:
            everything = np.ones(sizes.size, dtype=np.bool_)
            return cls(np.zeros_like(v), everything, np.zeros(sizes.size), np.inf, False)
        # Only entries above the price can be above the level, which is not below the price.
        order = np.flatnonzero(ratios > price)
        order = order[np.argsort(-ratios[order])]
        heavy = weights[order]
        levels = (price + np.cumsum(heavy * sizes[order])) / (1.0 + np.cumsum(np.square(heavy)))
        # Next to the cone, or to its polar, rounding may deny that the first entry is above its level, or put that below 0.
        last = max(int(np.count_nonzero(ratios[order] > levels)), 1) - 1
        level = max(float(levels[last]), 0.0)
        above = ratios > level
        nearest = np.append(np.clip(v[:-1], -level * weights, level * weights), level)
        normal = (np.sign(v[:-1]) * weights)[above]
        return cls(nearest, above, normal, 1.0 + float(normal @ normal), False)

    def derivative(self, d: FloatArray) -> FloatArray:
        if self.inside:
            return d
        moved = d.copy()
        rise = (float(d[-1]) + float(self.normal @ d[:-1][self.above])) / self.squared_norm
        moved[:-1][self.above] = rise * self.normal
        moved[-1] = rise
        return moved

    @property
    def diagonal(self) -> FloatArray:
        diagonal = np.ones(self.nearest.size)
        if not self.inside:
            diagonal[:-1][self.above] = np.square(self.normal) / self.squared_norm
            diagonal[-1] = 1.0 / self.squared_norm
        return diagonal


def _second_order_cone(v: FloatArray) -> PolarProjection:
    coefficients, price = v[:-1], float(v[-1])
    length = float(np.linalg.norm(coefficients))
    if length <= price:
        return PolarProjection(np.zeros_like(v), np.zeros_like, np.zeros_like(v))
    if length <= -price:
        return PolarProjection(v, np.copy, np.ones_like(v))
    excess = 0.5 * (length - price)
    # From the point the polar part moves by half along (direction, -1), and by less across.
    direction = np.append(coefficients / length, -1.0)
    across = excess / length
    point = excess * direction

    def derivative(d: FloatArray) -> FloatArray:
        along = 0.5 * float(direction @ d)
        moved = along * direction
        moved[:-1] += across * (d[:-1] - float(direction[:-1] @ d[:-1]) * direction[:-1])
        return moved

    diagonal = 0.5 * np.square(direction)
    diagonal[:-1] += across * (1.0 - np.square(direction[:-1]))
    return PolarProjection(point, derivative, diagonal)
