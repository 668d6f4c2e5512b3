"""Sparse tables: the same values as dense ones through every format, and never made dense."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy import sparse

from surefoot.design.encode.table_encoder import TableEncoder
from surefoot.design.read.table import read_table
from surefoot.exceptions import InvalidTableError

FORMATS = ["csr", "csc", "coo", "bsr", "lil", "dok", "dia"]
TABLE = np.array([[0.0, 1.5, 0.0], [-2.0, 0.0, 0.0], [0.0, 0.0, 0.0], [3.0, 4.0, 0.0]])


def assert_canonical(found: Any, expected: np.ndarray) -> None:
    assert isinstance(found, sparse.csr_array) and found.dtype == np.float64
    assert found.has_canonical_format
    assert found.data.all()
    np.testing.assert_array_equal(found.toarray(), expected)


@pytest.mark.parametrize("fmt", FORMATS)
@pytest.mark.parametrize("kind", ["array", "matrix"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int8])
def test_every_format_is_encoded_alike(fmt: str, kind: str, dtype: Any) -> None:
    values = TABLE.astype(dtype)
    design = TableEncoder().fit_encode(getattr(sparse, f"{fmt}_{kind}")(values))
    assert_canonical(design.numeric, values.astype(np.float64))
    assert design.codes.shape == (4, 0)
    assert design.schema == TableEncoder().fit(values)
    assert_canonical(design.take(np.array([3, 0])).numeric, values[[3, 0]].astype(np.float64))


def test_repeated_and_stored_zero_entries_become_one_value_and_the_callers_matrix_stays() -> None:
    given = sparse.csr_matrix((np.array([1.0, 2.0, 0.0, 4.0]), np.array([2, 2, 0, 1]), np.array([0, 3, 4])), shape=(2, 3))
    before = [part.copy() for part in (given.data, given.indices, given.indptr)]
    assert_canonical(read_table(given).numbers([0, 1, 2]), np.array([[0.0, 0.0, 3.0], [0.0, 4.0, 0.0]]))
    for part, old in zip((given.data, given.indices, given.indptr), before, strict=True):
        np.testing.assert_array_equal(part, old)


def test_a_canonical_array_is_not_copied() -> None:
    given = sparse.csr_array(TABLE)
    assert np.shares_memory(TableEncoder().fit_encode(given).numeric.data, given.data)


def test_a_wide_table_is_encoded_without_being_made_dense(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = np.random.default_rng(0)
    places = np.sort(draw.choice(200_000, size=(300, 40)), axis=1).ravel()
    wide = sparse.csr_array((draw.normal(size=places.size), places, np.arange(301) * 40), shape=(300, 200_000))

    def refuse(*_: object, **__: object) -> None:
        raise MemoryError("a sparse table was made dense")

    for name in ("toarray", "todense", "__array__"):
        monkeypatch.setattr(sparse.csr_array, name, refuse, raising=False)
        monkeypatch.setattr(sparse.csc_array, name, refuse, raising=False)
    encoder = TableEncoder(missing_numeric="median")
    design = encoder.fit_encode(wide)
    assert design.numeric.shape == (300, 200_000)
    assert encoder.encode(wide.tocsc()).numeric.nnz == design.numeric.nnz


def test_chosen_columns_of_a_sparse_table_become_categories_and_the_others_stay_sparse() -> None:
    encoder = TableEncoder(categorical_features=[1])
    design = encoder.fit_encode(sparse.coo_array(TABLE))
    assert_canonical(design.numeric, TABLE[:, [0, 2]])
    assert design.schema.columns[1].levels == (0.0, 1.5, 4.0)
    assert design.codes[:, 0].tolist() == [1, 0, 0, 2]
    assert TableEncoder(categorical_features=[0, 1, 2]).fit_encode(sparse.csr_array(TABLE)).numeric.shape == (4, 0)
    # The same table may come dense or sparse, in training and later.
    np.testing.assert_array_equal(encoder.encode(TABLE).numeric, TABLE[:, [0, 2]])
    assert_canonical(TableEncoder.from_schema(TableEncoder().fit(TABLE)).encode(sparse.csc_array(TABLE)).numeric, TABLE)


@pytest.mark.parametrize("fmt", ["csr", "csc", "coo"])
def test_stored_gaps_and_infinities_are_refused_with_column_and_row(fmt: str) -> None:
    gappy = TABLE.copy()
    gappy[[1, 3], 1] = np.nan
    gappy[0, 2] = np.nan
    message = r"Input X contains NaN: column 1 has 2 missing value\(s\), the first in row 1\. .*missing_numeric='median'"
    with pytest.raises(InvalidTableError, match=message):
        TableEncoder().fit(sparse.csr_array(gappy).asformat(fmt))
    gappy[2, 1] = -np.inf
    for policy in ("error", "median"):
        with pytest.raises(InvalidTableError, match="Input X contains infinity: column 1, row 2 holds -inf"):
            TableEncoder(missing_numeric=policy).fit(sparse.csr_array(gappy).asformat(fmt))


def test_a_message_names_the_column_of_the_table_and_not_of_the_numeric_block() -> None:
    gappy = TABLE.copy()
    gappy[2, 2] = np.nan
    with pytest.raises(InvalidTableError, match="column 2 has 1 missing value"):
        TableEncoder(categorical_features=[0]).fit(sparse.csr_array(gappy))


@given(
    arrays.arrays(np.float64, (7, 3), elements=st.sampled_from([0.0, 0.0, 1.0, -2.5, np.nan])),
    st.one_of(st.none(), arrays.arrays(np.float64, 7, elements=st.sampled_from([0.0, 0.1, 1.0, 3.0]))),
)
def test_gaps_are_filled_with_the_median_of_all_values_zeros_included(values: np.ndarray, weights: np.ndarray | None) -> None:
    encoder = TableEncoder(missing_numeric="median")
    try:
        dense = encoder.fit_encode(values, weights)
    except InvalidTableError as error:
        with pytest.raises(InvalidTableError, match=str(error)[:20]):
            encoder.fit_encode(sparse.csr_array(values), weights)
        return
    before = sparse.csc_array(values)
    found = encoder.fit_encode(before, weights)
    assert found.schema == dense.schema
    assert_canonical(found.numeric, dense.numeric)
    np.testing.assert_array_equal(before.toarray(), values)


@pytest.mark.parametrize(
    ("indices", "indptr"), [([0, 5], [0, 1, 2]), ([0, -1], [0, 1, 2]), ([0, 1], [0, 2, 1]), ([0, 1], [1, 1, 2])]
)
@pytest.mark.parametrize("container", [sparse.csr_array, sparse.csc_matrix])
def test_index_arrays_that_do_not_fit_the_shape_are_refused(container: Any, indices: list[int], indptr: list[int]) -> None:
    broken = container(np.eye(2))
    broken.indices, broken.indptr = np.array(indices, dtype=np.int32), np.array(indptr, dtype=np.int32)
    with pytest.raises(InvalidTableError, match=f"X is not a sound sparse matrix of format {broken.format}"):
        TableEncoder().fit(broken)


def test_another_number_of_columns_than_in_training_is_refused() -> None:
    encoder = TableEncoder()
    encoder.fit(sparse.csr_array(TABLE))
    with pytest.raises(InvalidTableError, match="X has 2 features, but TableEncoder is expecting 3 features"):
        encoder.encode(sparse.csr_array(TABLE[:, :2]))
