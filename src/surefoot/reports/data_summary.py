"""What a table holds, column by column, in a few words each."""

from __future__ import annotations

import numpy as np

from surefoot.design.read.table import AnyColumn, Table
from surefoot.exceptions import InvalidTableError
from surefoot.reports.charts import spark_histogram
from surefoot.reports.page import paragraph, table
from surefoot.reports.wording import number_text

# Columns that are listed, and levels that are named of each; a page is to be read.
_MOST_COLUMNS = 60
_MOST_LEVELS = 4


def summary_blocks(data: Table, categorical: frozenset[int] | None) -> tuple[str, ...]:
    """A table of the columns.

    Parameters
    ----------
    data : Table
    categorical : frozenset of int or None
        Positions of the columns that a model reads as categories; None leaves it to the types of the columns.
    """
    rows = []
    for at, (name, column) in enumerate(zip(data.names[:_MOST_COLUMNS], data.columns, strict=False)):
        rows.append([name, *_described(column, None if categorical is None else at in categorical)])
    shown = table(("column", "holds", "distribution", "missing"), rows, left=2, ready=(2,), long=(1,))
    more = len(data.names) - _MOST_COLUMNS
    return (shown, paragraph(f"{more:,} more columns are not listed.", "small")) if more > 0 else (shown,)


def _described(column: AnyColumn, is_category: bool | None) -> list[str]:
    try:
        if column.natural_kind() == "categorical" if is_category is None else is_category:
            return _category(column)
        return _number(column)
    except InvalidTableError:  # a column that some step before the model takes out
        return ["neither numbers nor categories", "", ""]


def _number(column: AnyColumn) -> list[str]:
    values = column.numbers()
    known = values[np.isfinite(values)]
    if known.size == 0:
        return ["no number", "", share_missing(values.size, values.size)]
    low, middle, high = (number_text(float(f"{value:.4g}")) for value in np.quantile(known, [0.0, 0.5, 1.0]))
    text = f"numbers from {low} to {high}, median {middle}" if low != high else f"always {low}"
    return [text, spark_histogram(known), share_missing(values.size - known.size, values.size)]


def _category(column: AnyColumn) -> list[str]:
    reading = column.categories()
    counts = np.bincount(reading.codes[reading.codes >= 0], minlength=len(reading.values))
    order = np.argsort(-counts, kind="stable")[:_MOST_LEVELS].tolist()
    named = ", ".join(f"{reading.values[at]} {counts[at] / reading.codes.size:.0%}" for at in order if counts[at])
    held = int(np.sum(counts > 0))
    more = f" and {held - _MOST_LEVELS:,} more" if held > _MOST_LEVELS else ""
    return [
        f"{held:,} level{'s' if held != 1 else ''}: {named}{more}",
        "",
        share_missing(int(np.sum(reading.codes < 0)), reading.codes.size),
    ]


def share_missing(missing: int, rows: int) -> str:
    """How many values a column lacks, and which share of the rows that is."""
    return f"{missing:,} ({missing / rows:.1%})" if missing else "0"
