"""A concave table of the number of differing 0/1 unknowns, as rows of a linear programme.

table[h(x)] is the largest r below all chords of the table, at whole points of

    r <= table[k] + (table[k + 1] - table[k]) (h(x) - k),     h(x) = base + count_slope . x.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from surefoot.core.arrays import FloatArray, IntArray
from surefoot.inverse.problem.decision_set import LinearSet


@dataclass(frozen=True, eq=False)
class Chord:
    """A row over the whole unknowns and r, which is the last of ``columns``: values . (x, r) <= right."""

    columns: IntArray
    values: FloatArray
    right: float
    slope: float


def table_chords(decisions: LinearSet, response: FloatArray, table: FloatArray) -> Iterator[Chord]:
    """The chords of a table, for a programme whose column behind the unknowns is r."""
    whole = decisions.whole
    count_slope = 1.0 - 2.0 * np.rint(response)[whole]
    base = float(np.rint(response)[whole].sum())
    columns = np.append(np.flatnonzero(whole), decisions.n_unknowns).astype(np.int32)
    for k, (here, there) in enumerate(itertools.pairwise(table.tolist())):
        slope = there - here
        yield Chord(columns, np.append(-slope * count_slope, 1.0), here + slope * (base - k), slope)
