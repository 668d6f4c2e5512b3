"""Tables of Dask: data frames and arrays whose partitions of rows are computed when somebody asks for them.

Labels and weights stand beside the rows, partition by partition, or are columns of the table named by the caller. Rows and
labels belong together by their place, as in memory; an index means nothing.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from surefoot.exceptions import InvalidTableError

Form = Literal["frame", "series", "array"]


def is_dask(X: Any) -> bool:
    """Whether X is a collection of Dask, which need not be installed to tell."""
    dask = sys.modules.get("dask")
    return dask is not None and bool(dask.is_dask_collection(X))


@dataclass(frozen=True)
class DaskTable:
    """A table, its labels and its weights by partitions.

    Attributes
    ----------
    delayed : list
        Delayed tuples (X, y, sample_weight), one per partition.
    sample : data frame or None
        A table of no rows with the same columns, if it is a data frame.
    """

    delayed: list[Any]
    sample: Any


def open_dask_table(X: Any, y: Any, sample_weight: Any) -> DaskTable:
    """Look at what was given, without computing anything.

    Parameters
    ----------
    X : dask DataFrame, or dask array of two dimensions in one block of columns
    y, sample_weight : dask Series or array with the partitions of X, or the name of a column of X; weights may be None

    Raises
    ------
    InvalidTableError
        If X is another kind of collection, or labels and weights do not have its partitions.
    """
    form = _table_form(X)
    if y is None:
        raise ValueError("this estimator requires y to be passed, but the target y is None.")
    if form == "array":
        _require_whole_rows(X)
    given = {"y": y} if sample_weight is None else {"y": y, "sample_weight": sample_weight}
    for name, column in given.items():
        _require_fit(name, column, X, form)
    import dask

    split = dask.delayed(_split, pure=False)
    columns = [_delayed(column) if is_dask(column) else [column] * _n_partitions(X) for column in (y, sample_weight)]
    parts = [split(rows, *beside) for rows, *beside in zip(_delayed(X), *columns, strict=True)]
    named = [column for column in given.values() if isinstance(column, str)]
    return DaskTable(parts, X._meta.drop(columns=named) if form == "frame" else None)


def columns_of(X: Any) -> Any:
    """A table in memory with the columns of a Dask table, and no rows."""
    if _table_form(X) == "frame":
        return X._meta
    _require_whole_rows(X)
    return np.empty((0, int(X.shape[1])))


def map_partitions(X: Any, work: Callable[[Any], NDArray[Any]], like: NDArray[Any]) -> Any:
    """A dask array of ``work(rows)`` for the rows of every partition.

    Parameters
    ----------
    X : dask DataFrame or array
    work : callable
        Has one row in its answer for each row it gets.
    like : ndarray
        An answer for no rows: its type and shape are those of every answer.
    """
    import dask
    import dask.array

    lengths = X.chunks[0] if _table_form(X) == "array" else [np.nan] * X.npartitions
    answer = dask.delayed(_work_on_rows, pure=False)
    # The model goes into the graph once, not once per partition.
    shared = dask.delayed(work, pure=False, traverse=False)
    blocks = [
        dask.array.from_delayed(answer(shared, rows, like), shape=(length, *like.shape[1:]), dtype=like.dtype)
        for rows, length in zip(_delayed(X), lengths, strict=True)
    ]
    return dask.array.concatenate(blocks, allow_unknown_chunksizes=True)


def _work_on_rows(work: Callable[[Any], NDArray[Any]], rows: Any, like: NDArray[Any]) -> NDArray[Any]:
    # Filters leave partitions without rows behind, which no encoder takes.
    return work(rows) if rows.shape[0] else like


def _split(X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Any]:
    """Rows, labels and weights of one partition; a text names a column of X."""
    named = [column for column in (y, sample_weight) if isinstance(column, str)]
    columns = [X[column] if isinstance(column, str) else column for column in (y, sample_weight)]
    return X.drop(columns=named) if named else X, columns[0], columns[1]


def _form(X: Any) -> Form | None:
    """What a collection is, by its module: dask.dataframe need not be installed for arrays."""
    if not is_dask(X):
        return None
    module = type(X).__module__
    if module.startswith("dask.array"):
        return "array"
    if module.startswith("dask.dataframe"):
        return {2: "frame", 1: "series"}.get(getattr(X, "ndim", 0))  # type: ignore[return-value]
    return None


def _table_form(X: Any) -> Form:
    form = _form(X)
    if form not in ("frame", "array"):
        raise InvalidTableError(f"X is a {_name(X)}. Pass a dask DataFrame, or a dask array of two dimensions.")
    return form


def _name(X: Any) -> str:
    return f"dask {type(X).__name__}" if is_dask(X) else type(X).__name__


def _delayed(column: Any) -> Sequence[Any]:
    delayed = column.to_delayed()
    return delayed if isinstance(delayed, list) else list(delayed.ravel())


def _n_partitions(X: Any) -> int:
    return int(X.numblocks[0] if hasattr(X, "numblocks") else X.npartitions)


def _require_whole_rows(X: Any) -> None:
    if X.ndim != 2:
        raise InvalidTableError(f"Expected 2D array, got {X.ndim}D dask array instead. A table has rows and columns.")
    if X.numblocks[1] != 1:
        raise InvalidTableError(
            f"X is a dask array whose columns are split into {X.numblocks[1]} blocks, but a row is needed in one piece. "
            "Use X.rechunk({1: -1})."
        )


def _require_fit(name: str, column: Any, X: Any, form: Form) -> None:
    """Raise if labels or weights are not there partition by partition."""
    if isinstance(column, str):
        if form == "array":
            raise InvalidTableError(f"{name} = {column!r} names a column, but X is a dask array, whose columns have no names.")
        if column not in X.columns:
            raise InvalidTableError(
                f"{name} names the column {column!r}, but the columns of X are {', '.join(map(repr, X.columns))}."
            )
        return
    if _form(column) not in ("series", "array") or column.ndim != 1:
        raise InvalidTableError(
            f"{name} is a {_name(column)}, but X is a {_name(X)}: pass a dask Series or a one-dimensional dask array with the "
            "partitions of X"
            + (
                ", or the name of a column of X."
                if form == "frame"
                else f", for example with dask.array.from_array({name}, chunks=(X.chunks[0],))."
            )
        )
    if _n_partitions(column) != _n_partitions(X):
        raise InvalidTableError(
            f"X has {_n_partitions(X)} partitions, but {name} has {_n_partitions(column)}: row by row they must lie in the "
            f"same partitions. Take both from one table, or use {name}.rechunk((X.chunks[0],)) for arrays."
        )
    if form == "array" and _form(column) == "array":
        for k, (rows, entries) in enumerate(zip(X.chunks[0], column.chunks[0], strict=True)):
            if rows != entries and not np.isnan([rows, entries]).any():
                raise InvalidTableError(
                    f"partition {k} of X has {rows} rows, but that of {name} has {entries}. Use {name}.rechunk((X.chunks[0],))."
                )
