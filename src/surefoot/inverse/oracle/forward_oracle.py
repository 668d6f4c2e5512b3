"""The forward problem solved, with and without a distance: the separation oracle of inverse optimization.

    decide      min over x in X(s) of   <theta, phi(s, x)>
    augmented   max over x in X(s) of   <theta, phi(s, x_hat) - phi(s, x)> + weight d(x_hat, x)

Lists are priced as a whole. Linear sets are searched: natively where unknowns are few and 0/1, otherwise by branching on a
linear programme of each set's own, which is kept.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.core.outcome import Status
from surefoot.exceptions import ForwardSolveError, UnsupportedProblemError
from surefoot.inverse.oracle.binary_search import MOST_FLIPPED, MOST_NODES, NODES_PER_SECOND, FlipSearch
from surefoot.inverse.oracle.milp_tree import Found, WholeTree
from surefoot.inverse.oracle.quadratic_decisions import CurvedDecisions
from surefoot.inverse.problem.augmented_terms import Term, distance_terms
from surefoot.inverse.problem.decision_set import EllipsoidSet, LinearSet, ListedSet, OpaqueSet
from surefoot.inverse.problem.distance import NO_DISTANCE, Distance
from surefoot.inverse.problem.ellipsoid_decisions import EllipsoidDecisions
from surefoot.inverse.problem.hypothesis import LinearFeatures, QuadraticFeatures
from surefoot.inverse.problem.problem import Example, Instance

# How far an interior point may be from the optimum of a small convex programme.
CURVED_SLACK = 1e-8


@dataclass(frozen=True, eq=False)
class Choice:
    """A decision; its value recomputed from features and distance; and a bound that no decision's value exceeds.

    ``bound`` is infinite where the forward solver promises nothing. For ``decide`` the value is the cost, and the bound one
    from below. ``slope`` and ``distance`` are those of the decision: see :class:`~surefoot.inverse.problem.problem.Cuts`.
    """

    point: FloatArray
    value: float
    bound: float
    slope: FloatArray
    distance: float


def _choice(example: Example, point: FloatArray, theta: FloatArray, distance: Distance, weight: float, bound: float) -> Choice:
    """A decision with its value from the raw arrays; the bound is at least that."""
    slope = example.slopes(point[None, :])[0]
    far = 0.0 if distance.absent or weight == 0 else float(example.distances(distance, point[None, :])[0])
    value = float(slope @ theta) + weight * far
    return Choice(point, value, max(value, bound), slope, far)


class ForwardOracle:
    """Solves forward problems and keeps what it needs to solve them again."""

    def __init__(self) -> None:
        self._engines: dict[int, tuple[Instance, Any]] = {}

    def decide(self, instance: Instance, theta: FloatArray, *, seconds: float = np.inf) -> Choice:
        """A decision of least cost."""
        example = Example(instance, np.zeros(instance.decisions.n_unknowns))
        found = self._engine(instance)(example, theta, NO_DISTANCE, 0.0, seconds)
        price = float(instance.features.of(found.point[None, :])[0] @ theta)
        return Choice(found.point, price, price - (found.bound - found.value), found.slope, 0.0)

    def augmented(
        self, example: Example, theta: FloatArray, distance: Distance, *, weight: float = 1.0, seconds: float = np.inf
    ) -> Choice:
        """A decision whose cost falls short of the response's most, distance added."""
        return self._engine(example.instance)(example, theta, distance, weight, seconds)

    def prices(self, example: Example, theta: FloatArray, distance: Distance) -> FloatArray | None:
        """Prices of rows that prove a loss of a quadratic cost; None for other costs, or where there are none."""
        engine = self._engine(example.instance)
        return engine.curved.prices(example, theta, distance) if isinstance(engine, _Curved) else None

    def _engine(self, instance: Instance) -> _Engine:
        kept = self._engines.get(id(instance))
        if kept is None or kept[0] is not instance:
            kept = self._engines[id(instance)] = (instance, _make_engine(instance))
        engine: _Engine = kept[1]
        return engine


_Engine = Callable[[Example, FloatArray, Distance, float, float], Choice]


def _make_engine(instance: Instance) -> _Engine:
    decisions = instance.decisions
    if isinstance(decisions, ListedSet):
        return _Listed(instance, decisions.points)
    if isinstance(decisions, OpaqueSet):
        return _Called(instance)
    if isinstance(decisions, EllipsoidSet):
        return _Round(instance)
    if isinstance(decisions, LinearSet):
        if isinstance(instance.features, LinearFeatures):
            return _Searched(instance)
        if isinstance(instance.features, QuadraticFeatures):
            return _Curved(instance)
    raise UnsupportedProblemError(f"observation {instance.index}: no method solves decisions of this kind with these features.")


class _Listed:
    """Decisions whose features are computed once; distances once for every response and distance."""

    def __init__(self, instance: Instance, points: FloatArray) -> None:
        if points.shape[0] == 0:
            raise ForwardSolveError(f"observation {instance.index}: no decision is allowed at this signal.")
        self.points, self.features = points, instance.features.of(points)
        self._key: tuple[object, ...] = ()
        self._far: FloatArray = np.empty(0)

    def __call__(self, example: Example, theta: FloatArray, distance: Distance, weight: float, seconds: float) -> Choice:
        key = (id(example.response), distance)
        if key != self._key:
            self._far = example.distances(distance, self.points)
            self._key = key
            self._response = example.response  # keeps the identity in the key alive
        values = weight * self._far - self.features @ theta
        best = int(np.argmax(values))
        slope = example.own - self.features[best]
        value = float(slope @ theta + weight * self._far[best])
        return Choice(self.points[best], value, value, slope, float(self._far[best]))


class _Called:
    """A caller's own solver, never trusted to return a decision."""

    def __init__(self, instance: Instance) -> None:
        assert isinstance(instance.decisions, OpaqueSet)
        self.instance, self.decisions = instance, instance.decisions
        self.plain = isinstance(instance.features, LinearFeatures) and np.array_equal(
            instance.features.matrix, np.eye(self.decisions.n_unknowns)
        )

    def __call__(self, example: Example, theta: FloatArray, distance: Distance, weight: float, seconds: float) -> Choice:
        index, decisions = self.instance.index, self.decisions
        try:
            if weight == 0.0 or distance.absent:
                given = decisions.solve(theta)
            elif decisions.augmented is not None:
                given = decisions.augmented(theta / weight, example.response)
            elif decisions.binary and self.plain and distance.integer in ("l1", "squared-l2"):
                given = decisions.solve(theta + weight * (2.0 * example.response - 1.0))
            else:
                raise UnsupportedProblemError(
                    f"distance={distance.integer!r} needs a forward problem with 'augmented', or one that is binary with the "
                    "distance 'l1' and without features of its own."
                )
        except UnsupportedProblemError:
            raise
        except Exception as flaw:
            raise ForwardSolveError(f"observation {index}: the forward solver failed: {flaw!r}.") from flaw
        try:
            point = np.asarray(given, dtype=np.float64).ravel()
        except (TypeError, ValueError) as flaw:
            raise ForwardSolveError(f"observation {index}: the forward solver returned {given!r}, no vector.") from flaw
        if point.size != decisions.n_unknowns or not np.isfinite(point).all():
            raise ForwardSolveError(
                f"observation {index}: the forward solver returned {point.size} entries, or some that are not finite; "
                f"decisions have {decisions.n_unknowns} finite entries."
            )
        if not decisions.allowed(point[None, :])[0]:
            raise ForwardSolveError(f"observation {index}: the forward solver returned a point that is not allowed.")
        return _choice(example, point, theta, distance, weight, -np.inf if decisions.exact else np.inf)


class _Curved:
    """Quadratic in continuous unknowns."""

    def __init__(self, instance: Instance) -> None:
        self.curved = CurvedDecisions(instance)

    def __call__(self, example: Example, theta: FloatArray, distance: Distance, weight: float, seconds: float) -> Choice:
        point = self.curved.best(example, theta, distance, weight)
        found = _choice(example, point, theta, distance, weight, -np.inf)
        return replace(found, bound=found.value + CURVED_SLACK * max(1.0, abs(found.value)))


class _Round:
    """Quadratic over an ellipsoid."""

    def __init__(self, instance: Instance) -> None:
        self.ball = EllipsoidDecisions(instance)

    def __call__(self, example: Example, theta: FloatArray, distance: Distance, weight: float, seconds: float) -> Choice:
        point, bound = self.ball.best(example, theta, distance, weight)
        return _choice(example, point, theta, distance, weight, bound)


class _Searched:
    """A linear set with a linear cost, searched through its relaxation."""

    def __init__(self, instance: Instance) -> None:
        assert isinstance(instance.decisions, LinearSet) and isinstance(instance.features, LinearFeatures)
        self.instance, self.decisions, self.features = instance, instance.decisions, instance.features
        self.small = self.decisions.n_unknowns <= MOST_FLIPPED and bool(self.decisions.binary.all())
        self.tree: WholeTree | None = None
        self.flips: dict[bytes, FlipSearch] = {}
        self.terms: dict[tuple[Distance, int | None], tuple[list[Term], FloatArray]] = {}

    def _terms(self, example: Example, distance: Distance) -> list[Term]:
        key = (distance, None if distance.absent else id(example.response))
        if key not in self.terms:
            plain = [Term(np.zeros(self.decisions.n_unknowns), 0.0)]
            terms = plain if distance.absent else distance_terms(self.decisions, example.response, distance)
            self.terms[key] = (terms, example.response)  # the response too, so that its identity stays its own
        return self.terms[key][0]

    def _search(self, example: Example, cost: FloatArray, table: FloatArray | None, floor: float, seconds: float) -> Found:
        if self.small:
            # Without a table any start will do.
            start = np.zeros(cost.size) if table is None else example.response
            mark = start.tobytes()
            if mark not in self.flips:
                self.flips[mark] = FlipSearch(self.decisions, start)
            nodes = int(min(MOST_NODES, max(1.0, seconds * NODES_PER_SECOND)))
            found = self.flips[mark].search(cost, table, floor=floor, nodes=nodes)
            if found.conclusive or nodes < MOST_NODES:
                return found
        if self.tree is None or self.tree.response is not example.response:
            self.tree = WholeTree(self.decisions, example.response)
        return self.tree.search(cost, table, floor=floor, seconds=seconds)

    def __call__(self, example: Example, theta: FloatArray, distance: Distance, weight: float, seconds: float) -> Choice:
        cost = self.features.linear_cost(theta)
        terms = self._terms(example, NO_DISTANCE if weight == 0.0 else distance)
        own = float(cost @ example.response)
        best, value, bound = None, -np.inf, -np.inf
        if weight > 0.0 and example.inside:
            # The response is a decision of value 0: what is no better need not be looked at, and a stopped search can answer.
            best, value = example.response, 0.0
        for term in terms:
            table = None if term.table is None else weight * term.table
            constant = own + weight * term.constant
            found = self._search(example, cost + weight * term.tilt, table, value - constant, seconds)
            if found.status is Status.UNBOUNDED:
                raise ForwardSolveError(
                    f"observation {self.instance.index}: the forward problem has no smallest cost; bound its unknowns, or the "
                    "cost vector with a prior."
                )
            bound = max(bound, found.bound + constant)
            if found.point is not None:
                best, value = found.point, found.value + constant
        if best is None:
            state = "no decision is allowed at this signal" if not np.isfinite(bound) else "no decision was found in time"
            raise ForwardSolveError(f"observation {self.instance.index}: {state}.")
        return _choice(example, best, theta, distance, weight, bound)
