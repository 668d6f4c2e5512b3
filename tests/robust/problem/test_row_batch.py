"""Parts of a table are checked like a table, and their column moments join to those of the table."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from itertools import pairwise
from operator import add

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from surefoot.robust.problem.column_moments import batch_sums
from surefoot.robust.problem.ground_cost import GroundCost
from surefoot.robust.problem.row_batch import RowBatch
from surefoot.robust.problem.terms import Terms

TERMS = Terms(np.array([3], dtype=np.int32), GroundCost(np.ones(2), np.ones(1)), 0.1, True)


def make_batch(**changes):
    parts = {
        "numeric": np.arange(8.0).reshape(4, 2),
        "codes": np.array([[0], [1], [2], [0]]),
        "labels": np.array([1.0, -1.0, 1.0, 1.0]),
        "weights": np.array([2.0, 0.0, 5.0, 1.0]),
        "first_row": 100,
    }
    return RowBatch(**{**parts, **changes})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"numeric": np.array([[0.0, 1.0], [2.0, np.nan], [0.0, 0.0], [0.0, 0.0]])}, "numeric column 1 holds nan in row 101"),
        ({"numeric": scipy.sparse.csr_array(np.diag([1.0, np.inf, 1.0, 1.0]))}, "numeric column 1 holds inf in row 101"),
        ({"labels": np.array([1.0, 0.0, 1.0, 1.0])}, r"labels\[101\] = 0.0"),
        ({"weights": np.array([1.0, 1.0, -2.0, 1.0])}, r"weights\[102\] = -2.0"),
        ({"weights": np.array([1.0, 1.0, np.inf, 1.0])}, r"weights\[102\] = inf"),
        ({"weights": np.ones(3)}, "same number of rows"),
        ({"codes": np.array([[0.5], [1], [2], [0]])}, "not a whole number"),
        ({"labels": np.ones((4, 1))}, "labels has shape"),
    ],
)
def test_a_batch_that_breaks_the_conventions_names_the_row_of_the_whole_table(changes, message):
    with pytest.raises(ValueError, match=message):
        make_batch(**changes)


def test_terms_that_do_not_fit_are_refused():
    assert make_batch().under(TERMS).n_rows == 4
    with pytest.raises(ValueError, match="code 3 in row 102"):
        make_batch(codes=np.array([[0], [1], [3], [0]])).under(TERMS)
    with pytest.raises(ValueError, match="3 numeric columns, but the problem has 2"):
        make_batch(numeric=np.ones((4, 3))).under(TERMS)


@given(st.integers(0, 10_000), st.lists(st.integers(0, 30), min_size=1, max_size=4), st.booleans())
def test_moments_of_parts_join_to_those_of_the_whole(seed, cuts, sparse):
    draw = np.random.default_rng(seed)
    numeric = np.column_stack((draw.normal(size=30), 1e9 + draw.normal(scale=1e-3, size=30), np.full(30, 2.5)))
    if sparse:
        numeric = draw.normal(size=(30, 3)) * (draw.random((30, 3)) < 0.4)
    weights = draw.integers(0, 3, 30).astype(float)
    weights[0] = 1.0
    labels = np.where(draw.random(30) > 0.5, 1.0, -1.0)
    whole = RowBatch(scipy.sparse.csr_array(numeric) if sparse else numeric, draw.integers(0, 3, (30, 1)), labels, weights)
    edges = [0, *sorted(cuts), 30]
    parts = [whole.take(np.arange(a, b)) for a, b in pairwise(edges)]
    joined = reduce(add, (batch_sums(part, TERMS.n_levels) for part in parts))
    moments, held = joined.all_rows, weights > 0
    shares = weights[held] / weights.sum()
    # Exact arithmetic on the deviations from a value of the column itself.
    apart = numeric[held] - numeric[held][0]
    mean = shares @ apart
    assert moments.weight == pytest.approx(weights.sum())
    np.testing.assert_allclose(moments.mean_from(numeric[held][0]), mean, rtol=1e-9, atol=1e-14)
    spread = np.sqrt(shares @ np.square(apart - mean))
    np.testing.assert_allclose(moments.spread, spread, rtol=1e-9, atol=1e-14)
    np.testing.assert_array_equal(moments.low, numeric[held].min(axis=0))
    np.testing.assert_array_equal(moments.high, numeric[held].max(axis=0))
    assert joined.n_rows == held.sum()
    counted = np.bincount(whole.codes[:, 0], weights=weights, minlength=3)
    np.testing.assert_allclose(joined.positive_levels + joined.negative_levels, counted)
    assert joined.positive.weight == pytest.approx(weights[labels > 0].sum())


def test_huge_columns_do_not_overflow():
    sums = batch_sums(make_batch(numeric=1e200 * np.arange(8.0).reshape(4, 2)), TERMS.n_levels)
    assert np.isfinite((sums + sums).all_rows.spread).all()
    assert replace(make_batch(), first_row=3).first_row == 3
