"""Proofs that no decision of a linear set exceeds a value: see :mod:`surefoot.inverse.problem.decision_proof`.

Branch and bound whose nodes are elastic linear programmes: rows may be violated at a penalty, so that every node has a solution
and multipliers. Where the node is infeasible, they say so by a bound as low as the penalty is high. A node is a leaf once its
weak-duality bound, recomputed from the multipliers, does not exceed the value; otherwise the whole unknown farthest from whole
is branched on. Termination: every node is a leaf, or there are too many of them.
"""

from __future__ import annotations

import math
import time

import numpy as np
import scipy.optimize

from surefoot.core.arrays import FloatArray
from surefoot.core.backends.highs import LinearProgramme
from surefoot.inverse.oracle.parameters import ProofTreeParameters
from surefoot.inverse.oracle.table_chords import table_chords
from surefoot.inverse.problem.augmented_terms import distance_terms
from surefoot.inverse.problem.decision_proof import DecisionTrees, Leaf, Split, TermBound, Tree
from surefoot.inverse.problem.decision_set import LinearSet
from surefoot.inverse.problem.distance import Distance
from surefoot.inverse.problem.hypothesis import LinearFeatures
from surefoot.inverse.problem.problem import Example

PARAMETERS = ProofTreeParameters()


def prove_loss(
    example: Example,
    theta: FloatArray,
    distance: Distance,
    claimed: float,
    parameters: ProofTreeParameters = PARAMETERS,
    *,
    seconds: float = math.inf,
) -> DecisionTrees | None:
    """A tree for every term of the distance that shows that the loss is ``claimed`` at most; None if none was found in time."""
    until = time.perf_counter() + seconds
    decisions, features = example.instance.decisions, example.instance.features
    assert isinstance(decisions, LinearSet) and isinstance(features, LinearFeatures)
    cost = features.linear_cost(theta)
    own = float(cost @ example.response)
    found, push = [], parameters.push * _push(decisions)
    for term in distance_terms(decisions, example.response, distance):
        # Where an unknown has no bound, slopes must not rise towards it at all: multipliers of a cost that is a little lower
        # there keep them falling beyond rounding.
        lean = parameters.lean * (1.0 + float(np.abs(cost).sum()))
        leaning = lean * (np.isinf(decisions.lower).astype(np.float64) - np.isinf(decisions.upper))
        task = TermBound(decisions, cost + term.tilt, term.table, example.response)
        tree = _TreeSearch(task, leaning, push, parameters, until).prove(claimed - own - term.constant)
        if tree is None:
            return None
        found.append(tree)
    return DecisionTrees.of(found)


def _push(decisions: LinearSet) -> FloatArray:
    """Multipliers whose slopes rise towards infinite ends, by 1 where rows bound an unknown, and fall towards none."""
    up, down = np.isinf(decisions.upper), np.isinf(decisions.lower)
    open_ = np.flatnonzero(up | down)
    rows = decisions.high.size
    if open_.size == 0 or rows == 0:
        return np.zeros(rows)
    scale = np.abs(decisions.matrix).max(axis=1, initial=0.0)
    scale = np.where(scale > 0, scale, 1.0)
    toward = (decisions.matrix[:, open_] / scale[:, None]).T * np.where(up[open_], 1.0, -1.0)[:, None]
    free = (up & down)[open_]
    # Rows with their signs, and by how much slopes rise, 1 at most; of many such multipliers short ones.
    sides = np.hstack((toward, -toward))
    found = scipy.optimize.linprog(
        np.concatenate((np.full(2 * rows, 1e-6), -np.ones(open_.size))),
        A_ub=np.hstack((-sides, np.eye(open_.size))),
        b_ub=np.zeros(open_.size),
        A_eq=np.hstack((sides[free], np.zeros((int(free.sum()), open_.size)))) if free.any() else None,
        b_eq=np.zeros(int(free.sum())) if free.any() else None,
        bounds=[
            *((0.0, None if np.isfinite(end) else 0.0) for end in (*decisions.high, *decisions.low)),
            *((0.0, 0.0 if both else 1.0) for both in free.tolist()),
        ],
    )
    return np.zeros(rows) if found.status != 0 else np.asarray((found.x[:rows] - found.x[rows : 2 * rows]) / scale)


class _TreeSearch:
    """The elastic programme of one term."""

    def __init__(
        self, task: TermBound, leaning: FloatArray, push: FloatArray, parameters: ProofTreeParameters, until: float
    ) -> None:
        self.task, self._push, self._until = task, push, until
        decisions, table = task.decisions, task.table
        n = decisions.n_unknowns
        # Unknowns, what stands for the table, and by how much rows are violated.
        level = (0.0, 0.0) if table is None else (-np.inf, float(table.max()))
        lower, upper = np.append(decisions.lower, [level[0], 0.0]), np.append(decisions.upper, [level[1], np.inf])
        penalty = parameters.row_penalty * (1.0 + float(np.abs(task.cost).sum()))
        self._programme = LinearProgramme(
            lower, upper, np.append(task.cost + leaning, [0.0 if table is None else -1.0, penalty])
        )
        self._owners: list[int] = []
        # Rows have the largest entry 1 for HiGHS; multipliers are those of the rows as they are.
        self._units = np.array([float(np.abs(row).max(initial=0.0)) or 1.0 for row in decisions.matrix])
        for r, (row, low, high) in enumerate(zip(*self._scaled(), strict=True)):
            at = np.append(np.flatnonzero(row), n + 1).astype(np.int32)
            for side, violation in ((high, -1.0), (low, 1.0)):
                if np.isfinite(side):
                    ends = (-np.inf, float(side)) if violation < 0 else (float(side), np.inf)
                    self._programme.add_row(at, np.append(row[at[:-1]], violation), *ends)
                    self._owners.append(r)
        self._chords: list[float] = []
        if table is not None:
            for chord in table_chords(decisions, task.response, table):
                self._programme.add_row(chord.columns, chord.values, -np.inf, chord.right)
                self._chords.append(chord.slope)
        self._columns = np.arange(n, dtype=np.int32)
        self._nodes_left = parameters.max_nodes

    def _scaled(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        decisions, units = self.task.decisions, self._units
        return decisions.matrix / units[:, None], decisions.low / units, decisions.high / units

    def prove(self, goal: float) -> Tree | None:
        return self._node(goal, self.task.decisions.lower, self.task.decisions.upper)

    def _node(self, goal: float, lower: FloatArray, upper: FloatArray) -> Tree | None:
        self._nodes_left -= 1
        if self._nodes_left < 0 or time.perf_counter() >= self._until:
            return None
        self._programme.limit_columns(self._columns, lower, upper)
        answer = self._programme.solve(seconds=self._until - time.perf_counter())
        if answer.point is None or answer.prices is None:
            return None
        count = len(self._owners)
        decisions = self.task.decisions
        by_row = np.bincount(self._owners, weights=-answer.prices[:count], minlength=decisions.high.size) / self._units
        # A side that a row does not have has no multiplier; what HiGHS says of it is rounding.
        multipliers = np.clip(
            by_row, np.where(np.isfinite(decisions.low), -np.inf, 0.0), np.where(np.isfinite(decisions.high), np.inf, 0.0)
        )
        # What the simplex method leaves of slopes that are to be 0 is above 0 thereafter, and no leaf is infinite for its sake.
        size = 1.0 + float(np.abs(self.task.cost).max(initial=0.0)) + float(np.abs(multipliers).max(initial=0.0))
        multipliers = multipliers + size * self._push
        leaf = Leaf(multipliers, float(-answer.prices[count:] @ np.array(self._chords)))
        if self.task.leaf(leaf, lower, upper) <= goal:
            return leaf
        column = self._column(answer.point, lower, upper)
        if column is None:
            return None
        at = float(np.clip(np.floor(answer.point[column]), lower[column], upper[column] - 1.0))
        most, least = upper.copy(), lower.copy()
        most[column], least[column] = at, at + 1.0
        below = self._node(goal, lower, most)
        above = None if below is None else self._node(goal, least, upper)
        return None if below is None or above is None else Split(column, at, below, above)

    def _column(self, point: FloatArray, lower: FloatArray, upper: FloatArray) -> int | None:
        """The whole unknown that is farthest from whole, or, if all are whole, one that is not fixed."""
        open_ = np.flatnonzero(self.task.decisions.whole & (upper > lower))
        if open_.size == 0:
            return None
        inner = point[open_]
        return int(open_[np.argmax(np.abs(inner - np.rint(inner)))])
