"""Tables of numbers without gaps, for models that add and multiply whatever a column holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

from surefoot.core.arrays import FloatArray
from surefoot.design.encode.schema import Schema
from surefoot.design.encode.table_encoder import TableEncoder, require_finite
from surefoot.design.read.table import Table, read_table
from surefoot.exceptions import InvalidTableError


@dataclass(frozen=True)
class Remedies:
    """What messages advise.

    Attributes
    ----------
    text : str
        Why a column cannot be text, and what makes numbers of it.
    gap : str
        What can be chosen about gaps.
    """

    text: str
    gap: str


def read_number_table(X: Any, remedies: Remedies) -> Table:
    """Read a table and make sure that every column holds numbers; yes and no count as 1 and 0.

    Raises
    ------
    InvalidTableError
        If a column holds text or categories that are not numbers, or has gaps; the message names it and the remedy.
    """
    table = read_table(X)
    if table.array is None:
        for column in table.columns:
            if column.natural_kind() == "categorical":
                _require_numbers(column, remedies.text)
    labels = [column.label for column in table.columns]
    require_finite(
        table.numbers(range(len(labels))), labels, allow_missing=False, first_row=table.first_row, advice=remedies.gap
    )
    return table


def number_columns(table: Table, schema: Schema) -> FloatArray:
    """The columns of a table that has been read, by the schema of the training table."""
    return dense(TableEncoder.from_schema(schema).encode(table).numeric)


def dense(block: Any) -> FloatArray:
    """A block of columns as one array."""
    full: FloatArray = np.ascontiguousarray(block.toarray() if scipy.sparse.issparse(block) else block, dtype=np.float64)
    return full


def _require_numbers(column: Any, remedy: str) -> None:
    """Categories that are numbers count as those."""
    reading = column.categories()
    for code, value in enumerate(reading.values):
        if not isinstance(value, (bool, int, float, np.bool_, np.integer, np.floating)):
            row = column.first_row + int(np.flatnonzero(reading.codes == code)[0])
            raise InvalidTableError(f"{column.label}, row {row}: {value!r:.80} is not a number. {remedy}")
