"""The risk score problem: its objective, its rules, and what it refuses."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from surefoot.riskscore.problem.card_rules import (
    CardRule,
    GroupRule,
    ImplicationRule,
    LinearRule,
    PointSetRule,
    RateRule,
    SignRule,
)
from surefoot.riskscore.problem.problem import RiskScore, RiskScoreProblem


def small_problem() -> RiskScoreProblem:
    return RiskScoreProblem(
        columns=np.array([[0.0, 1.0, 2.0], [1.0, 0.0, 1.0], [1.0, 1.0, 0.0]]),
        labels=np.array([1.0, -1.0, 1.0]),
        weights=np.array([0.5, 0.25, 0.25]),
        lower=np.array([-5, 0, -5]),
        upper=np.array([5, 5, 0]),
        intercept_lower=-10,
        intercept_upper=10,
        max_features=2,
        penalty=0.1,
    )


def card(*points: int, intercept: int = 0) -> RiskScore:
    return RiskScore(intercept, np.array(points, dtype=np.int32))


def test_objective_is_weighted_log_loss_plus_price_of_columns():
    problem, given = small_problem(), card(-1, 2, 0, intercept=1)
    np.testing.assert_array_equal(problem.scores(given), [3.0, 0.0, 2.0])
    loss = 0.5 * np.log1p(np.exp(-3)) + 0.25 * np.log(2) + 0.25 * np.log1p(np.exp(-2))
    assert problem.loss(given) == pytest.approx(loss, abs=1e-15)
    assert problem.objective(given) == pytest.approx(loss + 0.2, abs=1e-15)


@pytest.mark.parametrize(
    ("given", "admitted"),
    [
        (card(5, 0, -5), True),
        (card(1, 1, -1), False),
        (card(6, 0, 0), False),
        (card(0, -1, 0), False),
        (card(0, 0, 1), False),
        (card(0, 0, 0, intercept=11), False),
        (card(0, 0), False),
    ],
)
def test_cards_keep_to_limits_and_size(given: RiskScore, admitted: bool):
    assert small_problem().admits(given) is admitted


@pytest.mark.parametrize(
    ("rule", "good", "bad"),
    [
        (GroupRule((0, 1), most=1), card(1, 0, 0), card(1, 1, 0)),
        (GroupRule((0, 0, 1), least=1, most=1), card(1, 0, 0), card(0, 0, 1)),
        (GroupRule((0, 2), least=1), card(0, 0, -1), card(0, 1, 0)),
        (ImplicationRule((0,), (1, 2)), card(1, 0, -1), card(1, 0, 0)),
        (LinearRule(np.array([1.0, 0.0, 2.0]), lower=1.0), card(3, 0, -1), card(2, 0, -1)),
        (LinearRule(np.array([1.0, 0.0, 0.0]), upper=-1.0), card(-1, 0, 0), card(-1, 0, 0, intercept=1)),
        (PointSetRule(0, (0, 2)), card(2, 0, 0), card(1, 0, 0)),
        (PointSetRule(2, (-5, -1)), card(0, 0, -1), card(0, 0, 0)),
        (SignRule((0, 2)), card(-1, 1, 0), card(1, 0, -1)),
        (RateRule(1.0, upper=0.5), card(0, 0, 0), card(0, 0, 0, intercept=1)),
        (RateRule(1.0, lower=0.6), card(0, 1, 0), card(1, 0, 0)),
        (RateRule(-1.0, upper=0.0, threshold=2.0), card(0, 0, 0, intercept=2), card(1, 0, 0, intercept=2)),
    ],
)
def test_rules_tell_cards_apart(rule: CardRule, good: RiskScore, bad: RiskScore):
    problem = replace(small_problem(), rules=(rule,))
    assert problem.admits(good)
    assert not problem.admits(bad)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"columns": np.array([[0.0, 1.0, np.nan], [1.0, 0.0, 1.0], [1.0, 1.0, 0.0]])}, "column 2 holds nan in row 0"),
        ({"labels": np.array([1.0, 0.0, 1.0])}, r"labels\[1\] = 0.0"),
        ({"weights": np.array([1.0, -0.5, 0.5])}, r"weights\[1\] = -0.5"),
        ({"weights": np.array([1.0, 0.5, 0.5])}, "sum to 2.0"),
        ({"lower": np.array([1, 0, -5])}, "points of column 0 range from 1 to 5"),
        ({"upper": np.array([5, 5])}, "upper has 2 entries"),
        ({"upper": np.array([5, 5, 0.5])}, r"upper\[2\] = 0.5"),
        ({"intercept_lower": 11}, "above intercept_upper"),
        ({"max_features": -1}, "max_features = -1"),
        ({"penalty": np.inf}, "penalty = inf"),
        ({"rules": (GroupRule((0, 3)),)}, "names column 3"),
        ({"rules": (ImplicationRule((0,), (-1,)),)}, "names column -1"),
        ({"rules": (LinearRule(np.ones(2)),)}, r"shape \(2,\)"),
        ({"rules": (LinearRule(np.array([1.0, np.nan, 0.0])),)}, "not finite"),
        ({"rules": (PointSetRule(3, (1,)),)}, "names column 3"),
        ({"rules": (SignRule((-2, 1)),)}, "names column -2"),
        ({"labels": np.ones(3), "rules": (RateRule(-1.0, upper=0.1),)}, "label -1.0, and there are none"),
    ],
)
def test_what_is_not_a_problem_is_refused(change: dict[str, object], message: str):
    with pytest.raises(ValueError, match=message):
        replace(small_problem(), **change)


def test_digest_tells_problems_apart():
    problem = small_problem()
    rules = (GroupRule((0, 1), most=1),), (LinearRule(np.ones(3), lower=1.0),), (LinearRule(np.ones(3), lower=2.0),)
    others = [
        replace(problem, penalty=0.2),
        replace(problem, labels=-problem.labels),
        *(replace(problem, rules=r) for r in rules),
    ]
    assert len({problem.digest(), *(other.digest() for other in others)}) == 1 + len(others)
    assert replace(problem).digest() == problem.digest()
