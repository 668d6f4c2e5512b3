"""Enumeration of all decisions of small sets, as arrays."""

from __future__ import annotations

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.exceptions import UnsupportedProblemError
from surefoot.inverse.oracle.parameters import MAX_ENUMERATED, MAX_LISTED
from surefoot.inverse.problem.decision_set import LinearSet, ListedSet
from surefoot.inverse.problem.problem import InverseProblem


def binary_vectors(n: int) -> FloatArray:
    """All 2^n vectors of zeros and ones."""
    numbers = np.arange(2**n, dtype=np.int64)[:, None]
    return np.asarray((numbers >> np.arange(n)) & 1, dtype=np.float64)


def few_decisions(decisions: LinearSet, most: int = MAX_ENUMERATED) -> FloatArray | None:
    """The decisions of a set of at most ``most`` 0/1 unknowns and no others, or None."""
    n = decisions.n_unknowns
    if n > most or not decisions.binary.all():
        return None
    every = binary_vectors(n)
    return every[decisions.allowed(every)]


def enumerated_decisions(problem: InverseProblem, most: int = MAX_LISTED) -> list[FloatArray]:
    """All decisions of every observation, for methods that need them one by one.

    Raises
    ------
    UnsupportedProblemError
        If some observation has neither a list nor at most ``most`` unknowns that are all 0/1.
    """
    found = []
    for example in problem.examples:
        decisions = example.instance.decisions
        points = decisions.points if isinstance(decisions, ListedSet) else None
        if isinstance(decisions, LinearSet):
            points = few_decisions(decisions, most)
        if points is None:
            raise UnsupportedProblemError(
                f"observation {example.index}: this approach needs decisions that can be listed: alternatives, or at "
                f"most {most} unknowns that are all 0/1, or as few other whole ones."
            )
        found.append(points)
    return found
