"""Polished plans: as valid as before, balanced to the last digit, and free of what only rounding put there."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from problem_bank import WHOLE_BANK, draw_problem
from reference.certificate_parts import checked
from reference.enumerated_model import solve_enumerated
from reference.random_points import random_plan

import surefoot as sf
from surefoot.core.solve_options import SolveOptions
from surefoot.robust.certificate.lower_bound import plan_sums
from surefoot.robust.certificate.posed_rows import read_setting
from surefoot.robust.polished_plan import PARAMETERS, polished_plan
from surefoot.robust.problem.problem import RobustLogisticProblem, ShiftPlan
from surefoot.robust.sqp.sqp import SQP


def _polished(problem: RobustLogisticProblem, plan: ShiftPlan, spare: float = 0.0) -> ShiftPlan:
    found = polished_plan(problem, plan, spare)
    assert found is not None
    return found


@pytest.mark.parametrize("name", ["mixed", "mixed_with_label_price", "plain_logistic", "no_intercept", "sparse_mixed_linf"])
def test_gradients_that_must_vanish_do_and_the_budget_is_kept(name):
    problem = WHOLE_BANK[name]()
    best = solve_enumerated(problem)
    noisy = np.clip(best.plan.slope * (1 + 1e-6 * np.random.default_rng(0).normal(size=best.plan.slope.size)), 0.0, 1.0)
    polished = _polished(problem, replace(best.plan, slope=noisy))
    entropy, price, intercept, numeric, levels, *_ = plan_sums(checked(problem, polished))
    if problem.fit_intercept:
        assert abs(intercept.mid) < 1e-14
    moving = np.ones(levels.shape, dtype=bool)
    moving[problem.level_offsets[:-1]] = False
    assert np.abs(levels.mid[moving]).max(initial=0.0) < 1e-14
    spent = price.mid + problem.cost.numeric_price(numeric.mid) if problem.radius > 0 else np.abs(numeric.mid).max(initial=0.0)
    assert spent <= problem.radius * (1 + 1e-9) + 1e-14
    assert entropy.mid == pytest.approx(best.optimum, rel=1e-5)


def test_equal_shifts_become_one_and_negligible_ones_stay_with_their_row():
    problem = draw_problem(5, rows=4, numeric=1, levels=(3,), radius=0.1)
    plan = random_plan(problem, np.random.default_rng(1))
    mass, doubled = plan.mass.copy(), np.repeat(np.arange(plan.row.size), 2)
    mass[plan.moved.any(axis=1) & (plan.row == 0)] *= 1e-14
    totals = np.bincount(plan.row, weights=mass, minlength=4)
    mass *= (problem.weights / totals)[plan.row]
    twice = replace(
        plan,
        row=plan.row[doubled],
        moved=plan.moved[doubled],
        flipped=plan.flipped[doubled],
        mass=mass[doubled] / 2,
        slope=plan.slope[doubled],
    )
    polished = _polished(problem, twice)
    keys = {
        (row, *moved, flip) for row, moved, flip in zip(polished.row, polished.moved.tolist(), polished.flipped, strict=True)
    }
    assert len(keys) == polished.row.size
    assert not polished.moved[polished.row == 0].any()
    np.testing.assert_allclose(np.bincount(polished.row, weights=polished.mass, minlength=4), problem.weights, rtol=1e-14)


def test_levels_to_which_hardly_anything_goes_leave_the_mix():
    problem = draw_problem(5, rows=4, numeric=1, levels=(3,), radius=0.1)
    plan = random_plan(problem, np.random.default_rng(1))
    polished = _polished(problem, replace(plan, lowest=np.array([1e-10, 0.4, 0.6 - 1e-10]), highest=np.array([1.0, 0.0, 0.0])))
    assert polished.lowest[0] == 0 and polished.lowest.sum() == pytest.approx(1.0)
    assert polished.lowest[1:] == pytest.approx([0.4, 0.6])
    np.testing.assert_array_equal(polished.highest, [1.0, 0.0, 0.0])


def test_slopes_of_rows_that_nothing_balances_become_zero():
    # The third level occurs with one label only: without a radius its coefficient has no end, and its rows no loss.
    problem = draw_problem(7, rows=40, numeric=1, levels=(3,), radius=0.0)
    labels = np.where(problem.codes[:, 0] == 2, 1.0, problem.labels)
    problem = replace(problem, labels=labels)
    row = np.arange(40)
    plan = ShiftPlan(
        row=row,
        moved=np.zeros((40, 1), dtype=bool),
        flipped=np.zeros(40, dtype=bool),
        mass=problem.weights,
        slope=np.where(problem.codes[:, 0] == 2, 1e-9, 0.5),
        lowest=np.array([1.0, 0.0, 0.0]),
        highest=np.array([1.0, 0.0, 0.0]),
    )
    polished = _polished(problem, plan)
    separated = (problem.codes[polished.row, 0] == 2) & (polished.mass > 0)
    assert separated.any() and not polished.slope[separated].any()
    assert polished.slope[~separated].any()


def test_a_plan_that_is_too_large_is_left_alone(monkeypatch):
    problem = draw_problem(5, rows=4, numeric=1, levels=(3,), radius=0.1)
    plan = random_plan(problem, np.random.default_rng(1))
    monkeypatch.setattr("surefoot.robust.polished_plan.PARAMETERS", replace(PARAMETERS, max_entries=3))
    assert polished_plan(problem, plan) is None


def test_a_plan_may_leave_some_of_its_budget_for_rounding():
    problem = draw_problem(3, rows=60, numeric=3, levels=(3,), radius=0.05)
    outcome = SQP().solve(problem, SolveOptions(tolerance=1e-9))

    def spent(plan: ShiftPlan) -> float:
        _, price, _, numeric, *_ = plan_sums(checked(problem, plan))
        return float(price.mid + read_setting(problem).shift_price(numeric).mid)

    assert spent(_polished(problem, outcome.dual)) == pytest.approx(0.05, rel=1e-6)
    moves = float(plan_sums(checked(problem, _polished(problem, outcome.dual)))[1].mid)
    assert spent(_polished(problem, outcome.dual, 0.2)) == pytest.approx(moves + 0.8 * (0.05 - moves), rel=1e-6)


@pytest.mark.parametrize("radius", [3e-6, 1e-6])
def test_many_rows_with_a_tiny_radius_are_proven(radius):
    # Sums over 20,000 rows round by 1e-12, and what is overspent costs up to 1 / radius.
    draw = np.random.default_rng(0)
    X = draw.normal(size=(20_000, 40))
    model = sf.RobustLogisticRegression(radius=radius).fit(X, X.sum(axis=1) + 2 * draw.logistic(size=20_000) > 0)
    assert model.certificate_.verified, model.certificate_.claim
