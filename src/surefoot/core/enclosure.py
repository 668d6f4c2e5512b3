"""Real numbers known to within a radius: arithmetic on doubles whose results contain the exact ones.

An ``Enclosure`` is a pair of arrays, midpoint m and radius r >= 0, and stands for all real numbers in [m - r, m + r]. Every
operation returns an enclosure of all results of its operands' members, rounding included (Rump, Acta Numerica 19, 2010):

    |fl(a o b) - a o b| <= u |fl(a o b)| + tiny      for o in + - * / and the square root, u = 2**-53,
    |fl(sum of n terms) - sum| <= g_n sum |terms|,   g_n = n u / (1 - n u), in whatever order the machine adds,
    |fl(A @ B) - A B| <= g_n |A| |B|                 with n the number of terms of each product,

and radii, which are themselves computed in doubles, are enlarged by more than their own rounding. exp, log and log1p of NumPy
are taken to be right to 4 units in the last place; that, and the correctness of + - * / and the square root, is all that is
assumed of the machine.

A verdict needs one end only: the upper end of an objective and the lower end of a bound (``high``, ``low``).

Formulas begin with ``enclose`` and go on with operators and methods, and they read doubles off ``low``, ``high``, ``size`` and,
where any value will do (an order, a choice), ``mid``. So the same formulas run in other arithmetic: ``computing_in(kind)``
makes ``enclose`` return another class with this interface.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from fractions import Fraction
from typing import Any

import numpy as np

from surefoot.core.arrays import AnyArray, BoolArray, FloatArray

UNIT_ROUNDOFF = 2.0**-53
# Products of small numbers may lose what a radius relative to their size does not cover.
TINY = 1e-300
# exp, log and log1p: 4 units in the last place, with a spare one for the rounding of the radius.
FUNCTION_ERROR = 10 * UNIT_ROUNDOFF
# Radii are sums of a few products of numbers at or above 0: this covers their own rounding.
OUTWARD = 1.0 + 16 * UNIT_ROUNDOFF
BLOCK_TERMS = 4096


def sum_error(n_terms: int) -> float:
    """g_n: the largest error of a sum of so many terms, relative to the sum of their absolute values."""
    return n_terms * UNIT_ROUNDOFF / (1.0 - n_terms * UNIT_ROUNDOFF)


class Enclosure:
    """Real numbers, each known to within a radius; shapes follow NumPy's rules."""

    __slots__ = ("mid", "rad")
    __array_ufunc__ = None  # arrays leave their operators to this class

    mid: FloatArray
    rad: FloatArray

    def __init__(self, mid: Any, rad: Any = 0.0) -> None:
        self.mid = np.asarray(mid, dtype=np.float64)
        self.rad = np.broadcast_to(np.asarray(rad, dtype=np.float64), self.mid.shape)

    @classmethod
    def between(cls, low: FloatArray, high: FloatArray) -> Enclosure:
        """All numbers between two; infinite ends give an infinite radius."""
        with np.errstate(over="ignore", invalid="ignore"):
            mid = np.where(np.isfinite(low) & np.isfinite(high), 0.5 * low + 0.5 * high, 0.0)
            rad = np.maximum(high - mid, mid - low) * OUTWARD + TINY
        return cls(mid, np.where(np.isnan(rad), np.inf, rad))

    @classmethod
    def choose(cls, where: BoolArray, first: Enclosure, second: Enclosure) -> Enclosure:
        return cls(np.where(where, first.mid, second.mid), np.where(where, first.rad, second.rad))

    @classmethod
    def join(cls, parts: Sequence[Enclosure], axis: int) -> Enclosure:
        return cls(np.concatenate([a.mid for a in parts], axis=axis), np.concatenate([a.rad for a in parts], axis=axis))

    def __repr__(self) -> str:
        return f"Enclosure({self.mid!r}, {self.rad!r})"

    @property
    def shape(self) -> tuple[int, ...]:
        return self.mid.shape

    @property
    def low(self) -> FloatArray:
        """Numbers at or below all members; -inf where nothing is known."""
        return _outward(self.mid - self.rad, -np.inf)

    @property
    def high(self) -> FloatArray:
        """Numbers at or above all members; inf where nothing is known."""
        return _outward(self.mid + self.rad, np.inf)

    @property
    def size(self) -> FloatArray:
        """Numbers at or above the absolute values of all members."""
        return _outward(np.abs(self.mid) + self.rad, np.inf)

    def __getitem__(self, at: Any) -> Enclosure:
        return Enclosure(self.mid[at], self.rad[at])

    @property
    def transposed(self) -> Enclosure:
        return Enclosure(self.mid.T, self.rad.T)

    def __neg__(self) -> Enclosure:
        return Enclosure(-self.mid, self.rad)

    def __add__(self, other: Any) -> Enclosure:
        b = enclose(other)
        with np.errstate(over="ignore", invalid="ignore"):
            return _rounded(self.mid + b.mid, self.rad + b.rad)

    def __sub__(self, other: Any) -> Enclosure:
        return self + -enclose(other)

    def __mul__(self, other: Any) -> Enclosure:
        b = enclose(other)
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            rad = np.abs(self.mid) * b.rad + self.rad * (np.abs(b.mid) + b.rad)
            return _rounded(self.mid * b.mid, rad)

    def __truediv__(self, other: Any) -> Enclosure:
        """Infinite radii where the divisor may be 0."""
        b = enclose(other)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore", under="ignore"):
            nearest = (np.abs(b.mid) - b.rad) * (1.0 - 4 * UNIT_ROUNDOFF)
            mid = self.mid / b.mid
            rad = (self.rad + np.abs(mid) * (1.0 + 4 * UNIT_ROUNDOFF) * b.rad) / nearest
            return _rounded(mid, np.where(nearest > 0, rad, np.inf))

    __radd__ = __add__
    __rmul__ = __mul__

    def __rsub__(self, other: Any) -> Enclosure:
        return enclose(other) - self

    def __rtruediv__(self, other: Any) -> Enclosure:
        return enclose(other) / self

    def __matmul__(self, other: Any) -> Enclosure:
        """A matrix or vector product; the left operand may also be a sparse array (``sparse @ Enclosure``)."""
        b = enclose(other)
        return _product(self.mid, self.rad if self.rad.any() else None, b)

    def __rmatmul__(self, other: Any) -> Enclosure:
        """``array @ Enclosure``, where the array is exact: dense, or sparse with the interface of scipy's."""
        return _product(other, None, self)

    def __abs__(self) -> Enclosure:
        return Enclosure(np.abs(self.mid), self.rad)

    def sum(self, axis: int | None = None) -> Enclosure:
        """Sums along an axis, taken in blocks so that the error of long ones stays small."""
        mid = self.mid.ravel() if axis is None else np.moveaxis(self.mid, axis, 0)
        rad = self.rad.ravel() if axis is None else np.moveaxis(self.rad, axis, 0)
        n_terms = mid.shape[0]
        if n_terms == 0:
            return Enclosure(np.zeros(mid.shape[1:]))
        starts = np.arange(0, n_terms, BLOCK_TERMS)
        error = sum_error(min(n_terms, BLOCK_TERMS) + len(starts) + 4)
        with np.errstate(over="ignore", invalid="ignore"):
            total = np.add.reduceat(mid, starts, axis=0).sum(axis=0)
            sizes = np.add.reduceat(np.abs(mid), starts, axis=0).sum(axis=0)
            spread = np.add.reduceat(rad, starts, axis=0).sum(axis=0)
            return Enclosure(total, _radius((spread + error * sizes) * (1.0 + 2 * error), total))

    def sqrt(self) -> Enclosure:
        """Square roots of the members at or above 0; there must be some."""
        return Enclosure.between(
            np.sqrt(np.maximum(self.low, 0.0)) * (1.0 - 4 * UNIT_ROUNDOFF), np.sqrt(self.high) * (1.0 + 4 * UNIT_ROUNDOFF)
        )

    def exp(self) -> Enclosure:
        return self.rising(np.exp)

    def log(self) -> Enclosure:
        """Logarithms of the positive members; -inf may be among them."""
        with np.errstate(divide="ignore"):
            return self.rising(lambda value: np.log(np.maximum(value, 0.0)))

    def softplus(self) -> Enclosure:
        """log(1 + exp(v)): log1p and exp, each with its error."""
        return self.rising(lambda value: np.logaddexp(0.0, value), 3 * FUNCTION_ERROR)

    def rising(self, function: Callable[[FloatArray], FloatArray], error: float = FUNCTION_ERROR) -> Enclosure:
        """A function that never falls, computed to a relative error: its values at both ends."""
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            low, high = function(self.low), function(self.high)
            return Enclosure.between(low - error * np.abs(low) - TINY, high + error * np.abs(high) + TINY)

    def maximum(self, other: Any) -> Enclosure:
        """The larger one, place by place."""
        b = enclose(other)
        return Enclosure.between(np.maximum(self.low, b.low), np.maximum(self.high, b.high))

    def max(self, axis: int | None = None) -> Enclosure:
        return Enclosure.between(self.low.max(axis=axis), self.high.max(axis=axis))

    def sums_by_place(self, places: AnyArray, n_places: int) -> Enclosure:
        """Sums of the entries that share a place, 0 to n_places - 1."""
        error = sum_error(int(np.bincount(places, minlength=1).max()) + 4)
        total: FloatArray = np.bincount(places, weights=self.mid, minlength=n_places).astype(np.float64)
        spread: FloatArray = np.bincount(places, weights=self.rad + error * np.abs(self.mid), minlength=n_places).astype(
            np.float64
        )
        return Enclosure(total, _radius(spread * (1.0 + 2 * error), total))

    def cumsum(self, axis: int) -> Enclosure:
        """Running sums along an axis."""
        error = sum_error(self.mid.shape[axis] + 4)
        with np.errstate(over="ignore", invalid="ignore"):
            total = np.cumsum(self.mid, axis=axis)
            spread = np.cumsum(self.rad + error * np.abs(self.mid), axis=axis)
            return Enclosure(total, _radius(spread * (1.0 + 2 * error), total))


_KIND: ContextVar[type[Enclosure]] = ContextVar("kind of enclosures", default=Enclosure)


@contextmanager
def computing_in(kind: type[Enclosure]) -> Iterator[None]:
    """Within this block, ``enclose`` makes enclosures of that kind."""
    token = _KIND.set(kind)
    try:
        yield
    finally:
        _KIND.reset(token)


def enclose(value: Any) -> Enclosure:
    """An enclosure as it is; numbers and arrays as themselves, with radius 0."""
    return value if isinstance(value, Enclosure) else _KIND.get()(value)


def between(low: Any, high: Any) -> Enclosure:
    """All numbers between two doubles, place by place; infinite ends give an infinite radius."""
    return _KIND.get().between(np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64))


def choose(where: BoolArray, first: Any, second: Any) -> Enclosure:
    """The first where the condition holds, the second elsewhere."""
    return _KIND.get().choose(where, enclose(first), enclose(second))


def join(parts: Sequence[Any], axis: int = 0) -> Enclosure:
    """Enclosures one behind the other."""
    return _KIND.get().join([enclose(part) for part in parts], axis)


def exact_dot(first: AnyArray, second: AnyArray) -> Enclosure:
    """The inner product of two vectors of doubles, right to the last place: for sums whose terms nearly cancel."""
    total = sum((Fraction(float(a)) * Fraction(float(b)) for a, b in zip(first, second, strict=True)), Fraction(0))
    try:
        mid = float(total)
    except OverflowError:
        return between(-np.inf, np.inf)
    exact = Fraction(mid) == total
    return between(mid, mid) if exact else between(np.nextafter(mid, -np.inf), np.nextafter(mid, np.inf))


def _outward(value: FloatArray, towards: float) -> FloatArray:
    found: FloatArray = np.nextafter(value, towards)
    return np.where(np.isnan(found), towards, found)


def _radius(rad: FloatArray, mid: FloatArray) -> FloatArray:
    """A radius enlarged by its own rounding; infinite where anything has overflowed."""
    found: FloatArray = np.where(np.isfinite(mid) & ~np.isnan(rad), rad * OUTWARD + TINY, np.inf)
    return found


def _rounded(mid: FloatArray, rad: FloatArray) -> Enclosure:
    """The result of one rounded operation. Where nothing can be said the midpoint is 0 and the radius infinite."""
    with np.errstate(over="ignore", invalid="ignore"):
        wide = _radius(rad + UNIT_ROUNDOFF * np.abs(mid), mid)
    return Enclosure(np.where(np.isfinite(wide), mid, 0.0), wide)


def _product(left: Any, left_rad: FloatArray | None, right: Enclosure) -> Enclosure:
    """left @ right with its error; ``left_rad`` is None for exact entries."""
    error = sum_error(right.mid.shape[0] + 4)
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        mid = left @ right.mid
        sizes = np.abs(right.mid)
        rad = abs(left) @ (right.rad + error * sizes)
        if left_rad is not None:
            rad = rad + left_rad @ (sizes + right.rad)
        rad = rad * (1.0 + 2 * error) + right.mid.shape[0] * TINY
        wide = _radius(rad, mid)
    return Enclosure(np.where(np.isfinite(wide), mid, 0.0), wide)
