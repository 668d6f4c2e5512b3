"""Branch and bound over integer points with Kelley's cuts added on the way (Algorithm 2 of Ustun and Rudin, JMLR 2019).

Problem: that of :mod:`surefoot.riskscore.lattice.score_master`, whose rows grow while the tree is searched. A node is a box of
its integer variables, and the optimum of its linear relaxation, with all cuts so far, bounds every card in it.

One node:

1. Solve the relaxation. At or above the cutoff, or infeasible: prune.
2. Integer solution: pass its card on, cut the loss there and go to 1; once the cut changes nothing the node is a leaf, and the
   card its best.
3. Fractional solution: cut the loss there and go to 1, if that raises the loss by a fraction of the node's gap, and not more
   than a few times; otherwise branch on the variable farthest from an integer, the marks that say whether a column is used
   first.
4. A programme that is not solved, though there was time: the node is a leaf with the bound of its parent. To solve it once more
   would fail once more, and without end.

Nodes are taken best bound first, and of two children the one nearer to the relaxation right away, so that the simplex method
starts from a programme it has just solved (plunging). The search ends when no open node is below the cutoff. The smallest bound
of an open node is a valid dual bound at any time.

One tree instead of one per set of cuts is LP/NLP-based branch and bound (Quesada and Grossmann, Computers & Chemical
Engineering 1992).
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from surefoot.core.arrays import FloatArray, IntArray
from surefoot.core.outcome import Status
from surefoot.riskscore.baselines.merged_rows import coordinates
from surefoot.riskscore.lattice.parameters import TreeParameters
from surefoot.riskscore.lattice.score_master import ScoreMaster
from surefoot.riskscore.problem.problem import RiskScore


@dataclass(frozen=True, eq=False)
class _Node:
    bound: float
    columns: IntArray  # whose limits differ from the programme's own
    low: FloatArray
    high: FloatArray

    @classmethod
    def root(cls) -> _Node:
        return cls(0.0, np.empty(0, dtype=np.int32), np.empty(0), np.empty(0))

    def split(self, bound: float, column: int, value: float) -> tuple[_Node, _Node]:
        """The children below and above a value."""
        at = np.flatnonzero(self.columns == column)
        if at.size:
            columns, low, high = self.columns, self.low, self.high
            k = int(at[0])
        else:
            columns = np.append(self.columns, column).astype(np.int32)
            low, high = np.append(self.low, -np.inf), np.append(self.high, np.inf)
            k = columns.size - 1
        below, above = high.copy(), low.copy()
        below[k], above[k] = np.floor(value), np.ceil(value)
        return _Node(bound, columns, low, below), _Node(bound, columns, above, high)


class CutTree:
    """The open nodes of a search.

    Parameters
    ----------
    master : ScoreMaster
    cutoff : callable
        Nodes with a bound at or above it are pruned; it may fall.
    on_card : callable
        Called with every card that is the solution of a relaxation, and with the objective that the cuts so far give it.
    parameters : TreeParameters
    cutting : bool, default=True
        Without it no cut is added: the tree then solves the programme as it is.
    """

    def __init__(
        self,
        master: ScoreMaster,
        cutoff: Callable[[], float],
        on_card: Callable[[RiskScore, float], None],
        parameters: TreeParameters | None = None,
        *,
        cutting: bool = True,
    ) -> None:
        self.master, self.cutoff, self.on_card, self.cutting = master, cutoff, on_card, cutting
        self.parameters = TreeParameters() if parameters is None else parameters
        self._open: list[tuple[float, int, _Node]] = [(0.0, 0, _Node.root())]
        self._current: _Node | None = None
        self._next: _Node | None = None
        self._pushed = 0
        self._limited = np.empty(0, dtype=np.int32)
        self.n_nodes = 0
        self.leaf_bound = np.inf  # smallest objective of a leaf, or bound of one that was given up

    @property
    def bound(self) -> float:
        """Dual bound of all cards outside pruned nodes; infinite when none is left."""
        active = [node.bound for node in (self._current, self._next) if node is not None]
        return min([self._open[0][0] if self._open else np.inf, self.leaf_bound, *active])

    @property
    def empty(self) -> bool:
        return self._current is None and self._next is None and (not self._open or self._open[0][0] >= self.cutoff())

    def advance(self, seconds: float) -> None:
        """Solve one node; it stays open if the time was too short for it."""
        if self._current is None:
            self._current, self._next = self._next, None
        if self._current is None:
            self._current = heapq.heappop(self._open)[2]
        # Until the node is solved it counts as open, even if Ctrl-C comes in between.
        node = self._current
        self.n_nodes += 1
        self._limit(node)
        rounds = 0
        while True:
            relaxation = self.master.programme.solve(seconds=seconds)
            if relaxation.status is Status.TIME_LIMIT:
                return
            if relaxation.stopped:
                self.leaf_bound = min(self.leaf_bound, node.bound)
                break
            if relaxation.point is None or relaxation.bound >= self.cutoff():
                break
            if not self._cut(relaxation.point, relaxation.bound, rounds):
                self._branch(node, relaxation.point, relaxation.bound)
                break
            rounds += 1
        self._current = None

    def close(self) -> None:
        """Give the programme its own limits back."""
        self._limit(_Node.root())

    def _cut(self, x: FloatArray, value: float, rounds: int) -> bool:
        """Cut the loss at a relaxation's solution; whether the node should be solved again."""
        n_before, violation = self.master.n_cuts, self.master.cut_violation
        if self._fractionality(x).max() <= self.parameters.integrality:
            card = self.master.card_of(x)
            violated = violation(coordinates(card), x) if self.cutting else 0.0
            self.on_card(card, value)
            return self.master.n_cuts > n_before and violated > 0
        if rounds >= self.parameters.max_cuts_per_node or not self.cutting:
            return False
        gap = self.cutoff() - value
        return violation(self.master.point_of(x), x) > self.parameters.cut_gap_fraction * gap and self.master.n_cuts > n_before

    def _fractionality(self, x: FloatArray) -> FloatArray:
        """Distances of the integer variables to the nearest integers."""
        inner = x[: self.master.n_integers]
        return np.asarray(np.abs(inner - np.rint(inner)), dtype=np.float64)

    def _branch(self, node: _Node, x: FloatArray, value: float) -> None:
        fractionality, tolerance = self._fractionality(x), self.parameters.integrality
        if fractionality.max() <= tolerance:
            # The relaxation is exact at its card: nothing in the node is better.
            self.leaf_bound = min(self.leaf_bound, value)
            return
        marks = self.master.marks
        on_marks = fractionality[marks].max() > tolerance
        column = int(marks[np.argmax(fractionality[marks])]) if on_marks else int(np.argmax(fractionality))
        below, above = node.split(value, column, float(x[column]))
        nearer, other = (below, above) if x[column] - np.floor(x[column]) < 0.5 else (above, below)
        self._push(other)
        self._next = nearer

    def _push(self, node: _Node) -> None:
        self._pushed += 1
        # Later nodes first among equals: they lie deeper.
        heapq.heappush(self._open, (node.bound, -self._pushed, node))

    def _limit(self, node: _Node) -> None:
        """Make the programme's limits those of a node."""
        columns = np.union1d(self._limited, node.columns).astype(np.int32)
        low, high = self.master.lower[columns], self.master.upper[columns]
        at = np.searchsorted(columns, node.columns)
        low[at], high[at] = np.maximum(low[at], node.low), np.minimum(high[at], node.high)
        self.master.programme.limit_columns(columns, low, high)
        self._limited = node.columns
