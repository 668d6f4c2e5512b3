"""Every norm, with and without label flips, sparse columns and categories: solved, proven, and compared with cvxpy."""

from __future__ import annotations

import itertools
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problem_bank import NORM_BANK, WHOLE_BANK, draw_problem, one_column_never_moves
from reference import worst_case as reference
from reference.certificate_parts import weak_bound
from reference.enumerated_model import ReferenceSolution, solve_enumerated
from reference.random_points import random_model, random_plan
from sklearn.linear_model import LogisticRegression

from surefoot.core.solve_options import SolveOptions
from surefoot.robust.certificate.certificate import certify_robust_logistic
from surefoot.robust.conic.monolithic import Monolithic
from surefoot.robust.polished_plan import polished_plan
from surefoot.robust.problem.coefficient_bounds import coefficient_bounds, numeric_centre
from surefoot.robust.problem.numeric_norm import NUMERIC_NORMS
from surefoot.robust.problem.problem import RobustLogisticProblem

TOLERANCE = 1e-6
# What the reference solver's own optimum may be off by.
SLACK = 1e-7


def bracketed_and_verified(problem: RobustLogisticProblem) -> float:
    """Solve with cones, judge the answer, and compare the verdict with cvxpy; returns cvxpy's optimum."""
    outcome = Monolithic().solve(problem, SolveOptions(tolerance=TOLERANCE))
    certificate = certify_robust_logistic(problem, outcome.primal, outcome.dual, TOLERANCE)
    optimum = solve_enumerated(problem).optimum
    assert certificate.verified, certificate.claim
    assert certificate.lower_bound <= optimum + SLACK
    assert certificate.upper_bound >= optimum - SLACK
    assert certificate.upper_bound == pytest.approx(optimum, rel=TOLERANCE)
    assert certificate.lower_bound == pytest.approx(optimum, rel=2 * TOLERANCE)
    return optimum


@pytest.mark.parametrize("norm", NUMERIC_NORMS)
@pytest.mark.parametrize("label_weight", [np.inf, 1.3])
@pytest.mark.parametrize("density", [None, 0.5])
@pytest.mark.parametrize("levels", [(), (3, 2)])
@pytest.mark.parametrize("frozen", [False, True])
def test_every_combination_is_solved_proven_and_agrees_with_cvxpy(norm, label_weight, density, levels, frozen):
    problem = draw_problem(
        71, rows=30, numeric=4, levels=levels, radius=0.06, label_weight=label_weight, norm=norm, density=density
    )
    bracketed_and_verified(one_column_never_moves(problem) if frozen else problem)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 4),
    st.lists(st.integers(1, 3), max_size=2).map(tuple),
    st.sampled_from([0.02, 0.2]),
    st.sampled_from([np.inf, 0.7]),
    st.sampled_from(["l2", "linf"]),
    st.sampled_from([None, 0.5]),
    st.booleans(),
)
def test_random_problems_are_solved_proven_and_agree_with_cvxpy(
    seed, numeric, levels, radius, label_weight, norm, density, intercept
):
    problem = draw_problem(
        seed,
        rows=12,
        numeric=numeric,
        levels=levels,
        radius=radius,
        label_weight=label_weight,
        norm=norm,
        density=density,
        fit_intercept=intercept,
    )
    optimum = bracketed_and_verified(problem)
    draw = np.random.default_rng(seed)
    wild = certify_robust_logistic(problem, random_model(problem, draw), random_plan(problem, draw), TOLERANCE)
    assert wild.lower_bound <= optimum + SLACK <= wild.upper_bound + 2 * SLACK


@pytest.mark.parametrize("name", ["mixed_l2_with_label_price", "mixed_linf_with_label_price", "sparse_mixed_with_label_price"])
def test_bank_has_optima_with_every_kind_of_shift_for_every_norm(name):
    problem = WHOLE_BANK[name]()
    outcome = Monolithic().solve(problem, SolveOptions())
    plan = outcome.dual
    assert plan.mass[plan.moved.any(axis=1)].sum() > 0.005
    assert plan.mass[plan.flipped].sum() > 0.005
    assert reference.needed_price(problem, outcome.primal.numeric) == pytest.approx(outcome.primal.price, rel=1e-4)


@cache
def solved(norm: str, label_weight: float, levels: tuple[int, ...]) -> tuple[RobustLogisticProblem, ReferenceSolution]:
    problem = draw_problem(83, rows=24, numeric=3, levels=levels, radius=0.05, label_weight=label_weight, norm=norm)
    best = solve_enumerated(problem)
    return problem, replace(best, plan=polished_plan(problem, best.plan))


@pytest.mark.parametrize(("judged", "made_for"), list(itertools.permutations(NUMERIC_NORMS, 2)))
@pytest.mark.parametrize("label_weight", [np.inf, 4.0])
@pytest.mark.parametrize("levels", [(), (2,)])
def test_model_and_plan_of_another_norm_are_not_verified(judged, made_for, label_weight, levels):
    problem, best = solved(judged, label_weight, levels)
    _, other = solved(made_for, label_weight, levels)
    assert abs(best.optimum - other.optimum) > 1e-4, "the norms must make a difference here"
    for model, plan in ((other.coefficients, other.plan), (other.coefficients, best.plan), (best.coefficients, other.plan)):
        certificate = certify_robust_logistic(problem, model, plan, TOLERANCE)
        # The right model may find its proof in its own curvature, whatever the plan's slopes.
        assert not (certificate.verified and model is other.coefficients)
        assert certificate.lower_bound <= best.optimum + SLACK
        assert certificate.upper_bound >= best.optimum - SLACK
    assert certify_robust_logistic(problem, best.coefficients, best.plan, 1e-5).verified
    # Weak duality with the slopes as they are closes the gap in the norm they were made for, and in no other.
    centre = numeric_centre(problem)
    bounds = coefficient_bounds(problem, best.optimum + SLACK, centre)
    own, foreign = (weak_bound(problem, plan, bounds) for plan in (best.plan, other.plan))
    assert own == pytest.approx(best.optimum, abs=1e-4)
    assert foreign < best.optimum - 1e-3


@pytest.mark.parametrize("name", [name for name in NORM_BANK if "linf" in name or "l2" in name])
def test_a_price_that_suffices_for_l1_only_is_raised(name):
    problem = WHOLE_BANK[name]()
    model = random_model(problem, np.random.default_rng(4))
    enough_for_l1 = reference.needed_price(replace(problem, cost=replace(problem.cost, numeric_norm="l1")), model.numeric)
    needed = reference.needed_price(problem, model.numeric)
    certificate = certify_robust_logistic(problem, replace(model, price=enough_for_l1), None, TOLERANCE)
    expected = reference.objective(problem, replace(model, price=needed * (1 + 1e-14)))
    assert certificate.upper_bound == pytest.approx(expected, rel=1e-11)


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from(NUMERIC_NORMS), st.sampled_from([None, 0.9]))
def test_plans_that_move_a_column_that_cannot_move_prove_nothing_by_payment(seed, norm, density):
    problem = one_column_never_moves(draw_problem(seed, rows=6, numeric=2, norm=norm, density=density))
    draw = np.random.default_rng(seed)
    plan = random_plan(problem, draw)
    centre = numeric_centre(problem)
    bounds = coefficient_bounds(problem, 0.6, centre)
    assert weak_bound(problem, plan, bounds) == -np.inf


@pytest.mark.parametrize("norm", NUMERIC_NORMS)
@pytest.mark.parametrize("label_weight", [np.inf, 0.8])
def test_units_of_columns_do_not_matter_in_any_norm(norm, label_weight):
    problem = draw_problem(75, rows=24, numeric=3, levels=(2,), label_weight=label_weight, norm=norm)
    units = np.array([1e5, 1.0, 1e-5])
    cost = replace(problem.cost, numeric_weights=problem.cost.numeric_weights / units)
    other = replace(problem, numeric=problem.numeric * units, cost=cost)
    outcome = Monolithic().solve(problem, SolveOptions())
    model = replace(outcome.primal, numeric=outcome.primal.numeric / units)
    here = certify_robust_logistic(problem, outcome.primal, outcome.dual, TOLERANCE)
    there = certify_robust_logistic(other, model, outcome.dual, TOLERANCE)
    assert there.verified
    assert there.upper_bound == pytest.approx(here.upper_bound, rel=1e-12)
    assert there.lower_bound == pytest.approx(here.lower_bound, rel=1e-7)


@pytest.mark.parametrize("density", [None, 0.5])
def test_linf_without_label_flips_is_logistic_regression_with_an_l1_penalty(density):
    radius = 0.05
    problem = draw_problem(76, rows=80, numeric=6, radius=radius, norm="linf", density=density)
    outcome = Monolithic().solve(problem, SolveOptions(tolerance=1e-8))
    # The penalty is sum_j |beta_j| / gamma_j: scikit-learn sees columns in units of 1 / gamma.
    table, gamma = reference.dense_numeric(problem), problem.cost.numeric_weights
    penalty = {} if LogisticRegression().penalty == "deprecated" else {"penalty": "elasticnet"}
    lasso = LogisticRegression(l1_ratio=1.0, C=1.0 / (80 * radius), solver="saga", tol=1e-10, max_iter=100_000, **penalty)
    lasso.fit(table * gamma, problem.labels)
    scores = lasso.decision_function(table * gamma)
    objective = radius * np.abs(lasso.coef_).sum() + np.logaddexp(0.0, -problem.labels * scores).mean()
    assert outcome.upper_bound == pytest.approx(objective, rel=1e-7)
    np.testing.assert_allclose(outcome.primal.numeric / gamma, lasso.coef_[0], atol=1e-4)
    assert (lasso.coef_ == 0).any() and (lasso.coef_ != 0).any(), "a penalty that selects some columns, not all"
    assert certify_robust_logistic(problem, outcome.primal, outcome.dual, 1e-7).verified
