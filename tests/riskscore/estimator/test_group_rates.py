"""Rates of groups that a rule compares: told on the card, as a table, in the file, and checked when the proof is."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import surefoot as sf
from surefoot import constraints as sc

RNG = np.random.default_rng(11)
X = pd.DataFrame((RNG.random((400, 4)) < 0.45).astype(int), columns=["sex = f", "cough", "fever", "smoker"])
X["smoker"] = np.where(RNG.random(400) < 0.6, X["sex = f"], X["smoker"])
Y = np.where(X["cough"] + X["smoker"] + RNG.logistic(size=400) * 0.7 > 1, "ill", "well")


def fitted(**settings: object) -> sf.RiskScoreClassifier:
    rules = [sc.FairRates("sex = f", "selection", 0.1), *settings.pop("more", ())]
    return sf.RiskScoreClassifier(max_features=3, constraints=rules, pos_label="ill", **settings).fit(X, Y)


def test_rates_are_those_of_the_training_rows_and_the_limited_one_is_kept():
    model = fitted()
    table = model.group_rates()
    assert isinstance(table, pd.DataFrame)
    assert table["group"].tolist() == ["sex = f = 0", "sex = f = 1"]
    flagged, risk, ill = model.predict(X) == "ill", model.predict_proba(X)[:, 0], Y == "ill"
    for k in (0, 1):
        own = X["sex = f"] == k
        row = table.iloc[k]
        assert row["weight"] == pytest.approx(own.mean())
        assert row["observed"] == pytest.approx(ill[own].mean())
        assert row["predicted"] == pytest.approx(risk[own].mean())
        assert row["selection"] == pytest.approx(flagged[own].mean())
        assert row["tpr"] == pytest.approx(flagged[own & ill].mean())
        assert row["fpr"] == pytest.approx(flagged[own & ~ill].mean())
    assert abs(table["selection"][0] - table["selection"][1]) <= 0.1 + 1e-9
    assert "sex = f" not in model.points_
    assert sf.RiskScoreClassifier().fit(X, Y).group_rates() is None


def test_every_form_of_the_card_tells_them():
    card = fitted().score_card()
    told = "Training rows flagged by group (of ill and of well): sex = f = 0: "
    assert told in " ".join(card.text.split())
    assert told in card.html and told in card.calculator()
    assert "flagged by group" in card.latex
    assert "flagged by group" in " ".join(card.svg.replace("<", " <").split())
    assert sf.ScoreCard.from_json(card.json).rates == card.rates
    assert "by group" not in sf.RiskScoreClassifier(max_features=1).fit(X, Y).score_card().text


def test_they_are_saved_sealed_and_recomputed(tmp_path: Path):
    model = fitted()
    sf.save(model, tmp_path / "card.surefoot")
    loaded = sf.load(tmp_path / "card.surefoot")
    pd.testing.assert_frame_equal(loaded.group_rates(), model.group_rates())
    assert sf.verify(loaded, X, Y).verified
    loaded._group_rates = {name: (*rates[:3], 0.0, *rates[4:]) for name, rates in loaded._group_rates.items()}
    with pytest.raises(sf.CertificateError, match="changed"):
        sf.verify(loaded, X, Y)
    assert "by group" not in loaded.score_card().text
    loaded._seal_proof()
    with pytest.raises(sf.CertificateError, match="other rates of groups"):
        sf.verify(loaded, X, Y)


def test_groups_of_several_columns_are_named_by_what_is_true_and_missing_classes_have_no_rate():
    table = X.assign(**{"race = a": [1] * 5 + [0] * 395, "race = b": [0] * 5 + [1] * 200 + [0] * 195})
    y = np.where(np.arange(400) < 5, "well", Y)
    model = sf.RiskScoreClassifier(max_features=2, constraints=[sc.FairRates("race", "fpr", 0.5)], pos_label="ill").fit(
        table, y
    )
    rates = model.group_rates().set_index("group")
    assert set(rates.index) == {"race = a", "race = b", "none of race = a, race = b"}
    assert np.isnan(rates.loc["race = a", "tpr"])
    assert "none there" in model.score_card().text.replace("\n", " ")
    assert sf.verify(model, table, y).verified


def test_calibration_of_groups_is_limited_and_told():
    free = sf.RiskScoreClassifier(
        max_features=3, pos_label="ill", constraints=[sc.FairRates("sex = f", "calibration", 1.0)]
    ).fit(X, Y)
    most = float(np.ptp([*free.group_rates()["calibration"], 0.0])) / 2
    even = sf.RiskScoreClassifier(
        max_features=3, pos_label="ill", constraints=[sc.FairRates("sex = f", "calibration", most)]
    ).fit(X, Y)
    assert 0 < np.ptp([*even.group_rates()["calibration"], 0.0]) <= most + 1e-9
    assert even.certificate_.verified and even.certificate_.upper_bound > free.certificate_.upper_bound
    with pytest.raises(ValueError, match="unit scale only"):
        sf.RiskScoreClassifier(scale="free", constraints=[sc.FairRates("sex = f", "calibration", most)]).fit(X, Y)


def test_a_card_tells_rates_of_any_groups_of_any_rows():
    model = fitted()
    card = model.score_card()
    told, own = card.group_rates(X, Y, "sex = f"), model.group_rates()
    assert told["group"].tolist() == ["sex = f = 0", "sex = f = 1"]
    pd.testing.assert_frame_equal(told.drop(columns="group"), own.drop(columns="group"))
    wards = np.where(np.arange(400) < 100, "north", np.where(np.arange(400) < 130, None, "south"))
    by_ward = card.group_rates(X, Y, wards, risk=0.3).set_index("group")
    assert list(by_ward.index) == ["groups = north", "groups = south", "groups missing"]
    north, risk = wards == "north", model.predict_proba(X)[:, 0]
    assert by_ward.loc["groups = north", "tpr"] == pytest.approx(np.mean(risk[north & (Y == "ill")] > 0.3))
    assert by_ward.loc["groups = north", "calibration"] == pytest.approx(risk[north].mean() - np.mean(Y[north] == "ill"))
    with pytest.raises(sf.InvalidTableError, match="lacks column 'race'"):
        card.group_rates(X, Y, "race")
    with pytest.raises(sf.InvalidTableError, match="3 entries for 400 rows"):
        card.group_rates(X, Y, ["a", "b", "b"])
    with pytest.raises(ValueError, match="risk = 2"):
        card.group_rates(X, Y, wards, risk=2)
