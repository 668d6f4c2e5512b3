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
from reference.certificate_parts import checked, curved_bound, weak_bound
from reference.enumerated_model import solve_enumerated
from reference.random_points import random_model, random_plan

from surefoot.robust.certificate.weak_duality import plan_sums
from surefoot.robust.problem.coefficient_bounds import CoefficientBounds, coefficient_bounds, numeric_centre
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
@given(problems, seeds, st.sampled_from([0.01, 1.0, 5.0]), st.sampled_from([1e-8, 1e-4, 0.1, 1.0]))
def test_curvature_bound_at_any_point_is_below_the_objective_of_any_model(problem, seed, size, distance):
    draw = np.random.default_rng(seed)
    model = random_model(problem, draw, size)
    point = random_model(problem, draw, size)
    point = replace(
        point,
        intercept=model.intercept + distance * (point.intercept - model.intercept),
        numeric=model.numeric + distance * (point.numeric - model.numeric),
        levels=model.levels + distance * (point.levels - model.levels),
    )
    objective = reference.objective(problem, model)
    centre = numeric_centre(problem)
    plan = random_plan(problem, draw)
    bounds = coefficient_bounds(problem, objective, centre)
    price_only = CoefficientBounds(price=bounds.price, intercept=np.inf, levels=np.inf)
    for known in (bounds, price_only):
        assert curved_bound(problem, plan, point, known) <= objective * (1 + 1e-12)


@settings(max_examples=100, deadline=None)
@given(problems, seeds)
def test_plan_sums_equal_a_loop_over_entries_and_levels(problem, seed):
    draw = np.random.default_rng(seed)
    plan = random_plan(problem, draw)
    sound = checked(problem, plan)
    centre = sound.frame.centre
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
    for found, expected in zip(sums[:-1], (entropy, price, intercept, numeric, levels), strict=True):
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
    problem, best, plan, attained = _solved(name)
    draw = np.random.default_rng(seed)
    centre = numeric_centre(problem)
    plan = _perturbed(problem, plan, draw, size)
    bounds = coefficient_bounds(problem, min(attained, math.log(2.0)), centre)
    point = replace(
        best,
        numeric=best.numeric * (1 + size * draw.normal(size=best.numeric.size)),
        levels=best.levels * (1 + size * draw.normal(size=best.levels.size)),
    )
    price_only = CoefficientBounds(price=bounds.price, intercept=np.inf, levels=np.inf)
    assert weak_bound(problem, plan, bounds) <= attained
    assert curved_bound(problem, plan, point, bounds) <= attained
    assert curved_bound(problem, plan, point, price_only) <= attained


def test_curvature_bound_hardly_moves_when_the_expansion_point_does():
    problem, best, plan, attained = _solved("plain_logistic")
    bounds = coefficient_bounds(problem, attained, numeric_centre(problem))

    def shortfall(step: float) -> float:
        return attained - curved_bound(problem, plan, replace(best, intercept=best.intercept + step), bounds)

    # The objective itself rises with the square of the step; the bound takes that back and loses only a third-order term.
    assert 0 < shortfall(1e-2) < 1e-4
    assert shortfall(1e-3) < shortfall(1e-2) / 100


def test_curvature_bound_needs_no_unique_optimum():
    problem = draw_problem(30, rows=60, numeric=2, levels=(3,), radius=0.0)
    more = replace(
        problem,
        numeric=np.column_stack((problem.numeric, np.full(60, 7.1))),
        n_levels=np.array([5]),
        cost=replace(problem.cost, numeric_weights=np.ones(3)),
    )
    once, best = solve_enumerated(problem), solve_enumerated(more)
    assert best.optimum == pytest.approx(once.optimum, abs=1e-8)
    nothing = coefficient_bounds(more, best.optimum, numeric_centre(more))
    assert curved_bound(more, best.plan, best.coefficients, nothing) == pytest.approx(once.optimum, abs=1e-7)


@pytest.mark.parametrize("radius", [0.0, 1e-9])
def test_equal_columns_stand_for_one_another(radius):
    problem = draw_problem(30, rows=60, numeric=2, levels=(3,), radius=radius)
    twice = replace(
        problem,
        numeric=np.column_stack((problem.numeric, problem.numeric[:, 0])) + 1e6,
        codes=np.column_stack((problem.codes, problem.codes)),
        n_levels=np.array([3, 3]),
        cost=replace(problem.cost, numeric_weights=np.ones(3), categorical_weights=np.ones(2)),
    )
    best = solve_enumerated(twice)
    nothing = CoefficientBounds(price=np.inf, intercept=np.inf, levels=np.inf)
    moved = replace(best.plan, moved=np.zeros_like(best.plan.moved))
    # The plan that moves nothing is as good as the best one at so small a radius.
    assert curved_bound(twice, moved, best.coefficients, nothing) == pytest.approx(best.optimum, abs=1e-6)
    nearly = replace(twice, numeric=twice.numeric * (1 + np.array([0.0, 0.0, 1e-15])))
    assert (nearly.numeric[:, 0] != nearly.numeric[:, 2]).any()
    assert curved_bound(nearly, moved, best.coefficients, nothing) == -np.inf


def test_columns_that_depend_on_each_other_to_rounding_only_are_not_taken_for_dependent():
    # The rounding of the third column is a column of its own: with coefficients of 1e16 it could lower the loss.
    problem = draw_problem(30, rows=60, numeric=2, levels=(3,), radius=0.0)
    third = problem.numeric[:, 0] - 2 * problem.numeric[:, 1]
    more = replace(
        problem,
        numeric=np.column_stack((problem.numeric, third)),
        cost=replace(problem.cost, numeric_weights=np.ones(3)),
    )
    best = solve_enumerated(more)
    nothing = coefficient_bounds(more, best.optimum, numeric_centre(more))
    assert curved_bound(more, best.plan, best.coefficients, nothing) == -np.inf


def test_bound_in_radius_zero_refuses_moves_that_the_radius_does_not_allow():
    problem, best, plan, attained = _solved("plain_logistic")
    moving = replace(plan, moved=plan.moved | True)
    centre = numeric_centre(problem)
    bounds = coefficient_bounds(problem, attained, centre)
    assert weak_bound(problem, moving, bounds) == -np.inf
    assert curved_bound(problem, moving, best, bounds) == -np.inf


def test_gradients_that_overflow_into_no_number_at_all_prove_nothing():
    problem = draw_problem(3, rows=2, numeric=1, radius=1.0)
    problem = replace(problem, numeric=np.full((2, 1), 1.7e308), labels=np.array([1.0, -1.0]))
    problem.numeric[0, 0] *= -1
    plan = replace(random_plan(problem, np.random.default_rng(0)), slope=np.full(6, 0.5))
    # Finite where the sums just fit into a double, but never above 0.
    assert weak_bound(problem, plan, CoefficientBounds(price=1.0, intercept=1.0, levels=1.0)) < -1e307
    assert weak_bound(problem, plan, CoefficientBounds(price=9.0, intercept=1.0, levels=1.0)) == -np.inf


def test_table_too_wide_for_a_dense_hessian_gets_no_curvature_bound(monkeypatch):
    problem, best, plan, attained = _solved("mixed")
    centre = numeric_centre(problem)
    bounds = coefficient_bounds(problem, attained, centre)
    assert curved_bound(problem, plan, best, bounds) > 0
    for limit in ("MAX_OPERATIONS", "MAX_COORDINATES"):
        with monkeypatch.context() as patch:
            patch.setattr(f"surefoot.robust.certificate.curvature_bound.{limit}", 5)
            assert curved_bound(problem, plan, best, bounds) == -np.inf


@pytest.mark.parametrize(
    "name",
    ["mixed", "mixed_with_label_price", "plain_logistic", "no_intercept", "mixed_l2_with_label_price", "sparse_mixed_linf"],
)
def test_blocks_and_the_order_of_entries_do_not_change_the_bounds(name, monkeypatch):
    problem, best, plan, attained = _solved(name)
    centre = numeric_centre(problem)
    bounds = coefficient_bounds(problem, attained, centre)
    shuffled = np.random.default_rng(0).permutation(plan.row.size)
    mixed_up = replace(plan, **{part: getattr(plan, part)[shuffled] for part in ("row", "moved", "flipped", "mass", "slope")})
    before = [
        weak_bound(problem, plan, bounds),
        curved_bound(problem, plan, best, bounds),
    ]
    monkeypatch.setattr("surefoot.robust.certificate.posed_rows.BLOCK_ROWS", 7)
    after = [
        weak_bound(problem, mixed_up, bounds),
        curved_bound(problem, mixed_up, best, bounds),
    ]
    assert after == pytest.approx(before, abs=1e-9)
