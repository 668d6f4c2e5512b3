"""The quadratic of a master problem, by its matrix or by a factor of it, and Newton's systems with it.

Factorisation of M = hessian of phi + B (:mod:`surefoot.chancesvm.interior.ellipsoid_dual`). With some hundred unknowns,
Cholesky's of M itself takes milliseconds. Where Q = F F' with more unknowns than columns of F, the inverse of M is that of a
matrix of as many rows as F has columns: with the root P of B^-1 = P' P,

    M^-1 = P' (1 - Y (1 + Y' Y)^-1 Y') P,      Y = P F,

at a cost in proportion to the unknowns. A step of iterative refinement returns the digits that the difference loses.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import scipy.linalg

from surefoot.chancesvm.interior.cone_barrier import Barrier
from surefoot.chancesvm.interior.cone_scaling import TINY
from surefoot.core.arrays import FloatArray


class DualObjective(Protocol):
    """phi of the module docstring."""

    @property
    def is_quadratic(self) -> bool:
        """Whether R = 0."""

    @property
    def is_exact(self) -> bool:
        """Whether Newton's systems are solved up to rounding."""

    def at(self, v: FloatArray) -> tuple[float, FloatArray, float]:
        """phi, its gradient, and the fraction of w = sum of all points that the shortening leaves."""

    def diagonal(self) -> FloatArray:
        """The diagonal of Q."""

    def newton(self, v: FloatArray, barrier: Barrier) -> NewtonSystem | None:
        """M of the module docstring, factorised; None if rounding has made it indefinite."""


class NewtonSystem(Protocol):
    """M, factorised."""

    def solve(self, right: FloatArray) -> FloatArray:
        """The solutions for right-hand sides that are rows."""


@dataclass(frozen=True)
class DenseObjective:
    """phi with Q itself, ``quadratic``; ``shortening`` is R or None."""

    quadratic: FloatArray
    shortening: FloatArray | None = None
    is_exact = True

    @property
    def is_quadratic(self) -> bool:
        return self.shortening is None

    def at(self, v: FloatArray) -> tuple[float, FloatArray, float]:
        along = self.quadratic @ v
        square = max(float(v @ along), 0.0)
        if self.shortening is None:
            return 0.5 * square, along, 1.0
        length = np.sqrt(square)
        left = max(length - float(self.shortening @ v), 0.0)
        if left == 0.0:
            return 0.0, np.zeros(v.size), 0.0
        return 0.5 * left * left, left * (along / length - self.shortening), left / length

    def diagonal(self) -> FloatArray:
        return np.diagonal(self.quadratic)

    def newton(self, v: FloatArray, barrier: Barrier) -> NewtonSystem | None:
        factor = factorised(barrier.matrix_added_to(self._hessian(v)), barrier.lifts)
        return None if factor is None else _DenseNewton(factor)

    def _hessian(self, v: FloatArray) -> FloatArray:
        """A new array."""
        if self.shortening is None:
            return self.quadratic.copy()
        along = self.quadratic @ v
        length = np.sqrt(max(float(v @ along), TINY))
        left = max(length - float(self.shortening @ v), 0.0)
        unit = along / length
        tilt = unit - self.shortening
        matrix = (left / length) * (self.quadratic - np.outer(unit, unit))
        if left > 0:
            matrix += np.outer(tilt, tilt)
        return np.asarray(matrix)


@dataclass(frozen=True)
class _DenseNewton:
    factor: FloatArray

    def solve(self, right: FloatArray) -> FloatArray:
        return np.asarray(scipy.linalg.lapack.dpotrs(self.factor, right.T, lower=1)[0].T)


@dataclass(frozen=True)
class FactoredObjective:
    """phi without a shortening, by the transpose of F: one column for each unknown."""

    columns: FloatArray
    is_quadratic = True
    is_exact = True

    def at(self, v: FloatArray) -> tuple[float, FloatArray, float]:
        point = self.columns @ v
        return 0.5 * float(point @ point), self.columns.T @ point, 1.0

    def diagonal(self) -> FloatArray:
        return np.asarray(np.einsum("ij,ij->j", self.columns, self.columns))

    def newton(self, v: FloatArray, barrier: Barrier) -> NewtonSystem | None:
        rooted = barrier.root(self.columns)
        small = rooted @ rooted.T
        small.flat[:: len(small) + 1] += 1.0
        factor = factorised(small, barrier.lifts)
        return None if factor is None else _FactoredNewton(self.columns, barrier, rooted, factor)


@dataclass(frozen=True)
class _FactoredNewton:
    columns: FloatArray
    barrier: Barrier
    rooted: FloatArray
    factor: FloatArray

    def solve(self, right: FloatArray) -> FloatArray:
        found = self._once(right)
        left = right - (found @ self.columns.T) @ self.columns - self.barrier.times(found)
        return found + self._once(left)

    def _once(self, right: FloatArray) -> FloatArray:
        turned = self.barrier.root(right)
        along = scipy.linalg.lapack.dpotrs(self.factor, self.rooted @ turned.T, lower=1)[0]
        return self.barrier.root_transposed(turned - along.T @ self.rooted)


def factorised(matrix: FloatArray, lifts: tuple[float, ...]) -> FloatArray | None:
    """Cholesky's factor; where rounding has made the matrix indefinite, that of one with a regularised diagonal."""
    diagonal = np.diagonal(matrix).copy()
    for lift in lifts:
        matrix.flat[:: matrix.shape[0] + 1] = (1.0 + lift) * diagonal
        # LAPACK itself: on small systems SciPy's checks take longer than the work. The matrix equals its transpose, which is in
        # the order that LAPACK wants.
        factor, flaw = scipy.linalg.lapack.dpotrf(matrix.T, lower=1, clean=0)
        if flaw == 0:
            return np.asarray(factor)
    return None
