"""Rules by column name: they change the card, are kept, and are named where they contradict each other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from reference.ward_cards import SMALL, X, Y, fitted

import surefoot as sf
from surefoot import RiskScoreClassifier
from surefoot import constraints as sc
from surefoot.riskscore.estimator.parameters import FitParameters

RULES = [
    (sc.MaxFeatures(1), lambda m: len(m.points_) <= 1),
    (sc.Fixed("smoker", -2), lambda m: m.points_["smoker"] == -2),
    (sc.Fixed("diabetes", 7), lambda m: m.points_["diabetes"] == 7),
    (sc.PointSet("diabetes", [5, 10]), lambda m: m.points_.get("diabetes", 0) in (0, 5, 10)),
    (sc.Bounds(["diabetes", "age >= 65"], -9, 0), lambda m: m.points_.get("age >= 65", 0) <= 0),
    (sc.Sign("diabetes", "-"), lambda m: m.points_.get("diabetes", 0) <= 0),
    (sc.AtMost(1, ["age >= 65", "diabetes"]), lambda m: not {"age >= 65", "diabetes"} <= set(m.points_)),
    (sc.AtLeast(2, ["age >= 40", "smoker"]), lambda m: {"age >= 40", "smoker"} <= set(m.points_)),
    (sc.Choose(1, ["age >= 65", "diabetes"]), lambda m: len({"age >= 65", "diabetes"} & set(m.points_)) == 1),
    (sc.Implies("diabetes", "age >= 40"), lambda m: "diabetes" not in m.points_ or "age >= 40" in m.points_),
    (sc.MaxThresholds(0, "age"), lambda m: not {"age >= 40", "age >= 65"} & set(m.points_)),
    (sc.Monotone("age", "decreasing"), lambda m: all(m.points_.get(c, 0) <= 0 for c in ("age >= 40", "age >= 65"))),
    (sc.MinProbability({"smoker": 1}, 0.4), lambda m: person_risk(m, "smoker") >= 0.4),
    (sc.MaxProbability({"diabetes": 1}, 0.2), lambda m: person_risk(m, "diabetes") <= 0.2),
    (sc.FalsePositiveRate(0.008), lambda m: np.mean(m.predict(X[Y == "healthy"]) == "ill") <= 0.008),
    (sc.TruePositiveRate(0.95), lambda m: np.mean(m.predict(X[Y == "ill"]) == "ill") >= 0.95),
    (sc.TruePositiveRate(0.99, risk=0.2), lambda m: np.mean(m.predict_proba(X[Y == "ill"])[:, 1] > 0.2) >= 0.99),
]


def person_risk(model: RiskScoreClassifier, *columns: str) -> float:
    person = pd.DataFrame([{name: int(name in columns) for name in X.columns}])
    return float(model.predict_proba(person)[0, 1])


@pytest.mark.parametrize(("rule", "kept"), RULES, ids=[repr(rule) for rule, _ in RULES])
def test_a_rule_by_name_changes_the_card_and_is_kept(rule: sc.Constraint, kept: Any):
    free, ruled = fitted(), fitted(rule)
    assert not kept(free), "a rule that the best card keeps anyway tests nothing"
    assert kept(ruled)
    assert ruled.outcome_.upper_bound > free.outcome_.upper_bound


def test_columns_may_be_given_by_position_where_there_are_no_names():
    model = RiskScoreClassifier(**SMALL, constraints=sc.Fixed(2, 0)).fit(X.to_numpy(), Y)
    assert model.coef_[0, 2] == 0
    by_name = RiskScoreClassifier(**SMALL, constraints=[sc.Fixed("x2", 0)]).fit(X.to_numpy(), Y)
    np.testing.assert_array_equal(model.coef_, by_name.coef_)


def test_contradicting_rules_are_named_and_bystanders_are_not():
    rules = (
        sc.AtMost(1, ["smoker", "diabetes"]),
        sc.Sign("visits", "+"),
        sc.Fixed("smoker", 2),
        sc.MaxProbability({"visits": 1}, 0.9),
        sc.AtLeast(1, ["diabetes"]),
        sc.TruePositiveRate(0.1),
    )
    with pytest.raises(sf.InfeasibleProblemError) as refusal:
        fitted(*rules)
    message = str(refusal.value)
    for rule in (rules[0], rules[2], rules[4]):
        assert repr(rule) in message
    for rule in (rules[1], rules[3], rules[5]):
        assert repr(rule) not in message
    assert "these 3 rules" in message and "Without any one of them" in message


def test_a_rule_that_the_limits_forbid_is_named_with_them():
    with pytest.raises(sf.InfeasibleProblemError, match=r"obeys MinFeatures\(count=4, columns=None\) within max_features=3"):
        fitted(sc.MinFeatures(4))


def test_rates_that_no_card_reaches_are_named():
    rules = (sc.FalsePositiveRate(0.0), sc.TruePositiveRate(1.0), sc.Sign("smoker", 1))
    with pytest.raises(sf.InfeasibleProblemError) as refusal:
        fitted(*rules)
    assert repr(rules[0]) in str(refusal.value) and repr(rules[1]) in str(refusal.value)
    assert "Sign" not in str(refusal.value)


def test_rules_are_listed_where_no_card_was_found_and_no_conflict_proven(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("surefoot.riskscore.estimator.posed_card.FIT_PARAMETERS", FitParameters(conflict_seconds=0.0))
    rules = (sc.FalsePositiveRate(0.0), sc.TruePositiveRate(1.0))
    with pytest.raises(sf.InfeasibleProblemError) as refusal:
        fitted(*rules)
    assert all(repr(rule) in str(refusal.value) for rule in rules)
