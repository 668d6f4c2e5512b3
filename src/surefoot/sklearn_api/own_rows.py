"""Rows as a model is shown them: copies, since a scaler with ``copy=False`` overwrites them, with the columns that it knows."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v1 as nw

from surefoot.design.read.table import require_unique_names


def own_rows(X: Any) -> Any:
    """A copy of a table; tables without a method ``copy``, those of polars and pyarrow, cannot be written to."""
    copy = getattr(X, "copy", None)
    return copy() if callable(copy) else X


def own_columns(model: Any, X: Any) -> tuple[Any, tuple[str, ...]]:
    """A table with the columns that a fitted model knows by name, and the names of the others; arrays as they are."""
    known = getattr(model, "feature_names_in_", None)
    require_unique_names(X)
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if known is None or not isinstance(frame, nw.DataFrame):
        return X, ()
    known = set(known)
    own = [name for name in frame.columns if name in known]
    others = tuple(str(name) for name in frame.columns if name not in known)
    # A table without any of them goes by its order, or is refused where it is read.
    return (frame.select(own).to_native(), others) if own and others else (X, ())


def seen_by_last_step(model: Any, X: Any) -> Any:
    """What the steps of a pipeline before its last one make of rows; the rows themselves where there are none."""
    return X if len(getattr(model, "steps", ())) < 2 else model[:-1].transform(own_rows(X))
