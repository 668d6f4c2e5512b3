"""The bound from corrected slopes, on tables small enough to work it out by hand."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from reference.certificate_parts import corrected_bound

from surefoot.robust.certificate import lower_bound
from surefoot.robust.certificate.certificate import certify_robust_logistic
from surefoot.robust.problem.coefficient_bounds import CoefficientBounds
from surefoot.robust.problem.ground_cost import GroundCost
from surefoot.robust.problem.problem import RobustCoefficients, RobustLogisticProblem, ShiftPlan

LIMIT = 0.5
LIMITS = CoefficientBounds(price=LIMIT, intercept=np.inf, levels=np.inf)


def entropy(q: float) -> float:
    return -q * math.log(q) - (1 - q) * math.log(1 - q)


def two_rows(x: list[float], gamma: float, radius: float, *, levels: int = 1, delta: float = 1.0) -> RobustLogisticProblem:
    """A row of either label, with one numeric column and one feature."""
    return RobustLogisticProblem(
        numeric=np.array(x)[:, None],
        codes=np.array([[0], [levels - 1]]),
        n_levels=np.array([levels]),
        labels=np.array([1.0, -1.0]),
        weights=np.full(2, 0.5),
        cost=GroundCost(np.array([gamma]), np.array([delta])),
        radius=radius,
    )


def plan_of(slope: list[float], mass: list[float] | None = None, moved: list[bool] | None = None, levels: int = 1) -> ShiftPlan:
    first = np.eye(levels)[0]
    row = np.arange(2) if mass is None else np.array([0, 0, 1])
    return ShiftPlan(
        row=row,
        moved=np.array(moved or [False] * row.size)[:, None],
        flipped=np.zeros(row.size, dtype=bool),
        mass=np.full(2, 0.5) if mass is None else np.array(mass),
        slope=np.array(slope),
        lowest=np.eye(levels)[-1],
        highest=first,
    )


@pytest.mark.parametrize(
    ("gamma", "slope", "tolerance", "worth_it"),
    [
        (1.0, [0.5, 0.501], 1e-3, True),  # its entropy is enough: the rest is what a residual costs
        (1.0, [0.5, 0.6], 1e-3, False),  # it is not, and a bound is known
        (np.inf, [0.5, 0.6], 1e-3, True),  # no other bound is known
    ],
)
def test_it_takes_long_only_where_it_may_prove_enough(gamma, slope, tolerance, worth_it, monkeypatch):
    problem, model = two_rows([7.1, 7.1], gamma, 0.01), RobustCoefficients(0.0, np.zeros(1), np.zeros(1), 0.0)
    asked = []
    monkeypatch.setattr(lower_bound, "corrected_bound", lambda *given: asked.append(given) or -np.inf)
    for few, expected in ((1e9, True), (0.0, worth_it)):
        asked.clear()
        monkeypatch.setattr(lower_bound, "FEW_OPERATIONS", few)
        certify_robust_logistic(problem, model, plan_of(slope), tolerance)
        assert bool(asked) is expected


@pytest.mark.parametrize("second", [0.5, 0.501, 0.52, 0.6])
def test_a_residual_of_the_intercept_costs_its_length(second):
    # Both rows have the same constant column: there is the intercept alone.
    found = corrected_bound(two_rows([7.1, 7.1], 1.0, 0.0), plan_of([0.6, second]), LIMITS)
    curvatures = [0.5 * q * (1 - q) for q in (0.6, second)]
    odds = [math.log(q / (1 - q)) for q in (0.6, second)]
    length = abs(0.5 * (second - 0.6)) / math.sqrt(sum(curvatures))
    loss = length * math.sqrt(sum(c * t * t for c, t in zip(curvatures, odds, strict=True))) + length**2
    assert found == pytest.approx(0.5 * (entropy(0.6) + entropy(second)) - loss, abs=1e-12)


def test_slopes_that_would_have_to_move_too_far_prove_nothing():
    problem = two_rows([7.1, 7.1], 1.0, 0.0)
    assert corrected_bound(problem, plan_of([0.1, 0.6]), LIMITS) == -np.inf
    assert corrected_bound(problem, plan_of([0.1, 1.0]), LIMITS) == -np.inf
    # Slopes of 1 and 0 have no curvature: what flows there is not corrected.
    assert corrected_bound(problem, plan_of([1.0, 0.5]), LIMITS) == -np.inf
    assert corrected_bound(problem, plan_of([0.0, 0.0]), LIMITS) <= 0.0


def test_what_columns_spend_beyond_the_radius_is_paid_at_the_limit_of_the_price():
    # The gradient of the column is -1/2 in either unit.
    for x, gamma in (([1.0, -1.0], 1.0), ([8.0, -8.0], 0.125)):
        assert corrected_bound(two_rows(x, gamma, 0.5), plan_of([0.5, 0.5]), LIMITS) == pytest.approx(math.log(2))
        assert corrected_bound(two_rows(x, gamma, 0.1), plan_of([0.5, 0.5]), LIMITS) == pytest.approx(math.log(2) - 0.4 * LIMIT)


def test_a_correction_may_cost_a_part_of_the_budget():
    found = corrected_bound(two_rows([1.0, -1.0], 1.0, 0.1), plan_of([0.5, 0.502]), LIMITS)
    curvature = 0.5 * (0.25 + 0.502 * 0.498)
    length = 0.5 * 0.002 / math.sqrt(curvature)
    odds = math.log(0.502 / 0.498)
    loss = length * math.sqrt(0.5 * 0.502 * 0.498) * odds + length**2
    spent = 0.501 + length * math.sqrt(curvature) - 0.1
    assert found == pytest.approx(0.5 * (math.log(2) + entropy(0.502)) - loss - LIMIT * spent, abs=1e-9)


def test_columns_that_never_shift_must_balance():
    for gamma, radius in ((np.inf, 0.5), (1.0, 0.0), (1e9, 0.5)):
        assert corrected_bound(two_rows([1.0, -1.0], gamma, radius), plan_of([0.5, 0.5]), LIMITS) == -np.inf


def test_moves_are_paid_too():
    # Half of the first row's mass moves to the level of the second row, at a price of 2.
    problem = two_rows([0.0, 0.0], 1.0, 0.25, levels=2, delta=2.0)
    plan = plan_of([0.0, 0.5, 0.25], mass=[0.25, 0.25, 0.5], moved=[False, True, False], levels=2)
    value = 0.25 * entropy(0.5) + 0.5 * entropy(0.25)
    assert corrected_bound(problem, plan, LIMITS) == pytest.approx(value - LIMIT * (0.5 - 0.25))
    dear = replace(problem, radius=0.5)
    assert corrected_bound(dear, plan, LIMITS) == pytest.approx(value)
    nothing = CoefficientBounds(price=np.inf, intercept=np.inf, levels=np.inf)
    assert corrected_bound(replace(problem, radius=0.0), plan, nothing) == -np.inf


def test_flips_that_no_radius_pays_for_prove_nothing():
    problem = two_rows([0.0, 0.0], 1.0, 0.0)
    problem = replace(problem, cost=replace(problem.cost, label_weight=1.0))
    flipped = replace(plan_of([0.5, 0.5]), flipped=np.array([True, True]))
    nothing = CoefficientBounds(price=np.inf, intercept=np.inf, levels=np.inf)
    assert corrected_bound(problem, flipped, nothing) == -np.inf
    paid = replace(problem, radius=0.25)
    assert corrected_bound(paid, flipped, LIMITS) == pytest.approx(math.log(2) - LIMIT * (1.0 - 0.25))


def test_columns_that_differ_in_the_last_digit_are_not_taken_for_equal():
    # The last digit of the second column tells the labels apart: with coefficients of 1e17 no loss is left.
    x = np.repeat([1.0, -1.0, 3.0, -3.0], 2)
    labels = np.tile([1.0, -1.0], 4)
    problem = RobustLogisticProblem(
        numeric=np.column_stack((x, x + labels * np.spacing(np.abs(x)))),
        codes=np.zeros((8, 0), dtype=np.int64),
        n_levels=np.zeros(0, dtype=np.int64),
        labels=labels,
        weights=np.full(8, 0.125),
        cost=GroundCost(np.ones(2), np.zeros(0)),
        radius=0.0,
    )
    plan = ShiftPlan(
        row=np.arange(8),
        moved=np.zeros((8, 0), dtype=bool),
        flipped=np.zeros(8, dtype=bool),
        mass=problem.weights,
        slope=np.full(8, 0.5),
        lowest=np.zeros(0),
        highest=np.zeros(0),
    )
    assert corrected_bound(problem, plan, LIMITS) == -np.inf
    equal = replace(problem, numeric=np.column_stack((x, x)))
    assert corrected_bound(equal, plan, LIMITS) == pytest.approx(math.log(2))


def test_columns_that_differ_by_a_constant_depend_on_each_other_beside_an_intercept_only():
    # Without one, the difference of the columns is an intercept: all labels are +1, so no loss is left.
    x = np.array([2.0**27, -(2.0**27)])
    problem = replace(
        two_rows([0.0, 0.0], 1.0, 0.0),
        numeric=np.column_stack((x, x + 1.0)),
        labels=np.ones(2),
        cost=GroundCost(np.ones(2), np.ones(1)),
        fit_intercept=False,
    )
    assert corrected_bound(problem, plan_of([0.5, 0.5]), LIMITS) == -np.inf
    balanced = replace(
        problem,
        numeric=np.repeat(problem.numeric, 2, axis=0),
        codes=np.zeros((4, 1), dtype=np.int64),
        labels=np.array([1.0, -1.0, 1.0, -1.0]),
        weights=np.full(4, 0.25),
        fit_intercept=True,
    )
    four = replace(
        plan_of([0.5, 0.5]),
        row=np.arange(4),
        moved=np.zeros((4, 1), dtype=bool),
        flipped=np.zeros(4, dtype=bool),
        mass=balanced.weights,
        slope=np.full(4, 0.5),
    )
    assert corrected_bound(balanced, four, LIMITS) == pytest.approx(math.log(2))


@pytest.mark.parametrize("third", [0, 1])
def test_features_depend_on_each_other_if_their_levels_do_in_every_row(third):
    # Four rows of either label; the second feature is the first but for the last two rows, where it may be another level.
    first = np.array([0, 0, 1, 1, 1, 1, 0, 0])
    second = np.where(np.arange(8) < 6, first, third)
    problem = replace(
        two_rows([0.0, 0.0], 1.0, 0.0),
        numeric=np.zeros((8, 1)),
        codes=np.column_stack((first, second)),
        n_levels=np.array([2, 2]),
        labels=np.where(np.arange(8) % 2, 1.0, -1.0),
        weights=np.full(8, 0.125),
        cost=GroundCost(np.ones(1), np.ones(2)),
    )
    # Slopes that nearly balance every level, with the residual of a solver that ended in the last digits.
    slope = np.full(8, 0.5)
    slope[6:] = [1e-14, 0.0]
    mixes = np.array([1.0, 0.0, 1.0, 0.0])
    plan = ShiftPlan(
        row=np.arange(8),
        moved=np.zeros((8, 2), dtype=bool),
        flipped=np.zeros(8, dtype=bool),
        mass=problem.weights,
        slope=slope,
        lowest=mixes,
        highest=mixes,
    )
    # The last rows flow a little, all of one label: only where they hold equal levels are the features the same.
    expected = pytest.approx(0.75 * math.log(2), abs=1e-9) if third == 0 else -np.inf
    assert corrected_bound(problem, plan, LIMITS) == expected


def flipped_rows(
    points: list[list[float]], codes: list[int], *, fit_intercept: bool
) -> tuple[RobustLogisticProblem, ShiftPlan]:
    """Rows whose columns and levels never shift, half of each flipped, so that no point has a flow but for the last digits."""
    n_rows, n_levels = len(points), max(codes) + 1
    problem = RobustLogisticProblem(
        numeric=np.array(points),
        codes=np.array(codes)[:, None],
        n_levels=np.array([n_levels]),
        labels=np.where(np.arange(n_rows) % 2, 1.0, -1.0),
        weights=np.full(n_rows, 1.0 / n_rows),
        cost=GroundCost(np.full(len(points[0]), np.inf), np.array([np.inf]), label_weight=1.0),
        radius=0.5,
        fit_intercept=fit_intercept,
    )
    row = np.repeat(np.arange(n_rows), 2)
    plan = ShiftPlan(
        row=row,
        moved=np.zeros((row.size, 1), dtype=bool),
        flipped=np.tile([False, True], n_rows),
        mass=np.full(row.size, 0.5 / n_rows),
        slope=np.where(np.arange(row.size) % 3, 0.5, 0.5 + 1e-12),
        lowest=np.eye(n_levels)[0],
        highest=np.eye(n_levels)[-1],
    )
    return problem, plan


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("codes", [[0, 0, 0], [0, 1, 0], [0, 1, 2]])
def test_no_more_points_than_columns_that_never_shift_leave_no_gradient(codes, fit_intercept):
    points = [[0.3, -1.7, 2.2, 0.9], [1.1, 0.4, -0.6, 1.3], [-0.8, 2.9, 0.1, -2.1]]
    problem, plan = flipped_rows(points, codes, fit_intercept=fit_intercept)
    assert corrected_bound(problem, plan, LIMITS) == pytest.approx(math.log(2), abs=1e-9)


@pytest.mark.parametrize(("n_points", "n_levels"), [(2, 1), (3, 1), (3, 3), (4, 1)])
def test_columns_that_nearly_depend_on_each_other_are_left_out_where_there_are_no_more_points_than_others(n_points, n_levels):
    # The third column follows from the other two, but for the last digits. Every point is there with every level.
    x = np.array([[1.3, 0.4], [-0.7, 0.9], [2.9, -1.1], [0.2, 1.7]])[:n_points]
    columns = np.column_stack((x, x @ np.sqrt([2.0, 3.0]) + 1e-14 * np.arange(n_points)))
    codes = np.tile(np.arange(n_levels), n_points).tolist()
    problem, plan = flipped_rows(np.repeat(columns, n_levels, axis=0).tolist(), codes, fit_intercept=False)
    expected = pytest.approx(math.log(2), abs=1e-9) if n_points == 2 else -np.inf
    assert corrected_bound(problem, plan, LIMITS) == expected
