"""Conflicts of rules: found exactly where no card exists, and reduced until nothing can be left out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from reference.enumerated_score import best_card

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
from surefoot.riskscore.search.card_program import has_card
from surefoot.riskscore.search.parameters import SearchParameters
from surefoot.riskscore.search.rule_conflict import find_conflict

SECONDS = 30.0


def draw_problem(seed: int, *rules: CardRule, real: bool = False) -> RiskScoreProblem:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(12, 4)).round(2) if real else rng.integers(0, 2, (12, 4)).astype(float)
    y = np.where(rng.random(12) < 0.5, 1.0, -1.0)
    y[:2] = -1.0, 1.0
    return RiskScoreProblem(X, y, np.full(12, 1 / 12), np.full(4, -2), np.full(4, 2), -2, 2, 3, 0.0, rules)


def draw_rules(seed: int) -> list[CardRule]:
    """Strict enough that about half of the draws leave no card."""
    rng = np.random.default_rng([seed, 1])
    group = tuple(rng.permutation(4)[:2].tolist())
    person = rng.integers(0, 2, 4).astype(float)
    rules: list[CardRule] = [
        GroupRule(group, least=2),
        GroupRule((0, 1, 2, 3), least=int(rng.integers(1, 4)), most=3),
        GroupRule(tuple(rng.permutation(4)[:2].tolist()), most=1),
        ImplicationRule(group[:1], (int(rng.integers(4)),)),
        PointSetRule(int(rng.integers(4)), (-2, 1)),
        PointSetRule(int(rng.integers(4)), (0, 2)),
        SignRule((0, 1, 2, 3)),
        LinearRule(person, lower=3.0),
        LinearRule(1 - person, upper=-2.0),
        RateRule(-1.0, upper=0.2),
        RateRule(1.0, lower=0.8, threshold=1.0),
    ]
    return [rules[at] for at in rng.permutation(len(rules))[:6]]


@pytest.mark.parametrize("real", [False, True])
@pytest.mark.parametrize("seed", range(25))
def test_a_card_exists_where_trying_every_card_finds_one(seed: int, real: bool):
    problem = draw_problem(seed, *draw_rules(seed), real=real)
    exists = best_card(problem)[1] is not None
    answer = has_card(problem, SECONDS)
    assert answer is exists


@pytest.mark.parametrize("seed", range(25))
def test_a_conflict_has_no_card_and_every_part_of_it_is_needed(seed: int):
    rules = draw_rules(seed)
    problem = draw_problem(seed)
    conflict = find_conflict(problem, [(rule,) for rule in rules], SECONDS)
    if conflict is None:
        assert best_card(replace(problem, rules=tuple(rules)))[1] is not None
        return
    assert conflict.minimal
    chosen = tuple(rules[k] for k in conflict.parts)
    assert best_card(replace(problem, rules=chosen))[1] is None
    for rule in chosen:
        others = tuple(other for other in chosen if other is not rule)
        assert best_card(replace(problem, rules=others))[1] is not None


def test_bystanders_are_not_named():
    parts = [
        (GroupRule((0, 1), most=1),),
        (PointSetRule(3, (0, 1, 2)),),
        (PointSetRule(0, (1, 2)), PointSetRule(1, (-1,))),
        (LinearRule(np.ones(4), lower=0.0),),
    ]
    conflict = find_conflict(draw_problem(0), parts, SECONDS)
    assert conflict is not None and conflict.parts == (0, 2) and conflict.minimal


def test_a_rule_can_contradict_the_size_alone():
    conflict = find_conflict(draw_problem(0), [(GroupRule((0, 1, 2, 3), least=4),), (SignRule((0, 1)),)], SECONDS)
    assert conflict is not None and conflict.parts == (0,)


def test_a_point_set_outside_the_limits_is_a_conflict_of_its_own():
    conflict = find_conflict(draw_problem(0), [(SignRule((0, 1)),), (PointSetRule(2, (5, 7)),)], SECONDS)
    assert conflict is not None and conflict.parts == (1,)


def test_without_time_nothing_is_claimed():
    assert find_conflict(draw_problem(0), [(GroupRule((0, 1, 2, 3), least=4),)], 0.0) is None


def test_rates_over_thousands_of_distinct_rows_are_named():
    rng = np.random.default_rng(0)
    n = 8000
    X = rng.integers(0, 2, (n, 14)).astype(float)
    y = np.where(X[:, 0] + X[:, 1] + rng.logistic(size=n) > 1, 1.0, -1.0)
    assert np.unique(X[y > 0], axis=0).shape[0] > SearchParameters().max_marked_rows
    problem = RiskScoreProblem(X, y, np.full(n, 1 / n), np.full(14, -1), np.full(14, 1), -2, 2, 1)
    caught, calm = RateRule(1.0, lower=0.99), RateRule(-1.0, upper=0.1)
    bystanders: list[CardRule] = [GroupRule((0, 1), most=1), LinearRule(np.zeros(14), upper=2.0)]
    for rules, conflict in (
        ([bystanders[0], caught, bystanders[1], calm], (1, 3)),
        ([calm, *bystanders], None),
        ([caught, *bystanders], None),
    ):
        found = find_conflict(problem, [(rule,) for rule in rules], SECONDS)
        assert (found is None) if conflict is None else (found is not None and found.parts == conflict and found.minimal)


@pytest.mark.parametrize("seed", range(12))
def test_the_search_knows_what_the_programme_does_not(seed: int):
    """With all rates left out of the programme, conflicts must still be those of complete enumeration."""
    rules = draw_rules(seed)
    problem = draw_problem(seed, real=seed % 2 == 0)
    without_rates = SearchParameters(max_marked_rows=0)
    conflict = find_conflict(problem, [(rule,) for rule in rules], SECONDS, without_rates)
    exists = best_card(replace(problem, rules=tuple(rules)))[1] is not None
    assert (conflict is None) is exists
    if conflict is not None:
        assert conflict.minimal
        kept = [rules[k] for k in conflict.parts]
        assert best_card(replace(problem, rules=tuple(kept)))[1] is None
        for k in range(len(kept)):
            assert best_card(replace(problem, rules=tuple(kept[:k] + kept[k + 1 :])))[1] is not None
