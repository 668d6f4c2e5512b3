"""The best decision of a set of 0/1 unknowns by native search: the fastest way where unknowns are few."""

from __future__ import annotations

import numpy as np

from surefoot import _native
from surefoot.core.arrays import FloatArray
from surefoot.core.outcome import Status
from surefoot.inverse.oracle.binary_vectors import LISTED_SLACK
from surefoot.inverse.oracle.milp_tree import Found
from surefoot.inverse.problem.decision_set import LinearSet

# Beyond this the linear relaxation prunes better than multipliers that stay as they are.
MOST_FLIPPED = 40
MOST_NODES = 2_000_000
# How many nodes stand for a second where time is limited: counted, so that a run can be repeated.
NODES_PER_SECOND = 15_000_000
# What sums of rounded numbers may hide; the search leaves nothing out that comes within more than that of the best.
VALUE_SLACK = 5e-13


class FlipSearch:
    """Searches one set, for many costs, in terms of what differs from a response of zeros and ones."""

    def __init__(self, decisions: LinearSet, start: FloatArray) -> None:
        self.start = np.rint(start)
        above, below = np.isfinite(decisions.high), np.isfinite(decisions.low)
        rows = np.vstack((decisions.matrix[above], -decisions.matrix[below]))
        sides = np.concatenate((decisions.high[above], -decisions.low[below]))
        self.sign = 1.0 - 2.0 * self.start
        self.rows = np.ascontiguousarray(rows * self.sign)
        self.room = np.ascontiguousarray(sides - rows @ self.start)
        self.slack = LISTED_SLACK * np.maximum(1.0, np.abs(rows).max(axis=1, initial=0.0))
        self._flat = np.zeros(self.start.size + 1)

    def search(
        self, cost: FloatArray, table: FloatArray | None = None, *, floor: float = -np.inf, nodes: int = MOST_NODES
    ) -> Found:
        """The largest -cost . x + table[h(x)] that ``nodes`` nodes can find; what does not exceed ``floor`` is left out."""
        base = -float(cost @ self.start)
        gain = np.ascontiguousarray(-cost * self.sign)
        prices = self._flat if table is None else np.ascontiguousarray(table)
        found, complete, value, flips, _ = _native.search_flips(
            self.rows, self.room, self.slack, gain, prices, floor - base, nodes
        )
        if not found:
            end = Status.INFEASIBLE if floor == -np.inf else Status.OPTIMAL
            return Found(None, floor, floor, end) if complete else Found(None, floor, np.inf, Status.ITERATION_LIMIT)
        point = np.where(flips > 0, 1.0 - self.start, self.start)
        bound = value + base + VALUE_SLACK if complete else np.inf
        return Found(point, value + base, bound, Status.OPTIMAL if complete else Status.ITERATION_LIMIT)
