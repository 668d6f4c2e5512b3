"""Rules by column name: what they become, and what they say when they cannot be understood."""

from __future__ import annotations

import copy
import math
import pickle
from pathlib import Path

import numpy as np
import pytest

from surefoot import RiskScoreClassifier, load, save, verify
from surefoot import constraints as sc
from surefoot.riskscore.estimator.card_columns import CardColumns
from surefoot.riskscore.problem.card_rules import (
    BudgetRule,
    FairRiskRule,
    FairRule,
    GroupRule,
    ImplicationRule,
    LinearRule,
    PointSetRule,
    RateRule,
    SignRule,
)

NAMES = ("age >= 40", "age >= 65", "male", "diabetes", "bmi", "job = clerk", "age missing", "agenda >= 2")


def columns(lower: int = -2, upper: int = 2) -> CardColumns:
    d = len(NAMES)
    binary = np.array([name != "bmi" for name in NAMES])
    shares = np.array([0.5, 0.3, 0.1, 0.2, np.nan, 0.9, 0.4, 0.6])
    return CardColumns(NAMES, binary, np.full(d, lower, dtype=np.int32), np.full(d, upper, dtype=np.int32), shares)


EVERYTHING = tuple(range(len(NAMES)))


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        (sc.MaxFeatures(3), (GroupRule(EVERYTHING, most=3),)),
        (sc.MaxFeatures(1, ["male", "bmi"]), (GroupRule((2, 4), most=1),)),
        (sc.MinFeatures(2), (GroupRule(EVERYTHING, least=2),)),
        (sc.AtMost(1, ["male", 3]), (GroupRule((2, 3), most=1),)),
        (sc.AtLeast(1, ["male", "diabetes"]), (GroupRule((2, 3), least=1),)),
        (sc.Choose(1, ["male", "diabetes"]), (GroupRule((2, 3), least=1, most=1),)),
        (sc.MaxThresholds(1, "age"), (GroupRule((0, 1, 6), most=1),)),
        (sc.MaxThresholds(1, ["age >= 40", "agenda >= 2"]), (GroupRule((0, 7), most=1),)),
        (sc.Implies("male", ["bmi", "diabetes"]), (ImplicationRule((2,), (4, 3)),)),
        (sc.Sign("bmi", 1), (PointSetRule(4, (0, 1, 2)),)),
        (sc.Sign(["male", "bmi"], "-"), (PointSetRule(2, (-2, -1, 0)), PointSetRule(4, (-2, -1, 0)))),
        (sc.Monotone("age"), (SignRule((0, 1)),)),
        (sc.Monotone("age", "decreasing"), (PointSetRule(0, (-2, -1, 0)), PointSetRule(1, (-2, -1, 0)))),
        (sc.Monotone([2, 3], "increasing"), (PointSetRule(2, (0, 1, 2)), PointSetRule(3, (0, 1, 2)))),
        (sc.Bounds("bmi", -1, 3), (PointSetRule(4, (-1, 0, 1, 2, 3)),)),
        (sc.PointSet("bmi", [5, 10, -5]), (PointSetRule(4, (-5, 0, 5, 10)),)),
        (sc.Fixed("male", 7), (PointSetRule(2, (7,)),)),
        (sc.ForbiddenTogether(["male", "bmi", 3]), (GroupRule((2, 4, 3), most=2),)),
        (sc.CostBudget({"age": 1, "bmi": 2.5}, 3), (BudgetRule((0, 1, 6, 4), (0, 0, 0, 1), (1.0, 2.5), 3.0),)),
        (sc.CostBudget({("male", "bmi"): 7}, 3), (BudgetRule((2, 4), (0, 0), (7.0,), 3.0),)),
        (sc.MinShare(0.2), (PointSetRule(2, (0,)), PointSetRule(5, (0,)))),
        (sc.MinShare(0.2, ["male", "diabetes"]), (PointSetRule(2, (0,)),)),
        (sc.FairRates("male", "fpr", 0.1), (FairRule((2,), -1.0, 0.1), PointSetRule(2, (0,)))),
        (sc.FairRates("male", "calibration", 0.1), (FairRiskRule((2,), 0.0, 0.1), PointSetRule(2, (0,)))),
        (sc.FairRates("age", "selection", 0.1, on_card=True), (FairRule((0, 1, 6), 0.0, 0.1),)),
        (sc.FalsePositiveRate(0.1), (RateRule(-1.0, upper=0.1),)),
        (sc.TruePositiveRate(0.8, risk=0.2), (RateRule(1.0, lower=0.8, threshold=math.log(0.2) - math.log1p(-0.2)),)),
    ],
)
def test_rules_by_name_become_rules_by_number(rule: sc.Constraint, expected: tuple[object, ...]):
    assert rule.rules(columns()) == expected


def test_the_risk_of_a_person_is_a_rule_about_the_score():
    person = {"male": 1, "bmi": 31.5}
    for kind, side, other in ((sc.MinProbability, "lower", "upper"), (sc.MaxProbability, "upper", "lower")):
        (rule,) = kind(person, 0.25).rules(columns())
        assert isinstance(rule, LinearRule)
        np.testing.assert_array_equal(rule.coefficients, [0, 0, 1, 0, 31.5, 0, 0, 0])
        assert rule.intercept_coefficient == 1.0
        assert getattr(rule, side) == pytest.approx(math.log(0.25 / 0.75), abs=1e-15)
        assert math.isinf(getattr(rule, other))


def test_flagged_rows_are_those_that_predict_puts_into_the_second_class():
    # Two points and an intercept of -2 give a score of 0, at which scikit-learn's rule is the first class.
    table, labels = np.array([[1], [1], [1], [0], [0], [1]]), np.array([1, 1, 0, 0, 0, 0])
    model = RiskScoreClassifier(constraints=[sc.Fixed(0, 2), sc.MaxProbability({0: 1}, 0.5), sc.MinProbability({0: 1}, 0.5)])
    model.fit(table, labels)
    assert model.decision_function(table).max() == 0.0
    assert model.predict(table).tolist() == [0] * 6
    for rule, kept in ((sc.FalsePositiveRate(0.0), True), (sc.TruePositiveRate(0.5), False)):
        rate = rule.rules(columns())[0]
        assert isinstance(rate, RateRule)
        scores = model.decision_function(table)
        assert rate.allows(scores, np.where(labels == 1, 1.0, -1.0), np.full(6, 1 / 6)) is kept


def test_points_a_rule_speaks_of_are_known_before_limits_are_set():
    assert sc.Fixed("male", 7).values(columns()) == {2: (7,)}
    assert sc.PointSet(["male", "bmi"], (10,)).values(columns()) == {2: (0, 10), 4: (0, 10)}
    assert sc.Sign("male", 1).values(columns()) == {}


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (sc.AtMost(1, ["mal", "bmi"]), "AtMost names column 'mal', which the table does not have. Did you mean 'male'"),
        (sc.AtMost(1, ["AGE >= 40"]), "Did you mean 'age >= 40'"),
        (sc.Sign("clerk", 1), "Did you mean 'job = clerk'"),
        (sc.Sign("zzz", 1), "The columns are 'age >= 40', 'age >= 65'"),
        (sc.Fixed(8, 1), "names column 8, but positions run from 0 to 7"),
        (sc.Fixed(-1, 1), "names column -1"),
        (sc.Fixed(2.5, 1), "by name or by position"),
        (sc.AtMost(1, ["male", 2]), "names column 'male' twice"),
        (sc.AtMost(1, []), "names no column"),
        (sc.AtMost(1, 2.5), "give a list"),
        (sc.AtMost(-1, ["male"]), "count = -1 must be a whole number at or above 0"),
        (sc.AtMost(True, ["male"]), "count = True"),
        (sc.AtLeast(3, ["male", "bmi"]), "count = 3, but there are only 2 columns"),
        (sc.Choose(2, "male"), "only 1 columns"),
        (sc.MinFeatures(9), "only 8 columns"),
        (sc.Sign("male", 2), "sign = 2 is not understood"),
        (sc.Sign("male", None), "sign = None is not understood"),
        (sc.Monotone(["male", "bmi"]), "Monotone needs columns of 0 and 1, but column 'bmi' holds other values. Threshold"),
        (sc.MaxThresholds(1, "bmi"), "column 'bmi' holds other values"),
        (sc.Monotone("job"), "column 'job = clerk' is none"),
        (sc.Monotone("height"), "no column is made from a variable of that name"),
        (sc.Monotone("age", "up"), "direction = 'up' is not understood"),
        (sc.Bounds("bmi", 3, 1), "lower = 3 is above upper = 1"),
        (sc.Bounds("bmi", 1, 3), "leave out 0"),
        (sc.Bounds("bmi", -1, 0.5), "upper = 0.5 must be a whole number"),
        (sc.PointSet("bmi", 3), "points = 3 must be a list"),
        (sc.PointSet("bmi", [1, 2.5]), "points = 2.5 must be a whole number"),
        (sc.Fixed("bmi", "3"), "points = '3'"),
        (sc.MinProbability({"male": 1}, 0.0), "risk = 0.0 must be a number between 0 and 1"),
        (sc.MaxProbability({"male": 2}, 0.5), "column 'male' of the person holds 2, but is 0 or 1 in the table"),
        (sc.MaxProbability({"bmi": math.nan}, 0.5), "column 'bmi' of the person holds nan"),
        (sc.MaxProbability(["male"], 0.5), "must be a mapping"),
        (sc.MinProbability({"mael": 1}, 0.5), "Did you mean 'male'"),
        (sc.FalsePositiveRate(1.5), "most = 1.5 must be a number from 0 to 1"),
        (sc.TruePositiveRate(0.5, risk=1.0), "risk = 1.0"),
    ],
)
def test_what_cannot_be_understood_is_named(rule: sc.Constraint, message: str):
    with pytest.raises(ValueError) as refusal:
        rule.rules(columns())
    assert message in str(refusal.value)


def test_a_rule_prints_as_it_was_written_and_survives_copies():
    rule = sc.AtMost(1, ["male", "bmi"])
    assert repr(rule) == "AtMost(count=1, columns=['male', 'bmi'])"
    assert copy.deepcopy(rule) == rule == pickle.loads(pickle.dumps(rule))
    assert all(issubclass(getattr(sc, name), sc.Constraint) for name in sc.__all__)


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (sc.ForbiddenTogether(["male"]), "names one column only"),
        (sc.CostBudget({}, 1), "must be a mapping from columns to what they cost"),
        (sc.CostBudget({"male": -1}, 1), "the cost of 'male' is -1"),
        (sc.CostBudget({"male": 1}, math.inf), "most is inf"),
        (sc.CostBudget({"mole": 1}, 1), "Did you mean 'male'"),
        (sc.MinShare(1.5), r"share = 1\.5 must be a number from 0 to 1"),
        (sc.MinShare(0.1, "bmi"), "column 'bmi' holds other values"),
        (sc.FairRates("male", "recall"), "metric = 'recall' is not understood"),
        (sc.FairRates("male", "tpr", 2), "max_difference = 2"),
        (sc.FairRates("male", on_card=1), "on_card = 1 must be True or False"),
    ],
)
def test_rules_of_the_trade_say_what_is_wrong_with_them(rule: sc.Constraint, message: str):
    with pytest.raises(ValueError, match=message):
        rule.rules(columns())


def test_groups_of_a_column_of_many_values_are_refused_by_name():
    X = np.column_stack([np.arange(60) % 30, np.arange(60) % 2])
    with pytest.raises(ValueError, match=r"FairRates\(column=0.*makes 30 of them; it takes 2 to 20"):
        RiskScoreClassifier(constraints=sc.FairRates(0)).fit(X, X[:, 1])


def test_models_with_rules_of_the_trade_are_saved_and_verified(tmp_path: Path):
    rng = np.random.default_rng(2)
    X = (rng.random((120, 5)) < 0.5).astype(int)
    y = X[:, 0] + X[:, 1] + rng.logistic(size=120) > 1.2
    rules = [
        sc.FairRates(4, "selection", 0.05),
        sc.CostBudget({0: 1.0, (1, 2): 2.0}, 2.5),
        sc.ForbiddenTogether([0, 3]),
        sc.MinShare(0.3),
    ]
    model = RiskScoreClassifier(max_features=3, constraints=rules).fit(X, y)
    flagged = model.predict(X)
    assert abs(flagged[X[:, 4] == 1].mean() - flagged[X[:, 4] == 0].mean()) <= 0.05 + 1e-9
    assert "(risks, rates and costs to 1e-9)" in model.certificate_.claim
    save(model, tmp_path / "card.surefoot")
    loaded = load(tmp_path / "card.surefoot")
    assert loaded.constraints == rules
    assert verify(loaded, X, y).verified
