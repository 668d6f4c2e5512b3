"""The exact search for robust score cards against trying every card, every flip and every price."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from reference.enumerated_robust_score import best_robust_card, robust_losses

from surefoot.core.outcome import Status
from surefoot.core.solve_options import SolveOptions
from surefoot.exceptions import InfeasibleProblemError
from surefoot.riskscore.problem.card_rules import CardRule, GroupRule, ImplicationRule, LinearRule
from surefoot.riskscore.problem.problem import RiskScoreProblem
from surefoot.riskscore.problem.score_shift import ScoreShift
from surefoot.riskscore.search.exact_score import ExactScore, ScoreOutcome

# The reference finds the price by thirds, to about this much of the loss.
ROUNDING = 1e-11


def solve(problem: RiskScoreProblem, **options: object) -> ScoreOutcome:
    return ExactScore().solve(problem, SolveOptions(**{"tolerance": 0.0, **options}))


def draw_problem(seed: int, kind: str, *, weighted: bool = False, ruled: bool = False) -> RiskScoreProblem:
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(6, 24)), int(rng.integers(2, 4))
    X = (rng.random((n, d)) < rng.uniform(0.2, 0.8, d)).astype(float)
    flips = np.ones(d, dtype=bool)
    if kind != "binary":
        flips[: 1 if kind == "mixed" else d] = False
        numeric = rng.integers(-1, 4, (n, d)).astype(float) if kind == "integer" else rng.normal(size=(n, d)).round(1)
        X = np.where(flips, X, numeric)
    y = np.where(rng.random(n) < 1 / (1 + np.exp(-(X @ rng.normal(size=d) * 2 + rng.normal()))), 1.0, -1.0)
    weights = rng.exponential(size=n) if weighted else np.ones(n)
    prices = rng.choice([0.5, 1.0, 1.7, np.inf], d, p=[0.25, 0.4, 0.25, 0.1])
    shift = ScoreShift(
        float(rng.choice([0.01, 0.05, 0.2])), prices, flips, float(rng.choice([0.7, 2.0, np.inf], p=[0.25, 0.25, 0.5]))
    )
    lower, upper = np.full(d, -2), np.full(d, 2)
    penalty = float(rng.choice([0, 1e-8, 0.02]))
    rules = draw_rules(rng, d) if ruled else ()
    return RiskScoreProblem(
        X, y, weights / weights.sum(), lower, upper, -3, 3, int(rng.integers(1, d + 1)), penalty, rules, shift
    )


def draw_rules(rng: np.random.Generator, d: int) -> tuple[CardRule, ...]:
    rules: tuple[CardRule, ...] = (
        GroupRule((0, 1), least=0, most=1),
        GroupRule(tuple(range(d)), least=1),
        ImplicationRule((d - 1,), (0,)),
        LinearRule(np.eye(d)[int(rng.integers(d))], lower=float(rng.choice([-2, 0, 1]))),
    )
    return tuple(rule for rule in rules if rng.random() < 0.6)


def assert_best(problem: RiskScoreProblem, **options: object) -> None:
    value, card = best_robust_card(problem)
    if card is None:
        with pytest.raises(InfeasibleProblemError, match="rules"):
            solve(problem, **options)
        return
    outcome = solve(problem, **options)
    assert outcome.status is Status.OPTIMAL
    assert problem.admits(outcome.primal)
    assert outcome.upper_bound == pytest.approx(problem.objective(outcome.primal), abs=1e-12)
    assert outcome.upper_bound == pytest.approx(value, abs=ROUNDING)
    assert outcome.lower_bound == outcome.upper_bound


@pytest.mark.parametrize("kind", ["binary", "integer", "real", "mixed"])
@pytest.mark.parametrize("seed", range(12))
def test_equals_complete_enumeration(kind: str, seed: int):
    assert_best(draw_problem(seed, kind))


@pytest.mark.parametrize("kind", ["binary", "mixed"])
@pytest.mark.parametrize("seed", range(100, 110))
def test_equals_complete_enumeration_with_weights(kind: str, seed: int):
    assert_best(draw_problem(seed, kind, weighted=True))


@pytest.mark.parametrize("kind", ["binary", "real", "mixed"])
@pytest.mark.parametrize("seed", range(200, 208))
def test_equals_complete_enumeration_under_rules(kind: str, seed: int):
    assert_best(draw_problem(seed, kind, ruled=True))


@pytest.mark.parametrize("kind", ["binary", "integer", "real", "mixed"])
@pytest.mark.parametrize("seed", range(300, 306))
def test_the_objective_of_a_card_equals_that_of_all_flips_and_prices(kind: str, seed: int):
    problem = draw_problem(seed, kind, weighted=True)
    rng = np.random.default_rng(seed)
    cards = rng.integers(-3, 4, (20, problem.n_columns + 1))
    assert problem.shift is not None
    found = [problem.shift.worst_loss(problem.columns, problem.labels, problem.weights, c[0], c[1:])[0] for c in cards]
    np.testing.assert_allclose(found, robust_losses(problem, cards), atol=ROUNDING)


def robust_table(seed: int = 0, n: int = 400, d: int = 12, size: int = 4) -> RiskScoreProblem:
    rng = np.random.default_rng(seed)
    X = (rng.random((n, d)) < rng.uniform(0.2, 0.8, d)).astype(float)
    y = np.where(rng.random(n) < 1 / (1 + np.exp(-(X @ rng.normal(size=d)))), 1.0, -1.0)
    shift = ScoreShift(0.02, np.ones(d), np.ones(d, dtype=bool))
    return RiskScoreProblem(X, y, np.full(n, 1 / n), np.full(d, -3), np.full(d, 3), -20, 20, size, 1e-8, (), shift)


def test_bit_counts_and_row_groups_find_the_same_card():
    problem = robust_table()
    weights = problem.weights * (1 + 1e-13 * np.arange(problem.n_rows))
    by_bits, by_rows = solve(problem), solve(dataclasses.replace(problem, weights=weights / weights.sum()))
    assert by_bits.primal.intercept == by_rows.primal.intercept
    np.testing.assert_array_equal(by_bits.primal.points, by_rows.primal.points)
    assert by_bits.upper_bound == pytest.approx(by_rows.upper_bound, abs=1e-11)


def test_threads_do_not_change_the_card():
    problem = robust_table(seed=1)
    one, two = solve(problem, n_threads=1), solve(problem, n_threads=2)
    assert one.upper_bound == two.upper_bound
    np.testing.assert_array_equal(one.primal.points, two.primal.points)


def test_a_radius_of_nothing_is_the_plain_card():
    problem = robust_table(seed=2)
    assert problem.shift is not None
    still = dataclasses.replace(problem, shift=dataclasses.replace(problem.shift, radius=0.0))
    plain = solve(dataclasses.replace(problem, shift=None))
    assert solve(still).upper_bound == plain.upper_bound
    # A wider radius costs more, and more than no radius at all.
    assert plain.upper_bound < solve(problem).upper_bound


@pytest.mark.parametrize("seed", range(4))
def test_cards_of_many_columns_that_can_be_flipped_equal_complete_enumeration(seed: int):
    """A card of nine columns has 512 sets of flips; with points of 0 and 1 there are few enough cards to try them all."""
    rng = np.random.default_rng(seed)
    n, d = 12, 9
    X = (rng.random((n, d)) < 0.5).astype(float)
    y = np.where(X.sum(axis=1) + rng.normal(size=n) > d / 2, 1.0, -1.0)
    prices = rng.choice([1.0, 2.0, 3.5], d)
    label_price = float(rng.choice([4.0, np.inf]))
    shift = ScoreShift(float(rng.choice([0.02, 0.1])), prices, np.ones(d, dtype=bool), label_price)
    problem = RiskScoreProblem(
        X, y, np.full(n, 1 / n), np.zeros(d), np.ones(d), -6, -3, d, 1e-8, (GroupRule(tuple(range(d)), least=7),), shift
    )
    outcome = solve(problem)
    assert outcome.primal.size >= 7
    assert_best(problem)


def test_only_the_columns_of_a_card_count_however_many_can_be_flipped():
    problem = robust_table(d=30, n=200, size=2)
    assert ExactScore().refuses(problem) is None
    outcome = solve(problem)
    assert outcome.status is Status.OPTIMAL
    kept = np.flatnonzero(outcome.primal.points)
    assert problem.shift is not None
    few = ScoreShift(problem.shift.radius, problem.shift.prices[kept], problem.shift.flips[kept])
    alone = dataclasses.replace(
        problem, columns=problem.columns[:, kept], lower=problem.lower[kept], upper=problem.upper[kept], shift=few
    )
    assert best_robust_card(dataclasses.replace(alone, intercept_lower=-4, intercept_upper=4))[0] == pytest.approx(
        outcome.upper_bound, abs=ROUNDING
    )
