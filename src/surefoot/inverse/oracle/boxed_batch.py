"""The worst decisions of all observations, and proofs of their losses, in one native call each, where programmes are small.

    max over terms k and x of   -(cost + tilt_k) . x + constant_k + table[h(x)]    over a linear set with finite bounds

One more unknown r below the chords of the table stands for it, as in :mod:`~.table_chords`. Rows, bounds and chords do not
change from cost to cost and are stacked once; nothing else is retained. The search is that of
``cpp/include/surefoot/inverse/boxed_search.hpp``; what it does not end, or what turns out to be no decision, is left to the
methods for one observation.
"""

from __future__ import annotations

import numpy as np

from surefoot import _native
from surefoot.core.arrays import BoolArray, FloatArray
from surefoot.inverse.oracle.parameters import BoxedBatchParameters
from surefoot.inverse.oracle.worst_decisions import WorstDecisions
from surefoot.inverse.problem.augmented_terms import Term, distance_terms
from surefoot.inverse.problem.decision_proof import DecisionTrees
from surefoot.inverse.problem.decision_set import LinearSet
from surefoot.inverse.problem.distance import NO_DISTANCE
from surefoot.inverse.problem.hypothesis import LinearFeatures
from surefoot.inverse.problem.problem import InverseProblem

PARAMETERS = BoxedBatchParameters()


class BoxedBatch:
    """The programmes of all observations of a problem, stacked."""

    def __init__(self, problem: InverseProblem, decisions: list[LinearSet], terms: list[list[Term]]) -> None:
        self.problem, self._decisions = problem, decisions
        examples = problem.examples
        count, n = len(examples), decisions[0].n_unknowns
        self._responses = np.array([example.response for example in examples])
        self._inside = np.array([example.inside for example in examples])
        table = terms[0][0].table
        self._chords = 0 if table is None else table.size - 1
        m = max(each.high.size for each in decisions) + self._chords
        size = n + (table is not None)
        rows, low, high = np.zeros((count, m, size)), np.full((count, m), -np.inf), np.full((count, m), np.inf)
        self._rows, self._units = m - self._chords, np.ones((count, m))
        lower, upper = np.zeros((count, size)), np.zeros((count, size))
        whole = np.zeros((count, size), dtype=np.uint8)
        for i, each in enumerate(decisions):
            k = each.high.size
            # The largest entry of a row is 1 in the search; multipliers are those of the rows as they are.
            unit = np.abs(each.matrix).max(axis=1, initial=0.0)
            self._units[i, :k] = unit = np.where(unit > 0, unit, 1.0)
            rows[i, :k, :n] = each.matrix / unit[:, None]
            low[i, :k], high[i, :k] = each.low / unit, each.high / unit
            lower[i, :n], upper[i, :n], whole[i, :n] = each.lower, each.upper, each.whole
        self._slopes = np.empty(0)
        if table is not None:
            # The chords of all observations: they differ in what a flip is.
            marks, self._slopes = np.flatnonzero(decisions[0].whole), np.diff(table)
            ones = np.rint(self._responses[:, marks])
            rows[:, self._rows :, marks] = -self._slopes[None, :, None] * (1.0 - 2.0 * ones)[:, None, :]
            rows[:, self._rows :, n] = 1.0
            high[:, self._rows :] = table[:-1] + self._slopes * (ones.sum(axis=1)[:, None] - np.arange(self._chords))
            lower[:, n], upper[:, n] = table.min(), table.max()
        self._programmes = _native.BoxedProgrammes(
            rows=rows.reshape(-1, size), low=low, high=high, lower=lower, upper=upper, whole=whole
        )
        self._tilt = np.array([[term.tilt for term in each] for each in terms])
        self._constant = np.array([[term.constant for term in each] for each in terms])
        matrices = [example.instance.features.matrix for example in examples]  # type: ignore[union-attr]
        shared = all(matrix is matrices[0] for matrix in matrices)
        self._matrix = matrices[0][None] if shared else np.array(matrices)
        self._own = np.array([example.own for example in examples])

    @classmethod
    def of(cls, problem: InverseProblem) -> BoxedBatch | None:
        """The batch, or None if some observation is of another kind, or large."""
        sets: list[LinearSet] = []
        n = problem.examples[0].response.size
        for example in problem.examples:
            decisions, features = example.instance.decisions, example.instance.features
            if not (isinstance(decisions, LinearSet) and isinstance(features, LinearFeatures)):
                return None
            if decisions.n_unknowns != n or not np.array_equal(decisions.whole, sets[0].whole if sets else decisions.whole):
                return None
            size = decisions.n_unknowns * (decisions.high.size + int(decisions.whole.sum()))
            if size > PARAMETERS.max_entries or int(decisions.whole.sum()) > PARAMETERS.max_whole:
                return None
            ends = np.concatenate((decisions.lower, decisions.upper))
            if not (np.abs(ends) <= PARAMETERS.largest_bound).all():
                return None
            if np.any(decisions.lower[decisions.whole] % 1) or np.any(decisions.upper[decisions.whole] % 1):
                return None
            sets.append(decisions)
        distance = problem.distance
        if distance.absent:
            return cls(problem, sets, [[Term(np.zeros(n), 0.0)]] * len(sets))
        terms = [distance_terms(each, example.response, distance) for each, example in zip(sets, problem.examples, strict=True)]
        return cls(problem, sets, terms)

    def _posed(self, theta: FloatArray, weight: float) -> tuple[FloatArray, FloatArray]:
        """Gains of every term of every observation, and their constants: the response has the value 0."""
        cost = np.einsum("ipn,p->in", self._matrix, theta)
        if len(cost) == 1:
            cost = np.broadcast_to(cost, self._responses.shape)
        own = (cost * self._responses).sum(axis=1)
        gain = -(cost[:, None, :] + weight * self._tilt)
        if self._chords:
            # r is the table times the weight over the weight.
            gain = np.concatenate((gain, np.full((*gain.shape[:2], 1), weight)), axis=2)
        constant = own[:, None] + weight * self._constant
        return np.ascontiguousarray(gain.reshape(-1, gain.shape[2])), np.ascontiguousarray(constant)

    def worst(self, theta: FloatArray, weight: float, seconds: float = np.inf) -> WorstDecisions:
        """The decision of largest value for every observation, as far as so many seconds suffice."""
        gain, constant = self._posed(theta, weight)
        # The response is a decision of value 0, and so the first incumbent.
        cutoffs = np.where(self._inside & (weight > 0), 0.0, -np.inf)
        found = self._programmes.search(
            gain=gain, constant=constant, cutoffs=cutoffs, max_nodes=PARAMETERS.max_nodes, seconds=min(seconds, 1e8)
        )
        got = found.found > 0
        points = np.where(got[:, None], found.points[:, : self._responses.shape[1]], self._responses)
        solved: BoolArray = (found.complete > 0) & (got | np.isfinite(cutoffs))
        for i in np.flatnonzero(got & solved).tolist():
            solved[i] = bool(self._decisions[i].allowed(points[i : i + 1])[0])
        slopes, distances = self.cuts(points)
        values = slopes @ theta + weight * distances
        bounds = np.maximum(values, found.values) + PARAMETERS.value_tolerance
        return WorstDecisions(points, slopes, distances, values, bounds, solved)

    def cuts(self, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Slopes and distances of a decision of every observation."""
        apart = self._responses - points
        slopes = np.einsum("ipn,in->ip", self._matrix, apart) if len(self._matrix) > 1 else apart @ self._matrix[0].T
        distance = self.problem.distance
        if distance == NO_DISTANCE:
            return slopes, np.zeros(len(points))
        return slopes, distance.between(self._responses, points, self._decisions[0].whole)

    def proofs(self, theta: FloatArray, goals: FloatArray, seconds: float = np.inf) -> list[DecisionTrees | None]:
        """Trees that show that losses do not exceed goals; None where there is none, or it took too long."""
        gain, constant = self._posed(theta, 1.0)
        found = self._programmes.prove(
            gain=gain, constant=constant, goals=goals, max_nodes=PARAMETERS.max_nodes, seconds=min(seconds, 1e8)
        )
        nodes, leaves = np.cumsum([0, *found.nodes]).tolist(), np.cumsum([0, *found.leaves]).tolist()
        column, at, multipliers = found.column, found.at, found.multipliers
        trees: list[DecisionTrees | None] = []
        for i, complete in enumerate(found.complete.tolist()):
            if not complete:
                trees.append(None)
                continue
            part = slice(nodes[i], nodes[i + 1])
            own = multipliers[leaves[i] : leaves[i + 1]]
            k = self._decisions[i].high.size
            slope = own[:, self._rows :] @ self._slopes
            trees.append(DecisionTrees(column[part], at[part], own[:, :k] / self._units[i, :k], slope))
        return trees
