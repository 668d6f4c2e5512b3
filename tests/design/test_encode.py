"""Which columns are categories, how they are coded, and which tables fit a schema."""

from __future__ import annotations

import copy
import datetime
import pickle
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from surefoot.design.encode.schema import Schema
from surefoot.design.encode.table_encoder import TableEncoder
from surefoot.exceptions import InvalidTableError

MIXED = {"colour": ["red", "blue", "red"], "age": [30, 40, 50], "member": [True, False, True], "size": [0.5, 1e300, -1e-9]}
FRAMES = [pd.DataFrame, pl.DataFrame, pa.table]


def kinds(X: Any, categorical_features: Any = "from_dtype") -> list[str]:
    schema = TableEncoder(categorical_features=categorical_features).fit(X)
    return [column.kind for column in schema.columns]


@pytest.mark.parametrize("frame", FRAMES)
def test_a_mixed_table_becomes_numbers_and_codes(frame: Any) -> None:
    design = TableEncoder().fit_encode(frame(MIXED))
    np.testing.assert_array_equal(design.numeric, [[30, 0.5], [40, 1e300], [50, -1e-9]])
    np.testing.assert_array_equal(design.codes, [[1, 1], [0, 0], [1, 1]])
    assert design.n_levels.tolist() == [2, 2]
    assert (design.numeric.dtype, design.codes.dtype, design.n_levels.dtype) == (np.float64, np.int32, np.int32)
    assert design.numeric.flags.c_contiguous and design.codes.flags.c_contiguous
    assert [column.levels for column in design.schema.columns] == [("blue", "red"), (), (False, True), ()]
    assert (design.n_rows, design.n_numeric, design.n_categorical) == (3, 2, 2)
    assert design.level_values(0) == ["red", "blue", "red"]


def test_taking_rows_keeps_their_order() -> None:
    design = TableEncoder().fit_encode(pd.DataFrame(MIXED)).take(np.array([2, 1]))
    assert design.numeric[:, 0].tolist() == [50, 40] and design.codes[:, 0].tolist() == [1, 0]


def test_a_contiguous_float_array_is_encoded_without_a_copy_and_without_a_change() -> None:
    X = np.arange(6.0).reshape(3, 2)
    assert np.shares_memory(TableEncoder().fit_encode(X).numeric, X)
    X[0, 0] = np.nan
    design = TableEncoder(missing_numeric="median").fit_encode(X)
    assert np.isnan(X[0, 0]) and design.numeric[0, 0] == 3.0


@pytest.mark.parametrize(
    ("values", "kind", "levels"),
    [
        (pd.Series(["b", "a"], dtype="string"), "categorical", ("a", "b")),
        (pd.Series(["b", "a"], dtype="str"), "categorical", ("a", "b")),
        (pd.Series(["b", "a"], dtype=object), "categorical", ("a", "b")),
        (pd.Series([2, 1], dtype="Int64"), "numeric", ()),
        (pd.Series([2, 1], dtype="Float64"), "numeric", ()),
        (pd.Series([True, False], dtype="boolean"), "categorical", (False, True)),
        (pd.Series([True, False], dtype=object), "categorical", (False, True)),
        (pd.Series([2, 10], dtype="category"), "categorical", (2, 10)),
        (pd.Series(pd.Categorical(["b", "a"], categories=["c", "b", "a"], ordered=True)), "categorical", ("a", "b")),
        (pd.cut(pd.Series([7, 15]), [0, 10, 20]), "categorical", ("(0, 10]", "(10, 20]")),
        (pd.cut(pd.Series([7, 3]), [0, 5, 10]), "categorical", ("(0, 5]", "(5, 10]")),
        (pd.Series(pd.to_datetime(["2020-01-02", "2020-01-01"])).astype("category"), "categorical", None),
        (pd.Series([Decimal("2.5"), 1], dtype=object), "numeric", ()),
        (pd.Series([1, True], dtype=object), "numeric", ()),
        (pl.Series(["b", "a"], dtype=pl.Categorical), "categorical", ("a", "b")),
        (pl.Series(["b", "a"], dtype=pl.Enum(["c", "b", "a"])), "categorical", ("a", "b")),
        (pl.Series([2, 1], dtype=pl.UInt8), "numeric", ()),
        (pa.chunked_array([pa.array(["b"]), pa.array(["a"])]).dictionary_encode(), "categorical", ("a", "b")),
        (pa.chunked_array([pa.array([10, 9]).dictionary_encode()]), "categorical", (9, 10)),
    ],
)
def test_types_decide_the_kind_and_values_the_order_of_levels(values: Any, kind: str, levels: tuple[Any, ...] | None) -> None:
    frame = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}[type(values).__module__.split(".")[0]]
    column = TableEncoder().fit(frame({"c": values})).columns[0]
    assert column.kind == kind
    if levels is not None:
        assert column.levels == levels
        assert [type(level) for level in column.levels] == [type(level) for level in levels]


def test_levels_of_numbers_sort_as_numbers_and_mixed_ones_by_type() -> None:
    column = TableEncoder(categorical_features=[0]).fit([[10], [9], [100]]).columns[0]
    assert column.levels == (9, 10, 100)
    column = TableEncoder(categorical_features=[0]).fit([["b"], [10], [9], ["a"]]).columns[0]
    assert column.levels == (10, 9, "a", "b")


def test_arrays_are_numeric_unless_they_hold_text_or_booleans() -> None:
    assert kinds(np.array([[1, 2]])) == ["numeric", "numeric"]
    assert kinds(np.array([[True, False]])) == ["categorical", "categorical"]
    assert kinds(np.array([["1", "2"]])) == ["categorical", "categorical"]
    assert kinds(np.array([[1, "a", True, None]], dtype=object)[:, :3]) == ["numeric", "categorical", "categorical"]
    assert kinds([[1, "a", True]]) == ["numeric", "categorical", "categorical"]
    assert kinds(sparse.csr_array(np.array([[True, False]]))) == ["numeric", "numeric"]


@pytest.mark.parametrize("chosen", [["b"], ("b",), [1], np.array([1]), [False, True, False], np.array([False, True, False])])
def test_categories_can_be_chosen_by_name_position_or_mask(chosen: Any) -> None:
    assert kinds(pd.DataFrame({"a": [1], "b": [2], "c": [3]}), chosen) == ["numeric", "categorical", "numeric"]


@pytest.mark.parametrize("chosen", [None, [], (), [False, False]])
def test_no_categories_means_all_numeric(chosen: Any) -> None:
    design = TableEncoder(categorical_features=chosen).fit_encode(pd.DataFrame({"a": [True], "b": [2]}))
    assert design.numeric.tolist() == [[1.0, 2.0]] and design.codes.shape == (1, 0)


@pytest.mark.parametrize("frame", FRAMES)
def test_an_all_categorical_table_has_an_empty_numeric_block(frame: Any) -> None:
    design = TableEncoder().fit_encode(frame({"a": ["x", "y"], "b": ["z", "z"]}))
    assert design.numeric.shape == (2, 0) and design.n_levels.tolist() == [2, 1]


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        (["c"], "names 'c', but the columns are 'a', 'b'"),
        ([2], r"position 2, but positions run from 0 to 1 \(columns 'a', 'b'\)"),
        ([-1], "position -1"),
        ([True], "mask of length 1, but the table has 2 columns"),
        (["a", 1], "not a mixture"),
        ([1.0], "not a mixture"),
        ([0, True], "not a mixture"),
        ("a", r"use 'from_dtype', None, or a list such as \['a'\]"),
    ],
)
def test_unknown_columns_are_refused_with_what_exists(chosen: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TableEncoder(categorical_features=chosen).fit(pd.DataFrame({"a": [1], "b": [2]}))


@pytest.mark.parametrize("option", ["missing_numeric", "missing_categorical", "unseen_categories"])
def test_unknown_policies_are_refused_with_what_exists(option: str) -> None:
    with pytest.raises(ValueError, match=f"{option} = 'ignore' is not a policy; use one of 'error', "):
        TableEncoder(**{option: "ignore"})


@pytest.mark.parametrize("frame", FRAMES)
def test_text_in_a_numeric_column_is_named(frame: Any) -> None:
    X = frame({"a": [1, 2, 3], "b": ["4", None, "x"]})
    with pytest.raises(InvalidTableError, match=r"column 'b', row 0: '4' is text, but the column is numeric.*astype"):
        TableEncoder(categorical_features=None, missing_numeric="median").fit(X)


def test_text_after_numbers_in_an_object_column_is_named() -> None:
    X = pd.DataFrame({"a": [1.5, 2, "?", 3]}, dtype=object)
    with pytest.raises(
        InvalidTableError, match=r"column 'a', row 2: '\?' is text but column 'a', row 0: 1.5 is not.*categorical_features"
    ):
        TableEncoder().fit(X)
    assert TableEncoder(categorical_features=["a"]).fit(X).columns[0].n_levels == 4


def test_text_late_in_an_object_column_is_found() -> None:
    values = ["a"] * 1000 + [3.5]
    with pytest.raises(InvalidTableError, match=r"row 1000: 3\.5"):
        TableEncoder().fit(pd.DataFrame({"a": pd.Series(values, dtype=object)}))


def test_numeric_categories_can_be_read_as_numbers() -> None:
    X = pd.DataFrame({"a": pd.Categorical([3, 1, 3])})
    assert TableEncoder(categorical_features=None).fit_encode(X).numeric.tolist() == [[3.0], [1.0], [3.0]]


@pytest.mark.parametrize(
    "X",
    [
        pd.DataFrame({"a": [1, 1], "day": pd.to_datetime(["2020-01-01", "2020-01-02"])}),
        pd.DataFrame({"a": [1, 1], "day": pd.to_timedelta([1, 2])}),
        pl.DataFrame({"a": [1, 1], "day": [datetime.date(2020, 1, 1)] * 2}),
        pl.DataFrame({"a": [1, 1], "day": [datetime.time(1)] * 2}),
        pa.table({"a": [1, 1], "day": [datetime.datetime(2020, 1, 1)] * 2}),
        pd.DataFrame({"a": [1, 1], "day": pd.Series([datetime.date(2020, 1, 1)] * 2, dtype=object)}),
    ],
)
@pytest.mark.parametrize("chosen", ["from_dtype", None])
def test_dates_are_refused_with_advice(X: Any, chosen: Any) -> None:
    with pytest.raises(
        InvalidTableError, match=r"column 'day', row 0: .* is a date or a time\. Convert the column to a number"
    ):
        TableEncoder(categorical_features=chosen).fit(X)


def test_dates_are_categories_on_request() -> None:
    days = [datetime.date(2020, 1, 2), datetime.date(2020, 1, 1)]
    for frame in (pl.DataFrame({"day": days}), pa.table({"day": days}), pd.DataFrame({"day": days})):
        assert TableEncoder(categorical_features=["day"]).fit(frame).columns[0].levels == ("2020-01-01", "2020-01-02")


@pytest.mark.parametrize("value", [{"a": 1}, [1], object(), b"x", (1, 2)])
def test_objects_are_refused_in_the_words_of_scikit_learn(value: Any) -> None:
    X = np.empty((2, 2), dtype=object)
    X[:] = 1.0
    X[1, 0] = value
    with pytest.raises(TypeError, match=r"column 0, row 1: argument must be a string or a real number, not '\w+'") as caught:
        TableEncoder().fit(X)
    assert isinstance(caught.value, InvalidTableError)


@pytest.mark.parametrize("value", [{"a": 1}, [1], object(), b"x"])
def test_objects_without_a_text_are_no_levels(value: Any) -> None:
    X = np.empty((2, 1), dtype=object)
    X[0, 0], X[1, 0] = "a", value
    with pytest.raises(TypeError, match=r"column 0.*argument must be a string or a real number"):
        TableEncoder(categorical_features=[0]).fit(X)


@pytest.mark.parametrize("chosen", ["from_dtype", [0]])
def test_complex_objects_are_refused(chosen: Any) -> None:
    with pytest.raises(InvalidTableError, match="Complex data not supported: column 0, row 1: 1j"):
        TableEncoder(categorical_features=chosen).fit([[1.0], [1j]])


def test_an_integer_beyond_floats_is_named() -> None:
    with pytest.raises(InvalidTableError, match=r"column 0, row 1: 1000.* does not fit"):
        TableEncoder().fit([[1], [10**400]])


@pytest.mark.parametrize("frame", FRAMES)
def test_text_where_numbers_were_is_named(frame: Any) -> None:
    encoder = TableEncoder()
    encoder.fit(frame({"a": [1.0, 2.0]}))
    with pytest.raises(InvalidTableError, match="column 'a', row 0: 'one' is text, but the column is numeric"):
        encoder.encode(frame({"a": ["one", "two"]}))


def test_values_are_checked_when_encoding_as_when_fitting() -> None:
    encoder = TableEncoder()
    encoder.fit(np.ones((2, 2)))
    with pytest.raises(InvalidTableError, match=r"NaN: column 1 has 1 missing value\(s\), the first in row 0"):
        encoder.encode(np.array([[1.0, np.nan]]))
    with pytest.raises(InvalidTableError, match="infinity: column 0, row 0 holds inf"):
        encoder.encode(np.array([[np.inf, np.nan]]))


def test_another_number_of_columns_is_refused_in_the_words_of_scikit_learn() -> None:
    encoder = TableEncoder()
    encoder.fit(np.ones((2, 5)))
    with pytest.raises(InvalidTableError, match=r"X has 3 features, but \w+ is expecting 5 features as input"):
        encoder.encode(np.ones((2, 3)))


def test_columns_are_matched_by_name_if_both_tables_have_names() -> None:
    encoder = TableEncoder()
    encoder.fit(pd.DataFrame({"a": [1], "b": [2]}))
    with pytest.raises(InvalidTableError, match=r"names should match.*another order than in training, which was 'a', 'b'"):
        encoder.encode(pl.DataFrame({"b": [1], "a": [2]}))
    with pytest.raises(InvalidTableError, match=r"names should match.*missing: 'a'; unexpected: 'c'"):
        encoder.encode(pl.DataFrame({"c": [1], "b": [2]}))
    assert encoder.encode(np.array([[3.0, 4.0]])).numeric.tolist() == [[3.0, 4.0]]
    assert encoder.encode(pa.table({"a": [3], "b": [4]})).numeric.tolist() == [[3.0, 4.0]]


def test_encoding_before_fitting_is_refused() -> None:
    with pytest.raises(ValueError, match="no schema yet"):
        TableEncoder().encode(np.ones((1, 1)))


def test_the_encoder_can_be_rebuilt_from_its_schema() -> None:
    encoder = TableEncoder(missing_numeric="median", missing_categorical="level", unseen_categories="reference")
    design = encoder.fit_encode(pd.DataFrame(MIXED))
    test = pd.DataFrame({"colour": ["green", "red"], "age": [None, 1], "member": [False, True], "size": [1.0, 2.0]})
    for schema in (Schema.from_dict(design.schema.to_dict()), pickle.loads(pickle.dumps(design.schema))):
        again = TableEncoder.from_schema(schema).encode(test)
        np.testing.assert_array_equal(again.numeric, encoder.encode(test).numeric)
        np.testing.assert_array_equal(again.codes, encoder.encode(test).codes)


def test_fitting_leaves_the_options_and_the_table_alone() -> None:
    encoder = TableEncoder(categorical_features=["colour", "member"])
    X = pd.DataFrame(MIXED)
    before = X.copy()
    options = copy.deepcopy({name: value for name, value in vars(encoder).items() if not name.endswith("_")})
    encoder.fit(X)
    assert {name: value for name, value in vars(encoder).items() if not name.endswith("_")} == options
    pd.testing.assert_frame_equal(X, before)


def test_one_row_and_read_only_memory_are_fine() -> None:
    X = np.ones((1, 2))
    X.flags.writeable = False
    assert TableEncoder().fit_encode(X).numeric.tolist() == [[1.0, 1.0]]
