from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse
from problem_bank import draw_problem

import surefoot as sf
from surefoot.robust.problem.numeric_columns import (
    as_dense,
    as_numeric_columns,
    column_sizes,
    in_less_memory,
    most_terms,
    require_sound_columns,
)
from surefoot.robust.problem.problem import RobustLogisticProblem

TABLE = np.array([[0.0, 2.5, 0.0], [-1.0, 0.0, 4.0], [0.0, 0.0, 0.0], [3.0, -7.0, 1.0]])


@pytest.fixture
def problem() -> RobustLogisticProblem:
    return draw_problem(3, rows=12, numeric=4, levels=(2,), density=0.5)


@pytest.mark.parametrize("format", ["csr", "csc", "coo", "lil", "dok", "dia", "bsr"])
@pytest.mark.parametrize("kind", [scipy.sparse.coo_array, scipy.sparse.coo_matrix])
def test_every_sparse_format_becomes_the_same_canonical_array(format, kind):
    columns = as_numeric_columns(kind(TABLE).asformat(format))
    assert isinstance(columns, scipy.sparse.csr_array)
    np.testing.assert_array_equal(columns.toarray(), TABLE)
    np.testing.assert_array_equal(columns.data, [2.5, -1.0, 4.0, 3.0, -7.0, 1.0])
    np.testing.assert_array_equal(columns.indices, [1, 0, 2, 0, 1, 2])
    np.testing.assert_array_equal(columns.indptr, [0, 1, 3, 3, 6])


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.float32, np.bool_])
def test_real_entries_of_any_type_become_floats(dtype):
    columns = as_numeric_columns(scipy.sparse.csr_array(TABLE.astype(dtype)))
    assert columns.data.dtype == np.float64
    np.testing.assert_array_equal(columns.toarray(), TABLE.astype(dtype).astype(float))


def test_unsorted_duplicate_and_zero_entries_are_brought_into_order_and_the_given_matrix_is_left_alone():
    parts = np.array([1.0, 2.0, 3.0, 0.0, -0.0]), np.array([2, 0, 2, 1, 1]), np.array([0, 4, 5])
    given = scipy.sparse.csr_array(tuple(part.copy() for part in parts), shape=(2, 3))
    columns = as_numeric_columns(given)
    np.testing.assert_array_equal(columns.toarray(), [[2.0, 0.0, 4.0], [0.0, 0.0, 0.0]])
    np.testing.assert_array_equal(columns.indices, [0, 2])
    for part, array in zip(parts, (given.data, given.indices, given.indptr), strict=True):
        np.testing.assert_array_equal(array, part)


def test_room_that_was_never_filled_is_cut_off():
    given = scipy.sparse.csr_array((np.array([1.0, 9.0, 9.0]), np.array([0, 1, 2]), np.array([0, 1, 1])), shape=(2, 3))
    columns = as_numeric_columns(given)
    assert columns.data.tolist() == [1.0] and columns.indices.tolist() == [0]


def test_a_canonical_matrix_is_not_copied():
    given = scipy.sparse.csr_array(TABLE)
    assert np.shares_memory(as_numeric_columns(given).data, given.data)


def test_flags_of_the_given_matrix_that_have_grown_old_are_not_believed():
    given = scipy.sparse.csr_array(TABLE)
    assert given.has_canonical_format
    given.indices[-3:] = [2, 2, 0]
    np.testing.assert_array_equal(as_numeric_columns(given).toarray()[3], [1.0, 0.0, -4.0])


@pytest.mark.parametrize(
    ("part", "at", "value", "message"),
    [
        ("indices", 3, 3, "row 3 names column 3, but there are 3"),
        ("indices", 0, -1, "row 0 names column -1"),
        ("indptr", 2, 0, "do not ascend"),
        ("indptr", 4, 7, "do not ascend"),
        ("indptr", 0, 1, "do not ascend"),
    ],
)
def test_indices_outside_the_table_are_refused(part, at, value, message):
    given = scipy.sparse.csr_array(TABLE)
    getattr(given, part)[at] = value
    with pytest.raises(ValueError, match=message):
        as_numeric_columns(given)


def test_complex_entries_are_refused():
    with pytest.raises(ValueError, match="complex128 entries"):
        as_numeric_columns(scipy.sparse.csr_array(TABLE * 1j))


@pytest.mark.skipif(scipy.sparse.coo_array(np.ones(2)).ndim == 2, reason="this scipy has no sparse vectors")
def test_sparse_vectors_are_refused():
    with pytest.raises(ValueError, match=r"shape \(4,\)"):
        as_numeric_columns(scipy.sparse.coo_array(TABLE[:, 0]))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_named_by_column_and_row(problem, value):
    numeric = problem.numeric.copy()
    at = numeric.indptr[7]
    numeric.data[at] = value
    message = f"numeric column {numeric.indices[at]} holds {value} in row 7; it must be finite"
    with pytest.raises(ValueError, match=message):
        replace(problem, numeric=numeric)
    problem.numeric.data[at] = value
    with pytest.raises(ValueError, match=message):
        problem.check()


def test_an_empty_row_before_the_entry_does_not_shift_its_row_number():
    table = TABLE.copy()
    table[3, 0] = np.nan
    with pytest.raises(ValueError, match="numeric column 0 holds nan in row 3"):
        require_sound_columns(as_numeric_columns(scipy.sparse.csr_array(table)))


@pytest.mark.parametrize("change", ["swapped", "doubled"])
def test_indices_put_out_of_order_afterwards_are_refused(change):
    columns = as_numeric_columns(scipy.sparse.csr_array(TABLE))
    columns.indices[3:5] = [1, 0] if change == "swapped" else [1, 1]
    with pytest.raises(ValueError, match="row 3 of the sparse numeric columns do not ascend"):
        require_sound_columns(columns)
    columns.indices[3:5] = [0, 5]
    with pytest.raises(ValueError, match="row 3 names column 5"):
        require_sound_columns(columns)


def test_columns_may_start_over_in_the_next_row():
    table = np.array([[0.0, 0.0, 1.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    require_sound_columns(as_numeric_columns(scipy.sparse.csr_array(table)))
    require_sound_columns(as_numeric_columns(scipy.sparse.csr_array((0, 3))))


def test_sizes_and_terms_are_those_of_the_dense_table():
    sparse = as_numeric_columns(scipy.sparse.csc_array(TABLE))
    np.testing.assert_array_equal(column_sizes(sparse), [3.0, 7.0, 4.0])
    np.testing.assert_array_equal(column_sizes(TABLE), [3.0, 7.0, 4.0])
    assert (most_terms(sparse), most_terms(TABLE)) == (3, 3)
    assert most_terms(sparse[:3]) == 2
    assert (most_terms(scipy.sparse.csr_array((0, 3))), column_sizes(np.zeros((0, 2))).tolist()) == (0, [0.0, 0.0])
    np.testing.assert_array_equal(as_dense(sparse), as_dense(TABLE))


def test_problem_knows_that_it_is_sparse_and_survives_a_journey(problem):
    dense = replace(problem, numeric=problem.numeric.toarray())
    assert problem.is_sparse and not dense.is_sparse
    assert (problem.n_rows, problem.n_numeric) == (dense.n_rows, dense.n_numeric) == (12, 4)
    back = pickle.loads(pickle.dumps(problem))
    assert back.is_sparse and back.digest() == problem.digest()


def test_digest_of_sparse_columns_depends_on_the_table_and_not_on_how_it_was_given(problem):
    for given in (problem.numeric.tocsc(), problem.numeric.tocoo(), scipy.sparse.lil_matrix(problem.numeric)):
        assert replace(problem, numeric=given).digest() == problem.digest()
    wide = problem.numeric.copy()
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    assert replace(problem, numeric=wide).digest() == problem.digest()
    table = problem.numeric.toarray()
    value, column, row = (table.copy() for _ in range(3))
    value[np.nonzero(table)[0][0], np.nonzero(table)[1][0]] *= 1 + 1e-15
    column[:, [0, 1]] = table[:, [1, 0]]
    row[[0, 1]] = table[[1, 0]]
    digests = {replace(problem, numeric=scipy.sparse.csr_array(other)).digest() for other in (value, column, row)}
    assert len({problem.digest(), replace(problem, numeric=table).digest(), *digests}) == 5


def test_shapes_that_do_not_belong_together_are_refused(problem):
    with pytest.raises(ValueError, match="numeric has 11"):
        replace(problem, numeric=problem.numeric[:11])
    with pytest.raises(ValueError, match="numeric_weights has 4 entries, but the table has 3"):
        replace(problem, numeric=problem.numeric[:, :3])


def test_sparse_columns_become_dense_where_that_takes_less_memory() -> None:
    full = np.random.default_rng(2).normal(size=(9, 4))
    thin = np.where(np.random.default_rng(3).random((9, 4)) < 0.5, full, 0.0)
    assert in_less_memory(full) is full
    np.testing.assert_array_equal(in_less_memory(scipy.sparse.csr_array(full)), full)
    stays = scipy.sparse.csr_array(thin)
    assert in_less_memory(stays) is stays


def test_time_stamps_in_a_sparse_table_are_proven_as_those_in_a_dense_one() -> None:
    draw = np.random.default_rng(8)
    X = np.column_stack((1.7e9 + draw.normal(size=40), draw.normal(size=40)))
    y = (X[:, 0] - 1.7e9 + X[:, 1] + draw.normal(size=40) > 0).astype(int)
    dense = sf.RobustLogisticRegression(radius=0.01).fit(X, y)
    sparse = sf.RobustLogisticRegression(radius=0.01).fit(scipy.sparse.csr_array(X), y)
    assert sparse.certificate_.verified, sparse.certificate_.claim
    np.testing.assert_allclose(sparse.coef_, dense.coef_, rtol=1e-12)
    assert sf.verify(sparse, scipy.sparse.csr_array(X), y).verified
