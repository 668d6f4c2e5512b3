"""Any two values become -1 and +1; everything else is refused by name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surefoot.design.encode.labels import encode_labels
from surefoot.exceptions import InvalidTableError

ALTERNATING = [1.0, -1.0, 1.0]


@pytest.mark.parametrize(
    ("y", "classes"),
    [
        (["yes", "no", "yes"], ["no", "yes"]),
        (np.array(["yes", "no", "yes"]), ["no", "yes"]),
        (np.array(["yes", "no", "yes"], dtype=object), ["no", "yes"]),
        ([True, False, True], [False, True]),
        (np.array([True, False, True]), [False, True]),
        ([2, -7, 2], [-7, 2]),
        (np.array([1.0, 0.0, 1.0], dtype=np.float32), [0.0, 1.0]),
        (np.array([0.75, 0.25, 0.75]), [0.25, 0.75]),
        (np.array([1, 0, 1], dtype=np.uint8), [0, 1]),
        (pd.Series(["yes", "no", "yes"]), ["no", "yes"]),
        (pd.Series(["yes", "no", "yes"], dtype="category"), ["no", "yes"]),
        (pd.Series([3, 1, 3], dtype="Int64"), [1, 3]),
        (pd.Series([True, False, True], dtype="boolean"), [False, True]),
        (pd.Series(pd.Categorical([10, 9, 10], categories=[10, 9], ordered=True)), [9, 10]),
        (pl.Series(["yes", "no", "yes"]), ["no", "yes"]),
        (pl.Series([True, False, True]), [False, True]),
        (pa.chunked_array([["yes"], ["no", "yes"]]), ["no", "yes"]),
    ],
    ids=lambda value: f"{type(value).__module__}.{type(value).__name__}",
)
def test_the_second_value_in_sorted_order_is_positive(y: Any, classes: list[Any]) -> None:
    labels = encode_labels(y)
    assert labels.signs.tolist() == ALTERNATING
    assert labels.signs.dtype == np.float64
    assert labels.classes.tolist() == classes


@pytest.mark.parametrize("dtype", ["int32", "float32", "bool", "<U3", "object"])
def test_classes_keep_the_type_of_an_array(dtype: str) -> None:
    y = np.array([1, 0, 1]).astype(dtype) if dtype != "object" else np.array(["b", "a"], dtype=object)
    assert encode_labels(y).classes.dtype == np.dtype(dtype)


@settings(deadline=None)
@given(st.lists(st.sampled_from(["a", "b"]), min_size=2).filter(lambda y: len(set(y)) == 2))
def test_signs_point_back_to_the_labels(y: list[str]) -> None:
    labels = encode_labels(y)
    assert labels.classes[(labels.signs > 0).astype(int)].tolist() == y


def test_one_class_is_refused_in_the_words_of_scikit_learn() -> None:
    message = "needs samples of at least 2 classes in the data, but the data contains only one class: 'a'"
    with pytest.raises(InvalidTableError, match=message):
        encode_labels(["a", "a"])


def test_three_classes_are_refused_in_the_words_of_scikit_learn() -> None:
    with pytest.raises(
        InvalidTableError, match=r"Only binary classification is supported\. The type of the target is multiclass"
    ):
        encode_labels([0, 1, 2])


def test_continuous_targets_are_refused_in_the_words_of_scikit_learn() -> None:
    with pytest.raises(InvalidTableError, match="Unknown label type: continuous"):
        encode_labels(np.linspace(0, 1, 20))


def test_text_mixed_with_numbers_is_refused() -> None:
    with pytest.raises(InvalidTableError, match="Unknown label type: y mixes text and numbers"):
        encode_labels(["a", 1, "a"])


@pytest.mark.parametrize(
    "y",
    [
        np.array([0.0, np.nan, 1.0, np.nan]),
        ["a", None, "b", None],
        np.array(["a", np.nan, "b", np.nan], dtype=object),
        pd.Series([0, None, 1, None], dtype="Int64"),
        pd.Series(["a", None, "b", None]),
        pl.Series([True, None, False, None]),
        pa.chunked_array([["a", None, "b", None]]),
    ],
    ids=lambda value: f"{type(value).__module__}.{type(value).__name__}",
)
def test_missing_labels_are_counted_and_the_first_is_named(y: Any) -> None:
    with pytest.raises(InvalidTableError, match=r"NaN: 2 label\(s\) are missing, the first in row 1"):
        encode_labels(y)


def test_infinite_labels_are_refused() -> None:
    with pytest.raises(InvalidTableError, match="y holds inf"):
        encode_labels(np.array([0.0, np.inf]))


@pytest.mark.parametrize("y", [pd.Series(pd.to_datetime(["2020", "2021"])), [(1, 2), (3, 4, 5)], [{"a": 1}, 2]])
def test_labels_that_are_neither_text_nor_numbers_are_refused(y: Any) -> None:
    with pytest.raises(
        InvalidTableError, match=r"Unknown label type|argument must be a string or a real number|different lengths"
    ):
        encode_labels(y)


def test_no_labels_are_refused() -> None:
    with pytest.raises(InvalidTableError, match=r"0 sample\(s\)"):
        encode_labels([])


def test_labels_with_two_dimensions_are_refused() -> None:
    with pytest.raises(InvalidTableError, match=r"y should be a 1d array, got an array of shape \(2, 1\)"):
        encode_labels(np.array([[0], [1]]))


def test_known_classes_rule_even_if_only_one_is_there() -> None:
    assert encode_labels(["b", "b"], classes=np.array(["a", "b"])).signs.tolist() == [1.0, 1.0]
    assert encode_labels([0.0], classes=np.array([0, 1])).signs.tolist() == [-1.0]


def test_a_label_that_is_no_known_class_is_named() -> None:
    with pytest.raises(InvalidTableError, match="y, row 1: 'c' is not one of the classes that the model knows, 'a' and 'b'"):
        encode_labels(["a", "c"], classes=["a", "b"])
    with pytest.raises(ValueError, match="two values"):
        encode_labels(["a"], classes=["a"])
