"""Sparse tables: columns of numbers of which only the entries that are not zero are stored, and never more than these.

    what is not stored   -> 0.0, a number like any other
    a stored NaN         -> a gap

A sparse table is kept as one ``scipy.sparse.csr_array`` of float64 in canonical form: the columns of each row ascend, none
occurs twice, and no zeros are written out. The caller's own matrix is never written to.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from surefoot.design.encode.schema import Kind
from surefoot.design.read.column import Categories, NumberColumn, as_doubles
from surefoot.exceptions import InvalidTableError

# What messages about gaps advise to choose.
MISSING_NUMBER = "missing_numeric='median' to fill them with the training median"

# The formats that are made of index arrays, which nobody has checked against the shape.
_COMPRESSED = {"csr": scipy.sparse.csr_array, "csc": scipy.sparse.csc_array, "bsr": scipy.sparse.bsr_array}


@dataclass(frozen=True)
class SparseColumn:
    """One column of a sparse table; it becomes dense only for somebody who asks for its values."""

    label: str
    matrix: scipy.sparse.csr_array
    position: int
    first_row: int = 0

    def natural_kind(self) -> Kind:
        return "numeric"

    def numbers(self) -> NDArray[np.float64]:
        values: NDArray[np.float64] = self.matrix[:, [self.position]].toarray()[:, 0]
        return values

    def categories(self) -> Categories:
        return NumberColumn(self.label, self.numbers()).categories()


def read_sparse(X: Any) -> scipy.sparse.csr_array:
    """A sparse matrix or array of any format in canonical form.

    Raises
    ------
    InvalidTableError
        If X has not two dimensions, holds something else than real numbers, or its index arrays do not fit its shape.
    """
    if X.ndim != 2:
        raise InvalidTableError(f"Expected 2D array, got {X.ndim}D sparse array instead. Reshape your data.")
    if X.dtype.kind == "c":
        raise InvalidTableError(f"Complex data not supported: X is a sparse matrix of type {X.dtype}.")
    if X.dtype.kind not in "biuf":
        raise InvalidTableError(f"X is a sparse matrix of type {X.dtype}; its entries must be real numbers.")
    if X.format in _COMPRESSED:
        try:
            # A new object around the same arrays: the check shortens arrays that are longer than they need be.
            X = _COMPRESSED[X.format]((X.data, X.indices, X.indptr), shape=X.shape)
            X.check_format(full_check=True)
        except ValueError as error:
            raise InvalidTableError(f"X is not a sound sparse matrix of format {X.format}: {error}.") from error
    matrix = X.tocsr()
    data = as_doubles(matrix.data, lambda at: _cell(matrix, at))
    matrix = scipy.sparse.csr_array((data, matrix.indices, matrix.indptr), shape=matrix.shape)
    if not matrix.has_canonical_format or not matrix.data.all():
        matrix = matrix.copy()
        with np.errstate(over="ignore", invalid="ignore"):
            matrix.sum_duplicates()
        matrix.eliminate_zeros()
    return matrix


def _cell(matrix: Any, at: int) -> str:
    """How messages call a stored entry."""
    return f"column {matrix.indices[at]}, row {np.searchsorted(matrix.indptr, at, side='right') - 1}"


def require_finite_entries(
    matrix: scipy.sparse.csr_array,
    labels: Sequence[str],
    *,
    allow_missing: bool,
    first_row: int = 0,
    advice: str = MISSING_NUMBER,
) -> None:
    """Raise for the first infinite entry and, unless they are allowed, the first gap; columns count before rows.

    Messages call the first row of the matrix ``first_row`` and advise to choose ``advice``.
    """
    wrong = np.flatnonzero(~np.isfinite(matrix.data))
    if allow_missing:
        wrong = wrong[np.isinf(matrix.data[wrong])]
    if wrong.size == 0:
        return
    column = int(matrix.indices[wrong].min())
    own = wrong[matrix.indices[wrong] == column]
    infinite = own[np.isinf(matrix.data[own])]
    if infinite.size:
        row = first_row + _row(matrix, infinite[0])
        raise InvalidTableError(
            f"Input X contains infinity: {labels[column]}, row {row} holds {matrix.data[infinite[0]]}. "
            "Replace infinite values or drop their rows."
        )
    row = first_row + _row(matrix, own[0])
    raise InvalidTableError(
        f"Input X contains NaN: {labels[column]} has {own.size} missing value(s), the first in row {row}. "
        f"Fill them, drop their rows, or choose {advice}."
    )


def _row(matrix: scipy.sparse.csr_array, entry: int) -> int:
    return int(np.searchsorted(matrix.indptr, entry, side="right")) - 1


def column_values(
    matrix: scipy.sparse.csr_array, weights: NDArray[np.float64] | None
) -> list[tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """Of each column the values that occur and how much each weighs: the stored ones, and all zeros as one.

    Parameters
    ----------
    matrix : csr_array of shape (n_rows, n_columns)
    weights : ndarray of shape (n_rows,), optional
        Weights of the rows; None weighs each 1.
    """
    n_rows = matrix.shape[0]
    row_weights = np.ones(n_rows) if weights is None else weights
    total = float(row_weights.sum())
    by_column = matrix.tocsc()
    starts = by_column.indptr
    found = []
    for at in range(matrix.shape[1]):
        stored = slice(starts[at], starts[at + 1])
        values, own = by_column.data[stored], row_weights[by_column.indices[stored]]
        if values.size < n_rows:
            values, own = np.append(values, 0.0), np.append(own, max(total - float(own.sum()), 0.0))
        found.append((values, own))
    return found


def fill_gaps(matrix: scipy.sparse.csr_array, fillings: NDArray[np.float64]) -> scipy.sparse.csr_array:
    """The same table with the gaps of each column filled by one number; a table without gaps is returned as it is."""
    missing = np.isnan(matrix.data)
    if not missing.any():
        return matrix
    # Into new entries: the old ones may be the caller's own array.
    data = np.where(missing, fillings[matrix.indices], matrix.data)
    filled = scipy.sparse.csr_array((data, matrix.indices.copy(), matrix.indptr.copy()), shape=matrix.shape)
    filled.eliminate_zeros()
    return filled
