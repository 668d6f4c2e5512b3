"""The choice of a method for score cards, and the quick heuristic."""

from __future__ import annotations

import logging
from dataclasses import replace

import numpy as np
import pytest
from reference.enumerated_score import best_card
from reference.random_scores import binary_table, draw_problem

from surefoot.core.outcome import Status
from surefoot.core.solve_options import SolveOptions
from surefoot.exceptions import InfeasibleProblemError
from surefoot.riskscore.automatic import AutomaticScore, expected_seconds
from surefoot.riskscore.search.exact_score import ExactScore
from surefoot.riskscore.search.heuristic_score import HeuristicScore

ROUNDING = 1e-12


def test_without_a_time_limit_the_search_may_finish(caplog: pytest.LogCaptureFixture):
    problem, solver = binary_table(n=200, d=8, size=3), AutomaticScore()
    with caplog.at_level(logging.INFO, logger="surefoot"):
        outcome = solver.solve(problem, SolveOptions(tolerance=0.0))
    assert solver.name == "exact"
    assert "no time limit" in solver.reason
    assert solver.reason in caplog.text
    assert outcome.status is Status.OPTIMAL
    assert outcome.upper_bound == ExactScore().solve(problem, SolveOptions(tolerance=0.0)).upper_bound


def test_a_search_that_will_not_finish_is_followed_by_cutting_planes():
    problem = binary_table(n=500, d=40, size=6)
    assert expected_seconds(problem) > 1.0
    solver = AutomaticScore()
    outcome = solver.solve(problem, SolveOptions(tolerance=0.0, time_limit=1.0))
    assert solver.name == "exact+lcpa"
    assert "cutting planes follow" in solver.reason
    assert problem.admits(outcome.primal)
    assert 0 < outcome.lower_bound <= outcome.upper_bound
    assert outcome.upper_bound == pytest.approx(problem.objective(outcome.primal), abs=ROUNDING)


def test_cards_too_long_for_the_search_go_to_cutting_planes():
    problem, solver = binary_table(n=200, d=18, size=18), AutomaticScore()
    assert solver.refuses(problem) is None
    outcome = solver.solve(problem, SolveOptions(tolerance=0.0, time_limit=0.5))
    assert solver.name == "lcpa"
    assert "cannot take" in solver.reason
    assert problem.admits(outcome.primal)


def test_more_columns_and_real_columns_are_expected_to_take_longer():
    few, many = binary_table(d=10, size=4), binary_table(d=30, size=4)
    assert expected_seconds(few) < expected_seconds(many)
    assert expected_seconds(few, n_threads=2) == expected_seconds(few) / 2
    assert expected_seconds(few) < expected_seconds(replace(few, columns=few.columns + 0.5))


@pytest.mark.parametrize("kind", ["binary", "integer", "real"])
@pytest.mark.parametrize("seed", range(8))
def test_the_heuristic_keeps_rules_and_its_bound_holds(kind: str, seed: int):
    problem = draw_problem(seed, kind, weighted=True, ruled=seed % 2 == 1)
    best, card = best_card(problem)
    if card is None:
        with pytest.raises(InfeasibleProblemError):
            HeuristicScore().solve(problem, SolveOptions(tolerance=0.0))
        return
    outcome = HeuristicScore().solve(problem, SolveOptions(tolerance=0.0))
    assert problem.admits(outcome.primal)
    assert outcome.upper_bound == pytest.approx(problem.objective(outcome.primal), abs=ROUNDING)
    assert outcome.lower_bound - ROUNDING <= best <= outcome.upper_bound + ROUNDING


def test_no_exchange_of_one_column_improves_the_heuristics_card():
    rng = np.random.default_rng(3)
    problem = binary_table(seed=3, n=200, d=7, size=3)
    problem = replace(problem, columns=problem.columns + rng.integers(0, 3, problem.columns.shape))
    outcome = HeuristicScore().solve(problem, SolveOptions(tolerance=0.0, time_limit=30.0))
    used = np.flatnonzero(outcome.primal.points)
    for out in used:
        for column in set(range(7)) - set(used.tolist()):
            kept = np.append(used[used != out], column)
            limits = np.isin(np.arange(7), kept)
            near = replace(problem, lower=np.where(limits, problem.lower, 0), upper=np.where(limits, problem.upper, 0))
            assert ExactScore().solve(near, SolveOptions(tolerance=0.0)).upper_bound >= outcome.upper_bound - ROUNDING


@pytest.mark.parametrize("seed", range(3))
def test_a_free_scale_is_used(seed: int):
    problem = binary_table(seed=seed, n=200, d=5, size=3)
    unit = HeuristicScore().solve(problem, SolveOptions(tolerance=0.0))
    free = replace(problem, scale="free")
    outcome = HeuristicScore().solve(free, SolveOptions(tolerance=0.0))
    assert free.admits(outcome.primal)
    assert outcome.upper_bound == pytest.approx(free.objective(outcome.primal), abs=ROUNDING)
    assert outcome.upper_bound < unit.upper_bound


def test_without_time_the_heuristic_returns_the_empty_card():
    outcome = HeuristicScore().solve(binary_table(), SolveOptions(tolerance=0.0, time_limit=0.0))
    assert outcome.status is Status.TIME_LIMIT
    assert outcome.primal.size == 0
