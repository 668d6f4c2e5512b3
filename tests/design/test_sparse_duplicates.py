"""Sparse rows collapse exactly like the dense rows they stand for, whatever the hash."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from surefoot.design.encode import duplicates
from surefoot.design.encode.duplicates import CollapsedRows, collapse_rows

Table = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


@st.composite
def tables(draw: st.DrawFn) -> Table:
    rows = draw(st.integers(0, 40))
    values = st.sampled_from([0.0, 0.0, 0.0, 1.0, 2.0, -1e300, 5e-324])
    numeric = draw(hnp.arrays(np.float64, (rows, draw(st.integers(0, 4))), elements=values))
    codes = draw(hnp.arrays(np.int32, (rows, draw(st.integers(0, 1))), elements=st.integers(0, 1)))
    labels = draw(hnp.arrays(np.float64, rows, elements=st.sampled_from([-1.0, 1.0])))
    weights = draw(hnp.arrays(np.float64, rows, elements=st.integers(0, 8).map(float)))
    return numeric, codes, labels, weights


def assert_same(found: CollapsedRows, wanted: CollapsedRows) -> None:
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(one, other)


@settings(deadline=None)
@given(tables())
def test_sparse_rows_collapse_like_dense_ones(table: Table) -> None:
    numeric, *rest = table
    assert_same(collapse_rows(scipy.sparse.csr_array(numeric), *rest), collapse_rows(numeric, *rest))


@pytest.mark.parametrize("buckets", [1, 2, 3])
@settings(max_examples=50, deadline=None)
@given(table=tables())
def test_sparse_collapse_is_exact_when_hashes_collide(buckets: int, table: Table) -> None:
    numeric, *rest = table
    wanted = collapse_rows(numeric, *rest)
    with pytest.MonkeyPatch.context() as patch:
        honest = duplicates._hashes
        patch.setattr(duplicates, "_hashes", lambda words: honest(words) % np.uint64(buckets))
        assert_same(collapse_rows(scipy.sparse.csr_array(numeric), *rest), wanted)


@pytest.mark.parametrize("block", [1, 3])
@settings(max_examples=30, deadline=None)
@given(table=tables())
def test_sparse_collapse_does_not_depend_on_the_block_size(block: int, table: Table) -> None:
    numeric, *rest = table
    wanted = collapse_rows(numeric, *rest)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(duplicates, "PARAMETERS", duplicates.DuplicateParameters(block_rows=block))
        assert_same(collapse_rows(scipy.sparse.csr_array(numeric), *rest), wanted)


def test_rows_with_the_same_values_in_other_columns_stay_apart() -> None:
    numeric = scipy.sparse.csr_array(np.array([[1.0, 2.0, 0.0], [2.0, 1.0, 0.0], [1.0, 0.0, 2.0], [1.0, 2.0, 0.0]]))
    found = collapse_rows(numeric, np.zeros((4, 0), dtype=np.int32), np.ones(4), np.arange(4.0))
    assert found.groups.tolist() == [0, 1, 2, 0]
    assert found.weights.tolist() == [3.0, 1.0, 2.0]


def test_wide_rows_collapse_without_becoming_dense(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = np.random.default_rng(0)
    where = draw.integers(0, 200_000, size=500 * 40)
    few = scipy.sparse.csr_array((draw.normal(size=where.size), where, np.arange(501) * 40), shape=(500, 200_000))
    few.sum_duplicates()
    pick = draw.integers(0, 500, size=20_000)
    many = few[pick]

    def refuse(*_: object, **__: object) -> None:
        raise MemoryError("a sparse table was made dense")

    monkeypatch.setattr(scipy.sparse.csr_array, "toarray", refuse)
    found = collapse_rows(many, np.zeros((20_000, 0), dtype=np.int32), np.ones(20_000), np.ones(20_000))
    assert found.representatives.size == np.unique(pick).size
    np.testing.assert_array_equal(found.weights, np.bincount(pick)[pick[found.representatives]])
