"""The exact search for score cards against complete enumeration, and its manners under limits."""

from __future__ import annotations

import dataclasses
import pickle
import signal
import threading

import numpy as np
import pytest
from reference.drawn_score import binary_table, draw_problem
from reference.enumerated_score import best_card

from surefoot.core.outcome import Status
from surefoot.core.solve_options import SolveOptions
from surefoot.exceptions import InfeasibleProblemError, SolveInterrupted
from surefoot.riskscore.problem.card_rules import GroupRule
from surefoot.riskscore.problem.problem import RiskScore, RiskScoreProblem
from surefoot.riskscore.search.exact_score import ExactScore, ScoreOutcome

# Both sides add the same few numbers in another order.
ROUNDING = 1e-12


def solve(problem: RiskScoreProblem, **options: object) -> ScoreOutcome:
    return ExactScore().solve(problem, SolveOptions(**{"tolerance": 0.0, **options}))


def assert_best(problem: RiskScoreProblem, **options: object) -> None:
    value, card = best_card(problem)
    if card is None:
        with pytest.raises(InfeasibleProblemError, match="rules"):
            solve(problem, **options)
        return
    outcome = solve(problem, **options)
    assert outcome.status is Status.OPTIMAL
    assert problem.admits(outcome.primal)
    assert outcome.upper_bound == pytest.approx(problem.objective(outcome.primal), abs=ROUNDING)
    assert outcome.upper_bound == pytest.approx(value, abs=ROUNDING)
    assert outcome.lower_bound == outcome.upper_bound


@pytest.mark.parametrize("kind", ["binary", "integer", "real", "mixed"])
@pytest.mark.parametrize("seed", range(25))
def test_equals_complete_enumeration(kind: str, seed: int):
    assert_best(draw_problem(seed, kind))


@pytest.mark.parametrize("kind", ["binary", "real"])
@pytest.mark.parametrize("seed", range(15))
def test_equals_complete_enumeration_with_weights(kind: str, seed: int):
    assert_best(draw_problem(seed, kind, weighted=True))


@pytest.mark.parametrize("kind", ["binary", "integer", "mixed"])
@pytest.mark.parametrize("seed", range(20))
def test_equals_complete_enumeration_under_rules(kind: str, seed: int):
    assert_best(draw_problem(seed, kind, ruled=True))


@pytest.mark.parametrize("kind", ["binary", "integer"])
@pytest.mark.parametrize("seed", range(12))
def test_columns_that_say_the_same_are_still_searched_together(kind: str, seed: int):
    assert_best(draw_problem(seed, kind, twins=True))


def test_bit_counts_and_row_groups_find_the_same_card():
    problem = binary_table()
    # A trace of difference in every weight is more than bit counts take, and not enough to move the optimum.
    weights = problem.weights * (1 + 1e-13 * np.arange(problem.n_rows))
    grouped = RiskScoreProblem(
        problem.columns, problem.labels, weights / weights.sum(), problem.lower, problem.upper, -20, 20, 4, problem.penalty
    )
    by_bits, by_rows = solve(problem), solve(grouped)
    assert by_bits.primal.intercept == by_rows.primal.intercept
    np.testing.assert_array_equal(by_bits.primal.points, by_rows.primal.points)
    assert by_bits.upper_bound == pytest.approx(by_rows.upper_bound, abs=1e-11)


def test_repeated_rows_are_the_same_as_weights():
    problem = binary_table(seed=1, n=200, d=10, size=3)
    counts = np.random.default_rng(3).integers(1, 4, problem.n_rows)
    rows = np.repeat(np.arange(problem.n_rows), counts)
    limits = (problem.lower, problem.upper, -20, 20, 3, problem.penalty)
    weighted = RiskScoreProblem(problem.columns, problem.labels, counts / counts.sum(), *limits)
    repeated = RiskScoreProblem(problem.columns[rows], problem.labels[rows], np.full(rows.size, 1 / rows.size), *limits)
    assert solve(weighted).upper_bound == pytest.approx(solve(repeated).upper_bound, abs=ROUNDING)


@pytest.mark.parametrize("seed", range(5))
def test_threads_do_not_change_the_card(seed: int):
    problem = binary_table(seed=seed, n=300)
    one, many = solve(problem, n_threads=1), solve(problem, n_threads=3)
    assert one.primal.intercept == many.primal.intercept
    np.testing.assert_array_equal(one.primal.points, many.primal.points)
    assert one.upper_bound == many.upper_bound


def test_no_time_still_gives_a_card_and_a_valid_bound():
    problem = binary_table(d=20, size=5)
    best = solve(problem).upper_bound
    hurried = solve(problem, time_limit=0.0)
    assert hurried.status is Status.TIME_LIMIT
    assert hurried.lower_bound <= best <= hurried.upper_bound
    assert problem.admits(hurried.primal)


def test_a_gap_is_kept():
    problem = binary_table(seed=2)
    best, loose = solve(problem).upper_bound, solve(problem, tolerance=0.05)
    assert loose.lower_bound <= best <= loose.upper_bound
    assert loose.upper_bound - loose.lower_bound <= 0.05 * loose.upper_bound + ROUNDING


def test_a_listener_that_raises_ends_the_search():
    def complain(_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        solve(binary_table(n=3000, d=60, size=6), on_progress=complain, time_limit=60)


def test_ctrl_c_reaches_the_caller_with_the_best_card_and_a_valid_bound():
    problem = binary_table(n=3000, d=60, size=7)
    timer = threading.Timer(0.5, signal.raise_signal, [signal.SIGINT])
    timer.start()
    with pytest.raises(KeyboardInterrupt) as interrupted:
        solve(problem, time_limit=60)
    timer.join()
    assert isinstance(interrupted.value, SolveInterrupted)
    outcome = pickle.loads(pickle.dumps(interrupted.value)).outcome
    assert outcome.status is Status.INTERRUPTED
    assert f"{outcome.upper_bound:.9g}" in str(interrupted.value)
    assert problem.admits(outcome.primal)
    assert outcome.lower_bound <= outcome.upper_bound == pytest.approx(problem.objective(outcome.primal), abs=ROUNDING)


def test_the_empty_card_wins_where_columns_cost_more_than_they_bring():
    problem = binary_table(size=3)
    dear = RiskScoreProblem(
        problem.columns, problem.labels, problem.weights, problem.lower, problem.upper, -20, 20, 3, penalty=1.0
    )
    outcome = solve(dear)
    assert outcome.primal.size == 0
    values = [dear.objective(RiskScore(b, np.zeros(14, dtype=np.int32))) for b in range(-20, 21)]
    assert outcome.upper_bound == pytest.approx(min(values), abs=ROUNDING)


@pytest.mark.parametrize("limit", [0.0, 0.05, 0.4])
def test_a_time_limit_is_kept_in_every_phase(limit: float):
    """Heuristic, tables of counts and all pairs of 300 columns take far longer than this."""
    problem = binary_table(n=4000, d=300, size=5)
    outcome = solve(problem, time_limit=limit)
    assert outcome.status is Status.TIME_LIMIT
    assert outcome.seconds < limit + 1.0
    assert problem.admits(outcome.primal)
    assert 0 <= outcome.lower_bound <= outcome.upper_bound == pytest.approx(problem.objective(outcome.primal), abs=ROUNDING)


def test_a_stopped_search_has_a_bound_worth_having():
    problem = binary_table(n=2000, d=40, size=8)
    outcome = solve(problem, time_limit=1.5)
    assert outcome.status is Status.TIME_LIMIT
    assert outcome.upper_bound - outcome.lower_bound < 0.4 * outcome.upper_bound
    bounds = [line.lower_bound for line in outcome.history]
    assert bounds == sorted(bounds)
    assert outcome.lower_bound >= bounds[-1]


def test_no_time_and_a_rule_that_asks_for_columns_is_an_error_that_says_so():
    problem = dataclasses.replace(binary_table(), rules=(GroupRule((0, 1, 2), least=1),))
    with pytest.raises(InfeasibleProblemError, match="in the time given"):
        solve(problem, time_limit=0.0)
