"""A sparse matrix and its right-hand sides, row by row."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.sparse

from surefoot.core.arrays import AnyArray, FloatArray


class SparseRows:
    """Rows under construction; those without entries count too."""

    def __init__(self, width: int) -> None:
        self.width, self.count = width, 0
        self.sides: list[float] = []
        self._at: list[AnyArray] = []
        self._columns: list[AnyArray] = []
        self._values: list[FloatArray] = []

    def row(self, columns: Sequence[int] | AnyArray, values: Sequence[float] | FloatArray, side: float) -> None:
        """Add a row."""
        self._at.append(np.full(len(columns), self.count, dtype=np.int64))
        self._columns.append(np.asarray(columns, dtype=np.int64))
        self._values.append(np.asarray(values, dtype=np.float64))
        self.sides.append(side)
        self.count += 1

    def dense(self, rows: FloatArray, sides: FloatArray) -> None:
        """Add the rows of an array."""
        for row, side in zip(rows, sides, strict=True):
            columns = np.flatnonzero(row)
            self.row(columns, row[columns], float(side))

    def matrix(self) -> scipy.sparse.csc_matrix:
        """All rows so far."""
        at, columns, values = (np.concatenate(part) for part in (self._at, self._columns, self._values))
        return scipy.sparse.csc_matrix((values, (at, columns)), shape=(self.count, self.width))
