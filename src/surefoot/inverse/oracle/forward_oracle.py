"""The forward problem solved, with and without a distance: the separation oracle of inverse optimization.

    decide      min over x in X(s) of   <theta, phi(s, x)>
    augmented   max over x in X(s) of   <theta, phi(s, x_hat) - phi(s, x)> + weight d(x_hat, x)

Each kind of decision set has a solver of its own, which is retained for the next cost: lists are evaluated as a whole; linear
sets go to native branch and bound where unknowns are few and 0/1, otherwise to MILP branch and bound; quadratic costs to convex
programmes; ellipsoids to the trust-region subproblem.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.core.outcome import Status
from surefoot.exceptions import ForwardSolveError, UnsupportedProblemError
from surefoot.inverse.oracle.binary_search import BinarySearch
from surefoot.inverse.oracle.milp_branch_and_bound import BranchAndBound, SearchResult
from surefoot.inverse.oracle.parameters import BinarySearchParameters, BranchAndBoundParameters, TrustRegionParameters
from surefoot.inverse.oracle.quadratic_decisions import QuadraticDecisions
from surefoot.inverse.oracle.recession import far_decision
from surefoot.inverse.oracle.trust_region import smallest_in_ball
from surefoot.inverse.problem.augmented_terms import Term, distance_terms
from surefoot.inverse.problem.decision_proof import DecisionTrees, Leaf
from surefoot.inverse.problem.decision_set import EllipsoidSet, LinearSet, ListedSet, OpaqueSet
from surefoot.inverse.problem.distance import NO_DISTANCE, Distance
from surefoot.inverse.problem.ellipsoid_decisions import EllipsoidDecisions
from surefoot.inverse.problem.hypothesis import LinearFeatures, QuadraticFeatures
from surefoot.inverse.problem.problem import Example, Instance


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
    apart = 0.0 if distance.absent or weight == 0 else float(example.distances(distance, point[None, :])[0])
    value = float(slope @ theta) + weight * apart
    return Choice(point, value, max(value, bound), slope, apart)


class ForwardOracle:
    """Solves forward problems and retains what it needs to solve them again."""

    def __init__(self) -> None:
        self._solvers: dict[int, tuple[Instance, _InstanceSolver]] = {}

    def decide(self, instance: Instance, theta: FloatArray, *, seconds: float = np.inf) -> Choice:
        """A decision of least cost."""
        example = Example(instance, np.zeros(instance.decisions.n_unknowns))
        found = self._solver(instance)(example, theta, NO_DISTANCE, 0.0, seconds)
        price = float(instance.features.of(found.point[None, :])[0] @ theta)
        return Choice(found.point, price, price - (found.bound - found.value), found.slope, 0.0)

    def augmented(
        self, example: Example, theta: FloatArray, distance: Distance, *, weight: float = 1.0, seconds: float = np.inf
    ) -> Choice:
        """A decision whose cost falls short of the response's most, distance added."""
        return self._solver(example.instance)(example, theta, distance, weight, seconds)

    def proof(
        self, example: Example, theta: FloatArray, distance: Distance, *, seconds: float = np.inf
    ) -> DecisionTrees | None:
        """Why no decision exceeds a loss, for a quadratic cost and for an ellipsoid; None for other decisions."""
        solver = self._solver(example.instance)
        return solver.proof(example, theta, distance, seconds) if isinstance(solver, _Quadratic | _Ellipsoid) else None

    def _solver(self, instance: Instance) -> _InstanceSolver:
        retained = self._solvers.get(id(instance))
        if retained is None or retained[0] is not instance:
            retained = self._solvers[id(instance)] = (instance, _make_solver(instance))
        return retained[1]


_InstanceSolver = Callable[[Example, FloatArray, Distance, float, float], Choice]


def _make_solver(instance: Instance) -> _InstanceSolver:
    decisions = instance.decisions
    if isinstance(decisions, ListedSet):
        return _Listed(instance, decisions.points)
    if isinstance(decisions, OpaqueSet):
        return _Opaque(instance)
    if isinstance(decisions, EllipsoidSet):
        return _Ellipsoid(instance)
    if isinstance(decisions, LinearSet):
        if isinstance(instance.features, LinearFeatures):
            return _Linear(instance)
        if isinstance(instance.features, QuadraticFeatures):
            return _Quadratic(instance)
    raise UnsupportedProblemError(f"observation {instance.index}: no method solves decisions of this kind with these features.")


class _Listed:
    """Decisions whose features are computed once; distances once for every response and distance."""

    def __init__(self, instance: Instance, points: FloatArray) -> None:
        if points.shape[0] == 0:
            raise ForwardSolveError(f"observation {instance.index}: no decision is allowed at this signal.")
        self.points, self.features = points, instance.features.of(points)
        self._key: tuple[object, ...] = ()
        self._distances: FloatArray = np.empty(0)

    def __call__(self, example: Example, theta: FloatArray, distance: Distance, weight: float, seconds: float) -> Choice:
        key = (id(example.response), distance)
        if key != self._key:
            self._distances = example.distances(distance, self.points)
            self._key = key
            self._response = example.response  # so that its identity in the key stays its own
        values = weight * self._distances - self.features @ theta
        best = int(np.argmax(values))
        slope = example.own - self.features[best]
        value = float(slope @ theta + weight * self._distances[best])
        return Choice(self.points[best], value, value, slope, float(self._distances[best]))


class _Opaque:
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
            if weight == 0.0 or distance.integer == "none":  # none of its unknowns is known to be continuous
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
            raise ForwardSolveError(f"observation {index}: {decisions.solver} failed: {flaw!r}.") from flaw
        try:
            point = np.asarray(given, dtype=np.float64).ravel()
        except (TypeError, ValueError) as flaw:
            raise ForwardSolveError(f"observation {index}: {decisions.solver} returned {given!r}, no vector.") from flaw
        if point.size != decisions.n_unknowns or not np.isfinite(point).all():
            raise ForwardSolveError(
                f"observation {index}: {decisions.solver} returned {point.size} entries, or some that are not finite; "
                f"decisions have {decisions.n_unknowns} finite entries."
            )
        if not decisions.allowed(point[None, :])[0]:
            raise ForwardSolveError(f"observation {index}: {decisions.solver} returned a point that is not allowed.")
        return _choice(example, point, theta, distance, weight, -np.inf if decisions.exact else np.inf)


class _Quadratic:
    """Quadratic in continuous unknowns."""

    def __init__(self, instance: Instance) -> None:
        self.decisions = QuadraticDecisions(instance)

    def __call__(self, example: Example, theta: FloatArray, distance: Distance, weight: float, seconds: float) -> Choice:
        point, complete = self.decisions.best(example, theta, distance, weight, seconds)
        found = _choice(example, point, theta, distance, weight, -np.inf if complete else np.inf)
        if not complete:
            return found
        tolerance = self.decisions.parameters.value_tolerance
        return replace(found, bound=found.value + tolerance * max(1.0, abs(found.value)))

    def proof(self, example: Example, theta: FloatArray, distance: Distance, seconds: float) -> DecisionTrees | None:
        return self.decisions.proof(example, theta, distance, seconds)


class _Ellipsoid:
    """Quadratic over an ellipsoid."""

    def __init__(self, instance: Instance) -> None:
        self.decisions = EllipsoidDecisions(instance)

    def __call__(self, example: Example, theta: FloatArray, distance: Distance, weight: float, seconds: float) -> Choice:
        ball = self.decisions.programme(example, theta, distance, weight)
        y, multiplier = smallest_in_ball(ball.form, ball.slope, ball.radius)
        return _choice(example, self.decisions.decision(y), theta, distance, weight, ball.bound(multiplier))

    def proof(self, example: Example, theta: FloatArray, distance: Distance, seconds: float) -> DecisionTrees:
        ball = self.decisions.programme(example, theta, distance, 1.0)
        multiplier = smallest_in_ball(ball.form, ball.slope, ball.radius)[1]
        # A little more makes the Lagrangian curve upwards beyond rounding, and costs as little.
        values = np.linalg.eigvalsh(ball.form)
        parameters = TrustRegionParameters()
        scale = max(float(np.abs(values).max()), float(np.linalg.norm(ball.slope)), parameters.least_scale)
        multiplier = max(multiplier, parameters.proven_curvature * scale - float(values[0]))
        y = np.linalg.solve(ball.form + multiplier * np.eye(values.size), -ball.slope)
        return DecisionTrees.of([Leaf(np.array([multiplier]), point=self.decisions.decision(np.asarray(y, dtype=np.float64)))])


class _Linear:
    """A linear set with a linear cost, by branch and bound."""

    def __init__(self, instance: Instance) -> None:
        assert isinstance(instance.decisions, LinearSet) and isinstance(instance.features, LinearFeatures)
        self.instance, self.decisions, self.features = instance, instance.decisions, instance.features
        self.parameters = BinarySearchParameters()
        self.small = self.decisions.n_unknowns <= self.parameters.max_unknowns and bool(self.decisions.binary.all())
        self.milp: BranchAndBound | None = None
        self.far_steps = 0
        self.binary: dict[bytes, BinarySearch] = {}
        self.terms: dict[tuple[Distance, int | None], tuple[list[Term], FloatArray]] = {}

    def _terms(self, example: Example, distance: Distance) -> list[Term]:
        key = (distance, None if distance.absent else id(example.response))
        if key not in self.terms:
            terms = distance_terms(self.decisions, example.response, distance)
            self.terms[key] = (terms, example.response)  # the response too, so that its identity stays its own
        return self.terms[key][0]

    def _search(
        self, example: Example, cost: FloatArray, table: FloatArray | None, cutoff: float, seconds: float
    ) -> SearchResult:
        if self.small:
            # Without a table any start will do.
            start = np.zeros(cost.size) if table is None else example.response
            mark = start.tobytes()
            if mark not in self.binary:
                self.binary[mark] = BinarySearch(self.decisions, start)
            limit = self.parameters.max_nodes
            max_nodes = int(min(limit, max(1.0, seconds * self.parameters.nodes_per_second)))
            found = self.binary[mark].search(cost, table, cutoff=cutoff, max_nodes=max_nodes)
            if found.conclusive or max_nodes < limit:
                return found
        if self.milp is None or self.milp.response is not example.response:
            self.milp = BranchAndBound(self.decisions, example.response)
        return self.milp.search(cost, table, cutoff=cutoff, seconds=seconds)

    def _far(self, example: Example, cost: FloatArray) -> FloatArray | None:
        """A decision towards infinity, each time farther away; None where that does not end or the response is no decision."""
        self.far_steps += 1
        if not example.inside or self.far_steps > BranchAndBoundParameters.far_decisions:
            return None
        return far_decision(self.decisions, example.response, cost, float(self.far_steps))

    def __call__(self, example: Example, theta: FloatArray, distance: Distance, weight: float, seconds: float) -> Choice:
        cost = self.features.linear_cost(theta)
        terms = self._terms(example, NO_DISTANCE if weight == 0.0 else distance)
        own = float(cost @ example.response)
        best, value, bound = None, -np.inf, -np.inf
        if weight > 0.0 and example.inside:
            # The response is a decision of value 0, and so the first incumbent.
            best, value = example.response, 0.0
        until = time.perf_counter() + seconds
        for term in terms:
            table = None if term.table is None else weight * term.table
            constant = own + weight * term.constant
            left = max(0.0, until - time.perf_counter())
            found = self._search(example, cost + weight * term.tilt, table, value - constant, left)
            if found.status is Status.UNBOUNDED:
                far = self._far(example, cost + weight * term.tilt) if weight > 0.0 else None
                if far is not None:
                    # A cut against this cost; what it saves has no bound.
                    return _choice(example, far, theta, distance, weight, np.inf)
                what = "the forward problem has no smallest cost; bound its unknowns, or the cost vector with a prior"
                if weight > 0.0 and not distance.absent:
                    what = (
                        "what a decision saves plus its distance from the response has no largest value; bound its unknowns, "
                        "or the cost vector with a prior, or choose distance='none'"
                    )
                raise ForwardSolveError(f"observation {self.instance.index}: {what}.")
            bound = max(bound, found.bound + constant)
            if found.point is not None:
                best, value = found.point, found.value + constant
        if best is None:
            # An infinite bound is that of a search that had no time to find out.
            state = "no decision is allowed at this signal" if bound == -np.inf else "no decision was found in time"
            raise ForwardSolveError(f"observation {self.instance.index}: {state}.")
        return _choice(example, best, theta, distance, weight, bound)
