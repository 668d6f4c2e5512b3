"""Score cards of fitted models: what is printed is what the model predicts."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline

import surefoot as sf
from surefoot.riskscore.estimator.risk_score import RiskScoreClassifier


def draw_table(rows: int = 400, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    draw = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "age": draw.integers(20, 95, rows),
            "smoker": draw.random(rows) < 0.4,
            "visits": draw.integers(0, 4, rows),
            "town": draw.choice(["Oslo", "Rome", "Bern"], rows),
        }
    )
    score = 2.0 * (table["age"] >= 60) + 1.5 * table["smoker"] - 1.0 * (table["town"] == "Rome") - 2
    return table, np.where(draw.random(rows) < 1 / (1 + np.exp(-score)), "ill", "well")


def test_the_table_of_risks_is_predict_proba_for_every_row() -> None:
    X, y = draw_table()
    y = np.where(y == "ill", 1, 0)
    model = make_pipeline(sf.ThresholdBinarizer(max_thresholds=3), RiskScoreClassifier(max_features=4)).fit(X, y)
    binarizer, classifier = model[0], model[-1]
    card = classifier.score_card(meanings=binarizer.columns_, title="Risk of illness")
    assert card.table.exact
    printed = {row.low: row.low_risk for row in card.table.rows}
    rows = binarizer.transform(X)
    totals = [card.total(row) for row in rows[list(classifier.points_)].to_dict("records")]
    assert [printed[total] for total in totals] == model.predict_proba(X)[:, 1].tolist()
    assert {line.feature: line.points for line in card.lines} == classifier.points_
    assert card.text.startswith("Risk of illness\n")
    assert card.proof is not None and card.proof.rows == 400


def test_lines_know_what_values_their_columns_hold() -> None:
    draw = np.random.default_rng(1)
    X = pd.DataFrame(
        {"decades": draw.integers(-35, 36, 500) / 10, "visits": draw.integers(0, 4, 500), "smoker": draw.random(500) < 0.5}
    )
    y = draw.random(500) < 1 / (1 + np.exp(-(1.2 * X["decades"] + 1.0 * X["visits"] + 2.0 * X["smoker"] - 2)))
    card = RiskScoreClassifier().fit(X, y).score_card()
    found = {line.feature: (line.kind, line.lowest, line.highest) for line in card.lines}
    assert found == {"decades": ("real", -3.5, 3.5), "visits": ("integer", 0.0, 3.0), "smoker": ("binary", None, None)}
    assert card.text.count("\u00d7 value") == 2
    assert card.heading == "Risk", "a class called True has no name to show"
    assert not card.table.exact


def test_a_model_that_was_not_fitted_has_no_card() -> None:
    with pytest.raises(ValueError, match="not fitted"):
        RiskScoreClassifier().score_card()
