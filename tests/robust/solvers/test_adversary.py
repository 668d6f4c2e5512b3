from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given, settings
from hypothesis import strategies as st
from problem_bank import PROBLEM_BANK, draw_problem
from reference import worst_case as reference
from reference.random_points import random_model

from surefoot.robust.problem.ground_cost import GroundCost
from surefoot.robust.problem.problem import RobustCoefficients, RobustLogisticProblem
from surefoot.robust.sqp.adversary import worst_case_distribution, worst_case_rows

cases = st.tuples(
    st.integers(0, 2**32 - 1),
    st.integers(0, 2),
    st.lists(st.integers(1, 4), max_size=3).map(tuple),
    st.sampled_from([np.inf, 0.4, 3.0]),
    st.sampled_from([0.1, 1.0, 20.0]),
    st.booleans(),
)


def loss_of_shifts(
    problem: RobustLogisticProblem, model: RobustCoefficients, row: np.ndarray, moved: np.ndarray, flipped: np.ndarray
) -> np.ndarray:
    """Loss of the given rows after the given shifts, nothing subtracted."""
    label = np.where(flipped, -1.0, 1.0) * problem.labels[row]
    score = model.intercept + problem.numeric[row] @ model.numeric
    for l in range(problem.n_categorical):
        levels = model.levels[problem.level_offsets[l] : problem.level_offsets[l + 1]]
        worst = np.where(label > 0, levels.min(), levels.max())
        score = score + np.where(moved[:, l], worst, levels[problem.codes[row, l]])
    return np.logaddexp(0.0, -label * score)


def cost_of_shifts(problem: RobustLogisticProblem, moved: np.ndarray, flipped: np.ndarray) -> np.ndarray:
    prices = np.where(moved, problem.cost.categorical_weights, 0.0).sum(axis=1)
    return prices + np.where(flipped, problem.cost.label_weight, 0.0)


@settings(max_examples=1000, deadline=None)
@given(cases)
def test_worst_rows_equal_enumeration_of_all_category_vectors_and_labels(case):
    seed, numeric, levels, label_weight, size, fit_intercept = case
    draw = np.random.default_rng(seed)
    problem = draw_problem(seed, rows=3, numeric=numeric, levels=levels, label_weight=label_weight, fit_intercept=fit_intercept)
    model = random_model(problem, draw, size)
    found = worst_case_rows(problem, model)
    expected = [reference.worst_case_loss(problem, model, row, model.price) for row in range(problem.n_rows)]
    np.testing.assert_allclose(found.loss, expected, rtol=1e-12, atol=1e-12 * size)
    again = loss_of_shifts(problem, model, np.arange(problem.n_rows), found.moved, found.flipped)
    np.testing.assert_allclose(found.cost, cost_of_shifts(problem, found.moved, found.flipped), rtol=1e-14)
    np.testing.assert_allclose(again - model.price * found.cost, found.loss, rtol=1e-12, atol=1e-12 * size)


@pytest.mark.parametrize("name", PROBLEM_BANK)
def test_worst_rows_of_the_bank_equal_enumeration_and_do_not_depend_on_threads(name):
    problem = PROBLEM_BANK[name]()
    model = random_model(problem, np.random.default_rng(3))
    found, threaded = worst_case_rows(problem, model), worst_case_rows(problem, model, n_threads=2)
    expected = [reference.worst_case_loss(problem, model, row, model.price) for row in range(problem.n_rows)]
    # Scores of columns far from zero lose digits in any order of summation.
    scale = 1.0 + float((np.abs(problem.numeric) @ np.abs(model.numeric)).max(initial=0.0))
    np.testing.assert_allclose(found.loss, expected, rtol=1e-12, atol=1e-14 * scale)
    for part in ("loss", "moved", "flipped", "cost"):
        np.testing.assert_array_equal(getattr(found, part), getattr(threaded, part))


def test_columns_and_labels_of_infinite_weight_stay_even_at_price_zero():
    problem = draw_problem(0, rows=10, levels=(3, 3))
    problem = replace(problem, cost=GroundCost(np.zeros(0), np.array([np.inf, 0.5]), np.inf))
    model = replace(random_model(problem, np.random.default_rng(0)), price=0.0)
    found = worst_case_rows(problem, model)
    assert not found.moved[:, 0].any() and not found.flipped.any()
    assert found.moved[:, 1].any()
    assert np.isfinite(found.loss).all()


def test_price_below_the_steepest_numeric_coefficient_is_refused():
    problem = PROBLEM_BANK["mixed"]()
    model = random_model(problem, np.random.default_rng(0))
    needed = float(np.max(np.abs(model.numeric) / problem.cost.numeric_weights))
    with pytest.raises(ValueError, match="below max_j"):
        worst_case_rows(problem, replace(model, price=needed * (1 - 1e-6)))
    assert np.isfinite(worst_case_rows(problem, replace(model, price=needed)).loss).all()


def largest_expected_loss(problem: RobustLogisticProblem, model: RobustCoefficients) -> float:
    """Maximum over masses of all shifts of all rows and over the budget of the numeric columns, as a linear program."""
    shifts = [(row, shift) for row in range(problem.n_rows) for shift in reference.all_shifts(problem, row)]
    least = float((np.abs(model.numeric) / problem.cost.numeric_weights).max(initial=0.0))
    gain = [reference.softplus(-shift.label * reference.score(problem, model, row, shift.codes)) for row, shift in shifts]
    owner = np.zeros((problem.n_rows, len(shifts) + 1))
    owner[[row for row, _ in shifts], np.arange(len(shifts))] = 1.0
    solution = scipy.optimize.linprog(
        -np.array([*gain, least]),
        A_ub=np.array([[shift.cost for _, shift in shifts] + [1.0]]),
        b_ub=[problem.radius],
        A_eq=owner,
        b_eq=problem.weights,
        method="highs",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    assert solution.status == 0
    return -float(solution.fun)


def assert_worst(problem: RobustLogisticProblem, model: RobustCoefficients) -> float:
    """The distribution is within the ball and attains the linear program's optimum; returns its numeric budget."""
    found = worst_case_distribution(problem, model)
    assert found.expected_loss == pytest.approx(largest_expected_loss(problem, model), rel=1e-7, abs=1e-9)
    assert (found.mass >= 0).all()
    masses = np.bincount(found.row, weights=found.mass, minlength=problem.n_rows)
    np.testing.assert_allclose(masses, problem.weights, rtol=1e-12, atol=1e-15)
    spent = float(found.mass @ cost_of_shifts(problem, found.moved, found.flipped)) + found.numeric_budget
    assert spent <= problem.radius * (1 + 1e-9) + 1e-15
    assert found.numeric_budget >= 0
    least = float((np.abs(model.numeric) / problem.cost.numeric_weights).max(initial=0.0))
    assert found.price >= least * (1 - 1e-12)
    attained = float(found.mass @ loss_of_shifts(problem, model, found.row, found.moved, found.flipped))
    assert attained + found.price * found.numeric_budget == pytest.approx(found.expected_loss, rel=1e-9)
    return found.numeric_budget


@settings(max_examples=200, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(0, 2),
    st.lists(st.integers(1, 3), max_size=3).map(tuple),
    st.sampled_from([1e-3, 0.05, 0.3, 2.0, 50.0]),
    st.sampled_from([np.inf, 0.4, 3.0]),
    st.sampled_from([0.1, 1.0, 8.0]),
)
def test_worst_distribution_attains_the_optimum_of_a_linear_program(seed, numeric, levels, radius, label_weight, size):
    problem = draw_problem(seed, rows=5, numeric=numeric, levels=levels, radius=radius, label_weight=label_weight)
    assert_worst(problem, random_model(problem, np.random.default_rng(seed), size))


def test_a_margin_of_the_size_of_rounding_deters_no_less():
    problem = draw_problem(53291, rows=5, radius=0.001, label_weight=0.4)
    assert_worst(problem, random_model(problem, np.random.default_rng(53291), 0.1))


@pytest.mark.parametrize("seed", range(10))
def test_radius_goes_to_numeric_columns_exactly_when_they_hurt_more(seed):
    problem = draw_problem(seed, rows=6, numeric=2, levels=(3, 2), radius=0.01)
    model = random_model(problem, np.random.default_rng(seed), 2.0)
    steep = replace(model, numeric=np.array([100.0, 1.0]))
    assert assert_worst(problem, steep) == pytest.approx(0.01)
    flat = replace(model, numeric=np.array([1e-6, 0.0]))
    assert assert_worst(problem, flat) == 0.0


def test_what_the_categories_leave_of_the_radius_goes_to_the_numeric_columns():
    problem = draw_problem(2, rows=6, numeric=1, levels=(2,), radius=5.0)
    model = RobustCoefficients(intercept=0.3, numeric=np.array([0.1]), levels=np.array([0.0, 4.0]), price=0.0)
    budget = assert_worst(problem, model)
    assert 0.0 < budget < 5.0


@pytest.mark.parametrize("label_weight", [np.inf, 0.6])
def test_radius_zero_gives_the_empirical_distribution(label_weight):
    problem = draw_problem(4, rows=8, numeric=1, levels=(3, 2), radius=0.0, label_weight=label_weight)
    model = random_model(problem, np.random.default_rng(4))
    found = worst_case_distribution(problem, model)
    np.testing.assert_array_equal(found.row, np.arange(8))
    np.testing.assert_array_equal(found.mass, problem.weights)
    assert not found.moved.any() and not found.flipped.any()
    assert found.numeric_budget == 0.0
    assert found.expected_loss == pytest.approx(reference.objective(problem, model), rel=1e-12)


def test_rows_without_weight_and_immovable_columns_are_handled():
    for name in ("unequal_weights", "infinite_weights", "one_level_column"):
        problem = PROBLEM_BANK[name]()
        model = random_model(problem, np.random.default_rng(9))
        model = replace(model, numeric=np.where(np.isfinite(problem.cost.numeric_weights), model.numeric, 0.5))
        assert_worst(problem, model)


@pytest.mark.parametrize("steepness", [100.0, 690.0, 700.0, 5000.0])
def test_flips_stay_within_the_radius_where_the_losses_of_sure_rows_are_no_doubles(steepness: float) -> None:
    # Losses below 1e-300 do not tell how sure a row is, and 0.85 was given for 7e-6: rows were flipped that nothing paid for.
    problem = RobustLogisticProblem(
        numeric=np.array([[0.9], [-1.0], [1.0]]), codes=np.empty((3, 0), dtype=np.int32), n_levels=np.empty(0, dtype=np.int32),
        labels=np.array([1.0, -1.0, 1.0]), weights=np.full(3, 1 / 3),
        cost=GroundCost(np.array([2e4]), np.empty(0), label_weight=2.0), radius=1e-8,
    )  # fmt: skip
    model = RobustCoefficients(intercept=0.0, numeric=np.array([steepness]), levels=np.empty(0), price=0.0)
    found = worst_case_distribution(problem, model)
    spent = float(found.mass @ (2.0 * found.flipped)) + found.numeric_budget
    assert spent <= 1e-8 * (1 + 1e-9)
    # The surest row gains its margin for the price of a flip, and nothing gains more.
    plain = float(np.mean(np.logaddexp(0.0, -problem.labels * (problem.numeric @ model.numeric))))
    assert found.expected_loss == pytest.approx(plain + 1e-8 * steepness / 2.0, rel=1e-6)
