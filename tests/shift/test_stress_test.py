"""Stress tests: one answer whatever the path, the threads and the library."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import surefoot as sf

ALL = ("auc", "ace", "log_loss", "accuracy")


class Opaque:
    """A model that shows nothing but its predictions."""

    def __init__(self, model: Any) -> None:
        self.model, self.classes_ = model, model.classes_

    def predict_proba(self, X: Any) -> Any:
        return self.model.predict_proba(X)


def rows(n: int = 300, seed: int = 0) -> tuple[pd.DataFrame, Any]:
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "age": rng.normal(50, 10, n),
            "job": rng.choice(["cook", "nurse", "smith"], n),
            "dose": rng.exponential(2.0, n),
            "smokes": rng.integers(0, 2, n),
            "town": rng.choice(["north", "south"], n),
        }
    )
    score = 0.05 * (X["age"] - 50) + (X["job"] == "cook") + 0.8 * X["smokes"] - 0.3 * X["dose"]
    return X, np.where(rng.logistic(size=n) < score, "ill", "well")


SHIFT = sf.ShiftModel(0.7, None, 0.8, 0.9)


@pytest.fixture(scope="module")
def models() -> dict[str, Any]:
    X, y = rows()
    return {
        "plain": sf.RobustLogisticRegression(radius=0.001).fit(X, y),
        "calibrated": sf.RobustLogisticRegression(shift=SHIFT).fit(X, y),
    }


def test_scores_from_shifts_alone_equal_predictions_of_shifted_tables(models: dict[str, Any]) -> None:
    X, y = rows(250, 1)
    options: dict[str, Any] = {"n_sets": 30, "metrics": ALL, "random_state": 3, "scenarios": ["expected", "certainty -0.2"]}
    fast = sf.stress_test(models, X, y, SHIFT, **options)
    slow = sf.stress_test({name: Opaque(model) for name, model in models.items()}, X, y, SHIFT, **options)
    assert np.abs(fast.values - slow.values).max() < 1e-12
    assert np.abs(fast.unshifted - slow.unshifted).max() < 1e-12


def test_tables_of_categories_alone_keep_their_ties() -> None:
    X, y = rows(400)
    X = X[["job", "smokes", "town"]]
    model = sf.RobustLogisticRegression(radius=0.02).fit(X, y)
    shift = sf.ShiftModel(categorical_certainty=0.8)
    values = [sf.stress_test(m, X, y, shift, 40, ALL, random_state=0).values for m in (model, Opaque(model))]
    assert np.abs(values[0] - values[1]).max() < 1e-12


@pytest.mark.parametrize("scale", ["unit", "free"])
def test_score_cards_are_stressed_by_flips(scale: str) -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.integers(0, 2, (200, 4)), columns=["a", "b", "c", "d"])
    y = (X["a"] + X["b"] - X["c"] + rng.logistic(size=200)) > 0.5
    card = sf.RiskScoreClassifier(max_features=3, max_points=3, scale=scale).fit(X, y)
    shift = sf.ShiftModel(categorical_certainty=0.8)
    values = [sf.stress_test(m, X, y, shift, 40, ALL, random_state=0).values for m in (card, Opaque(card))]
    assert np.abs(values[0] - values[1]).max() < 1e-12


def test_a_card_of_the_first_class_is_stressed_by_its_own_risks() -> None:
    draw = np.random.default_rng(8)
    X = pd.DataFrame(draw.random((90, 4)) < 0.4, columns=list("abcd")).astype(int)
    y = np.where(draw.random(90) < 0.1 + 0.6 * X["a"], "CHD", "no CHD")
    card = sf.RiskScoreClassifier(max_features=2, pos_label="CHD").fit(X, y)
    shift = sf.ShiftModel(categorical_certainty=0.8)
    values = [sf.stress_test(m, X, y, shift, 40, ALL, random_state=0).values for m in (card, Opaque(card))]
    assert np.abs(values[0] - values[1]).max() < 1e-12


def test_gaps_that_a_model_fills_are_filled_on_both_paths() -> None:
    X, y = rows()
    X.loc[::7, "age"] = np.nan
    X.loc[::5, "job"] = None
    model = sf.RobustLogisticRegression(radius=0.01, missing_numeric="median", missing_categorical="level").fit(X, y)
    values = [sf.stress_test(m, X, y, SHIFT, 10, ALL, random_state=0).values for m in (model, Opaque(model))]
    assert np.abs(values[0] - values[1]).max() < 1e-12


def test_the_report_is_that_of_the_tables_that_perturb_gives(models: dict[str, Any]) -> None:
    X, y = rows(200, 2)
    report = sf.stress_test(models["plain"], X, y, SHIFT, n_sets=5, random_state=11)
    tables = SHIFT.perturb(X, 5, 11)
    expected = [roc_auc_score(y == "well", models["plain"].predict_proba(table)[:, 1]) for table in tables]
    assert report.of("auc") == pytest.approx(expected, abs=1e-12)


def test_threads_change_nothing(models: dict[str, Any]) -> None:
    X, y = rows(100, 3)
    mixed = {**models, "opaque": Opaque(models["plain"])}
    one, two = (sf.stress_test(mixed, X, y, SHIFT, 60, random_state=5, n_jobs=jobs) for jobs in (1, 2))
    assert (one.values == two.values).all()
    assert (one.values != sf.stress_test(mixed, X, y, SHIFT, 60, random_state=6).values).any()
    # More sets continue the same sequence.
    assert (sf.stress_test(mixed, X, y, SHIFT, 30, random_state=5).values == one.values[..., :30]).all()


def test_any_classifier_with_probabilities_can_stand_beside(models: dict[str, Any]) -> None:
    X, y = rows()
    encode = make_column_transformer((OneHotEncoder(), ["job", "town"]), remainder="passthrough")
    rival = make_pipeline(encode, LogisticRegression(max_iter=1000)).fit(X, y)
    report = sf.stress_test({"sklearn": rival, **models}, X, y, SHIFT, 20, random_state=0)
    assert report.models == ("sklearn", "plain", "calibrated")
    assert report.of("auc", model="sklearn").mean() == pytest.approx(report.of("auc", model="plain").mean(), abs=0.05)


def test_the_table_summarises_all_sets_in_the_library_of_the_data(models: dict[str, Any]) -> None:
    X, y = rows(150, 4)
    report = sf.stress_test(models, pl.from_pandas(X), y, SHIFT, 40, ALL, random_state=0, scenarios="all", quantiles=(0.25,))
    table = report.table
    assert isinstance(table, pl.DataFrame) and table.height == 8 * 4 * 2
    assert table.columns == ["scenario", "metric", "model", "unshifted", "mean", "worst", "25%"]
    line = table.filter((pl.col("scenario") == "expected") & (pl.col("model") == "plain"))
    auc = line.filter(pl.col("metric") == "auc").row(0, named=True)
    values = report.of("auc", model="plain")
    assert (auc["worst"], auc["mean"], auc["25%"]) == pytest.approx((values.min(), values.mean(), np.quantile(values, 0.25)))
    ace = line.filter(pl.col("metric") == "ace").row(0, named=True)
    assert ace["worst"] == report.of("ace", model="plain").max()
    exact = roc_auc_score(y == "well", models["plain"].predict_proba(X)[:, 1])
    assert auc["unshifted"] == pytest.approx(exact, abs=1e-12)


def test_the_printed_report_names_scenarios_metrics_and_models(models: dict[str, Any]) -> None:
    X, y = rows(100, 4)
    text = repr(sf.stress_test(models, X, y, SHIFT, 10, random_state=0, scenarios=["expected", "certainty -0.2"]))
    assert text.startswith("Stress test: 10 shifted tables per scenario")
    for word in ("expected shifts", "certainty -0.2", "auc", "ace", "log_loss", "plain", "calibrated", "worst", "95%"):
        assert word in text


def test_less_certain_tables_are_harder(models: dict[str, Any]) -> None:
    X, y = rows()
    report = sf.stress_test(models, X, y, SHIFT, 40, random_state=0, scenarios="all")
    mean = {name: report.of("auc", scenario=name).mean() for name in report.scenarios}
    assert mean["certainty -0.2"] < mean["certainty -0.1"] < mean["expected"] < mean["certainty +0.1"]


def test_progress_is_reported_on_request_only(models: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    X, y = rows(50, 4)
    sf.stress_test(models, X, y, SHIFT, 50, random_state=0)
    assert capsys.readouterr() == ("", "")
    sf.stress_test(models, X, y, SHIFT, 50, random_state=0, verbose=1)
    assert "stress test: 50 of 50" in capsys.readouterr().err


def test_levels_that_only_the_reference_holds_must_be_known_to_the_model(models: dict[str, Any]) -> None:
    X, y = rows(100, 5)
    wider = X.copy()
    wider.loc[0, "job"] = "pilot"
    for model in (models["plain"], Opaque(models["plain"])):
        with pytest.raises(sf.InvalidTableError, match=r"column 'job'.*'pilot'"):
            sf.stress_test(model, X, y, SHIFT, 3, random_state=0, reference=wider)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"shift": 0.9}, r"shift = 0\.9 must be a ShiftModel"),
        ({"n_sets": 0}, "n_sets = 0 must be a whole number"),
        ({"metrics": "f1"}, "metrics = 'f1'"),
        ({"scenarios": "worse"}, "scenarios = 'worse'"),
        ({"quantiles": (5,)}, r"quantiles = \(5,\)"),
        ({"n_bins": 0}, "n_bins = 0"),
        ({"model": {}}, "empty mapping"),
        ({"model": {"a": object()}}, "model 'a' .* has no predict_proba"),
        ({"model": sf.RobustLogisticRegression()}, "is not fitted"),
        ({"y": ["ill"] * 100}, "y holds only the class 'ill'"),
        ({"y": ["ill", "well"] * 49}, "X has 100 rows, y has 98 labels"),
        ({"y": ["ill", "dead"] * 50}, "row 1: 'dead' is not one of the classes"),
        ({"shift": sf.ShiftModel(categorical_certainty=0.2)}, r"column 'job' is 0\.2, which is not above chance"),
        ({"shift": sf.ShiftModel({"agee": 0.2})}, "numeric_certainty names column 'agee'"),
    ],
)
def test_bad_input_is_refused_by_name_and_value(models: dict[str, Any], change: dict[str, Any], message: str) -> None:
    X, y = rows(100, 6)
    arguments: dict[str, Any] = {"model": models["plain"], "X": X, "y": y, "shift": SHIFT, "n_sets": 3, **change}
    with pytest.raises(ValueError, match=message):
        sf.stress_test(**arguments)


def test_models_of_different_classes_are_refused(models: dict[str, Any]) -> None:
    X, y = rows(100, 6)
    other = sf.RobustLogisticRegression().fit(X, y == "ill")
    with pytest.raises(ValueError, match="model 'other' knows the classes"):
        sf.stress_test({**models, "other": other}, X, y, SHIFT, 3)
