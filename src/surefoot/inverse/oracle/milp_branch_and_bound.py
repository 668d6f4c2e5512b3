"""MILP branch and bound over a linear set, on the linear relaxation.

    max over x in a linear set of   -cost . x + table[h(x)]

h(x) counts the 0/1 unknowns that differ from a response, and the table is concave: one more unknown r below the chords of the
table stands for it, and at whole points r is the table's entry.

Node: the relaxation over the node's box, by the simplex method. It is pruned if it is infeasible or its bound does not exceed
the incumbent; a whole solution becomes the incumbent; otherwise the unknown farthest from whole is branched on. Nodes are taken
best bound first. Termination: the best bound left does not exceed the incumbent, or time is up. The programme of a set is
retained, so that the simplex method starts from the last basis: costs change from call to call, rows do not.

The simplex method meets rows to a tolerance, which may be more than the smaller entries of a row: with 1e9 x_1 + x_2 <= 1e9 and
x_1 = 1 it lets x_2 be 1, and so on for every further unknown. Hence bounds are propagated along rows of whole unknowns first.
"""

from __future__ import annotations

import heapq
import itertools
import time
from dataclasses import dataclass

import numpy as np

from surefoot.core.arrays import BoolArray, FloatArray, IntArray
from surefoot.core.backends.highs import LinearProgramme
from surefoot.core.outcome import Status
from surefoot.inverse.oracle.parameters import BranchAndBoundParameters
from surefoot.inverse.oracle.table_chords import table_chords
from surefoot.inverse.problem.decision_set import WHOLE_ROW_TOLERANCE, LinearSet


@dataclass(frozen=True, eq=False)
class SearchResult:
    """The incumbent of a search (or none), its value, and a bound that no decision exceeds."""

    point: FloatArray | None
    value: float
    bound: float
    status: Status

    @property
    def conclusive(self) -> bool:
        """Whether the search ended by itself, and not at a limit."""
        return self.status in (Status.OPTIMAL, Status.INFEASIBLE, Status.UNBOUNDED)


@dataclass(frozen=True, eq=False)
class _Node:
    lower: FloatArray
    upper: FloatArray


class BranchAndBound:
    """The programme of one linear set, for many costs.

    Parameters
    ----------
    decisions : LinearSet
    response : ndarray or None
        Needed for tables: what the count is taken from.
    parameters : BranchAndBoundParameters, optional
    """

    def __init__(
        self, decisions: LinearSet, response: FloatArray | None = None, parameters: BranchAndBoundParameters | None = None
    ) -> None:
        self.decisions, self.response = decisions, response
        self.parameters = BranchAndBoundParameters() if parameters is None else parameters
        n = decisions.n_unknowns
        self.branching: BoolArray = decisions.whole
        self._columns: IntArray = np.arange(n + 1, dtype=np.int32)
        lower, upper = np.append(decisions.lower, 0.0), np.append(decisions.upper, 0.0)
        self._programme = LinearProgramme(lower, upper, np.zeros(n + 1))
        for row, low, high in zip(decisions.matrix, decisions.low, decisions.high, strict=True):
            # HiGHS meets rows to an absolute tolerance, certificates to one that is relative to their largest entry.
            at, unit = np.flatnonzero(row), float(np.abs(row).max(initial=0.0)) or 1.0
            self._programme.add_row(at.astype(np.int32), row[at] / unit, float(low) / unit, float(high) / unit)
        self._table: FloatArray | None = None
        self._chords: list[int] = []
        rows, sides = decisions.inequalities()
        kept = ~rows[:, ~decisions.whole].any(axis=1) & rows.any(axis=1)
        slack = 0.5 * WHOLE_ROW_TOLERANCE * np.abs(rows).max(axis=1, initial=0.0)
        self._whole_rows, self._whole_sides = rows[kept], (sides + slack)[kept]

    def _propagated(self, node: _Node) -> _Node | None:
        """The node's box without whole numbers that no decision in it has; None if it holds no decision."""
        rows, lower, upper = self._whole_rows, node.lower, node.upper
        for _ in range(self.parameters.propagations if len(rows) else 0):
            ends = np.where(rows > 0, lower, upper)
            with np.errstate(invalid="ignore"):
                least = np.where(rows != 0, rows * ends, 0.0).sum(axis=1)
            room = self._whole_sides - least
            if np.any(room < 0):
                return None
            with np.errstate(divide="ignore", invalid="ignore"):
                span = np.floor(room[:, None] / np.abs(rows))
                bounded = (rows != 0) & np.isfinite(span)
                most = np.minimum(upper, np.where(bounded & (rows > 0), lower + span, np.inf).min(axis=0))
                fewest = np.maximum(lower, np.where(bounded & (rows < 0), upper - span, -np.inf).max(axis=0))
            if np.array_equal(most, upper) and np.array_equal(fewest, lower):
                break
            lower, upper = fewest, most
            if np.any(lower > upper):
                return None
        return _Node(lower, upper)

    def _set_table(self, table: FloatArray | None) -> None:
        """Put the chords of a concave table into the programme, or take them out."""
        if table is self._table or (table is not None and self._table is not None and np.array_equal(table, self._table)):
            return
        n = self.decisions.n_unknowns
        if table is None:
            self._programme.limit_column(n, 0.0, 0.0)
            for row in self._chords:
                self._programme.limit_row(row, -np.inf, np.inf)
            self._chords = []
        else:
            assert self.response is not None
            self._set_table(None)
            self._programme.limit_column(n, -np.inf, float(table.max()))
            for chord in table_chords(self.decisions, self.response, table):
                self._chords.append(self._programme.add_row(chord.columns, chord.values, -np.inf, chord.right))
        self._table = None if table is None else table.copy()

    def search(
        self,
        cost: FloatArray,
        table: FloatArray | None = None,
        *,
        cutoff: float = -np.inf,
        seconds: float = np.inf,
    ) -> SearchResult:
        """The largest -cost . x + table[h(x)]; decisions that do not exceed ``cutoff`` are of no interest."""
        started = time.perf_counter()
        self._set_table(table)
        n = self.decisions.n_unknowns
        self._programme.price(np.append(cost, 0.0 if table is None else -1.0))
        whole = np.flatnonzero(self.branching)
        relaxed = whole.size == 0 or (self.decisions.integral and table is None)
        best, value, tolerance = None, cutoff, self.parameters.value_tolerance
        counter = itertools.count()
        nodes = [(-np.inf, 0, _Node(self.decisions.lower, self.decisions.upper))]
        while nodes:
            low, _, node = heapq.heappop(nodes)
            if -low <= value + tolerance:
                break
            left = seconds - (time.perf_counter() - started)
            if left <= 0:
                return SearchResult(best, value, max(value, -low), Status.ITERATION_LIMIT)
            # Where corners are whole the first relaxation decides, and its rows have small entries.
            narrowed = node if relaxed else self._propagated(node)
            if narrowed is None:
                continue
            node = narrowed
            self._programme.limit_columns(self._columns[:n], node.lower, node.upper)
            answer = self._programme.solve(seconds=left)
            if answer.status is Status.UNBOUNDED:
                return SearchResult(None, np.inf, np.inf, Status.UNBOUNDED)
            if answer.stopped:
                return SearchResult(best, value, max(value, -low), answer.status)
            if answer.point is None or -answer.bound <= value + tolerance:
                continue
            inner = answer.point[whole]
            away = np.abs(inner - np.rint(inner))
            if relaxed or away.max() <= self.parameters.integrality_tolerance:
                point = answer.point[:n].copy()
                point[whole] = np.rint(inner)
                if relaxed or self.decisions.allowed(point[None, :])[0]:
                    best, value = point, -answer.bound
                    continue
            # Nearly whole points may break a row once they are whole: then an unknown that is open still is branched on.
            open_ = node.upper[whole] > node.lower[whole]
            if not open_.any():
                continue
            column = int(whole[np.argmax(np.where(open_, away, -1.0))])
            at = float(np.clip(np.floor(answer.point[column]), node.lower[column], node.upper[column] - 1.0))
            below, above = node.upper.copy(), node.lower.copy()
            below[column], above[column] = at, at + 1.0
            for child in (_Node(node.lower, below), _Node(above, node.upper)):
                heapq.heappush(nodes, (answer.bound, -next(counter), child))
        return SearchResult(best, value, value + tolerance, Status.INFEASIBLE if value == -np.inf else Status.OPTIMAL)
