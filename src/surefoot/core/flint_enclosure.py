"""The same enclosures in ball arithmetic: a second opinion on the doubles, and a sharper one.

``computing_in(FlintEnclosure)`` lets every formula that begins with ``enclose`` run on balls of the library FLINT (Johansson,
IEEE Transactions on Computers 66, 2017) with midpoints of 128 bits. It shares no rounding analysis with
:mod:`surefoot.core.enclosure`: the radii are FLINT's own. It is some hundred times slower.

Ends become doubles by rounding outward, so ``low`` and ``high`` mean what they mean there. FLINT bounds the radii
of wide balls to a few digits: an enclosure that is wide from the start may come out wider than in doubles by some thousandths.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from fractions import Fraction
from typing import Any

import numpy as np

from surefoot.core.arrays import AnyArray, BoolArray, FloatArray
from surefoot.core.enclosure import Enclosure

try:
    import flint
    from flint import arb
except ImportError as error:
    raise ImportError(
        "Ball arithmetic needs python-flint, the extra 'proof' of surefoot: pip install 'surefoot[proof]'.", name="flint"
    ) from error

PRECISION = 128
LARGEST = float(np.finfo(np.float64).max)


class FlintEnclosure(Enclosure):
    """Real numbers as balls: ``balls`` is an array of objects; shapes follow NumPy's rules."""

    __slots__ = ("balls",)

    balls: AnyArray

    def __init__(self, mid: Any, rad: Any = 0.0) -> None:
        given = np.asarray(mid)
        if given.dtype.kind not in "biuf" or given.dtype.itemsize > 8:
            raise TypeError(f"An enclosure begins with doubles or integers, not with {given.dtype}.")
        # Both may be any double or integer: balls take them as they are, whatever the precision.
        self.balls = _each(arb, given, np.broadcast_to(np.asarray(rad, dtype=np.float64), given.shape))

    @classmethod
    def of(cls, value: Any) -> FlintEnclosure:
        """Balls of whatever ``enclose`` takes; those that doubles have computed keep their radii."""
        if isinstance(value, cls):
            return value
        return cls(value.mid, value.rad) if isinstance(value, Enclosure) else cls(value)

    @classmethod
    def between(cls, low: FloatArray, high: FloatArray) -> FlintEnclosure:
        return cls._hull(_each(arb, low), _each(arb, high))

    @classmethod
    def of_fraction(cls, value: Fraction) -> FlintEnclosure:
        with _precision():
            return _made(arb(flint.fmpq(value.numerator, value.denominator)))

    @classmethod
    def choose(cls, where: BoolArray, first: Enclosure, second: Enclosure) -> FlintEnclosure:
        return _made(np.where(where, cls.of(first).balls, cls.of(second).balls))

    @classmethod
    def join(cls, parts: Sequence[Enclosure], axis: int) -> FlintEnclosure:
        return _made(np.concatenate([cls.of(part).balls for part in parts], axis=axis))

    @classmethod
    def _hull(cls, low: AnyArray, high: AnyArray) -> FlintEnclosure:
        with _precision():
            return _made(_each(_union, low, high))

    def __repr__(self) -> str:
        return f"FlintEnclosure({self.balls!r})"

    @property
    def shape(self) -> tuple[int, ...]:
        return self.balls.shape

    @property
    def low(self) -> FloatArray:
        return _doubles(lambda ball: -_rounded_up(-ball), self.balls)

    @property
    def high(self) -> FloatArray:
        return _doubles(_rounded_up, self.balls)

    @property
    def size(self) -> FloatArray:
        return _doubles(lambda ball: _rounded_up(abs(ball)), self.balls)

    @property
    def mid(self) -> FloatArray:  # type: ignore[override]
        """The nearest doubles to the midpoints; 0 where nothing is known."""
        return _doubles(_nearest, self.balls)

    @property
    def rad(self) -> FloatArray:  # type: ignore[override]
        """How far members may be from ``mid``."""
        return _doubles(lambda ball: _rounded_up(abs(ball - arb(_nearest(ball)))), self.balls)

    def __getitem__(self, at: Any) -> FlintEnclosure:
        return _made(self.balls[at])

    def reshape(self, *shape: int) -> FlintEnclosure:
        return _made(self.balls.reshape(shape))

    @property
    def transposed(self) -> FlintEnclosure:
        return _made(self.balls.T)

    def __neg__(self) -> FlintEnclosure:
        with _precision():
            return _made(-self.balls)

    def __abs__(self) -> FlintEnclosure:
        with _precision():
            return _made(_each(abs, self.balls))

    def __add__(self, other: Any) -> FlintEnclosure:
        with _precision():
            return _made(self.balls + self.of(other).balls)

    def __sub__(self, other: Any) -> FlintEnclosure:
        with _precision():
            return _made(self.balls - self.of(other).balls)

    def __mul__(self, other: Any) -> FlintEnclosure:
        with _precision():
            return _made(self.balls * self.of(other).balls)

    def __truediv__(self, other: Any) -> FlintEnclosure:
        with _precision():
            return _made(self.balls / self.of(other).balls)

    __radd__ = __add__
    __rmul__ = __mul__

    def __rsub__(self, other: Any) -> FlintEnclosure:
        return self.of(other) - self

    def __rtruediv__(self, other: Any) -> FlintEnclosure:
        return self.of(other) / self

    def __matmul__(self, other: Any) -> FlintEnclosure:
        right = self.of(other).balls
        with _precision():
            found = self.balls @ right
            return _made(found if self.shape[-1] else _each(arb, found))  # of no terms NumPy makes integers

    def __rmatmul__(self, other: Any) -> FlintEnclosure:
        if not hasattr(other, "indptr"):
            return self.of(other) @ self
        entries = other.tocoo()  # every stored entry, also where a place occurs twice
        total = _zeros((other.shape[0], *self.shape[1:]))
        with _precision():
            factors = self.of(entries.data).balls.reshape(-1, *[1] * (self.balls.ndim - 1))
            np.add.at(total, entries.row, factors * self.balls[entries.col])
        return _made(total)

    def sum(self, axis: int | None = None) -> FlintEnclosure:
        with _precision():
            return _made(np.add.reduce(self.balls, axis=axis, initial=arb(0)))

    def cumsum(self, axis: int) -> FlintEnclosure:
        with _precision():
            return _made(np.add.accumulate(self.balls, axis=axis))

    def sums_by_place(self, places: AnyArray, n_places: int) -> FlintEnclosure:
        if np.any(np.asarray(places) < 0):
            raise ValueError("Places are counted from 0.")
        total = _zeros((n_places,))
        with _precision():
            np.add.at(total, places, self.balls)
        return _made(total)

    def sqrt(self) -> FlintEnclosure:
        return self._at_ends(lambda end: arb("nan") if end < 0 else end.sqrt(), least=arb(0))

    def exp(self) -> FlintEnclosure:
        return self._at_ends(lambda end: end.exp())

    def expm1(self) -> FlintEnclosure:
        return self._at_ends(lambda end: end.expm1())

    def log(self) -> FlintEnclosure:
        return self._at_ends(lambda end: end.log() if end > 0 else arb("nan"))

    def softplus(self) -> FlintEnclosure:
        return self._at_ends(lambda end: end + (-end).exp().log1p() if end > 0 else end.exp().log1p())

    def entropy(self) -> FlintEnclosure:
        return self._at_ends(_entropy)

    def maximum(self, other: Any) -> FlintEnclosure:
        a, b = self.balls, self.of(other).balls
        with _precision():
            return self._hull(_each(_larger, _lows(a), _lows(b)), _each(_larger, _highs(a), _highs(b)))

    def max(self, axis: int | None = None) -> FlintEnclosure:
        balls = self.balls.ravel() if axis is None else self.balls
        along = 0 if axis is None else axis
        largest: Any = np.frompyfunc(_larger, 2, 1)
        with _precision():
            return self._hull(largest.reduce(_lows(balls), axis=along), largest.reduce(_highs(balls), axis=along))

    def _at_ends(self, function: Callable[[arb], arb], least: arb | None = None) -> FlintEnclosure:
        """A function that never falls: all between its values at both ends. FLINT's own, of wide balls, may be wider."""
        with _precision():
            lows, highs = _lows(self.balls), _highs(self.balls)
            if least is not None:
                lows = _each(lambda low: least if low < least else low, lows)
            return self._hull(_each(function, lows), _each(function, highs))


def _precision() -> AbstractContextManager[Any]:
    """FLINT's precision is one for the whole process: ours within the block, then what it was."""
    found: AbstractContextManager[Any] = flint.ctx.workprec(PRECISION)
    return found


def _made(balls: Any) -> FlintEnclosure:
    """An enclosure of these balls; of arrays without dimensions NumPy returns the ball alone."""
    found = FlintEnclosure.__new__(FlintEnclosure)
    found.balls = np.asarray(balls, dtype=object)
    return found


def _each(function: Callable[..., Any], *arrays: Any) -> AnyArray:
    return np.asarray(np.frompyfunc(function, len(arrays), 1)(*arrays), dtype=object)


def _zeros(shape: tuple[int, ...]) -> AnyArray:
    return _each(arb, np.zeros(shape))


def _lows(balls: AnyArray) -> AnyArray:
    return _each(arb.lower, balls)


def _highs(balls: AnyArray) -> AnyArray:
    return _each(arb.upper, balls)


def _union(low: arb, high: arb) -> arb:
    if not (low.is_finite() and high.is_finite()):
        return arb(0, np.inf)
    return low.union(high)


def _larger(first: arb, second: arb) -> arb:
    """The larger of two ends, which are exact; unknown if one is."""
    if first.is_nan() or second.is_nan():
        return arb("nan")
    return first if first > second else second


def _entropy(end: arb) -> arb:
    """What an end outside of [0, 1/2] has beyond it is rounding: the members lie inside, where the entropy rises."""
    if not end > 0:
        return arb("nan") if end.is_nan() else arb(0)
    end = end if end < 0.5 else arb(0.5)
    return -end * end.log() - (1 - end) * (-end).log1p()


def _nearest(ball: arb) -> float:
    return max(-LARGEST, min(LARGEST, float(ball.mid()))) if ball.is_finite() else 0.0


def _rounded_up(ball: arb) -> float:
    """A double at or above all members."""
    end = ball.upper()
    found = float(end)
    if np.isnan(found):
        return np.inf
    return float(np.nextafter(found, np.inf)) if arb(found) < end else found


def _doubles(function: Callable[[arb], float], balls: AnyArray) -> FloatArray:
    with _precision():
        return _each(function, balls).astype(np.float64) + 0.0  # no negative zeros
