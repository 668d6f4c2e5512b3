"""Forward problems that come ready: paths, assignments, knapsacks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.inverse.forward.programs import ForwardProblem, numbers, parts_of
from surefoot.inverse.forward.remembered import remembered
from surefoot.inverse.problem.decision_set import LinearSet


class ShortestPath(ForwardProblem):
    """A path through a directed graph; a signal is (source, target), or (source, target, context).

    A decision has one 0/1 entry per edge. Flow is conserved at every node, so that a decision is a path, and cycles beside it
    if some cost is negative: choose ``prior="nonnegative"``, or features that keep costs positive.

    Parameters
    ----------
    edges : sequence of pairs
        (from, to), nodes being any hashable values.
    """

    def __init__(self, edges: Sequence[tuple[Any, Any]]) -> None:
        self.edges = edges

    @remembered
    def _nodes(self) -> dict[Any, int]:
        """The nodes and their numbers."""
        found: dict[Any, int] = {}
        for edge in self.edges:
            for node in edge:
                found.setdefault(node, len(found))
        return found

    @remembered
    def _conservation(self) -> FloatArray:
        """What leaves a node minus what enters it, once for all observations."""
        matrix = np.zeros((len(self._nodes), len(self.edges)))
        for k, (tail, head) in enumerate(self.edges):
            matrix[self._nodes[tail], k] += 1.0
            matrix[self._nodes[head], k] -= 1.0
        return matrix

    def decisions(self, signal: Any) -> LinearSet:
        signal = parts_of(signal, "source, target")
        nodes, n = self._nodes, len(self.edges)
        for node, what in zip(signal[:2], ("source", "target"), strict=True):
            if node not in nodes:
                raise ValueError(f"the {what} {node!r} is not a node of the graph")
        if signal[0] == signal[1]:
            raise ValueError(f"source and target are both {signal[0]!r}")
        sides = np.zeros(len(nodes))
        sides[nodes[signal[0]]], sides[nodes[signal[1]]] = 1.0, -1.0
        return LinearSet(self._conservation, sides, sides.copy(), np.zeros(n), np.ones(n), np.ones(n, dtype=np.bool_), True)


class Assignment(ForwardProblem):
    """Every one of ``n`` tasks to one of ``n`` workers; signals are contexts of features, or None.

    A decision is the permutation matrix row by row: entry i n + j is 1 if worker i has task j.
    """

    def __init__(self, n: int) -> None:
        self.n = n

    @remembered
    def _once(self) -> FloatArray:
        """The tasks of each worker, and the workers of each task, once for all observations."""
        n = self.n
        return np.vstack((np.kron(np.eye(n), np.ones(n)), np.kron(np.ones(n), np.eye(n))))

    def decisions(self, signal: Any) -> LinearSet:
        size, ones = self.n * self.n, np.ones(2 * self.n)
        return LinearSet(self._once, ones, ones.copy(), np.zeros(size), np.ones(size), np.ones(size, dtype=np.bool_), True)

    def response(self, signal: Any, given: Any) -> Any:
        """A permutation matrix, or its rows one after another."""
        return numbers(np.asarray(given, dtype=np.float64).ravel(), 1, "the response")


class Knapsack(ForwardProblem):
    """Items within a capacity; a signal is (weights, capacity), or (weights, capacity, context).

    The cost of an item is what taking it costs: below 0 for items that are wanted.
    """

    def decisions(self, signal: Any) -> LinearSet:
        signal = parts_of(signal, "weights, capacity")
        weights = numbers(signal[0], 1, "weights")
        capacity = float(numbers(np.atleast_1d(signal[1]), 1, "the capacity")[0])
        n = weights.size
        ends = np.array([-np.inf]), np.array([capacity])
        return LinearSet(weights[None, :], *ends, np.zeros(n), np.ones(n), np.ones(n, dtype=np.bool_))
