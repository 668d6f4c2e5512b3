"""Estimators with a real shift model: its weights and radius are the ones used."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone

import surefoot as sf


def rows() -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"x": rng.normal(size=150), "z": rng.choice(["a", "b", "c"], 150), "b": rng.integers(0, 2, 150)})
    return X, (X["x"] + (X["z"] == "a") + X["b"] + rng.logistic(size=150) > 1).to_numpy()


SHIFT = sf.ShiftModel(0.8, 0.5, 0.9, robustness=0.85)
GAMMA, DELTA, FLIP, RADIUS = math.log(5) / 0.5, math.log(0.9 * 2 / 0.1), math.log(9), -math.log(0.85)


def test_robust_logistic_regression_takes_weights_and_radius_from_a_shift_model() -> None:
    X, y = rows()
    model = sf.RobustLogisticRegression(shift=SHIFT).fit(X, y)
    assert model.radius_ == pytest.approx(RADIUS)
    # A 0/1 column that the shift model flips is a number to this model: one unit costs the flip.
    assert model.ground_cost_.numeric_weights == pytest.approx([GAMMA, FLIP])
    assert model.ground_cost_.categorical_weights == pytest.approx([DELTA])
    same = sf.RobustLogisticRegression(
        radius=RADIUS, numeric_weights={"x": GAMMA, "b": FLIP}, categorical_weights={"z": DELTA}
    ).fit(X, y)
    assert model.coef_ == pytest.approx(same.coef_, abs=1e-7) and model.certificate_.verified
    assert clone(model).fit(pl.from_pandas(X), y).coef_ == pytest.approx(model.coef_, abs=1e-7)


def test_a_shift_model_calibrated_as_categories_agrees_with_a_model_that_reads_categories() -> None:
    X, y = rows()
    model = sf.RobustLogisticRegression(shift=SHIFT, categorical_features=["z", "b"]).fit(X, y)
    assert model.ground_cost_.categorical_weights == pytest.approx([DELTA, FLIP])


def test_columns_that_never_shift_are_trusted_fully() -> None:
    X, y = rows()
    sure = sf.ShiftModel({"x": 1.0}, None, 0.6, robustness=0.5)
    model = sf.RobustLogisticRegression(shift=sure).fit(X, y)
    assert model.ground_cost_.numeric_weights[0] == math.inf and model.certificate_.verified
    assert abs(model.coef_[0, 0]) > 0.3


def test_cross_validation_takes_the_weights_and_searches_the_radius() -> None:
    X, y = rows()
    model = sf.RobustLogisticRegressionCV(shift=SHIFT, radii=[0.01, 0.1], cv=3).fit(X, y)
    assert model.ground_cost_.categorical_weights == pytest.approx([DELTA]) and model.radius_ in (0.01, 0.1)


def test_a_score_card_takes_flips_from_a_shift_model() -> None:
    rng = np.random.default_rng(1)
    X = pd.DataFrame(rng.integers(0, 2, (120, 3)), columns=["a", "b", "c"])
    y = 2 * X["a"] + X["b"] + rng.logistic(size=120) > 1.5
    plain = sf.RiskScoreClassifier(max_features=3).fit(X, y)
    robust = sf.RiskScoreClassifier(max_features=3, shift=sf.ShiftModel(categorical_certainty=0.7, robustness=0.6)).fit(X, y)
    explicit = sf.ShiftModel(categorical_certainty={"a": 0.7, "b": 0.7, "c": 0.7}, robustness=0.6)
    assert robust.points_ == sf.RiskScoreClassifier(max_features=3, shift=explicit).fit(X, y).points_
    assert sum(map(abs, robust.points_.values())) < sum(map(abs, plain.points_.values()))


def test_what_the_shift_model_and_the_model_read_differently_must_not_shift() -> None:
    X, y = rows()
    X["region"] = np.arange(150) % 4
    sure = sf.ShiftModel({"x": 0.8}, None, {"z": 0.9})
    model = sf.RobustLogisticRegression(shift=sure, categorical_features=["z", "region"]).fit(X, y)
    assert model.ground_cost_.categorical_weights == pytest.approx([DELTA, math.inf])
    with pytest.raises(ValueError, match="shift model moves column 'region', which this model reads as a category"):
        sf.RobustLogisticRegression(shift=SHIFT, categorical_features=["z", "region"]).fit(X, y)
    changing = sf.ShiftModel(categorical_certainty={"region": 0.9})
    with pytest.raises(ValueError, match="shift model changes levels of column 'region', which this model reads as numbers"):
        sf.RobustLogisticRegression(shift=changing).fit(X, y)
