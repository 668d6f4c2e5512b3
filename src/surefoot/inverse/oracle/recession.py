"""Directions in which a linear set has no end, where a cost falls for ever.

    min over r of   cost . r    subject to    A r <= 0 where A x has a ceiling, >= 0 where it has a floor,
                                              r_j >= 0 without an upper bound alone, <= 0 without a lower one, |r_j| <= 1

A decision far out in such a direction is a cut as good as any: theta . r must outweigh what the distance grows along r.
"""

from __future__ import annotations

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.core.backends.highs import LinearProgramme
from surefoot.inverse.problem.decision_set import LinearSet


def far_decision(decisions: LinearSet, start: FloatArray, cost: FloatArray, steps: float) -> FloatArray | None:
    """A decision ``steps`` times the size of ``start`` away from it, where the cost falls; None if none is found.

    Parameters
    ----------
    decisions : LinearSet
    start : ndarray
        One of the decisions.
    cost : ndarray
    steps : float
    """
    up, down = np.isinf(decisions.upper), np.isinf(decisions.lower)
    programme = LinearProgramme(np.where(down, -1.0, 0.0), np.where(up, 1.0, 0.0), cost)
    for row, low, high in zip(decisions.matrix, decisions.low, decisions.high, strict=True):
        at, unit = np.flatnonzero(row), float(np.abs(row).max(initial=0.0)) or 1.0
        ends = (0.0 if np.isfinite(low) else -np.inf, 0.0 if np.isfinite(high) else np.inf)
        programme.add_row(at.astype(np.int32), row[at] / unit, *ends)
    answer = programme.solve()
    if answer.point is None or not cost @ answer.point < 0:
        return None
    length = steps * max(1.0, float(np.abs(start).max(initial=0.0)))
    point = decisions.nearest(start + (np.ceil(length) if decisions.whole.any() else length) * answer.point)
    return point if decisions.allowed(point[None, :])[0] else None
