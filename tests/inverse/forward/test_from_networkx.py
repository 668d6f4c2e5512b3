"""Graphs of networkx learn what the same arrays learn, and nodes and edges are read by their names."""

from __future__ import annotations

from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import surefoot as sf
from surefoot.exceptions import ConvergenceLimitWarning, InvalidObservationError
from surefoot.inverse import InverseOptimizer, forward

nx = pytest.importorskip("networkx", reason="networkx is not installed")


def streets(directed: bool = True) -> Any:
    """A grid of 4 x 4 crossings; its streets have a length, a kind and minutes that only the driver knows."""
    random = np.random.default_rng(1)
    graph = nx.grid_2d_graph(4, 4)
    graph = graph.to_directed() if directed else graph
    for _, _, data in graph.edges(data=True):
        data["km"] = float(random.uniform(0.5, 1.5))
        data["kind"] = str(random.choice(["lane", "avenue"]))
        data["minutes"] = data["km"] * (3.0 if data["kind"] == "lane" else 1.2)
    return graph


def trips(graph: Any, count: int) -> tuple[list[Any], list[Any]]:
    random = np.random.default_rng(2)
    nodes = list(graph)
    pairs = [tuple(nodes[k] for k in random.choice(len(nodes), 2, replace=False)) for _ in range(count)]
    return pairs, [nx.shortest_path(graph, *pair, weight="minutes") for pair in pairs]


OPTIONS: dict[str, Any] = {"prior": "nonnegative", "distance": "l1", "kappa": 0.1}


def test_paths_of_nodes_learn_what_vectors_of_edges_learn() -> None:
    graph = streets()
    pairs, paths = trips(graph, 12)
    driver = forward.from_networkx(graph)
    ours = InverseOptimizer(driver, **OPTIONS).fit(pairs, paths)
    edges = list(graph.edges)
    vectors = [[float(edge in set(pairwise(path))) for edge in edges] for path in paths]
    plain = InverseOptimizer(forward.ShortestPath(edges), **OPTIONS).fit(pairs, vectors)
    assert np.allclose(ours.cost_, plain.cost_, rtol=0, atol=1e-8)
    assert ours.certificate_.verified
    by_edges = InverseOptimizer(driver, **OPTIONS).fit(pairs, [list(pairwise(path)) for path in paths])
    assert by_edges.cost_.tolist() == ours.cost_.tolist()
    for (source, target), decision in zip(pairs, ours.predict(pairs), strict=True):
        path = driver.readable(decision)
        assert (path[0], path[-1]) == (source, target)
        assert [1.0 if edge in set(pairwise(path)) else 0.0 for edge in edges] == decision.tolist()


def test_attributes_are_priced_and_text_has_a_price_for_each_value() -> None:
    graph = streets(directed=False)
    pairs, paths = trips(graph, 12)
    driver = forward.from_networkx(graph, cost=["km", "kind"])
    assert repr(driver) == "GraphPath(16 nodes, 24 edges, priced by km, kind=avenue, kind=lane)"
    ours = InverseOptimizer(driver, **OPTIONS).fit(pd.DataFrame(pairs, columns=["source", "target"]), pd.Series(paths))
    arcs = [*graph.edges, *((v, u) for u, v in graph.edges)]
    data = [graph.edges[arc] for arc in arcs]
    rows = np.array([[each["km"] for each in data], *([float(each["kind"] == k) for each in data] for k in ("avenue", "lane"))])
    vectors = [[float(arc in set(pairwise(path))) for arc in arcs] for path in paths]
    plain = InverseOptimizer(forward.ShortestPath(arcs), features=lambda _, x: rows @ x, **OPTIONS).fit(pairs, vectors)
    assert np.allclose(ours.cost_, plain.cost_, rtol=0, atol=1e-8)
    assert list(driver.priced_by_name(ours.cost_)) == ["km", "kind=avenue", "kind=lane"]


def test_attributes_may_differ_from_trip_to_trip() -> None:
    graph = nx.DiGraph()
    graph.add_edge("a", "b", minutes=1.0)
    graph.add_edge("b", "d", minutes=1.0)
    graph.add_edge("a", "d", minutes=5.0)
    driver = forward.from_networkx(graph, cost="minutes")
    jam = {"source": "a", "target": "d", "minutes": {("a", "b"): 9.0}}
    model = InverseOptimizer(driver, prior="simplex").fit([("a", "d"), jam], [["a", "b", "d"], ["a", "d"]])
    assert model.cost_.tolist() == [1.0]
    assert [driver.readable(each) for each in model.predict([("a", "d"), jam])] == [["a", "b", "d"], ["a", "d"]]


def plant(demands: list[float]) -> Any:
    graph = nx.DiGraph()
    for name, need in zip("abcd", demands, strict=True):
        graph.add_node(name, demand=need)
    for tail, head, room, price in [("a", "b", 3, 4), ("a", "c", 9, 3), ("b", "d", 9, 1), ("c", "d", 4, 2), ("b", "c", 2, 1)]:
        graph.add_edge(tail, head, capacity=room, weight=price)
    return graph


def test_flows_of_networkx_learn_what_a_linear_programme_learns() -> None:
    needs = [[-4.0, 0, 0, 4], [-3, -2, 1, 4], [-2, 0, 0, 2], [-5, 1, 0, 4]]
    flows = [nx.min_cost_flow(plant(need)) for need in needs]
    program = forward.from_networkx(plant(needs[0]), "min_cost_flow")
    signals = [{"demand": dict(zip("abcd", need, strict=True))} for need in needs]
    options: dict[str, Any] = {"prior": "nonnegative", "kappa": 0.01}
    ours = InverseOptimizer(program, **options).fit(signals, flows)
    graph = plant(needs[0])
    rows = nx.incidence_matrix(graph, oriented=True).toarray()
    ceilings = [np.concatenate((need, np.negative(need))) for need in needs]
    room = np.array([graph.edges[edge]["capacity"] for edge in graph.edges], dtype=float)
    vectors = [[float(flow[u][v]) for u, v in graph.edges] for flow in flows]
    # The same box for all: no flow is larger than the whole supply, which the rows imply here.
    plain = InverseOptimizer(forward.LinearProgram(upper=np.minimum(room, 5.0)), **options)
    plain.fit([(np.vstack((rows, -rows)), ceiling) for ceiling in ceilings], vectors)
    assert np.allclose(ours.cost_, plain.cost_, rtol=0, atol=1e-8)
    assert ours.certificate_.verified
    assert program.readable(vectors[2]) == {("a", "b"): 2.0, ("b", "d"): 2.0} or sum(vectors[2]) == 4.0


def test_matchings_of_networkx_learn_what_a_binary_programme_learns() -> None:
    random = np.random.default_rng(4)
    graph, hidden = nx.complete_graph(6), {}
    for edge in graph.edges:
        hidden[edge] = graph.edges[edge]["weight"] = float(random.uniform(1, 3))
    signals: list[Any] = [None, [0, 1, 2, 3], [1, 2, 4, 5], [0, 3, 4, 5]]
    mated = [nx.min_weight_matching(graph if s is None else graph.subgraph(s)) for s in signals]
    program = forward.from_networkx(graph, "perfect_matching")
    ours = InverseOptimizer(program, distance="l1", kappa=0.1).fit(signals, mated)
    rows = np.abs(nx.incidence_matrix(graph).toarray())
    data, vectors = [], []
    for signal, pairs in zip(signals, mated, strict=True):
        there = np.array([float(signal is None or node in signal) for node in graph])
        data.append((np.vstack((rows, -rows)), np.concatenate((there, -there))))
        vectors.append([float(edge in pairs or edge[::-1] in pairs) for edge in graph.edges])
    plain = InverseOptimizer(forward.BinaryProgram(), distance="l1", kappa=0.1).fit(data, vectors)
    assert np.allclose(ours.cost_, plain.cost_, rtol=0, atol=1e-8)
    assert ours.certificate_.verified
    assert {frozenset(edge) for edge in program.readable(vectors[0])} == {frozenset(edge) for edge in mated[0]}


def all_trees(graph: Any) -> np.ndarray:
    edges, found = list(graph.edges), []
    for chosen in combinations(range(len(edges)), len(graph) - 1):
        if nx.is_tree(nx.Graph([edges[k] for k in chosen])) and len({n for k in chosen for n in edges[k]}) == len(graph):
            found.append(np.isin(np.arange(len(edges)), chosen).astype(float))
    return np.array(found)


def test_trees_of_networkx_learn_what_the_list_of_all_trees_learns() -> None:
    random = np.random.default_rng(6)
    graph = nx.complete_graph(4)
    for edge in graph.edges:
        graph.edges[edge]["weight"] = float(random.uniform(1, 3))
    tree = nx.minimum_spanning_tree(graph)
    options: dict[str, Any] = {"distance": "l1", "kappa": 0.1}
    ours = InverseOptimizer(forward.from_networkx(graph, "spanning_tree"), **options).fit([None], [tree])
    vector = [float(tree.has_edge(*edge)) for edge in graph.edges]
    plain = InverseOptimizer(forward.FiniteChoice(), **options).fit([all_trees(graph)], [vector])
    assert np.allclose(ours.cost_, plain.cost_, rtol=0, atol=1e-8)
    assert ours.certificate_.verified


def test_trees_of_many_nodes_are_found_by_kruskals_algorithm() -> None:
    random = np.random.default_rng(7)
    graph = nx.gnp_random_graph(14, 0.4, seed=3)
    for edge in graph.edges:
        graph.edges[edge]["weight"] = float(random.uniform(1, 3))
    tree = nx.minimum_spanning_tree(graph)
    program = forward.from_networkx(graph, "spanning_tree")
    with pytest.warns(ConvergenceLimitWarning, match="provided that the forward solver is right"):
        model = InverseOptimizer(program, distance="l1", kappa=0.1).fit([None], [list(tree.edges)])
    assert {frozenset(edge) for edge in program.readable(model.predict([None])[0])} == {frozenset(edge) for edge in tree.edges}


@pytest.mark.parametrize(
    ("signal", "response", "message"),
    [
        (("a", "x"), ["a", "x"], "the target 'x' is not a node of the graph"),
        (("a", "c"), ["a", "c"], "there is no edge from 'a' to 'c'"),
        (("a", "c"), ["b", "c"], "the path begins at 'b', and not at 'a'"),
        (("a", "c"), ["a", "z", "c"], "the path goes through 'z', which is not a node"),
        ({"source": "a"}, ["a", "b"], "the signal lacks 'target'"),
        ({"source": "a", "target": "c", "hour": 8}, ["a", "b", "c"], "'hour', which means nothing here"),
    ],
)
def test_a_path_that_is_none_is_named(signal: Any, response: Any, message: str) -> None:
    driver = forward.from_networkx(nx.DiGraph([("a", "b"), ("b", "c"), ("c", "a"), ("b", "a")]))
    with pytest.raises(InvalidObservationError, match=f"observation 0: .*{message}"):
        InverseOptimizer(driver, prior="simplex").fit([signal], [response])


def test_graphs_that_do_not_fit_the_problem_are_refused() -> None:
    with pytest.raises(ValueError, match=r"edge \(0, 1\) has no attribute 'km'"):
        forward.from_networkx(nx.path_graph(3), cost="km")
    with pytest.raises(ValueError, match="a flow needs a directed graph"):
        forward.from_networkx(nx.path_graph(3), "min_cost_flow")
    with pytest.raises(ValueError, match="needs a graph without directions"):
        forward.from_networkx(nx.DiGraph([(0, 1)]), "matching")
    with pytest.raises(ValueError, match="problem='tour' is not known"):
        forward.from_networkx(nx.path_graph(3), "tour")
    with pytest.raises(TypeError, match="graph is a list"):
        forward.from_networkx([(0, 1)])
    with pytest.raises(InvalidObservationError, match="demands sum to 1, and not to 0"):
        InverseOptimizer(forward.from_networkx(plant([-1, 0, 0, 2]), "min_cost_flow")).fit([None], [np.zeros(5)])


def test_parallel_edges_are_told_apart_by_their_keys() -> None:
    graph = nx.MultiDiGraph([("a", "b", {"km": 1.0}), ("a", "b", {"km": 2.0}), ("b", "c", {"km": 1.0})])
    driver = forward.from_networkx(graph, cost="km")
    with pytest.raises(InvalidObservationError, match="there are 2 edges from 'a' to 'b'"):
        InverseOptimizer(driver, prior="simplex").fit([("a", "c")], [["a", "b", "c"]])
    model = InverseOptimizer(driver, prior="simplex").fit([("a", "c")], [[("a", "b", 0), ("b", "c", 0)]])
    assert model.predict([("a", "c")])[0].tolist() == [1.0, 0.0, 1.0]


@pytest.mark.parametrize("problem", ["shortest_path", "min_cost_flow", "matching", "spanning_tree"])
def test_a_saved_graph_decides_as_before(problem: str, tmp_path: Path) -> None:
    graph = plant([-4.0, 0, 0, 4]) if problem == "min_cost_flow" else nx.cycle_graph(4)
    signals: list[Any] = [(0, 3)] if problem == "shortest_path" else [None]
    given: Any = {"shortest_path": [[0, 1, 2, 3]], "matching": [[(0, 1), (3, 2)]], "spanning_tree": [nx.path_graph(4)]}
    given["min_cost_flow"] = [nx.min_cost_flow(graph)] if problem == "min_cost_flow" else []
    model = InverseOptimizer(forward.from_networkx(graph, problem), prior=(-1.0, 1.0), kappa=0.1)
    model.fit(signals, given[problem])
    sf.save(model, tmp_path / "model")
    again = sf.load(tmp_path / "model")
    assert np.array_equal(again.predict(signals), model.predict(signals))
    assert repr(again.forward) == repr(model.forward)
    assert sf.verify(again, signals, given[problem]).verified == model.certificate_.verified
