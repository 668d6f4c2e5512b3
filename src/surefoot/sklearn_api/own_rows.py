"""Rows that steps of other libraries may overwrite: a scaler with ``copy=False`` does, and the caller's rows are not ours."""

from __future__ import annotations

from typing import Any


def own_rows(X: Any) -> Any:
    """A copy of a table; tables without a method ``copy``, those of polars and pyarrow, cannot be written to."""
    copy = getattr(X, "copy", None)
    return copy() if callable(copy) else X


def seen_by_last_step(model: Any, X: Any) -> Any:
    """What the steps of a pipeline before its last one make of rows; the rows themselves where there are none."""
    return X if len(getattr(model, "steps", ())) < 2 else model[:-1].transform(own_rows(X))
