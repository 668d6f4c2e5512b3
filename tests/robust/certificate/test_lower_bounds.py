"""Both lower bounds against models: a bound that exceeds the objective of one single model is wrong."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problem_bank import WHOLE_BANK, draw_problem
from reference import worst_case as reference
from reference.certificate_parts import checked, corrected_bound, weak_bound
from reference.enumerated_model import solve_enumerated
from reference.random_points import random_model, random_plan

from surefoot.core.arrays import FloatArray
from surefoot.robust.certificate import lower_bound
from surefoot.robust.certificate.certificate import certify_robust_logistic
from surefoot.robust.certificate.lower_bound import plan_sums
from surefoot.robust.polished_plan import polished_plan
from surefoot.robust.problem.coefficient_bounds import CoefficientBounds, coefficient_bounds, numeric_centre
from surefoot.robust.problem.ground_cost import GroundCost
from surefoot.robust.problem.numeric_norm import NUMERIC_NORMS
from surefoot.robust.problem.problem import RobustCoefficients, RobustLogisticProblem, ShiftPlan

problems = st.builds(
    draw_problem,
    st.integers(0, 2**32 - 1),
    rows=st.integers(2, 6),
    numeric=st.integers(0, 2),
    levels=st.lists(st.integers(1, 3), max_size=2).map(tuple),
    radius=st.sampled_from([0.0, 1e-3, 0.1, 1.0]),
    label_weight=st.sampled_from([np.inf, 0.5]),
    fit_intercept=st.booleans(),
    norm=st.sampled_from(NUMERIC_NORMS),
    density=st.sampled_from([None, 0.5]),
)
seeds = st.integers(0, 2**32 - 1)


def _slopes_of(problem: RobustLogisticProblem, plan: ShiftPlan, model: RobustCoefficients) -> ShiftPlan:
    """The plan with the slopes of the loss at the model, computed entry by entry."""
    slope = np.zeros(len(plan.row))
    offsets = problem.level_offsets
    for k, row in enumerate(plan.row):
        sign = problem.labels[row] * (-1 if plan.flipped[k] else 1)
        mix = plan.lowest if sign > 0 else plan.highest
        score = model.intercept + reference.dense_numeric(problem)[row] @ model.numeric
        for l in range(problem.n_categorical):
            part = slice(offsets[l], offsets[l + 1])
            own = model.levels[offsets[l] + problem.codes[row, l]]
            score += mix[part] @ model.levels[part] if plan.moved[k, l] else own
        slope[k] = 1.0 / (1.0 + math.exp(sign * score))
    return replace(plan, slope=slope)


@settings(max_examples=600, deadline=None)
@given(problems, seeds, st.sampled_from([0.01, 1.0, 5.0]))
def test_weak_duality_bound_of_any_plan_is_below_the_objective_of_any_model(problem, seed, size):
    draw = np.random.default_rng(seed)
    model = random_model(problem, draw, size)
    plan = random_plan(problem, draw)
    if draw.random() < 0.5:
        plan = _slopes_of(problem, plan, model)
    objective = reference.objective(problem, model)
    centre = numeric_centre(problem)
    bounds = coefficient_bounds(problem, objective, centre)
    assert weak_bound(problem, plan, bounds) <= objective * (1 + 1e-12)


@settings(max_examples=600, deadline=None)
@given(problems, seeds, st.sampled_from([0.01, 1.0, 5.0]), st.sampled_from([0.0, 1e-8, 1e-4, 0.1]))
def test_bound_from_corrected_slopes_is_below_the_objective_of_any_model(problem, seed, size, distance):
    draw = np.random.default_rng(seed)
    model = random_model(problem, draw, size)
    objective = reference.objective(problem, model)
    # Slopes that balance the plan but for some noise, so that a correction is possible.
    plan = polished_plan(problem, _slopes_of(problem, random_plan(problem, draw), model))
    plan = replace(plan, slope=np.clip(plan.slope * (1 + distance * draw.normal(size=plan.slope.size)), 0.0, 1.0))
    bounds = coefficient_bounds(problem, objective, numeric_centre(problem))
    assert corrected_bound(problem, plan, bounds) <= objective * (1 + 1e-12)


@settings(max_examples=100, deadline=None)
@given(problems, seeds)
def test_plan_sums_equal_a_loop_over_entries_and_levels(problem, seed):
    draw = np.random.default_rng(seed)
    plan = random_plan(problem, draw)
    sound = checked(problem, plan)
    centre = sound.part.centre
    offsets = problem.level_offsets
    entropy = price = intercept = 0.0
    numeric, levels = np.zeros(problem.n_numeric), np.zeros(int(offsets[-1]))
    for k, row in enumerate(plan.row):
        q, mass = plan.slope[k], plan.mass[k]
        entropy -= mass * sum(part * math.log(part) for part in (q, 1 - q) if part > 0)
        price += mass * problem.cost.categorical_weights[plan.moved[k]].sum()
        price += mass * problem.cost.label_weight if plan.flipped[k] else 0.0
        sign = problem.labels[row] * (-1 if plan.flipped[k] else 1)
        intercept -= mass * q * sign
        numeric -= mass * q * sign * (reference.dense_numeric(problem)[row] - centre)
        for l in range(problem.n_categorical):
            part = slice(offsets[l], offsets[l + 1])
            mix = plan.lowest if sign > 0 else plan.highest
            own = np.eye(problem.n_levels[l])[problem.codes[row, l]]
            levels[part] -= mass * q * sign * (mix[part] if plan.moved[k, l] else own)
    sums = plan_sums(sound)
    assert sums[5] == np.count_nonzero((plan.moved.any(axis=1) | plan.flipped) & (plan.mass > 0))
    for found, expected in zip(sums[:-2], (entropy, price, intercept, numeric, levels), strict=True):
        np.testing.assert_allclose(found.mid, expected, atol=1e-13)
        assert (found.high - found.low <= 1e-12).all()


def _perturbed(problem: RobustLogisticProblem, plan: ShiftPlan, draw: np.random.Generator, size: float) -> ShiftPlan:
    """A valid plan near the given one."""
    mass = plan.mass * np.exp(size * draw.normal(size=plan.mass.size))
    totals = np.bincount(plan.row, weights=mass, minlength=problem.n_rows)
    mass *= np.divide(problem.weights, totals, out=np.zeros(problem.n_rows), where=totals > 0)[plan.row]
    mixes = []
    for mix in (plan.lowest, plan.highest):
        near = mix * np.exp(size * draw.normal(size=mix.size)) + size * draw.random(mix.size)
        mixes.append(near / np.repeat(np.add.reduceat(near, problem.level_offsets[:-1]), problem.n_levels) if mix.size else mix)
    slope = np.clip(plan.slope + size * draw.normal(size=mass.size), 0.0, 1.0)
    return replace(plan, mass=mass, slope=slope, lowest=mixes[0], highest=mixes[1])


NOTHING = CoefficientBounds(price=np.inf, intercept=np.inf, levels=np.inf)
SOLVED: dict[str, tuple[RobustLogisticProblem, RobustCoefficients, ShiftPlan, float]] = {}


def _solved(name: str) -> tuple[RobustLogisticProblem, RobustCoefficients, ShiftPlan, float]:
    if name not in SOLVED:
        problem = WHOLE_BANK[name]()
        best = solve_enumerated(problem)
        # An attained objective is above the optimum, so a bound above it is certainly wrong.
        SOLVED[name] = problem, best.coefficients, best.plan, reference.objective(problem, best.coefficients)
    return SOLVED[name]


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(sorted(WHOLE_BANK)), seeds, st.sampled_from([0.0, 1e-9, 1e-6, 1e-4, 1e-2, 0.3]))
def test_no_plan_near_the_optimal_one_proves_more_than_the_optimum(name, seed, size):
    problem, _, plan, attained = _solved(name)
    draw = np.random.default_rng(seed)
    centre = numeric_centre(problem)
    plan = _perturbed(problem, plan, draw, size)
    bounds = coefficient_bounds(problem, min(attained, math.log(2.0)), centre)
    assert weak_bound(problem, plan, bounds) <= attained
    assert corrected_bound(problem, plan, bounds) <= attained
    assert corrected_bound(problem, polished_plan(problem, plan), bounds) <= attained


def test_a_residual_costs_no_more_than_its_size_in_the_curvature_of_the_loss():
    problem, _, plan, attained = _solved("plain_logistic")
    bounds = coefficient_bounds(problem, attained, numeric_centre(problem))
    plan = polished_plan(problem, plan)

    def shortfall(step: float) -> float:
        slope = plan.slope * (1 + step * np.where(problem.labels[plan.row] > 0, 1.0, 0.0))
        return attained - corrected_bound(problem, replace(plan, slope=slope), bounds)

    assert 0 <= shortfall(0.0) < 1e-10
    # About 0.2 nu, and nu is about half the step here.
    assert 1e-6 < shortfall(1e-4) < 1e-4
    assert shortfall(1e-6) < 1.1e-2 * shortfall(1e-4)


def test_bound_from_corrected_slopes_needs_no_unique_optimum():
    problem = draw_problem(30, rows=60, numeric=2, levels=(3,), radius=0.0)
    more = replace(
        problem,
        numeric=np.column_stack((problem.numeric, np.full(60, 7.1))),
        n_levels=np.array([5]),
        cost=replace(problem.cost, numeric_weights=np.ones(3)),
    )
    once, best = solve_enumerated(problem), solve_enumerated(more)
    assert best.optimum == pytest.approx(once.optimum, abs=1e-8)
    assert corrected_bound(more, polished_plan(more, best.plan), NOTHING) == pytest.approx(once.optimum, abs=1e-7)


def _with_columns(problem: RobustLogisticProblem, *columns: FloatArray) -> RobustLogisticProblem:
    numeric = np.column_stack((problem.numeric, *columns))
    return replace(problem, numeric=numeric, cost=replace(problem.cost, numeric_weights=np.ones(numeric.shape[1])))


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_columns_that_depend_on_others_exactly_need_no_curvature_of_their_own(fit_intercept):
    problem = draw_problem(30, rows=60, numeric=2, levels=(3, 2), radius=0.0, fit_intercept=fit_intercept)
    problem = replace(problem, numeric=np.round(problem.numeric * 8) / 8)
    first, second = problem.numeric.T
    level = (problem.codes[:, 0] == 1).astype(float)
    dependent = [(first,), (first - second,), (first, level), (-first + level,), *([(1.0 - first,)] if fit_intercept else [])]
    for columns in dependent:
        more = _with_columns(problem, *columns)
        best = solve_enumerated(more)
        assert corrected_bound(more, polished_plan(more, best.plan), NOTHING) == pytest.approx(best.optimum, abs=1e-6)


def test_a_dependence_is_found_if_its_coefficients_have_few_digits_or_rows_are_of_few_kinds():
    problem = draw_problem(30, rows=60, numeric=1, levels=(2,), radius=0.0, fit_intercept=False)
    yes = (problem.codes[:, 0] == 1).astype(float)
    best = solve_enumerated(_with_columns(problem, 1.0 - yes))
    # A constant column is 1.5, or 7.1, times both dummies. 7.1 is no double with few digits, but rows are of two kinds.
    for constant in (1.5, 7.1):
        more = _with_columns(problem, yes, 1.0 - yes, np.full(60, constant))
        found = corrected_bound(more, polished_plan(more, best.plan), NOTHING)
        assert found == pytest.approx(best.optimum, abs=1e-6)
    # Of a column of many values 1.5 times is another exactly, 7.1 times but for rounding.
    values = np.random.default_rng(0).integers(-50, 50, size=60) / 8.0
    best = solve_enumerated(_with_columns(problem, values))
    for factor, proven in ((1.5, True), (7.1, False)):
        more = _with_columns(problem, values, factor * values)
        found = corrected_bound(more, polished_plan(more, best.plan), NOTHING)
        assert found == (pytest.approx(best.optimum, abs=1e-6) if proven else -np.inf)


def test_equal_columns_stand_for_one_another():
    problem = draw_problem(30, rows=60, numeric=2, levels=(3,), radius=0.0)
    twice = replace(
        problem,
        numeric=np.column_stack((problem.numeric, problem.numeric[:, 0])) + 1e6,
        codes=np.column_stack((problem.codes, problem.codes)),
        n_levels=np.array([3, 3]),
        cost=replace(problem.cost, numeric_weights=np.ones(3), categorical_weights=np.ones(2)),
    )
    best = solve_enumerated(twice)
    plan = polished_plan(twice, best.plan)
    assert corrected_bound(twice, plan, NOTHING) == pytest.approx(best.optimum, abs=1e-6)
    # A constant difference is one that the intercept makes up for; last digits here and there are a column of their own.
    shifted = replace(twice, numeric=twice.numeric + np.array([0.0, 0.0, 0.25]))
    assert corrected_bound(shifted, plan, NOTHING) == pytest.approx(best.optimum, abs=1e-6)
    digits = np.spacing(twice.numeric[:, 2]) * np.random.default_rng(0).integers(0, 2, size=60)
    nearly = replace(twice, numeric=twice.numeric + np.column_stack((np.zeros((60, 2)), digits)))
    assert corrected_bound(nearly, plan, NOTHING) == -np.inf


def test_columns_that_depend_on_each_other_to_rounding_only_are_not_taken_for_dependent():
    # The rounding of the third column is a column of its own: with coefficients of 1e16 it could lower the loss.
    problem = draw_problem(30, rows=60, numeric=2, levels=(3,), radius=0.0)
    more = _with_columns(problem, problem.numeric[:, 0] - problem.numeric[:, 1])
    best = solve_enumerated(more)
    assert corrected_bound(more, polished_plan(more, best.plan), NOTHING) == -np.inf


def test_bound_in_radius_zero_refuses_moves_that_the_radius_does_not_allow():
    problem, _, plan, attained = _solved("plain_logistic")
    moving = replace(plan, moved=plan.moved | True)
    centre = numeric_centre(problem)
    bounds = coefficient_bounds(problem, attained, centre)
    assert weak_bound(problem, moving, bounds) == -np.inf
    assert corrected_bound(problem, moving, bounds) == -np.inf


def test_gradients_that_overflow_into_no_number_at_all_prove_nothing():
    problem = draw_problem(3, rows=2, numeric=1, radius=1.0)
    problem = replace(problem, numeric=np.full((2, 1), 1.7e308), labels=np.array([1.0, -1.0]))
    problem.numeric[0, 0] *= -1
    plan = replace(random_plan(problem, np.random.default_rng(0)), slope=np.full(6, 0.5))
    # Finite where the sums just fit into a double, but never above 0.
    assert weak_bound(problem, plan, CoefficientBounds(price=1.0, intercept=1.0, levels=1.0)) < -1e307
    assert weak_bound(problem, plan, CoefficientBounds(price=9.0, intercept=1.0, levels=1.0)) == -np.inf


def test_table_too_wide_for_a_dense_hessian_gets_no_corrected_slopes(monkeypatch):
    problem, _, plan, attained = _solved("mixed")
    plan = polished_plan(problem, plan)
    bounds = coefficient_bounds(problem, attained, numeric_centre(problem))
    assert corrected_bound(problem, plan, bounds) > 0
    for limit in ("MAX_OPERATIONS", "MAX_COORDINATES"):
        with monkeypatch.context() as patch:
            patch.setattr(f"surefoot.robust.certificate.lower_bound.{limit}", 5)
            assert corrected_bound(problem, plan, bounds) == -np.inf


@pytest.mark.parametrize(
    "name",
    ["mixed", "mixed_with_label_price", "plain_logistic", "no_intercept", "mixed_l2_with_label_price", "sparse_mixed_linf"],
)
def test_blocks_and_the_order_of_entries_do_not_change_the_bounds(name, monkeypatch):
    problem, _, plan, attained = _solved(name)
    plan = polished_plan(problem, plan)
    bounds = coefficient_bounds(problem, attained, numeric_centre(problem))
    shuffled = np.random.default_rng(0).permutation(plan.row.size)
    mixed_up = replace(plan, **{part: getattr(plan, part)[shuffled] for part in ("row", "moved", "flipped", "mass", "slope")})
    before = [
        weak_bound(problem, plan, bounds),
        corrected_bound(problem, plan, bounds),
    ]
    monkeypatch.setattr("surefoot.robust.certificate.posed_rows.BLOCK_ROWS", 7)
    after = [
        weak_bound(problem, mixed_up, bounds),
        corrected_bound(problem, mixed_up, bounds),
    ]
    assert after == pytest.approx(before, abs=1e-9)


def test_weights_are_divided_by_their_sum():
    weights, labels = np.full(2, 0.5 * (1 + 9e-7)), np.array([1.0, -1.0])
    cost = GroundCost(np.zeros(0), np.zeros(0), np.inf)
    nothing = np.zeros((2, 0), dtype=np.int32)
    problem = RobustLogisticProblem(np.zeros((2, 0)), nothing, np.zeros(0, dtype=np.int32), labels, weights, cost, 0.0, True)
    model = RobustCoefficients(0.0, np.zeros(0), np.zeros(0), 0.0)
    plan = ShiftPlan(
        row=np.arange(2),
        mass=weights / weights.sum(),
        slope=np.full(2, 0.5),
        moved=np.zeros((2, 0), dtype=bool),
        flipped=np.zeros(2, dtype=bool),
        lowest=np.zeros(0),
        highest=np.zeros(0),
    )
    found = certify_robust_logistic(problem, model, plan, 1e-9)
    assert found.verified
    assert found.lower_bound <= math.log(2) <= found.upper_bound


def test_no_relation_is_read_off_a_matrix_that_overflowed():
    scaled = np.array([[1.0, np.nan], [np.nan, np.inf]])
    dependent, relations = lower_bound._relations(scaled, np.ones(2), np.arange(2), 0)
    assert dependent.size == 0 and relations.shape == (0, 2)
