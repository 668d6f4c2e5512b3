"""A hand-made card on trial: its loss, its calibration, and how far it is from the best card of its form."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from reference.enumerated_score import best_card
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score

import surefoot as sf
from surefoot import constraints as sc

RNG = np.random.default_rng(7)
COLUMNS = ["heart failure", "hypertension", "age >= 75", "diabetes", "stroke"]
X = pd.DataFrame((RNG.random((300, 5)) < [0.2, 0.5, 0.3, 0.25, 0.1]).astype(int), columns=COLUMNS)
LOG_ODDS = X.to_numpy() @ [0.8, 0.3, 1.2, 0.4, 1.9] - 1.8
Y = np.where(RNG.random(300) < 1 / (1 + np.exp(-LOG_ODDS)), "stroke", "none")
CHA2DS2 = {"heart failure": 1, "hypertension": 1, "age >= 75": 2, "diabetes": 1, "stroke": 2}


def hand_made(points: dict[str, int] = CHA2DS2, intercept: int = -3, multiplier: float = 1.0) -> sf.ScoreCard:
    return sf.ScoreCard.from_points(points, intercept, multiplier=multiplier, classes=("none", "stroke"))


def test_loss_discrimination_and_calibration_are_those_of_scikit_learn():
    judged = hand_made().judge(X, Y)
    totals = X.to_numpy() @ list(CHA2DS2.values())
    ill = Y == "stroke"
    risks = 1 / (1 + np.exp(-(totals - 3.0)))
    assert judged.loss == pytest.approx(log_loss(ill, risks))
    assert judged.auc == pytest.approx(roc_auc_score(ill, totals))
    assert judged.observed == pytest.approx(ill.mean())
    assert judged.predicted == pytest.approx(risks.mean())
    refitted = LogisticRegression(C=np.inf, tol=1e-10).fit(totals[:, None] - 3.0, ill)
    assert judged.calibration_slope == pytest.approx(refitted.coef_[0, 0], rel=1e-4)
    assert judged.calibration_intercept == pytest.approx(refitted.intercept_[0], abs=1e-4)
    assert judged.calibrated_loss == pytest.approx(log_loss(ill, refitted.predict_proba(totals[:, None] - 3.0)[:, 1]))
    assert sum(group.weight for group in judged.groups) == 300


def test_how_far_it_is_from_the_best_card_is_proven_and_agrees_with_enumeration():
    small = X[COLUMNS[:4]]
    card = hand_made({"heart failure": 1, "age >= 75": 2}, -2)
    judged = card.judge(small, Y)
    model = sf.RiskScoreClassifier(max_features=2, max_points=2, sparsity_penalty=0.0, intercept_bound=8, pos_label="stroke")
    value, _ = best_card(model._pose(small, Y, None)[1].problem)
    assert judged.best_loss == pytest.approx(value, abs=1e-12)
    assert judged.certificate.lower_bound == pytest.approx(value, abs=1e-9)
    assert judged.certificate.upper_bound == pytest.approx(judged.loss, abs=1e-12)
    least, most = judged.excess
    assert least <= most == pytest.approx(judged.loss / value - 1, abs=1e-9)
    assert "up to 2 columns of this table with points up to 2" in judged.verdict
    assert f"none is below {judged.certificate.lower_bound:.6f}"[:-1] in judged.verdict
    assert judged.best.judge(small, Y).loss == pytest.approx(value, abs=1e-12)


def test_the_best_card_is_told_that_it_is_the_best():
    best = hand_made().judge(X, Y).best
    judged = best.judge(X, Y, max_features=5, max_points=2)
    assert judged.certificate.verified
    assert judged.verdict.startswith("Best possible: this card has")
    assert judged.excess[0] == 0.0
    assert judged.best is best


def test_cards_at_another_scale_are_compared_with_cards_at_scales_that_are_named():
    judged = hand_made(multiplier=30.0, intercept=-60).judge(X, Y)
    assert np.isfinite(judged.certificate.upper_bound)
    assert judged.loss == pytest.approx(judged.certificate.upper_bound, abs=1e-12)
    assert "with points up to 2, at a multiplier from 0.4 to 30.0, the best" in judged.verdict
    assert judged.best_loss <= hand_made().judge(X, Y).best_loss + 1e-12


def test_a_weak_effect_of_large_numbers_is_told_at_which_scales_nothing_is_better():
    """A point a year at a multiplier of 83 has 0.635: "none at any scale" was said of 0.6927."""
    rng = np.random.default_rng(0)
    years = rng.integers(0, 200, size=400).astype(float)
    y = (rng.random(400) < 1 / (1 + np.exp(1.2 - 0.012 * years))).astype(int)
    rough, fine = (
        sf.ScoreCard.from_points({"years": 1}, start, multiplier=m, kinds={"years": "real"}, ranges={"years": (0, 200)})
        for start, m in ((-60, 15.0), (-100, 83.0))
    )
    judged, better = (card.judge(pd.DataFrame({"years": years}), y) for card in (rough, fine))
    assert better.loss < judged.certificate.lower_bound
    assert "at a multiplier from 0.2 to 20.0" in judged.verdict and "at a multiplier from 0.2 to 83.0" in better.verdict
    # The slope is found from far away, too: steps of Newton's method from 1 led nowhere.
    refitted = LogisticRegression(C=np.inf, tol=1e-10).fit(years[:, None], y)
    assert judged.calibration_slope == pytest.approx(15.0 * refitted.coef_[0, 0], rel=1e-4)
    assert judged.calibrated_loss == pytest.approx(log_loss(y, refitted.predict_proba(years[:, None])[:, 1]), abs=1e-9)


def test_separated_classes_have_no_slope_and_no_warning():
    judged = hand_made({"stroke": 1}, -1).judge(X, np.where(X["stroke"] == 1, "stroke", "none"))
    assert np.isnan(judged.calibration_slope) and np.isnan(judged.calibrated_loss) and "calibration" not in str(judged)


def test_weights_count_and_rules_hold_for_the_cards_that_are_compared():
    counts = RNG.integers(0, 3, size=300)
    weighted, repeated = (
        hand_made().judge(X, Y, sample_weight=counts),
        hand_made().judge(X.iloc[np.repeat(np.arange(300), counts)], np.repeat(Y, counts)),
    )
    assert weighted.loss == pytest.approx(repeated.loss)
    assert weighted.certificate.lower_bound == pytest.approx(repeated.certificate.lower_bound)
    ruled = hand_made().judge(X, Y, constraints=[sc.FalsePositiveRate(0.5), sc.Bounds("stroke", 0, 2)])
    assert ruled.best_loss >= hand_made().judge(X, Y).best_loss - 1e-12
    assert "under these rules" in ruled.verdict


def test_a_card_that_breaks_the_rules_is_told_so_and_no_distance_is_claimed():
    judged = hand_made().judge(X, Y, max_features=2)
    assert "is none of the cards of up to 2 columns" in judged.verdict
    assert "breaks limits" in judged.verdict
    assert not judged.certificate.verified


def test_a_search_without_time_proves_less_and_says_no_more():
    judged = hand_made().judge(X, Y, time_limit=1e-6)
    assert "no better one was found" in judged.verdict or "the best one found has" in judged.verdict
    assert "(proven)" not in judged.verdict
    assert judged.excess[1] >= judged.loss / hand_made().judge(X, Y).best_loss - 1


def test_a_table_without_a_column_of_the_card_is_refused_by_name():
    with pytest.raises(sf.InvalidTableError, match="lacks column 'stroke'"):
        hand_made().judge(X.drop(columns="stroke"), Y)
