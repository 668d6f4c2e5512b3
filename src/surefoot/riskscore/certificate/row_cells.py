"""Rows that look alike on a support are one cell: how much weight every cell has, and how columns vary with them.

Two ways, with the same results up to rounding, which the enclosures cover:

- ``RowCells``, for any table: every row has its cell, weights of cells are sums over rows, slopes along further columns are
  products with the table.
- ``CountedCells``, where all columns hold 0 and 1 and all rows of a label weigh the same: whole numbers, without rounding. With
  n_T the number of rows of a label that have a 1 in all columns of T, the rows with a 1 in exactly the columns U of a support S
  are, by inclusion and exclusion, the sum of (-1)^(|T| - |U|) n_T over U <= T <= S. The n_T of up to four columns are tabled;
  those of five come from the products of pairs of columns over the rows that have a 1 in the first three. They are
  sums of whole numbers below 2^24, which single precision adds up exactly in any order.
"""

from __future__ import annotations

from itertools import combinations
from math import comb

import numpy as np

from surefoot.core.arrays import AnyArray, FloatArray
from surefoot.core.enclosure import Enclosure, choose, enclose, join
from surefoot.riskscore.certificate.card_table import CardTable, Integers

TABLED = 4
# Most entries of a table of counts.
LARGEST_TABLE = 20_000_000
LARGEST_COUNT = 2**24


def patterns(n_columns: int) -> FloatArray:
    """All 0/1 rows, a leading 1 for the intercept: row c holds the bits of c."""
    bits = (np.arange(2**n_columns)[:, None] >> np.arange(n_columns)) & 1
    return np.column_stack([np.ones(2**n_columns), bits]).astype(np.float64)


class RowCells:
    """Cells of any table; supports with other than 0/1 columns, or with more patterns than rows, have a cell for each row."""

    def __init__(self, table: CardTable) -> None:
        seen, at = np.unique(np.column_stack([table.columns, table.labels]), axis=0, return_inverse=True)
        self.table, self.rows = table, np.ascontiguousarray(seen[:, :-1])
        self.negative = seen[:, -1] < 0
        self.weights = enclose(table.weights).sums_by_place(at.reshape(-1), len(seen))
        self.work = len(seen)  # numbers per claim, for the size of a batch

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
        if not np.all(self.table.binary[support]) or 2 ** support.shape[1] > len(self.rows):
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


class CountedCells:
    """Cells of 0/1 columns by exact counts, for supports of up to five columns; columns go by their position in a list."""

    def __init__(self, table: CardTable, columns: Integers) -> None:
        used = np.flatnonzero(table.weights > 0)
        marks = np.packbits(np.column_stack([table.labels > 0, table.columns[:, columns] > 0])[used], axis=1)
        _, first, count = np.unique(marks.view(f"V{marks.shape[1]}").reshape(-1), return_index=True, return_counts=True)
        # One row of each kind, the negative ones first.
        order = np.argsort(table.labels[used[first]], kind="stable")
        rows = used[first][order]
        self.rows, self.count = table.columns[np.ix_(rows, columns)].astype(np.float32), count[order].astype(np.float32)
        self.ones, self.n_negative = np.ascontiguousarray(self.rows.T > 0), int(np.sum(table.labels[rows] < 0))
        self.unit = [float(np.max(table.weights[table.labels == label], initial=0.0)) for label in (-1.0, 1.0)]
        self.position = np.full(table.columns.shape[1], -1)
        self.position[columns] = np.arange(columns.size)
        self.work, n = 2 ** (TABLED + 1), columns.size
        self.choices = np.array([[comb(a, b) for b in range(TABLED + 2)] for a in range(n + 1)], dtype=np.int64)
        self.tables = [np.zeros((comb(n, size), 2), dtype=np.float32) for size in range(TABLED + 1)]
        self._fill(n)

    @staticmethod
    def suits(table: CardTable, columns: Integers) -> bool:
        """Whether counts decide, and fit into memory and into single precision."""
        sides = [table.weights[(table.weights > 0) & (table.labels == label)] for label in (-1.0, 1.0)]
        even = all(np.unique(side).size <= 1 for side in sides) and len(table.labels) < LARGEST_COUNT
        small = comb(columns.size, TABLED) <= LARGEST_TABLE and table.size <= TABLED + 1
        return bool(even and small and table.radius == 0 and np.all(table.binary[columns]))

    def _pairs(self, rows: Integers, begin: int) -> list[AnyArray]:
        """Of these rows, how many of either label have a 1 in two columns, for every pair from a position on."""
        cut = int(np.searchsorted(rows, self.n_negative))
        chosen = self.rows[rows, begin:]
        weighted = chosen * self.count[rows, None]
        return [weighted[:cut].T @ chosen[:cut], weighted[cut:].T @ chosen[cut:]]

    def _fill(self, n: int) -> None:
        every = np.arange(len(self.rows))
        for fixed in ((), *combinations(range(n), 2)):
            begin = fixed[-1] + 1 if fixed else 0
            rows = np.flatnonzero(self.ones[fixed[0]] & self.ones[fixed[1]]) if fixed else every
            first, second = np.triu_indices(n - begin, 1)
            sets = np.column_stack([*(np.full(first.size, a) for a in fixed), first + begin, second + begin])
            ranks = (
                self._rank(sets),
                self._rank(np.column_stack([*(np.full(n - begin, a) for a in fixed), np.arange(begin, n)])),
            )
            for side, product in enumerate(self._pairs(rows, begin)):
                self.tables[len(fixed) + 2][ranks[0], side] = product[first, second]
                self.tables[len(fixed) + 1][ranks[1], side] = product.diagonal()
        self.tables[0][0] = self.count[: self.n_negative].sum(), self.count[self.n_negative :].sum()

    def _rank(self, sets: Integers) -> Integers:
        """The number of a rising list of positions among all lists of its length."""
        rank: Integers = np.zeros(len(sets), dtype=np.int64)
        for k in range(sets.shape[1]):
            rank += self.choices[sets[:, k], k + 1]
        return rank

    def _five(self, sets: Integers) -> FloatArray:
        """Rows of either label with a 1 in all five columns; sets with the same first ones should stand together."""
        found = np.zeros((len(sets), 2))
        begins = np.flatnonzero(np.any(np.diff(sets[:, :3], axis=0, prepend=-1) != 0, axis=1)).tolist()
        pair, rows = (-1, -1), np.zeros(0, dtype=np.int64)
        for begin, end in zip(begins, [*begins[1:], len(sets)], strict=True):
            a, b, c = sets[begin, :3].tolist()
            if pair != (a, b):
                pair, rows = (a, b), np.flatnonzero(self.ones[a] & self.ones[b])
            first, second = sets[begin:end, 3] - c - 1, sets[begin:end, 4] - c - 1
            for side, product in enumerate(self._pairs(rows[self.ones[c, rows]], c + 1)):
                found[begin:end, side] = product[first, second]
        return found

    def _moments(self, sets: Integers, of: Integers, last: Integers | None = None) -> FloatArray:
        """n_T of every part T of a set, together with a last column if there is one: entries by part and label."""
        k = sets.shape[1]
        found = np.zeros((len(of), 2**k, 2))
        for part in range(2**k):
            chosen = [j for j in range(k) if part >> j & 1]
            size = len(chosen) + (last is not None)
            if size > TABLED:
                found[:, part] = self._five(sets if last is None else np.column_stack([sets[of], last]))
                continue
            rank = self._rank(sets[:, chosen])
            found[:, part] = self.tables[size][rank if last is None else rank[of] + self.choices[last, size]]
        return found

    def cells(self, support: Integers) -> tuple[FloatArray, Enclosure, Enclosure]:
        """Values (intercept first) and weights of negatives and positives, for every support."""
        n, k = support.shape
        counts = self._moments(self.position[support], np.arange(n))
        for j in range(k):
            split = counts.reshape(n, 2 ** (k - 1 - j), 2, 2**j, 2)
            split[:, :, 0] -= split[:, :, 1]
        return patterns(k), enclose(counts[:, :, 0]) * self.unit[0], enclose(counts[:, :, 1]) * self.unit[1]

    def slopes(self, support: Integers, of: Integers, further: Integers, negative: Enclosure, positive: Enclosure) -> Enclosure:
        """As of ``RowCells``, with the residuals as sums over parts T of the support: each meets n_T with a further column."""
        n, k = support.shape
        parts = join([(negative * self.unit[0])[:, :, None], (positive * self.unit[1])[:, :, None]], axis=2)
        for j in range(k):
            split = parts.reshape(n, 2 ** (k - 1 - j), 2, 2 ** (j + 1))
            parts = join([split[:, :, :1], split[:, :, 1:] - split[:, :, :1]], axis=2)
        counts = self._moments(self.position[support], of, self.position[further])
        return parts.reshape(n, -1)[of].inner(enclose(counts.reshape(len(of), -1)))
