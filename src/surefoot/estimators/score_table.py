"""Tables for score cards: columns of numbers without gaps, since points are multiplied and added up."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse

from surefoot.design.encode import TableEncoder, require_finite
from surefoot.design.schema import Schema
from surefoot.design.table import Table, read_table
from surefoot.exceptions import InvalidTableError
from surefoot.problems.arrays import FloatArray

_MISSING_COLUMN = "ThresholdBinarizer(missing='column') before this model, which makes 'missing' a column of its own"


def read_score_table(X: Any) -> Table:
    """Read a table and make sure that every column can be multiplied by points.

    Raises
    ------
    InvalidTableError
        If a column holds text or categories, or has gaps; the message names it and what makes 0/1 columns of it.
    """
    table = read_table(X)
    if table.array is None:
        for column in table.columns:
            if column.natural_kind() == "categorical":
                _require_numbers(column)
    labels = [column.label for column in table.columns]
    require_finite(
        table.numbers(range(len(labels))), labels, allow_missing=False, first_row=table.first_row, advice=_MISSING_COLUMN
    )
    return table


def score_columns(table: Table, schema: Schema) -> FloatArray:
    """The columns of a table that has been read, by the schema of the training table."""
    return dense(TableEncoder.from_schema(schema).encode(table).numeric)


def dense(block: Any) -> FloatArray:
    """A block of columns as one array."""
    full: FloatArray = np.ascontiguousarray(block.toarray() if scipy.sparse.issparse(block) else block, dtype=np.float64)
    return full


def _require_numbers(column: Any) -> None:
    """Yes and no count as 1 and 0, and categories that are numbers as those."""
    reading = column.categories()
    for code, value in enumerate(reading.values):
        if not isinstance(value, (bool, int, float, np.bool_, np.integer, np.floating)):
            row = column.first_row + int(np.flatnonzero(reading.codes == code)[0])
            raise InvalidTableError(
                f"{column.label}, row {row}: {value!r:.80} is not a number. A score card multiplies columns by points: put "
                "ThresholdBinarizer before this model, which makes 0/1 columns of text and categories, or convert the column."
            )
