"""The choice of a method for score cards, and the quick heuristic."""

from __future__ import annotations

import logging
import math
from dataclasses import replace

import numpy as np
import pytest
from reference.enumerated_score import best_card
from reference.random_scores import binary_table, draw_problem

from surefoot.core.outcome import Progress, SolveOutcome, Status
from surefoot.core.solve_options import SolveOptions
from surefoot.exceptions import InfeasibleProblemError, SolveInterrupted
from surefoot.riskscore.automatic import AutomaticScore, ChoiceParameters, SearchForecast
from surefoot.riskscore.lattice.lcpa import LCPA
from surefoot.riskscore.problem.problem import RiskScore, RiskScoreProblem
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
    problem = binary_table(n=500, d=40, size=8)
    solver = AutomaticScore()
    outcome = solver.solve(problem, SolveOptions(tolerance=0.0, time_limit=1.0))
    assert solver.name == "exact+lcpa"
    assert "cutting planes follow" in solver.reason
    assert problem.admits(outcome.primal)
    assert 0 < outcome.lower_bound <= outcome.upper_bound
    assert outcome.upper_bound == pytest.approx(problem.objective(outcome.primal), abs=ROUNDING)


def test_a_search_that_finishes_in_time_is_left_alone():
    # As many supports as no machine could fit in the time, nearly all of them in subtrees that bounds rule out.
    problem, solver = binary_table(n=500, d=40, size=6), AutomaticScore()
    outcome = solver.solve(problem, SolveOptions(tolerance=0.0, time_limit=60.0))
    assert solver.name == "exact"
    assert outcome.status is Status.OPTIMAL
    assert outcome.lower_bound == outcome.upper_bound


def test_cards_too_long_for_the_search_go_to_cutting_planes():
    problem, solver = binary_table(n=200, d=18, size=18), AutomaticScore()
    assert solver.refuses(problem) is None
    outcome = solver.solve(problem, SolveOptions(tolerance=0.0, time_limit=0.5))
    assert solver.name == "lcpa"
    assert "cannot take" in solver.reason
    assert problem.admits(outcome.primal)


def looked_at(fraction: float, seconds: float, *, upper: float = 0.5, lower: float = 0.1) -> SearchForecast:
    """A forecast after so many seconds of 90, two of them before there was a tree, of which so much is done by then."""
    forecast = SearchForecast(SolveOptions(tolerance=0.0, time_limit=90.0), ChoiceParameters())
    assert not forecast.gives_up(Progress(0, upper, lower, 2.0), math.nan)
    forecast.options = replace(forecast.options, started=forecast.options.started - seconds)
    forecast.gives_up(Progress(9, upper, lower, seconds), fraction)
    return forecast


@pytest.mark.parametrize(("fraction", "given_up"), [(0.0, True), (0.1, True), (0.2, True), (0.25, False), (1.0, False)])
def test_the_fraction_of_the_tree_that_is_done_decides(fraction: float, given_up: bool):
    # After 62 s, 60 of them in the tree, 28 s are left: 60 (1 - f) / f exceeds eight times that for f < 0.211.
    forecast = looked_at(fraction, 62.0)
    assert forecast.given_up is given_up
    assert f"{fraction:.2%} of its tree" in forecast.verdict
    assert ("cutting planes follow" in forecast.verdict) is given_up


def test_a_search_is_looked_at_once_and_not_before_its_time():
    early = looked_at(0.01, 50.0)
    assert not early.given_up and early.verdict == ""
    late = looked_at(0.9, 62.0)
    assert not late.gives_up(Progress(10, 0.5, 0.1, 63.0), 0.01)
    assert "90.00%" in late.verdict


def test_a_search_without_a_card_or_with_a_closed_gap_goes_on():
    assert not looked_at(0.01, 62.0, upper=math.inf).given_up
    assert not looked_at(0.01, 62.0, lower=0.5).given_up


def test_a_search_that_still_looks_for_its_first_cards_is_not_cut_short():
    forecast = looked_at(math.nan, 62.0)
    assert not forecast.given_up and forecast.verdict == ""
    assert forecast.gives_up(Progress(9, 0.5, 0.1, 63.0), 0.001), "it is looked at as soon as there is a tree"


def test_the_fraction_done_rises_to_one():
    seen: list[float] = []

    def look(progress: Progress, fraction: float) -> bool:
        seen.append(fraction)
        return False

    problem = binary_table(n=500, d=40, size=7)
    outcome = ExactScore(gives_up=look).solve(problem, SolveOptions(tolerance=0.0))
    assert outcome.status is Status.OPTIMAL
    known = [fraction for fraction in seen if not math.isnan(fraction)]
    assert known and known == sorted(known)
    assert known[0] >= 0 and known[-1] <= 1


def test_a_search_that_gives_up_has_a_card_and_a_valid_bound():
    problem = binary_table(n=500, d=40, size=8)
    outcome = ExactScore(gives_up=lambda progress, _: progress.lower_bound > 0).solve(problem, SolveOptions(tolerance=0.0))
    assert outcome.status is Status.TIME_LIMIT
    assert outcome.seconds < 20
    assert problem.admits(outcome.primal)
    assert 0 < outcome.lower_bound <= outcome.upper_bound


def test_a_search_that_gives_up_is_never_worse_than_its_two_halves():
    problem = binary_table(seed=4, n=500, d=40, size=8)
    outcome = AutomaticScore(parameters=ChoiceParameters(estimate_ratio=0.0)).solve(
        problem, SolveOptions(tolerance=0.0, time_limit=1.5)
    )
    lines = outcome.history
    assert outcome.upper_bound <= min(line.upper_bound for line in lines)
    assert outcome.lower_bound >= max(line.lower_bound for line in lines if line.lower_bound <= outcome.upper_bound) - ROUNDING


def test_a_free_scale_has_all_of_the_time_for_the_search():
    solver = AutomaticScore()
    solver.solve(replace(binary_table(n=200, d=5, size=3), scale="free"), SolveOptions(tolerance=0.0, time_limit=30.0))
    assert solver.name == "exact"
    assert "cutting planes cannot" in solver.reason


def test_ctrl_c_in_the_cutting_planes_keeps_the_bound_of_the_search(monkeypatch: pytest.MonkeyPatch):
    def interrupted(self: LCPA, problem: RiskScoreProblem, options: SolveOptions) -> None:
        assert self.first_card is not None
        card = RiskScore(0, np.zeros(problem.n_columns, dtype=np.int32))
        value = problem.objective(card)
        raise SolveInterrupted("interrupted", SolveOutcome(Status.INTERRUPTED, card, None, value, 0.0, 1, 1.0))

    monkeypatch.setattr(LCPA, "solve", interrupted)
    problem = binary_table(n=500, d=40, size=8)
    with pytest.raises(SolveInterrupted, match="interrupted") as caught:
        AutomaticScore(parameters=ChoiceParameters(estimate_ratio=0.0)).solve(
            problem, SolveOptions(tolerance=0.0, time_limit=1.0)
        )
    outcome = caught.value.outcome
    assert outcome.status is Status.INTERRUPTED
    assert outcome.primal.size > 0
    assert outcome.lower_bound > 0


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


def test_a_search_that_hands_over_has_columns_exchanged_before_cutting_planes():
    problem = binary_table(n=400, d=12, size=4)
    options = SolveOptions(time_limit=60.0)
    searched = ExactScore().solve(problem, SolveOptions(time_limit=0.0))
    better = AutomaticScore()._exchanged(searched, problem, options)
    assert problem.objective(better) < searched.upper_bound
    best = ExactScore().solve(problem, options)
    assert AutomaticScore()._exchanged(best, problem, options) is best.primal
