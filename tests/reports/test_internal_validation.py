"""Performance with its optimism taken off, against models whose optimism is known, and against other code for each measure."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import brier_score_loss, log_loss, roc_auc_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

import surefoot as sf
from surefoot import constraints as sc
from surefoot.reports.evidence.calibration import recalibration
from surefoot.reports.evidence.performance import MEASURES, performance
from surefoot.reports.sections.net_benefit import benefit_for_all, net_benefit

RNG = np.random.default_rng(3)
X = pd.DataFrame((RNG.random((160, 5)) < 0.4).astype(int), columns=["cough", "fever", "smoker", "old", "male"])
Y = np.where(RNG.random(160) < 0.15 + 0.5 * X["fever"] + 0.2 * X["old"], "ill", "well")
CARD = sf.RiskScoreClassifier(max_features=2, max_points=2, pos_label="ill")
AUC = MEASURES.index("AUC")


def test_measures_are_those_of_other_code():
    risks, positive = RNG.random(300), RNG.random(300) < 0.3
    found = dict(zip(MEASURES, performance(risks, positive), strict=True))
    assert found["log loss"] == pytest.approx(log_loss(positive, risks))
    assert found["Brier score"] == pytest.approx(brier_score_loss(positive, risks))
    assert found["AUC"] == pytest.approx(roc_auc_score(positive, risks))


@pytest.mark.parametrize("weighted", [False, True])
def test_recalibration_is_the_regression_that_a_general_optimiser_finds(weighted: bool):
    log_odds, weights = RNG.normal(size=400), RNG.integers(0, 3, 400).astype(float) if weighted else np.ones(400)
    positive = RNG.random(400) < 1 / (1 + np.exp(-(0.4 + 0.7 * log_odds)))

    def loss(at: np.ndarray) -> float:
        return float(weights @ np.logaddexp(0.0, np.where(positive, -1, 1) * (at[0] + at[-1] * log_odds)))

    found = recalibration(log_odds, positive, weights)
    best = minimize(loss, [0.0, 1.0], method="BFGS", tol=1e-10).x
    assert [found.intercept, found.slope] == pytest.approx(best.tolist(), abs=1e-4)
    moved = minimize(lambda at: loss(np.array([at[0], 1.0])), [0.0], method="BFGS").x[0]
    assert found.in_the_large == pytest.approx(moved, abs=1e-4)
    # The curvature by differences.
    step, curvature = 1e-3, np.zeros((2, 2))
    for i in range(2):
        for j in range(2):
            ends = [best + step * (a * np.eye(2)[i] + b * np.eye(2)[j]) for a in (1, -1) for b in (1, -1)]
            curvature[i, j] = (loss(ends[0]) - loss(ends[1]) - loss(ends[2]) + loss(ends[3])) / (4 * step**2)
    half = 1.96 * np.sqrt(np.linalg.inv(curvature).diagonal())
    assert np.diff(found.intercept_interval)[0] / 2 == pytest.approx(half[0], rel=1e-3)
    assert np.diff(found.slope_interval)[0] / 2 == pytest.approx(half[1], rel=1e-3)


def test_separated_classes_have_no_slope():
    found = recalibration(np.linspace(-1, 1, 10), np.arange(10) >= 5, np.ones(10))
    assert math.isnan(found.slope) and math.isnan(found.slope_interval[0])


def test_net_benefit_is_that_of_counting():
    risks, positive, weights = RNG.random(50).round(1), RNG.random(50) < 0.4, RNG.random(50)
    at = np.array([0.1, 0.35, 0.8])
    for threshold, own in zip(at, net_benefit(risks, positive, at, weights), strict=True):
        true = sum(w for r, p, w in zip(risks, positive, weights, strict=True) if r >= threshold and p)
        false = sum(w for r, p, w in zip(risks, positive, weights, strict=True) if r >= threshold and not p)
        assert own == pytest.approx((true - false * threshold / (1 - threshold)) / weights.sum())
    everybody = net_benefit(np.ones(50), positive, at, weights)
    np.testing.assert_allclose(benefit_for_all(positive, at, weights), everybody)


def test_a_model_that_learns_nothing_has_no_optimism_and_one_that_learns_by_heart_has_it_all():
    noise = RNG.normal(size=(160, 3))
    none = sf.internal_validation(DummyClassifier(), noise, Y, n_resamples=50)
    assert none.apparent[AUC] == none.corrected[AUC] == 0.5
    heart = sf.internal_validation(KNeighborsClassifier(1), noise, Y, n_resamples=50)
    assert heart.apparent[AUC] == 1.0
    assert heart.left_out[AUC] == pytest.approx(0.5, abs=0.1)
    # A resample leaves out 37 % of the rows, of which it knows nothing.
    assert heart.optimism[AUC] == pytest.approx(0.5 * 0.37, abs=0.05)


def test_the_correction_is_what_the_definition_says():
    """Optimism of a plain regression, from the resamples that the same seed draws."""
    model, columns = LogisticRegression(C=1e6), X.to_numpy(dtype=float)
    found = sf.internal_validation(model, columns, Y, n_resamples=40, random_state=4)
    random = np.random.default_rng(np.random.RandomState(4).randint(2**31 - 1))
    gained = []
    for _ in range(40):
        rows = random.integers(0, 160, 160)
        risks = LogisticRegression(C=1e6).fit(columns[rows], Y[rows]).predict_proba(columns)[:, 1]
        gained.append(roc_auc_score(Y[rows] == "well", risks[rows]) - roc_auc_score(Y == "well", risks))
    assert found.optimism[AUC] == pytest.approx(np.mean(gained))
    low, high = found.intervals[AUC]
    assert low < found.corrected[AUC] < high < 1
    curve = found.decision_curve()
    assert curve["corrected"].iloc[20] < net_benefit(
        found.model.predict_proba(columns)[:, 1], Y == "well", np.array([curve["threshold"].iloc[20]])
    )


def test_rows_that_belong_together_are_left_out_together():
    noise, labels = np.repeat(RNG.normal(size=(60, 3)), 3, axis=0), np.repeat(RNG.random(60) < 0.5, 3)
    model, people = KNeighborsClassifier(1), np.repeat(np.arange(60), 3)
    alone = sf.internal_validation(model, noise, labels, n_resamples=0)
    together = sf.internal_validation(model, noise, labels, n_resamples=3, groups=people)
    assert alone.left_out[AUC] > 0.95
    assert together.left_out[AUC] < 0.7
    assert math.isnan(alone.corrected[AUC]) and math.isnan(alone.instability[0])


def test_cards_are_found_again_with_their_thresholds_and_counted():
    table = X.assign(age=np.where(Y == "ill", RNG.normal(70, 9, 160), RNG.normal(55, 9, 160)).round(1))
    whole = make_pipeline(sf.ThresholdBinarizer(strategy="supervised", max_thresholds=2, pos_label="ill"), CARD)
    found = sf.internal_validation(whole, table, Y, n_resamples=12)
    stability = found.stability().set_index("variable")
    assert stability.loc["age", "used"] == 1.0 and stability.loc["age", "on_card"]
    questions = found.questions()
    on_card = dict(zip(questions["question"], questions["points"], strict=True))
    assert {name: own for name, own in on_card.items() if own} == found.model[-1].points_
    assert sum(name.startswith("age") for name in questions["question"]) > 2, "thresholds are learned again"
    assert found.positive_class == "ill" and found.n_positive == np.sum(Y == "ill")
    assert "On cards of resamples: age 100%" in str(found)
    assert found.table()["measure"].tolist() == list(MEASURES)
    assert 0 < found.instability.mean() < 0.5


def test_threads_and_repetition_give_the_same_numbers():
    once, again = (sf.internal_validation(CARD, X, Y, n_resamples=6, n_jobs=jobs, random_state=7) for jobs in (1, 2))
    np.testing.assert_array_equal(once.corrected, again.corrected)
    np.testing.assert_array_equal(once.left_out_risks, again.left_out_risks)


def test_resamples_without_an_admissible_card_are_told():
    share = float(np.mean(X["fever"])) - 0.02
    rules = [sc.MinShare(share), sc.AtLeast(1, ["fever"])]
    model = sf.RiskScoreClassifier(max_features=2, constraints=rules, pos_label="ill")
    found = sf.internal_validation(model, X, Y, n_resamples=20, n_folds=2, random_state=1)
    assert found.n_failed > 0
    assert f"{found.n_failed} resamples are left out" in str(found)
    hard = sf.RiskScoreClassifier(constraints=[sc.MinShare(share + 0.02), sc.AtLeast(1, ["fever"])], pos_label="ill")
    with pytest.raises(sf.InfeasibleProblemError, match=r"of 20 resamples|outside of one of"):
        sf.internal_validation(hard, X, Y, n_resamples=20, n_folds=2, random_state=5)


def test_a_level_that_a_part_of_the_rows_lacks_is_explained():
    table = X.assign(town=["Oslo"] * 80 + ["Bern"] * 79 + ["Rome"])
    with pytest.raises(sf.InvalidTableError) as refusal:
        sf.internal_validation(make_pipeline(sf.ThresholdBinarizer(), CARD), table, Y, n_resamples=20)
    assert any("unseen='zero'" in note for note in refusal.value.__notes__)
    lenient = make_pipeline(sf.ThresholdBinarizer(unseen="zero"), CARD)
    assert sf.internal_validation(lenient, table, Y, n_resamples=2).n_rows == 160


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_resamples": -1}, "n_resamples = -1"),
        ({"n_folds": 1}, "n_folds = 1"),
        ({"n_folds": 150}, "more than there are rows of a class"),
        ({"thresholds": [0.5, 1.0]}, "between 0 and 1, without the ends"),
        ({"groups": [1, 2, 3]}, "each of the 160 rows"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings: dict[str, object], message: str):
    with pytest.raises(ValueError, match=message):
        sf.internal_validation(CARD, X, Y, **settings)
    with pytest.raises(ValueError, match="predicts probabilities"):
        sf.internal_validation(LinearSVC(), X, Y)


def test_the_decision_curve_is_drawn_and_that_of_a_card_is_a_table():
    found = sf.internal_validation(CARD, X, Y, n_resamples=3, thresholds=[0.1, 0.2, 0.5])
    lines = {line.get_label(): line.get_ydata() for line in found.plot().get_lines()}
    assert len(lines["act on everybody"]) == 3
    card = found.model.score_card()
    curve = card.decision_curve(X, Y, thresholds=[0.1, 0.2, 0.5])
    risks = found.model.predict_proba(X)[:, 0]
    expected = net_benefit(risks, Y == "ill", np.array([0.1, 0.2, 0.5]))
    np.testing.assert_allclose(curve["card"], expected)
    np.testing.assert_allclose(curve["all"], lines["act on everybody"])
    assert len(card.decision_curve(X, Y)) == 99
