"""Inverse optimization through every forward problem and adapter, against all decisions: the families of ``verdict_inverse``.

Each kind of problem is small enough that its decisions are enumerated here, by counting and not by its own code; what the cost
prices is F x with F known here too. The case that the reference reads is that list with these features, whatever the library
was given: rows, edges, a file, a model of cvxpy or Pyomo, or an object with ``solve``.
"""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from verdict_centres import judge_ellipsoid
from verdict_fits import begin, excuse_limit, fitted
from verdict_inverse import EMPTY, Case, _interval_case, _kappa, _prior, judge_cost, read, right_error, toll, uneven
from verdict_record import EXTREME, REFUSED, UNVERIFIED, Record

import surefoot as sf

FAMILY = "forwards"
forward = sf.inverse.forward
ODD = ("scales of 1e+-7", "one scale", "ties", "look-alikes", "one observation", "tiny kappa", "huge kappa", "bounded prior",
       "centre", "twice the same")  # fmt: skip
APPROACHES = ("asl", "asl", "asl", "incenter", "incenter", "suboptimality", "feasibility", "cutting-plane", "predictability",
              "ellipsoidal-incenter", "ellipsoidal-asl")  # fmt: skip
NAMES = ("l1", "l2", "linf", "squared-l2", "zero-one")
Rows = NDArray[Any]


@dataclass
class Kind:
    """Signals of a forward problem, the decisions open at each, and what the library is given.

    ``binary`` decisions are 0/1 vectors that programmes measure by every name; ``whole`` is False where some unknown is
    continuous, ``trusted`` True where a caller's solver has to be believed.
    """

    forward: Any
    signals: list[Any]
    decisions: list[Rows]
    priced: Rows | None = None
    binary: bool = True
    whole: bool = True
    listed: bool = True
    trusted: bool = False


def _cover(rng: np.random.Generator, n: int) -> tuple[Rows, Rows, Rows]:
    """A x <= b: at least so many ones, and a random row that the all-ones vector keeps to; and all 0/1 vectors that meet it."""
    matrix = np.vstack((-np.ones(n), rng.integers(-2, 3, size=n).astype(float)))
    ceiling = np.array([-float(rng.integers(1, n)), max(float(matrix[1].sum()), float(rng.integers(0, 3)))])
    return matrix, ceiling, _meeting(_boxes(n, 1), matrix, ceiling)


def _boxes(n: int, most: int) -> Rows:
    return np.array(list(itertools.product(range(most + 1), repeat=n)), dtype=float)


def _meeting(points: Rows, matrix: Rows, ceiling: Rows) -> Rows:
    return points[np.all(points @ matrix.T <= ceiling + 1e-12, axis=1)]


def _scale(rng: np.random.Generator, p: int, odd: set[str]) -> Rows:
    """Units of what is priced: powers of 2 between 1e-7 and 1e7."""
    if "scales of 1e+-7" in odd:
        return np.asarray(2.0 ** rng.integers(-23, 24, size=p))
    return np.full(p, 2.0 ** rng.integers(-23, 24) if "one scale" in odd else 1.0)


def _priced(rng: np.random.Generator, n: int, odd: set[str]) -> Rows:
    """Two or three sums of unknowns, in units of their own."""
    p = int(rng.integers(2, 4))
    # Multiples of powers of 2, so that sums of a few are doubles.
    grain = 1.0 if "ties" in odd else 64.0
    found = np.round(grain * rng.normal(size=(p, n))) / grain
    if "look-alikes" in odd:
        found[:, -1] = found[:, 0]
    return np.asarray(found * _scale(rng, p, odd)[:, None])


def _listed(rng: np.random.Generator, count: int, odd: set[str]) -> Kind:
    n = int(rng.integers(2, 4))
    scale = _scale(rng, n, odd)
    lists = []
    for _ in range(count):
        points = np.round(rng.normal(scale=3.0, size=(int(rng.integers(2, 7)), n)), 0 if "ties" in odd else 3)
        if "look-alikes" in odd:
            points[-1] = points[0]
        lists.append(points * scale)
    given: list[Any] = [{"alternatives": points} if rng.random() < 0.3 else points for points in lists]
    return Kind(forward.FiniteChoice(), given, lists, binary=False)


def _binary(rng: np.random.Generator, count: int, odd: set[str]) -> Kind:
    import scipy.sparse

    drawn = [_cover(rng, 3) for _ in range(count)]
    forms: list[Callable[[Rows, Rows], Any]] = [
        lambda a, b: (a, b), lambda a, b: {"A": a, "b": b}, lambda a, b: (scipy.sparse.csr_array(a), b),
    ]  # fmt: skip
    return Kind(
        forward.BinaryProgram(), [forms[int(rng.integers(3))](a, b) for a, b, _ in drawn], [points for _, _, points in drawn]
    )


def _integers(rng: np.random.Generator, count: int, odd: set[str]) -> Kind:
    n, most = 2, int(rng.integers(2, 4))
    signals, lists = [], []
    for _ in range(count):
        matrix = -rng.integers(1, 4, size=(1, n)).astype(float)
        ceiling = np.array([-float(rng.integers(1, 5))])
        signals.append((np.empty((1, 0)), matrix, ceiling))
        lists.append(_meeting(_boxes(n, most), matrix, ceiling))
    return Kind(forward.MixedIntegerProgram(integer_bounds=(0, most)), signals, lists, binary=False)


def _knapsack(rng: np.random.Generator, count: int, odd: set[str]) -> Kind:
    signals, lists = [], []
    for _ in range(count):
        weights, room = rng.integers(1, 5, size=3).astype(float), float(rng.integers(2, 8))
        signals.append({"weights": weights, "capacity": room} if rng.random() < 0.5 else (weights, room))
        lists.append(_meeting(_boxes(3, 1), weights[None, :], np.array([room])))
    return Kind(forward.Knapsack(), signals, lists)


def _assignment(rng: np.random.Generator, count: int, odd: set[str]) -> Kind:
    every = np.array([np.eye(3)[list(order)].ravel() for order in itertools.permutations(range(3))])
    return Kind(forward.Assignment(3), [None] * count, [every] * count)


# Two rows of crossings from a to f, with a bridge; no cycles.
STREETS = (("a", "b"), ("a", "c"), ("b", "d"), ("c", "d"), ("c", "e"), ("d", "f"), ("e", "f"))


def _paths(start: str, end: str) -> Rows:
    """All ways along STREETS, as rows of 0 and 1."""
    found: list[Rows] = []

    def go(at: str, used: tuple[int, ...]) -> None:
        if at == end:
            found.append(np.isin(np.arange(len(STREETS)), used).astype(float))
            return
        for k, (tail, head) in enumerate(STREETS):
            if tail == at:
                go(head, (*used, k))

    go(start, ())
    return np.array(found)


def _streets(rng: np.random.Generator, count: int, odd: set[str]) -> Kind:
    trips = [(("a", "f"), ("a", "d"), ("c", "f"))[int(rng.integers(3))] for _ in range(count)]
    return Kind(forward.ShortestPath(list(STREETS)), list(trips), [_paths(*trip) for trip in trips])


def _graph_paths(rng: np.random.Generator, count: int, odd: set[str]) -> Kind:
    import networkx as nx

    priced, graph = np.abs(_priced(rng, len(STREETS), odd)), nx.DiGraph()
    for k, edge in enumerate(STREETS):
        graph.add_edge(*edge, **{f"price {j}": row[k] for j, row in enumerate(priced)})
    order = [list(STREETS).index(edge) for edge in graph.edges]
    trips = [(("a", "f"), ("a", "d"), ("c", "f"))[int(rng.integers(3))] for _ in range(count)]
    program = forward.from_networkx(graph, cost=[f"price {j}" for j in range(len(priced))])
    return Kind(program, list(trips), [_paths(*trip)[:, order] for trip in trips], priced[:, order])


def _trees(rng: np.random.Generator, count: int, odd: set[str]) -> Kind:
    import networkx as nx

    graph, matching = nx.complete_graph(4), bool(rng.random() < 0.5)
    edges = list(graph.edges)
    every = _boxes(len(edges), 1)
    if matching:
        touched = np.array([[float(node in edge) for edge in edges] for node in graph])
        points = every[np.all(every @ touched.T == 1.0, axis=1)]
    else:
        points = np.array([x for x in every if x.sum() == 3 and nx.is_connected(_chosen(graph, edges, x))])
    program = forward.from_networkx(graph, "perfect_matching" if matching else "spanning_tree")
    return Kind(program, [None] * count, [points] * count)


def _chosen(graph: Any, edges: list[Any], x: Rows) -> Any:
    found = graph.edge_subgraph([edge for edge, used in zip(edges, x, strict=True) if used]).copy()
    found.add_nodes_from(graph)
    return found


def _arrays(rng: np.random.Generator, count: int, odd: set[str]) -> Kind:
    matrix, _, _ = _cover(rng, 3)
    priced = _priced(rng, 3, odd)
    sides = [np.array([-float(rng.integers(1, 3)), max(float(matrix[1].sum()), 1.0)]) for _ in range(count)]
    program = forward.from_scipy(matrix, bounds=(0, 1), integrality=np.ones(3), cost=priced, names=["x", "y", "z"])
    return Kind(program, [{"b_ub": side} for side in sides], [_meeting(_boxes(3, 1), matrix, side) for side in sides], priced)


def _file(rng: np.random.Generator, count: int, odd: set[str]) -> Kind:
    needs = rng.integers(1, 3, size=(count, 2)).astype(float)
    text = "minimize\n c: x + y + z\nsubject to\n early: x + z >= 1\n all: x + y + z >= 1\nbinaries\n x y z\nend\n"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "cover.lp"
        path.write_text(text, encoding="utf-8")
        program = forward.from_mps(path, ["early", "all"])
    rows = -np.array([[1.0, 0.0, 1.0], [1.0, 1.0, 1.0]])
    lists = [_meeting(_boxes(3, 1), rows, -need) for need in needs]
    return Kind(program, [{"early": need[0], "all": need[1]} for need in needs], lists)


def _cvxpy(rng: np.random.Generator, count: int, odd: set[str]) -> Kind:
    import cvxpy as cp

    x, need, prices = cp.Variable(3, boolean=True, name="x"), cp.Parameter(name="need"), cp.Parameter(2, name="prices")
    priced = _priced(rng, 3, odd)[:2]
    rows = -rng.integers(1, 3, size=(1, 3)).astype(float)
    program = forward.from_cvxpy(cp.Problem(cp.Minimize(prices @ (priced @ x)), [-rows @ x >= need]), [need])
    needs = rng.integers(1, 4, size=count).astype(float)
    lists = [_meeting(_boxes(3, 1), rows, np.array([-value])) for value in needs]
    return Kind(program, [{"need": value} for value in needs], lists, priced)


def _pyomo(rng: np.random.Generator, count: int, odd: set[str]) -> Kind:
    import pyomo.environ as pyo

    weights = rng.integers(1, 3, size=3).astype(float)
    model = pyo.ConcreteModel()
    model.need, model.wage = pyo.Param(mutable=True, initialize=1.0), pyo.Param(range(3), mutable=True, initialize=1.0)
    model.x = pyo.Var(range(3), domain=pyo.Binary)
    model.cost = pyo.Objective(expr=sum(model.wage[k] * model.x[k] for k in range(3)))
    model.cover = pyo.Constraint(expr=sum(weights[k] * model.x[k] for k in range(3)) >= model.need)
    needs = rng.integers(1, 4, size=count).astype(float)
    lists = [_meeting(_boxes(3, 1), -weights[None, :], np.array([-value])) for value in needs]
    return Kind(forward.from_pyomo(model, [model.need]), [{"need": value} for value in needs], lists)


def _corners(rng: np.random.Generator, count: int, odd: set[str]) -> Kind:
    """Over [0, 1]^3 with at least so many ones the 0/1 vectors are the vertices, where convex losses are largest."""
    needs = rng.integers(1, 3, size=count).astype(float)
    lists = [_meeting(_boxes(3, 1), -np.ones((1, 3)), np.array([-need])) for need in needs]
    signals = [(-np.ones((1, 3)), np.array([-need])) for need in needs]
    return Kind(forward.LinearProgram(lower=0.0, upper=1.0), list(signals), lists, whole=False)


def _intervals(rng: np.random.Generator, count: int, odd: set[str]) -> Kind:
    """Totally unimodular rows: their corners are whole, and are measured as 0/1 vectors."""
    rows = -np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0]])
    needs = rng.integers(0, 2, size=(count, 2)).astype(float)
    lists = [_meeting(_boxes(3, 1), rows, -need) for need in needs]
    program = forward.LinearProgram(lower=0.0, upper=1.0, totally_unimodular=True)
    return Kind(program, [(rows, -need) for need in needs], lists)


def _mixed(rng: np.random.Generator, count: int, odd: set[str]) -> Kind:
    """The first unknown is continuous; for whole others its ends are 0 or 1 as well."""
    needs = rng.integers(1, 3, size=count).astype(float)
    lists = [_meeting(_boxes(3, 1), -np.ones((1, 3)), np.array([-need])) for need in needs]
    signals = [(-np.ones((1, 1)), -np.ones((1, 2)), np.array([-need])) for need in needs]
    return Kind(forward.MixedIntegerProgram(), list(signals), lists, whole=False)


class Cheapest:
    """A solver of one's own: the cheapest of a list."""

    binary = True

    def solve(self, cost: Rows, signal: Rows) -> Rows:
        return np.asarray(signal[int(np.argmin(signal @ cost))])

    def augmented(self, cost: Rows, signal: Rows, response: Rows) -> Rows:
        return np.asarray(signal[int(np.argmin(signal @ cost - np.abs(signal - response).sum(axis=1)))])

    def contains(self, signal: Rows, decision: Rows) -> bool:
        return bool((signal == decision).all(axis=1).any())


def _own(rng: np.random.Generator, count: int, odd: set[str]) -> Kind:
    lists = [_cover(rng, 3)[2] for _ in range(count)]
    return Kind(Cheapest(), list(lists), lists, listed=False, trusted=True)


KINDS: dict[str, Callable[[np.random.Generator, int, set[str]], Kind]] = {
    "FiniteChoice": _listed,
    "BinaryProgram": _binary,
    "MixedIntegerProgram, whole": _integers,
    "MixedIntegerProgram, mixed": _mixed,
    "LinearProgram": _corners,
    "LinearProgram, unimodular": _intervals,
    "Knapsack": _knapsack,
    "Assignment": _assignment,
    "ShortestPath": _streets,
    "from_networkx, paths": _graph_paths,
    "from_networkx, trees and matchings": _trees,
    "from_scipy": _arrays,
    "from_mps": _file,
    "from_cvxpy": _cvxpy,
    "from_pyomo": _pyomo,
    "a solver of one's own": _own,
}
QUADRATIC = "QuadraticProgram and EllipsoidProgram"
NAMED = (*KINDS, QUADRATIC)


def trial(seed: int) -> Record:
    """Draw, fit, and hold the certificate against all decisions."""
    record, rng = begin(FAMILY, seed)
    odd = set(map(str, rng.choice(ODD, size=int(rng.integers(1, 4)), replace=False))) if record.stratum == EXTREME else set()
    name = NAMED[seed // 2 % len(NAMED)]
    record.settings = [name]
    if name == QUADRATIC:
        case = _interval_case(rng, record, odd)
        if isinstance(case.params["forward"], forward.QuadraticProgram) and rng.random() < 0.5:
            case.params |= {"approach": "suboptimality", "distance": "none", "kappa": 0.0, "center": None}
        record.settings = [name, case.params["approach"]]
        given, trusted = case, False
    else:
        given, case, trusted = _drawn(rng, record, name, odd)
    record.settings += sorted(odd)

    def fit() -> Any:
        try:
            return sf.inverse.InverseOptimizer(**given.params).fit(given.signals, given.responses)
        except ValueError as error:
            if EMPTY not in str(error):
                raise
            raise sf.InconsistentDataError(str(error)) from error

    model = fitted(record, fit, None, lambda error: right_error(case, error))
    if model is None:
        return record
    if case.params["approach"] in ("ellipsoidal-incenter", "ellipsoidal-asl"):
        hard = case.params["approach"] == "ellipsoidal-incenter"
        judge_ellipsoid(record, read(case), model.certificate_, model.outcome_.primal, hard=hard)
    else:
        judge_cost(record, case, model.certificate_, np.asarray(model.cost_, dtype=float))
    # What a caller's solver says is never verified, but its bounds must hold.
    excuse_limit(record, 0.0 if trusted else None)
    return record


def _drawn(rng: np.random.Generator, record: Record, name: str, odd: set[str]) -> tuple[Case, Case, bool]:
    """What the library is given, and the list of decisions with which it is judged."""
    count = 1 if "one observation" in odd else int(rng.integers(2, 6))
    kind = KINDS[name](rng, count, odd)
    if "twice the same" in odd:
        kind.signals[-1], kind.decisions[-1] = kind.signals[0], kind.decisions[0]
    priced, n = kind.priced, kind.decisions[0].shape[1]
    p = n if priced is None else len(priced)
    sizes = np.abs(np.vstack(kind.decisions) if priced is None else np.vstack(kind.decisions) @ priced.T).max(axis=0)
    theta = np.round(rng.normal(size=p), 2) / np.where(sizes > 0, sizes, 1.0)
    prior = _prior(rng, odd, p)
    if isinstance(prior, str):
        theta = np.abs(theta)
    noisy = rng.random() < 0.35
    responses = []
    for points in kind.decisions:
        prices = (points if priced is None else points @ priced.T) @ theta
        at = int(np.argmin(prices)) if not noisy or rng.random() < 0.5 else int(rng.integers(len(points)))
        responses.append(points[at])
    approach = str(rng.choice(APPROACHES))
    params: dict[str, Any] = {
        "approach": approach,
        "features": None,
        "distance": _distance(rng, kind, n),
        "regularizer": str(rng.choice(["l2", "l2", "l1"])),
        "center": np.round(rng.normal(size=p), 2) if "centre" in odd else None,
        "kappa": _kappa(rng, odd),
        "prior": prior,
        "infeasible": "error",
        "forward": kind.forward,
    }
    if approach.startswith("ellipsoidal"):
        params |= {"prior": prior if prior == "nonnegative" else None, "center": None, "kappa": max(params["kappa"], 1e-3)}
    if kind.trusted and params["distance"] == "none" and approach == "asl":
        params["approach"] = "suboptimality"
    record.settings += [params["approach"], f"distance {getattr(params['distance'], '__name__', params['distance'])}"]
    given = Case(kind.signals, kind.decisions, responses, p, params)
    # Distances of a function see the signal that the library was given; features are those of the list.
    judged = replace(given, params=params | {"features": None if priced is None else _product(priced)})
    return given, judged, kind.trusted


def _distance(rng: np.random.Generator, kind: Kind, n: int) -> Any:
    if rng.random() < 0.1:
        return "none"
    if kind.trusted:
        return "l1"
    if not kind.whole:
        return ("linf", str(rng.choice(NAMES))) if isinstance(kind.forward, forward.MixedIntegerProgram) else "linf"
    if rng.random() < 0.2:
        return [toll_of_decisions, uneven, "features"][int(rng.integers(3))]
    return str(rng.choice(NAMES))


def toll_of_decisions(signal: Any, seen: Rows, other: Rows) -> float:
    """A distance of the decisions alone: signals of these kinds are mappings, names and pairs."""
    return toll(np.zeros(1), seen, other)


def _product(priced: Rows) -> Callable[[Any, Rows], Rows]:
    def features(signal: Any, x: Rows) -> Rows:
        return np.asarray(priced @ np.asarray(x, dtype=float))

    return features


__all__ = ["NAMED", "REFUSED", "UNVERIFIED", "trial"]
