"""The one door: what is a table, and what is refused before any value is interpreted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from surefoot.design.read.table import read_table
from surefoot.exceptions import InvalidTableError, SurefootError

NUMBERS = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]


class ArrayLike:
    """Something that is no array but can become one."""

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return np.array(NUMBERS, dtype=dtype)


@pytest.mark.parametrize(
    "X",
    [
        np.array(NUMBERS),
        np.asfortranarray(NUMBERS),
        np.array(NUMBERS, dtype=np.float32),
        np.array(NUMBERS, dtype=np.uint8),
        np.array(NUMBERS, dtype=">f8"),
        np.array(NUMBERS, dtype=np.longdouble),
        np.array(NUMBERS, dtype=object),
        np.array(NUMBERS).repeat(2, axis=0)[::2],
        np.ma.MaskedArray(NUMBERS),
        NUMBERS,
        tuple(map(tuple, NUMBERS)),
        [np.array(row) for row in NUMBERS],
        ArrayLike(),
        sparse.csr_array(NUMBERS),
        sparse.csc_matrix(np.array(NUMBERS, dtype=np.int64)),
        sparse.coo_array(np.array(NUMBERS, dtype=np.float32)),
        pd.DataFrame(NUMBERS),
        pd.DataFrame(NUMBERS, columns=["a", "b"]).astype(pd.SparseDtype(float)),
        pd.DataFrame(NUMBERS, columns=["a", "b"]).astype("Int64"),
        pd.DataFrame(NUMBERS, columns=["a", "b"]).astype("double[pyarrow]"),
        pl.DataFrame(NUMBERS, schema=["a", "b"], orient="row"),
        pl.DataFrame(NUMBERS, schema=["a", "b"], orient="row").cast(pl.Decimal(10, 2)),
        pa.table({"a": [1, 3, 5], "b": pa.array([2, 4, 6], pa.float32())}),
        pa.RecordBatch.from_pydict({"a": [1, 3, 5], "b": [2.0, 4.0, 6.0]}),
    ],
    ids=lambda X: f"{type(X).__module__}.{type(X).__name__}",
)
def test_numbers_come_through_every_door_alike(X: Any) -> None:
    table = read_table(X)
    assert [column.natural_kind() for column in table.columns] == ["numeric", "numeric"]
    block, last = table.numbers([0, 1]), table.numbers([1])
    assert sparse.issparse(block) == sparse.issparse(X)
    if sparse.issparse(X):
        block, last = block.toarray(), last.toarray()
    assert block.dtype == np.float64 and block.flags.c_contiguous
    np.testing.assert_array_equal(block, NUMBERS)
    np.testing.assert_array_equal(last, np.array(NUMBERS)[:, 1:])
    np.testing.assert_array_equal(table.columns[1].numbers(), np.array(NUMBERS)[:, 1])


@pytest.mark.skipif(not hasattr(pl, "Int128"), reason="this release of polars has no integers of 128 bits")
def test_integers_of_128_bits_are_numbers_too() -> None:
    table = read_table(pl.DataFrame({"a": pl.Series([2**80, None, 1], dtype=pl.Int128)}))
    np.testing.assert_array_equal(table.numbers([0]), [[2.0**80], [np.nan], [1.0]])
    assert set(table.columns[0].categories().values) == {2**80, 1}


def test_a_table_that_was_read_is_handed_on() -> None:
    table = read_table(NUMBERS)
    assert read_table(table) is table


def test_a_contiguous_float_array_is_not_copied() -> None:
    X = np.array(NUMBERS)
    assert np.shares_memory(read_table(X).numbers([0, 1]), X)


@pytest.mark.parametrize(
    ("X", "names", "named"),
    [
        (np.array(NUMBERS), ("x0", "x1"), False),
        (pd.DataFrame(NUMBERS), ("0", "1"), False),
        (pd.DataFrame(NUMBERS, columns=["b", "a"]), ("b", "a"), True),
        (pd.DataFrame(NUMBERS, columns=["b", 1]), ("b", "1"), False),
        (pl.DataFrame({"b": [1], "a": [2]}), ("b", "a"), True),
        (pa.table({"b": [1], "a": [2]}), ("b", "a"), True),
    ],
    ids=["array", "pandas positions", "pandas", "pandas mixed", "polars", "pyarrow"],
)
def test_names_are_those_of_the_table(X: Any, names: tuple[str, ...], named: bool) -> None:
    table = read_table(X)
    assert (table.names, table.named) == (names, named)


def test_masked_entries_are_missing_and_not_what_lies_under_the_mask() -> None:
    masked = np.ma.MaskedArray([[1, 2], [3, 4]], mask=[[0, 1], [0, 0]])
    np.testing.assert_array_equal(read_table(masked).numbers([0, 1]), [[1.0, np.nan], [3.0, 4.0]])
    text = np.ma.MaskedArray([["a"], ["b"]], mask=[[1], [0]])
    assert read_table(text).columns[0].categories().codes.tolist() == [-1, 0]


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.zeros((0, 3)), r"Found array with 0 sample\(s\) \(shape=\(0, 3\)\) while a minimum of 1 is required\."),
        (np.zeros((4, 0)), r"Found array with 0 feature\(s\) \(shape=\(4, 0\)\) while a minimum of 1 is required\."),
        (pd.DataFrame({"a": []}), r"0 sample\(s\) \(shape=\(0, 1\)\)"),
        (pd.DataFrame(index=[0, 1]), r"0 feature\(s\) \(shape=\(2, 0\)\)"),
        (pa.table({"a": pa.array([], pa.float64())}), r"0 sample\(s\)"),
        (sparse.csr_array((0, 3)), r"0 sample\(s\)"),
        (sparse.csr_array((4, 0)), r"0 feature\(s\)"),
        (np.ones(3), r"Expected 2D array, got 1D array instead:[\s\S]*Reshape your data"),
        ([1.0, 2.0], r"Expected 2D array, got 1D array instead:[\s\S]*Reshape your data"),
        (pd.Series([1.0]), "Expected 2D array, got 1D array instead"),
        (pl.Series([1.0]), "Expected 2D array, got 1D array instead"),
        (np.float64(3), "Expected 2D array, got scalar array instead"),
        (np.ones((2, 2, 2)), "Found array with dim 3, while dim <= 2 is required"),
        ([[1, 2], [3]], "row 0 has 2 values, row 1 has not"),
        ([[1, 2], 3], "row 0 has 2 values, row 1 has not"),
        ({"a": [1]}, "X is a dict, not a table"),
        ("table.csv", "X is a str, not a table"),
        (None, "X of type NoneType is not a table"),
        (iter([[1]]), "is not a table"),
        (pl.LazyFrame({"a": [1]}), "lazy table"),
        (np.ones((2, 2), dtype=complex), "Complex data not supported: column 0"),
        (pd.DataFrame({"a": [1j]}), "Complex data not supported: column 'a'"),
        (sparse.csr_array(np.ones((2, 2), dtype=complex)), "Complex data not supported"),
        (np.array([["2020-01-01"]], dtype="datetime64[D]"), "column 0 holds dates or times"),
        (np.array([[b"a"]]), "neither number nor category"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "must be unique, but these repeat: 'a'"),
        (pd.DataFrame([[1, 2]], columns=["1", 1]), "must be unique, but these repeat: '1'"),
        (pa.table([pa.array([1]), pa.array([2])], names=["a", "a"]), "must be unique, but these repeat: 'a'"),
        (pl.DataFrame({"ok": [1], "a": [[1]]}), r"column 'a' has type List\(Int64\)"),
        (pl.DataFrame({"a": [b"x"]}), "column 'a'.*(type Binary|not 'bytes')"),
        (pl.DataFrame({"a": [{"x": 1}]}), "column 'a' has type Struct"),
    ],
)
def test_what_is_no_table_is_refused_with_a_reason(X: Any, message: str) -> None:
    with pytest.raises(InvalidTableError, match=message) as caught:
        [column.natural_kind() for column in read_table(X).columns]
    assert isinstance(caught.value, SurefootError) and isinstance(caught.value, ValueError)


def test_a_sparse_array_of_one_dimension_is_refused() -> None:
    X = sparse.coo_array(np.ones(3))
    if X.ndim == 2:
        pytest.skip("this release of scipy makes a row of it")
    with pytest.raises(InvalidTableError, match="Expected 2D array, got 1D sparse array"):
        read_table(X)


def test_identifiers_beyond_the_precision_of_floats_stay_apart_next_to_gaps() -> None:
    big = 2**60
    for frame in (
        pl.DataFrame({"id": [big, None, big + 1]}),
        pa.table({"id": [big, None, big + 1]}),
        pd.DataFrame({"id": pd.array([big, None, big + 1], dtype="Int64")}),
    ):
        reading = read_table(frame).columns[0].categories()
        assert reading.values == (big, big + 1)
        assert reading.codes.tolist() == [0, -1, 1]
