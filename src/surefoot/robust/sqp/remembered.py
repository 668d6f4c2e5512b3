"""Shifts that the next model must contain."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from surefoot.core.arrays import AnyArray, FloatArray, RowArray


class Remembered(NamedTuple):
    """Pieces the next model must contain, in the order of their rows, with the share of its row that each held."""

    row: RowArray
    mask: NDArray[np.uint64]
    flipped: NDArray[np.uint8]
    share: FloatArray

    @classmethod
    def nothing(cls, mask_words: int) -> Remembered:
        return cls(np.empty(0, np.int64), np.empty((0, mask_words), np.uint64), np.empty(0, np.uint8), np.empty(0))

    def chosen(self, which: AnyArray | slice) -> Remembered:
        """The pieces at these positions, or where this mask is set."""
        return Remembered(self.row[which], self.mask[which], self.flipped[which], self.share[which])

    def of_rows(self, begin: int, end: int) -> Remembered:
        """The pieces of the rows from ``begin`` to before ``end``, counted from ``begin``."""
        first, last = np.searchsorted(self.row, (begin, end))
        part = self.chosen(slice(first, last))
        return part._replace(row=part.row - begin)

    def joined(self, other: Remembered) -> Remembered:
        """Both, in the order of their rows."""
        both = Remembered(
            np.concatenate((self.row, other.row)),
            np.concatenate((self.mask, other.mask)),
            np.concatenate((self.flipped, other.flipped)),
            np.concatenate((self.share, other.share)),
        )
        return both.chosen(np.argsort(both.row, kind="stable"))
