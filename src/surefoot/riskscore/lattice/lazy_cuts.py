"""LCPA in the tree of SCIP, as its authors ran it in that of CPLEX (extra ``scip``).

The programme is that of :mod:`surefoot.riskscore.lattice.score_master`, posed to :mod:`surefoot.core.backends.scip` with the
loss as its convex term. What is about score cards stands here: which cuts the master holds and SCIP does not, which integer
solutions are cards, and which fractional solutions become a cut, by the same test as in our own tree.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.core.backends.scip import LazyProgramme, Tangent
from surefoot.riskscore.baselines.merged_rows import card_of
from surefoot.riskscore.lattice.parameters import TreeParameters
from surefoot.riskscore.lattice.score_master import ScoreMaster
from surefoot.riskscore.problem.problem import RiskScore


class LossOracle:
    """The loss of a master as an oracle for SCIP.

    Parameters
    ----------
    master : ScoreMaster
        Cuts that are added to it meanwhile are taken over.
    cutoff : callable
        Cards with an objective at or above it are of no interest; it may fall.
    on_card : callable
        Called with every card that SCIP finds, and with the objective that the cuts so far give it.
    on_step : callable
        Called after every card.
    parameters : TreeParameters
    """

    def __init__(
        self,
        master: ScoreMaster,
        cutoff: Callable[[], float],
        on_card: Callable[[RiskScore, float], None],
        on_step: Callable[[], None],
        parameters: TreeParameters,
    ) -> None:
        self.master, self.on_card, self.on_step, self.parameters = master, on_card, on_step, parameters
        self.cutoff = cutoff
        self._n_passed = 0
        self._separated = -1, 0  # the last node with cuts at fractional solutions, and how many it had
        self._node, self._node_gap = -1, 0.0

    def programme(self) -> LazyProgramme:
        """The programme of the master with this oracle, and a tree of its own."""
        parts = self.master.parts
        cost = np.zeros(parts.lower.size)
        cost[self.master.marks] = self.master.problem.penalty
        columns = self.master.card_columns
        return LazyProgramme(cost, parts.lower, parts.upper, parts.matrix, parts.low, parts.high, columns, self)

    def excess(self, point: FloatArray, theta: float) -> float:
        return self.master.loss(point) - theta

    def new_tangents(self, point: FloatArray | None) -> list[Tangent]:
        if point is not None:
            self.master.cut(point)
        new = self.master.cuts[self._n_passed :]
        self._n_passed += len(new)
        return [Tangent(gradient, base) for gradient, base in new]

    def found(self, point: FloatArray, theta: float) -> None:
        card = card_of(point)
        self.on_card(card, theta + self.master.problem.penalty * card.size)
        self.on_step()

    def may_separate(self, node: int, value: float) -> bool:
        self._node, self._node_gap = node, self.cutoff() - value
        return self._n_cuts(node) < self.parameters.max_cuts_per_node and self._node_gap > 0

    def cuts_off(self, point: FloatArray, theta: float) -> bool:
        if self.excess(point, theta) <= self.parameters.cut_gap_fraction * self._node_gap:
            return False
        self._separated = self._node, self._n_cuts(self._node) + 1
        return True

    def _n_cuts(self, node: int) -> int:
        return self._separated[1] if self._separated[0] == node else 0
