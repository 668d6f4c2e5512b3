"""The exact search for score cards of free scale against trying every card and every multiplier."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from reference.enumerated_scaled_score import best_scaled_card

from surefoot.core.outcome import Status
from surefoot.core.solve_options import SolveOptions
from surefoot.exceptions import InfeasibleProblemError
from surefoot.riskscore.certificate.certificate import certify_risk_score
from surefoot.riskscore.problem.card_rules import CardRule, GroupRule, ImplicationRule, LinearRule
from surefoot.riskscore.problem.problem import RiskScore, RiskScoreProblem
from surefoot.riskscore.search.exact_score import ExactScore, ScoreOutcome

# Both sides find the multiplier to the precision the loss shows.
ROUNDING = 1e-12


def solve(problem: RiskScoreProblem, **options: object) -> ScoreOutcome:
    return ExactScore().solve(problem, SolveOptions(**{"tolerance": 0.0, **options}))


def draw_problem(seed: int, kind: str, *, weighted: bool = False, ruled: bool = False) -> RiskScoreProblem:
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(8, 30)), int(rng.integers(2 if ruled else 1, 4))
    X = (rng.random((n, d)) < rng.uniform(0.2, 0.8, d)).astype(float)
    if kind == "integer":
        X = rng.integers(-1, 4, (n, d)).astype(float)
    elif kind == "real":
        X = rng.normal(size=(n, d)).round(1)
    elif kind == "mixed":
        X[:, 0] = rng.integers(0, 5, n)
    y = np.where(rng.random(n) < 1 / (1 + np.exp(-(X @ rng.normal(size=d) * 2 + rng.normal()))), 1.0, -1.0)
    weights = rng.exponential(size=n) if weighted else np.ones(n)
    lower, upper = np.full(d, -3), np.full(d, 3)
    if ruled:
        lower[0], upper[-1] = 0, 2
    return RiskScoreProblem(
        X,
        y,
        weights / weights.sum(),
        lower,
        upper,
        -5,
        5,
        int(rng.integers(1, d + 1)),
        float(rng.choice([0, 1e-8, 0.02])),
        draw_rules(rng, d) if ruled else (),
        scale="free",
        multipliers=((0.2, 20.0), (0.5, 1.5), (1.0, 4.0))[int(rng.integers(3))],
    )


def draw_rules(rng: np.random.Generator, d: int) -> tuple[CardRule, ...]:
    rules: tuple[CardRule, ...] = (
        GroupRule((0, d - 1), least=0, most=1),
        GroupRule(tuple(range(d)), least=1),
        ImplicationRule((d - 1,), (0,)),
        LinearRule(np.eye(d)[int(rng.integers(d))], lower=float(rng.choice([-2, 0, 1]))),
    )
    return tuple(rule for rule in rules if rng.random() < 0.6)


def assert_best(problem: RiskScoreProblem, **options: object) -> None:
    value, card = best_scaled_card(problem)
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
@pytest.mark.parametrize("seed", range(12))
def test_equals_complete_enumeration(kind: str, seed: int):
    assert_best(draw_problem(seed, kind))


@pytest.mark.parametrize("kind", ["binary", "real"])
@pytest.mark.parametrize("seed", range(100, 108))
def test_equals_complete_enumeration_with_weights(kind: str, seed: int):
    assert_best(draw_problem(seed, kind, weighted=True))


@pytest.mark.parametrize("kind", ["binary", "integer", "mixed"])
@pytest.mark.parametrize("seed", range(200, 208))
def test_equals_complete_enumeration_under_rules(kind: str, seed: int):
    assert_best(draw_problem(seed, kind, ruled=True))


@pytest.mark.parametrize("seed", range(6))
def test_an_intercept_that_cannot_move_still_finds_its_scale(seed: int):
    problem = draw_problem(seed, "binary")
    for intercept in (-1, 0, 2):
        assert_best(dataclasses.replace(problem, intercept_lower=intercept, intercept_upper=intercept))


def scaled_table(seed: int = 0, n: int = 500, d: int = 12, size: int = 4) -> RiskScoreProblem:
    rng = np.random.default_rng(seed)
    X = (rng.random((n, d)) < rng.uniform(0.2, 0.8, d)).astype(float)
    y = np.where(rng.random(n) < 1 / (1 + np.exp(-(X @ rng.normal(size=d)))), 1.0, -1.0)
    return RiskScoreProblem(X, y, np.full(n, 1 / n), np.full(d, -5), np.full(d, 5), -50, 50, size, 1e-8, scale="free")


def test_a_free_scale_is_no_worse_than_any_fixed_one():
    problem = scaled_table()
    free = solve(problem)
    unit = solve(dataclasses.replace(problem, scale="unit"))
    assert unit.primal.multiplier == 1.0
    assert free.upper_bound < unit.upper_bound
    # The unit scale's own points with another multiplier are among the cards of free scale.
    for multiplier in (0.5, 1.0, 2.0):
        assert problem.objective(dataclasses.replace(unit.primal, multiplier=multiplier)) >= free.upper_bound


def test_points_have_no_common_divisor_where_the_multiplier_allows():
    for seed in range(4):
        card = solve(scaled_table(seed, n=200, d=6, size=2)).primal
        assert np.gcd.reduce(np.append(card.points, card.intercept)) == 1


def test_bit_counts_and_row_groups_and_threads_find_the_same_card():
    problem = scaled_table(seed=3)
    weights = problem.weights * (1 + 1e-13 * np.arange(problem.n_rows))
    grouped = dataclasses.replace(problem, weights=weights / weights.sum())
    first, *others = solve(problem), solve(grouped), solve(problem, n_threads=2)
    for other in others:
        assert other.primal.intercept == first.primal.intercept
        np.testing.assert_array_equal(other.primal.points, first.primal.points)
        assert other.primal.multiplier == pytest.approx(first.primal.multiplier, rel=1e-6)
        assert other.upper_bound == pytest.approx(first.upper_bound, abs=1e-11)


def test_scaling_all_limits_and_multipliers_alike_changes_nothing():
    problem = scaled_table(seed=4, n=200, d=6, size=2)
    # Real coefficients p / m reach as far with twice the points and twice the multiplier.
    finer = dataclasses.replace(
        problem,
        lower=2 * problem.lower,
        upper=2 * problem.upper,
        intercept_lower=-100,
        intercept_upper=100,
        multipliers=(0.4, 40.0),
    )
    assert solve(finer).upper_bound <= solve(problem).upper_bound + ROUNDING


def test_no_proof_of_unit_scale_is_taken_for_one_of_free_scale():
    problem = scaled_table(seed=5, n=100, d=4, size=2)
    at_unit_scale = dataclasses.replace(problem, scale="unit")
    proof = ExactScore(proof_limit=10**6).solve(at_unit_scale, SolveOptions(tolerance=0.0)).dual.proof
    assert proof is not None
    card = solve(problem).primal
    assert "other data" in certify_risk_score(problem, card, proof, 0.0).claim
    certificate = certify_risk_score(problem, card, dataclasses.replace(proof, problem_digest=problem.digest()), 0.0)
    assert not certificate.verified
    assert "refused" in certificate.claim


def test_scales_that_are_none_are_refused():
    problem = scaled_table()
    with pytest.raises(ValueError, match="scale = 'loose'"):
        dataclasses.replace(problem, scale="loose")
    with pytest.raises(ValueError, match="multipliers"):
        dataclasses.replace(problem, multipliers=(0.0, 1.0))
    with pytest.raises(ValueError, match="two different finite numbers"):
        dataclasses.replace(problem, multipliers=(2.0, 2.0))
    assert not dataclasses.replace(problem, scale="unit").admits(RiskScore(0, np.zeros(problem.n_columns, dtype=np.int32), 2.0))
