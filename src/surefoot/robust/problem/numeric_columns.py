"""The numeric part of a table, dense or sparse, and the few operations that are needed of either.

Dense columns are a C-contiguous float64 array. Sparse ones are a ``scipy.sparse.csr_array`` in canonical form: float64, the
columns of each row ascending, none twice, no zeros written out. A table has one canonical form, so equal tables have equal
arrays. This file reads a sparse array through ``indptr``, ``indices`` and ``data`` and imports NumPy only, because certificates
rest on it; :mod:`surefoot.robust.problem.canonical_csr` makes the canonical form.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np

from surefoot.core.arrays import AnyArray, FloatArray, NumericArray

if TYPE_CHECKING:
    import scipy.sparse


def is_sparse(numeric: Any) -> TypeGuard[scipy.sparse.csr_array]:
    """Whether these columns are a scipy sparse array or matrix of any format."""
    return callable(getattr(numeric, "tocsr", None))


def as_dense(numeric: NumericArray) -> FloatArray:
    """The columns as a dense array; meant for a few rows at a time."""
    dense: FloatArray = numeric.toarray() if is_sparse(numeric) else numeric
    return dense


def as_numeric_columns(given: Any) -> NumericArray:
    """The same columns in the form of the module docstring; what already has it is not copied.

    Raises
    ------
    ValueError
        If sparse columns hold something else than real numbers, or are not a table.
    """
    if not is_sparse(given):
        dense: FloatArray = np.ascontiguousarray(given, dtype=np.float64)
        return dense
    # Imported here: who has sparse columns has loaded SciPy, and dense ones need NumPy alone.
    from surefoot.robust.problem.canonical_csr import canonical_csr

    return canonical_csr(given)


def require_indices(matrix: Any) -> None:
    """Indices that point outside the table would make compiled code read what is not ours."""
    n_rows, n_columns = matrix.shape
    starts, columns = matrix.indptr, matrix.indices
    if starts.shape != (n_rows + 1,) or starts[0] != 0 or np.any(np.diff(starts) < 0) or starts[-1] > columns.size:
        raise ValueError("the row pointers of the sparse numeric columns do not ascend from 0 to the number of entries.")
    if columns.size != matrix.data.size:
        raise ValueError(f"the sparse numeric columns have {matrix.data.size} values but {columns.size} column indices.")
    if columns.size and (columns.min() < 0 or columns.max() >= n_columns):
        wrong = int(np.flatnonzero((columns < 0) | (columns >= n_columns))[0])
        row = int(np.searchsorted(starts, wrong, side="right")) - 1
        raise ValueError(f"sparse numeric columns: row {row} names column {columns[wrong]}, but there are {n_columns}.")


def require_sound_columns(numeric: NumericArray, *, first_row: int = 0) -> None:
    """Raise ``ValueError`` if the columns, as they are now, hold NaN or infinity or are not in canonical form.

    ``first_row`` is where these rows start in the whole table, for the message.
    """
    # Whole-array tests first: they cost milliseconds on a million rows, and only an error needs to know where.
    if is_sparse(numeric):
        _require_sound_entries(numeric, first_row)
    elif not np.isfinite(numeric).all():
        row, column = np.argwhere(~np.isfinite(numeric))[0]
        raise ValueError(_not_finite(column, numeric[row, column], first_row + row))


def _require_sound_entries(numeric: Any, first_row: int) -> None:
    require_indices(numeric)
    if not np.isfinite(numeric.data).all():
        at = int(np.flatnonzero(~np.isfinite(numeric.data))[0])
        row = int(np.searchsorted(numeric.indptr, at, side="right")) - 1
        raise ValueError(_not_finite(numeric.indices[at], numeric.data[at], first_row + row))
    ascends = np.ones(numeric.indices.size + 1, dtype=np.bool_)
    ascends[1:-1] = np.diff(numeric.indices) > 0
    ascends[numeric.indptr] = True
    if not ascends.all():
        row = int(np.searchsorted(numeric.indptr, np.flatnonzero(~ascends)[0], side="right")) - 1
        raise ValueError(
            f"the column indices of row {row} of the sparse numeric columns do not ascend; call sort_indices() and "
            "sum_duplicates()."
        )


def _not_finite(column: Any, value: Any, row: Any) -> str:
    return f"numeric column {column} holds {value} in row {row}; it must be finite."


def column_sizes(numeric: NumericArray) -> FloatArray:
    """The largest absolute value of each column."""
    if is_sparse(numeric):
        sizes = np.zeros(numeric.shape[1])
        np.maximum.at(sizes, numeric.indices, np.abs(numeric.data))
        return sizes
    largest: FloatArray = np.abs(numeric).max(axis=0, initial=0.0)
    return largest


def most_terms(numeric: NumericArray) -> int:
    """How many numbers the longest row adds up in a product with a vector."""
    if is_sparse(numeric):
        return int(np.diff(numeric.indptr).max(initial=0))
    return int(numeric.shape[1])


def fingerprint_parts(numeric: NumericArray) -> Iterator[AnyArray]:
    """Arrays that together tell these columns from all others; the width of indices is not a part of the table."""
    if is_sparse(numeric):
        yield np.array(numeric.shape, dtype=np.int64)
        yield numeric.data
        yield numeric.indices.astype(np.int64, copy=False)
        yield numeric.indptr.astype(np.int64, copy=False)
    else:
        yield numeric


def in_less_memory(numeric: NumericArray) -> NumericArray:
    """Sparse columns that are mostly full as dense ones: these take less memory then, and can be centred."""
    if not is_sparse(numeric):
        return numeric
    stored = numeric.data.nbytes + numeric.indices.nbytes
    dense: FloatArray = numeric.toarray() if stored >= 8 * numeric.shape[0] * numeric.shape[1] else numeric
    return dense
