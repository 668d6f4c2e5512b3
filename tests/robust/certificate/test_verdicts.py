"""Verdicts hold for real numbers: compared with decimal arithmetic, at the edge of the tolerance, on ugly tables."""

from __future__ import annotations

import itertools
from dataclasses import replace
from decimal import Decimal, localcontext

import numpy as np
import pytest
from problem_bank import draw_problem
from reference import worst_case as reference
from reference.certificate_parts import objective
from reference.random_points import random_model, random_plan

import surefoot as sf
from surefoot.core.solve_options import SolveOptions
from surefoot.robust.certificate.certificate import certify_parts, certify_robust_logistic
from surefoot.robust.problem.ground_cost import GroundCost
from surefoot.robust.problem.problem import RobustCoefficients, RobustLogisticProblem
from surefoot.robust.problem.row_batch import RowBatch
from surefoot.robust.sqp.sqp import SQP


def exact_objective(problem: RobustLogisticProblem, model: RobustCoefficients) -> Decimal:
    """The objective by enumeration of all sets of moves, in decimal arithmetic; the price must admit the coefficients."""
    exact = Decimal
    with localcontext() as context:
        context.prec = 100
        table, offsets, cost = reference.dense_numeric(problem), problem.level_offsets, problem.cost
        price, total = exact(float(model.price)), exact(0)
        movable = [l for l in range(problem.n_categorical) if np.isfinite(cost.categorical_weights[l])]
        for i in range(problem.n_rows):
            own = [float(model.levels[offsets[l] + problem.codes[i, l]]) for l in range(problem.n_categorical)]
            score = exact(float(model.intercept)) + sum(map(exact, own), exact(0))
            score += sum((exact(float(x)) * exact(float(b)) for x, b in zip(table[i], model.numeric, strict=True)), exact(0))
            worst = exact(0)
            for target in (1, -1):
                flips = target != problem.labels[i]
                if flips and (problem.radius == 0 or np.isinf(cost.label_weight)):
                    continue
                for size in range(len(movable) + 1 if problem.radius > 0 else 1):
                    for moved in itertools.combinations(movable, size):
                        value, charge = score, exact(float(cost.label_weight)) if flips else exact(0)
                        for l in moved:
                            levels = model.levels[offsets[l] : offsets[l + 1]]
                            extreme = levels.min() if target > 0 else levels.max()
                            value += exact(float(extreme)) - exact(own[l])
                            charge += exact(float(cost.categorical_weights[l]))
                        argument = -target * value
                        loss = max(argument, exact(0)) + (1 + (-abs(argument)).exp()).ln()
                        worst = max(worst, loss - (price * charge if charge else 0))
            total += exact(float(problem.weights[i])) * worst
        return total + (price * exact(float(problem.radius)) if problem.radius > 0 else 0)


@pytest.mark.parametrize("seed", range(40))
def test_the_enclosure_of_an_objective_holds_what_decimal_arithmetic_finds(seed):
    draw = np.random.default_rng(seed)
    problem = draw_problem(
        seed,
        rows=4,
        numeric=2,
        levels=(3, 2, 2),
        radius=float(draw.choice([0.0, 1e-6, 0.1])),
        label_weight=float(draw.choice([np.inf, 0.7])),
        norm=str(draw.choice(["l1", "l2", "linf"])),
    )
    offset, unit = draw.choice([0.0, 1.7e9]), draw.choice([1e-9, 1.0, 1e9])
    problem = replace(
        problem,
        numeric=np.column_stack((problem.numeric[:, 0] + offset, problem.numeric[:, 1] * unit)),
        cost=replace(problem.cost, categorical_weights=problem.cost.categorical_weights * 10.0 ** draw.integers(-6, 7, size=3)),
    )
    model = random_model(problem, draw)
    model = replace(model, numeric=model.numeric / [1.0, unit], intercept=-offset * model.numeric[0] + model.intercept)
    model = replace(model, price=reference.needed_price(problem, model.numeric) * (1 + 1e-12) + draw.choice([0.0, 0.1, 1e6]))
    found, truth = objective(problem, model), exact_objective(problem, model)
    assert Decimal(float(found.low)) <= truth <= Decimal(float(found.high))
    assert found.high - found.low <= 1e-12 * float(truth)


@pytest.mark.parametrize("seed", range(12))
def test_columns_of_time_stamps_are_verified_and_their_bounds_are_in_order(seed):
    draw = np.random.default_rng(seed)
    table = np.column_stack((1.7e9 + draw.normal(size=80), draw.normal(size=(80, 2))))
    target = table[:, 0] - 1.7e9 + table[:, 1] + draw.normal(size=80) > 0
    model = sf.RobustLogisticRegression(radius=[0.01, 0.1][seed % 2]).fit(table, target)
    certificate = model.certificate_
    assert certificate.verified, certificate.claim
    assert certificate.lower_bound <= certificate.upper_bound


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_upper_bound_of_time_stamps_is_the_objective_in_decimal_arithmetic(seed):
    problem = draw_problem(seed, rows=12, numeric=2, levels=(2,), radius=0.05)
    problem = replace(problem, numeric=problem.numeric + np.array([1.7e9, 0.0]))
    outcome = SQP().solve(problem, SolveOptions(tolerance=1e-8))
    certificate = certify_robust_logistic(problem, outcome.primal, outcome.dual, 1e-6)
    needed = max(outcome.primal.price, reference.needed_price(problem, outcome.primal.numeric))
    truth = exact_objective(problem, replace(outcome.primal, price=needed))
    assert Decimal(certificate.lower_bound) <= truth
    assert Decimal(certificate.upper_bound) >= truth * (1 - Decimal("1e-15"))
    assert certificate.upper_bound == pytest.approx(float(truth), rel=1e-12)
    assert certificate.verified, certificate.claim


@pytest.mark.parametrize("seed", range(8))
def test_one_infinite_weight_beside_widely_spread_ones_does_not_void_the_proof(seed):
    draw = np.random.default_rng(seed)
    table = draw.normal(size=(100, 4))
    weights = 10.0 ** draw.uniform(-3, 3, size=4)
    weights[seed % 4] = np.inf
    target = table @ draw.normal(size=4) + draw.normal(size=100) > 0
    model = sf.RobustLogisticRegression(radius=[0.001, 0.01, 0.1][seed % 3], numeric_weights=weights).fit(table, target)
    assert model.certificate_.verified, model.certificate_.claim


@pytest.fixture(scope="module")
def solved():
    problem = draw_problem(11, rows=90, numeric=3, levels=(3, 4), radius=0.04, label_weight=0.8)
    return problem, SQP().solve(problem, SolveOptions(tolerance=1e-9))


def test_numbers_that_stick_out_of_a_plan_by_rounding_are_repaired(solved):
    problem, outcome = solved
    plan = outcome.dual
    idle = replace(
        plan,
        row=np.append(plan.row, [3, 4]),
        moved=np.vstack((plan.moved, plan.moved[:2])),
        flipped=np.append(plan.flipped, [True, False]),
        mass=np.append(plan.mass, [-2.6e-26, -1e-17]),
        slope=np.append(plan.slope, [2.0, np.nan]),
    )
    slope, lowest = idle.slope.copy(), idle.lowest.copy()
    slope[np.argmax(plan.slope)], slope[np.argmin(plan.slope)] = 1 + 1e-15, -1e-15
    lowest[:3] = np.where(lowest[:3] == lowest[:3].max(), 1.0, -1e-17)
    given = certify_robust_logistic(problem, outcome.primal, plan, 1e-6)
    found = certify_robust_logistic(problem, outcome.primal, idle, 1e-6)
    assert found.verified, found.claim
    assert found.lower_bound == pytest.approx(given.lower_bound, rel=1e-12)
    assert found.witness is idle
    for name, given_as, repaired in (("slope", slope, slope.clip(0.0, 1.0)), ("lowest", lowest, np.maximum(lowest, 0.0))):
        bent = certify_robust_logistic(problem, outcome.primal, replace(idle, **{name: given_as}), 1e-6)
        straight = certify_robust_logistic(problem, outcome.primal, replace(idle, **{name: repaired}), 1e-6)
        assert "refused" not in bent.claim
        assert 0 < bent.lower_bound <= given.upper_bound
        assert bent.lower_bound == pytest.approx(straight.lower_bound, rel=1e-12)


def test_a_relative_gap_just_above_the_tolerance_is_not_verified(solved):
    problem, outcome = solved
    # The gap of this model is closed by no bound: its own objective is above the optimum.
    worse = replace(outcome.primal, intercept=outcome.primal.intercept + 0.01)
    gap = certify_robust_logistic(problem, worse, outcome.dual, 1e-12).relative_gap
    assert 1e-6 < gap < 1e-2
    for tolerance, expected in ((gap, True), (gap * (1 - 1e-6), False), (gap / 1.5, False), (gap / 9, False)):
        certificate = certify_robust_logistic(problem, worse, outcome.dual, tolerance)
        assert certificate.relative_gap == pytest.approx(gap, rel=1e-3)
        assert certificate.verified == expected
        assert certificate.verified == (certificate.relative_gap <= tolerance)


def test_the_claim_names_models_rows_norm_and_radius(solved):
    problem, outcome = solved
    claim = certify_robust_logistic(problem, outcome.primal, outcome.dual, 1e-6).claim
    assert claim.startswith("No linear logistic model with these columns has a worst-case log loss below 0.")
    assert "on these rows with their weights, where rows may shift at a mean ground cost of up to 0.04 at these prices" in claim
    assert "whatsoever" not in claim


def test_changed_rows_settings_and_coefficients_change_the_fingerprints(solved):
    problem, outcome = solved
    own = certify_robust_logistic(problem, outcome.primal, None, 1e-6)
    codes = problem.codes.copy()
    codes[0, 0] = (codes[0, 0] + 1) % 3
    others = [
        replace(problem, codes=codes),
        replace(problem, labels=-problem.labels),
        replace(problem, radius=0.05),
        replace(problem, fit_intercept=True, cost=replace(problem.cost, numeric_norm="l2")),
        replace(problem, cost=replace(problem.cost, label_weight=0.9)),
        replace(problem, cost=replace(problem.cost, numeric_weights=problem.cost.numeric_weights * 2)),
        replace(problem, cost=replace(problem.cost, categorical_weights=problem.cost.categorical_weights * 2)),
    ]
    marks = {certify_robust_logistic(other, outcome.primal, None, 1e-6).problem_digest for other in others}
    assert len(marks | {own.problem_digest}) == len(others) + 1
    for name in ("intercept", "numeric", "levels", "price"):
        changed = replace(outcome.primal, **{name: getattr(outcome.primal, name) * (1 + 1e-15)})
        assert certify_robust_logistic(problem, changed, None, 1e-6).model_digest != own.model_digest


def test_one_row_without_weight_and_one_row_alone_are_judged():
    problem = draw_problem(5, rows=30, numeric=2, levels=(3,), radius=0.05, label_weight=0.5)
    weights = problem.weights.copy()
    weights[4] = 0.0
    problem = replace(problem, weights=weights / weights.sum())
    outcome = SQP().solve(problem, SolveOptions(tolerance=1e-8))
    assert certify_robust_logistic(problem, outcome.primal, outcome.dual, 1e-6).verified
    alone = draw_problem(5, rows=1, numeric=1, radius=0.05, label_weight=0.5)
    outcome = SQP().solve(alone, SolveOptions(tolerance=1e-8))
    assert certify_robust_logistic(alone, outcome.primal, outcome.dual, 1e-6).verified


@pytest.mark.parametrize("pieces", [1, 7])
def test_parts_of_a_table_of_time_stamps_get_the_verdict_of_the_whole(pieces):
    problem = draw_problem(8, rows=70, numeric=2, levels=(3,), radius=0.05)
    problem = replace(problem, numeric=problem.numeric + np.array([1.7e9, -3e7]))
    outcome = SQP().solve(problem, SolveOptions(tolerance=1e-8))
    plan, parts = outcome.dual, []
    for rows in np.array_split(np.arange(70), pieces):
        held = np.isin(plan.row, rows)
        batch = RowBatch(
            problem.numeric[rows], problem.codes[rows], problem.labels[rows], 3 * problem.weights[rows], int(rows[0])
        )
        entries = {name: getattr(plan, name)[held] for name in ("moved", "flipped", "mass", "slope")}
        parts.append((batch, replace(plan, row=plan.row[held] - rows[0], **entries)))
    whole = certify_robust_logistic(problem, outcome.primal, plan, 1e-6)
    seen = certify_parts(problem.terms, outcome.primal, parts, 1e-6)
    assert whole.verified and seen.verified
    assert seen.upper_bound == pytest.approx(whole.upper_bound, rel=1e-13)


@pytest.mark.parametrize("seed", range(30))
def test_no_random_plan_proves_more_than_an_exact_objective(seed):
    """Extreme prices and units; the model may be anything, and its objective is above the optimum."""
    draw = np.random.default_rng(seed)
    problem = draw_problem(seed, rows=5, numeric=2, levels=(3,), radius=10.0 ** draw.integers(-9, 3), label_weight=0.5)
    cost = GroundCost(10.0 ** draw.integers(-6, 7, size=2), 10.0 ** draw.integers(-6, 7, size=1), 10.0 ** draw.integers(-6, 7))
    problem = replace(problem, cost=cost, numeric=problem.numeric * 10.0 ** draw.integers(-9, 10, size=2))
    model = random_model(problem, draw, 10.0 ** draw.integers(-9, 3))
    truth = exact_objective(problem, model)
    for plan in (random_plan(problem, draw), replace(random_plan(problem, draw), slope=np.full(15, 0.5))):
        certificate = certify_robust_logistic(problem, model, plan, 1e-6)
        assert Decimal(certificate.lower_bound) <= truth <= Decimal(certificate.upper_bound)
