"""Bounds on decisions and costs that are worked out by hand: one number each, and what it would be with a slip."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from reference.decision_bound import bound_of

from surefoot.core.enclosure import between
from surefoot.inverse.certificate import cost_bound as bounds
from surefoot.inverse.certificate.certificate import certify_cost, certify_predictions
from surefoot.inverse.certificate.cost_bound import cost_bound
from surefoot.inverse.certificate.cost_ellipsoid import certify_ellipsoid
from surefoot.inverse.certificate.observation import are_decisions
from surefoot.inverse.forward.quadratic_program import QuadraticProgram
from surefoot.inverse.problem.cost_proof import CostProof
from surefoot.inverse.problem.decision_proof import DecisionTrees
from surefoot.inverse.problem.decision_set import LinearSet, ListedSet
from surefoot.inverse.problem.distance import Distance
from surefoot.inverse.problem.ellipsoidal_cost import EllipsoidalCost, EllipsoidProof
from surefoot.inverse.problem.hypothesis import LinearFeatures
from surefoot.inverse.problem.prior_set import PriorSet
from surefoot.inverse.problem.problem import Example, Instance, InverseProblem, Regularizer


def interval(lower: float, upper: float, *, whole: bool = False, row: Any = None) -> LinearSet:
    """Numbers between two ends, and a row (entry, low, high) if one is given."""
    entry, low, high = (0.0, -np.inf, np.inf) if row is None else row
    sides = np.array([low]), np.array([high])
    return LinearSet(np.array([[entry]]), *sides, np.array([lower]), np.array([upper]), np.array([whole]))


def observed(decisions: LinearSet, response: Any) -> Example:
    n = decisions.n_unknowns
    return Example(Instance(0, decisions, LinearFeatures(np.eye(n), np.zeros(n))), np.asarray(response, dtype=np.float64))


def leaves(count: int, rows: int, multipliers: Any = None, slope: Any = None) -> DecisionTrees:
    """One leaf for every term."""
    y = np.zeros((count, rows)) if multipliers is None else np.asarray(multipliers, dtype=np.float64)
    s = np.zeros(count) if slope is None else np.asarray(slope, dtype=np.float64)
    return DecisionTrees(np.full(count, -1, dtype=np.int32), np.zeros(count), y, s)


def test_decisions_keep_their_bounds_rows_and_whole_values() -> None:
    points = np.array([[-1.0], [0.0], [0.5], [1.0], [2.0]])
    assert are_decisions(interval(0.0, 1.0), points).tolist() == [False, True, True, True, False]
    assert are_decisions(interval(0.0, 1.0, whole=True), points).tolist() == [False, True, False, True, False]
    assert are_decisions(interval(-9.0, 9.0, row=(2.0, 0.0, 2.0)), points).tolist() == [False, True, True, True, False]


@pytest.mark.parametrize(("lower", "upper", "farthest"), [(-1.0, 3.0, 3.0), (-4.0, 3.0, 4.0)])
def test_the_farthest_point_may_lie_on_either_side(lower: float, upper: float, farthest: float) -> None:
    example = observed(interval(lower, upper), [0.0])
    assert bound_of(example, np.zeros(1), Distance.of("linf"), leaves(2, 1)) == pytest.approx(farthest, abs=1e-7)


@pytest.mark.parametrize(
    ("low", "high", "cost", "multiplier", "largest"),
    [
        # x >= 1: -x is -1 at most; a multiplier of -1 takes the place of the cost.
        (1.0, np.inf, 1.0, -1.0, -1.0),
        # x <= 4: x is 4 at most.
        (-np.inf, 4.0, -1.0, 1.0, 4.0),
        # Half of each: 4/2 from the row, 9/2 from the bound.
        (-np.inf, 4.0, -1.0, 0.5, 6.5),
        (1.0, np.inf, 1.0, -0.5, -0.5),
    ],
)
def test_rows_bound_by_their_own_side(low: float, high: float, cost: float, multiplier: float, largest: float) -> None:
    example = observed(interval(0.0, 9.0, row=(1.0, low, high)), [0.0])
    found = bound_of(example, np.array([cost]), Distance.of("none"), leaves(1, 1, [[multiplier]]))
    assert found == pytest.approx(largest, abs=1e-7)
    # A side that a row does not have proves nothing.
    assert bound_of(example, np.array([cost]), Distance.of("none"), leaves(1, 1, [[-multiplier]])) is None


@pytest.mark.parametrize(("lower", "upper", "cost"), [(0.0, np.inf, -1.0), (-np.inf, 0.0, 1.0), (-np.inf, np.inf, -1.0)])
def test_an_unknown_without_a_bound_proves_nothing(lower: float, upper: float, cost: float) -> None:
    example = observed(interval(lower, upper), [0.0])
    assert bound_of(example, np.array([cost]), Distance.of("none"), leaves(1, 1)) is None
    one_sided = [0.0] if np.isfinite(lower) or np.isfinite(upper) else [None]
    assert [bound_of(example, np.array([-cost]), Distance.of("none"), leaves(1, 1))] == [
        pytest.approx(end, abs=1e-7) if end is not None else None for end in one_sided
    ]


def test_splits_leave_no_whole_number_out() -> None:
    """x in {0, ..., 5}, split at 2: 5 of the upper part counts, and 2 of the lower one."""
    example = observed(interval(0.0, 5.0, whole=True, row=(1.0, -np.inf, 5.0)), [0.0])
    two = np.array([-1, -1], dtype=np.int32)

    def bound(at: float, first: float, second: float) -> float | None:
        tree = DecisionTrees(np.insert(two, 0, 0), np.array([at, 0.0, 0.0]), np.array([[first], [second]]), np.zeros(2))
        return bound_of(example, np.array([-1.0]), Distance.of("none"), tree)

    assert bound(2.0, 0.0, 0.0) == pytest.approx(5.0, abs=1e-7)
    # With a multiplier of 2 the slope is -1: 10 - 3 at the lower end of the upper part, 10 - 0 in the lower part.
    assert bound(2.0, 0.0, 2.0) == pytest.approx(7.0, abs=1e-7)
    assert bound(2.0, 2.0, 0.0) == pytest.approx(10.0, abs=1e-7)
    assert bound(2.5, 0.0, 0.0) is None
    assert bound(np.inf, 0.0, 0.0) is None


@pytest.mark.parametrize("slope", [0.0, 0.25, np.sqrt(2.0) - 1.0, 2.0])
def test_slopes_stand_for_a_table(slope: float) -> None:
    """Two zeros, costs -1/2: flips of both save 1 and are sqrt(2) apart; a slope s adds 2 s and takes it from the table."""
    sides = np.array([-np.inf]), np.array([np.inf])
    box = LinearSet(np.zeros((1, 2)), *sides, np.zeros(2), np.ones(2), np.ones(2, dtype=np.bool_))
    found = bound_of(observed(box, [0.0, 0.0]), np.array([-0.5, -0.5]), Distance.of("l2"), leaves(1, 1, slope=[slope]))
    # 0, 1 - s and sqrt(2) - 2 s are left of the table.
    assert found == pytest.approx(max(0.0, 1.0 - slope, np.sqrt(2.0) - 2 * slope) + 2 * (0.5 + slope), abs=1e-9)
    assert found is not None and found >= 1.0 + np.sqrt(2.0) - 1e-12


def choices(*points: list[float], chosen: int = 0) -> Example:
    """One of these was chosen."""
    given = np.array(points)
    p = given.shape[1]
    return Example(Instance(0, ListedSet(given), LinearFeatures(np.eye(p), np.zeros(p))), given[chosen])


def posed(*examples: Example, kind: Any = "l2", center: float = 0.0, kappa: float = 1.0, **options: Any) -> InverseProblem:
    p = examples[0].response.size
    prior = options.pop("prior", PriorSet.of(None, p))
    return InverseProblem(examples, Distance.of("l2"), Regularizer(kind, np.full(p, center)), kappa, prior, **options)


def proof_of(
    owners: list[int], points: list[list[float]], weights: list[float], rows: list[float], **options: Any
) -> CostProof:
    found = tuple(np.array(point) for point in points)
    return CostProof(np.array(owners, dtype=np.int32), found, np.array(weights), np.array(rows), **options)


def test_a_ceiling_bounds_the_regularizer() -> None:
    """theta <= -2: theta^2 / 2 is 2 at least, by a price of 2."""
    problem = posed(choices([0.0]), prior=PriorSet.of({"A": [[1.0]], "b": [-2.0]}, 1))
    assert cost_bound(problem, proof_of([], [], [], [2.0])) == pytest.approx(2.0)
    assert cost_bound(problem, proof_of([], [], [], [1.0])) == pytest.approx(1.5)
    assert cost_bound(problem, proof_of([], [], [], [-1.0])) == pytest.approx(0.0)


def test_a_block_that_is_semidefinite_bounds_the_regularizer() -> None:
    """theta >= 0 as a block of order 1: (theta + 3)^2 / 2 is 9/2 at least, by a multiplier of 3."""
    problem = posed(choices([0.0]), center=-3.0, prior=PriorSet.of(None, 1, psd=1))
    assert cost_bound(problem, proof_of([], [], [], [], block_price=np.array([[3.0]]))) == pytest.approx(4.5)
    # What is not semidefinite of a multiplier is left out.
    assert cost_bound(problem, proof_of([], [], [], [], block_price=np.array([[-3.0]]))) == pytest.approx(0.0)


def test_a_price_of_the_sum_bounds_the_regularizer() -> None:
    """theta_1 + theta_2 = 2: ||theta||^2 / 2 is 1 at least, by a price of -1."""
    problem = posed(choices([0.0, 0.0]), prior=replace(PriorSet.of(None, 2), total=2.0))
    assert cost_bound(problem, proof_of([], [], [], [], total_price=-1.0)) == pytest.approx(1.0)


@pytest.mark.parametrize("weights", [[0.5, 0.5], [9.0, 0.7], [0.25, 0.5], [-1.0, 0.5]])
def test_every_observation_has_a_weight_of_one_over_their_number(weights: list[float]) -> None:
    """Slopes 1 and -1, distances 1: w_1 + w_2 - (w_1 - w_2)^2 / 2, weights being between 0 and 1/2."""
    problem = posed(choices([0.0], [-1.0]), choices([0.0], [1.0]))
    first, second = np.clip(weights, 0.0, 0.5)
    found = cost_bound(problem, proof_of([0, 1], [[-1.0], [1.0]], weights, []))
    assert found == pytest.approx(first + second - (first - second) ** 2 / 2)


@pytest.mark.parametrize(("point", "weight"), [(-1.0, 1.0), (-1.0, 0.5), (2.0, 1.0), (2.0, 0.25), (2.0, 0.75)])
def test_a_piecewise_linear_function_is_least_at_an_end_or_at_its_centre(point: float, weight: float) -> None:
    """|theta - 1| + s theta over [0, 3]: 1 at 0, s at 1, 2 + 3 s at 3; the decision x has the slope -x and the distance |x|."""
    problem = posed(choices([0.0], [point]), kind="l1", center=1.0, prior=PriorSet.of((0.0, 3.0), 1))
    slope = -weight * point
    found = cost_bound(problem, proof_of([0], [[point]], [weight], []))
    assert found == pytest.approx(weight * abs(point) + min(1.0, slope, 2.0 + 3.0 * slope))


def test_a_parabola_is_not_taken_to_be_lowest_where_doubles_say() -> None:
    """3 * 0.1 - 0.3 is 2.8e-17 and not 0, which slopes of 1e16 and a tiny kappa make large."""
    problem = posed(choices([0.0], [-3e16], [1e16]), kappa=1e-6)
    proof = proof_of([0, 0], [[-3e16], [1e16]], [0.1, 0.3], [])
    slope = 3 * Fraction(10**16) * Fraction(0.1) - Fraction(10**16) * Fraction(0.3)
    exact = 3 * Fraction(10**16) * Fraction(0.1) + Fraction(10**16) * Fraction(0.3) - slope**2 / (2 * Fraction(1e-6))
    assert Fraction(cost_bound(problem, proof)) <= exact


def test_losses_of_responses_that_are_no_decisions_may_be_negative() -> None:
    """0 was done and only -1 could be: at theta = -3 the loss is 1 - 3, and with kappa = 1 the objective 5/2."""
    example = replace(choices([-1.0]), response=np.zeros(1), inside=False)
    theta = np.array([-3.0])
    assert certify_cost(posed(example), theta, None, 1e-6).upper_bound == pytest.approx(4.5 - 2.0)
    assert certify_cost(posed(example, clamp=True), theta, None, 1e-6).upper_bound == pytest.approx(4.5)
    inside = choices([0.0], [-1.0])
    assert certify_cost(posed(inside), theta, None, 1e-6).upper_bound == pytest.approx(4.5)
    assert certify_cost(posed(inside, kind="l1"), theta, None, 1e-6).upper_bound == pytest.approx(3.0)


@pytest.mark.parametrize(("theta", "apart"), [(1.0, 0.0), (0.0, np.inf), (-1.0, 3.0)])
def test_predictions_are_those_of_the_cost(theta: float, apart: float) -> None:
    """0 was chosen, not 3: right for a price above 0 only."""
    found = certify_predictions(posed(choices([0.0], [3.0])), np.array([theta]), 1e-6)
    assert found.upper_bound == pytest.approx(apart)
    assert found.verified == (apart == 0.0)


def test_a_curvature_that_least_squares_overlook_is_followed_to_its_minimum() -> None:
    """y_1^2 + 1e-20 y_2^2 + y_2 falls to -1/4e-20: to take 1e-20 for 0 makes it 0."""
    example = QuadraticProgram().example(0, (np.array([[1.0, 0.0]]), np.array([1e3])), np.zeros(2))
    theta = np.array([1.0, 0.0, 0.0, 1e-20, 0.0, 1.0])
    decisions = example.instance.decisions
    assert isinstance(decisions, LinearSet)
    assert decisions.upper[0] == 1e3 and np.isinf(decisions.upper[1])
    for point in ([0.0, 0.0], [0.0, -0.5e20]):
        leaf = DecisionTrees(np.array([-1], dtype=np.int32), np.zeros(1), np.zeros((1, 1)), np.zeros(1), np.array([point]))
        found = bound_of(example, theta, Distance.of("none"), leaf)
        assert found is None or found >= 0.25e20 * (1 - 1e-9)


def test_a_cost_that_bends_down_is_followed_to_infinity() -> None:
    """-y^2 + y over y >= 0 rises at 0, and falls without end thereafter."""
    forward = QuadraticProgram(continuous_bounds=(0.0, np.inf))
    example = forward.example(0, (np.array([[-1.0]]), np.array([0.0])), np.zeros(1))
    leaf = DecisionTrees(np.array([-1], dtype=np.int32), np.zeros(1), np.zeros((1, 1)), np.zeros(1), np.zeros((1, 1)))
    assert bound_of(example, np.array([-1.0, 1.0]), Distance.of("none"), leaf) is None
    assert bound_of(example, np.array([1.0, 1.0]), Distance.of("none"), leaf) == pytest.approx(0.0, abs=1e-7)


def test_losses_that_may_be_negative_are_not_left_out() -> None:
    """0 was done and only -1 could be: without a decision nothing bounds the loss from below."""
    example = replace(choices([-1.0]), response=np.zeros(1), inside=False)
    assert cost_bound(posed(example), proof_of([], [], [], [])) == -np.inf
    # 1 + theta + theta^2 / 2 is 1/2 at least.
    assert cost_bound(posed(example), proof_of([0], [[-1.0]], [1.0], [])) == pytest.approx(0.5)
    assert cost_bound(posed(example, clamp=True), proof_of([], [], [], [])) == pytest.approx(0.0)


def test_a_tree_that_ends_too_early_or_too_late_is_none() -> None:
    example = observed(interval(0.0, 5.0, whole=True, row=(1.0, -np.inf, 5.0)), [0.0])
    for columns in ([0, -1], [0, -1, -1, -1], [0], [1, -1, -1]):
        count = columns.count(-1)
        tree = DecisionTrees(np.array(columns, dtype=np.int32), np.zeros(len(columns)), np.zeros((count, 1)), np.zeros(count))
        assert bound_of(example, np.array([-1.0]), Distance.of("none"), tree) is None


@pytest.mark.parametrize("weight", [0.25, 0.5, 9.0])
def test_room_on_a_line_is_bounded_by_weights_of_one_over_the_number_of_observations(weight: float) -> None:
    """0 was chosen, not 1 or -1, twice: -kappa log a + |theta| + a is kappa - kappa log kappa at best, at 0 and a = kappa."""
    kappa = 0.3
    problem = posed(choices([0.0], [1.0], [-1.0]), choices([0.0], [1.0], [-1.0]), kappa=kappa)
    points = tuple(np.array([x]) for x in (1.0, -1.0, 1.0, -1.0))
    directions = np.array([[-1.0], [1.0], [-1.0], [1.0]])
    proof = EllipsoidProof(np.array([0, 0, 1, 1], dtype=np.int32), points, np.full(4, weight), directions)
    found = certify_ellipsoid(problem, EllipsoidalCost(np.zeros(1), np.array([[kappa]])), proof, 1e-6)
    assert found.verified
    assert found.lower_bound == pytest.approx(kappa - kappa * np.log(kappa))
    fewer = replace(proof, weights=np.full(4, 0.125))
    half = certify_ellipsoid(problem, EllipsoidalCost(np.zeros(1), np.array([[kappa]])), fewer, 1e-6)
    assert half.lower_bound == pytest.approx(kappa - kappa * np.log(2 * kappa))


@pytest.mark.parametrize(
    ("weights", "bound"),
    [([1.0, 0.0], 0.5), ([0.5, 0.0], 0.375), ([0.0, 0.1], -0.4), ([2.0, -0.1], 0.0)],
)
def test_weights_of_losses_that_must_be_0_are_not_negative(weights: list[float], bound: float) -> None:
    """0 was chosen, and costs theta have 1 - theta <= 0 and 1 - 10 theta <= 0: the least theta^2 / 2 is 1/2.

    Weights w prove w_1 + w_2 - (w_1 + 10 w_2)^2 / 2; with a negative one that would be 1.4.
    """
    example = Example(
        Instance(0, ListedSet(np.array([[0.0], [1.0], [10.0]])), LinearFeatures(np.eye(1), np.zeros(1))), np.zeros(1)
    )
    problem = InverseProblem(
        (example,), Distance.of("zero-one"), Regularizer("l2", np.zeros(1)), 1.0, PriorSet.of(None, 1), hard=True
    )
    proof = CostProof(np.zeros(2, dtype=np.int32), (np.array([1.0]), np.array([10.0])), np.array(weights), np.empty(0))
    assert cost_bound(problem, proof) == pytest.approx(bound, abs=1e-12)


def test_a_parabola_is_lowest_where_its_slope_says_and_not_where_doubles_think() -> None:
    # (theta - 1)^2 / 2 + s theta with s between 0.999 and 1.001 is 0.5 at 0, the minimum for s = 1, and lower for both ends.
    posed: Any = SimpleNamespace(
        regularizer=Regularizer("l2", np.array([1.0])), kappa=1.0,
        prior=SimpleNamespace(lower=np.array([-np.inf]), upper=np.array([np.inf])),
    )  # fmt: skip
    least = bounds._separable_minimum(posed, between(np.array([0.999]), np.array([1.001])), np.zeros(1, dtype=np.bool_))
    exact = min(s - s * s / 2 for s in (0.999, 1.001))
    assert exact - 1e-6 <= float(least.low) <= exact < 0.5
