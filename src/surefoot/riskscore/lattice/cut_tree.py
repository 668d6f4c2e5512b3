"""One branch-and-bound tree over whole points, with cuts added on the way (Algorithm 2 of Ustun and Rudin, JMLR 2019).

A node is a box of the programme's whole variables. Its linear relaxation, with all cuts so far, bounds every card in it:

- above the best card: the node is done;
- at a card: the loss is cut there and the node is solved again; once the cut changes nothing, the card is the node's best;
- elsewhere: the loss is cut at the real-valued point too, where that pays, and the node is split at a variable between two
  whole numbers, first at the marks that say whether a column is used.

Nodes are taken by their bounds, the smallest first, and of two children the nearer one right away, so that the simplex method
starts from a programme it has just solved. The smallest bound of an open node is a bound of the whole at any time.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from surefoot.core.arrays import FloatArray, IntArray
from surefoot.riskscore.baselines.merged_rows import coordinates
from surefoot.riskscore.lattice.score_master import ScoreMaster
from surefoot.riskscore.problem.problem import RiskScore

# A variable this near to a whole number is taken for it.
NEARLY_WHOLE = 1e-6
# A cut at a real-valued point should raise the relaxation there by this share of the gap.
WORTH_A_CUT = 0.1
# And is tried so many times at one node.
CUTS_PER_NODE = 3


@dataclass(frozen=True, eq=False)
class _Node:
    bound: float
    columns: IntArray  # whose limits differ from the programme's own
    low: FloatArray
    high: FloatArray

    def split(self, bound: float, column: int, value: float) -> tuple[_Node, _Node]:
        """The parts below and above a value."""
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
        Nodes with a bound at or above it are done; it may fall.
    on_card : callable
        Called with every card that a relaxation comes upon, and with the value that the cuts so far give it.
    cutting : bool, default=True
        Without it no cut is added: the tree then finds the best card of the programme as it is.
    """

    def __init__(
        self,
        master: ScoreMaster,
        cutoff: Callable[[], float],
        on_card: Callable[[RiskScore, float], None],
        *,
        cutting: bool = True,
    ) -> None:
        self.master, self.cutoff, self.on_card, self.cutting = master, cutoff, on_card, cutting
        none = np.empty(0)
        self._open: list[tuple[float, int, _Node]] = [(0.0, 0, _Node(0.0, np.empty(0, dtype=np.int32), none, none))]
        self._current: _Node | None = None
        self._next: _Node | None = None
        self._pushed = 0
        self._limited = np.empty(0, dtype=np.int32)
        self.n_nodes = 0
        self.settled = np.inf  # smallest value of a node that no split can improve

    @property
    def bound(self) -> float:
        """No card outside the nodes that are done is better; infinite when none is left."""
        at_hand = [node.bound for node in (self._current, self._next) if node is not None]
        return min([self._open[0][0] if self._open else np.inf, self.settled, *at_hand])

    @property
    def empty(self) -> bool:
        return self._current is None and self._next is None and (not self._open or self._open[0][0] >= self.cutoff())

    def advance(self, seconds: float) -> None:
        """Take one node; it stays open if the time was too short for it."""
        if self._current is None:
            self._current, self._next = self._next, None
        if self._current is None:
            self._current = heapq.heappop(self._open)[2]
        # Until the node is done it counts as open, even if Ctrl-C comes in between.
        node = self._current
        self.n_nodes += 1
        self._limit(node)
        tried = 0
        while True:
            answer = self.master.programme.solve(seconds=seconds)
            if answer.stopped:
                return
            if answer.point is None or answer.bound >= self.cutoff():
                break
            if not self._cut(answer.point, answer.bound, tried):
                self._branch(node, answer.point, answer.bound)
                break
            tried += 1
        self._current = None

    def _cut(self, x: FloatArray, value: float, tried: int) -> bool:
        """Cut the loss at a relaxation's solution; whether the node should be solved again."""
        before, missing = self.master.n_cuts, self.master.missing_loss
        if self._whole(x):
            card = self.master.card_of(x)
            raised = missing(coordinates(card), x) if self.cutting else 0.0
            self.on_card(card, value)
            return self.master.n_cuts > before and raised > 0
        if tried >= CUTS_PER_NODE or not self.cutting:
            return False
        gap = self.cutoff() - value
        return missing(self.master.point_of(x), x) > WORTH_A_CUT * gap and self.master.n_cuts > before

    def _whole(self, x: FloatArray) -> bool:
        inner = x[: self.master.n_whole]
        return bool(np.abs(inner - np.rint(inner)).max() <= NEARLY_WHOLE)

    def _branch(self, node: _Node, x: FloatArray, value: float) -> None:
        inner = x[: self.master.n_whole]
        away = np.abs(inner - np.rint(inner))
        if away.max() <= NEARLY_WHOLE:
            # The relaxation is at a card whose value it knows: nothing in the node is better.
            self.settled = min(self.settled, value)
            return
        marks = self.master.marks
        column = int(marks[np.argmax(away[marks])]) if away[marks].max() > NEARLY_WHOLE else int(np.argmax(away))
        below, above = node.split(value, column, float(inner[column]))
        nearer, farther = (below, above) if inner[column] - np.floor(inner[column]) < 0.5 else (above, below)
        self._push(farther)
        self._next = nearer

    def close(self) -> None:
        """Give the programme its own limits back."""
        self._limit(_Node(0.0, np.empty(0, dtype=np.int32), np.empty(0), np.empty(0)))

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
