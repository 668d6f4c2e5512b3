"""Simulated rows: the truth behind them is found again, and tables of different sizes are corners of each other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surefoot.core.solve_options import SolveOptions
from surefoot.datasets.score_rows import ScoreRows, card_entropy, card_population, draw_card_rows, replicate_table
from surefoot.riskscore.problem.problem import RiskScore, RiskScoreProblem
from surefoot.riskscore.search.exact_score import ExactScore


def card_of(intercept: int, points: list[int]) -> RiskScore:
    return RiskScore(intercept, np.array(points, dtype=np.int32))


def problem_of(rows: ScoreRows, max_features: int, points: int = 5) -> RiskScoreProblem:
    d = rows.columns.shape[1]
    return RiskScoreProblem(
        columns=rows.columns,
        labels=rows.labels,
        weights=rows.weights,
        lower=np.full(d, -points),
        upper=np.full(d, points),
        intercept_lower=-20,
        intercept_upper=20,
        max_features=max_features,
    )


@settings(max_examples=15, deadline=None)
@given(st.integers(-4, 4), st.lists(st.integers(-5, 5), min_size=2, max_size=5), st.floats(0.2, 0.8))
def test_the_exact_search_finds_the_card_behind_a_population(intercept: int, points: list[int], share: float) -> None:
    card = card_of(intercept, points)
    problem = problem_of(card_population(card, shares=share), len(points))
    outcome = ExactScore().solve(problem, SolveOptions(tolerance=0.0))
    assert outcome.upper_bound == pytest.approx(card_entropy(card, shares=share), abs=1e-12)
    assert outcome.primal.intercept == intercept and outcome.primal.points.tolist() == points


@given(st.integers(-3, 3), st.lists(st.integers(-3, 3), min_size=1, max_size=5), st.integers(0, 99))
def test_no_card_beats_the_one_behind_a_population(intercept: int, points: list[int], seed: int) -> None:
    card = card_of(intercept, points)
    problem = problem_of(card_population(card), len(points))
    other = card_of(intercept, np.random.default_rng(seed).integers(-5, 6, len(points)).tolist())
    assert problem.loss(other) >= card_entropy(card) - 1e-12
    assert problem.loss(card) == pytest.approx(card_entropy(card), abs=1e-12)


def test_drawn_rows_approach_the_population() -> None:
    card = card_of(-1, [2, -1, 0])
    rows = draw_card_rows(card, 200_000, shares=np.array([0.3, 0.5, 0.9]), seed=3)
    np.testing.assert_allclose(rows.columns.mean(axis=0), [0.3, 0.5, 0.9], atol=0.005)
    loss = float(np.mean(np.logaddexp(0, -rows.labels * (rows.columns @ [2, -1, 0] - 1))))
    assert loss == pytest.approx(card_entropy(card, shares=np.array([0.3, 0.5, 0.9])), abs=0.005)
    assert rows.weights.sum() == pytest.approx(1)


def test_a_smaller_draw_is_the_beginning_of_a_larger_one() -> None:
    card = card_of(0, [1, -2])
    small, large = draw_card_rows(card, 100, seed=5), draw_card_rows(card, 1000, seed=5)
    np.testing.assert_array_equal(small.columns, large.columns[:100])
    np.testing.assert_array_equal(small.labels, large.labels[:100])
    assert not np.array_equal(small.columns, draw_card_rows(card, 100, seed=6).columns)


def original() -> tuple[np.ndarray, np.ndarray]:
    draw = np.random.default_rng(0)
    columns = draw.integers(0, 11, size=(60, 4))
    return columns, np.where(columns[:, 0] + draw.normal(0, 2, 60) > 5, 1, -1)


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (50, 3), (200, 4), (199, 9)])
def test_replicas_of_any_size_are_corners_of_the_largest(rows: int, columns: int) -> None:
    X, y = original()
    largest = replicate_table(X, y, n_rows=500, n_columns=10, seed=7)
    corner = replicate_table(X, y, n_rows=rows, n_columns=columns, seed=7)
    np.testing.assert_array_equal(corner.columns, largest.columns[:rows, :columns])
    np.testing.assert_array_equal(corner.labels, largest.labels[:rows])


def test_each_round_of_columns_uses_every_original_once() -> None:
    X, y = original()
    made = replicate_table(X, y, n_rows=4000, n_columns=10, noise=0.0, seed=1)
    rounds = [tuple(sorted(map(tuple, made.columns[:, start : start + 4].T.tolist()))) for start in (0, 4)]
    assert rounds[0] == rounds[1], "without noise a second round holds the same four columns"
    assert len(set(rounds[0])) == 4
    assert {tuple(row) for row in made.columns[:, 8:].T.tolist()} <= set(rounds[0])


def test_noise_is_whole_small_and_inside_the_original_range() -> None:
    X, y = original()
    clean = replicate_table(X, y, n_rows=20_000, n_columns=8, noise=0.0, seed=2)
    noisy = replicate_table(X, y, n_rows=20_000, n_columns=8, seed=2)
    moves = noisy.columns - clean.columns
    assert np.all(noisy.columns == np.rint(noisy.columns)) and noisy.columns.min() == 0 and noisy.columns.max() == 10
    inner = (clean.columns > 0) & (clean.columns < 10)
    # round(Normal(0, 0.5)) stays at 0 with probability 0.6827 and moves by more than 1 with probability 0.0027.
    assert np.mean(moves[inner] == 0) == pytest.approx(0.6827, abs=0.01)
    assert np.mean(np.abs(moves[inner]) > 1) == pytest.approx(0.0027, abs=0.001)
    np.testing.assert_array_equal(noisy.labels, clean.labels)


def test_the_optimum_falls_as_columns_are_added() -> None:
    X, y = original()
    values = []
    for columns in (2, 4, 6):
        rows = replicate_table(X, y, n_rows=200, n_columns=columns, seed=4)
        values.append(ExactScore().solve(problem_of(rows, 3), SolveOptions(tolerance=0.0)).upper_bound)
    assert values[0] >= values[1] - 1e-12 and values[1] >= values[2] - 1e-12


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: card_population(card_of(0, [1] * 21)), "at most 20"),
        (lambda: card_population(card_of(0, [1]), shares=1.0), "strictly between 0 and 1"),
        (lambda: draw_card_rows(card_of(0, [1]), 0), "n_rows = 0"),
        (lambda: replicate_table(*original(), n_rows=5, n_columns=0), "n_columns = 0"),
        (lambda: replicate_table(original()[0], [0] * 60, n_rows=5, n_columns=2), "labels must be -1 and \\+1"),
        (lambda: replicate_table(original()[0] / 3, original()[1], n_rows=5, n_columns=2), "whole numbers"),
        (lambda: replicate_table(original()[0], [1], n_rows=5, n_columns=2), "no table with labels"),
    ],
)
def test_impossible_requests_are_refused(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
