"""Graphs of networkx, and of whatever has nodes and edges in its way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.inverse.forward.graphs.graph_flow import GraphFlow
from surefoot.inverse.forward.graphs.graph_matching import GraphMatching, SpanningTree
from surefoot.inverse.forward.graphs.graph_path import GraphPath
from surefoot.inverse.forward.graphs.graph_program import GraphProgram

PROBLEMS = ("shortest_path", "min_cost_flow", "matching", "perfect_matching", "spanning_tree")


def from_networkx(
    graph: Any,
    problem: str = "shortest_path",
    *,
    cost: str | Sequence[str] | None = None,
    demand: str = "demand",
    capacity: str = "capacity",
) -> GraphProgram:
    """A decision on a graph of networkx, whose cost is to be learned.

    Parameters
    ----------
    graph : Graph, DiGraph, MultiGraph or MultiDiGraph
    problem : str, default="shortest_path"
        Or "min_cost_flow", "matching", "perfect_matching", "spanning_tree".
    cost : str or sequence of str, optional
        Attributes of edges that the cost prices, such as ["length", "traffic_light", "kind"]: the cost vector then has one
        entry for each, and one for every value of an attribute that is text ("kind=lane"). By default every edge has a cost of
        its own.
    demand, capacity : str
        Attributes of nodes and of edges that "min_cost_flow" reads, as networkx does: 0 and infinite where they are missing.

    Returns
    -------
    GraphPath, GraphFlow, GraphMatching or SpanningTree
        Each says what its signals and responses are: nodes and edges by their names.

    Examples
    --------
    >>> import networkx as nx
    >>> import surefoot as sf
    >>> town = nx.Graph()
    >>> town.add_edge("home", "park", km=1.0, lights=3)
    >>> town.add_edge("home", "river", km=1.5, lights=0)
    >>> town.add_edge("park", "work", km=1.0, lights=2)
    >>> town.add_edge("river", "work", km=1.2, lights=1)
    >>> driver = sf.inverse.forward.from_networkx(town, cost=["km", "lights"])
    >>> driver
    GraphPath(4 nodes, 4 edges, priced by km, lights)
    >>> model = sf.inverse.InverseOptimizer(driver, prior="simplex")
    >>> model = model.fit([("home", "work")], [["home", "river", "work"]])
    >>> driver.readable(model.predict([("work", "home")])[0])
    ['work', 'river', 'home']
    """
    if problem not in PROBLEMS:
        raise ValueError(f"problem={problem!r} is not known. Choose one of {', '.join(map(repr, PROBLEMS))}.")
    if not all(hasattr(graph, name) for name in ("nodes", "edges", "is_directed", "is_multigraph")):
        raise TypeError(f"graph is a {type(graph).__name__}, and not a graph of networkx.")
    directed, nodes = bool(graph.is_directed()), list(graph.nodes)
    edges, data = _edges(graph)
    if not edges:
        raise ValueError("the graph has no edges.")
    if problem == "min_cost_flow" and not directed:
        raise ValueError("a flow needs a directed graph: graph.to_directed() has an edge for each direction.")
    if problem not in ("shortest_path", "min_cost_flow") and directed:
        raise ValueError(f"problem={problem!r} needs a graph without directions: graph.to_undirected().")
    loop = next((edge for edge in edges if edge[0] == edge[1]), None)
    if loop is not None and not directed and problem != "shortest_path":
        raise ValueError(f"the graph has an edge from {loop[0]!r} to itself, which no {problem} uses; take it out.")
    ordered = problem == "min_cost_flow" or set(nodes) != {end for edge in edges for end in edge[:2]}
    given: dict[str, Any] = {"nodes": nodes if ordered else None}
    if cost is not None:
        names = [cost] if isinstance(cost, str) else list(cost)
        columns = [column for name in names for column in _columns(name, edges, data)]
        given |= {"attributes": np.array([values for _, values in columns]), "attribute_names": [name for name, _ in columns]}
    if problem == "shortest_path":
        return GraphPath(edges, directed=directed, **given)
    if problem == "spanning_tree":
        return SpanningTree(edges, **given)
    if problem != "min_cost_flow":
        return GraphMatching(edges, perfect=problem == "perfect_matching", **given)
    needs = np.array([float(own.get(demand, 0.0)) for _, own in graph.nodes(data=True)])
    room = np.array([float(own.get(capacity, np.inf)) for own in data])
    return GraphFlow(edges, demand=needs, capacity=room, **given)


def _edges(graph: Any) -> tuple[list[Any], list[Any]]:
    """Edges, with keys where two of them could be mistaken, and what is known of each."""
    if graph.is_multigraph():
        found = list(graph.edges(keys=True, data=True))
        return [edge[:3] for edge in found], [edge[3] for edge in found]
    found = list(graph.edges(data=True))
    return [edge[:2] for edge in found], [edge[2] for edge in found]


def _columns(name: str, edges: list[Any], data: list[Any]) -> list[tuple[str, FloatArray]]:
    """One column of an attribute that is a number, one per value of an attribute that is text."""
    missing = next((edge for edge, own in zip(edges, data, strict=True) if own.get(name) is None), None)
    if missing is not None:
        raise ValueError(f"edge {missing!r} has no attribute {name!r}.")
    values = [own[name] for own in data]
    if all(isinstance(value, str) for value in values):
        return [(f"{name}={level}", np.array([float(value == level) for value in values])) for level in sorted(set(values))]
    for edge, value in zip(edges, values, strict=True):
        try:
            if np.isfinite(float(value)):
                continue
        except (TypeError, ValueError):
            pass
        raise ValueError(f"attribute {name!r} of edge {edge!r} is {value!r:.60}: no finite number, nor all are text.")
    return [(name, np.array([float(value) for value in values]))]
