"""All decisions of a small set of 0/1 unknowns, as one array."""

from __future__ import annotations

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.inverse.problem.decision_set import LinearSet

# Sets of so many 0/1 unknowns are listed: 4096 decisions at most, which a product prices in microseconds.
MOST_LISTED = 12
# A row that is missed by no more than this, per unit of its largest entry, is kept: sums of rounded numbers.
LISTED_SLACK = 1e-9


def binary_vectors(n: int) -> FloatArray:
    """All 2^n vectors of zeros and ones."""
    numbers = np.arange(2**n, dtype=np.int64)[:, None]
    return np.asarray((numbers >> np.arange(n)) & 1, dtype=np.float64)


def few_decisions(decisions: LinearSet, most: int = MOST_LISTED) -> FloatArray | None:
    """The decisions of a set of at most ``most`` 0/1 unknowns and no others, or None."""
    n = decisions.n_unknowns
    if n > most or not decisions.binary.all():
        return None
    every = binary_vectors(n)
    return every[decisions.allowed(every, LISTED_SLACK)]
