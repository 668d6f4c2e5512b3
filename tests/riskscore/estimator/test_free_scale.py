"""Score cards of free scale in the estimator: points and multiplier, predictions, print-outs, weights, and what is refused."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import expit
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

import surefoot as sf
from surefoot import RiskScoreClassifier
from surefoot import constraints as sc
from surefoot.riskscore.problem.score_shift import ScoreShift


def ward(rows: int = 250, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Weak effects, for which whole units of log odds are too coarse."""
    rng = np.random.default_rng(seed)
    names = ("age >= 65", "diabetes", "smoker", "vaccinated")
    table = pd.DataFrame({name: (rng.random(rows) < 0.4).astype(int) for name in names})
    score = -0.7 + 0.8 * table["age >= 65"] + 0.5 * table["diabetes"] + 0.3 * table["smoker"] - 0.4 * table["vaccinated"]
    return table, np.where(score + rng.logistic(size=rows) > 0, "ill", "healthy")


X, Y = ward()
SMALL: dict[str, Any] = {"max_features": 2, "max_points": 3, "intercept_bound": 6, "scale": "free"}


def fitted(**changes: Any) -> RiskScoreClassifier:
    return RiskScoreClassifier(**{**SMALL, **changes}).fit(X, Y)


def mean_loss(model: RiskScoreClassifier, weights: np.ndarray | None = None) -> float:
    score = model.intercept_ + sum(X[name].to_numpy() * value for name, value in model.points_.items())
    return float(np.average(np.logaddexp(0.0, np.where(Y == "ill", -1.0, 1.0) * score / model.multiplier_), weights=weights))


def test_card_and_multiplier_are_the_best_of_all():
    model = fitted(sparsity_penalty=0.0)
    sign, block = np.where(Y == "ill", -1.0, 1.0), X.to_numpy()

    def loss(intercept: int, columns: tuple[int, ...], points: tuple[int, ...]) -> float:
        margins = sign * (intercept + block[:, columns] @ np.array(points))
        return minimize_scalar(
            lambda t: np.logaddexp(0.0, t * margins).mean(), bounds=(1 / 20, 5 / 3), options={"xatol": 1e-9}, method="bounded"
        ).fun

    values = (-3, -2, -1, 1, 2, 3)
    best = min(
        loss(intercept, columns, points)
        for columns in itertools.combinations(range(4), 2)
        for points in itertools.product(values, repeat=2)
        for intercept in range(-6, 7)
    )
    assert model.outcome_.upper_bound == pytest.approx(best, abs=1e-10)
    assert mean_loss(model) == pytest.approx(best, abs=1e-10)
    assert best < fitted(sparsity_penalty=0.0, scale="unit").outcome_.upper_bound


def test_predictions_follow_from_points_and_multiplier():
    model = fitted()
    score = model.intercept_ + X[list(model.points_)].to_numpy() @ np.array(list(model.points_.values()))
    assert model.multiplier_ > 1.0
    np.testing.assert_allclose(model.decision_function(X), score / model.multiplier_, rtol=1e-15)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], expit(score / model.multiplier_), rtol=1e-14)
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), model.predict_proba(X), rtol=1e-13)
    np.testing.assert_array_equal(model.predict(X) == "ill", score > 0)
    assert isinstance(model.multiplier_, float)
    assert fitted(scale="unit").multiplier_ == 1.0


def test_the_printed_table_is_predict_proba():
    model = fitted(max_features=3)
    card = model.score_card()
    assert card.multiplier == model.multiplier_
    assert card.table.exact
    printed = {row.low: row.low_risk for row in card.table.rows}
    totals = [card.total(row) for row in X.to_dict("records")]
    assert [printed[total] for total in totals] == model.predict_proba(X)[:, 1].tolist()
    assert f"{model.multiplier_:.3g}"[:3] in card.text
    assert sf.ScoreCard.from_json(card.json) == card


@pytest.mark.parametrize("solver", ["auto", "exact", "heuristic"])
@pytest.mark.filterwarnings("ignore::surefoot.ConvergenceLimitWarning")
def test_solvers_that_know_the_form_find_the_same_card(solver: str):
    model = fitted(solver=solver)
    assert (model.points_, model.intercept_) == (fitted().points_, fitted().intercept_)
    assert model.multiplier_ == pytest.approx(fitted().multiplier_, rel=1e-6)
    assert model.certificate_.upper_bound == pytest.approx(mean_loss(model) + 1e-8 * len(model.points_), abs=1e-12)


@pytest.mark.parametrize("solver", ["lcpa", "cpa", "rd", "rsrd", "seqrd", "rd*", "rsrd*", "seqrd*"])
def test_other_solvers_say_why_they_refuse(solver: str):
    with pytest.raises(sf.UnsupportedProblemError, match=r"free scale"):
        fitted(solver=solver)


def test_time_that_is_too_short_for_the_search_leaves_cutting_planes_alone():
    with pytest.warns(sf.ConvergenceLimitWarning):
        model = RiskScoreClassifier(max_features=5, scale="free", time_limit=1e-6).fit(*ward(400))
    assert model.solver_ == "exact"
    assert model.outcome_.lower_bound <= model.outcome_.upper_bound


def test_weights_are_repetitions():
    counts = np.random.default_rng(1).integers(0, 4, len(X))
    weighted = RiskScoreClassifier(**SMALL).fit(X, Y, sample_weight=counts)
    repeated = RiskScoreClassifier(**SMALL).fit(X.loc[np.repeat(X.index, counts)], np.repeat(Y, counts))
    assert (weighted.points_, weighted.intercept_) == (repeated.points_, repeated.intercept_)
    assert weighted.multiplier_ == pytest.approx(repeated.multiplier_, rel=1e-6)
    assert weighted.outcome_.upper_bound == pytest.approx(repeated.outcome_.upper_bound, abs=1e-12)


def test_class_weights_are_repetitions_of_the_rows_of_a_class():
    counts = np.where(Y == "ill", 3, 1)
    by_class = fitted(class_weight={"ill": 3.0, "healthy": 1.0})
    repeated = RiskScoreClassifier(**SMALL).fit(X.loc[np.repeat(X.index, counts)], np.repeat(Y, counts))
    assert (by_class.points_, by_class.intercept_) == (repeated.points_, repeated.intercept_)
    assert by_class.multiplier_ == pytest.approx(repeated.multiplier_, rel=1e-6)
    assert by_class.predict_proba(X)[:, 1].mean() > fitted().predict_proba(X)[:, 1].mean() + 0.1


def test_a_grid_search_behind_a_binarizer_chooses_the_scale():
    rng = np.random.default_rng(3)
    raw = pd.DataFrame({"age": rng.integers(20, 90, 300), "ward": rng.choice(["a", "b", "c"], 300)})
    y = raw["age"] + 20 * (raw["ward"] == "a") + 40 * rng.logistic(size=300) > 60
    pipeline = make_pipeline(sf.ThresholdBinarizer(max_thresholds=3), RiskScoreClassifier(max_features=3, max_points=3))
    grid = {"riskscoreclassifier__scale": ["unit", "free"]}
    search = GridSearchCV(pipeline, grid, cv=3, scoring="neg_log_loss").fit(raw, y)
    assert search.best_params_ == {"riskscoreclassifier__scale": "free"}
    card = search.best_estimator_[-1]
    assert card.multiplier_ != 1.0
    again = clone(card).fit(search.best_estimator_[0].transform(raw), y)
    assert (again.points_, again.multiplier_) == (card.points_, card.multiplier_)


def test_a_robust_card_of_free_scale_has_the_best_worst_case():
    free, unit, plain = fitted(radius=0.1), fitted(radius=0.1, scale="unit"), fitted()
    reach = ScoreShift(0.1, np.ones(4), np.ones(4, dtype=bool))
    signs, weights = np.where(Y == "ill", 1.0, -1.0), np.full(len(Y), 1 / len(Y))

    def worst(model: RiskScoreClassifier, multiplier: float) -> float:
        card = int(model.intercept_), np.asarray(model.coef_[0])
        return reach.worst_loss(X.to_numpy(dtype=float), signs, weights, *card, 1 / multiplier).value

    value = worst(free, free.multiplier_)
    assert free.outcome_.upper_bound == pytest.approx(value + 1e-8 * len(free.points_), abs=1e-12)
    assert free.certificate_.verified and "were recomputed" in free.certificate_.claim
    for other in (unit, plain):
        assert all(value < worst(other, m) for m in np.geomspace(0.6, 20.0, 30) if other.points_ != free.points_)
        assert value < worst(other, other.multiplier_)
    score = free.intercept_ + X[list(free.points_)].to_numpy() @ np.array(list(free.points_.values()))
    np.testing.assert_allclose(free.predict_proba(X)[:, 1], expit(score / free.multiplier_), rtol=1e-14)


def test_what_is_no_scale_is_said():
    for wrong in ("loose", None, 1):
        with pytest.raises(ValueError, match="must be 'unit' or 'free'"):
            fitted(scale=wrong)


@pytest.mark.parametrize(("max_points", "least"), [(1, 0.2), (3, 0.6), (5, 1.0), (10, 1.0)])
def test_rows_that_are_parted_meet_the_largest_effect(max_points: int, least: float):
    parted = np.arange(20)[:, None] >= np.array([[10]])
    model = RiskScoreClassifier(max_features=1, max_points=max_points, scale="free").fit(parted, parted[:, 0])
    assert model.multiplier_ == pytest.approx(least, rel=1e-9)
    assert model.points_ == {"x0": max_points}


def test_a_radius_of_0_is_no_radius():
    assert fitted(radius=0.0).multiplier_ == fitted().multiplier_


def test_rules_about_any_risk_hold_at_a_free_scale():
    smoker = {"smoker": 1}
    person = pd.DataFrame([{**dict.fromkeys(X.columns, 0), **smoker}])
    plain = fitted().predict_proba(person)[0, 1]
    for rule, least, most in (
        (sc.MinProbability(smoker, plain + 0.1), plain + 0.1, 1.0),
        (sc.MaxProbability(smoker, plain - 0.1), 0.0, plain - 0.1),
    ):
        model = fitted(constraints=[rule])
        assert least - 1e-9 <= model.predict_proba(person)[0, 1] <= most + 1e-9
        assert model.outcome_.upper_bound > fitted().outcome_.upper_bound
        assert model.certificate_.verified, model.certificate_.claim
        assert model.multiplier_ != 1.0


@pytest.mark.parametrize("risk", [0.3, 0.5, 0.6])
def test_flagged_rows_are_those_above_the_risk_at_a_free_scale(risk: float):
    ill = Y == "ill"

    def rates(model: RiskScoreClassifier) -> tuple[float, float]:
        flagged = model.predict_proba(X)[:, 1] > risk
        return float(flagged[ill].mean()), float(flagged[~ill].mean())

    found, alarmed = rates(fitted())
    caught = fitted(constraints=[sc.TruePositiveRate(min(found + 0.15, 1.0), risk=risk)])
    assert rates(caught)[0] >= min(found + 0.15, 1.0)
    calm = fitted(constraints=[sc.FalsePositiveRate(0.5 * alarmed, risk=risk)])
    assert rates(calm)[1] <= 0.5 * alarmed


def test_contradicting_risks_are_named_at_a_free_scale():
    smoker = {"smoker": 1}
    rules = [sc.MaxFeatures(2), sc.MinProbability(smoker, 0.8), sc.MaxProbability(smoker, 0.7)]
    with pytest.raises(sf.InfeasibleProblemError, match=r"these 2 rules together") as info:
        fitted(constraints=rules)
    assert "MaxFeatures" not in str(info.value)
    # At a free scale some multiplier gives the person exactly this risk.
    exact = fitted(constraints=[sc.MinProbability(smoker, 0.7), sc.MaxProbability(smoker, 0.7)])
    person = pd.DataFrame([{**dict.fromkeys(X.columns, 0), **smoker}])
    assert exact.predict_proba(person)[0, 1] == pytest.approx(0.7, abs=1e-9)


def test_cards_near_the_best_come_with_their_multipliers():
    model = fitted(near_optimal=0.02)
    near = model.near_optimal_
    assert near.complete
    assert near[0].points == model.points_
    assert near[0].multiplier == pytest.approx(model.multiplier_, rel=1e-6)
    sign = np.where(Y == "ill", -1.0, 1.0)
    for card in near:
        score = card.intercept + sum(X[name].to_numpy() * value for name, value in card.points.items())
        loss = float(np.logaddexp(0.0, sign * score / card.multiplier).mean()) + 1e-8 * len(card.points)
        assert loss == pytest.approx(card.objective, abs=1e-10)
        assert np.gcd.reduce([card.intercept, *card.points.values()]) == 1
    table = near.table()
    assert table["multiplier"].tolist() == [card.multiplier for card in near]
    assert len(near) == near.n_found > 1
    assert "multiplier" not in fitted(near_optimal=0.02, scale="unit").near_optimal_.table().columns


def test_rules_about_even_risks_hold_at_a_free_scale():
    smoker = {"smoker": 1}
    person = pd.DataFrame([{**dict.fromkeys(X.columns, 0), **smoker}])
    assert fitted().predict_proba(person)[0, 1] < 0.5
    careful = fitted(constraints=[sc.MinProbability(smoker, 0.5)])
    assert careful.predict_proba(person)[0, 1] >= 0.5
    sick = Y == "ill"
    wary = fitted(constraints=[sc.TruePositiveRate(0.9)])
    assert np.mean(wary.predict(X[sick]) == "ill") >= 0.9 > np.mean(fitted().predict(X[sick]) == "ill")


@pytest.mark.parametrize("rules", [[sc.Fixed(0, 2)], [sc.AtLeast(1, [0]), sc.PointSet(0, [2])]])
@pytest.mark.parametrize("seed", range(3))
def test_the_heuristic_survives_columns_of_a_million_at_narrower_and_narrower_scales(seed: int, rules: list[Any]) -> None:
    # Narrower scales are tried by heuristics that are gone afterwards, while the first one goes on with the same counts.
    draw = np.random.default_rng(seed)
    X, y = 1e6 * draw.normal(size=(40, 2)), draw.integers(0, 2, 40)
    model = RiskScoreClassifier(solver="heuristic", scale="free", max_features=1, constraints=rules)
    with pytest.warns(sf.ConvergenceLimitWarning):
        model.fit(X, y)
    assert model.points_ == {"x0": 2}


def test_a_rare_class_is_proven_at_a_free_scale():
    model = RiskScoreClassifier(max_features=1, max_points=1, scale="free")
    model.fit([[1.0], [2.0]], [0, 1], sample_weight=[1.0, 0.001])
    assert model.certificate_.verified, model.certificate_.claim


@pytest.mark.parametrize("rules", [[], [sc.PointSet("x0", [-2, 0, 1, 2])], [sc.FalsePositiveRate(0.05, risk=0.3)]])
@pytest.mark.parametrize(("seed", "n_positive", "max_points"), [(1, 1, 2), (8, 2, 1), (5, 3, 1)])
def test_few_positive_rows_are_proven_at_a_free_scale(seed: int, n_positive: int, max_points: int, rules: list[Any]):
    draw = np.random.default_rng(seed)
    X = draw.normal(size=(200, 2)).round(1)
    y = np.zeros(200, dtype=int)
    y[np.argsort(-X[:, 0] - 0.5 * draw.normal(size=200))[:n_positive]] = 1
    model = RiskScoreClassifier(max_features=2, max_points=max_points, scale="free", constraints=rules).fit(X, y)
    assert model.certificate_.verified, model.certificate_.claim
    assert model.certificate_.lower_bound > 0.0
