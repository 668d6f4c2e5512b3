"""Estimators with a real shift model: its weights and radius are the ones used."""

from __future__ import annotations

import math
from typing import Any

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
    # A 0/1 column that the shift model flips is a category to this model too.
    assert model.ground_cost_.numeric_weights == pytest.approx([GAMMA])
    assert model.ground_cost_.categorical_weights == pytest.approx([DELTA, FLIP])
    same = sf.RobustLogisticRegression(
        radius=RADIUS, numeric_weights={"x": GAMMA}, categorical_weights={"z": DELTA, "b": FLIP}
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
    assert model.ground_cost_.categorical_weights == pytest.approx([DELTA, FLIP]) and model.radius_ in (0.01, 0.1)


@pytest.mark.parametrize(
    ("make", "times"),
    [
        (sf.RobustLogisticRegression, 1),
        (lambda shift: sf.RobustLogisticRegressionCV(shift=shift, radii=[0.1], cv=3), 1),
        (lambda shift: sf.RobustLogisticRegressionCV(shift=shift, radii=[0.1], cv=3, certainty_scales=[1.0, 2.0]), 2),
    ],
)
def test_a_table_is_calibrated_once_for_every_shift_model(make: Any, times: int, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = rows()
    calibrate, seen = sf.ShiftModel.calibrate, []

    def counted(model: sf.ShiftModel, table: Any) -> Any:
        seen.append(table)
        return calibrate(model, table)

    monkeypatch.setattr(sf.ShiftModel, "calibrate", counted)
    make(shift=SHIFT).fit(X, y)
    assert len(seen) == times


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
        sf.RobustLogisticRegression(shift=changing, categorical_features=["z"]).fit(X, y)


def test_a_certainty_decides_the_kind_of_a_column_of_whole_numbers() -> None:
    X, y = rows()
    X["region"] = np.arange(150) % 4
    model = sf.RobustLogisticRegression(shift=sf.ShiftModel(categorical_certainty={"region": 0.9})).fit(X, y)
    assert [column.name for column in model.schema_.categorical_columns] == ["z", "b", "region"]
    price = math.log(0.9 * 3 / 0.1)
    assert model.ground_cost_.categorical_weights == pytest.approx([math.inf, math.inf, price])


@pytest.mark.parametrize("kind", [int, float, bool])
def test_a_column_of_two_answers_is_one_thing_however_it_is_written(kind: type) -> None:
    X, y = rows()
    X["b"] = X["b"].astype(kind)
    shift = sf.ShiftModel(categorical_certainty={"b": 0.7}, robustness=0.98)
    model = sf.RobustLogisticRegression(shift=shift).fit(X, y)
    table = model.coefficients()
    assert table.loc[table["feature"] == "b", "level"].tolist() == [0, 1]
    moves = model.worst_case(X, y).summary()
    assert set(moves["feature"]) == {"b"}
    assert set(zip(moves["from"], moves["to"], strict=True)) <= {(0, 1), (1, 0)}
    priced = sf.RobustLogisticRegression(radius=0.1, categorical_weights={"b": 0.4}).fit(X, y)
    assert [column.name for column in priced.schema_.categorical_columns] == ["z", "b"]
    assert priced.ground_cost_.categorical_weights.tolist() == [1.0, 0.4]
    assert sf.verify(priced, X, y).verified


def test_a_numeric_price_makes_numbers_of_truth_values() -> None:
    X, y = rows()
    X["b"] = X["b"].astype(bool)
    model = sf.RobustLogisticRegression(numeric_weights={"b": 3.0}).fit(X, y)
    assert [column.name for column in model.schema_.numeric_columns] == ["x", "b"]
    shift = sf.ShiftModel(numeric_certainty={"b": 0.8}, numeric_interval={"b": 0.5})
    assert sf.RobustLogisticRegression(shift=shift).fit(X, y).ground_cost_.numeric_weights == pytest.approx([math.inf, GAMMA])


@pytest.mark.parametrize(
    ("beside", "named"),
    [
        ({"radius": 0.1}, "radius = 0.1 beside shift"),
        ({"numeric_weights": 2.0}, "numeric_weights = 2.0 beside shift"),
        ({"radius": 0.0, "categorical_weights": {"z": 1.0}}, r"radius = 0.0 and categorical_weights = {'z': 1.0} beside shift"),
    ],
)
def test_a_shift_model_beside_what_it_would_overrule_is_an_error(beside: dict[str, Any], named: str) -> None:
    X, y = rows()
    with pytest.raises(ValueError, match=f"{named} would count for nothing.*shift.calibrate"):
        sf.RobustLogisticRegression(shift=SHIFT, **beside).fit(X, y)
    if "radius" not in beside:
        with pytest.raises(ValueError, match=named):
            sf.RobustLogisticRegressionCV(shift=SHIFT, **beside).fit(X, y)


def test_a_shift_model_that_says_nothing_is_refused() -> None:
    X, y = rows()
    for use in (lambda: sf.ShiftModel().calibrate(X), lambda: sf.RobustLogisticRegression(shift=sf.ShiftModel()).fit(X, y)):
        with pytest.raises(ValueError, match="names no certainty, so nothing ever shifts"):
            use()
    # To say that everything stays is something.
    assert sf.ShiftModel(1.0, None, 1.0).calibrate(X).radius > 0
