"""All decisions of a small set, for certificates that price them one by one."""

from __future__ import annotations

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.inverse.certificate.parameters import DecisionBoundParameters
from surefoot.inverse.problem.decision_set import DecisionSet, LinearSet, ListedSet


def listed_decisions(decisions: DecisionSet, most_unknowns: int) -> FloatArray | None:
    """The decisions, if they are a list or vectors of at most so many 0/1 unknowns; otherwise None."""
    if isinstance(decisions, ListedSet):
        return decisions.points
    if not (isinstance(decisions, LinearSet) and decisions.binary.all() and decisions.n_unknowns <= most_unknowns):
        return None
    numbers = np.arange(2**decisions.n_unknowns)[:, None]
    points = np.asarray((numbers >> np.arange(decisions.n_unknowns)) & 1, dtype=np.float64)
    return points[decisions.allowed(points, DecisionBoundParameters.row_rounding)]
