from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problem_bank import WHOLE_BANK, draw_problem
from reference import worst_case as reference
from reference.certificate_parts import objective
from reference.random_points import random_model

from surefoot.robust.certificate.objective import admissible_price
from surefoot.robust.certificate.posed_rows import read_setting
from surefoot.robust.problem.ground_cost import GroundCost
from surefoot.robust.problem.numeric_norm import NUMERIC_NORMS
from surefoot.robust.problem.problem import RobustCoefficients

cases = st.tuples(
    st.integers(0, 2**32 - 1),
    st.integers(0, 2),
    st.lists(st.integers(1, 4), max_size=3).map(tuple),
    st.sampled_from([0.0, 0.05, 2.0]),
    st.sampled_from([np.inf, 0.4, 3.0]),
    st.sampled_from([0.1, 1.0, 20.0]),
    st.sampled_from(NUMERIC_NORMS),
    st.sampled_from([None, 0.5]),
)


@settings(max_examples=1000, deadline=None)
@given(cases)
def test_objective_equals_enumeration_of_all_category_vectors_and_labels(case):
    seed, numeric, levels, radius, label_weight, size, norm, density = case
    draw = np.random.default_rng(seed)
    problem = draw_problem(
        seed, rows=4, numeric=numeric, levels=levels, radius=radius, label_weight=label_weight, norm=norm, density=density
    )
    coefficients = random_model(problem, draw, size)
    found = objective(problem, coefficients)
    assert found.mid == pytest.approx(reference.objective(problem, coefficients), rel=1e-12, abs=1e-12)
    assert found.high - found.low <= 1e-11 * (1 + found.mid)


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_features_and_labels_of_infinite_weight_never_move(seed):
    draw = np.random.default_rng(seed)
    problem = draw_problem(seed, rows=4, numeric=2, levels=(3, 2, 3))
    cost = GroundCost(
        numeric_weights=np.where(draw.random(2) < 0.5, np.inf, 1.0),
        categorical_weights=np.where(draw.random(3) < 0.5, np.inf, 0.4),
        label_weight=np.inf,
    )
    problem = replace(problem, cost=cost)
    coefficients = random_model(problem, draw)
    # A price of 0 must not turn an infinite weight into a free move.
    for point in (coefficients, replace(coefficients, numeric=np.zeros(2), price=0.0)):
        expected = reference.objective(problem, point)
        assert objective(problem, point).mid == pytest.approx(expected, rel=1e-12)


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from(NUMERIC_NORMS))
def test_price_too_low_for_the_norm_is_raised_to_the_dual_norm_over_columns_that_move(seed, norm):
    draw = np.random.default_rng(seed)
    problem = draw_problem(seed, rows=4, numeric=4, levels=(2,), norm=norm)
    gamma = np.where(np.arange(4) == 1, np.inf, problem.cost.numeric_weights)
    problem = replace(problem, cost=replace(problem.cost, numeric_weights=gamma))
    low = replace(random_model(problem, draw), price=0.0)
    needed = reference.needed_price(problem, low.numeric)
    found = objective(problem, low)
    assert needed * (1 - 1e-15) <= admissible_price(read_setting(problem), low) <= needed * (1 + 1e-14)
    assert found.mid == pytest.approx(reference.objective(problem, replace(low, price=needed * (1 + 1e-14))), rel=1e-12)


@pytest.mark.parametrize("name", WHOLE_BANK)
def test_rounding_allowance_covers_the_distance_to_exact_summation(name):
    problem = WHOLE_BANK[name]()
    coefficients = random_model(problem, np.random.default_rng(5))
    found = objective(problem, coefficients)
    assert found.low <= reference.objective(problem, coefficients) + 1e-15 <= found.high + 2e-15
    assert found.high - found.low < 1e-9 * found.mid


def test_price_too_low_for_a_numeric_coefficient_is_raised_to_the_smallest_that_admits_it():
    problem = WHOLE_BANK["mixed"]()
    good = random_model(problem, np.random.default_rng(0))
    needed = float(np.max(np.abs(good.numeric) / problem.cost.numeric_weights))
    low = replace(good, price=needed / 3)
    assert reference.objective(problem, low) == np.inf
    assert needed <= admissible_price(read_setting(problem), low) <= needed * (1 + 1e-15)
    found = objective(problem, low)
    expected = reference.objective(problem, replace(good, price=needed * (1 + 1e-15)))
    assert found.mid == pytest.approx(expected, rel=1e-12)


def test_scores_that_overflow_give_an_infinite_objective():
    problem = WHOLE_BANK["no_intercept"]()
    huge = RobustCoefficients(0.0, np.full(2, 1e308), np.array([0.0, 1e308, -1e308, 0.0, 1e308]), 1e308)
    assert objective(problem, huge).high == np.inf


def test_blocks_do_not_change_the_objective(monkeypatch):
    problem = WHOLE_BANK["mixed_with_label_price"]()
    coefficients = random_model(problem, np.random.default_rng(1))
    whole = objective(problem, coefficients).mid
    monkeypatch.setattr("surefoot.robust.certificate.posed_rows.BLOCK_ROWS", 5)
    assert objective(problem, coefficients).mid == pytest.approx(whole, rel=1e-14)
