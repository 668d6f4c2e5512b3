"""Matchings and spanning trees of a graph without directions."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from surefoot.core.arrays import BoolArray, FloatArray
from surefoot.inverse.forward.graphs.graph_program import GraphProgram
from surefoot.inverse.forward.remembered import remembered
from surefoot.inverse.problem.decision_set import DecisionSet, LinearSet, OpaqueSet

# Nodes up to which a spanning tree has a row for every set of nodes: 1,013 of them.
FEW_NODES = 10


class UndirectedProgram(GraphProgram):
    """A problem whose edges have no direction, and whose signals may take nodes away."""

    def _found(self, edge: tuple[Any, ...]) -> list[int]:
        there, back = super()._found(edge), super()._found((edge[1], edge[0], *edge[2:]))
        return there if edge[0] == edge[1] else [*there, *back]

    def present(self, signal: Any) -> BoolArray:
        """Which nodes are there at a signal: all, or those that it lists."""
        given = signal
        if isinstance(signal, Mapping):
            self.require_known(signal, ("nodes",))
            given = signal.get("nodes")
        found = np.full(len(self._numbers), given is None)
        if given is None:
            return found
        if isinstance(given, str) or not isinstance(given, Collection):
            raise ValueError("the signal must be None, the nodes that are there, or a mapping of nodes and attributes")
        found[[self.node_number(node, "node") for node in given]] = True
        return found

    def response(self, signal: Any, given: Any) -> FloatArray:
        """A response as a vector, from edges, a graph, or mates by node."""
        if hasattr(given, "edges") and callable(given.edges):
            return self.used(given.edges(keys=True) if given.is_multigraph() else given.edges())
        if isinstance(given, Mapping) and given and all(key in self._numbers for key in given):
            return self.used({tuple(sorted(pair, key=self._numbers.__getitem__)) for pair in given.items()})
        if isinstance(given, list | tuple | set | frozenset) and not given:
            return np.zeros(len(self.edges))
        return super().response(signal, given)


class GraphMatching(UndirectedProgram):
    """Edges of which no two meet; made by :func:`from_networkx`.

    A signal is None, or the nodes that are there. A response is a set of edges, a mapping from nodes to their mates, or a
    vector. The cost of an edge is below 0 where matching is wanted, unless the matching is perfect.

    Parameters
    ----------
    perfect : bool, default=False
        Whether every node that is there is to have a mate.
    """

    def __init__(
        self,
        edges: Sequence[Any],
        *,
        nodes: Sequence[Any] | None = None,
        attributes: Any = None,
        attribute_names: Any = None,
        perfect: bool = False,
    ) -> None:
        super().__init__(edges, nodes=nodes, attributes=attributes, attribute_names=attribute_names)
        self.perfect = perfect

    @remembered
    def _rows(self) -> FloatArray:
        (tails, heads), at = self._ends, np.arange(len(self.edges))
        rows = np.zeros((len(self._numbers), at.size))
        rows[tails, at] = rows[heads, at] = 1.0
        return rows

    @remembered
    def _bipartite(self) -> bool:
        """Whether the nodes fall into two parts with edges between them alone: then corners are whole (Egerváry, 1931)."""
        side, pending = np.zeros(len(self._numbers)), []
        neighbours: dict[int, list[int]] = {}
        for tail, head in zip(*(ends.tolist() for ends in self._ends), strict=True):
            neighbours.setdefault(tail, []).append(head)
            neighbours.setdefault(head, []).append(tail)
        for start in range(side.size):
            if side[start] == 0:
                side[start], pending = 1.0, [start]
            while pending:
                here = pending.pop()
                for there in neighbours.get(here, []):
                    if side[there] == side[here]:
                        return False
                    if side[there] == 0:
                        side[there] = -side[here]
                        pending.append(there)
        return True

    def decisions(self, signal: Any) -> LinearSet:
        size, high = len(self.edges), self.present(signal).astype(np.float64)
        # Edges of nodes that are away stay 0/1 unknowns, for distances: rows with the side 0 bar them.
        low = high.copy() if self.perfect else np.full(high.size, -np.inf)
        return LinearSet(self._rows, low, high, np.zeros(size), np.ones(size), np.ones(size, dtype=np.bool_), self._bipartite)


class SpanningTree(UndirectedProgram):
    """Edges that connect all nodes without a cycle; made by :func:`from_networkx`.

    A signal is None, or the nodes that are there. A response is a list of edges, a tree of networkx, or a vector. Up to 10
    nodes have a row for every set of them, and certificates recompute losses; for more, trees are found by Kruskal's algorithm,
    whose word certificates take, with the distances "l1" (each edge having its own cost) and "none".
    """

    @remembered
    def _members(self) -> BoolArray:
        """Every set of two nodes and more, the set of all nodes last."""
        n = len(self._numbers)
        sets = [each for size in range(2, n + 1) for each in combinations(range(n), size)]
        found = np.zeros((len(sets), n), dtype=np.bool_)
        for at, each in enumerate(sets):
            found[at, list(each)] = True
        return found

    @remembered
    def _rows(self) -> FloatArray:
        """Which edges lie inside every set of nodes: one fewer than its nodes at most (Edmonds, 1971)."""
        tails, heads = self._ends
        return (self._members[:, tails] & self._members[:, heads]).astype(np.float64)

    def decisions(self, signal: Any) -> DecisionSet:
        there, (tails, heads), size = self.present(signal), self._ends, len(self.edges)
        open_ = there[tails] & there[heads]
        if not self._connected(open_, there):
            raise ValueError("the nodes that are there are not connected, and have no spanning tree")
        if len(self._numbers) > FEW_NODES:
            return OpaqueSet(
                size,
                lambda theta: self._kruskal(theta, signal, open_, there),
                contains=lambda x: self._is_tree(x, open_, there),
                binary=True,
            )
        high = np.maximum((self._members & there).sum(axis=1) - 1.0, 0.0)
        low = np.full(high.size, -np.inf)
        low[-1] = high[-1]
        return LinearSet(self._rows, low, high, np.zeros(size), np.ones(size), np.ones(size, dtype=np.bool_), True)

    def _joined(self, order: Any) -> list[int]:
        """Edges, in the given order, that close no cycle."""
        (tails, heads), parent, found = self._ends, list(range(len(self._numbers))), []

        def root(node: int) -> int:
            while parent[node] != node:
                parent[node] = parent[parent[node]]
                node = parent[node]
            return node

        for at in order:
            one, other = root(int(tails[at])), root(int(heads[at]))
            if one != other:
                parent[one] = other
                found.append(int(at))
        return found

    def _connected(self, open_: BoolArray, there: BoolArray) -> bool:
        return len(self._joined(np.flatnonzero(open_))) == int(there.sum()) - 1

    def _kruskal(self, theta: FloatArray, signal: Any, open_: BoolArray, there: BoolArray) -> FloatArray:
        parts = self.priced_parts(signal)
        cost = theta if parts is None else parts[0].T @ theta
        found, at = np.zeros(open_.size), np.flatnonzero(open_)
        found[self._joined(at[np.argsort(cost[at], kind="stable")])] = 1.0
        return found

    def _is_tree(self, x: FloatArray, open_: BoolArray, there: BoolArray) -> bool:
        used = np.flatnonzero(x)
        whole = bool(np.isin(x, (0.0, 1.0)).all()) and bool(open_[used].all())
        return whole and used.size == int(there.sum()) - 1 == len(self._joined(used))
