"""A part of a table's rows: what one batch, or one partition, holds.

Everything that is needed of rows is a sum over them, so sums of parts are added up. A
:class:`RowBatch` is only rows; :meth:`RowBatch.under` poses them under the :class:`~surefoot.robust.problem.terms.Terms` of a
problem, and :class:`PosedRows` is what such a part and a whole
:class:`~surefoot.robust.problem.problem.RobustLogisticProblem` have in common. The weights of a part need not sum to 1.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from surefoot.core.array_checks import whole_numbers
from surefoot.core.arrays import FloatArray, IntArray, NumericArray
from surefoot.robust.problem.ground_cost import GroundCost
from surefoot.robust.problem.numeric_columns import as_numeric_columns, is_sparse
from surefoot.robust.problem.row_checks import Rows, require_sound_rows, require_terms
from surefoot.robust.problem.terms import Terms


class PosedRows(Rows, Protocol):
    """Rows, all of them or a part, and the terms under which they stand."""

    @property
    def n_levels(self) -> IntArray: ...
    @property
    def cost(self) -> GroundCost: ...
    @property
    def radius(self) -> float: ...
    @property
    def fit_intercept(self) -> bool: ...
    @property
    def terms(self) -> Terms: ...
    @property
    def level_offsets(self) -> IntArray: ...
    @property
    def is_sparse(self) -> bool: ...
    @property
    def n_rows(self) -> int: ...
    @property
    def n_numeric(self) -> int: ...
    @property
    def n_categorical(self) -> int: ...


@dataclass(frozen=True, eq=False, repr=False)
class RowBatch:
    """Some rows of a table.

    Parameters
    ----------
    numeric : ndarray or scipy sparse array of shape (n_rows, n_numeric)
        Finite numbers.
    codes : ndarray of shape (n_rows, n_categorical)
        Level of each categorical column, counted from 0, the reference level.
    labels : ndarray of shape (n_rows,)
        -1.0 and +1.0.
    weights : ndarray of shape (n_rows,)
        Finite and not negative; any sum.
    first_row : int, default=0
        Where the batch starts in the whole table, for messages.

    Raises
    ------
    ValueError
        If a part breaks these conventions; the message names column, row (of the whole table) and value.
    """

    numeric: NumericArray
    codes: IntArray
    labels: FloatArray
    weights: FloatArray
    first_row: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "numeric", as_numeric_columns(self.numeric))
        object.__setattr__(self, "codes", whole_numbers("codes", self.codes))
        for name in ("labels", "weights"):
            object.__setattr__(self, name, np.ascontiguousarray(getattr(self, name), dtype=np.float64))
        require_sound_rows(self, first_row=self.first_row)

    def __repr__(self) -> str:
        return f"RowBatch(rows={self.n_rows}, first_row={self.first_row})"

    @property
    def n_rows(self) -> int:
        return int(self.labels.shape[0])

    @property
    def is_sparse(self) -> bool:
        """Whether the numeric columns are sparse."""
        return is_sparse(self.numeric)

    def take(self, rows: np.ndarray[tuple[int], np.dtype[np.intp]]) -> RowBatch:
        """Some of the rows, by their place in the batch."""
        return replace(
            self, numeric=self.numeric[rows], codes=self.codes[rows], labels=self.labels[rows], weights=self.weights[rows]
        )

    def under(self, terms: Terms) -> PosedBatch:
        """These rows as a part of a problem.

        Raises
        ------
        ValueError
            If the columns are not those of the terms, or a code is beyond the number of levels.
        """
        require_terms(self, terms, first_row=self.first_row)
        return PosedBatch(self, terms)


@dataclass(frozen=True, eq=False)
class PosedBatch:
    """A batch under the terms of a problem; make one with :meth:`RowBatch.under`."""

    batch: RowBatch
    terms: Terms

    @property
    def numeric(self) -> NumericArray:
        return self.batch.numeric

    @property
    def codes(self) -> IntArray:
        return self.batch.codes

    @property
    def labels(self) -> FloatArray:
        return self.batch.labels

    @property
    def weights(self) -> FloatArray:
        return self.batch.weights

    @property
    def n_levels(self) -> IntArray:
        return self.terms.n_levels

    @property
    def cost(self) -> GroundCost:
        return self.terms.cost

    @property
    def radius(self) -> float:
        return self.terms.radius

    @property
    def fit_intercept(self) -> bool:
        return self.terms.fit_intercept

    @property
    def level_offsets(self) -> IntArray:
        return self.terms.level_offsets

    @property
    def is_sparse(self) -> bool:
        return self.batch.is_sparse

    @property
    def n_rows(self) -> int:
        return self.batch.n_rows

    @property
    def n_numeric(self) -> int:
        return self.terms.n_numeric

    @property
    def n_categorical(self) -> int:
        return self.terms.n_categorical
