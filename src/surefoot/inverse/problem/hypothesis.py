"""How a cost vector prices a decision: <theta, phi(s, x)>, for one signal s.

:class:`LinearFeatures`      phi = M x + m, so that the cost is (M' theta) . x + theta . m
:class:`QuadraticFeatures`   phi = (y (x) y, phi_1(z) (x) y, phi_2(z)) for x = (y, z): equation (18) of the paper, with
                             theta = (vec Q_yy, vec Q, q) and vec by columns
:class:`GeneralFeatures`     any function of the decision
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np

from surefoot.core.arrays import FloatArray


@dataclass(frozen=True, eq=False, repr=False)
class LinearFeatures:
    """phi(x) = matrix x + offset."""

    matrix: FloatArray
    offset: FloatArray

    @property
    def n_features(self) -> int:
        return int(self.offset.size)

    def of(self, points: FloatArray) -> FloatArray:
        """Features of the rows of ``points``."""
        return np.asarray(points @ self.matrix.T + self.offset, dtype=np.float64)

    def linear_cost(self, theta: FloatArray) -> FloatArray:
        """c of the cost c . x + constant."""
        return np.asarray(self.matrix.T @ theta, dtype=np.float64)


@dataclass(frozen=True, eq=False, repr=False)
class GeneralFeatures:
    """phi(x) from a function of one decision."""

    function: Callable[[FloatArray], Any]
    n_features: int

    def of(self, points: FloatArray) -> FloatArray:
        """Features of the rows of ``points``."""
        rows = [np.asarray(self.function(point), dtype=np.float64).ravel() for point in points]
        return np.array(rows, dtype=np.float64).reshape(len(rows), self.n_features)


@dataclass(frozen=True, eq=False, repr=False)
class QuadraticFeatures:
    """phi(y, z) = (y (x) y, inner(z) (x) y, outer(z)), the continuous unknowns y first."""

    n_continuous: int
    inner: LinearFeatures | GeneralFeatures
    outer: LinearFeatures | GeneralFeatures

    @classmethod
    def of_all(cls, n_unknowns: int) -> QuadraticFeatures:
        """phi(x) = (x (x) x, 2 x), so that theta = (vec Q, q) prices x at x' Q x + 2 q . x."""
        inner, outer = (LinearFeatures(np.empty((size, 0)), np.full(size, 2.0)) for size in (1, 0))
        return cls(n_unknowns, inner, outer)

    def parts(self, theta: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Q_yy, Q and q of a cost vector."""
        u, m = self.n_continuous, self.inner.n_features
        return theta[: u * u].reshape(u, u).T, theta[u * u : u * u + u * m].reshape(m, u).T, theta[u * u + u * m :]

    @property
    def n_features(self) -> int:
        return self.n_continuous * (self.n_continuous + self.inner.n_features) + self.outer.n_features

    def factors(self, z: FloatArray) -> tuple[FloatArray, FloatArray]:
        """inner(z) and outer(z)."""
        return self.inner.of(z[None, :])[0], self.outer.of(z[None, :])[0]

    def of(self, points: FloatArray) -> FloatArray:
        """Features of the rows of ``points``."""
        y, z = points[:, : self.n_continuous], points[:, self.n_continuous :]
        inner = self.inner.of(z)
        squares, mixed = (np.einsum("ki,kj->kij", left, y).reshape(len(y), -1) for left in (y, inner))
        return np.asarray(np.hstack((squares, mixed, self.outer.of(z))), dtype=np.float64)

    def quadratic_cost(self, theta: FloatArray, z: FloatArray) -> tuple[FloatArray, FloatArray, float]:
        """Q, c and the constant of y' Q y + c . y + constant, for whole unknowns z."""
        (square, slopes, rest), (inner, outer) = self.parts(theta), self.factors(z)
        return (square + square.T) / 2, slopes @ inner, float(rest @ outer)


Features: TypeAlias = LinearFeatures | QuadraticFeatures | GeneralFeatures


@lru_cache(maxsize=16)
def identity_features(n_unknowns: int) -> LinearFeatures:
    """phi(x) = x; the same object for all observations, since thousands of them must not each hold a matrix."""
    found = LinearFeatures(np.eye(n_unknowns), np.zeros(n_unknowns))
    found.matrix.setflags(write=False)
    found.offset.setflags(write=False)
    return found


def linear_features(function: Callable[[FloatArray], Any], n_unknowns: int, checks: FloatArray) -> LinearFeatures:
    """The matrix of a feature function that is linear in the decision, read from its values at 0 and at the unit vectors.

    Raises
    ------
    ValueError
        If the function is not linear at the rows of ``checks``, or not finite.
    """
    offset = np.asarray(function(np.zeros(n_unknowns)), dtype=np.float64).ravel()
    columns = [np.asarray(function(unit), dtype=np.float64).ravel() - offset for unit in np.eye(n_unknowns)]
    matrix = np.array(columns, dtype=np.float64).reshape(n_unknowns, offset.size).T
    found = LinearFeatures(np.ascontiguousarray(matrix), offset)
    if not (np.isfinite(matrix).all() and np.isfinite(offset).all()):
        raise ValueError("features are not finite")
    for point in checks:
        there = np.asarray(function(point), dtype=np.float64).ravel()
        if not np.allclose(found.of(point[None, :])[0], there, rtol=1e-7, atol=1e-9):
            raise ValueError(
                "features are not linear in the decision, as programmes need; give the decisions as a list instead"
            )
    return found
