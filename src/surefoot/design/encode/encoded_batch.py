"""Some of the rows of a table, encoded by what is known of all of them; a batch that is read, or a partition where it lives.

A table in one piece is learned and encoded at once (:class:`~surefoot.design.encode.table_encoder.TableEncoder`). A table in
several is learned piece by piece, and what its pieces hold is joined here: levels, labels, and which of them belong to rows
that count.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surefoot.design.encode.labels import encode_labels
from surefoot.design.encode.mixed_design import MixedDesign
from surefoot.design.encode.schema import Level, Schema
from surefoot.design.encode.table_encoder import TableEncoder
from surefoot.design.read.column import NumberColumn, sorted_levels
from surefoot.design.read.table import read_column, read_table
from surefoot.exceptions import InvalidTableError

# Labels are collected until it is plain that these are no two classes.
MOST_LABELS = 1000


@dataclass(frozen=True)
class EncodedBatch:
    """The rows of positive weight of one batch.

    Attributes
    ----------
    design : MixedDesign
    signs : ndarray of shape (n_rows,)
        -1.0 and +1.0.
    weights : ndarray of shape (n_rows,)
        Positive, as given.
    first_row : int
        Where the batch starts in the table.
    size : int
        Rows of the batch as it was given, those without weight included.
    """

    design: MixedDesign
    signs: NDArray[np.float64]
    weights: NDArray[np.float64]
    first_row: int
    size: int


def encode_batch(
    batch: tuple[Any, Any, Any],
    all_levels: Schema,
    schema: Schema,
    classes: NDArray[Any],
    *,
    first_row: int,
    counted_from: int = 0,
) -> EncodedBatch:
    """Encode (X, y, sample_weight).

    Parameters
    ----------
    all_levels, schema : Schema
        With the levels of all rows, and of the rows that count; a level that is only in the first has the code -1.
    first_row : int
        Where the batch starts in the table.
    counted_from : int, default=0
        What messages are to call the first row.
    """
    X, y, sample_weight = batch
    design = TableEncoder.from_schema(all_levels).encode(read_table(X, first_row=counted_from))
    signs = encode_labels(y, classes=classes, first_row=counted_from).signs
    require_as_many(signs.size, design.n_rows)
    weights = batch_weights(sample_weight, design.n_rows, counted_from)
    size = design.n_rows
    kept = np.flatnonzero(weights > 0)
    if kept.size < size:
        design, signs, weights = design.take(kept), signs[kept], weights[kept]
    codes = np.empty_like(design.codes)
    for l, (known, used) in enumerate(zip(all_levels.categorical_columns, schema.categorical_columns, strict=True)):
        places = {level: code for code, level in enumerate(used.levels)}
        codes[:, l] = np.array([places.get(level, -1) for level in known.levels], dtype=np.int32)[design.codes[:, l]]
    return EncodedBatch(MixedDesign(design.numeric, codes, schema.n_levels, schema), signs, weights, first_row, size)


def batch_weights(sample_weight: Any, n_rows: int, counted_from: int = 0) -> NDArray[np.float64]:
    """Row weights as numbers, 1 where there are none."""
    if sample_weight is None:
        return np.ones(n_rows)
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.shape != (n_rows,):
        raise InvalidTableError(f"sample_weight has shape {weights.shape}, but X has {n_rows} rows: one weight per row.")
    wrong = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if wrong.size:
        raise InvalidTableError(
            f"sample_weight of row {counted_from + wrong[0]} is {weights[wrong[0]]}; weights are finite and not negative. "
            "Use 0 to leave a row out."
        )
    return weights


def require_as_many(n_labels: int, n_rows: int) -> None:
    """Raise if there is not one label per row."""
    if n_labels != n_rows:
        raise InvalidTableError(
            f"Found input variables with inconsistent numbers of samples: X has {n_rows} rows, y has {n_labels} labels."
        )


@dataclass(frozen=True)
class BatchLabels:
    """The distinct labels of one batch, at most ``MOST_LABELS``, those of rows that count, and their type."""

    values: tuple[Any, ...]
    counting: frozenset[Any]
    dtype: np.dtype[Any]


def batch_labels(y: Any, counting: NDArray[np.bool_], counted_from: int = 0) -> BatchLabels:
    """Read the labels of one batch; ``counting`` marks its rows of positive weight."""
    column = read_column(y, "y", first_row=counted_from)
    reading = column.categories()
    require_as_many(reading.codes.size, counting.size)
    missing = np.flatnonzero(reading.codes < 0)
    if missing.size:
        raise InvalidTableError(
            f"Input y contains NaN: {missing.size} label(s) are missing, the first in row {counted_from + missing[0]}. "
            "Drop those rows."
        )
    dtype: np.dtype[Any] = np.dtype(object)
    if isinstance(column, NumberColumn):
        dtype = column.values.dtype
    elif isinstance(y, np.ndarray) and y.dtype.kind == "U":
        dtype = y.dtype
    return BatchLabels(
        values=reading.values[:MOST_LABELS],
        counting=frozenset(reading.values[code] for code in np.unique(reading.codes[counting])[:MOST_LABELS]),
        dtype=dtype,
    )


def two_classes(found: Iterable[BatchLabels]) -> NDArray[Any]:
    """The classes of all batches.

    Raises
    ------
    InvalidTableError
        If there are not two, or all rows that count belong to one of them.
    """
    values: dict[Any, None] = {}
    counting: set[Any] = set()
    types: set[np.dtype[Any]] = set()
    for labels in found:
        if len(values) <= MOST_LABELS:
            values.update(dict.fromkeys(labels.values))
        counting.update(labels.counting)
        types.add(labels.dtype)
    classes = encode_labels(np.array(list(values), dtype=np.result_type(*types))).classes
    if len(counting) < 2:
        raise InvalidTableError(
            "This solver needs samples of at least 2 classes in the data, but the data contains only one class: "
            f"{next(iter(counting), None)!r} (counting rows with positive sample_weight)."
        )
    return classes


def with_levels(schema: Schema, found: Sequence[Iterable[Level]]) -> Schema:
    """The columns with these levels of each category, sorted, a missing one last."""
    columns = list(schema.columns)
    for position, levels in zip(schema.categorical_positions, found, strict=True):
        distinct = dict.fromkeys(levels)
        ordered = sorted_levels([level for level in distinct if level is not None], schema.label(position))
        columns[position] = replace(columns[position], levels=(*ordered, None) if None in distinct else ordered)
    return replace(schema, columns=tuple(columns))


def used_levels(
    design: MixedDesign, counting: NDArray[np.bool_], told: Mapping[int, Iterable[Level]]
) -> tuple[frozenset[Level], ...]:
    """The levels of each category that occur in rows that count, or were told, by position."""
    return tuple(
        frozenset(design.schema.columns[at].levels[code] for code in np.unique(design.codes[counting, l])).union(
            told.get(at, ())
        )
        for l, at in enumerate(design.schema.categorical_positions)
    )


@contextmanager
def errors_named(place: str) -> Iterator[None]:
    """Puts a place, such as "batch 3", before what is said about its rows."""
    try:
        yield
    except InvalidTableError as error:
        raise type(error)(f"{place}: {error}") from error
