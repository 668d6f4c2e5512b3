"""Which rows belong together: a name per row becomes a code per row, the names in sorted order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surefoot.design.encode.schema import Level
from surefoot.design.read.column import plain_level, sorted_levels
from surefoot.design.read.table import read_column
from surefoot.exceptions import InvalidTableError


@dataclass(frozen=True)
class RowGroups:
    """The group of each row.

    Attributes
    ----------
    names : tuple
        The groups in sorted order: text, booleans or numbers.
    codes : ndarray of shape (n_rows,)
        Position of each row's group in ``names``.
    positions : ndarray of shape (n_rows,)
        What messages call each row: its number in the table that came in.
    """

    names: tuple[Level, ...]
    codes: NDArray[np.intp]
    positions: NDArray[np.intp]

    def take(self, rows: NDArray[np.intp]) -> RowGroups:
        """Some of the rows, with the groups that they belong to."""
        used, codes = np.unique(self.codes[rows], return_inverse=True)
        return RowGroups(tuple(self.names[code] for code in used), codes.astype(np.intp), self.positions[rows])

    def labels(self, labels: NDArray[np.float64], classes: NDArray[Any]) -> NDArray[np.float64]:
        """The label of each group, -1.0 or +1.0, from those of the rows.

        Raises
        ------
        InvalidTableError
            If rows of both classes share a group; the message names the group and two of its rows.
        """
        of_group = np.zeros(len(self.names))
        of_group[self.codes] = labels
        odd = np.flatnonzero(of_group[self.codes] != labels)
        if odd.size == 0:
            return of_group
        code = self.codes[odd[0]]
        rows = np.flatnonzero(self.codes == code)
        pair = rows[0], rows[labels[rows] != labels[rows[0]]][0]
        texts = [f"row {self.positions[row]} is {classes.tolist()[int(labels[row] > 0)]!r}" for row in pair]
        raise InvalidTableError(
            f"group {self.names[code]!r} has rows of both classes: {texts[0]}, {texts[1]}. All rows of a group are samples of "
            "one input, which has one label: split the group, or correct its labels."
        )


def read_row_groups(groups: Any, n_rows: int) -> RowGroups:
    """Read the group of each row.

    Parameters
    ----------
    groups : one-dimensional sequence of shape (n_rows,)
        Text, booleans or numbers in an array, a list, or a series of a data frame library.
    n_rows : int
        Rows of the table they belong to.

    Raises
    ------
    InvalidTableError
        If there is not one group per row, or a group is missing.
    """
    reading = read_column(groups, "groups").categories()
    if reading.codes.size != n_rows:
        raise InvalidTableError(
            f"Found input variables with inconsistent numbers of samples: X has {n_rows} rows, groups has "
            f"{reading.codes.size} entries. Name the group of every row."
        )
    missing = np.flatnonzero(reading.codes < 0)
    if missing.size:
        raise InvalidTableError(
            f"groups has {missing.size} missing value(s), the first in row {missing[0]}. Name the group of every row, or drop "
            "those rows."
        )
    names = sorted_levels(reading.values, "groups")
    places = {name: at for at, name in enumerate(names)}
    translation = np.array([places[plain_level(value, "groups")] for value in reading.values], dtype=np.intp)
    return RowGroups(names, translation[reading.codes], np.arange(n_rows))
