"""The norm in which numeric shifts are priced, and its dual, which bounds the coefficients.

A row that moves by v in its numeric columns costs || (gamma_j v_j)_j ||, in one of three norms:

    l1      sum_j gamma_j |v_j|               the columns' prices add up
    l2      (sum_j (gamma_j v_j)^2)^(1/2)     a straight line costs its length
    linf    max_j gamma_j |v_j|               only the dearest column counts

Softplus is 1-Lipschitz, with slope 1 at infinity. So moving a row along the numeric columns raises its loss by at most its
price, whatever the row, exactly if

    |beta . v| <= lambda || (gamma_j v_j)_j ||  for all v,    that is,    || (beta_j / gamma_j)_j ||_* <= lambda,

with the dual norm on the left (Hoelder): the maximum for l1, l2 for itself, the sum for linf. :func:`coefficient_norm` is that
dual norm of a model's coefficients, :func:`gradient_norm` the norm of a vector g in the space of the columns, as it stands in
the budget of a :class:`~surefoot.robust.problem.problem.ShiftPlan`. Together they say

    |beta . g| <= coefficient_norm(beta) * gradient_norm(g).                                                     (1)

A column with gamma_j = inf can never move: its coefficient is free, and adds nothing to the dual norm; a vector that moves it
has an infinite norm. Without columns both norms are 0.
"""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.core.row_blocks import UNIT_ROUNDOFF

NumericNorm = Literal["l1", "l2", "linf"]
NUMERIC_NORMS: tuple[NumericNorm, ...] = get_args(NumericNorm)

_DUAL: dict[NumericNorm, NumericNorm] = {"l1": "linf", "l2": "l2", "linf": "l1"}


def require_norm(name: str, norm: object) -> None:
    """Raise ``ValueError`` with the choices if this is none of the norms."""
    if norm not in NUMERIC_NORMS:
        raise ValueError(f"{name}={norm!r} is not known. Choose one of {', '.join(map(repr, NUMERIC_NORMS))}.")


def _norm(sizes: FloatArray, norm: NumericNorm) -> float:
    """The norm of numbers that are not negative."""
    largest = float(sizes.max(initial=0.0))
    if norm == "linf" or largest == 0 or not np.isfinite(largest):
        return largest
    if norm == "l1":
        return float(sizes.sum())
    # Relative to the largest, no square overflows, and those that underflow do not count.
    return largest * float(np.sqrt(np.square(sizes / largest).sum()))


def coefficient_norm(coefficients: FloatArray, weights: FloatArray, norm: NumericNorm) -> float:
    """The smallest price lambda that admits these coefficients: the dual norm of (beta_j / gamma_j)_j.

    Parameters
    ----------
    coefficients : ndarray of shape (n_numeric,)
        beta, finite.
    weights : ndarray of shape (n_numeric,)
        gamma, positive; ``inf`` where a column never moves.
    norm : {"l1", "l2", "linf"}
        The norm of the ground cost, not its dual.
    """
    return _norm(np.abs(coefficients) / weights, _DUAL[norm])


def gradient_norm(gradient: FloatArray, weights: FloatArray, norm: NumericNorm) -> float:
    """|| (gamma_j g_j)_j || in the norm of the ground cost; ``inf`` if g does not vanish where gamma is ``inf``.

    Parameters
    ----------
    gradient : ndarray of shape (n_numeric,)
        g.
    weights : ndarray of shape (n_numeric,)
        gamma, positive; ``inf`` where a column never moves.
    norm : {"l1", "l2", "linf"}
        The norm of the ground cost.
    """
    sizes, movable = np.abs(gradient), np.isfinite(weights)
    if not np.all(sizes[~movable] == 0):
        return np.inf
    return _norm(weights[movable] * sizes[movable], norm)


def norm_rounding(n_numeric: int) -> float:
    """Largest relative error of a computed norm of so many columns."""
    return (n_numeric + 8) * UNIT_ROUNDOFF
