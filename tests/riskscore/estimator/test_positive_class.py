"""Whose risk a card gives: the second class in sorted order, or the one that is named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import log_loss
from sklearn.model_selection import cross_val_score

import surefoot as sf
from surefoot import constraints as sc
from surefoot.files.formula import read_formula
from surefoot.reports.subject import read_subject

RNG = np.random.default_rng(4)
X = (RNG.random((150, 5)) < 0.4).astype(int)
ILL = X[:, 0] + X[:, 1] - X[:, 2] + RNG.logistic(size=150) * 0.5 > 0.7
Y = np.where(ILL, "CHD", "no CHD")


def turned(**settings: Any) -> sf.RiskScoreClassifier:
    return sf.RiskScoreClassifier(max_features=3, pos_label="CHD", **settings).fit(X, Y)


def test_a_named_class_gives_the_card_that_numbers_in_its_place_would_give():
    model, numbered = turned(), sf.RiskScoreClassifier(max_features=3).fit(X, ILL.astype(int))
    assert model.points_ == numbered.points_
    assert model.intercept_ == numbered.intercept_
    assert model.certificate_.verified
    assert model.certificate_.upper_bound == numbered.certificate_.upper_bound
    assert model.pos_label_ == "CHD"
    card = model.score_card()
    assert card.classes == ("no CHD", "CHD")
    assert card.heading == "Risk of CHD"
    np.testing.assert_allclose(
        [card.risk(total) for total in card.totals(pd.DataFrame(X).add_prefix("x"))], model.predict_proba(X)[:, 0]
    )
    np.testing.assert_array_equal(model.predict(X) == "CHD", numbered.predict(X) == 1)
    assert sf.verify(model, X, Y).verified


def test_classes_stay_in_sorted_order_so_that_scikit_learn_reads_scores_rightly():
    """scikit-learn takes the second in sorted order for the positive class wherever it is not told otherwise."""
    model = turned()
    assert model.classes_.tolist() == ["CHD", "no CHD"]
    assert log_loss(Y, model.predict_proba(X)) < 0.6
    plain = sf.RiskScoreClassifier(max_features=3)
    for scoring in ("roc_auc", "accuracy", "neg_log_loss"):
        named = cross_val_score(sf.RiskScoreClassifier(max_features=3, pos_label="CHD"), X, Y, scoring=scoring, cv=3)
        np.testing.assert_allclose(named, cross_val_score(plain, X, ILL, scoring=scoring, cv=3))


def test_rates_and_risks_of_rules_are_about_the_named_class():
    rules = [sc.FalsePositiveRate(0.05), sc.MinFeatures(2)]
    model = turned(constraints=rules)
    healthy = Y == "no CHD"
    assert np.mean(model.predict(X[healthy]) == "CHD") <= 0.05
    assert (
        model.certificate_.upper_bound
        == sf.RiskScoreClassifier(max_features=3, constraints=rules).fit(X, ILL).certificate_.upper_bound
    )


def test_a_saved_model_keeps_it_and_a_changed_one_is_refused(tmp_path: Path):
    model = turned()
    sf.save(model, tmp_path / "card.surefoot")
    loaded = sf.load(tmp_path / "card.surefoot")
    assert loaded.pos_label_ == "CHD"
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    loaded._turned = False
    with pytest.raises(sf.CertificateError, match="changed"):
        sf.verify(loaded, X, Y)


def test_worst_cases_formulas_and_reports_speak_of_the_named_class():
    model = turned(radius=0.01)
    numbered = sf.RiskScoreClassifier(max_features=3, radius=0.01).fit(X, ILL.astype(int))
    assert model.worst_case(X, Y).expected_loss == pytest.approx(numbered.worst_case(X, ILL.astype(int)).expected_loss)
    formula = read_formula(model)
    assert formula.classes == ("no CHD", "CHD")
    assert formula.intercept == model.intercept_
    subject, other = read_subject(model, X, Y), read_subject(numbered, X, ILL.astype(int))
    assert subject.classes == ("no CHD", "CHD")
    np.testing.assert_array_equal(subject.positive, ILL)
    np.testing.assert_array_equal(subject.scores, other.scores)
    np.testing.assert_array_equal(subject.probability, other.probability)


def test_a_pair_that_denies_each_other_is_warned_of_unless_the_class_is_named():
    with pytest.warns(sf.PositiveClassWarning, match=r"risk of 'no CHD'.*pos_label='CHD'"):
        sf.RiskScoreClassifier(max_features=1).fit(X, Y)
    sf.RiskScoreClassifier(max_features=1, pos_label="no CHD").fit(X, Y)
    sf.RiskScoreClassifier(max_features=1).fit(X, np.where(ILL, "ill", "healthy"))
    with pytest.raises(sf.InvalidTableError, match=r"pos_label = 'chd' is no class: y holds 'CHD' and 'no CHD'"):
        sf.RiskScoreClassifier(pos_label="chd").fit(X, Y)
