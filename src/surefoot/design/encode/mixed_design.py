"""A table as numbers: real-valued columns as they are, categories as integer codes. One-hot columns are never formed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from surefoot.design.encode.schema import Level, Schema


@dataclass(frozen=True)
class MixedDesign:
    """The encoded rows of a table.

    Attributes
    ----------
    numeric : ndarray or csr_array of shape (n_rows, n_numeric), float64, C-contiguous
        Finite values; of a sparse table a sparse array in canonical form. May share memory with the array that was encoded;
        nobody writes to it.
    codes : ndarray of shape (n_rows, n_categorical), int32, C-contiguous
        ``0 <= codes[:, l] < n_levels[l]``; code 0 is the reference level.
    n_levels : ndarray of shape (n_categorical,), int32
    schema : Schema
        Numeric and categorical columns each keep their input order.
    """

    numeric: NDArray[np.float64] | scipy.sparse.csr_array
    codes: NDArray[np.int32]
    n_levels: NDArray[np.int32]
    schema: Schema

    def __post_init__(self) -> None:
        shapes = (self.numeric.shape[1:], self.codes.shape[1:], self.n_levels.shape)
        m = len(self.schema.categorical_positions)
        if shapes != ((len(self.schema.numeric_positions),), (m,), (m,)) or self.numeric.shape[0] != len(self.codes):
            raise ValueError("numeric, codes and n_levels do not have the shapes that the schema asks for.")

    @property
    def n_rows(self) -> int:
        return int(self.numeric.shape[0])

    @property
    def n_numeric(self) -> int:
        return int(self.numeric.shape[1])

    @property
    def n_categorical(self) -> int:
        return int(self.codes.shape[1])

    def level_values(self, feature: int) -> list[Level]:
        """Level of each row in the ``feature``-th categorical column; None where the missing level is meant."""
        column = self.schema.categorical_columns[feature]
        levels = np.empty(column.n_levels, dtype=object)
        levels[:] = column.levels
        values: list[Level] = levels[self.codes[:, feature]].tolist()
        return values

    def take(self, rows: NDArray[np.integer]) -> MixedDesign:
        """The design of some of the rows, in the order given."""
        numeric = self.numeric[rows]
        return MixedDesign(
            numeric=numeric if scipy.sparse.issparse(numeric) else np.ascontiguousarray(numeric),
            codes=np.ascontiguousarray(self.codes[rows]),
            n_levels=self.n_levels,
            schema=self.schema,
        )
