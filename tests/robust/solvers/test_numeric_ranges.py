"""Numeric columns with a range: worst cases and optima are those of enumeration, and both limits are what they should be."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from problem_bank import draw_problem
from reference import worst_case as reference
from reference.enumerated_model import solve_enumerated
from reference.random_points import random_model

from surefoot.core.solve_options import SolveOptions
from surefoot.robust.certificate.certificate import certify_robust_logistic
from surefoot.robust.problem.problem import RobustLogisticProblem
from surefoot.robust.registry import SOLVERS, make_solver
from surefoot.robust.sqp.adversary import worst_case_distribution, worst_case_rows
from surefoot.robust.sqp.critical_radius import critical_radius
from surefoot.robust.sqp.row_sums import TableRows
from surefoot.robust.sqp.sqp import SQP


def drawn(seed: int, rows: int = 8) -> RobustLogisticProblem:
    """Ranged, unbounded and categorical columns in all mixtures, with and without flips, intercepts, and values on the ends."""
    draw = np.random.default_rng((seed, 3))
    numeric = int(draw.integers(1, 4))
    problem = draw_problem(
        seed,
        rows=rows,
        numeric=numeric,
        levels=tuple(draw.integers(2, 4, size=draw.integers(0, 3)).tolist()),
        radius=float(draw.choice([0.02, 0.1, 0.5, 2.0])),
        label_weight=float(draw.choice([np.inf, 0.4, 2.0])),
        fit_intercept=bool(draw.random() < 0.8),
        ranged=int(draw.integers(1, numeric + 1)),
    )
    weights = draw.exponential(size=rows)
    return replace(problem, weights=weights / weights.sum())


@pytest.mark.parametrize("seed", range(100))
def test_worst_cases_equal_enumeration_and_stops_on_the_way_gain_nothing(seed):
    problem, draw = drawn(seed), np.random.default_rng(seed)
    model = random_model(problem, draw, size=float(draw.choice([0.1, 1.0, 10.0])))
    found = worst_case_rows(problem, model)
    for row in range(problem.n_rows):
        wanted = reference.worst_case_loss(problem, model, row, model.price, stops=(0.0, 0.2, 0.7, 1.0))
        assert found.loss[row] == pytest.approx(wanted, rel=1e-12, abs=1e-12)
    rows = TableRows(problem, 1)
    assert rows.objective(rows.lift(model)) == pytest.approx(reference.objective(problem, model), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("seed", range(60))
def test_worst_rows_are_where_their_moves_say_and_cost_what_they_say(seed):
    problem, draw = drawn(seed), np.random.default_rng(seed)
    model = random_model(problem, draw)
    found = worst_case_rows(problem, model)
    ranged, places = problem.cost.ranged, problem.n_categorical
    for row in range(problem.n_rows):
        numbers, cost = problem.numeric[row].copy(), 0.0
        to_low, to_high = found.moved[row, places::2], found.moved[row, places + 1 :: 2]
        assert not (to_low & to_high).any()
        for column, low, high in zip(np.flatnonzero(ranged), to_low, to_high, strict=True):
            if low or high:
                numbers[column] = problem.cost.numeric_ranges[column, int(high)]
                cost += problem.cost.numeric_weights[column] * abs(numbers[column] - problem.numeric[row, column])
        label = -problem.labels[row] if found.flipped[row] else problem.labels[row]
        cost += problem.cost.label_weight if found.flipped[row] else 0.0
        cost += float(problem.cost.categorical_weights @ found.moved[row, :places])
        codes = []
        for l in range(places):
            levels = model.levels[problem.level_offsets[l] : problem.level_offsets[l + 1]]
            worst = int(np.argmin(levels) if label > 0 else np.argmax(levels))
            codes.append(worst if found.moved[row, l] else int(problem.codes[row, l]))
        score = reference.score(problem, model, row, tuple(codes), tuple(numbers))
        assert cost == pytest.approx(found.cost[row], rel=1e-12, abs=1e-15)
        assert reference.softplus(-label * score) - model.price * cost == pytest.approx(found.loss[row], rel=1e-11, abs=1e-12)


@pytest.mark.parametrize("seed", range(500))
def test_optima_equal_enumeration_and_are_proven(seed):
    problem = drawn(seed)
    outcome = SQP().solve(problem, SolveOptions(tolerance=1e-7))
    certificate = certify_robust_logistic(problem, outcome.primal, outcome.dual, 2e-6)
    assert certificate.verified, certificate.claim
    assert certificate.upper_bound == pytest.approx(reference.objective(problem, outcome.primal), rel=1e-9)
    # The enumerated model is a model as well: its objective, known to ten digits, is not below the proven bound.
    try:
        optimum = solve_enumerated(problem).optimum
    except RuntimeError:
        pytest.skip("the cone solver stalls; what was proven above holds without it")
    assert certificate.lower_bound <= optimum * (1 + 1e-9)
    assert outcome.upper_bound == pytest.approx(optimum, rel=2e-6)


def widened(problem: RobustLogisticProblem, by: float) -> RobustLogisticProblem:
    """The same problem with every range wider by so much at either end."""
    return replace(problem, cost=replace(problem.cost, numeric_ranges=problem.cost.numeric_ranges + np.array([-by, by])))


@pytest.mark.parametrize("seed", range(8))
def test_wide_ranges_are_no_ranges(seed):
    problem = draw_problem(seed, rows=30, numeric=2, levels=(3,), radius=0.1, label_weight=1.3, ranged=2)
    endless = replace(problem, cost=replace(problem.cost, numeric_ranges=None))
    limit = SQP().solve(endless, SolveOptions(tolerance=1e-9)).upper_bound
    found = [SQP().solve(widened(problem, by), SolveOptions(tolerance=1e-9)).upper_bound for by in (0.0, 1.0, 10.0, 1e3, 1e6)]
    assert np.all(np.diff(found) >= -1e-8), "more room to move is a worse worst case"
    assert found[-1] == pytest.approx(limit, rel=1e-4)
    assert max(found) <= limit * (1 + 1e-8)


def test_a_range_that_matters_makes_the_worst_case_less_bad():
    problem = draw_problem(0, rows=30, numeric=2, levels=(3,), radius=0.1, label_weight=1.3, ranged=2)
    endless = replace(problem, cost=replace(problem.cost, numeric_ranges=None))
    assert SQP().solve(problem, SolveOptions()).upper_bound < SQP().solve(endless, SolveOptions()).upper_bound * (1 - 1e-4)


@pytest.mark.parametrize("seed", range(8))
def test_units_of_a_ranged_column_do_not_matter(seed):
    problem = draw_problem(seed, rows=30, numeric=2, levels=(3,), radius=0.1, ranged=2)
    found = []
    for size in (1.0, 1e-6, 1e6):
        weights, ranges = problem.cost.numeric_weights / size, problem.cost.numeric_ranges * size
        scaled = replace(problem.cost, numeric_weights=weights, numeric_ranges=ranges)
        outcome = SQP().solve(replace(problem, numeric=problem.numeric * size, cost=scaled), SolveOptions(tolerance=1e-9))
        found.append(outcome.upper_bound)
    assert found == pytest.approx([found[0]] * 3, rel=1e-8)


@pytest.mark.parametrize("seed", range(8))
def test_shrinking_ranges_tend_to_no_shift(seed):
    """Two values, and a range around them that is no wider: moving costs more and more beside what it gains in score."""
    problem = draw_problem(seed, rows=40, numeric=1, radius=0.05, ranged=1)
    table = np.where(problem.numeric > 0, 1.0, -1.0)
    never = replace(problem, numeric=table, cost=replace(problem.cost, numeric_weights=np.array([np.inf]), numeric_ranges=None))
    limit = SQP().solve(never, SolveOptions(tolerance=1e-9)).upper_bound
    prices = (0.1, 1.0, 10.0, 1e3, 1e5)
    found = []
    for price in prices:  # the way across the range costs twice the price
        cost = replace(problem.cost, numeric_weights=np.array([price]), numeric_ranges=np.array([[-1.0, 1.0]]))
        found.append(SQP().solve(replace(problem, numeric=table, cost=cost), SolveOptions(tolerance=1e-9)).upper_bound)
    assert np.all(np.diff(found) <= 1e-8)
    assert found[-1] == pytest.approx(limit, rel=1e-4)


def test_a_range_without_width_is_a_column_that_never_shifts():
    problem = draw_problem(3, rows=20, numeric=2, levels=(2,))
    table = np.column_stack((problem.numeric, np.full(20, 4.0)))
    weights = np.append(problem.cost.numeric_weights, 1.0)
    ranges = np.array([[-np.inf, np.inf], [-np.inf, np.inf], [4.0, 4.0]])
    flat = replace(problem, numeric=table, cost=replace(problem.cost, numeric_weights=weights, numeric_ranges=ranges))
    never = replace(flat, cost=replace(flat.cost, numeric_weights=np.append(weights[:2], np.inf), numeric_ranges=None))
    found, wanted = (SQP().solve(each, SolveOptions()) for each in (flat, never))
    assert found.upper_bound == pytest.approx(wanted.upper_bound, rel=1e-6)
    assert certify_robust_logistic(flat, found.primal, found.dual, 2e-6).verified


@pytest.mark.parametrize("seed", range(40))
def test_the_worst_distribution_keeps_to_its_radius_and_attains_its_loss(seed):
    problem = drawn(seed)
    problem = replace(
        problem,
        cost=replace(problem.cost, numeric_ranges=np.column_stack((problem.numeric.min(axis=0), problem.numeric.max(axis=0)))),
    )
    model = SQP().solve(problem, SolveOptions()).primal
    worst = worst_case_distribution(problem, model)
    assert worst.numeric_budget == 0.0
    places, cost, loss = problem.n_categorical, 0.0, 0.0
    for row, moved, flipped, mass in zip(worst.row, worst.moved, worst.flipped, worst.mass, strict=True):
        numbers = problem.numeric[row].copy()
        for r, column in enumerate(np.flatnonzero(problem.cost.ranged)):
            for end in (0, 1):
                if moved[places + 2 * r + end]:
                    numbers[column] = problem.cost.numeric_ranges[column, end]
        label = -problem.labels[row] if flipped else problem.labels[row]
        way = np.abs(numbers - problem.numeric[row])
        cost += mass * float(problem.cost.numeric_weights[way > 0] @ way[way > 0])
        cost += mass * (
            float(problem.cost.categorical_weights @ moved[:places]) + (problem.cost.label_weight if flipped else 0.0)
        )
        codes = []
        for l in range(places):
            levels = model.levels[problem.level_offsets[l] : problem.level_offsets[l + 1]]
            codes.append(int(np.argmin(levels) if label > 0 else np.argmax(levels)) if moved[l] else int(problem.codes[row, l]))
        loss += mass * reference.softplus(-label * reference.score(problem, model, row, tuple(codes), tuple(numbers)))
    assert cost <= problem.radius * (1 + 1e-9)
    assert loss == pytest.approx(worst.expected_loss, rel=1e-9)
    assert worst.expected_loss == pytest.approx(reference.objective(problem, model), rel=2e-6)


def test_the_way_is_part_of_the_price_however_many_moves_there_are():
    """More than 64 moves: masks of two words."""
    problem = draw_problem(5, rows=60, numeric=40, levels=(2,), radius=0.3, ranged=40)
    outcome = SQP().solve(problem, SolveOptions())
    certificate = certify_robust_logistic(problem, outcome.primal, outcome.dual, 2e-6)
    assert certificate.verified, certificate.claim


def test_threads_make_no_difference():
    problem = draw_problem(6, rows=400, numeric=4, levels=(3,), radius=0.1, ranged=3)
    one, two = (SQP().solve(problem, SolveOptions(n_threads=threads)) for threads in (1, 2))
    assert one.upper_bound == pytest.approx(two.upper_bound, rel=1e-9)


def test_only_quadratic_steps_take_ranges_and_the_others_say_why():
    problem = draw_problem(7, rows=10, numeric=2, ranged=1)
    for name in SOLVERS.names:
        reason = make_solver(name).refuses(problem)
        if name in ("auto", "sqp"):
            assert reason is None
        else:
            assert "numeric column 0 has a range" in reason


def test_there_is_no_closed_form_of_the_critical_radius():
    assert critical_radius(draw_problem(8, rows=10, numeric=2, ranged=1)) is None
    assert critical_radius(draw_problem(8, rows=10, numeric=2)) is not None
