"""All cards near the best, against all cards there are."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from reference.drawn_score import binary_table, draw_problem
from reference.enumerated_score import all_cards

from surefoot.core.outcome import Status
from surefoot.core.solve_options import SolveOptions
from surefoot.riskscore.problem.problem import RiskScoreProblem
from surefoot.riskscore.search.exact_score import ExactScore
from surefoot.riskscore.search.near_cards import NearOptimalCards

ROUNDING = 1e-12


def near(problem: RiskScoreProblem, tolerance: float, *, n_threads: int = 1, **options: object) -> NearOptimalCards:
    solver = ExactScore(near_optimal=tolerance, **options)
    outcome = solver.solve(problem, SolveOptions(tolerance=0.5, n_threads=n_threads))
    cards = outcome.dual.near_optimal
    assert outcome.status is Status.OPTIMAL
    assert outcome.lower_bound == outcome.upper_bound
    if len(cards):
        assert cards.objectives[0] == pytest.approx(outcome.upper_bound, abs=ROUNDING)
    return cards


def keys(cards: NearOptimalCards) -> list[tuple[int, ...]]:
    return [(card.intercept, *card.points.tolist()) for card in cards]


def assert_all_found(problem: RiskScoreProblem, tolerance: float) -> None:
    every = all_cards(problem)
    if not every:
        return
    ceiling = min(every.values()) * (1 + tolerance)
    cards = near(problem, tolerance, near_limit=10**6, n_threads=2)
    found = keys(cards)
    assert len(set(found)) == len(found) == cards.n_found
    assert cards.complete
    assert cards.ceiling == pytest.approx(ceiling, abs=1e-9)
    assert {key for key, value in every.items() if value <= ceiling - ROUNDING} <= set(found)
    for key, value in zip(found, cards.objectives, strict=True):
        assert value == pytest.approx(every[key], abs=ROUNDING)
        assert every[key] <= cards.ceiling + ROUNDING
    order = [(value, card.points.tolist(), card.intercept) for value, card in zip(cards.objectives, cards, strict=True)]
    assert order == sorted(order)


@pytest.mark.parametrize("kind", ["binary", "integer", "real", "mixed"])
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("tolerance", [0.0, 0.01, 0.2])
def test_equals_complete_enumeration(kind: str, seed: int, tolerance: float):
    assert_all_found(draw_problem(seed, kind, weighted=seed % 3 == 0), tolerance)


@pytest.mark.parametrize("kind", ["binary", "integer"])
@pytest.mark.parametrize("seed", range(8))
def test_cards_of_equal_value_are_all_there(kind: str, seed: int):
    """Columns that say the same give cards of equal value; so does a column that is 0 in every row."""
    problem = draw_problem(seed, kind, twins=True)
    assert_all_found(problem, 0.05)
    silent = problem.columns.copy()
    silent[:, -1] = 0
    assert_all_found(dataclasses.replace(problem, columns=silent), 0.02)


@pytest.mark.parametrize("kind", ["binary", "mixed"])
@pytest.mark.parametrize("seed", range(12))
def test_equals_complete_enumeration_under_rules(kind: str, seed: int):
    assert_all_found(draw_problem(seed, kind, ruled=True), 0.1)


@pytest.mark.parametrize("seed", range(3))
def test_the_best_few_are_kept_and_all_are_counted_and_passed_on_whatever_the_threads(seed: int):
    problem = binary_table(seed=seed, n=300, d=12, size=3)
    whole = near(problem, 0.2, near_limit=10**6)
    assert whole.n_found == len(whole) > 200
    streamed: list[tuple[int, ...]] = []

    def collect(objectives: np.ndarray, intercepts: np.ndarray, points: np.ndarray, multipliers: np.ndarray) -> None:
        assert objectives.shape == intercepts.shape == points.shape[:1] == multipliers.shape
        assert np.all(multipliers == 1.0)
        streamed.extend(zip(intercepts.tolist(), *points.T.tolist(), strict=True))

    few = near(problem, 0.2, near_limit=50, n_threads=3, on_cards=collect)
    assert few.n_found == whole.n_found
    assert keys(few) == keys(whole)[:50]
    np.testing.assert_array_equal(few.objectives, whole.objectives[:50])
    assert sorted(streamed) == sorted(keys(whole))
    none = near(problem, 0.2, near_limit=0, n_threads=2)
    assert none.n_found == whole.n_found
    assert len(none) == 0


def test_more_cards_than_fit_into_one_block_are_passed_on():
    problem = draw_problem(4, "integer")
    total = 0

    def count(objectives: np.ndarray, *_: np.ndarray) -> None:
        nonlocal total
        total += objectives.size

    cards = near(problem, 1e6, near_limit=3, on_cards=count)
    assert total == cards.n_found == len(all_cards(problem)) > 4096


def test_what_a_listener_raises_reaches_the_caller():
    def complain(*_: object) -> None:
        raise RuntimeError("disk full")

    with pytest.raises(RuntimeError, match="disk full"):
        near(binary_table(), 0.1, on_cards=complain)


def test_a_search_without_time_says_that_its_set_is_not_complete():
    outcome = ExactScore(near_optimal=0.01).solve(binary_table(d=20, size=5), SolveOptions(tolerance=0.0, time_limit=0.0))
    assert outcome.status is Status.TIME_LIMIT
    assert not outcome.dual.near_optimal.complete
    assert outcome.dual.near_optimal.n_found == 0
    assert np.isnan(outcome.dual.near_optimal.ceiling)


@pytest.mark.parametrize("options", [{"near_optimal": -0.1}, {"near_optimal": np.inf}, {"near_optimal": 0.1, "near_limit": -1}])
def test_options_out_of_range_are_refused(options: dict[str, float]):
    with pytest.raises(ValueError, match="near_"):
        ExactScore(**options)
