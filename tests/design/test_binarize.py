"""Plans of 0/1 columns: what they mean, and that they mean the same for every way of writing the data."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from surefoot.design.binarize.binary_column import BinaryColumn
from surefoot.design.binarize.table_binarizer import BinaryPlan, TableBinarizer
from surefoot.exceptions import InvalidTableError


def fit(X: Any, *, weights: Any = None, labels: Any = None, most: int = 3, **options: Any) -> BinaryPlan:
    n_rows, n_columns = X.shape
    binarizer = TableBinarizer(
        **{"strategy": "quantile", "max_thresholds": [most] * n_columns, "thresholds": {}, **options},
    )
    return binarizer.fit(X, np.ones(n_rows) if weights is None else np.asarray(weights, dtype=float), labels)


def names(plan: BinaryPlan) -> list[str]:
    return [column.name for column in plan.columns]


small = st.lists(st.integers(-40, 40), min_size=3, max_size=40).filter(lambda values: len(set(values)) > 2)


@given(small, st.integers(1, 4), st.integers(1, 1000), st.integers(-1000, 1000), st.booleans())
def test_growing_affine_maps_change_no_row(values: list[int], most: int, a: int, b: int, supervised: bool) -> None:
    X = np.array(values, dtype=float)[:, None]
    labels = np.arange(len(values)) % 3 == 0
    options: dict[str, Any] = {"strategy": "supervised", "labels": labels} if supervised else {}
    moved = a / 8 * X + b / 4  # exact in floating point, so that order and ties survive
    np.testing.assert_array_equal(fit(X, most=most, **options).apply(X), fit(moved, most=most, **options).apply(moved))


@given(small, st.integers(1, 4))
def test_thresholds_ascend_and_their_columns_are_nested(values: list[int], most: int) -> None:
    X = np.array(values, dtype=float)[:, None]
    plan = fit(X, most=most)
    thresholds = [column.value for column in plan.columns]
    assert thresholds == sorted(set(thresholds)) and 1 <= len(thresholds) <= most
    block = plan.apply(X)
    np.testing.assert_array_equal(block, np.array(thresholds) <= X)
    assert np.all(np.diff(block, axis=1) <= 0), "who is above a threshold is above all lower ones"
    assert np.all((block.mean(axis=0) > 0) & (block.mean(axis=0) < 1)), "every threshold parts the training rows"


@given(small, st.integers(1, 4))
def test_rounding_parts_the_training_rows_as_the_values_themselves_do(values: list[int], most: int) -> None:
    X = np.array(values, dtype=float)[:, None] / 7
    np.testing.assert_array_equal(fit(X, most=most).apply(X), fit(X, most=most, round_thresholds=False).apply(X))


@given(small, st.integers(1, 4), st.sampled_from([0.02, 0.1, 0.3]))
def test_slack_moves_no_more_rows_than_it_says_and_never_all(values: list[int], most: int, slack: float) -> None:
    X = np.array(values, dtype=float)[:, None] / 7
    exact, loose = (fit(X, most=most, rounding_slack=own).apply(X).mean(axis=0) for own in (0.0, slack))
    assert np.all((loose > 0) & (loose < 1))
    assert all(np.min(np.abs(share - exact)) <= slack + 1e-9 for share in loose)


def test_slack_makes_thresholds_rounder() -> None:
    X = np.random.default_rng(0).normal(120, 15, size=(4000, 1))
    assert all(len(name) > len("x0 >= 120.0") for name in names(fit(X)))
    assert names(fit(X, rounding_slack=0.02)) == ["x0 >= 110", "x0 >= 120", "x0 >= 130"]


@given(small, st.lists(st.integers(0, 3), min_size=40, max_size=40))
def test_weights_are_repeated_rows(values: list[int], repeats: list[int]) -> None:
    X, counts = np.array(values, dtype=float)[:, None], np.array(repeats[: len(values)])
    if len(set(X[counts > 0, 0].tolist())) < 2:
        return
    assert fit(X, weights=counts).columns == fit(np.repeat(X, counts, axis=0)).columns


def test_a_table_of_0_and_1_passes_unchanged() -> None:
    X = pd.DataFrame({"age": [3.0, 8.0, 9.0, 4.0], "sex": ["f", "m", "f", "f"]})
    first = fit(X)
    once = pd.DataFrame(first.apply(X), columns=names(first))
    again = fit(once)
    assert names(again) == names(first)
    np.testing.assert_array_equal(again.apply(once), once)


def test_gaps_are_zero_everywhere_but_in_their_own_column() -> None:
    X = pd.DataFrame({"age": [30.0, np.nan, 60.0, 80.0], "sex": ["f", "m", None, "f"]})
    plan = fit(X, missing="column")
    assert names(plan) == ["age >= 50", "age >= 70", "age missing", "sex = f", "sex = m", "sex missing"]
    assert plan.apply(X)[1].tolist() == [0, 0, 1, 0, 1, 0]
    assert plan.apply(X)[2].tolist() == [1, 0, 0, 0, 0, 1]


@pytest.mark.parametrize(
    ("column", "options", "expected"),
    [
        (["a", "b", "a", "b"], {}, ["x = b"]),
        (["a", "b", "a", "b"], {"drop_complements": False}, ["x = a", "x = b"]),
        (["a", "b", "a", "b"], {"unseen": "zero"}, ["x = a", "x = b"]),
        (["a", "b", "c", "b"], {}, ["x = a", "x = b", "x = c"]),
        (["a", "a", None, "a"], {"missing": "column"}, ["x missing"]),
        ([True, False, True, True], {}, ["x"]),
        ([True, False, True, True], {"drop_complements": False}, ["not x", "x"]),
        ([0, 1, 1, 0], {}, ["x"]),
        ([1.0, np.nan, 0.0, 0.0], {"missing": "column"}, ["x", "x missing"]),
        ([1.0, np.nan, 1.0, 1.0], {"missing": "column"}, ["x missing"]),
        ([1, 2, 1, 2], {}, ["x >= 2"]),
        ([5, 7, 9, 7], {"categorical_features": ["x"]}, ["x = 5", "x = 7", "x = 9"]),
        ([5, 7, 9, 7], {"thresholds": {0: [6.5, 100]}}, ["x >= 6.5", "x >= 100"]),
        (["a", "a", "b", "c"], {"rare": 2}, ["x = a"]),
        (["a", "a", "b", "c"], {"rare": 2, "drop_complements": False}, ["x = a", "x in {b, c}"]),
        (["a", "a", "b", "c"], {"rare": 1}, ["x = a", "x = b", "x = c"]),
    ],
)
def test_columns_are_named_by_what_they_say(column: list[Any], options: dict[str, Any], expected: list[str]) -> None:
    X = pd.DataFrame({"x": column, "other": [1.0, 2.0, 1.0, 2.0]})
    assert names(fit(X, **options)) == [*expected, "other >= 2"]


def test_constant_columns_give_nothing_and_a_table_of_them_is_refused() -> None:
    X = pd.DataFrame({"a": [1.0, 1.0], "b": ["u", "u"], "c": [0, 1], "d": [0.0, 0.0]})
    assert names(fit(X)) == ["c"]
    with pytest.raises(InvalidTableError, match="no column of X varies in the 2 sample"):
        fit(X[["a", "b", "d"]])


def test_rare_levels_are_one_column_and_a_long_list_is_counted() -> None:
    X = pd.DataFrame({"town": ["Rome"] * 5 + ["Oslo"] * 5 + [f"a rather small place {k}" for k in range(4)]})
    plan = fit(X, rare=2)
    assert names(plan) == ["town = Oslo", "town = Rome", "town = other (4 levels)"]
    assert plan.apply(X).sum(axis=1).tolist() == [1] * 14


@pytest.mark.parametrize(
    ("options", "table", "message"),
    [
        ({}, {"x": ["a", "z", "b"]}, "column 'x', row 1 holds 'z', which no training row did.*unseen='zero'"),
        ({}, {"x": ["a", None, "b"]}, "column 'x' has 1 missing value.*row 1.*missing='column'"),
        ({"missing": "column"}, {"x": ["a", None, "b"]}, "column 'x', row 1 is missing, which no training row did"),
        ({}, {"v": [1.0, np.nan, 2.0]}, "contains NaN: column 'v' has 1 missing value.*row 1.*missing='column'"),
        ({"missing": "column"}, {"v": [1.0, np.nan, 2.0]}, "column 'v', row 1 is missing, which no training row was"),
        ({}, {"v": [1.0, 2.0, np.inf]}, "contains infinity: column 'v', row 2"),
        ({}, {"u": [0, 1, 3]}, r"column 'u', row 2 holds 3.0, but.*only 0 and 1.*thresholds=\{'u': \[1\]\}"),
        ({}, {"x": [1, 2, 3]}, "column 'x', row 0: 1 is a number, but the column held text"),
    ],
)
def test_values_nobody_prepared_for_are_errors_that_name_them(
    options: dict[str, Any], table: dict[str, Any], message: str
) -> None:
    train = pd.DataFrame({"x": ["a", "b", "c"], "v": [1.0, 2.0, 3.0], "u": [0, 1, 1]})
    plan = fit(train, **options)
    with pytest.raises(InvalidTableError, match=message):
        plan.apply(train.assign(**table))


def test_on_request_what_was_never_seen_is_zero() -> None:
    train = pd.DataFrame({"x": ["a", "b", "c"], "v": [1.0, 2.0, 3.0], "u": [0, 1, 1]})
    plan = fit(train, unseen="zero", missing="column")
    assert names(plan) == ["x = a", "x = b", "x = c", "v >= 2", "v >= 3", "u"]
    later = pd.DataFrame({"x": ["z", None, "b"], "v": [np.nan, 3.0, 9.0], "u": [7, 1, 0]})
    assert plan.apply(later).tolist() == [[0, 0, 0, 0, 0, 0], [0, 0, 0, 1, 1, 1], [0, 1, 0, 1, 1, 0]]


def test_levels_of_rows_that_do_not_count_are_unknown() -> None:
    X = pd.DataFrame({"x": ["a", "b", "c", "d"]})
    plan = fit(X, weights=[1, 1, 1, 0])
    assert names(plan) == ["x = a", "x = b", "x = c"]
    with pytest.raises(InvalidTableError, match="holds 'd'"):
        plan.apply(X)


def test_names_that_would_collide_are_refused() -> None:
    X = pd.DataFrame({"age": [1.0, 2.0], "age >= 2": [0, 1]})
    with pytest.raises(InvalidTableError, match="both be called 'age >= 2' \\(made of 'age', 'age >= 2'\\)"):
        fit(X)


def test_sparse_tables_give_the_columns_of_dense_ones() -> None:
    draw = np.random.default_rng(1)
    dense = np.where(draw.random((30, 3)) < 0.4, draw.normal(size=(30, 3)), 0.0)
    plan = fit(dense)
    for form in (scipy.sparse.csr_array, scipy.sparse.csc_array):
        assert fit(form(dense)) == plan
        np.testing.assert_array_equal(plan.apply(form(dense)), plan.apply(dense))


def test_a_description_can_be_written_as_json() -> None:
    column = BinaryColumn("town", "in", ("Oslo", "Rome"))
    assert column.to_dict() == {
        "name": "town in {Oslo, Rome}",
        "feature": "town",
        "operator": "in",
        "value": ["Oslo", "Rome"],
    }
