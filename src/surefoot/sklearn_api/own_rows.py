"""Rows as a model is shown them: copies, since a scaler with ``copy=False`` overwrites them, with the columns that it knows."""

from __future__ import annotations

from typing import Any

from surefoot.design.read.known_columns import known_columns


def own_rows(X: Any) -> Any:
    """A copy of a table; tables without a method ``copy``, those of polars and pyarrow, cannot be written to."""
    copy = getattr(X, "copy", None)
    return copy() if callable(copy) else X


def own_columns(model: Any, X: Any) -> tuple[Any, tuple[str, ...]]:
    """A table with the columns that a fitted model knows by name, and the names of the others; arrays as they are."""
    known = getattr(model, "feature_names_in_", None)
    return (X, ()) if known is None else known_columns(X, known)


def seen_by_last_step(model: Any, X: Any) -> Any:
    """What the steps of a pipeline before its last one make of rows; the rows themselves where there are none."""
    return X if len(getattr(model, "steps", ())) < 2 else model[:-1].transform(own_rows(X))
