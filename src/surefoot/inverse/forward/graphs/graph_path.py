"""Paths through a graph, with costs of edges or of their attributes."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.inverse.forward.graphs.graph_program import GraphProgram
from surefoot.inverse.forward.programs import parts_of
from surefoot.inverse.forward.remembered import remembered
from surefoot.inverse.problem.decision_set import LinearSet


class GraphPath(GraphProgram):
    """A path from a source to a target; made by :func:`from_networkx`.

    A signal is (source, target), or a mapping with "source" and "target", and with attributes that differ at this observation.
    A response is the list of the nodes on the way, or of its edges, or a vector with one 0/1 entry for every arc; an edge of a
    graph without directions is two arcs, there and back, of one cost. Flow is conserved at every node, so that a decision is a
    path, and cycles beside it if some cost is negative: choose ``prior="nonnegative"`` or "simplex".
    """

    def __init__(
        self,
        edges: Sequence[Any],
        *,
        nodes: Sequence[Any] | None = None,
        attributes: Any = None,
        attribute_names: Any = None,
        directed: bool = True,
    ) -> None:
        super().__init__(edges, nodes=nodes, attributes=attributes, attribute_names=attribute_names)
        self.directed = directed

    @remembered
    def _arcs(self) -> Sequence[Any]:
        return self.edges if self.directed else [*self.edges, *((edge[1], edge[0], *edge[2:]) for edge in self.edges)]

    @property
    def unknowns(self) -> Sequence[Any]:
        return self._arcs

    @remembered
    def _between(self) -> dict[Any, list[int]]:
        found: dict[Any, list[int]] = {}
        for at, arc in enumerate(self._arcs):
            found.setdefault(tuple(arc[:2]), []).append(at)
            if len(arc) == 3:
                found.setdefault(tuple(arc), []).append(at)
        return found

    @remembered
    def _rows(self) -> FloatArray:
        """Conservation at every node: what leaves it minus what enters it."""
        tails, heads = self._ends
        if not self.directed:
            tails, heads = np.concatenate((tails, heads)), np.concatenate((heads, tails))
        rows, at = np.zeros((len(self._numbers), tails.size)), np.arange(tails.size)
        np.add.at(rows, (tails, at), 1.0)
        np.subtract.at(rows, (heads, at), 1.0)
        return rows

    @remembered
    def _box(self) -> tuple[FloatArray, FloatArray, Any]:
        size = len(self._arcs)
        return np.zeros(size), np.ones(size), np.ones(size, dtype=np.bool_)

    def _trip(self, signal: Any) -> tuple[Any, Any]:
        if isinstance(signal, Mapping):
            self.require_known(signal, ("source", "target"))
            signal = {name: signal[name] for name in ("source", "target") if name in signal}
        source, target = parts_of(signal, "source, target")[:2]
        for node, what in ((source, "source"), (target, "target")):
            self.node_number(node, what)
        if source == target:
            raise ValueError(f"source and target are both {source!r}")
        return source, target

    def decisions(self, signal: Any) -> LinearSet:
        source, target = self._trip(signal)
        sides = np.zeros(len(self._numbers))
        sides[self._numbers[source]], sides[self._numbers[target]] = 1.0, -1.0
        return LinearSet(self._rows, sides, sides.copy(), *self._box, True)

    def priced_parts(self, signal: Any) -> tuple[FloatArray, FloatArray] | None:
        rows = self.attribute_rows(signal)
        if not self.directed:
            rows = np.eye(len(self.edges)) if rows is None else rows
            rows = np.hstack((rows, rows))
        return None if rows is None else (rows, np.zeros(len(rows)))

    def response(self, signal: Any, given: Any) -> FloatArray:
        """A response as a vector, from the nodes or the edges of the path."""
        if isinstance(given, np.ndarray) and given.size == len(self._arcs):
            return super().response(signal, given)
        way = list(given) if isinstance(given, list | tuple | np.ndarray) else []
        source, target = self._trip(signal)
        if way and all(self._is_node(node) for node in way):
            if len(way) == len(self._arcs) and way[:1] + way[-1:] != [source, target]:
                return super().response(signal, given)  # a vector, in a graph whose nodes are 0 and 1 among others
            for node, end, what in ((way[0], source, "begins"), (way[-1], target, "ends")):
                if node != end:
                    raise ValueError(f"the path {what} at {node!r}, and not at {end!r}")
            return self.used(itertools.pairwise(way))
        unknown = next((node for node in way if not self._is_node(node) and not isinstance(node, tuple | list)), None)
        if unknown is not None and len(way) != len(self._arcs):
            raise ValueError(f"the path goes through {unknown!r}, which is not a node of the graph")
        return super().response(signal, given)

    def _is_node(self, value: Any) -> bool:
        try:
            return value in self._numbers
        except TypeError:
            return False

    def readable(self, decision: Any) -> list[Any]:
        """The nodes on the way, from source to target."""
        used = {edge[0]: edge[1] for edge in super().readable(decision)}
        ends = set(used.values())
        path = [next((node for node in used if node not in ends), next(iter(used), None))]
        while path[-1] in used and len(path) <= len(used):
            path.append(used[path[-1]])
        return path
