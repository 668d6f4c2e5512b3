"""Equal rows collapse, different rows never do, whatever the hash."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from surefoot.design.encode import duplicates
from surefoot.design.encode.duplicates import CollapsedRows, collapse_rows

SMALL_FLOATS = st.sampled_from([0.0, -0.0, 1.0, 2.0, 0.5, -1e300, 5e-324])


@st.composite
def tables(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    rows = draw(st.integers(1, 40))
    numeric = draw(hnp.arrays(np.float64, (rows, draw(st.integers(0, 2))), elements=SMALL_FLOATS))
    codes = draw(hnp.arrays(np.int32, (rows, draw(st.integers(0, 2))), elements=st.integers(0, 2)))
    labels = draw(hnp.arrays(np.float64, rows, elements=st.sampled_from([-1.0, 1.0])))
    weights = draw(hnp.arrays(np.float64, rows, elements=st.integers(0, 8).map(float)))
    return numeric, codes, labels, weights


def expected(numeric: np.ndarray, codes: np.ndarray, labels: np.ndarray, weights: np.ndarray) -> CollapsedRows:
    """The same by a dictionary of rows; Python's floats compare -0.0 and 0.0 equal."""
    groups: dict[tuple[object, ...], int] = {}
    representatives: list[int] = []
    index, sums = [], []
    for row, values in enumerate(zip(numeric.tolist(), codes.tolist(), labels.tolist(), strict=True)):
        key = (*values[0], *values[1], values[2])
        if key not in groups:
            groups[key] = len(groups)
            representatives.append(row)
            sums.append(0.0)
        index.append(groups[key])
        sums[groups[key]] += weights[row]
    return CollapsedRows(np.array(representatives), np.array(index), np.array(sums))


def assert_same(found: CollapsedRows, wanted: CollapsedRows) -> None:
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(one, other)


@settings(deadline=None)
@given(tables())
def test_collapse_agrees_with_a_dictionary_of_rows(table: tuple[np.ndarray, ...]) -> None:
    assert_same(collapse_rows(*table), expected(*table))


@settings(deadline=None)
@given(tables())
def test_collapsed_rows_and_weights_give_the_same_weighted_sums(table: tuple[np.ndarray, ...]) -> None:
    numeric, codes, labels, weights = table
    found = collapse_rows(*table)
    assert found.weights.sum() == weights.sum()
    np.testing.assert_array_equal(numeric[found.representatives][found.groups], numeric)
    np.testing.assert_array_equal(codes[found.representatives][found.groups], codes)
    np.testing.assert_array_equal(labels[found.representatives][found.groups], labels)


@pytest.mark.parametrize("buckets", [1, 2, 3])
@settings(max_examples=50, deadline=None)
@given(table=tables())
def test_collapse_is_exact_when_hashes_collide(buckets: int, table: tuple[np.ndarray, ...]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        honest = duplicates._hashes
        patch.setattr(duplicates, "_hashes", lambda words: honest(words) % np.uint64(buckets))
        assert_same(collapse_rows(*table), expected(*table))


@pytest.mark.parametrize("block", [1, 3])
@settings(max_examples=30, deadline=None)
@given(table=tables())
def test_collapse_does_not_depend_on_the_block_size(block: int, table: tuple[np.ndarray, ...]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(duplicates, "PARAMETERS", duplicates.DuplicateParameters(block_rows=block))
        assert_same(collapse_rows(*table), expected(*table))


def test_distinct_rows_stay_as_they_are() -> None:
    rng = np.random.default_rng(0)
    numeric, codes = rng.normal(size=(20_000, 3)), rng.integers(0, 2, (20_000, 2), dtype=np.int32)
    weights = rng.random(20_000)
    found = collapse_rows(numeric, codes, np.ones(20_000), weights)
    assert_same(found, CollapsedRows(np.arange(20_000), np.arange(20_000), weights))


def test_many_equal_rows_over_several_blocks_collapse() -> None:
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, (50_000, 4), dtype=np.int32)
    found = collapse_rows(np.empty((50_000, 0)), codes, np.ones(50_000), np.full(50_000, 0.5))
    assert found.representatives.size == 81
    assert found.weights.sum() == 25_000
    assert np.all(np.diff(found.representatives) > 0)


def test_hashes_of_small_integers_do_not_collide() -> None:
    grid = np.stack(np.meshgrid(*[np.arange(16.0)] * 4), axis=-1).reshape(-1, 4)
    words = duplicates._bits(grid, np.empty((len(grid), 0), dtype=np.int32), np.ones(len(grid)))
    assert np.unique(duplicates._hashes(words)).size == 16**4


def test_the_arrays_are_left_alone() -> None:
    numeric = np.array([[-0.0], [0.0]])
    weights = np.array([1.0, 2.0])
    found = collapse_rows(numeric, np.zeros((2, 0), dtype=np.int32), np.ones(2), weights)
    assert found.weights.tolist() == [3.0]
    assert np.signbit(numeric[0, 0]) and weights.tolist() == [1.0, 2.0]


def test_arrays_of_different_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match="same number of rows"):
        collapse_rows(np.zeros((2, 1)), np.zeros((3, 1), dtype=np.int32), np.ones(3), np.ones(3))
