"""Flows of least cost through a graph with demands and capacities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.inverse.forward.graphs.graph_program import GraphProgram
from surefoot.inverse.forward.programs import numbers
from surefoot.inverse.forward.remembered import remembered
from surefoot.inverse.problem.decision_set import LinearSet


class GraphFlow(GraphProgram):
    """Flows that meet demands; made by :func:`from_networkx`.

    A signal is None, or a mapping with "demand" (by node: what is to arrive less what is to leave, as in networkx), "capacity"
    (by edge) and attributes where they differ at this observation. A response is a vector with the flow on every edge, such
    flows by edge, or by node and node, as networkx returns them. An edge without a capacity takes at most what all nodes
    supply together: more than that, flows of least cost carry only in circles.
    """

    def __init__(
        self,
        edges: Sequence[Any],
        *,
        nodes: Sequence[Any] | None = None,
        attributes: Any = None,
        attribute_names: Any = None,
        demand: Any = None,
        capacity: Any = None,
    ) -> None:
        super().__init__(edges, nodes=nodes, attributes=attributes, attribute_names=attribute_names)
        self.demand, self.capacity = demand, capacity

    @remembered
    def _rows(self) -> FloatArray:
        """What enters every node minus what leaves it."""
        (tails, heads), at = self._ends, np.arange(len(self.edges))
        rows = np.zeros((len(self._numbers), at.size))
        np.add.at(rows, (heads, at), 1.0)
        np.subtract.at(rows, (tails, at), 1.0)
        return rows

    def decisions(self, signal: Any) -> LinearSet:
        signal = {} if signal is None else signal
        if not isinstance(signal, Mapping):
            raise ValueError("the signal must be None, or a mapping with demand, capacity, or attributes of edges")
        self.require_known(signal, ("demand", "capacity"))
        n, size = len(self._numbers), len(self.edges)
        demand = np.zeros(n) if self.demand is None else numbers(self.demand, 1, "demand").copy()
        capacity = np.full(size, np.inf) if self.capacity is None else np.array(self.capacity, dtype=np.float64)
        demand = _renewed(demand, signal.get("demand"), lambda node: self.node_number(node, "node"), "demand")
        capacity = _renewed(capacity, signal.get("capacity"), self.edge_number, "capacity")
        if np.isnan(capacity).any() or np.any(capacity < 0):
            at = int(np.flatnonzero(~(capacity >= 0))[0])
            raise ValueError(f"the capacity of {self.edges[at]!r} is {capacity[at]}; it must be at or above 0")
        if abs(demand.sum()) > 1e-9 * np.abs(demand).sum():
            raise ValueError(f"demands sum to {demand.sum():g}, and not to 0: what arrives must leave somewhere")
        upper = np.minimum(capacity, demand[demand > 0].sum())
        return LinearSet(self._rows, demand, demand.copy(), np.zeros(size), upper, np.zeros(size, dtype=np.bool_))

    def response(self, signal: Any, given: Any) -> FloatArray:
        """A response as a vector, from flows by edge, or by node and node."""
        if isinstance(given, Mapping) and all(isinstance(flows, Mapping) for flows in given.values()):
            flat: dict[Any, Any] = {}
            for tail, flows in given.items():
                for head, flow in flows.items():
                    flat |= (
                        {(tail, head, key): part for key, part in flow.items()}
                        if isinstance(flow, Mapping)
                        else {(tail, head): flow}
                    )
            given = flat
        return super().response(signal, given)

    def readable(self, decision: Any) -> dict[Any, float]:
        """The flow on every edge that is used."""
        flows = zip(self.edges, np.asarray(decision).tolist(), strict=True)
        return {edge: flow for edge, flow in flows if flow > 1e-9}


def _renewed(known: FloatArray, given: Any, number: Any, what: str) -> FloatArray:
    """Values of which some, or all, are given anew."""
    if given is None:
        return known
    if not isinstance(given, Mapping):
        found = numbers(given, 1, what)
        if found.size != known.size:
            raise ValueError(f"{what} has {found.size} entries and needs {known.size}")
        return found
    found = known.copy()
    for key, value in given.items():
        found[number(key)] = value
    return found
