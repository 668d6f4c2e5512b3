from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from problem_bank import WHOLE_BANK, draw_problem
from reference import worst_case as reference
from reference.random_points import random_model, random_plan

from surefoot.core.solve_options import SolveOptions
from surefoot.robust.certificate.certificate import certify_robust_logistic
from surefoot.robust.problem.numeric_norm import NUMERIC_NORMS
from surefoot.robust.problem.problem import RobustLogisticProblem, ShiftPlan
from surefoot.robust.scaling.standard_rows import StandardRows
from surefoot.robust.sqp.sqp import SQP


def repeated(problem: RobustLogisticProblem, draw: np.random.Generator) -> RobustLogisticProblem:
    """The problem's rows in any order and any number of times, a third of them without weight."""
    pick = draw.integers(0, problem.n_rows, size=3 * problem.n_rows)
    weights = draw.exponential(size=pick.size)
    weights[draw.random(pick.size) < 0.33] = 0.0
    weights[0] = 1.0
    return replace(
        problem,
        numeric=problem.numeric[pick],
        codes=problem.codes[pick],
        labels=problem.labels[pick],
        weights=weights / weights.sum(),
    )


def in_row_order(plan: ShiftPlan) -> ShiftPlan:
    order = np.argsort(plan.row, kind="stable")
    return replace(plan, **{name: getattr(plan, name)[order] for name in ("row", "moved", "flipped", "mass", "slope")})


@pytest.mark.parametrize("name", WHOLE_BANK)
def test_restoring_a_standardized_model_returns_it(name):
    problem = WHOLE_BANK[name]()
    standard = StandardRows.of(problem)
    model = random_model(problem, np.random.default_rng(0))
    back = standard.restore(standard.standardize(model))
    np.testing.assert_allclose(back.numeric, model.numeric, rtol=1e-14)
    np.testing.assert_array_equal(back.levels, model.levels)
    assert back.price == model.price
    # The intercept passes through a shift by beta . centre, and keeps the digits that leaves it.
    shift = float(np.abs(model.numeric) @ np.abs(standard.centre))
    assert back.intercept == pytest.approx(model.intercept, rel=1e-14, abs=1e-14 * shift)


@settings(max_examples=100, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(0, 3),
    st.lists(st.integers(1, 3), max_size=2).map(tuple),
    st.booleans(),
    st.sampled_from([np.inf, 0.7]),
    st.sampled_from(NUMERIC_NORMS),
    st.sampled_from([None, 0.5]),
)
def test_a_model_has_the_same_objective_in_both_worlds(seed, numeric, levels, fit_intercept, label_weight, norm, density):
    draw = np.random.default_rng(seed)
    few = draw_problem(
        seed,
        rows=4,
        numeric=numeric,
        levels=levels,
        label_weight=label_weight,
        fit_intercept=fit_intercept,
        norm=norm,
        density=density,
    )
    problem = repeated(replace(few, numeric=few.numeric * 10.0 ** draw.uniform(-6, 6, size=numeric)), draw)
    standard = StandardRows.of(problem)
    model = random_model(standard.problem, draw)
    restored = standard.restore(model)
    found = reference.objective(problem, replace(restored, price=restored.price * (1 + 1e-12)))
    assert found == pytest.approx(reference.objective(standard.problem, model), rel=1e-9)


@pytest.mark.parametrize("name", WHOLE_BANK)
def test_standard_rows_are_distinct_weighted_and_of_unit_spread(name):
    problem = WHOLE_BANK[name]()
    standard = StandardRows.of(problem)
    numeric = reference.dense_numeric(standard.problem)
    rows = np.column_stack((numeric, standard.problem.codes, standard.problem.labels))
    assert len(np.unique(rows, axis=0)) == standard.problem.n_rows
    assert (standard.problem.weights > 0).all()
    assert standard.problem.weights.sum() == pytest.approx(problem.weights.sum(), rel=1e-14)
    spread = np.sqrt(standard.problem.weights @ numeric**2)
    assert all(np.isclose(spread, 1.0, rtol=1e-9) | (spread == 0.0))
    assert standard.problem.is_sparse == problem.is_sparse
    assert standard.problem.cost.numeric_norm == problem.cost.numeric_norm
    if problem.fit_intercept and not problem.is_sparse:
        np.testing.assert_allclose(standard.problem.weights @ numeric, 0.0, atol=1e-9)
    else:
        np.testing.assert_array_equal(standard.centre, 0.0)


def test_a_constant_column_becomes_zero_rather_than_amplified_rounding():
    standard = StandardRows.of(WHOLE_BANK["constant_numeric_column"]())
    np.testing.assert_array_equal(standard.problem.numeric[:, 1], 0.0)
    assert standard.scale[1] == 1.0


def test_equal_rows_with_different_labels_stay_apart():
    problem = draw_problem(3, rows=2, numeric=1, levels=(2,))
    problem = replace(problem, numeric=problem.numeric[[0, 0]], codes=problem.codes[[0, 0]], labels=np.array([1.0, -1.0]))
    assert StandardRows.of(problem).problem.n_rows == 2


def test_the_original_arrays_are_left_alone():
    problem = WHOLE_BANK["huge_and_tiny_scales"]()
    before = problem.digest()
    StandardRows.of(problem)
    assert problem.digest() == before


@settings(max_examples=200, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(0, 2),
    st.lists(st.integers(1, 3), max_size=2).map(tuple),
    st.sampled_from([None, 0.5]),
)
def test_a_restored_plan_gives_every_row_its_own_weight_and_moves_it_like_its_representative(seed, numeric, levels, density):
    draw = np.random.default_rng(seed)
    problem = repeated(draw_problem(seed, rows=5, numeric=numeric, levels=levels, label_weight=0.8, density=density), draw)
    standard = StandardRows.of(problem)
    plan = in_row_order(random_plan(standard.problem, draw))
    restored = standard.restore_plan(plan)
    masses = np.bincount(restored.row, weights=restored.mass, minlength=problem.n_rows)
    np.testing.assert_allclose(masses, problem.weights, rtol=1e-12, atol=0.0)
    assert not np.isin(restored.row, np.flatnonzero(problem.weights == 0)).any()
    # The sums that a bound is made of are the same.
    assert float(restored.mass @ restored.slope) == pytest.approx(float(plan.mass @ plan.slope), rel=1e-12)
    assert float(restored.mass @ restored.flipped) == pytest.approx(float(plan.mass @ plan.flipped), rel=1e-12)
    np.testing.assert_allclose(restored.mass @ restored.moved, plan.mass @ plan.moved, rtol=1e-12)
    centred = (reference.dense_numeric(problem) - standard.centre) / standard.scale
    np.testing.assert_allclose(
        (restored.mass * restored.slope) @ centred[restored.row],
        (plan.mass * plan.slope) @ reference.dense_numeric(standard.problem)[plan.row],
        atol=1e-12,
    )


def test_a_plan_of_distinct_weighted_rows_is_returned_row_by_row():
    problem = draw_problem(5, rows=12, numeric=2, levels=(3,))
    standard = StandardRows.of(problem)
    plan = in_row_order(random_plan(standard.problem, np.random.default_rng(1)))
    restored = standard.restore_plan(plan)
    np.testing.assert_allclose(np.bincount(restored.row, weights=restored.mass, minlength=12), problem.weights, rtol=1e-12)
    np.testing.assert_array_equal(problem.labels[restored.row], standard.problem.labels[plan.row])


@pytest.mark.parametrize("name", ["mixed", "mixed_linf_with_label_price", "sparse_l2_with_label_price", "infinite_weights"])
@pytest.mark.parametrize("currency", [1e-9, 1e-3, 1e6])
def test_the_currency_of_the_ground_cost_does_not_matter(name, currency):
    problem = WHOLE_BANK[name]()
    cost = replace(
        problem.cost,
        numeric_weights=problem.cost.numeric_weights * currency,
        categorical_weights=problem.cost.categorical_weights * currency,
        label_weight=problem.cost.label_weight * currency,
    )
    other = replace(problem, cost=cost, radius=problem.radius * currency)
    one, two = (SQP().solve(given, SolveOptions()) for given in (problem, other))
    assert two.upper_bound == pytest.approx(one.upper_bound, rel=2e-6)
    assert two.primal.price * currency == pytest.approx(one.primal.price, rel=1e-2)
    assert certify_robust_logistic(other, two.primal, two.dual, 2e-6).verified


@pytest.mark.parametrize("sparse", [False, True])
def test_rows_are_posed_again_under_other_prices_as_if_for_the_first_time(sparse):
    problem = draw_problem(3, rows=25, numeric=3, levels=(2, 3), radius=0.2)
    problem = replace(problem, numeric=scipy.sparse.csr_array(problem.numeric)) if sparse else problem
    known = StandardRows.of(problem)
    # Equal arrays, not the same ones.
    other = replace(
        problem,
        numeric=problem.numeric.copy(),
        weights=problem.weights.copy(),
        radius=0.05,
        cost=replace(problem.cost, numeric_weights=3.0 * problem.cost.numeric_weights, label_weight=0.4),
    )
    again, fresh = known.posed_as(other), StandardRows.of(other)
    assert again is not None
    assert again.problem.digest() == fresh.problem.digest()
    assert again.unit == fresh.unit
    assert again.original is other


@pytest.mark.parametrize("part", ["numeric", "codes", "labels", "weights", "fit_intercept"])
def test_other_rows_are_not_taken_for_the_known_ones(part):
    problem = draw_problem(3, rows=25, numeric=3, levels=(2, 3), radius=0.2)
    weights = problem.weights.copy()
    weights[:2] *= 0.5, 1.5
    changed = {
        "numeric": problem.numeric + np.eye(25, 3),
        "codes": 1 - problem.codes.clip(0, 1),
        "labels": -problem.labels,
        "weights": weights,
        "fit_intercept": not problem.fit_intercept,
    }
    assert StandardRows.of(problem).posed_as(replace(problem, **{part: changed[part]})) is None


@pytest.mark.parametrize("offset", [1.7e9, -3e7, 1.1e11])
def test_restored_intercepts_keep_the_digits_that_large_centres_take(offset):
    problem = draw_problem(11, rows=20, numeric=3, radius=0.1)
    moved = replace(problem, numeric=problem.numeric + np.array([offset, 0.0, 1e3]))
    standard = StandardRows.of(moved)
    for seed in range(20):
        model = random_model(standard.problem, np.random.default_rng(seed), 3.0)
        restored = standard.restore(model)
        products = (Fraction(b) * Fraction(c) for b, c in zip(restored.numeric.tolist(), standard.centre.tolist(), strict=True))
        remainder = abs(float(Fraction(restored.intercept) + sum(products) - Fraction(model.intercept)))
        # The last digit of the intercept alone is worth up to half of its spacing.
        assert remainder <= max(np.spacing(abs(restored.intercept)) / 64, 2.0**-41)
        np.testing.assert_allclose(restored.numeric * standard.scale, model.numeric, rtol=1e-11)
        assert (np.abs(restored.numeric) * (1 - 1e-15) <= np.abs(model.numeric / standard.scale)).all()


def test_a_large_intercept_is_restored_without_numeric_columns():
    standard = StandardRows.of(draw_problem(3, rows=12, numeric=0, levels=(3, 2), radius=0.1))
    model = replace(random_model(standard.problem, np.random.default_rng(0), 1.0), intercept=-(2.0**20))
    assert standard.restore(model).intercept == -(2.0**20)
