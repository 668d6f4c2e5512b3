"""How many rows of either label have a 1 in all columns of a set: whole numbers, without rounding.

For tables whose columns hold 0 and 1 and whose rows of a label all weigh the same. Columns are strings of bits, one for each
row; a set is the bitwise "and" of its columns, and its number n_T the ones in there. The numbers of sets of up to four columns
are tabled, all sets of a size in the order of their largest column, then of the second largest, and so on: the rank of a
rising list s_0 < s_1 < ... is the sum of the binomials (s_k over k + 1).

The rows with a 1 in exactly the columns U of a support S are, by inclusion and exclusion, the sum of (-1)^(|T| - |U|) n_T over
U <= T <= S. All of these are whole numbers below 2^24, which single precision holds exactly.
"""

from __future__ import annotations

from math import comb

import numpy as np
from numpy.typing import NDArray

from surefoot.core.arrays import AnyArray, BoolArray, FloatArray
from surefoot.riskscore.certificate.card_table import CardTable, Integers

Counts = NDArray[np.float32]
LARGEST_TABLED = 4
# Most entries of a table of counts.
LARGEST_TABLE = 20_000_000
LARGEST_COUNT = 2**24
# Cells of a support are tabled up to this many columns; its 2^7 patterns stay well below the rows of a large table.
MOST_COLUMNS = 7
# Words of bits that are looked at together.
WORDS_AT_ONCE = 200_000


class SubsetCounts:
    """Counts of one table; columns go by their position in a list. ``unit`` is what a row of either label weighs."""

    def __init__(self, table: CardTable, columns: Integers) -> None:
        sides = [np.flatnonzero((table.weights > 0) & (table.labels == label)) for label in (-1.0, 1.0)]
        packed = [_packed(table.columns[np.ix_(side, columns)].T > 0) for side in sides]
        self.bits, self.cut = np.hstack(packed), packed[0].shape[1]
        self.unit = np.array([table.weights[side].max(initial=0.0) for side in sides])
        self.position = np.full(table.columns.shape[1], -1)
        self.position[columns] = np.arange(columns.size)
        n = columns.size
        self.tabled = max(size for size in range(LARGEST_TABLED + 1) if size < 2 or comb(n, size) <= LARGEST_TABLE)
        self.choices = np.array([[comb(a, b) for a in range(n + 1)] for b in range(LARGEST_TABLED + 2)], dtype=np.int64)
        self.tables: list[Counts] = [np.array([[float(side.size)] for side in sides], dtype=np.float32), self._ones(self.bits)]
        self.tables += [np.zeros((2, comb(n, size)), dtype=np.float32) for size in range(2, self.tabled + 1)]
        self._fill(n)

    @staticmethod
    def suits(table: CardTable, columns: Integers) -> bool:
        """Whether counts decide, as rows stay as they are, and are whole numbers that single precision holds."""
        sides = [table.weights[(table.weights > 0) & (table.labels == label)] for label in (-1.0, 1.0)]
        even = all(np.unique(side).size <= 1 for side in sides) and len(table.labels) < LARGEST_COUNT and table.radius == 0
        return bool(even and table.size <= MOST_COLUMNS and np.all(table.binary[columns]))

    def _fill(self, n: int) -> None:
        """Sets whose two largest columns are e < f stand together, in the order of the ranks of what is left of them."""
        pairs = np.concatenate([self.bits[:0], *(self.bits[:f] & self.bits[f] for f in range(n) if self.tabled > 3)])
        for f in range(n):
            for e in range(f):
                both = self.bits[e : e + 1] & self.bits[f]
                for size, others in ((2, None), (3, self.bits[:e]), (4, pairs[: comb(e, 2)])):
                    if size <= self.tabled:
                        found = self._ones(both if others is None else others & both)
                        begin = comb(f, size) + comb(e, size - 1)
                        self.tables[size][:, begin : begin + found.shape[1]] = found

    def _ones(self, words: AnyArray) -> Counts:
        """Ones among the bits of negative and of positive rows."""
        if hasattr(np, "bitwise_count"):
            ones = np.bitwise_count(words)
        else:  # NumPy 1
            ones = np.unpackbits(words.view(np.uint8), axis=1).reshape(len(words), -1, 64).sum(axis=2)
        return np.stack([ones[:, : self.cut].sum(axis=1, dtype=np.float32), ones[:, self.cut :].sum(axis=1, dtype=np.float32)])

    def count(self, sets: Integers) -> Counts:
        """n_T of sets of any size, from the bits: entries by label and set."""
        found: Counts = np.zeros((2, len(sets)), dtype=np.float32)
        step = max(WORDS_AT_ONCE // max(self.bits.shape[1], 1), 1)
        for begin in range(0, len(sets), step):
            columns = sets[begin : begin + step].T
            words = self.bits[columns[0]]
            for column in columns[1:]:
                words &= self.bits[column]
            found[:, begin : begin + step] = self._ones(words)
        return found

    def weighted(self, counts: Counts) -> FloatArray:
        """What so many rows of either label weigh, in doubles: a rounding each."""
        found: FloatArray = counts.astype(np.float64)
        found *= self.unit.reshape(2, *[1] * (counts.ndim - 1))
        return found

    def ranks(self, sets: Integers) -> list[tuple[list[int], Integers]]:
        """Every part of the sets, as bits of its number: which places it has, and its rank among all sets of its size."""
        parts: list[tuple[list[int], Integers]] = [([], np.zeros(len(sets), dtype=np.int64))]
        for place in range(sets.shape[1]):
            parts += [
                ([*places, place], rank + self.choices[min(len(places), LARGEST_TABLED) + 1][sets[:, place]])
                for places, rank in parts
            ]
        return parts

    def cells(self, sets: Integers) -> Counts:
        """Rows with each pattern of 0 and 1 in the columns of a set: entries by label, pattern and set."""
        n, k = sets.shape
        found: Counts = np.zeros((2, 2**k, n), dtype=np.float32)
        for part, (places, rank) in enumerate(self.ranks(sets)):
            if len(places) > self.tabled:
                found[:, part] = self.count(sets[:, places])
                continue
            for table, side in zip(self.tables[len(places)], found, strict=True):
                np.take(table, rank, out=side[part], mode="clip")  # ranks are those of sets; this mode is fast
        for place in range(k):
            split = found.reshape(2, 2 ** (k - 1 - place), 2, 2**place, n)
            split[:, :, 0] -= split[:, :, 1]
        return found


def _packed(ones: BoolArray) -> AnyArray:
    """Rows of bits in whole words of 64."""
    octets = np.packbits(ones, axis=1)
    n_words = -(-octets.shape[1] // 8)
    padded = np.zeros((len(ones), 8 * n_words), dtype=np.uint8)
    padded[:, : octets.shape[1]] = octets
    return padded.reshape(len(ones), n_words, 8).view(np.uint64)[:, :, 0]
