"""All decisions of a small set, for certificates that price them one by one."""

from __future__ import annotations

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.inverse.certificate.parameters import DecisionBoundParameters
from surefoot.inverse.problem.decision_set import DecisionSet, LinearSet, ListedSet


def zero_one_vectors(n: int) -> FloatArray:
    """All vectors of n zeros and ones."""
    return np.asarray((np.arange(2**n)[:, None] >> np.arange(n)) & 1, dtype=np.float64)


def listed_decisions(decisions: DecisionSet, most_unknowns: int) -> FloatArray | None:
    """The decisions, if they are a list or vectors of at most so many 0/1 unknowns; otherwise None."""
    if isinstance(decisions, ListedSet):
        return decisions.points
    if not (isinstance(decisions, LinearSet) and decisions.binary.all() and decisions.n_unknowns <= most_unknowns):
        return None
    points = zero_one_vectors(decisions.n_unknowns)
    return points[decisions.allowed(points, DecisionBoundParameters.row_rounding)]
