"""Cuts under a direction, gaps answered as by the typical row, and what a table says of cuts, by the transformer."""

from __future__ import annotations

import math
import sqlite3
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline

import surefoot as sf

RNG = np.random.default_rng(5)
AGE, NOISE = RNG.integers(20, 90, 600).astype(float), RNG.normal(size=600)
X = pd.DataFrame({"age": AGE, "noise": NOISE, "ward": RNG.choice(["er", "icu", "er"], 600)})
Y = (RNG.random(600) < np.where(AGE < 40, 0.1, np.where(AGE < 65, 0.35, np.where(AGE < 80, 0.8, 0.4)))).astype(int)


def observed(model: sf.ThresholdBinarizer, feature: str) -> list[float]:
    told = model.evidence(X, Y)
    return told[told["feature"] == feature]["observed"].tolist()


@pytest.mark.parametrize("direction", ["increasing", "either"])
def test_shares_between_cuts_go_one_way(direction: str):
    free = sf.ThresholdBinarizer(strategy="supervised").fit(X, Y)
    ruled = sf.ThresholdBinarizer(strategy="supervised", monotone={"age": direction}).fit(X, Y)
    assert observed(free, "age") != sorted(observed(free, "age"))
    assert observed(ruled, "age") == sorted(observed(ruled, "age"))
    assert len(ruled.thresholds_["age"]) >= 2
    gaps = ruled.cut_gaps(X, Y).set_index("feature")["gap"]
    assert gaps.max() < 1e-8


def test_a_column_without_such_a_cut_is_left_out_and_named():
    falling = sf.ThresholdBinarizer(strategy="supervised", monotone={"age": "decreasing"})
    with pytest.warns(sf.WeakModelWarning, match="no cut of 'age'"):
        falling.fit(X.assign(age=np.sort(AGE)), np.sort(Y))
    assert "age" not in falling.thresholds_


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"monotone": "increasing"}, "only strategy='supervised'"),
        ({"strategy": "supervised", "monotone": "up"}, "monotone = 'up' is not understood"),
        ({"strategy": "supervised", "monotone": {"age": 1}}, "monotone = 1 is not understood"),
        ({"strategy": "supervised", "monotone": {"agee": "either"}}, "monotone names column 'agee'"),
        ({"strategy": "supervised", "monotone": {"ward": "either"}}, "monotone names column 'ward'.*categorical"),
    ],
)
def test_directions_that_make_no_sense_are_refused(settings: dict[str, object], message: str):
    with pytest.raises(ValueError, match=message):
        sf.ThresholdBinarizer(**settings).fit(X, Y)


def test_evidence_is_that_of_counting():
    holes = X.assign(age=np.where(np.arange(600) < 30, np.nan, AGE))
    model = sf.ThresholdBinarizer(thresholds={"age": [40, 65]}, missing="column").fit(holes)
    told = model.evidence(holes, Y).set_index(["feature", "answer"]).loc["age"]
    assert list(told.index) == ["below 40", "40 to below 65", "65 or more", "missing"]
    for answer, rows in (("below 40", holes["age"] < 40), ("65 or more", holes["age"] >= 65), ("missing", holes["age"].isna())):
        up, down = np.sum(rows & (Y == 1)) / np.sum(Y == 1), np.sum(rows & (Y == 0)) / np.sum(Y == 0)
        assert told.loc[answer, "woe"] == pytest.approx(math.log(up / down))
        assert told.loc[answer, "information"] == pytest.approx((up - down) * math.log(up / down))
        assert told.loc[answer, "observed"] == pytest.approx(Y[rows].mean())
    assert told["weight"].sum() == 600


def test_cuts_that_are_not_the_best_have_a_gap():
    model = sf.ThresholdBinarizer(thresholds={"age": [22], "noise": [0.0]}).fit(X)
    gaps = model.cut_gaps(X, Y, np.full(600, 2.0)).set_index("feature")
    assert gaps.loc["age", "gap"] > 0.05
    assert gaps.loc["age", "n_cuts"] == 1
    assert np.all(gaps["objective"] >= gaps["lower_bound"])


def test_gaps_are_answered_as_by_the_typical_row(tmp_path: Path):
    holes = X.copy()
    holes.loc[:99, "age"] = np.nan
    holes["ward"] = np.where(np.arange(600) % 7 == 0, None, holes["ward"])
    holes["empty"] = np.nan
    model = sf.ThresholdBinarizer(missing="typical", drop_complements=False).fit(holes)
    assert not any("missing" in column.name or column.feature == "empty" for column in model.columns_)
    filled = holes.assign(age=holes["age"].fillna(np.sort(AGE[100:])[249]), ward=holes["ward"].fillna("er"))
    pd.testing.assert_frame_equal(model.transform(holes), model.transform(filled))
    whole = X.assign(empty=np.nan)
    plain = sf.ThresholdBinarizer(missing="typical").fit(whole)
    pd.testing.assert_frame_equal(plain.transform(whole.assign(ward=None)), plain.transform(whole.assign(ward="er")))
    sf.save(model, tmp_path / "made.surefoot")
    pd.testing.assert_frame_equal(sf.load(tmp_path / "made.surefoot").transform(holes), model.transform(holes))


def test_a_gap_in_an_exported_card_is_worth_what_the_typical_answer_is():
    holes = X.copy()
    holes.loc[:99, "age"] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sf.DoubtfulColumnWarning)
        card = make_pipeline(sf.ThresholdBinarizer(missing="typical", max_thresholds=3), sf.RiskScoreClassifier(max_features=3))
        card.fit(holes, Y)
    with sqlite3.connect(":memory:") as database:
        holes.to_sql("people", database, index=False)
        scores = pd.read_sql(sf.export.to_sql(card, output="score", table="people"), database)["score"]
    np.testing.assert_allclose(scores, card.decision_function(holes), rtol=0, atol=1e-9)
