"""The augmented forward problem over a linear set, as linear programmes over integers.

    max over x of  -c . x + d(x_hat, x)   =   max over terms and x of  -(c + tilt) . x + constant + table[h(x)]

A term replaces the distance by something linear, and by a concave table of the number h(x) of 0/1 unknowns that differ from the
response (see :mod:`surefoot.inverse.problem.distance`). There is one term, or two per continuous unknown if those are measured
by the largest difference.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.exceptions import UnsupportedProblemError
from surefoot.inverse.problem.decision_set import LinearSet
from surefoot.inverse.problem.distance import Distance


@dataclass(frozen=True, eq=False)
class Term:
    """-tilt . x + constant, and ``table[h(x)]`` if there is a table."""

    tilt: FloatArray
    constant: float
    table: FloatArray | None = None


def _apart(size: FloatArray, power: int) -> FloatArray:
    return np.abs(size) if power == 1 else np.square(size)


def distance_terms(decisions: LinearSet, response: FloatArray, distance: Distance) -> list[Term]:
    """The terms of a distance.

    Raises
    ------
    UnsupportedProblemError
        If no terms of this kind make it up.
    """
    n = decisions.n_unknowns
    whole = decisions.whole
    tilt, constant, table = np.zeros(n), 0.0, None
    name = distance.integer if whole.any() else "none"
    spread: list[int] = []
    if name != "none":
        binary = decisions.binary
        if name == "linf" and not binary[whole].all():
            spread = [int(j) for j in np.flatnonzero(whole)]
        elif not binary[whole].all():
            at = int(np.flatnonzero(whole & ~binary)[0])
            raise UnsupportedProblemError(
                f"distance={name!r} is exact for 0/1 unknowns only, and unknown {at} ranges from {decisions.lower[at]:g} to "
                f"{decisions.upper[at]:g}. Choose 'linf' or 'none' for the integer part."
            )
        elif name in ("l1", "squared-l2"):
            power = 1 if name == "l1" else 2
            at_zero, at_one = _apart(response, power), _apart(response - 1.0, power)
            tilt[whole] = (at_zero - at_one)[whole]
            constant = float(at_zero[whole].sum())
        else:
            rounded = np.rint(response[whole])
            if np.abs(response[whole] - rounded).max() > 1e-6 or not np.isin(rounded, (0.0, 1.0)).all():
                raise UnsupportedProblemError(
                    f"distance={name!r} needs responses of zeros and ones, and this one holds other values. Choose 'l1' or "
                    "'squared-l2', which do not."
                )
            steps = np.arange(int(whole.sum()) + 1, dtype=np.float64)
            table = np.sqrt(steps) if name == "l2" else np.minimum(steps, 1.0)
    if not whole.all() and distance.continuous == "squared-l2":
        raise UnsupportedProblemError(
            "distance='squared-l2' is not exact for continuous unknowns of a linear programme. Choose 'linf' or 'none' for "
            "them: distance=('linf', 'squared-l2')."
        )
    if not whole.all() and distance.continuous == "linf":
        if spread:
            raise UnsupportedProblemError(
                "distance='linf' for both parts is exact only if the integer part is 0/1; choose 'none' for one of them."
            )
        spread = [int(j) for j in np.flatnonzero(~whole)]
    if not spread:
        return [Term(tilt, constant, table)]
    found = []
    for j in spread:
        for sign in (1.0, -1.0):
            leaning = tilt.copy()
            leaning[j] += sign
            found.append(Term(leaning, constant + sign * float(response[j]), table))
    return found
