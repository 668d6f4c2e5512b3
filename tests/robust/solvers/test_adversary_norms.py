"""What the adversary does in other norms than l1 and to sparse tables."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from problem_bank import NORM_BANK, SPARSE_BANK
from reference import worst_case as reference
from reference.random_points import random_model

from surefoot.robust.problem.ground_cost import GroundCost
from surefoot.robust.problem.numeric_norm import NUMERIC_NORMS
from surefoot.robust.problem.problem import RobustCoefficients, RobustLogisticProblem
from surefoot.robust.sqp.adversary import steepest_move, worst_case_distribution, worst_case_rows

BANK = {**NORM_BANK, **SPARSE_BANK}


@given(
    st.sampled_from(NUMERIC_NORMS),
    arrays.arrays(np.float64, 4, elements=st.one_of(st.just(0.0), st.floats(-1e6, 1e6).map(lambda value: round(value, 3)))),
    arrays.arrays(np.float64, 4, elements=st.one_of(st.just(np.inf), st.floats(1e-3, 1e3))),
)
def test_the_steepest_move_costs_one_and_changes_the_score_by_the_dual_norm(norm, beta, gamma):
    cost = GroundCost(gamma, np.zeros(0), numeric_norm=norm)
    move = steepest_move(cost, beta)
    least = cost.admitting_price(beta)
    assert beta @ move == pytest.approx(least, rel=1e-12)
    assert cost.numeric_price(move) == pytest.approx(1.0 if least > 0 else 0.0, rel=1e-12)
    assert not move[np.isinf(gamma)].any()


@pytest.mark.parametrize("name", BANK)
def test_worst_rows_equal_enumeration(name):
    problem = BANK[name]()
    model = random_model(problem, np.random.default_rng(3))
    found = worst_case_rows(problem, model)
    expected = [reference.worst_case_loss(problem, model, row, model.price) for row in range(problem.n_rows)]
    np.testing.assert_allclose(found.loss, expected, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("name", BANK)
def test_a_price_below_the_dual_norm_is_refused(name):
    problem = BANK[name]()
    model = random_model(problem, np.random.default_rng(0))
    needed = reference.needed_price(problem, model.numeric)
    if needed == 0:
        pytest.skip("no numeric column can move")
    with pytest.raises(ValueError, match="the worst case is infinite"):
        worst_case_rows(problem, replace(model, price=needed * (1 - 1e-6)))
    assert np.isfinite(worst_case_rows(problem, replace(model, price=needed)).loss).all()


def largest_expected_loss(problem: RobustLogisticProblem, model: RobustCoefficients) -> float:
    """Maximum over masses of all shifts of all rows and over the budget of the numeric columns, as a linear program."""
    shifts = [(row, shift) for row in range(problem.n_rows) for shift in reference.all_shifts(problem, row)]
    gain = [reference.softplus(-shift.label * reference.score(problem, model, row, shift.codes)) for row, shift in shifts]
    owner = np.zeros((problem.n_rows, len(shifts) + 1))
    owner[[row for row, _ in shifts], np.arange(len(shifts))] = 1.0
    solution = scipy.optimize.linprog(
        -np.array([*gain, reference.needed_price(problem, model.numeric)]),
        A_ub=np.array([[shift.cost for _, shift in shifts] + [1.0]]),
        b_ub=[problem.radius],
        A_eq=owner,
        b_eq=problem.weights,
        method="highs",
    )
    assert solution.status == 0
    return -float(solution.fun)


@pytest.mark.parametrize("name", BANK)
@pytest.mark.parametrize("size", [0.2, 2.0])
def test_the_distribution_has_the_largest_expected_loss_and_spends_the_radius(name, size):
    problem = BANK[name]()
    model = random_model(problem, np.random.default_rng(7), size)
    found = worst_case_distribution(problem, model)
    assert found.expected_loss == pytest.approx(largest_expected_loss(problem, model), rel=1e-6)
    assert found.price >= reference.needed_price(problem, model.numeric) * (1 - 1e-12)
    prices = np.where(found.moved, problem.cost.categorical_weights, 0.0).sum(axis=1)
    prices = prices + np.where(found.flipped, problem.cost.label_weight, 0.0)
    if found.price > 0:
        assert found.mass @ prices + found.numeric_budget == pytest.approx(problem.radius, rel=1e-9)
    np.testing.assert_allclose(
        np.bincount(found.row, weights=found.mass, minlength=problem.n_rows), problem.weights, rtol=1e-12, atol=1e-15
    )
