"""Every kind of rule in the exact search, alone and together, against trying every card."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from reference.enumerated_robust_score import best_robust_card
from reference.enumerated_score import all_cards, best_card

from surefoot.core.outcome import Status
from surefoot.core.solve_options import SolveOptions
from surefoot.exceptions import InfeasibleProblemError
from surefoot.riskscore.problem.card_rules import (
    CardRule,
    GroupRule,
    ImplicationRule,
    LinearRule,
    PointSetRule,
    RateRule,
    SignRule,
)
from surefoot.riskscore.problem.problem import RiskScoreProblem
from surefoot.riskscore.problem.score_shift import ScoreShift
from surefoot.riskscore.search.exact_score import ExactScore

# Both sides add the same few numbers in another order.
ROUNDING = 1e-12
KINDS = {
    "binary": lambda rng, shape: (rng.random(shape) < rng.uniform(0.2, 0.8, shape[1])).astype(float),
    "integer": lambda rng, shape: rng.integers(-1, 4, shape).astype(float),
    "real": lambda rng, shape: rng.normal(size=shape).round(2),
}


def group(rng: np.random.Generator, d: int) -> list[CardRule]:
    least = int(rng.integers(0, 2))
    return [GroupRule(tuple(rng.permutation(d)[:3].tolist()), least, least + int(rng.integers(0, 2)))]


def size(rng: np.random.Generator, d: int) -> list[CardRule]:
    return [GroupRule(tuple(range(d)), 2, 3)]


def either_or(rng: np.random.Generator, d: int) -> list[CardRule]:
    return [GroupRule((0, 1), 1, 1)]


def implication(rng: np.random.Generator, d: int) -> list[CardRule]:
    order = rng.permutation(d).tolist()
    return [ImplicationRule(tuple(order[:2]), tuple(order[2:3])), ImplicationRule(tuple(order[2:3]), tuple(order[3:]))]


def point_sets(rng: np.random.Generator, d: int) -> list[CardRule]:
    return [PointSetRule(0, (-3, 0, 2)), PointSetRule(1, (0, 2, 3)), PointSetRule(2, (-2, -1)), PointSetRule(0, (0, 1, 2))]


def fixed(rng: np.random.Generator, d: int) -> list[CardRule]:
    return [PointSetRule(int(rng.integers(d)), (int(rng.choice([-2, 0, 1, 3])),))]


def sign(rng: np.random.Generator, d: int) -> list[CardRule]:
    return [PointSetRule(int(rng.integers(d)), tuple(range(-3, 1))), PointSetRule(0, tuple(range(4)))]


def one_sign(rng: np.random.Generator, d: int) -> list[CardRule]:
    return [SignRule((0, 1, 2)), SignRule((2, 3))] if rng.random() < 0.5 else [SignRule(tuple(range(d)))]


def person(rng: np.random.Generator, d: int) -> list[CardRule]:
    described = rng.integers(0, 2, d).astype(float)
    return [LinearRule(described, lower=float(rng.choice([-1.0, 0.5, 2.0]))), LinearRule(1 - described, upper=1.0)]


def rates(rng: np.random.Generator, d: int) -> list[CardRule]:
    threshold = float(rng.choice([0.0, 0.0, 1.0, -0.7]))
    return [RateRule(-1.0, upper=float(rng.uniform(0.05, 0.5)), threshold=threshold), RateRule(1.0, lower=0.4)]


RULES = (group, size, either_or, implication, point_sets, fixed, sign, one_sign, person, rates)


def draw_problem(seed: int, kind: str, *makers: object, weighted: bool = False) -> RiskScoreProblem:
    rng = np.random.default_rng([seed, len(makers)])
    n, d = int(rng.integers(15, 50)), 4
    X = KINDS[kind](rng, (n, d))
    y = np.where(rng.random(n) < 1 / (1 + np.exp(-(X @ rng.normal(size=d) * 1.5 + rng.normal()))), 1.0, -1.0)
    y[:2] = -1.0, 1.0
    weights = rng.exponential(size=n) if weighted else np.ones(n)
    rules = tuple(rule for make in makers for rule in make(rng, d))
    penalty = float(rng.choice([0, 1e-8, 0.02]))
    return RiskScoreProblem(
        X, y, weights / weights.sum(), np.full(d, -3), np.full(d, 3), -5, 5, int(rng.integers(2, 5)), penalty, rules
    )


def assert_best(problem: RiskScoreProblem, reference: Callable[..., Any] = best_card) -> bool:
    """Whether there was a card at all; both sides agree on it and on its value."""
    value, card = reference(problem)
    if card is None:
        with pytest.raises(InfeasibleProblemError, match="rules"):
            ExactScore().solve(problem, SolveOptions(tolerance=0.0))
        return False
    outcome = ExactScore().solve(problem, SolveOptions(tolerance=0.0, n_threads=2))
    assert outcome.status is Status.OPTIMAL
    assert problem.admits(outcome.primal)
    assert outcome.upper_bound == pytest.approx(problem.objective(outcome.primal), abs=ROUNDING)
    # The reference for robust cards finds the best price by thirds.
    assert outcome.upper_bound == pytest.approx(value, abs=ROUNDING if reference is best_card else 1e-11)
    return True


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rule", RULES)
def test_the_best_card_under_one_kind_of_rule(rule: object, kind: str):
    found = [assert_best(draw_problem(seed, kind, rule, weighted=seed % 2 == 1)) for seed in range(4)]
    assert any(found), "rules that no card obeys test little"


@pytest.mark.parametrize("rule", RULES)
def test_the_best_robust_card_under_one_kind_of_rule(rule: object):
    for seed, kind in enumerate(("binary", "integer")):
        problem = draw_problem(seed, kind, rule)
        prices = np.random.default_rng(seed).uniform(0.3, 2.0, 4)
        shift = ScoreShift(0.1, prices, np.all((problem.columns == 0) | (problem.columns == 1), axis=0))
        few = {"lower": np.full(4, -2), "upper": np.full(4, 2), "intercept_lower": -2, "intercept_upper": 2}
        assert_best(replace(problem, **few, shift=shift), best_robust_card)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(10))
def test_the_best_card_under_rules_of_several_kinds(kind: str, seed: int):
    rng = np.random.default_rng(seed)
    chosen = [RULES[at] for at in rng.permutation(len(RULES))[: int(rng.integers(2, 5))]]
    assert_best(draw_problem(seed, kind, *chosen, weighted=seed % 2 == 0))


@pytest.mark.parametrize("kind", KINDS)
def test_the_best_card_under_all_kinds_of_rules_at_once(kind: str):
    rng = np.random.default_rng(5)
    X = KINDS[kind](rng, (40, 4))
    y = np.where(X @ [1.0, 1.0, -1.0, 0.5] + rng.logistic(size=40) > 0.5, 1.0, -1.0)
    rules = (
        GroupRule((0, 1, 2, 3), 2, 3),
        GroupRule((0, 3), 1, 1),
        ImplicationRule((0,), (1,)),
        PointSetRule(0, (0, 1, 3)),
        PointSetRule(2, (-3, -1)),
        SignRule((0, 1)),
        LinearRule(np.array([1.0, 1.0, 0.0, 0.0]), lower=0.5),
        LinearRule(np.array([0.0, 0.0, 1.0, 0.0]), upper=-0.5),
        RateRule(-1.0, upper=0.7),
        RateRule(1.0, lower=0.2),
    )
    problem = RiskScoreProblem(X, y, np.full(40, 1 / 40), np.full(4, -3), np.full(4, 3), -5, 5, 4, 0.0, rules)
    assert assert_best(problem)
    for rule in rules:
        without = RiskScoreProblem(
            X, y, problem.weights, problem.lower, problem.upper, -5, 5, 4, 0.0, tuple(r for r in rules if r is not rule)
        )
        assert assert_best(without)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rules", [(one_sign, implication), (rates,), (point_sets,)])
def test_all_cards_near_the_best_keep_the_rules(kind: str, rules: tuple[object, ...]):
    problem = draw_problem(1, kind, *rules)
    values = all_cards(problem)
    ceiling = 1.05 * min(values.values())
    expected = {card for card, value in values.items() if value <= ceiling}
    near = ExactScore(near_optimal=0.05).solve(problem, SolveOptions(tolerance=0.0)).dual.near_optimal
    assert near.complete
    assert {(card.intercept, *card.points.tolist()) for card in near} == expected


def test_a_rate_that_binds_changes_the_card_and_is_kept():
    problem = draw_problem(5, "binary")
    free = ExactScore().solve(problem, SolveOptions(tolerance=0.0)).primal
    rule = RateRule(-1.0, upper=0.0)
    assert not problem.obeys(free, rule), "the unlimited card flags negatives in this table"
    limited = RiskScoreProblem(
        problem.columns, problem.labels, problem.weights, problem.lower, problem.upper, -5, 5, 4, 0.0, (rule,)
    )
    kept = ExactScore().solve(limited, SolveOptions(tolerance=0.0)).primal
    flagged = problem.scores(kept) > 0
    assert not np.any(flagged & (problem.labels < 0))


def test_signs_of_one_group_do_not_stop_the_search_early():
    # The relaxed fit has opposite signs, so that both halves begin away from their best points.
    rng = np.random.default_rng(0)
    a = rng.random(400) < 0.5
    b = np.where(rng.random(400) < 0.9, a, ~a)
    X = np.column_stack([a, b, rng.random(400) < 0.3]).astype(float)
    y = np.where(X @ [3.0, -2.0, 0.5] - 0.5 + rng.logistic(size=400) > 0, 1.0, -1.0)
    for intercepts in ((-5, 5), (-1, 3)):
        problem = RiskScoreProblem(
            X,
            y,
            np.full(400, 1 / 400),
            np.full(3, -5),
            np.full(3, 5),
            *intercepts,
            3,
            0.0,
            (SignRule((0, 1)), SignRule((1, 2))),
        )
        assert assert_best(problem)
