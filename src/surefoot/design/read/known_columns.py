"""The columns of a table that are asked for by name, in the library that the table came in."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import narwhals.stable.v1 as nw

from surefoot.design.read.table import require_unique_names


def known_columns(X: Any, names: Iterable[str]) -> tuple[Any, tuple[str, ...]]:
    """A data frame with those of its columns, and the names of the others.

    Arrays are returned as they are, and so is a frame without any of the columns: it goes by its order, or is refused where it
    is read.

    Parameters
    ----------
    X : data frame or array
    names : iterable of str
    """
    require_unique_names(X)
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        return X, ()
    known = set(names)
    own = [name for name in frame.columns if name in known]
    others = tuple(str(name) for name in frame.columns if name not in known)
    return (frame.select(own).to_native(), others) if own and others else (X, ())
