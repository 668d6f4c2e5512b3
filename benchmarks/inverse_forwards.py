"""Observed decisions for every kind of forward problem, each with noise that no cost explains, for benchmarks of limits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import LinearConstraint, linear_sum_assignment, milp
from scipy.sparse import csgraph

from surefoot.datasets.expert_decisions import large_decisions, mixed_integer_decisions
from surefoot.inverse import forward

Generator = np.random.Generator


@dataclass(frozen=True)
class Observed:
    """A forward problem, signals, responses, and parameters of an optimizer that suit them."""

    forward: Any
    signals: Sequence[Any]
    responses: Sequence[Any]
    parameters: dict[str, Any] = field(default_factory=dict)


def _noisy(cost: np.ndarray[Any, Any], generator: Generator) -> np.ndarray[Any, Any]:
    return np.asarray(cost * generator.uniform(0.5, 1.5, size=cost.size))


def _best(cost: Any, matrix: Any, ceiling: Any, whole: Any, upper: float = 1.0) -> np.ndarray[Any, Any]:
    found = milp(cost, constraints=LinearConstraint(matrix, ub=ceiling), bounds=(0.0, upper), integrality=whole)
    return np.where(np.asarray(whole, dtype=bool), np.rint(found.x), found.x)


def _binary(count: int, generator: Generator) -> Observed:
    data = large_decisions(count, random_state=generator)
    other = [_best(_noisy(data.cost, generator), *signal, np.ones(data.cost.size)) for signal in data.signals]
    return Observed(forward.BinaryProgram(), data.signals, other, {"prior": "nonnegative"})


def _linear(count: int, generator: Generator) -> Observed:
    n, rows, cost = 20, 15, generator.uniform(size=20)
    signals = [(-generator.uniform(size=(rows, n)), -generator.uniform(1, 3, size=rows)) for _ in range(count)]
    responses = [_best(_noisy(cost, generator), *signal, np.zeros(n)) for signal in signals]
    return Observed(forward.LinearProgram(upper=1.0), signals, responses, {"prior": "nonnegative", "distance": "linf"})


def _mixed(count: int, generator: Generator) -> Observed:
    data = mixed_integer_decisions(count, n_continuous=10, n_binary=10, random_state=generator)
    responses = []
    for first, second, ceiling in data.signals:
        whole = np.arange(20) >= 10
        responses.append(_best(_noisy(data.cost, generator), np.hstack((first, second)), ceiling, whole))
    parameters = {"prior": "nonnegative", "distance": ("linf", "l2")}
    return Observed(forward.MixedIntegerProgram(), data.signals, responses, parameters)


def _general(count: int, generator: Generator) -> Observed:
    n, rows, cost = 10, 6, generator.uniform(0.5, 1.5, size=10)
    matrix = generator.uniform(size=(rows, n))
    signals = [{"b_ub": -generator.uniform(10, 40, size=rows)} for _ in range(count)]
    problem = forward.from_scipy(A_ub=-matrix, b_ub=signals[0]["b_ub"], bounds=(0, 20), integrality=np.ones(n))
    responses = [_best(_noisy(cost, generator), -matrix, signal["b_ub"], np.ones(n), 20.0) for signal in signals]
    return Observed(problem, signals, responses, {"prior": "nonnegative", "distance": "linf"})


def _choice(count: int, generator: Generator) -> Observed:
    cost = generator.uniform(size=10)
    signals = [generator.uniform(size=(500, 10)) for _ in range(count)]
    return Observed(forward.FiniteChoice(), signals, [int(np.argmin(each @ _noisy(cost, generator))) for each in signals])


def _edges(nodes: int, generator: Generator) -> tuple[list[tuple[int, int]], np.ndarray[Any, Any]]:
    places = generator.uniform(size=(nodes, 2))
    away = np.linalg.norm(places[:, None] - places[None], axis=2)
    pairs = {(tail, head) for tail in range(nodes) for head in np.argsort(away[tail])[1:5].tolist()}
    edges = sorted(pairs | {(head, tail) for tail, head in pairs} | {(k, (k + 1) % nodes) for k in range(nodes)})
    return edges, np.array([away[edge] for edge in edges])


def street_trips(count: int, generator: Generator, nodes: int = 50) -> Observed:
    """Shortest paths through streets between the nearest of random places, each traveller with prices of their own."""
    edges, lengths = _edges(nodes, generator)
    numbers = {edge: k for k, edge in enumerate(edges)}
    tails, heads = np.array(edges).T
    signals, responses = [], []
    for _ in range(count):
        start, end = generator.choice(nodes, size=2, replace=False).tolist()
        graph = sparse.csr_array((_noisy(lengths, generator), (tails, heads)), shape=(nodes, nodes))
        before = csgraph.dijkstra(graph, indices=start, return_predecessors=True)[1]
        way, node = np.zeros(len(edges)), end
        while node != start:
            way[numbers[int(before[node]), node]] = 1.0
            node = int(before[node])
        signals.append((start, end))
        responses.append(way)
    return Observed(forward.ShortestPath(edges), signals, responses, {"prior": "nonnegative", "distance": "l1"})


def _assignment(count: int, generator: Generator) -> Observed:
    n, cost = 10, generator.uniform(size=100)
    responses = []
    for _ in range(count):
        at = linear_sum_assignment(_noisy(cost, generator).reshape(n, n))
        response = np.zeros((n, n))
        response[at] = 1.0
        responses.append(response.ravel())
    return Observed(forward.Assignment(n), [None] * count, responses, {"prior": "nonnegative", "distance": "l1"})


def _knapsack(count: int, generator: Generator) -> Observed:
    n, cost = 60, -generator.uniform(size=60)
    signals = [(generator.uniform(size=n), 10.0) for _ in range(count)]
    responses = [_best(_noisy(cost, generator), weights[None, :], [capacity], np.ones(n)) for weights, capacity in signals]
    return Observed(forward.Knapsack(), signals, responses, {"prior": (-9.0, 0.0)})


def _quadratic(count: int, generator: Generator) -> Observed:
    u, v, rows = 4, 4, 4
    signals, responses = [], []
    for _ in range(count):
        first, second = generator.uniform(-1, 1, size=(rows, u)), generator.uniform(-1, 1, size=(rows, v))
        signals.append((first, second, generator.uniform(2, 4, size=rows)))
        responses.append((np.zeros(u), np.zeros(v)))
    problem = forward.QuadraticProgram(continuous_bounds=(-2.0, 2.0))
    return Observed(problem, signals, responses, {"distance": ("none", "l2"), "kappa": 0.1})


def _ellipsoid(count: int, generator: Generator) -> Observed:
    n = 8
    signals = [(np.eye(n), 0.1 * generator.normal(size=n), -1.0) for _ in range(count)]
    responses = [generator.uniform(-0.1, 0.1, size=n) for _ in range(count)]
    return Observed(forward.EllipsoidProgram(), signals, responses, {"distance": "squared-l2", "kappa": 0.1})


KINDS: dict[str, Callable[[int, Generator], Observed]] = {
    "BinaryProgram": _binary,
    "LinearProgram": _linear,
    "MixedIntegerProgram": _mixed,
    "from_scipy, whole 0..20": _general,
    "FiniteChoice": _choice,
    "ShortestPath": street_trips,
    "Assignment": _assignment,
    "Knapsack": _knapsack,
    "QuadraticProgram": _quadratic,
    "EllipsoidProgram": _ellipsoid,
}
