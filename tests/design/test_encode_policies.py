"""Values that cannot be encoded as they are: infinities, gaps, and levels that training had not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from surefoot.design.encode.table_encoder import TableEncoder
from surefoot.exceptions import InvalidTableError

FRAMES = [pd.DataFrame, pl.DataFrame, pa.table]


@pytest.mark.parametrize(
    "X",
    [
        np.array([[1.0, 2.0], [1.0, np.inf]]),
        pd.DataFrame({"a": [1.0, 1.0], "b": [2.0, np.inf]}),
        pl.DataFrame({"a": [1.0, 1.0], "b": [2.0, float("inf")]}),
        pa.table({"a": [1.0, 1.0], "b": [2.0, float("inf")]}),
        np.array([[1.0, 2.0], [1.0, 1e4000]], dtype=np.longdouble),
        sparse.csr_array(np.array([[1.0, 2.0], [1.0, np.inf]])),
    ],
    ids=["array", "pandas", "polars", "pyarrow", "long double", "sparse"],
)
@pytest.mark.parametrize("policy", ["error", "median"])
def test_infinite_values_are_always_named(X: Any, policy: Any) -> None:
    with pytest.raises(InvalidTableError, match=r"Input X contains infinity: column ('b'|1), row 1 holds inf"):
        TableEncoder(missing_numeric=policy).fit(X)
    with pytest.raises(InvalidTableError, match="row 0 holds -inf"):
        TableEncoder().fit(np.array([[-np.inf], [np.inf]]))
    with pytest.raises(InvalidTableError, match="inf, which cannot be a level"):
        TableEncoder(categorical_features=[0]).fit(np.array([[-np.inf], [np.inf]]))


def test_finite_values_whose_sum_overflows_are_fine() -> None:
    X = np.full((10, 2), 1e308)
    assert TableEncoder().fit_encode(X).numeric[0, 0] == 1e308
    assert TableEncoder(missing_numeric="median").fit(X).columns[0].median == 1e308


GAPPY = [
    np.array([[1.0, np.nan], [1.0, 2.0], [1.0, np.nan], [1.0, 4.0]]),
    np.array([[1.0, None], [1.0, 2.0], [1.0, None], [1.0, 4.0]], dtype=object),
    np.array([[1.0, pd.NA], [1.0, 2.0], [1.0, pd.NaT], [1.0, 4.0]], dtype=object),
    pd.DataFrame({"a": [1.0] * 4, "b": [None, 2.0, np.nan, 4.0]}),
    pd.DataFrame({"a": [1.0] * 4, "b": pd.array([None, 2, pd.NA, 4], dtype="Int64")}),
    pd.DataFrame({"a": [1.0] * 4, "b": pd.array([None, 2, pd.NA, 4], dtype="Float64")}),
    pl.DataFrame({"a": [1.0] * 4, "b": [None, 2, None, 4]}),
    pl.DataFrame({"a": [1.0] * 4, "b": [None, 2.0, float("nan"), 4.0]}),
    pa.table({"a": [1.0] * 4, "b": [None, 2, None, 4]}),
    pa.table({"a": [1.0] * 4, "b": [None, 2.0, float("nan"), 4.0]}),
]


@pytest.mark.parametrize("X", GAPPY)
def test_missing_numbers_are_counted_and_the_first_is_named(X: Any) -> None:
    message = r"Input X contains NaN: column ('b'|1) has 2 missing value\(s\), the first in row 0.*missing_numeric='median'"
    with pytest.raises(InvalidTableError, match=message):
        TableEncoder().fit(X)


@pytest.mark.parametrize("X", GAPPY)
def test_missing_numbers_become_the_median_on_request(X: Any) -> None:
    encoder = TableEncoder(missing_numeric="median")
    assert encoder.fit_encode(X).numeric[:, 1].tolist() == [3.0, 2.0, 3.0, 4.0]
    assert encoder.schema_.columns[1].median == 3.0
    assert encoder.encode(X[:1] if isinstance(X, np.ndarray) else X[0:1]).numeric.tolist() == [[1.0, 3.0]]


def test_the_median_is_that_of_rows_repeated_by_weight() -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        X = rng.integers(0, 6, (int(rng.integers(1, 9)), 1)).astype(float)
        X[rng.random(X.shape) < 0.2] = np.nan
        weights = rng.integers(0, 4, len(X))
        repeated = X.repeat(weights, axis=0)
        if np.isnan(repeated).all():
            continue
        encoder = TableEncoder(missing_numeric="median")
        for scale in (1, 0.1):
            assert encoder.fit(X, scale * weights).columns[0].median == np.nanmedian(repeated)
        assert encoder.fit(repeated).columns[0].median == np.nanmedian(repeated)


def test_a_column_without_values_has_no_median() -> None:
    X = np.array([[np.nan], [1.0]])
    with pytest.raises(InvalidTableError, match="column 0 holds no value in any row of positive weight"):
        TableEncoder(missing_numeric="median").fit(X, [1, 0])


@pytest.mark.parametrize(
    ("weights", "message"),
    [([1.0], r"shape \(1,\), but the table has 2 rows"), ([1.0, -1.0], "row 1 is -1.0"), ([np.nan, 1.0], "row 0 is nan")],
)
def test_weights_that_are_none_are_refused(weights: list[float], message: str) -> None:
    with pytest.raises(InvalidTableError, match=message):
        TableEncoder().fit(np.ones((2, 1)), weights)


GAPPY_TEXT = [
    pd.DataFrame({"a": ["x", None, "y", None]}),
    pd.DataFrame({"a": ["x", None, "y", np.nan]}, dtype=object),
    pd.DataFrame({"a": ["x", None, "y", pd.NA]}, dtype="string"),
    pd.DataFrame({"a": pd.Categorical(["x", None, "y", None])}),
    pl.DataFrame({"a": ["x", None, "y", None]}),
    pl.DataFrame({"a": pl.Series(["x", None, "y", None], dtype=pl.Categorical)}),
    pa.table({"a": ["x", None, "y", None]}),
    pa.table({"a": pa.array(["x", None, "y", None]).dictionary_encode()}),
    [["x"], [None], ["y"], [float("nan")]],
]


@pytest.mark.parametrize("X", GAPPY_TEXT)
def test_missing_categories_are_counted_and_the_first_is_named(X: Any) -> None:
    message = r"NaN: column ('a'|0) has 2 missing value\(s\), the first in row 1.*missing_categorical='level'"
    with pytest.raises(InvalidTableError, match=message):
        TableEncoder().fit(X)
    encoder = TableEncoder(unseen_categories="reference")
    encoder.fit([["x"], ["y"]])
    with pytest.raises(InvalidTableError, match=r"NaN: column 0 has 2 missing value\(s\), the first in row 1"):
        encoder.encode(X)


@pytest.mark.parametrize("X", GAPPY_TEXT)
def test_missing_categories_are_the_last_level_on_request(X: Any) -> None:
    encoder = TableEncoder(missing_categorical="level")
    design = encoder.fit_encode(X)
    assert design.schema.columns[0].levels == ("x", "y", None)
    assert design.codes[:, 0].tolist() == [0, 2, 1, 2]
    assert encoder.encode(X).codes[:, 0].tolist() == [0, 2, 1, 2]


def test_missing_booleans_and_forced_numbers_are_a_level_too() -> None:
    for values in (pd.array([True, None, False], dtype="boolean"), np.array([True, None, False], dtype=object)):
        X = pd.DataFrame({"a": values})
        assert TableEncoder(missing_categorical="level").fit_encode(X).codes[:, 0].tolist() == [1, 2, 0]
    X = np.array([[2.0], [np.nan], [1.0]])
    schema = TableEncoder(missing_categorical="level", categorical_features=[0]).fit(X)
    assert schema.columns[0].levels == (1.0, 2.0, None)


def test_a_column_of_gaps_alone_has_one_level() -> None:
    X = pl.DataFrame({"a": pl.Series([None, None], dtype=pl.String)})
    design = TableEncoder(missing_categorical="level").fit_encode(X)
    assert design.schema.columns[0].levels == (None,) and design.codes.tolist() == [[0], [0]]


def test_a_gap_that_training_had_not_is_an_unseen_level() -> None:
    encoder = TableEncoder(missing_categorical="level")
    encoder.fit([["x"], ["y"]])
    with pytest.raises(
        InvalidTableError, match="column 0, row 1 is missing, which no training row did; known levels: 'x', 'y'"
    ):
        encoder.encode([["y"], [None]])
    encoder = TableEncoder(missing_categorical="level", unseen_categories="reference")
    encoder.fit([["x"], ["y"]])
    assert encoder.encode([["y"], [None]]).codes.tolist() == [[1], [0]]


@pytest.mark.parametrize("frame", FRAMES)
def test_an_unseen_level_is_named_with_the_known_ones(frame: Any) -> None:
    encoder = TableEncoder()
    encoder.fit(frame({"n": range(30), "a": [f"level {at:02}" for at in range(30)]}))
    message = (
        r"column 'a', row 1 holds 'other', which no training row did; known.*'level 00', .* and 20 more\. "
        r".*choose unseen_categories='reference'"
    )
    with pytest.raises(InvalidTableError, match=message):
        encoder.encode(frame({"n": [1, 2], "a": ["level 01", "other"]}))


def test_an_unseen_level_is_the_reference_on_request() -> None:
    encoder = TableEncoder(unseen_categories="reference")
    encoder.fit([["a"], ["b"]])
    assert encoder.encode([["b"], ["c"], ["a"]]).codes[:, 0].tolist() == [1, 0, 0]


def test_unused_categories_are_no_levels() -> None:
    X = pd.DataFrame({"a": pd.Categorical(["b", "a"], categories=["a", "b", "c"])})
    assert TableEncoder().fit(X).columns[0].levels == ("a", "b")


def test_integers_and_floats_of_one_value_are_one_level() -> None:
    encoder = TableEncoder(categorical_features=[0])
    encoder.fit(np.array([[1], [2]]))
    assert encoder.encode(np.array([[2.0], [1.0], [-0.0 + 1]])).codes[:, 0].tolist() == [1, 0, 0]


@pytest.mark.parametrize("unseen", ["error", "reference"])
def test_a_category_whose_type_changed_is_refused_under_every_policy(unseen: Any) -> None:
    encoder = TableEncoder(unseen_categories=unseen)
    encoder.fit(pd.DataFrame({"zip": ["10", "20"]}))
    with pytest.raises(InvalidTableError, match="column 'zip', row 0: 10 is a number, but the column held text in training"):
        encoder.encode(pd.DataFrame({"zip": [10, 20]}))
    encoder = TableEncoder(unseen_categories=unseen, categorical_features=["zip"])
    encoder.fit(pd.DataFrame({"zip": [10, 20]}))
    with pytest.raises(InvalidTableError, match="column 'zip', row 1: '30' is text, but the column held numbers in training"):
        encoder.encode(pd.DataFrame({"zip": [10, "30"]}, dtype=object))
