"""A sparse matrix with what certificates ask of one, without SciPy; names and arguments are those of ``scipy.sparse``."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from surefoot.core.arrays import AnyArray, FloatArray


class CompressedRows:
    """Row i holds ``data[k]`` in column ``indices[k]`` for k from ``indptr[i]`` to ``indptr[i + 1] - 1``.

    Products add the terms of a row one after the other, which the error bounds of sums allow.
    """

    format = "csr"
    ndim = 2
    __array_ufunc__ = None  # arrays leave their operators to this class

    def __init__(self, parts: tuple[AnyArray, AnyArray, AnyArray], *, shape: tuple[int, int]) -> None:
        self.data, self.indices, self.indptr = parts
        self.shape = shape
        major, minor = self._sides(*shape)
        sound = (
            self.indptr.shape == (major + 1,)
            and self.indptr[0] == 0
            and bool(np.all(np.diff(self.indptr) >= 0))
            and self.data.shape == self.indices.shape == (int(self.indptr[-1]),)
            and (self.indices.size == 0 or (self.indices.min() >= 0 and self.indices.max() < minor))
        )
        if not sound:
            raise ValueError("a sparse matrix does not have the shape it claims.")

    @property
    def dtype(self) -> Any:
        return self.data.dtype

    @property
    def T(self) -> CompressedRows:  # noqa: N802
        rows, columns = self.shape
        return self._other()((self.data, self.indices, self.indptr), shape=(columns, rows))

    def __abs__(self) -> CompressedRows:
        return type(self)((np.abs(self.data), self.indices, self.indptr), shape=self.shape)

    def __getitem__(self, at: Any) -> CompressedRows:
        """Some of the rows, or of the columns of a matrix in columns: a slice, or places or truth values in an array."""
        chosen = np.arange(self.indptr.size - 1)[at]
        counts = np.diff(self.indptr)[chosen]
        starts = np.append(0, np.cumsum(counts))
        entries = np.arange(starts[-1]) + np.repeat(self.indptr[:-1][chosen] - starts[:-1], counts)
        shape = self._sides(chosen.size, self._sides(*self.shape)[1])
        return type(self)((self.data[entries], self.indices[entries], starts), shape=shape)

    def __matmul__(self, right: Any) -> FloatArray:
        if not isinstance(right, np.ndarray):
            return NotImplemented
        entries = self.tocoo()
        total = np.zeros((self.shape[0], *right.shape[1:]))
        np.add.at(total, entries.row, entries.data.reshape(-1, *[1] * (right.ndim - 1)) * right[entries.col])
        return total

    def __rmatmul__(self, left: Any) -> FloatArray:
        if not isinstance(left, np.ndarray):
            return NotImplemented
        return np.asarray((self.T @ left.T).T)

    def tocoo(self) -> Any:
        """Row, column and value of every entry."""
        major = np.repeat(np.arange(self.indptr.size - 1), np.diff(self.indptr))
        row, col = self._sides(major, self.indices)
        return SimpleNamespace(row=row, col=col, data=self.data)

    def toarray(self) -> FloatArray:
        full, entries = np.zeros(self.shape), self.tocoo()
        np.add.at(full, (entries.row, entries.col), entries.data)
        return full

    def _sides(self, rows: Any, columns: Any) -> tuple[Any, Any]:
        return rows, columns

    def _other(self) -> type[CompressedRows]:
        return CompressedColumns


class CompressedColumns(CompressedRows):
    """The same column by column: what the transpose of a matrix in rows is."""

    format = "csc"

    def _sides(self, rows: Any, columns: Any) -> tuple[Any, Any]:
        return columns, rows

    def _other(self) -> type[CompressedRows]:
        return CompressedRows
