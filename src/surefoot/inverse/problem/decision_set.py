"""The decisions X(s) that are open to the one who decides, as plain arrays.

:class:`LinearSet` is {x : low <= A x <= high, lower <= x <= upper, x_j whole for marked j}; :class:`ListedSet` a list;
:class:`EllipsoidSet` the points of one convex quadratic constraint; :class:`OpaqueSet` is known through a caller's function
alone.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from surefoot.core.arrays import BoolArray, FloatArray

# By how much a response may miss a row with continuous unknowns, per unit of the row's terms, or a bound of such an unknown,
# per unit of its own largest entry: rounding of what was observed. Certificates allow a little more.
ROW_TOLERANCE = 0.999e-6
# What programmes over doubles leave of a row whose largest entry is 1, or less, and of a bound: half of what certificates do.
PROGRAMME_TOLERANCE = 1e-9
# The same for rows of whole unknowns alone: sums of rounded numbers. Certificates allow as much, and half is used of it.
WHOLE_ROW_TOLERANCE = 1e-12


@dataclass(frozen=True, eq=False, repr=False)
class LinearSet:
    """{x : low <= matrix x <= high, lower <= x <= upper, x_j whole where ``whole``}.

    ``integral`` says that the corners of the set without "whole" are whole already (totally unimodular rows with whole sides),
    so that a linear cost needs no search.
    """

    matrix: FloatArray
    low: FloatArray
    high: FloatArray
    lower: FloatArray
    upper: FloatArray
    whole: BoolArray
    integral: bool = False

    @property
    def n_unknowns(self) -> int:
        return int(self.lower.size)

    @cached_property
    def binary(self) -> BoolArray:
        """Which unknowns are 0 or 1."""
        return np.asarray(self.whole & (self.lower == 0) & (self.upper == 1))

    def inequalities(self) -> tuple[FloatArray, FloatArray]:
        """The rows without the bounds of the unknowns, as A and b of A x <= b: upper sides first."""
        above, below = np.isfinite(self.high), np.isfinite(self.low)
        rows = np.vstack((self.matrix[above], -self.matrix[below]))
        return rows, np.concatenate((self.high[above], -self.low[below]))

    @cached_property
    def _row_sizes(self) -> tuple[FloatArray, BoolArray]:
        """The largest entry of each row, and whether it has continuous unknowns."""
        return np.abs(self.matrix).max(axis=1, initial=0.0), np.asarray(self.matrix[:, ~self.whole].any(axis=1))

    def row_tolerance(self, points: FloatArray, slack: float = ROW_TOLERANCE) -> FloatArray:
        """By how much every one of the points may violate every row."""
        largest, mixed = self._row_sizes
        if not mixed.any():
            return np.broadcast_to(0.5 * WHOLE_ROW_TOLERANCE * largest, (len(points), largest.size))
        rounded = PROGRAMME_TOLERANCE * np.maximum(1.0, largest) + slack * (np.abs(points) @ np.abs(self.matrix.T))
        return np.asarray(np.where(mixed, rounded, 0.5 * WHOLE_ROW_TOLERANCE * largest))

    def nearest(self, point: FloatArray, slack: float = ROW_TOLERANCE) -> FloatArray:
        """The point, its whole unknowns rounded if they are nearly whole."""
        off = np.abs(point - np.rint(point))
        return np.asarray(np.where(self.whole & (off <= slack), np.rint(point), point))

    def allowed(self, points: FloatArray, slack: float = ROW_TOLERANCE) -> BoolArray:
        """Which rows of ``points`` are decisions; their whole unknowns must be whole."""
        tolerance, sides = self.row_tolerance(points, slack), points @ self.matrix.T
        rows = np.all((sides <= self.high + tolerance) & (sides >= self.low - tolerance), axis=1)
        size = PROGRAMME_TOLERANCE + slack * np.abs(points).max(axis=1, initial=0.0)[:, None]
        room = np.where(self.whole, 0.0, size)
        box = np.all((points >= self.lower - room) & (points <= self.upper + room), axis=1)
        return np.asarray(rows & box & np.all(points[:, self.whole] == np.rint(points[:, self.whole]), axis=1))

    def digest(self, mark: Any) -> None:
        for part in (self.matrix, self.low, self.high, self.lower, self.upper, self.whole):
            mark.update(np.ascontiguousarray(part).tobytes())


@dataclass(frozen=True, eq=False, repr=False)
class ListedSet:
    """The rows of ``points``."""

    points: FloatArray

    @property
    def n_unknowns(self) -> int:
        return int(self.points.shape[1])

    @property
    def whole(self) -> BoolArray:
        return np.ones(self.n_unknowns, dtype=np.bool_)

    def nearest(self, point: FloatArray, slack: float = ROW_TOLERANCE) -> FloatArray:
        """The alternative that the point is but for rounding, attribute by attribute, or the point itself."""
        apart = np.abs(point - self.points)
        size = np.minimum(1.0, np.abs(self.points).max(axis=0, initial=0.0))
        near = np.flatnonzero(np.all(apart <= slack * size, axis=1))
        return self.points[near[np.argmin(apart[near].max(axis=1, initial=0.0))]] if near.size else point

    def allowed(self, points: FloatArray, slack: float = ROW_TOLERANCE) -> BoolArray:
        return np.array([(self.points == point).all(axis=1).any() for point in points], dtype=np.bool_)

    def digest(self, mark: Any) -> None:
        mark.update(np.ascontiguousarray(self.points).tobytes())


@dataclass(frozen=True, eq=False, repr=False)
class EllipsoidSet:
    """{x : x' form x + matrix x <= high} with a positive definite form: a linear set whose one row has a quadratic part."""

    form: FloatArray
    matrix: FloatArray
    low: FloatArray
    high: FloatArray
    lower: FloatArray
    upper: FloatArray
    whole: BoolArray

    @classmethod
    def of(cls, form: FloatArray, shift: FloatArray, constant: float) -> EllipsoidSet:
        """{x : x' form x + 2 shift . x + constant <= 0}."""
        free = np.full(shift.size, np.inf)
        sides = np.array([-np.inf]), np.array([-float(constant)])
        return cls(form, 2.0 * shift[None, :], *sides, -free, free, np.zeros(shift.size, dtype=np.bool_))

    @property
    def shift(self) -> FloatArray:
        return np.asarray(self.matrix[0] / 2)

    @property
    def constant(self) -> float:
        return -float(self.high[0])

    @property
    def n_unknowns(self) -> int:
        return int(self.lower.size)

    def nearest(self, point: FloatArray, slack: float = ROW_TOLERANCE) -> FloatArray:
        return point

    def allowed(self, points: FloatArray, slack: float = ROW_TOLERANCE) -> BoolArray:
        side = np.einsum("ki,ij,kj->k", points, self.form, points) + points @ self.matrix[0] - self.high[0]
        size = np.abs(points)
        terms = np.einsum("ki,ij,kj->k", size, np.abs(self.form), size) + size @ np.abs(self.matrix[0])
        largest = max(1.0, float(np.abs(self.form).max()), float(np.abs(self.high[0])))
        return np.asarray(side <= slack * terms + 0.5 * WHOLE_ROW_TOLERANCE * largest)

    def digest(self, mark: Any) -> None:
        for part in (self.form, self.matrix, self.high):
            mark.update(np.ascontiguousarray(part).tobytes())


@dataclass(frozen=True, eq=False, repr=False)
class OpaqueSet:
    """Decisions that only the caller knows.

    Attributes
    ----------
    solve : callable
        ``solve(theta)`` returns a decision of least cost.
    augmented : callable or None
        ``augmented(theta, response)`` returns a decision with the largest difference of cost to the response, plus distance.
    contains : callable or None
        ``contains(x)`` says whether x is a decision.
    binary : bool
        Whether all decisions are 0/1 vectors and the cost is theta . x.
    exact : bool
        Whether ``solve`` and ``augmented`` promise optimal decisions.
    solver : str
        How messages call the caller's solver.
    """

    n_unknowns: int
    solve: Callable[[FloatArray], Any]
    augmented: Callable[[FloatArray, FloatArray], Any] | None = None
    contains: Callable[[FloatArray], bool] | None = None
    binary: bool = False
    exact: bool = True
    solver: str = "the forward solver"

    @property
    def whole(self) -> BoolArray:
        return np.ones(self.n_unknowns, dtype=np.bool_)

    def nearest(self, point: FloatArray, slack: float = ROW_TOLERANCE) -> FloatArray:
        return point

    def allowed(self, points: FloatArray, slack: float = ROW_TOLERANCE) -> BoolArray:
        if self.contains is None:
            return np.ones(points.shape[0], dtype=np.bool_)
        return np.array([bool(self.contains(point)) for point in points], dtype=np.bool_)

    def digest(self, mark: Any) -> None:
        mark.update(b"opaque")


DecisionSet: TypeAlias = LinearSet | ListedSet | EllipsoidSet | OpaqueSet


def fingerprint(decisions: DecisionSet) -> str:
    """Fingerprint of a set's arrays."""
    mark = hashlib.sha256(type(decisions).__name__.encode())
    decisions.digest(mark)
    return mark.hexdigest()
