"""How a cost vector prices a decision: <theta, phi(s, x)>, for one signal s.

:class:`LinearFeatures`      phi = M x + m, so that the cost is (M' theta) . x + theta . m
:class:`QuadraticFeatures`   phi = (y (x) y, phi_1(z) (x) y, phi_2(z)) for x = (y, z): equation (18) of the paper, with
                             theta = (vec Q_yy, vec Q, q) and vec by columns
:class:`EllipsoidFeatures`   phi = (x (x) x, 2 x), for quadratic costs of all unknowns
:class:`GeneralFeatures`     any function of the decision
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
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
class QuadraticFeatures:
    """phi(y, z) = (y (x) y, inner(z) (x) y, outer(z)), the continuous unknowns y first."""

    n_continuous: int
    inner: Callable[[FloatArray], FloatArray]
    outer: Callable[[FloatArray], FloatArray]
    n_inner: int
    n_outer: int

    def parts(self, theta: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Q_yy, Q and q of a cost vector."""
        u, m = self.n_continuous, self.n_inner
        return theta[: u * u].reshape(u, u).T, theta[u * u : u * u + u * m].reshape(m, u).T, theta[u * u + u * m :]

    @property
    def n_features(self) -> int:
        return self.n_continuous**2 + self.n_inner * self.n_continuous + self.n_outer

    def of(self, points: FloatArray) -> FloatArray:
        """Features of the rows of ``points``."""
        u = self.n_continuous
        rows = []
        for point in points:
            y, z = point[:u], point[u:]
            rows.append(np.concatenate((np.kron(y, y), np.kron(self.inner(z), y), self.outer(z))))
        return np.array(rows, dtype=np.float64).reshape(len(rows), self.n_features)

    def quadratic_cost(self, theta: FloatArray, z: FloatArray) -> tuple[FloatArray, FloatArray, float]:
        """Q, c and the constant of y' Q y + c . y + constant, for whole unknowns z."""
        square, slopes, rest = self.parts(theta)
        return (square + square.T) / 2, slopes @ self.inner(z), float(rest @ self.outer(z))


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
class EllipsoidFeatures:
    """phi(x) = (x (x) x, 2 x), so that theta = (vec Q, q) prices x at x' Q x + 2 q . x."""

    n_unknowns: int

    @property
    def n_features(self) -> int:
        return self.n_unknowns**2 + self.n_unknowns

    def of(self, points: FloatArray) -> FloatArray:
        """Features of the rows of ``points``."""
        products = points[:, :, None] * points[:, None, :]
        return np.hstack((products.reshape(len(points), self.n_unknowns**2), 2 * points))

    def parts(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The symmetric part of Q, and q."""
        square = theta[: self.n_unknowns**2].reshape(self.n_unknowns, self.n_unknowns)
        return (square + square.T) / 2, theta[self.n_unknowns**2 :]


Features: TypeAlias = LinearFeatures | QuadraticFeatures | EllipsoidFeatures | GeneralFeatures


def identity_features(n_unknowns: int) -> LinearFeatures:
    """phi(x) = x."""
    return LinearFeatures(np.eye(n_unknowns), np.zeros(n_unknowns))


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
