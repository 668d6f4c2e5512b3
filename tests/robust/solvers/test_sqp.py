from __future__ import annotations

import csv
import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problem_bank import WHOLE_BANK, draw_problem
from reference import worst_case as reference
from reference.enumerated_model import ReferenceSolution, solve_enumerated
from reference.proof import TOLERANCE, assert_proven

from surefoot.core.outcome import Progress, Status
from surefoot.core.solve_options import SolveOptions
from surefoot.exceptions import SeparableDataError, UnsupportedProblemError
from surefoot.robust.certificate.certificate import certify_robust_logistic
from surefoot.robust.problem.ground_cost import GroundCost
from surefoot.robust.problem.problem import RobustLogisticProblem
from surefoot.robust.registry import RobustOutcome
from surefoot.robust.sqp.sqp import LIMITS, SQP

# What the reference solver's own optimum may be off by.
SLACK = 1e-7
DATA = Path(__file__).resolve().parents[4] / "shared" / "data"


@cache
def best_of(name: str) -> ReferenceSolution:
    return solve_enumerated(WHOLE_BANK[name]())


def solve(problem: RobustLogisticProblem, **options: object) -> RobustOutcome:
    return SQP().solve(problem, SolveOptions(**options))


def assert_monotone(outcome: RobustOutcome) -> None:
    """No step of the history takes back what an earlier one had reached or proven."""
    assert [line.iteration for line in outcome.history] in (list(range(outcome.iterations + 1)), [outcome.iterations])
    upper = np.array([line.upper_bound for line in outcome.history])
    lower = np.array([line.lower_bound for line in outcome.history])
    assert (np.diff(upper) <= 0).all()
    assert (np.diff(lower) >= 0).all()
    assert (np.diff([line.seconds for line in outcome.history]) >= 0).all()
    assert upper[-1] == outcome.upper_bound


def objective_of(problem: RobustLogisticProblem, outcome: RobustOutcome) -> float:
    # The price must admit the numeric coefficients; restoring their units may have rounded one of them up.
    model = replace(outcome.primal, price=outcome.primal.price * (1 + 1e-12))
    return reference.objective(problem, model)


@pytest.mark.parametrize("name", WHOLE_BANK)
def test_reaches_and_proves_the_optimum_of_the_enumerated_model(name):
    problem = WHOLE_BANK[name]()
    outcome = solve(problem)
    assert_proven(problem, outcome)
    assert_monotone(outcome)
    optimum = best_of(name).optimum
    assert outcome.upper_bound == pytest.approx(optimum, rel=TOLERANCE)
    assert outcome.lower_bound <= optimum + SLACK
    assert objective_of(problem, outcome) == pytest.approx(outcome.upper_bound, rel=1e-9)


@settings(max_examples=100, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(2, 40),
    st.integers(0, 3),
    st.lists(st.integers(1, 4), max_size=4).map(tuple),
    st.sampled_from([1e-3, 0.02, 0.1, 0.5, 3.0]),
    st.sampled_from([np.inf, 0.3, 1.5]),
    st.booleans(),
)
def test_random_problems_end_with_a_verified_certificate(seed, rows, numeric, levels, radius, label_weight, fit_intercept):
    problem = draw_problem(
        seed, rows=rows, numeric=numeric, levels=levels, radius=radius, label_weight=label_weight, fit_intercept=fit_intercept
    )
    outcome = solve(problem)
    assert_proven(problem, outcome)
    assert_monotone(outcome)


@pytest.mark.parametrize(
    ("seed", "rows", "levels", "radius", "label_weight", "norm"),
    [
        (10566, 25, (3, 2, 2), 0.000408, np.inf, "l1"),
        (20246, 15, (1, 1, 2), 0.0006, 5.51, "l1"),
        (14346, 33, (6, 6, 2, 1, 1), 0.00286, np.inf, "linf"),
        (19684, 25, (3,), 0.00133, 2.06, "linf"),
    ],
)
def test_gradients_of_columns_that_do_not_hold_the_price_do_not_hold_the_bound_back(
    seed, rows, levels, radius, label_weight, norm
):
    problem = draw_problem(seed, rows=rows, numeric=4, levels=levels, radius=radius, label_weight=label_weight, norm=norm)
    outcome = SQP().solve(problem, SolveOptions(tolerance=1e-6))
    assert outcome.status is Status.OPTIMAL
    assert certify_robust_logistic(problem, outcome.primal, outcome.dual, 1e-6).verified


def test_threads_change_nothing_not_even_the_last_bit():
    # More rows than two blocks hold (cpp/include/surefoot/parallel.hpp), so that threads have something to share.
    problem = draw_problem(3, rows=6000, numeric=3, levels=(4, 3, 5), radius=0.05, label_weight=1.2)
    alone, together = solve(problem, n_threads=1), solve(problem, n_threads=2)
    assert_proven(problem, alone)
    assert alone.iterations == together.iterations
    assert alone.primal.intercept == together.primal.intercept
    assert alone.primal.price == together.primal.price
    np.testing.assert_array_equal(alone.primal.numeric, together.primal.numeric)
    np.testing.assert_array_equal(alone.primal.levels, together.primal.levels)
    np.testing.assert_array_equal(alone.dual.mass, together.dual.mass)


def test_warm_start_at_the_optimum_saves_most_iterations():
    cold_iterations, warm_iterations = [], []
    for make_problem in WHOLE_BANK.values():
        problem = make_problem()
        cold = SQP().solve(problem, SolveOptions())
        warm = SQP().solve(problem, SolveOptions(), warm_start=SQP().solve(problem, SolveOptions(tolerance=1e-8)).primal)
        assert_proven(problem, warm)
        cold_iterations.append(cold.iterations)
        warm_iterations.append(warm.iterations)
    assert np.median(warm_iterations) <= 2
    assert sum(warm_iterations) <= 0.5 * sum(cold_iterations)


@pytest.mark.parametrize("name", ["mixed", "numeric_only", "categorical_only", "mixed_with_label_price", "symmetric_board"])
def test_a_bad_warm_start_costs_time_only(name):
    problem = WHOLE_BANK[name]()
    draw = np.random.default_rng(0)
    start = best_of(name).coefficients
    levels = 5.0 * draw.normal(size=start.levels.size)
    levels[problem.level_offsets[:-1]] = 0.0
    # The price is far too low for these coefficients, as it may be in a model of another radius.
    start = replace(start, intercept=4.0, numeric=5.0 * draw.normal(size=start.numeric.size), levels=levels, price=0.0)
    outcome = SQP().solve(problem, SolveOptions(), warm_start=start)
    assert_proven(problem, outcome)
    assert outcome.upper_bound == pytest.approx(best_of(name).optimum, rel=TOLERANCE)


@pytest.mark.parametrize("limit", [{"time_limit": 1e-6}, {"max_iter": 1}])
@pytest.mark.parametrize("name", ["mixed", "categorical_only", "mixed_with_label_price", "separable", "duplicate_rows"])
def test_a_limit_ends_with_a_finite_model_and_true_bounds(name, limit):
    problem = WHOLE_BANK[name]()
    outcome = solve(problem, tolerance=1e-10, **limit)
    assert outcome.status is (Status.TIME_LIMIT if "time_limit" in limit else Status.ITERATION_LIMIT)
    assert [line.iteration for line in outcome.history] == [0, 1]
    assert outcome.iterations == 1
    model = outcome.primal
    assert np.isfinite([model.intercept, model.price, *model.numeric, *model.levels]).all()
    optimum = best_of(name).optimum
    assert outcome.lower_bound <= optimum + SLACK
    assert outcome.upper_bound >= optimum - SLACK
    assert objective_of(problem, outcome) == pytest.approx(outcome.upper_bound, rel=1e-9)
    certificate = certify_robust_logistic(problem, model, outcome.dual, TOLERANCE)
    assert certificate.lower_bound <= optimum + SLACK


@pytest.mark.parametrize("label_weight", [np.inf, 0.5])
def test_radius_zero_on_perfectly_separated_classes_is_refused(label_weight):
    problem = replace(WHOLE_BANK["separable"](), radius=0.0)
    problem = replace(problem, cost=replace(problem.cost, label_weight=label_weight))
    with pytest.raises(SeparableDataError, match="radius"):
        solve(problem)


def test_radius_zero_on_a_level_of_one_label_only_is_refused():
    problem = draw_problem(21, rows=60, numeric=2, levels=(3,), radius=0.0)
    problem = replace(problem, labels=np.where(problem.codes[:, 0] == 2, 1.0, problem.labels))
    with pytest.raises(SeparableDataError, match="one label only"):
        solve(problem)


@pytest.mark.parametrize("name", ["mixed", "mixed_with_label_price", "unequal_weights", "plain_logistic"])
def test_repeating_a_row_is_the_same_as_weighing_it(name):
    problem = WHOLE_BANK[name]()
    times = np.random.default_rng(0).integers(0, 4, size=problem.n_rows)
    times[:2] = 1
    weighed = replace(problem, weights=times / times.sum())
    pick = np.random.default_rng(1).permutation(np.repeat(np.arange(problem.n_rows), times))
    repeated = replace(
        problem,
        numeric=problem.numeric[pick],
        codes=problem.codes[pick],
        labels=problem.labels[pick],
        weights=np.full(pick.size, 1.0 / pick.size),
    )
    first, second = solve(weighed, tolerance=1e-9), solve(repeated, tolerance=1e-9)
    assert_proven(weighed, first)
    assert_proven(repeated, second)
    assert second.upper_bound == pytest.approx(first.upper_bound, rel=2e-9)


@pytest.mark.parametrize("name", ["numeric_only", "mixed", "mixed_with_label_price", "no_intercept"])
def test_units_of_a_column_change_its_coefficient_and_nothing_else(name):
    problem = WHOLE_BANK[name]()
    # Powers of two, so that the change of units itself rounds nothing.
    units = 2.0 ** np.arange(30, 30 - 17 * problem.n_numeric, -17)
    cost = replace(problem.cost, numeric_weights=problem.cost.numeric_weights / units)
    plain, scaled = solve(problem), solve(replace(problem, numeric=problem.numeric * units, cost=cost))
    assert scaled.upper_bound == pytest.approx(plain.upper_bound, rel=1e-12)
    assert scaled.primal.price == pytest.approx(plain.primal.price, rel=1e-9)
    np.testing.assert_allclose(scaled.primal.numeric * units, plain.primal.numeric, rtol=1e-9)


@pytest.mark.parametrize("name", ["mixed", "mixed_with_label_price", "symmetric_board"])
def test_swapping_the_labels_changes_signs_and_not_the_objective(name):
    problem = WHOLE_BANK[name]()
    swapped = solve(replace(problem, labels=-problem.labels), tolerance=1e-9)
    assert swapped.upper_bound == pytest.approx(solve(problem, tolerance=1e-9).upper_bound, rel=2e-9)


def test_progress_is_told_at_the_start_and_once_per_iteration():
    told: list[Progress] = []
    outcome = solve(WHOLE_BANK["mixed"](), on_progress=told.append)
    assert tuple(told) == outcome.history
    assert len(told) == outcome.iterations + 1 > 2


def test_an_exception_of_the_listener_reaches_the_caller():
    calls: list[int] = []

    def interrupt(progress: Progress) -> None:
        calls.append(progress.iteration)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        solve(WHOLE_BANK["mixed"](), on_progress=interrupt)
    assert calls == [0]


def test_more_coordinates_than_a_dense_method_can_take_are_refused_with_their_count():
    levels = LIMITS.max_coordinates + 1000
    problem = RobustLogisticProblem(
        numeric=np.zeros((2, 0)),
        codes=np.array([[0], [levels - 1]]),
        n_levels=np.array([levels]),
        labels=np.array([1.0, -1.0]),
        weights=np.array([0.5, 0.5]),
        cost=GroundCost(np.zeros(0), np.ones(1)),
        radius=0.1,
    )
    with pytest.raises(UnsupportedProblemError) as refusal:
        solve(problem)
    numbers = [int(number) for number in re.findall(r"\d+", str(refusal.value))]
    assert LIMITS.max_coordinates in numbers
    # Levels, intercept and price at least; a few envelopes at most.
    assert any(levels + 1 <= number <= levels + 10 for number in numbers)


def categorical_table(
    name: str, positive: str, dropped: str | None, weights: list[float], theta: float
) -> RobustLogisticProblem:
    path = DATA / "uci" / f"{name}.csv"
    if not path.exists():
        pytest.skip(f"{name}.csv is not beside the repository (shared/data/uci)")
    with path.open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["class"] != dropped]
    columns = [column for column in rows[0] if column != "class"]
    coded = [np.unique([row[column] for row in rows], return_inverse=True) for column in columns]
    return RobustLogisticProblem(
        numeric=np.zeros((len(rows), 0)),
        codes=np.column_stack([codes for _, codes in coded]),
        n_levels=np.array([len(names) for names, _ in coded]),
        labels=np.where([row["class"] == positive for row in rows], 1.0, -1.0),
        weights=np.full(len(rows), 1.0 / len(rows)),
        cost=GroundCost(np.zeros(0), np.array(weights)),
        radius=-float(np.log(theta)),
    )


BOARD, REAL_BOARD = [1.0, 2.0, 1.0, 3.0, 1.0, 2.0, 1.0, 2.0, 1.0], [0.37, 1.93, 0.81, 2.6, 1.11, 0.59, 1.7, 0.44, 2.05]
CAR, REAL_CAR = [1.0, 2.0, 3.0, 1.0, 2.0, 1.0], [0.7, 1.31, 2.2, 0.45, 1.05, 1.9]
BALANCE = [0.9, 1.4, 2.3, 0.6]


# Optima found by independent code and matched by a dual bound to 1e-6 or better.
@pytest.mark.parametrize(
    ("name", "positive", "dropped", "weights", "theta", "optimum"),
    [
        ("tic_tac_toe", "positive", None, BOARD, 0.9, 0.59889196),
        ("tic_tac_toe", "positive", None, BOARD, 0.65, 0.64130894),
        ("tic_tac_toe", "positive", None, REAL_BOARD, 0.9, 0.60280697),
        ("tic_tac_toe", "positive", None, REAL_BOARD, 0.65, 0.64305701),
        ("car", "unacc", None, CAR, 0.9, 0.47221791),
        ("car", "unacc", None, CAR, 0.65, 0.60489542),
        ("car", "unacc", None, REAL_CAR, 0.9, 0.47554632),
        ("car", "unacc", None, REAL_CAR, 0.65, 0.60700758),
        ("balance_scale", "L", "B", BALANCE, 0.9, 0.46391684),
        ("balance_scale", "L", "B", BALANCE, 0.65, 0.64367573),
        ("voting", "democrat", None, [1.0] * 16, 0.9, 0.23831192),
        ("voting", "democrat", None, [1.0] * 16, 0.65, 0.39239466),
    ],
)
def test_known_optima_of_public_tables_are_reached_and_proven(name, positive, dropped, weights, theta, optimum):
    problem = categorical_table(name, positive, dropped, weights, theta)
    outcome = solve(problem)
    assert_proven(problem, outcome)
    assert outcome.upper_bound == pytest.approx(optimum, rel=1.1e-6)
    assert outcome.lower_bound <= optimum * (1 + 1e-7)


def test_known_optimum_of_a_numeric_table_with_a_label_price_is_reached_and_proven():
    draw = np.random.default_rng(0)
    x = draw.normal(size=(5000, 100))
    w = draw.normal(size=100) / np.sqrt(100) * 2
    labels = np.where(draw.uniform(size=5000) < 1 / (1 + np.exp(-x @ w)), 1.0, -1.0)
    problem = RobustLogisticProblem(
        numeric=x,
        codes=np.zeros((5000, 0)),
        n_levels=np.zeros(0),
        labels=labels,
        weights=np.full(5000, 1 / 5000),
        cost=GroundCost(np.ones(100), np.zeros(0), 1.0),
        radius=0.1,
        fit_intercept=False,
    )
    outcome = solve(problem)
    assert_proven(problem, outcome)
    assert outcome.upper_bound == pytest.approx(0.66772637, rel=1.1e-6)


def test_a_problem_without_any_coefficient_is_solved():
    problem = draw_problem(1, rows=8, levels=(1,), radius=0.0, fit_intercept=False)
    outcome = SQP().solve(problem, SolveOptions())
    assert outcome.upper_bound == pytest.approx(np.log(2.0), rel=1e-12)
    assert_proven(problem, outcome)


def test_a_solver_that_knows_the_rows_finds_what_a_new_one_finds():
    known = SQP()
    start = None
    first = draw_problem(11, rows=40, numeric=2, levels=(3, 2, 4), radius=0.3)
    # Falling radii, one above the first, another price of labels, and a table with one row changed.
    posed = [replace(first, radius=radius) for radius in (0.3, 0.1, 0.02, 0.5)]
    posed.append(replace(first, cost=replace(first.cost, label_weight=0.7), radius=0.1))
    other = first.labels.copy()
    other[0] = -other[0]
    posed.append(replace(first, labels=other, radius=0.1))
    for problem in posed:
        outcome = known.solve(problem, SolveOptions(), start)
        start = outcome.primal
        fresh = solve(problem)
        assert outcome.upper_bound == pytest.approx(fresh.upper_bound, rel=2e-6)
        assert_proven(problem, outcome)
