"""Prices of columns and weights of rows, in all the ways they can be given."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy import sparse

import surefoot as sf
from surefoot.design.encode.table_encoder import TableEncoder
from surefoot.robust.estimator.weights import ground_cost
from surefoot.sklearn_api.sample_weight import row_weights


def prices(table: Any, *, numeric: Any = None, categorical: Any = None, label: float = math.inf, **norm: Any) -> Any:
    design = TableEncoder().fit_encode(table)
    return ground_cost(design, row_weights(None, design.n_rows), numeric=numeric, categorical=categorical, label=label, **norm)


def test_by_default_a_standard_deviation_costs_one_and_so_does_a_category(survey: Any) -> None:
    cost = prices(survey.X)
    np.testing.assert_allclose(cost.numeric_weights, 1 / survey.X[["age", "income"]].std(ddof=0), rtol=1e-12)
    assert cost.categorical_weights.tolist() == [1.0, 1.0]
    assert cost.label_weight == math.inf


def test_the_default_weighs_rows() -> None:
    x = np.array([[0.0], [1.0], [5.0]])
    design = TableEncoder().fit_encode(x)
    weighted = ground_cost(design, row_weights([1, 2, 1], 3), numeric=None, categorical=None, label=1.0)
    repeated = prices(np.array([[0.0], [1.0], [1.0], [5.0]]))
    assert weighted.numeric_weights[0] == pytest.approx(repeated.numeric_weights[0], rel=1e-12)


@pytest.mark.parametrize("value", [0.0, 0.1, -7.3, 1e9])
def test_a_constant_column_has_weight_one(value: float) -> None:
    assert prices(np.full((7, 1), value)).numeric_weights.tolist() == [1.0]
    assert prices(sparse.csr_array(np.full((7, 1), value))).numeric_weights.tolist() == [1.0]


@given(
    arrays.arrays(np.float64, 12, elements=st.floats(-1, 1).map(lambda value: round(value, 6))),
    st.sampled_from([1e-300, 1e-9, 1.0, 1e9, 1e307]),
)
def test_the_default_is_positive_finite_and_follows_the_unit(values: np.ndarray, unit: float) -> None:
    plain = prices(values[:, None]).numeric_weights[0]
    scaled = prices(values[:, None] * unit).numeric_weights[0]
    assert 0 < scaled < math.inf
    if np.ptp(values) > 0:
        assert scaled * unit == pytest.approx(plain, rel=1e-6)


@given(
    arrays.arrays(np.float64, (9, 3), elements=st.sampled_from([0.0, 0.0, 1.0, -2.5, 1e9, 1e308, -1e308, 1e-300])),
    arrays.arrays(np.float64, 9, elements=st.floats(0.1, 5.0)),
)
def test_the_default_of_a_sparse_table_is_that_of_the_dense_one_zeros_included(values: np.ndarray, counts: np.ndarray) -> None:
    weights = row_weights(counts, 9)
    dense, found = (
        ground_cost(TableEncoder().fit_encode(table), weights, numeric=None, categorical=None, label=1.0).numeric_weights
        for table in (values, sparse.csc_array(values))
    )
    np.testing.assert_allclose(found, dense, rtol=1e-9)


def test_a_mean_far_from_zero_does_not_blur_the_spread() -> None:
    values = np.array([[0.0], [1.0]] * 5)
    assert prices(values + 1e9).numeric_weights[0] == pytest.approx(2.0, rel=1e-6)
    assert prices(sparse.csr_array(values + 1e9)).numeric_weights[0] == pytest.approx(2.0, rel=1e-6)


@pytest.mark.parametrize("given_weights", [{"age": 0.3, "income": 4.0}, [0.3, 4.0], np.array([0.3, 4.0]), (0.3, 4)])
def test_a_mapping_and_a_list_say_the_same(survey: Any, given_weights: Any) -> None:
    assert prices(survey.X, numeric=given_weights).numeric_weights.tolist() == [0.3, 4.0]


def test_a_number_is_the_price_of_every_column(survey: Any) -> None:
    cost = prices(survey.X, numeric=2, categorical=0.25, label=3.0)
    assert cost.numeric_weights.tolist() == [2.0, 2.0]
    assert cost.categorical_weights.tolist() == [0.25, 0.25]
    assert cost.label_weight == 3.0


def test_the_norm_is_l1_unless_another_is_named(survey: Any) -> None:
    assert prices(survey.X).numeric_norm == "l1"
    assert prices(survey.X, norm="l2").numeric_norm == "l2"


def test_columns_that_a_mapping_leaves_out_keep_the_default(survey: Any) -> None:
    cost = prices(survey.X, numeric={"income": 9.0}, categorical={"member": math.inf})
    assert cost.numeric_weights[0] == pytest.approx(1 / survey.X["age"].std(ddof=0))
    assert cost.numeric_weights[1] == 9.0
    assert cost.categorical_weights.tolist() == [1.0, math.inf]


@pytest.mark.parametrize("key", [1, "x1", np.int64(1)])
def test_columns_of_an_array_are_named_by_position(key: Any) -> None:
    x = np.arange(12.0).reshape(6, 2)
    assert prices(x, numeric={key: 5.0}).numeric_weights[1] == 5.0


@pytest.mark.parametrize(
    ("numeric", "categorical", "message"),
    [
        ({"age": 0.0}, None, "numeric_weights of column 'age' is 0.0, but a weight must be positive"),
        ([1.0, -1.0], None, "numeric_weights of column 'income' is -1.0, but a weight must be positive"),
        (math.nan, None, "numeric_weights of every column is nan, but a weight must be positive"),
        (0, None, "numeric_weights of every column is 0.0"),
        (None, {"channel": math.nan}, "categorical_weights of column 'channel' is nan"),
        (None, {"colour": 1.0}, "categorical_weights names column 'colour', but the columns are 'age', 'channel'"),
        (None, {"age": 1.0}, "categorical_weights names column 'age', which is numeric. Its weight belongs in numeric_weights"),
        ({"channel": 1.0}, None, "numeric_weights names column 'channel', which is categorical"),
        ([1.0], None, "numeric_weights holds 1 weights, but the table has 2 numeric columns: 'age', 'income'"),
        (None, [1.0, 2.0, 3.0], "categorical_weights holds 3 weights, but the table has 2 categorical columns"),
        ("high", None, "numeric_weights = 'high' is not understood"),
        ({"age": "high"}, None, "numeric_weights of column 'age' is 'high', which is not a number"),
        ({7: 1.0}, None, "numeric_weights names column 7"),
    ],
)
def test_prices_without_meaning_are_refused_by_column(survey: Any, numeric: Any, categorical: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        sf.RobustLogisticRegression(numeric_weights=numeric, categorical_weights=categorical).fit(survey.X, survey.y)


def test_row_weights_sum_to_one_and_keep_their_ratios() -> None:
    weights = row_weights([1e308, 5e307, 0.0], 3)
    assert weights.tolist() == pytest.approx([2 / 3, 1 / 3, 0.0])
    assert row_weights(None, 4).tolist() == row_weights(17, 4).tolist() == [0.25] * 4
