"""Rules about risks, and all cards near the best, at a free scale: against trying every card and every multiplier."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from reference.drawn_score import draw_columns
from reference.enumerated_scaled_score import allowed_scales, best_scaled_card, near_scaled_cards

from surefoot.core.outcome import Status
from surefoot.core.solve_options import SolveOptions
from surefoot.exceptions import InfeasibleProblemError
from surefoot.riskscore.certificate.certificate import certify_risk_score
from surefoot.riskscore.problem.card_rules import CardRule, GroupRule, LinearRule, PointSetRule, RateRule, SignRule
from surefoot.riskscore.problem.problem import RiskScore, RiskScoreProblem
from surefoot.riskscore.search.card_program import has_card
from surefoot.riskscore.search.exact_score import ExactScore

ROUNDING = 1e-12
# A row on its threshold is not flagged: the best multiplier may be one that a card only comes close to.
APPROACHED = 2e-11


def log_odds(risk: float) -> float:
    return float(np.log(risk / (1 - risk)))


def draw_risk_rules(rng: np.random.Generator, X: np.ndarray) -> tuple[CardRule, ...]:
    """One to three rules about risks, and sometimes another one."""
    d = X.shape[1]
    person = X[int(rng.integers(len(X)))].copy()
    other = X[int(rng.integers(len(X)))].copy()
    risks = rng.choice([0.1, 0.25, 0.4, 0.5, 0.6, 0.8, 0.93], 4)
    rules: tuple[CardRule, ...] = (
        LinearRule(person, lower=log_odds(risks[0])),
        LinearRule(other, upper=log_odds(risks[1])),
        RateRule(1.0, lower=float(rng.choice([0.5, 0.8, 1.0])), threshold=log_odds(risks[2])),
        RateRule(-1.0, upper=float(rng.choice([0.0, 0.2, 0.5])), threshold=log_odds(risks[3])),
        LinearRule(person, lower=log_odds(0.3), upper=log_odds(0.3)),
    )
    chosen = list(np.array(rules, dtype=object)[rng.random(5) < (0.5, 0.5, 0.35, 0.35, 0.1)]) or [rules[0]]
    extra: tuple[CardRule, ...] = (
        GroupRule((0, d - 1), most=1),
        PointSetRule(0, (-3, -2, 0, 2)),
        SignRule(tuple(range(d))),
    )
    return (*chosen, *(rule for rule in extra if rng.random() < 0.25))


def draw_problem(seed: int, kind: str) -> RiskScoreProblem:
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(8, 26)), int(rng.integers(2, 4))
    X = draw_columns(rng, kind, (n, d))
    y = np.where(rng.random(n) < 1 / (1 + np.exp(-(X @ rng.normal(size=d) * 2 + rng.normal()))), 1.0, -1.0)
    y[:2] = 1.0, -1.0
    weights = rng.exponential(size=n) if seed % 2 else np.ones(n)
    return RiskScoreProblem(
        X,
        y,
        weights / weights.sum(),
        np.full(d, -3),
        np.full(d, 2 + seed % 2),
        -5,
        5,
        int(rng.integers(1, d + 1)),
        float(rng.choice([0, 1e-8, 0.02])),
        draw_risk_rules(rng, X),
        scale="free",
        multipliers=((0.2, 20.0), (0.5, 1.5), (1.0, 4.0))[int(rng.integers(3))],
    )


@pytest.mark.parametrize("kind", ["binary", "integer", "real", "mixed"])
@pytest.mark.parametrize("seed", range(25))
def test_the_best_card_under_rules_about_risks_is_that_of_complete_enumeration(kind: str, seed: int):
    problem = draw_problem(seed, kind)
    value, card = best_scaled_card(problem)
    solver = ExactScore(proof_limit=10**7)
    if card is None:
        with pytest.raises(InfeasibleProblemError, match="rules"):
            solver.solve(problem, SolveOptions(tolerance=0.0))
        assert has_card(problem, 10.0) is not True
        return
    outcome = solver.solve(problem, SolveOptions(tolerance=0.0))
    assert outcome.status is Status.OPTIMAL
    assert problem.admits(outcome.primal)
    assert value - ROUNDING <= outcome.upper_bound <= value + APPROACHED
    assert outcome.upper_bound == pytest.approx(problem.objective(outcome.primal), abs=ROUNDING)
    assert has_card(problem, 10.0) is not False
    certificate = certify_risk_score(problem, outcome.primal, outcome.dual.proof, 1e-9)
    assert certificate.verified, certificate.claim
    assert certificate.lower_bound == pytest.approx(value, abs=1e-9)
    assert certificate.lower_bound <= value + ROUNDING


def test_most_drawn_rules_bind():
    """Enumeration would agree with a search that ignores the rules if these never mattered."""
    problems = [draw_problem(seed, kind) for seed in range(10) for kind in ("binary", "real")]
    bound = [best_scaled_card(p)[0] > best_scaled_card(dataclasses.replace(p, rules=()))[0] + 1e-6 for p in problems]
    assert np.mean(bound) > 0.6


@pytest.mark.parametrize("seed", range(12))
def test_the_interval_of_scales_is_that_of_its_definition(seed: int):
    problem = draw_problem(seed, ("binary", "real")[seed % 2])
    rng = np.random.default_rng(seed)
    cards = np.column_stack([rng.integers(-5, 6, 50), rng.integers(-3, 3, (50, problem.n_columns))])
    linear = [rule for rule in problem.rules if isinstance(rule, LinearRule)]
    rates = [rule for rule in problem.rules if isinstance(rule, RateRule) and rule.threshold != 0]
    risky = dataclasses.replace(problem, rules=(*linear, *rates))
    for card, low, high in zip(cards, *allowed_scales(risky, cards), strict=True):
        points = card[1:].astype(np.int32)
        own = risky.scales(int(card[0]), points)
        if low > high * (1 + 1e-12):
            assert own[0] > own[1]
            continue
        assert own == pytest.approx((low, max(low, high)), rel=APPROACHED)
        # Inside the interval every rule holds in its own words, outside of it one does not.
        scores = risky.scores(RiskScore(int(card[0]), points))
        for scale, holds in ((0.5 * (own[0] + own[1]), True), (0.99 * own[0], False), (1.01 * own[1], False)):
            if not 1 / risky.multipliers[1] <= scale <= 1 / risky.multipliers[0]:
                continue
            kept = [
                rule.allows(scale * scores, risky.labels, risky.weights)
                if isinstance(rule, RateRule)
                else rule.lower - 1e-9 <= scale * rule.score(int(card[0]), points)[0] <= rule.upper + 1e-9
                for rule in risky.rules
            ]
            assert all(kept) is holds
            scaled = RiskScore(int(card[0]), points, 1 / scale)
            assert all(risky.obeys(scaled, rule) for rule in risky.rules) is holds


@pytest.mark.parametrize("kind", ["binary", "integer", "real"])
@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("ruled", [False, True])
def test_all_cards_near_the_best_are_found_once(kind: str, seed: int, ruled: bool):
    problem = draw_problem(seed, kind)
    if not ruled:
        problem = dataclasses.replace(problem, rules=())
    tolerance = (0.0, 0.02, 0.2)[seed % 3]
    every = near_scaled_cards(problem, tolerance)
    if not every:
        return
    best = min(every.values())
    found = ExactScore(near_optimal=tolerance, near_limit=10**6).solve(problem, SolveOptions(tolerance=0.0)).dual.near_optimal
    assert found is not None and found.complete
    keys = [(card.intercept, *card.points.tolist()) for card in found]
    assert len(set(keys)) == len(keys) == found.n_found
    assert {key for key, value in every.items() if value <= best * (1 + tolerance) - ROUNDING} <= set(keys)
    assert found.objectives[0] == pytest.approx(best, abs=ROUNDING)
    for key, card, value in zip(keys, found, found.objectives, strict=True):
        assert value == pytest.approx(every.get(key, found.ceiling), abs=1e-11)
        assert problem.admits(card)
        assert problem.objective(card) == pytest.approx(value, abs=1e-11)


def test_a_column_that_says_nothing_does_not_multiply_near_cards():
    problem = dataclasses.replace(draw_problem(2, "binary"), rules=(), penalty=0.0)
    silent = np.zeros_like(problem.columns)
    problem = dataclasses.replace(problem, columns=silent, max_features=1, intercept_lower=0, intercept_upper=0)
    found = ExactScore(near_optimal=0.0).solve(problem, SolveOptions(tolerance=0.0)).dual.near_optimal
    # No points, one up or one down for each column: larger ones are multiples.
    assert found is not None
    assert found.n_found == 1 + 2 * problem.n_columns
    assert np.abs(found.points).max() == 1
