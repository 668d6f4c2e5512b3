"""What forward problems on a graph share: edges with attributes that the cost prices, and edges named in responses.

    min over x in X(s) of   <theta, F x>,    x_e = how much of edge e is used,

F being the identity (each edge has a cost of its own), or one row per attribute, whose entries are those of the edges: theta
then has a price for a kilometre, for a traffic light, for a street of a given kind.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.inverse.forward.named_program import NamedProgram
from surefoot.inverse.forward.programs import FeatureFunction, numbers
from surefoot.inverse.forward.remembered import remembered
from surefoot.inverse.problem.decision_set import DecisionSet
from surefoot.inverse.problem.hypothesis import Features, LinearFeatures, identity_features


class GraphProgram(NamedProgram):
    """A problem whose decision has one entry for every edge.

    Parameters
    ----------
    edges : sequence
        (from, to), or (from, to, key) where there are several between the same nodes.
    nodes : sequence, optional
        In their order; by default as the edges name them.
    attributes : array of shape (p, n_edges), optional
        What the cost prices; each edge by default.
    attribute_names : sequence of str, optional
    """

    def __init__(
        self, edges: Sequence[Any], *, nodes: Sequence[Any] | None = None, attributes: Any = None, attribute_names: Any = None
    ) -> None:
        self.edges, self.nodes, self.attributes, self.attribute_names = edges, nodes, attributes, attribute_names

    def summary(self) -> str:
        prices = f"{len(self.edges)} costs, one per edge" if self.attributes is None else ", ".join(map(str, self.priced))
        return f"{len(self._numbers)} nodes, {len(self.edges)} edges, priced by {prices}"

    @remembered
    def _numbers(self) -> dict[Any, int]:
        """The nodes and their numbers."""
        found: dict[Any, int] = {}
        for node in self.nodes if self.nodes is not None else (end for edge in self.edges for end in edge[:2]):
            found.setdefault(node, len(found))
        return found

    @remembered
    def _ends(self) -> tuple[Any, Any]:
        """Numbers of the nodes where edges begin and end."""
        ends = np.array([[self._numbers[edge[0]], self._numbers[edge[1]]] for edge in self.edges], dtype=np.int64)
        return ends[:, 0], ends[:, 1]

    @remembered
    def _between(self) -> dict[Any, list[int]]:
        """Numbers of the edges between two nodes, and of each edge with its key."""
        found: dict[Any, list[int]] = {}
        for at, edge in enumerate(self.edges):
            found.setdefault(tuple(edge[:2]), []).append(at)
            if len(edge) == 3:
                found.setdefault(tuple(edge), []).append(at)
        return found

    @property
    def unknowns(self) -> Sequence[Any]:
        return self.edges

    @property
    def priced(self) -> Sequence[Any]:
        if self.attributes is None:
            return self.edges
        return self.attribute_names if self.attribute_names is not None else range(len(self.attributes))

    def edge_number(self, edge: Any) -> int:
        """The number of an edge, in either direction where the graph has none.

        Raises
        ------
        ValueError
            If there is no such edge, or more than one.
        """
        found = self._found(tuple(edge))
        if not found:
            raise ValueError(f"there is no edge from {edge[0]!r} to {edge[1]!r}")
        if len(found) > 1:
            raise ValueError(f"there are {len(found)} edges from {edge[0]!r} to {edge[1]!r}; name edges (from, to, key)")
        return found[0]

    def _found(self, edge: tuple[Any, ...]) -> list[int]:
        return self._between.get(edge, [])

    def used(self, edges: Iterable[Any]) -> FloatArray:
        """The 0/1 vector of some edges."""
        found = np.zeros(len(self.unknowns))
        for edge in edges:
            if not isinstance(edge, tuple | list) or len(edge) not in (2, 3):
                raise ValueError(f"{edge!r:.60} is no edge: edges are pairs of nodes")
            found[self.edge_number(edge)] = 1.0
        return found

    def node_number(self, node: Any, what: str) -> int:
        try:
            return self._numbers[node]
        except (KeyError, TypeError):
            raise ValueError(f"the {what} {node!r} is not a node of the graph") from None

    def response(self, signal: Any, given: Any) -> FloatArray:
        """A response as a vector, from a vector, a list of edges, or values by edge."""
        if isinstance(given, Mapping):
            found = np.zeros(len(self.unknowns))
            for edge, value in given.items():
                found[self.edge_number(edge)] = value
            return numbers(found, 1, "the response")
        if isinstance(given, list | tuple | set | frozenset) and any(isinstance(each, tuple | list) for each in given):
            return self.used(given)
        return numbers(given, 1, "the response")

    def attribute_rows(self, signal: Any) -> FloatArray | None:
        """Attributes of the edges, some of which a signal may name anew."""
        if self.attributes is None:
            return None
        rows = numbers(self.attributes, 2, "attributes")
        own = [name for name in signal if name in self.priced] if isinstance(signal, Mapping) else []
        if own:
            rows = rows.copy()
        for name in own:
            row = rows[list(self.priced).index(name)]
            if isinstance(signal[name], Mapping):
                for edge, value in signal[name].items():
                    row[self.edge_number(edge)] = value
            else:
                row[:] = numbers(signal[name], 1, str(name))
        return rows

    def priced_parts(self, signal: Any) -> tuple[FloatArray, FloatArray] | None:
        rows = self.attribute_rows(signal)
        return None if rows is None else (rows, np.zeros(len(rows)))

    @remembered
    def _plain_features(self) -> LinearFeatures:
        """The features that do not depend on the signal, once for all observations."""
        parts = self.priced_parts(None)
        return identity_features(len(self.unknowns)) if parts is None else LinearFeatures(*parts)

    def features(self, signal: Any, decisions: DecisionSet, function: FeatureFunction | None) -> Features:
        named = isinstance(signal, Mapping) and any(name in signal for name in self.priced) and self.attributes is not None
        if function is None and not named:
            return self._plain_features
        return super().features(signal, decisions, function)

    def readable(self, decision: Any) -> Any:
        """The edges that a decision uses."""
        return [edge for edge, value in zip(self.unknowns, np.asarray(decision).tolist(), strict=True) if value > 0.5]

    def require_known(self, signal: Mapping[Any, Any], names: Sequence[str]) -> None:
        """Refuse a signal with entries that mean nothing."""
        attributes = () if self.attributes is None else tuple(self.priced)
        for name in signal:
            if name not in (*names, "context", *attributes):
                known = ", ".join(map(str, (*names, *attributes)))
                raise ValueError(f"the signal has {name!r}, which means nothing here; it can have {known}, context")
