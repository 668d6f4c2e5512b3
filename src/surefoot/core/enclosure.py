"""Real numbers known to within a radius: arithmetic on doubles whose results contain the exact ones.

An ``Enclosure`` is a pair of arrays, midpoint m and radius r >= 0, and stands for all real numbers in [m - r, m + r]. Every
operation returns an enclosure of all results of its operands' members, rounding included (Rump, Acta Numerica 19, 2010):

    |fl(a o b) - a o b| <= u |fl(a o b)| + tiny      for o in + - * / and the square root, u = 2**-53,
    |fl(sum of n terms) - sum| <= g_(n-1) sum |terms|,   g_n = n u / (1 - n u), in whatever order the machine adds,
    |fl(A @ B) - A B| <= g_n |A| |B|                 with n the number of terms of each product,

and radii, which are themselves computed in doubles, are enlarged by more than their own rounding. exp, expm1, log and log1p of
NumPy are taken to be right to 4 units in the last place; that, and the correctness of + - * / and the square root, is all that
is assumed of the machine.

Formulas begin with ``enclose`` and go on with operators and methods, and they read doubles off ``low``, ``high``, ``size`` and,
where any value will do (an order, a choice), ``mid``. A verdict needs the high end of an objective and the low end of a bound.
The same formulas run in other arithmetic: ``computing_in(kind)`` makes ``enclose`` return another class with this interface.
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
# exp, expm1, log and log1p: 4 units in the last place, with a spare one for the rounding of the radius.
FUNCTION_ERROR = 10 * UNIT_ROUNDOFF
# Radii are sums of a few products of numbers at or above 0: this covers their own rounding.
OUTWARD = 1.0 + 16 * UNIT_ROUNDOFF
BLOCK_TERMS = 4096


def sum_error(n_roundings: int) -> float:
    """g_n: the largest error of a sum with so many roundings on each way to it, relative to its absolute terms' sum."""
    return n_roundings * UNIT_ROUNDOFF / (1.0 - n_roundings * UNIT_ROUNDOFF)


class Enclosure:
    """Real numbers, each known to within a radius; shapes follow NumPy's rules."""

    __slots__ = ("mid", "rad")
    __array_ufunc__ = None  # arrays leave their operators to this class

    mid: FloatArray
    rad: FloatArray

    def __init__(self, mid: Any, rad: Any = 0.0) -> None:
        given = np.asarray(mid)
        if given.dtype.kind not in "biuf" or given.dtype.itemsize > 8:
            raise TypeError(f"An enclosure begins with doubles or integers, not with {given.dtype}.")
        self.mid = given.astype(np.float64, copy=False)
        if given.dtype.kind in "iu":  # integers beyond 2**53 are rounded
            rad = rad + np.where(np.abs(self.mid) < 2.0**53, 0.0, 2 * UNIT_ROUNDOFF * np.abs(self.mid))
        wide = np.asarray(rad, dtype=np.float64)
        self.rad = wide if wide.shape == self.mid.shape else np.broadcast_to(wide, self.mid.shape)

    @classmethod
    def between(cls, low: FloatArray, high: FloatArray) -> Enclosure:
        """All numbers between two; infinite ends give an infinite radius."""
        with np.errstate(all="ignore"):
            mid = np.where(np.isfinite(low) & np.isfinite(high), 0.5 * low + 0.5 * high, 0.0)
            return _within(mid, np.maximum(np.abs(high - mid), np.abs(mid - low)))

    @classmethod
    def of_fraction(cls, value: Fraction) -> Enclosure:
        try:
            mid = float(value)
        except OverflowError:
            return cls(0.0, np.inf)
        return cls(mid, 0.0 if Fraction(mid) == value else 2 * UNIT_ROUNDOFF * abs(mid) + TINY)

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
        """At or below all members; -inf where nothing is known."""
        return _outward(self.mid, -self.rad, -np.inf)

    @property
    def high(self) -> FloatArray:
        """At or above all members; inf where nothing is known."""
        return _outward(self.mid, self.rad, np.inf)

    @property
    def size(self) -> FloatArray:
        """At or above the absolute values of all members."""
        return _outward(np.abs(self.mid), self.rad, np.inf)

    def __getitem__(self, at: Any) -> Enclosure:
        return Enclosure(self.mid[at], self.rad[at])

    def reshape(self, *shape: int) -> Enclosure:
        return Enclosure(self.mid.reshape(shape), self.rad.reshape(shape))

    @property
    def transposed(self) -> Enclosure:
        return Enclosure(self.mid.T, self.rad.T)

    def __neg__(self) -> Enclosure:
        return Enclosure(-self.mid, self.rad)

    def __add__(self, other: Any) -> Enclosure:
        b = enclose(other)
        with np.errstate(all="ignore"):
            return _within(self.mid + b.mid, self.rad + b.rad, UNIT_ROUNDOFF)

    def __sub__(self, other: Any) -> Enclosure:
        return self + -enclose(other)

    def __mul__(self, other: Any) -> Enclosure:
        b = enclose(other)
        with np.errstate(all="ignore"):
            rad = np.abs(self.mid) * b.rad + self.rad * (np.abs(b.mid) + b.rad)
            return _within(self.mid * b.mid, rad, UNIT_ROUNDOFF)

    def __truediv__(self, other: Any) -> Enclosure:
        """Infinite radii where the divisor may be 0."""
        b = enclose(other)
        with np.errstate(all="ignore"):
            nearest = (np.abs(b.mid) - b.rad) * (1.0 - 4 * UNIT_ROUNDOFF)
            mid = self.mid / b.mid
            rad = self.rad / nearest + np.abs(mid) * (1.0 + 4 * UNIT_ROUNDOFF) * (b.rad / nearest)
            return _within(mid, np.where(nearest > 0, rad, np.inf), UNIT_ROUNDOFF)

    __radd__ = __add__
    __rmul__ = __mul__

    def __rsub__(self, other: Any) -> Enclosure:
        return enclose(other) - self

    def __rtruediv__(self, other: Any) -> Enclosure:
        return enclose(other) / self

    def __matmul__(self, other: Any) -> Enclosure:
        """A matrix or vector product; the left operand may also be a sparse array (``sparse @ Enclosure``)."""
        return _product(self.mid, np.abs(self.mid), self.rad if self.rad.any() else None, self.shape[-1], enclose(other))

    def __rmatmul__(self, other: Any) -> Enclosure:
        """``array @ Enclosure``, where the array is exact: dense, or sparse by rows or columns as scipy's."""
        if not hasattr(other, "indptr"):
            return enclose(other) @ self
        data = Enclosure(other.data)
        parts = ((values, other.indices, other.indptr) for values in (data.mid, np.abs(data.mid), data.rad))
        left, sizes, rad = (type(other)(part, shape=other.shape) for part in parts)
        # A row has as many terms as entries: fewer than columns, or more where a place is stored twice.
        terms = np.diff(other.indptr) if other.format == "csr" else np.bincount(other.indices)
        return _product(left, sizes, rad if data.rad.any() else None, int(terms.max(initial=0)), self)

    def __abs__(self) -> Enclosure:
        return Enclosure(np.abs(self.mid), self.rad)

    def sum(self, axis: int | None = None) -> Enclosure:
        """Sums along an axis, taken in blocks so that the error of long ones stays small."""
        terms, along = (self.reshape(-1), 0) if axis is None else (self, axis)
        n_terms = terms.shape[along]
        if n_terms == 0:
            return Enclosure(np.zeros(np.delete(terms.shape, along)))
        starts = np.arange(0, n_terms, BLOCK_TERMS)
        additions = min(n_terms, BLOCK_TERMS) + len(starts) - 2  # in a block, and of blocks
        return terms._added(lambda values: np.add.reduceat(values, starts, axis=along).sum(axis=along), additions)

    def sums_by_place(self, places: AnyArray, n_places: int) -> Enclosure:
        """Sums of the entries that share a place, 0 to n_places - 1."""
        counts = np.bincount(places, minlength=n_places)
        if len(counts) > n_places:
            raise IndexError(f"Place {len(counts) - 1} is not one of {n_places}.")
        return self._added(lambda values: np.bincount(places, weights=values, minlength=n_places), int(counts.max(initial=0)))

    def cumsum(self, axis: int) -> Enclosure:
        """Running sums along an axis."""
        return self._added(lambda values: np.cumsum(values, axis=axis), max(self.shape[axis] - 1, 0))

    def _added(self, add: Callable[[FloatArray], AnyArray], additions: int) -> Enclosure:
        """What ``add`` makes of the entries, each of its sums with so many additions at most."""
        error = sum_error(additions)
        with np.errstate(all="ignore"):
            return _within(add(self.mid), add(self.rad + error * np.abs(self.mid)) * (1.0 + 2 * error))

    def sqrt(self) -> Enclosure:
        """Square roots of the members at or above 0; nothing is known where there is none."""
        with np.errstate(all="ignore"):
            low, high = np.sqrt(np.maximum(self.low, 0.0)), np.sqrt(self.high)
            return Enclosure.between(low * (1.0 - 4 * UNIT_ROUNDOFF), high * (1.0 + 4 * UNIT_ROUNDOFF))

    def exp(self) -> Enclosure:
        return self._rising(np.exp)

    def expm1(self) -> Enclosure:
        """exp(v) - 1, whose error near 0 is relative to it."""
        return self._rising(np.expm1)

    def log(self) -> Enclosure:
        """Logarithms of the positive members; nothing is known where 0 may be among them."""
        return self._rising(lambda value: np.log(np.maximum(value, 0.0)))

    def softplus(self) -> Enclosure:
        """log(1 + exp(v)) = max(v, 0) + log(1 + exp(-|v|)): but for roundings of sums, the error is that of the second term."""
        with np.errstate(all="ignore"):
            ends = np.stack([self.low, self.high])
            tails = np.log1p(np.exp(-np.abs(ends)))
            values = np.maximum(ends, 0.0) + tails
            errors = 3 * FUNCTION_ERROR * tails + 4 * UNIT_ROUNDOFF * values + TINY
            return Enclosure.between(values[0] - errors[0], values[1] + errors[1])

    def entropy(self) -> Enclosure:
        """-v log(v) - (1 - v) log(1 - v) of members between 0 and 1/2, where it rises: two products, both at or above 0."""
        return self._rising(_entropy, 2 * FUNCTION_ERROR)

    def _rising(self, function: Callable[[FloatArray], FloatArray], error: float = FUNCTION_ERROR) -> Enclosure:
        """A function that never falls, computed to a relative error: its values at both ends."""
        with np.errstate(all="ignore"):
            low, high = function(self.low), function(self.high)
            return Enclosure.between(low - error * np.abs(low) - TINY, high + error * np.abs(high) + TINY)

    def maximum(self, other: Any) -> Enclosure:
        """The larger one, place by place."""
        b = enclose(other)
        return Enclosure.between(np.maximum(self.low, b.low), np.maximum(self.high, b.high))

    def max(self, axis: int | None = None) -> Enclosure:
        return Enclosure.between(self.low.max(axis=axis), self.high.max(axis=axis))


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
    a, b = np.asarray(first), np.asarray(second)
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        return between(-np.inf, np.inf)
    ratios = [(*x.as_integer_ratio(), *y.as_integer_ratio()) for x, y in zip(a.tolist(), b.tolist(), strict=True)]
    # Divisors are powers of 2, so that the largest is a multiple of all.
    largest = max((p * q for _, p, _, q in ratios), default=1)
    return _KIND.get().of_fraction(Fraction(sum(x * y * (largest // (p * q)) for x, p, y, q in ratios), largest))


def close_product(left: FloatArray, right: FloatArray) -> Enclosure:
    """The product of two matrices of doubles, for sums whose terms nearly cancel: some 1e5 times as close as ``@``.

    Leading bits of both, so few that their products and sums of these are whole multiples of one unit below 2**53 of it, are
    multiplied without any rounding, in whatever order the machine adds; what is left is that much smaller.
    """
    bits = (52 - left.shape[1].bit_length()) // 2
    a, b = _leading(left, 1, bits), _leading(right, 0, bits)
    return enclose(a @ b) + (enclose(a) @ (right - b) + enclose(left - a) @ right)


def _leading(values: FloatArray, axis: int, bits: int) -> FloatArray:
    exponent = np.frexp(np.abs(values).max(axis=axis, keepdims=True, initial=0.0))[1]
    unit = np.ldexp(1.0, exponent - bits)
    # None where products or their sums might overflow, or underflow.
    return np.where(np.abs(exponent) < 400, np.rint(values / unit) * unit, 0.0)


def _entropy(share: FloatArray) -> FloatArray:
    inside = np.clip(share, 0.0, 0.5)
    found: FloatArray = np.where(inside > 0, -inside * np.log(inside), 0.0) - (1.0 - inside) * np.log1p(-inside)
    return found


def _outward(value: FloatArray, step: FloatArray, towards: float) -> FloatArray:
    with np.errstate(all="ignore"):
        found: FloatArray = np.nextafter(value + step, towards)
    return np.where(np.isnan(found), towards, found)


def _within(mid: AnyArray, rad: AnyArray, error: float = 0.0) -> Enclosure:
    """Radii enlarged by an error relative to the midpoint and by their own rounding; nothing is known after an overflow."""
    with np.errstate(all="ignore"):
        rad = (rad + error * np.abs(mid)) * OUTWARD + TINY
        wide = np.where(np.isfinite(mid) & ~np.isnan(rad), rad, np.inf)
    return Enclosure(np.where(np.isfinite(wide), mid, 0.0), wide)


def _product(left: Any, sizes: Any, left_rad: Any, n_terms: int, right: Enclosure) -> Enclosure:
    """left @ right with its error, where ``sizes`` is |left|; ``left_rad`` is None if it is exact."""
    error = sum_error(n_terms)
    with np.errstate(all="ignore"):
        mid, right_sizes = left @ right.mid, np.abs(right.mid)
        # A small entry times the error may vanish and still count when it is multiplied by a large one: hence TINY.
        rad = sizes @ (right.rad + (error * right_sizes + TINY))
        if left_rad is not None:
            rad = rad + left_rad @ (right_sizes + right.rad)
        return _within(mid, rad * (1.0 + 2 * error) + n_terms * TINY)
