"""What is known about a cost vector beforehand: the convex set Theta it is sought in.

Theta = {theta : lower <= theta <= upper,  matrix theta <= ceiling,  sum(theta) = total if one is given,
a leading block of theta is a positive semidefinite matrix if one is given}.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
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

    def excess(self, theta: FloatArray) -> float:
        """By how much the worst condition is broken, at most 0 for members."""
        parts = [self.lower - theta, theta - self.upper, self.matrix @ theta - self.ceiling]
        if self.total is not None:
            parts.append(np.atleast_1d(abs(theta.sum() - self.total)))
        if self.psd:
            parts.append(np.asarray(-np.linalg.eigvalsh(self.block(theta))[:1], dtype=np.float64))
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
