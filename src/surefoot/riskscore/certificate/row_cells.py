"""Rows that look alike on a support are one cell: how much weight every cell has, and how columns vary with them."""

from __future__ import annotations

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.core.enclosure import Enclosure, choose, enclose
from surefoot.riskscore.certificate.card_table import CardTable, Integers


def patterns(n_columns: int) -> FloatArray:
    """All 0/1 rows, a leading 1 for the intercept: row c holds the bits of c."""
    bits = (np.arange(2**n_columns)[:, None] >> np.arange(n_columns)) & 1
    return np.column_stack([np.ones(2**n_columns), bits]).astype(np.float64)


class RowCells:
    """Cells of any table; supports with other than 0/1 columns, or with more patterns than rows, have a cell for each row."""

    def __init__(self, table: CardTable) -> None:
        rows = np.ascontiguousarray(np.column_stack([table.columns, table.labels]))
        # Rows of the same bytes are merged: as one number each they are sorted much faster.
        _, first, at = np.unique(rows.view(f"V{rows.itemsize * rows.shape[1]}"), return_index=True, return_inverse=True)
        seen = rows[first]
        self.table, self.rows = table, np.ascontiguousarray(seen[:, :-1])
        self.negative = seen[:, -1] < 0
        self.weights = enclose(table.weights).sums_by_place(at.reshape(-1), len(seen))

    def cells(self, support: Integers) -> tuple[FloatArray, Enclosure, Enclosure]:
        """Values (intercept first; one table, or one for every support) and weights of negatives and positives."""
        by_label = [choose(self.negative == side, self.weights, 0.0) for side in (True, False)]
        places = self._places(support)
        if places is None:
            values = np.concatenate(
                [np.ones((len(support), len(self.rows), 1)), self.rows.T[support].transpose(0, 2, 1)], axis=2
            )
            return values, by_label[0][None, :], by_label[1][None, :]
        n_cells, n_rows = 2 ** support.shape[1], len(self.rows)
        flat = (np.arange(len(support))[:, None] * n_cells + places).reshape(-1)
        every = np.tile(np.arange(n_rows), len(support))
        sums = [side[every].sums_by_place(flat, len(support) * n_cells) for side in by_label]
        shape = (len(support), n_cells)
        return patterns(support.shape[1]), sums[0].reshape(*shape), sums[1].reshape(*shape)

    def _places(self, support: Integers) -> Integers | None:
        if 2 ** support.shape[1] > len(self.rows) or not np.all(self.table.binary[support]):
            return None
        places = np.zeros((len(support), len(self.rows)), dtype=np.int64)
        for j in range(support.shape[1]):
            places += self.rows[:, support[:, j]].T.astype(np.int64) << j
        return places

    def slopes(self, support: Integers, of: Integers, further: Integers, negative: Enclosure, positive: Enclosure) -> Enclosure:
        """Sums of residuals times further columns, support by support; residuals by cell, of either label."""
        places = self._places(support)
        if places is not None:
            at = np.arange(len(support))[:, None]
            negative, positive = negative[at, places], positive[at, places]
        residuals = choose(self.negative, negative, positive) * self.weights
        return (residuals @ self.rows)[of, further]
