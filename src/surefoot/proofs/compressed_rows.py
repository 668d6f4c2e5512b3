"""A sparse matrix in compressed rows with what certificates ask of one, without SciPy."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from surefoot.core.arrays import AnyArray, FloatArray


@dataclass(frozen=True, eq=False)
class CompressedRows:
    """Row i holds ``data[k]`` in column ``indices[k]`` for k from ``indptr[i]`` to ``indptr[i + 1] - 1``.

    Products add the terms of a row one after the other, which the error bounds of sums allow.
    """

    data: FloatArray
    indices: AnyArray
    indptr: AnyArray
    shape: tuple[int, int]

    __array_ufunc__ = None  # arrays leave their operators to this class

    def __post_init__(self) -> None:
        counts = np.diff(self.indptr)
        sound = (
            self.indptr.shape == (self.shape[0] + 1,)
            and self.data.shape == self.indices.shape == (int(self.indptr[-1]),)
            and self.indptr[0] == 0
            and bool(np.all(counts >= 0))
            and (self.indices.size == 0 or (self.indices.min() >= 0 and self.indices.max() < self.shape[1]))
        )
        if not sound:
            raise ValueError("a matrix in compressed rows does not have the shape it claims.")

    @property
    def ndim(self) -> int:
        return 2

    @property
    def dtype(self) -> Any:
        return self.data.dtype

    @property
    def nnz(self) -> int:
        return int(self.data.size)

    def __getitem__(self, at: Any) -> CompressedRows:
        """Some of the rows: a slice, or places or truth values in an array."""
        rows = np.arange(self.shape[0])[at]
        counts = np.diff(self.indptr)[rows]
        starts = np.append(0, np.cumsum(counts))
        entries = np.arange(starts[-1]) + np.repeat(self.indptr[:-1][rows] - starts[:-1], counts)
        return CompressedRows(self.data[entries], self.indices[entries], starts, (rows.size, self.shape[1]))

    def __abs__(self) -> CompressedRows:
        return replace(self, data=np.abs(self.data))

    def __matmul__(self, right: Any) -> FloatArray:
        return _summed(self._rows, self.data, np.asarray(right)[self.indices], self.shape[0])

    def __rmatmul__(self, left: Any) -> FloatArray:
        left = np.asarray(left)
        found = _summed(self.indices, self.data, left.T[self._rows], self.shape[1])
        return np.asarray(found.T)

    @property
    def T(self) -> Turned:  # noqa: N802
        return Turned(self)

    def toarray(self) -> FloatArray:
        full = np.zeros(self.shape)
        np.add.at(full, (self._rows, self.indices), self.data)
        return full

    @property
    def _rows(self) -> AnyArray:
        return np.repeat(np.arange(self.shape[0]), np.diff(self.indptr))


@dataclass(frozen=True, eq=False)
class Turned:
    """The transpose."""

    of: CompressedRows

    __array_ufunc__ = None

    @property
    def shape(self) -> tuple[int, int]:
        return self.of.shape[1], self.of.shape[0]

    def __abs__(self) -> Turned:
        return Turned(abs(self.of))

    def __matmul__(self, right: Any) -> FloatArray:
        return np.asarray((np.asarray(right).T @ self.of).T)


def _summed(places: AnyArray, data: FloatArray, factors: FloatArray, n_places: int) -> FloatArray:
    total = np.zeros((n_places, *factors.shape[1:]))
    np.add.at(total, places, data.reshape(-1, *[1] * (factors.ndim - 1)) * factors)
    return total
