"""Checks of the rows of a problem, whole or in parts; a message names column, row of the whole table, and value."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from surefoot.core.array_checks import require_dimensions
from surefoot.core.arrays import FloatArray, IntArray, NumericArray
from surefoot.robust.problem.numeric_columns import is_sparse, require_sound_columns
from surefoot.robust.problem.terms import Terms


class Rows(Protocol):
    """Rows, all of them or a part."""

    @property
    def numeric(self) -> NumericArray: ...
    @property
    def codes(self) -> IntArray: ...
    @property
    def labels(self) -> FloatArray: ...
    @property
    def weights(self) -> FloatArray: ...


def require_sound_rows(rows: Rows, *, first_row: int = 0, terms: Terms | None = None) -> None:
    """Raise ``ValueError`` if the arrays, as they are now, are not rows, or not rows of a problem with these terms."""
    require_dimensions(rows, (("numeric", 2), ("codes", 2), ("labels", 1), ("weights", 1)))
    counts = {name: getattr(rows, name).shape[0] for name in ("numeric", "codes", "labels", "weights")}
    if len(set(counts.values())) > 1:
        listing = ", ".join(f"{name} has {count}" for name, count in counts.items())
        raise ValueError(f"numeric, codes, labels and weights must have the same number of rows, but {listing}.")
    require_sound_columns(rows.numeric, first_row=first_row)
    if terms is not None:
        require_terms(rows, terms, first_row=first_row)
    for name, wrong, rule in (
        ("labels", np.abs(rows.labels) != 1.0, "labels are -1.0 and +1.0"),
        ("weights", ~(np.isfinite(rows.weights) & (rows.weights >= 0)), "weights are finite and not negative"),
    ):
        if wrong.any():
            at = int(np.flatnonzero(wrong)[0])
            raise ValueError(f"{name}[{first_row + at}] = {getattr(rows, name)[at]}; {rule}.")


def require_terms(rows: Rows, terms: Terms, *, first_row: int = 0) -> None:
    """Raise ``ValueError`` if the columns and codes of these rows are not those of a problem with these terms."""
    columns = (("numeric", rows.numeric.shape[1], terms.n_numeric), ("categorical", rows.codes.shape[1], terms.n_categorical))
    for what, found, wanted in columns:
        if found != wanted:
            raise ValueError(f"these rows have {found} {what} columns, but the problem has {wanted}.")
    _require_within_ranges(rows, terms, first_row)
    if rows.labels.size and np.any((rows.codes.min(axis=0) < 0) | (rows.codes.max(axis=0) >= terms.n_levels)):
        row, column = np.argwhere((rows.codes < 0) | (rows.codes >= terms.n_levels))[0]
        raise ValueError(
            f"categorical column {column} holds code {rows.codes[row, column]} in row {first_row + row}, but it has "
            f"{terms.n_levels[column]} levels; codes run from 0 to {terms.n_levels[column] - 1}."
        )


def _require_within_ranges(rows: Rows, terms: Terms, first_row: int) -> None:
    ranges = terms.cost.numeric_ranges
    if ranges is None:
        return
    if is_sparse(rows.numeric):
        raise ValueError("the columns of a sparse table have no ranges; make the table dense, or leave numeric_ranges out.")
    outside = (rows.numeric < ranges[:, 0]) | (rows.numeric > ranges[:, 1])
    for row, column in np.argwhere(outside)[:1]:
        low, high = ranges[column].tolist()
        raise ValueError(
            f"numeric column {column} holds {rows.numeric[row, column]} in row {first_row + row}, outside its range from {low} "
            f"to {high}."
        )
