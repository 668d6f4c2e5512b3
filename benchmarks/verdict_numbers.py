"""Real numbers to 60 digits: what a certificate says in doubles is held against these.

Doubles are read exactly, and exponentials and logarithms of ``decimal`` are correctly rounded, so that a figure is wrong by
some 1e-55 of the largest number on its way. The standard library only: nothing here is shared with what is judged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, localcontext
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

DIGITS = 60
CONTEXT = Context(prec=DIGITS, Emax=MAX_EMAX, Emin=MIN_EMIN)
# Beyond this the smaller term of a softplus is below the last digit kept, and far beyond it below every double.
FAR, NOTHING = Decimal(150), Decimal(10**6)

Numbers = NDArray[Any]
P = ParamSpec("P")
T = TypeVar("T")


def exactly(function: Callable[P, T]) -> Callable[P, T]:
    """Run a function with 60 digits."""

    @wraps(function)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> T:
        with localcontext(CONTEXT):
            return function(*args, **kwargs)

    return wrapped


def exact(values: Any) -> Numbers:
    """Doubles as decimals, in an array of the same shape."""
    given = np.asarray(values, dtype=np.float64)
    found = np.empty(given.shape, dtype=object)
    found.ravel()[:] = [Decimal(value) for value in given.ravel().tolist()]
    return found


def softplus(value: Decimal) -> Decimal:
    """log(1 + exp(value))."""
    if value > FAR:
        return value + softplus(-value)
    if value < -FAR:
        return value.exp() if value > -NOTHING else Decimal(0)
    return (1 + value.exp()).ln()


def total(values: Iterable[Decimal]) -> Decimal:
    """Sum, of none 0."""
    return sum(values, Decimal(0))


@exactly
def bisected(slope: Callable[[Decimal], Decimal], low: Decimal, high: Decimal, steps: int = 80) -> Decimal:
    """A place between ``low`` and ``high`` where a rising function changes its sign."""
    for _ in range(steps):
        middle = (low + high) / 2
        low, high = (low, middle) if slope(middle) >= 0 else (middle, high)
    return high
