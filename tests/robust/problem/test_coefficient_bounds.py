from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from problem_bank import WHOLE_BANK, draw_problem
from reference import worst_case as reference
from reference.enumerated_model import solve_enumerated
from reference.random_points import random_model

from surefoot.robust.problem.coefficient_bounds import (
    BoundingRows,
    CoefficientBounds,
    coefficient_bounds,
    label_sums,
    numeric_centre,
)
from surefoot.robust.problem.numeric_norm import NUMERIC_NORMS
from surefoot.robust.problem.problem import RobustCoefficients, RobustLogisticProblem


def _sizes(problem: RobustLogisticProblem, coefficients: RobustCoefficients) -> CoefficientBounds:
    """What the bounds are bounds on, for one model."""
    centre = numeric_centre(problem)
    offsets = problem.level_offsets
    largest = [np.abs(coefficients.levels[offsets[l] : offsets[l + 1]]).max() for l in range(problem.n_categorical)]
    return CoefficientBounds(
        price=coefficients.price,
        intercept=abs(coefficients.intercept + float(coefficients.numeric @ centre)) if problem.fit_intercept else 0.0,
        levels=float(np.sum(largest)),
    )


def _assert_bounded(sizes: CoefficientBounds, bounds: CoefficientBounds) -> None:
    assert sizes.price <= bounds.price
    assert sizes.intercept <= bounds.intercept
    assert sizes.levels <= bounds.levels


@settings(max_examples=400, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(0, 3),
    st.lists(st.integers(1, 3), max_size=3).map(tuple),
    st.sampled_from([1e-3, 0.05, 2.0, 30.0]),
    st.sampled_from([np.inf, 0.4]),
    st.booleans(),
    st.sampled_from([0.1, 1.0, 30.0]),
    st.sampled_from(NUMERIC_NORMS),
    st.booleans(),
)
def test_every_model_obeys_the_bounds_made_from_its_own_objective(
    seed, numeric, levels, radius, label_weight, intercept, size, norm, sparse
):
    problem = draw_problem(
        seed,
        rows=5,
        numeric=numeric,
        levels=levels,
        radius=radius,
        label_weight=label_weight,
        fit_intercept=intercept,
        norm=norm,
    )
    draw = np.random.default_rng(seed)
    table = problem.numeric + 3.0 * draw.normal(size=numeric)
    problem = replace(problem, numeric=scipy.sparse.csr_array(table) if sparse else table)
    coefficients = random_model(problem, draw, size)
    # Half of the models fit their data, where losses are small and the bounds with them.
    if draw.random() < 0.5:
        scores = [reference.score(problem, coefficients, row, tuple(codes)) for row, codes in enumerate(problem.codes)]
        problem = replace(problem, labels=np.where(np.array(scores) > 0, 1.0, -1.0))
    bounds = coefficient_bounds(problem, reference.objective(problem, coefficients), numeric_centre(problem))
    _assert_bounded(_sizes(problem, coefficients), bounds)


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.1, 1.0, 30.0]), st.booleans())
def test_models_that_let_every_shift_happen_for_free_obey_the_bounds_too(seed, size, intercept):
    problem = draw_problem(seed, rows=5, levels=(3, 2), radius=30.0, fit_intercept=intercept)
    coefficients = replace(random_model(problem, np.random.default_rng(seed), size), price=0.0)
    bounds = coefficient_bounds(problem, reference.objective(problem, coefficients), numeric_centre(problem))
    _assert_bounded(_sizes(problem, coefficients), bounds)


@pytest.mark.parametrize("name", [name for name in WHOLE_BANK if WHOLE_BANK[name]().radius > 0])
def test_optimum_obeys_the_bounds_made_from_any_upper_bound(name):
    problem = WHOLE_BANK[name]()
    best = solve_enumerated(problem)
    for upper in (best.optimum + 1e-7, np.log(2.0)):
        _assert_bounded(_sizes(problem, best.coefficients), coefficient_bounds(problem, upper, numeric_centre(problem)))


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_one_label_has_bounds_only_if_labels_can_flip(seed):
    problem = draw_problem(seed, rows=5, numeric=1, levels=(3, 2), label_weight=0.6)
    problem = replace(problem, labels=np.full(5, -1.0))
    coefficients = random_model(problem, np.random.default_rng(seed))
    bounds = coefficient_bounds(problem, reference.objective(problem, coefficients), numeric_centre(problem))
    assert np.isfinite([bounds.price, bounds.intercept, bounds.levels]).all()
    _assert_bounded(_sizes(problem, coefficients), bounds)
    fixed = replace(problem, cost=replace(problem.cost, label_weight=np.inf))
    unbounded = coefficient_bounds(fixed, 0.5, numeric_centre(fixed))
    assert (unbounded.intercept, unbounded.levels) == (np.inf, np.inf)


@pytest.mark.parametrize("name", ["infinite_weights", "plain_logistic", "infinite_weight_linf", "sparse_plain_logistic"])
def test_no_bound_is_invented_where_none_exists(name):
    problem = WHOLE_BANK[name]()
    bounds = coefficient_bounds(problem, 0.5, numeric_centre(problem))
    assert (bounds.intercept, bounds.levels) == (np.inf, np.inf)
    assert np.isfinite(bounds.price) == (problem.radius > 0)


def test_bounds_do_not_depend_on_where_a_column_has_its_zero():
    problem = WHOLE_BANK["mixed"]()
    moved = replace(problem, numeric=problem.numeric + 1e3)
    here = coefficient_bounds(problem, 0.5, numeric_centre(problem))
    there = coefficient_bounds(moved, 0.5, numeric_centre(moved))
    assert there.intercept == pytest.approx(here.intercept, rel=1e-9)
    assert there.levels == pytest.approx(here.levels, rel=1e-9)


@pytest.mark.parametrize("norm", NUMERIC_NORMS)
def test_sparse_and_dense_columns_have_the_same_bounds_around_the_same_centre(norm):
    problem = draw_problem(8, rows=12, numeric=4, levels=(2,), label_weight=0.8, norm=norm, density=0.4)
    dense = replace(problem, numeric=problem.numeric.toarray())
    for centre in (np.zeros(4), np.linspace(-1.0, 1.0, 4)):
        one, other = coefficient_bounds(problem, 0.5, centre), coefficient_bounds(dense, 0.5, centre)
        assert (one.price, one.intercept, one.levels) == pytest.approx((other.price, other.intercept, other.levels), rel=1e-13)
    np.testing.assert_array_equal(numeric_centre(problem), 0.0)
    assert numeric_centre(dense).any()


def test_norms_that_price_shifts_lower_give_tighter_bounds():
    problem = draw_problem(9, rows=12, numeric=5, radius=0.1)
    problem = replace(problem, numeric=problem.numeric + np.where(problem.labels > 0, 30.0, -30.0)[:, None])
    bounds = [
        coefficient_bounds(replace(problem, cost=replace(problem.cost, numeric_norm=norm)), 0.5, numeric_centre(problem))
        for norm in ("linf", "l2", "l1")
    ]
    assert bounds[0].intercept < bounds[1].intercept < bounds[2].intercept


def test_a_column_with_a_single_level_changes_no_bound_whatever_its_weight():
    problem = draw_problem(10, rows=12, numeric=2, levels=(3, 1))
    assert not (problem.codes[:, 1]).any()
    bounds = []
    for weight in (0.5, 1e6, np.inf):
        weights = np.array([problem.cost.categorical_weights[0], weight])
        priced = replace(problem, cost=replace(problem.cost, categorical_weights=weights))
        bounds.append(coefficient_bounds(priced, 0.5, numeric_centre(priced)))
    assert np.isfinite(bounds[0].levels) and bounds[0] == bounds[1] == bounds[2]


@settings(deadline=None)
@given(
    seed=st.integers(0, 20),
    radius=st.floats(1e-4, 10.0),
    objective=st.floats(1e-6, 5.0),
    kappa=st.sampled_from([0.5, 2.0, np.inf]),
    norm=st.sampled_from(NUMERIC_NORMS),
)
def test_bounds_on_coefficients_are_proportional_to_the_objective(seed, radius, objective, kappa, norm):
    problem = draw_problem(seed, rows=30, numeric=2, levels=(3,), radius=radius, label_weight=kappa, norm=norm)
    bounding = BoundingRows.of(problem.terms, label_sums(problem, np.zeros(2)))
    here, unit = bounding.bounds(radius, objective), bounding.bounds(radius, 1.0)
    for bound in ("price", "intercept", "levels"):
        assert getattr(here, bound) == pytest.approx(objective * getattr(unit, bound), rel=1e-12)
