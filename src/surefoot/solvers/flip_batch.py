"""The worst decisions of all observations in one native call, where all are sets of a few 0/1 unknowns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from surefoot import _native
from surefoot.exceptions import ForwardSolveError
from surefoot.problems.arrays import BoolArray, FloatArray
from surefoot.problems.decision_set import LinearSet
from surefoot.problems.distance import NO_DISTANCE
from surefoot.problems.hypothesis import LinearFeatures
from surefoot.problems.inverse import InverseProblem
from surefoot.solvers.augmented_terms import Term, distance_terms
from surefoot.solvers.flip_search import MOST_FLIPPED, VALUE_SLACK, FlipSearch

# Nodes of one search before it is left to the tree of relaxations; a quarter of a second or so.
MOST_NODES = 500_000


@dataclass(frozen=True, eq=False)
class Worst:
    """Worst decisions, one row per observation; rows that are not ``known`` took too long."""

    points: FloatArray
    slopes: FloatArray
    distances: FloatArray
    values: FloatArray
    bounds: FloatArray
    known: BoolArray


class FlipBatch:
    """The searches of all observations of a problem, stacked."""

    def __init__(self, problem: InverseProblem, searches: list[FlipSearch], terms: list[Term]) -> None:
        self.problem = problem
        count, n = len(searches), problem.examples[0].response.size
        most = max(search.rows.shape[0] for search in searches)
        # Rows that are missing are rows of zeros with room left.
        self._rows, self._room, self._slack = np.zeros((count, most, n)), np.ones((count, most)), np.zeros((count, most))
        for i, search in enumerate(searches):
            m = search.rows.shape[0]
            self._rows[i, :m], self._room[i, :m], self._slack[i, :m] = search.rows, search.room, search.slack
        self._rows = self._rows.reshape(count * most, n)
        self._start = np.array([search.start for search in searches])
        self._sign = np.array([search.sign for search in searches])
        self._tilt = np.array([term.tilt for term in terms])
        self._constant = np.array([term.constant for term in terms])
        flat = np.zeros(n + 1)
        self._table = np.array([flat if term.table is None else term.table for term in terms])
        features = [example.instance.features for example in problem.examples]
        first = features[0]
        assert isinstance(first, LinearFeatures)
        same = all(isinstance(each, LinearFeatures) and np.array_equal(each.matrix, first.matrix) for each in features)
        self._matrix = first.matrix[None] if same else np.array([each.matrix for each in features])  # type: ignore[union-attr]
        self._offset = np.array([each.offset for each in features])  # type: ignore[union-attr]
        self._own = np.array([example.own for example in problem.examples])

    @classmethod
    def of(cls, problem: InverseProblem) -> FlipBatch | None:
        """The batch, or None if some observation is of another kind."""
        n = problem.examples[0].response.size
        searches, terms = [], []
        for example in problem.examples:
            decisions, features = example.instance.decisions, example.instance.features
            if not (isinstance(decisions, LinearSet) and isinstance(features, LinearFeatures)):
                return None
            if n > MOST_FLIPPED or decisions.n_unknowns != n or not decisions.binary.all():
                return None
            plain = problem.distance.absent
            term = [Term(np.zeros(n), 0.0)] if plain else distance_terms(decisions, example.response, problem.distance)
            if len(term) != 1:
                return None
            binary = bool(np.isin(example.response, (0.0, 1.0)).all())
            searches.append(FlipSearch(decisions, example.response if binary else np.zeros(n)))
            terms.append(term[0])
        return cls(problem, searches, terms)

    def worst(self, theta: FloatArray, weight: float) -> Worst:
        """The decision of largest value for every observation."""
        cost = np.einsum("ipn,p->in", self._matrix, theta) + weight * self._tilt
        gain = np.ascontiguousarray(-cost * self._sign)
        table = np.ascontiguousarray(weight * self._table)
        flips, _, state = _native.search_all_flips(self._rows, self._room, self._slack, gain, table, MOST_NODES)
        if np.any(state < 0):
            index = self.problem.examples[int(np.argmin(state))].index
            raise ForwardSolveError(f"observation {index}: no decision is allowed at this signal.")
        points = np.where(flips > 0, 1.0 - self._start, self._start)
        slopes = self._own - np.einsum(
            "ipn,in->ip", np.broadcast_to(self._matrix, (len(points), *self._matrix.shape[1:])), points
        )
        slopes -= self._offset
        count = flips.sum(axis=1).astype(np.int64)
        far = self._constant - (self._tilt * points).sum(axis=1) + self._table[np.arange(len(points)), count]
        if self.problem.distance == NO_DISTANCE:
            far = np.zeros(len(points))
        values = slopes @ theta + weight * far
        return Worst(points, slopes, far, values, values + VALUE_SLACK, state > 0)
