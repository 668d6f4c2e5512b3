"""The warning about columns that a fit reads as what they most likely are not: identifiers, dates and numbers of text."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surefoot.design.encode.mixed_design import MixedDesign
from surefoot.design.encode.schema import Schema
from surefoot.design.read.column_doubts import doubt_of_levels, doubt_of_numbers
from surefoot.exceptions import DoubtfulColumnWarning

# Columns that one warning tells about.
MOST_TOLD = 5


def warn_of_doubtful_design(
    who: str, design: MixedDesign, *, listed: bool = False, meant: Collection[Any] = (), stacklevel: int = 4
) -> None:
    """Warn of doubtful columns of a training table that has been encoded; see :func:`warn_of_doubtful_columns`."""
    schema, numeric = design.schema, design.numeric
    dense = list(numeric.T) if isinstance(numeric, np.ndarray) else None
    rows = [
        design.n_rows - (int(np.count_nonzero(codes == column.n_levels - 1)) if None in column.levels else 0)
        for column, codes in zip(schema.categorical_columns, design.codes.T, strict=True)
    ]
    warn_of_doubtful_columns(who, schema, dense, rows, listed=listed, meant=meant, stacklevel=stacklevel)


def warn_of_doubtful_columns(
    who: str,
    schema: Schema,
    numbers: Sequence[NDArray[np.float64]] | None,
    present: Sequence[int],
    *,
    listed: bool = False,
    meant: Collection[Any] = (),
    stacklevel: int = 3,
) -> None:
    """One warning that names all doubtful columns of a training table and what to do about them.

    Numbers are doubted in tables whose columns have names: those of an array are of one type, and were put there as numbers.

    Parameters
    ----------
    who : str
        Who reads the table, such as "RobustLogisticRegression.fit".
    schema : Schema
    numbers : sequence of ndarray, or None
        The numeric columns, in their order; None where they are sparse, or not at hand.
    present : sequence of int
        For each categorical column, the rows that hold a level.
    listed : bool
        Whether the user has said which columns are categories; these are then none by mistake.
    meant : collection of str
        Columns that the user has named in other settings, such as prices: they are meant as they are.
    """
    found: dict[int, str] = {}
    if not listed:
        for at, count in zip(schema.categorical_positions, present, strict=True):
            doubt = doubt_of_levels(schema.label(at), schema.columns[at].levels, count)
            found |= {} if doubt is None else {at: doubt}
    if schema.named and numbers is not None:
        for at, values in zip(schema.numeric_positions, numbers, strict=True):
            doubt = doubt_of_numbers(schema.label(at), schema.columns[at].name, values)
            found |= {} if doubt is None else {at: doubt}
    found = {at: doubt for at, doubt in found.items() if schema.columns[at].name not in meant}
    if not found:
        return
    doubts = [found[at] for at in sorted(found)]
    more = f"; and {len(doubts) - MOST_TOLD:,} more columns" if len(doubts) > MOST_TOLD else ""
    told = "; ".join(doubts[:MOST_TOLD])
    warnings.warn(f"{who}: {told}{more}.", DoubtfulColumnWarning, stacklevel=stacklevel)


def categories_are_listed(categorical_features: Any) -> bool:
    """Whether ``categorical_features`` names the categories, and does not leave them to the types."""
    return not isinstance(categorical_features, str)


def named_columns(*settings: Any) -> set[Any]:
    """The columns that settings name, those of them that are mappings."""
    return {name for given in settings if isinstance(given, Mapping) for name in given}
