"""What is known about a cost vector beforehand: the convex set Theta it is sought in.

Theta = {theta : lower <= theta <= upper,  matrix theta <= ceiling,  sum(theta) = total if one is given,
a leading block of theta is a symmetric positive semidefinite matrix if one is given}.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from surefoot.core.arrays import FloatArray


@dataclass(frozen=True, eq=False)
class PriorSet:
    """A set of cost vectors.

    Attributes
    ----------
    lower, upper : ndarray of shape (p,)
        May be infinite.
    matrix : ndarray of shape (m, p)
    ceiling : ndarray of shape (m,)
    total : float or None
        What the entries sum to.
    psd : int
        Order of the positive semidefinite matrix that the first ``psd ** 2`` entries spell, column by column; 0 for none.
    """

    lower: FloatArray
    upper: FloatArray
    matrix: FloatArray
    ceiling: FloatArray
    total: float | None = None
    psd: int = 0

    @classmethod
    def of(cls, given: Any, n_features: int, psd: int = 0) -> PriorSet:
        """The set from None, "nonnegative", "simplex", a pair of bounds, or a dict with "A" and "b" of A theta <= b."""
        lower, upper = np.full(n_features, -np.inf), np.full(n_features, np.inf)
        matrix, ceiling, total = np.empty((0, n_features)), np.empty(0), None
        if isinstance(given, PriorSet):
            return given
        if isinstance(given, str) and given in ("nonnegative", "simplex"):
            lower[:] = 0.0
            total = 1.0 if given == "simplex" else None
        elif isinstance(given, dict):
            unknown = set(given) - {"A", "b", "bounds"}
            if unknown or ("A" in given) != ("b" in given):
                raise ValueError(f"prior={given!r} must have the keys 'A' and 'b', for A theta <= b, 'bounds', or both.")
            if "bounds" in given:
                lower, upper = _bounds(given["bounds"], n_features)
            if "A" in given:
                matrix = np.atleast_2d(np.asarray(given["A"], dtype=np.float64))
                ceiling = np.atleast_1d(np.asarray(given["b"], dtype=np.float64))
        elif isinstance(given, Sequence | np.ndarray) and not isinstance(given, str) and len(given) == 2:
            lower, upper = _bounds(given, n_features)
        elif given is not None:
            raise ValueError(
                f"prior={given!r} must be None, 'nonnegative', 'simplex', a pair (lower, upper), or a dict with 'A' and 'b'."
            )
        return cls(lower, upper, matrix, ceiling, total, psd)

    def __post_init__(self) -> None:
        p = self.lower.size
        if self.matrix.shape != (self.ceiling.size, p):
            raise ValueError(f"prior: A has shape {self.matrix.shape}, but b has {self.ceiling.size} entries and theta {p}.")
        if not (np.isfinite(self.matrix).all() and np.isfinite(self.ceiling).all()):
            raise ValueError("prior: A and b must be finite.")
        wrong = np.flatnonzero(~(self.lower <= self.upper))
        if wrong.size:
            at = int(wrong[0])
            raise ValueError(f"prior: entry {at} has the bounds {self.lower[at]} and {self.upper[at]}, with nothing between.")

    @property
    def n_features(self) -> int:
        return int(self.lower.size)

    @property
    def is_cone(self) -> bool:
        """Whether every multiple of a member is one."""
        ends = np.concatenate((self.lower, self.upper))
        return bool(self.total is None and np.all((ends == 0) | np.isinf(ends)) and not np.any(self.ceiling))

    @cached_property
    def reach(self) -> float:
        """A power of 2, at most 1, so small that all directions of a set around 0 have members whose largest entry it is.

        Ends of 0 and rows with the ceiling 0 hold for all multiples of a member. The others hold for all vectors with entries
        in [-r, r] if r is at most the size of each end and ceiling / ||row||_1 of each row; ceilings are lessened by far more
        than rounding can make of the sum of a row.
        """
        sums = np.abs(self.matrix).sum(axis=1)
        rows = self.ceiling[sums > 0] * (1 - 1e-9) / sums[sums > 0]
        ends = np.concatenate((-self.lower, self.upper, rows))
        return float(np.ldexp(0.5, np.frexp(np.min(ends, where=ends > 0, initial=1.0))[1]))

    def enlarged(self, factor: float) -> PriorSet:
        """The multiples of all members by a power of 2; without a sum, or with the sum 0."""
        with np.errstate(over="ignore"):
            lower, upper, ceiling = self.lower * factor, self.upper * factor, self.ceiling * factor
        # Rows that hold for all costs that are sought may be infinite, but programmes take finite ones.
        return replace(self, lower=lower, upper=upper, ceiling=np.minimum(ceiling, np.finfo(np.float64).max))

    def symmetric(self, order: int) -> PriorSet:
        """The members whose leading matrix of this order, column by column, is symmetric."""
        square = np.arange(order * order).reshape(order, order)
        above = np.triu_indices(order, 1)
        unit = np.eye(self.n_features)
        rows = unit[square[above]] - unit[square.T[above]]
        matrix = np.vstack((self.matrix, rows, -rows))
        return replace(self, matrix=matrix, ceiling=np.append(self.ceiling, np.zeros(2 * len(rows))))

    def excess(self, theta: FloatArray) -> float:
        """By how much the worst condition is broken, at most 0 for members."""
        parts = [self.lower - theta, theta - self.upper, self.matrix @ theta - self.ceiling]
        if self.total is not None:
            parts.append(np.atleast_1d(abs(theta.sum() - self.total)))
        if self.psd:
            square = theta[: self.psd**2].reshape(self.psd, self.psd)
            parts.append(np.asarray(-np.linalg.eigvalsh(self.block(theta))[:1], dtype=np.float64))
            parts.append(np.abs(square - square.T)[np.triu_indices(self.psd, 1)])
        return float(np.concatenate(parts).max())

    def block(self, theta: FloatArray) -> FloatArray:
        """The symmetric part of the leading matrix."""
        square = theta[: self.psd**2].reshape(self.psd, self.psd)
        return np.asarray((square + square.T) / 2, dtype=np.float64)

    def spelled(self) -> tuple[object, ...]:
        arrays = (self.lower, self.upper, self.matrix, self.ceiling)
        return (*(part.tobytes() for part in arrays), self.total, self.psd)


def _bounds(given: Any, n_features: int) -> tuple[FloatArray, FloatArray]:
    try:
        low, high = (np.broadcast_to(np.asarray(side, dtype=np.float64), (n_features,)).copy() for side in given)
    except ValueError as flaw:
        raise ValueError(f"prior: bounds {given!r} must be two numbers, or two vectors of {n_features} numbers.") from flaw
    return low, high
