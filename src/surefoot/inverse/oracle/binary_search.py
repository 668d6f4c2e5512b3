"""The best decision of a set of 0/1 unknowns by native branch and bound: the fastest way where unknowns are few.

The problem, the node bounds and the termination test are those of ``cpp/include/surefoot/inverse/binary_search.hpp``.
"""

from __future__ import annotations

import numpy as np

from surefoot import _native
from surefoot.core.arrays import FloatArray
from surefoot.core.outcome import Status
from surefoot.inverse.oracle.milp_branch_and_bound import SearchResult
from surefoot.inverse.oracle.parameters import BinarySearchParameters
from surefoot.inverse.problem.decision_set import WHOLE_ROW_TOLERANCE, LinearSet


class BinarySearch:
    """Native searches of one set, for many costs, in terms of flips: what differs from a vector of zeros and ones."""

    def __init__(self, decisions: LinearSet, start: FloatArray, parameters: BinarySearchParameters | None = None) -> None:
        self.parameters = BinarySearchParameters() if parameters is None else parameters
        self.start = np.rint(start)
        rows, right = decisions.inequalities()
        self.sign = 1.0 - 2.0 * self.start
        self.rows = np.ascontiguousarray(rows * self.sign)
        self.right = np.ascontiguousarray(right - rows @ self.start)
        self.row_tolerance = 0.5 * WHOLE_ROW_TOLERANCE * np.abs(rows).max(axis=1, initial=0.0)
        self._no_table = np.zeros(self.start.size + 1)
        self._unlogged = np.empty(0)

    def search(
        self, cost: FloatArray, table: FloatArray | None = None, *, cutoff: float = -np.inf, max_nodes: int | None = None
    ) -> SearchResult:
        """The largest -cost . x + table[h(x)] above ``cutoff``, within a limit of nodes."""
        base = -float(cost @ self.start)
        found = _native.search_binary(
            rows=self.rows,
            right=self.right,
            row_tolerance=self.row_tolerance,
            gain=np.ascontiguousarray(-cost * self.sign),
            table=self._no_table if table is None else np.ascontiguousarray(table),
            cutoff=cutoff - base,
            max_nodes=self.parameters.max_nodes if max_nodes is None else max_nodes,
            start=self._unlogged,
        )
        if not found.found:
            end = Status.INFEASIBLE if cutoff == -np.inf else Status.OPTIMAL
            if found.complete:
                return SearchResult(None, cutoff, cutoff, end)
            return SearchResult(None, cutoff, np.inf, Status.ITERATION_LIMIT)
        point = np.where(found.flips > 0, 1.0 - self.start, self.start)
        value = found.value + base
        if found.complete:
            return SearchResult(point, value, value + self.parameters.value_tolerance, Status.OPTIMAL)
        return SearchResult(point, value, np.inf, Status.ITERATION_LIMIT)
