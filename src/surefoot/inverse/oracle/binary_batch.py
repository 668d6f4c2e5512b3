"""The worst decisions of all observations by native branch and bound in one call, where all have a few 0/1 unknowns."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from surefoot import _native
from surefoot.core.arrays import FloatArray, RowArray
from surefoot.exceptions import ForwardSolveError
from surefoot.inverse.oracle.binary_search import BinarySearch
from surefoot.inverse.oracle.parameters import BinarySearchParameters
from surefoot.inverse.oracle.worst_decisions import WorstDecisions
from surefoot.inverse.problem.augmented_terms import Term, distance_terms
from surefoot.inverse.problem.decision_set import WHOLE_ROW_TOLERANCE, LinearSet
from surefoot.inverse.problem.distance import NO_DISTANCE
from surefoot.inverse.problem.hypothesis import LinearFeatures
from surefoot.inverse.problem.problem import InverseProblem

PARAMETERS = BinarySearchParameters()


class BinaryBatch:
    """The searches of all observations of a problem, stacked."""

    def __init__(self, problem: InverseProblem, decisions: list[LinearSet], terms: list[Term]) -> None:
        self.problem = problem
        responses = np.array([example.response for example in problem.examples])
        n = responses.shape[1]
        whole = np.asarray(np.isin(responses, (0.0, 1.0)).all(axis=1))
        self._start = np.where(whole[:, None], responses, 0.0)
        self._sign = 1.0 - 2.0 * self._start
        rows, self._right, self._row_tolerance = _stacked(decisions, self._start)
        self._rows = rows.reshape(-1, n)
        self._tilt = np.array([term.tilt for term in terms])
        self._constant = np.array([term.constant for term in terms])
        flat = np.zeros(n + 1)
        self._table = np.array([flat if term.table is None else term.table for term in terms])
        features = [example.instance.features for example in problem.examples]
        matrices = np.array([each.matrix for each in features])  # type: ignore[union-attr]
        self._matrix = matrices[:1] if np.all(matrices == matrices[0]) else matrices
        self._offset = np.array([each.offset for each in features])  # type: ignore[union-attr]
        self._own = self._priced(responses) + self._offset
        # No flip at all has the first entry of the table as its value, where it is a decision: that is the cutoff.
        inside = np.array([example.inside for example in problem.examples])
        self._cutoffs = np.where(whole & inside, self._table[:, 0], -np.inf)
        # Multipliers of the rows: each search starts from those of the last one.
        self._multipliers = np.zeros(self._right.shape)

    @classmethod
    def of(cls, problem: InverseProblem) -> BinaryBatch | None:
        """The batch, or None if some observation is of another kind."""
        n = problem.examples[0].response.size
        sets = []
        for example in problem.examples:
            decisions, features = example.instance.decisions, example.instance.features
            if not (isinstance(decisions, LinearSet) and isinstance(features, LinearFeatures)):
                return None
            if n > PARAMETERS.max_unknowns or decisions.lower.size != n:
                return None
            sets.append(decisions)
        lower, upper, whole = (np.array([getattr(each, name) for each in sets]) for name in ("lower", "upper", "whole"))
        if not np.all(whole & (lower == 0) & (upper == 1)):
            return None
        terms = _terms(problem, sets)
        return None if terms is None else cls(problem, sets, terms)

    def examples(self) -> _native.BinaryExamples | None:
        """The observations for native mirror steps, or None if features differ or a response is not one of its decisions."""
        inside = all(example.inside for example in self.problem.examples)
        if len(self._matrix) > 1 or not inside or not np.isin(self._start, (0.0, 1.0)).all():
            return None
        return _native.BinaryExamples(
            rows=self._rows,
            right=self._right,
            row_tolerance=self._row_tolerance,
            start=self._start,
            tilt=self._tilt,
            constant=self._constant,
            table=self._table,
            features=np.ascontiguousarray(self._matrix[0]),
            own=self._own - self._offset,
        )

    @property
    def multipliers(self) -> FloatArray:
        """Multipliers of the rows of all observations, overwritten by every search."""
        return self._multipliers

    def points(self, at: RowArray, flips: NDArray[np.int8]) -> FloatArray:
        """The decisions that flips make of observations."""
        start = self._start[at]
        return np.where(flips > 0, 1.0 - start, start)

    def cuts(self, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Slopes and distances of a decision of every observation."""
        slopes = self._own - self._priced(points) - self._offset
        count = (points != self._start).sum(axis=1)
        distances = self._constant - (self._tilt * points).sum(axis=1) + self._table[np.arange(len(points)), count]
        return slopes, np.zeros(len(points)) if self.problem.distance == NO_DISTANCE else distances

    def _priced(self, points: FloatArray) -> FloatArray:
        """Features of a decision of every observation, without what is constant in them."""
        if len(self._matrix) == 1:
            return np.asarray(points @ self._matrix[0].T)
        return np.asarray(np.einsum("ipn,in->ip", self._matrix, points))

    def worst(self, theta: FloatArray, weight: float, seconds: float = np.inf) -> WorstDecisions:
        """The decision of largest value for every observation, as far as so many seconds suffice."""
        # Time is counted in nodes, each observation with its share.
        nodes = seconds * PARAMETERS.nodes_per_second / len(self._start)
        cost = np.einsum("ipn,p->in", self._matrix, theta) + weight * self._tilt
        gain = np.ascontiguousarray(-cost * self._sign)
        table = np.ascontiguousarray(weight * self._table)
        cutoffs = np.where(np.isfinite(self._cutoffs), weight * self._cutoffs, -np.inf)
        found = _native.search_binary_batch(
            rows=self._rows,
            right=self._right,
            row_tolerance=self._row_tolerance,
            gain=gain,
            table=table,
            cutoffs=cutoffs,
            max_nodes=int(min(PARAMETERS.batch_max_nodes, max(1.0, nodes))),
            multipliers=self._multipliers,
        )
        flips = found.flips
        if np.any(found.infeasible):
            index = self.problem.examples[int(np.argmax(found.infeasible))].index
            raise ForwardSolveError(f"observation {index}: no decision is allowed at this signal.")
        points = np.where(flips > 0, 1.0 - self._start, self._start)
        slopes, distances = self.cuts(points)
        values = slopes @ theta + weight * distances
        return WorstDecisions(points, slopes, distances, values, values + PARAMETERS.value_tolerance, found.solved > 0)


def _terms(problem: InverseProblem, sets: list[LinearSet]) -> list[Term] | None:
    """The distance of every observation as one term, or None if that takes more."""
    distance, examples = problem.distance, problem.examples
    if distance.absent:
        return [Term(np.zeros(sets[0].n_unknowns), 0.0)] * len(sets)
    found = [distance_terms(sets[0], examples[0].response, distance)]
    if found[0][0].table is not None and np.isin([example.response for example in examples], (0.0, 1.0)).all():
        # A table prices the number of flips alone, whatever the response.
        found = found * len(sets)
    else:
        rest = zip(sets[1:], examples[1:], strict=True)
        found += [distance_terms(decisions, example.response, distance) for decisions, example in rest]
    return [terms[0] for terms in found] if all(len(terms) == 1 for terms in found) else None


def _stacked(sets: list[LinearSet], start: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Rows in terms of flips, their right-hand sides and their tolerances, of all sets."""
    if len({each.matrix.shape for each in sets}) == 1:
        matrix = np.array([each.matrix for each in sets])
        high, low = np.array([each.high for each in sets]), np.array([each.low for each in sets])
        above, below = np.isfinite(high[0]), np.isfinite(low[0])
        alike = bool(np.all(np.isfinite(high) == above) and np.all(np.isfinite(low) == below))
    else:
        alike = False
    if alike:
        rows = np.concatenate((matrix[:, above], -matrix[:, below]), axis=1)
        right = np.concatenate((high[:, above], -low[:, below]), axis=1)
        tolerance = 0.5 * WHOLE_ROW_TOLERANCE * np.abs(rows).max(axis=2, initial=0.0)
        return rows * (1.0 - 2.0 * start)[:, None, :], right - np.einsum("imn,in->im", rows, start), tolerance
    searches = [BinarySearch(each, here) for each, here in zip(sets, start, strict=True)]
    most = max(search.rows.shape[0] for search in searches)
    # Rows that are missing are rows 0 <= 1.
    shape = (len(sets), most)
    rows, right, tolerance = np.zeros((*shape, start.shape[1])), np.ones(shape), np.zeros(shape)
    for i, search in enumerate(searches):
        m = search.rows.shape[0]
        rows[i, :m], right[i, :m], tolerance[i, :m] = search.rows, search.right, search.row_tolerance
    return rows, right, tolerance
