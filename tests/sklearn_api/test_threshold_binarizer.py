"""The transformer: every kind of table in, named columns out, and parameters that are wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sklearn
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

import surefoot as sf

RAW: dict[str, Any] = {
    "age": [34, 71, 58, 80, 45, 76],
    "channel": ["web", "shop", "web", "phone", "shop", "web"],
    "member": [True, False, True, True, False, False],
}
NAMES = ["age >= 50", "age >= 75", "channel = phone", "channel = shop", "channel = web", "member"]
BLOCK = [
    [0, 0, 0, 0, 1, 1],
    [1, 0, 0, 1, 0, 0],
    [1, 0, 0, 0, 1, 1],
    [1, 1, 1, 0, 0, 1],
    [0, 0, 0, 1, 0, 0],
    [1, 1, 0, 0, 1, 0],
]


def content(table: Any) -> dict[str, list[int]]:
    return table.to_pydict() if isinstance(table, pa.Table) else {name: table[name].to_list() for name in table.columns}


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, pa.table])
def test_frames_come_out_as_frames_of_their_library(library: Any) -> None:
    X = library(RAW)
    binarizer = sf.ThresholdBinarizer(max_thresholds=2)
    for made in (binarizer.fit_transform(X), binarizer.fit(X).transform(X)):
        assert type(made) is type(X)
        assert content(made) == {name: [row[at] for row in BLOCK] for at, name in enumerate(NAMES)}
    assert content(binarizer.describe())["operator"] == [">=", ">=", "=", "=", "=", "="]
    assert type(binarizer.describe()) is type(X)


def test_arrays_come_out_as_arrays_and_names_can_be_given_later() -> None:
    X = np.array([RAW["age"], RAW["channel"], RAW["member"]], dtype=object).T
    binarizer = sf.ThresholdBinarizer(max_thresholds=2)
    made = binarizer.fit_transform(X)
    assert isinstance(made, np.ndarray) and made.dtype == np.int8 and made.tolist() == BLOCK
    assert binarizer.get_feature_names_out()[0] == "x0 >= 50"
    assert binarizer.get_feature_names_out(["age", "channel", "member"]).tolist() == NAMES


def test_the_index_of_a_pandas_frame_survives() -> None:
    X = pd.DataFrame(RAW, index=[5, 3, 9, 1, 0, 7])
    assert sf.ThresholdBinarizer().fit_transform(X).index.tolist() == [5, 3, 9, 1, 0, 7]
    assert sf.ThresholdBinarizer().set_output(transform="pandas").fit_transform(X).index.tolist() == [5, 3, 9, 1, 0, 7]


@pytest.mark.parametrize("source", [pd.DataFrame, pl.DataFrame, pa.table])
@pytest.mark.parametrize(("target", "kind"), [("pandas", pd.DataFrame), ("polars", pl.DataFrame)])
def test_set_output_overrules_the_library_of_the_input(source: Any, target: str, kind: type) -> None:
    X = source(RAW)
    chosen = clone(sf.ThresholdBinarizer(max_thresholds=2).set_output(transform=target)).fit_transform(X)
    with sklearn.config_context(transform_output=target):
        configured = sf.ThresholdBinarizer(max_thresholds=2).fit(X).transform(X)
    for made in (chosen, configured):
        assert isinstance(made, kind) and list(made.columns) == NAMES and made.to_numpy().tolist() == BLOCK


def test_the_columns_of_a_feature_can_be_named_in_a_rule() -> None:
    binarizer = sf.ThresholdBinarizer(max_thresholds=2).fit(pd.DataFrame(RAW))
    assert binarizer.columns_of("age") == ["age >= 50", "age >= 75"]
    assert binarizer.columns_of("member") == ["member"]
    assert binarizer.thresholds_ == {"age": [50.0, 75.0]}
    assert [(column.feature, column.operator, column.value) for column in binarizer.columns_[1:3]] == [
        ("age", ">=", 75.0),
        ("channel", "=", "phone"),
    ]
    with pytest.raises(ValueError, match="'salary' is no column of the table; the columns are age, channel, member"):
        binarizer.columns_of("salary")


def test_supervised_cuts_find_the_steps_of_the_labels() -> None:
    draw = np.random.default_rng(0)
    X = pd.DataFrame({"age": draw.integers(20, 90, 3000), "noise": draw.normal(size=3000)})
    risk = np.where(X["age"] < 40, 0.1, np.where(X["age"] < 65, 0.4, 0.9))
    y = np.where(draw.random(3000) < risk, "ill", "well")
    binarizer = sf.ThresholdBinarizer(strategy="supervised").fit(X, y)
    assert binarizer.thresholds_["age"] == [40.0, 65.0]
    assert len(binarizer.thresholds_["noise"]) == 1, "noise keeps the one cut that every column has"


def test_fixed_thresholds_and_limits_per_column() -> None:
    X = pd.DataFrame({"age": np.arange(100), "pulse": np.arange(100) + 40, "salt": np.arange(100) % 7})
    binarizer = sf.ThresholdBinarizer(thresholds={"age": [75, 65, 75]}, max_thresholds={"pulse": 1}).fit(X)
    assert {name: len(found) for name, found in binarizer.thresholds_.items()} == {"age": 2, "pulse": 1, "salt": 5}
    assert binarizer.columns_of("age") == ["age >= 65", "age >= 75"]
    by_position = sf.ThresholdBinarizer(thresholds={0: [65]}, max_thresholds={1: 2}).fit(X.to_numpy())
    assert {name: len(found) for name, found in by_position.thresholds_.items()} == {"x0": 1, "x1": 2, "x2": 5}


def test_rare_levels_by_count_and_by_share_agree() -> None:
    X = pd.DataFrame({"town": ["a"] * 50 + ["b"] * 40 + ["c"] * 6 + ["d"] * 4})
    by_count = sf.ThresholdBinarizer(rare_levels=10).fit(X)
    assert by_count.get_feature_names_out().tolist() == ["town = a", "town = b", "town in {c, d}"]
    assert sf.ThresholdBinarizer(rare_levels=0.1).fit(X).columns_ == by_count.columns_
    assert by_count.describe()["value"].tolist() == ["a", "b", "c, d"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"strategy": "tree"}, "strategy = 'tree' is not a policy; use one of 'quantile', 'supervised'"),
        ({"missing": "ignore"}, "missing = 'ignore' is not a policy"),
        ({"unseen": "ignore"}, "unseen = 'ignore' is not a policy"),
        ({"max_thresholds": 0}, "max_thresholds = 0 must be a whole number of at least 1"),
        (
            {"max_thresholds": {"salary": 2}},
            "max_thresholds names column 'salary', but the columns are 'age', 'channel', 'member'",
        ),
        ({"max_thresholds": {"age": 2.5}}, "max_thresholds = 2.5"),
        ({"thresholds": [1, 2]}, "thresholds = \\[1, 2\\] must be a mapping"),
        ({"thresholds": {"age": 75}}, "thresholds of column 'age' are 75; give a list of finite numbers"),
        ({"thresholds": {"age": [np.nan]}}, "thresholds of column 'age'"),
        ({"thresholds": {"channel": [1]}}, "thresholds names column 'channel', which is categorical"),
        ({"rare_levels": 1.5}, "rare_levels = 1.5"),
        ({"rounding_slack": -0.1}, "rounding_slack = -0.1 must be a number between 0 and 0.5"),
        ({"min_share": 0.7}, "min_share = 0.7 must be a number between 0 and 0.5"),
        ({"rare_levels": 0}, "rare_levels = 0"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        sf.ThresholdBinarizer(**options).fit(pd.DataFrame(RAW))


@pytest.mark.parametrize(
    ("y", "message"),
    [(None, "requires y"), ([0, 1, 2, 0, 1, 2], "multiclass"), ([1] * 6, "only one class"), ([0, 1], "6 rows, y has 2 labels")],
)
def test_supervised_cuts_need_two_classes(y: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        sf.ThresholdBinarizer(strategy="supervised").fit(pd.DataFrame(RAW), y)


def test_a_failed_fit_leaves_no_trace_and_names_are_checked_later() -> None:
    binarizer = sf.ThresholdBinarizer()
    with pytest.raises(sf.InvalidTableError):
        binarizer.fit(pd.DataFrame({"a": [1.0, np.nan]}))
    assert not hasattr(binarizer, "columns_")
    binarizer.fit(pd.DataFrame(RAW))
    with pytest.raises(ValueError, match="feature names should match"):
        binarizer.transform(pd.DataFrame(RAW).rename(columns={"age": "years"}))
    with pytest.raises(ValueError, match="input_features is not equal to feature_names_in_"):
        binarizer.get_feature_names_out(["a", "b", "c"])


def test_it_works_in_a_pipeline_and_a_grid_search() -> None:
    draw = np.random.default_rng(3)
    X = pd.DataFrame({"age": draw.integers(20, 90, 400), "kind": draw.choice(["u", "v", "w"], 400)})
    y = draw.random(400) < np.where(X["age"] >= 60, 0.9, 0.2) - 0.15 * (X["kind"] == "v")
    model = make_pipeline(sf.ThresholdBinarizer(strategy="supervised"), LogisticRegression())
    search = GridSearchCV(model, {"thresholdbinarizer__max_thresholds": [1, 3]}, cv=3, scoring="roc_auc").fit(X, y)
    assert search.best_score_ > 0.7
    final = search.best_estimator_
    assert list(final[-1].feature_names_in_) == list(final[0].get_feature_names_out())
