"""A table that comes in batches: what the columns are is learned in a first pass, and every pass encodes batch by batch.

A batch is a tuple (X, y) or (X, y, sample_weight). The batches are read many times, so they must come from something that
starts again whenever it is iterated over: a list, an object whose ``__iter__`` opens its source anew, a Parquet file. What is
learned is what :class:`~surefoot.design.encode.table_encoder.TableEncoder` learns from the table in one piece: names and kinds
of the columns (those of the first batch, which the others must share), levels of the categories (of all batches, sorted), and
the two classes.

Rows without weight are checked like any other and then left out; a level that only they hold is unknown to the model. Rows
are counted from 0 over the whole table in all messages, and so are batches.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from surefoot.design.encode.encoded_batch import (
    BatchLabels,
    EncodedBatch,
    batch_labels,
    batch_weights,
    encode_batch,
    errors_named,
    two_classes,
    used_levels,
    with_levels,
)
from surefoot.design.encode.schema import Level, Schema
from surefoot.design.encode.table_encoder import TableEncoder
from surefoot.design.read.column import NumberColumn
from surefoot.design.read.table import Table, read_table
from surefoot.exceptions import InvalidTableError

ONE_SHOT_ADVICE = (
    "Pass a list of batches, an object whose __iter__ method starts again from the first batch, or the path of a Parquet file."
)


def is_batches(X: Any, y: Any) -> bool:
    """Whether X is meant as batches: iterable, no table, and without labels of its own.

    Raises
    ------
    InvalidTableError
        If X can be iterated over once only; nothing has been read from it then.
    """
    if _is_table(X) or isinstance(X, (str, bytes, dict, set)) or not hasattr(X, "__iter__"):
        return False
    if iter(X) is X:
        raise InvalidTableError(
            f"X is a {type(X).__name__}, which can be read only once, but fitting reads the rows many times. {ONE_SHOT_ADVICE}"
        )
    if y is not None:
        return False
    if isinstance(X, (list, tuple)):
        # A list of rows without labels looks alike, but its entries begin with a value instead of a table.
        return len(X) > 0 and all(isinstance(entry, tuple) and entry and _is_table(entry[0]) for entry in X)
    return True


def _is_table(X: Any) -> bool:
    if hasattr(X, "__array__") or sparse.issparse(X) or hasattr(X, "__arrow_c_array__"):
        return True
    return isinstance(nw.from_native(X, pass_through=True), (nw.DataFrame, nw.LazyFrame))


class BatchTable:
    """A table in batches, encoded by what its first pass learned; make one with :func:`learn_batches`.

    Attributes
    ----------
    schema : Schema
    classes : ndarray of shape (2,)
    counts : list of int
        Rows of positive weight in each batch.
    sample : data frame or None
        The first batch without its rows, if it is a data frame.
    """

    def __init__(self, source: Iterable[Any], encoder: TableEncoder) -> None:
        self._source = source
        learner = _Learner(encoder)
        for batch in source:
            learner.read(batch)
        self._all_levels = learner.schema(learner.levels)
        self._sizes = learner.sizes
        self.counts = learner.counts
        self.classes = two_classes(learner.labels)
        self.sample = learner.sample
        self.schema = learner.schema(learner.used)

    def __iter__(self) -> Iterator[EncodedBatch]:
        first_row = 0
        number = -1
        for number, given in enumerate(self._source):
            batch = _unpacked(number, given)
            with errors_named(f"batch {number}"):
                encoded = encode_batch(
                    batch, self._all_levels, self.schema, self.classes, first_row=first_row, counted_from=first_row
                )
            if (
                number >= len(self._sizes)
                or encoded.size != self._sizes[number]
                or encoded.signs.size != self.counts[number]
                or encoded.design.codes.min(initial=0) < 0
            ):
                raise InvalidTableError(_changed(number))
            yield encoded
            first_row += encoded.size
        if number + 1 != len(self._sizes):
            raise InvalidTableError(_changed(number + 1))


def learn_batches(source: Iterable[Any], encoder: TableEncoder) -> BatchTable:
    """Read all batches once.

    Raises
    ------
    InvalidTableError
        If there are none, one is empty, they disagree in columns or types, or a value cannot be used.
    """
    return BatchTable(source, encoder)


def _changed(number: int) -> str:
    return (
        f"batch {number} is not what it was in the first pass. The batches must hold the same rows in the same order whenever "
        "they are read."
    )


def _unpacked(number: int, batch: Any) -> tuple[Any, Any, Any]:
    if not isinstance(batch, (tuple, list)) or len(batch) not in (2, 3):
        raise InvalidTableError(
            f"batch {number} is a {type(batch).__name__}; a batch is a tuple (X, y) or (X, y, sample_weight)."
        )
    return batch[0], batch[1], batch[2] if len(batch) == 3 else None


class _Learner:
    """What is known after some batches."""

    def __init__(self, encoder: TableEncoder) -> None:
        self.sizes: list[int] = []
        self.counts: list[int] = []
        self.sample: Any = None
        self.levels: list[set[Level]] = []
        self.used: list[set[Level]] = []
        self.labels: list[BatchLabels] = []
        self._n_rows = 0
        self._encoder = encoder
        self._first: Schema | None = None
        self._types: list[str | None] = []

    def read(self, batch: Any) -> None:
        number, first_row = len(self.sizes), self._n_rows
        X, y, sample_weight = _unpacked(number, batch)
        if getattr(X, "shape", (1,))[0] == 0:
            raise InvalidTableError(f"batch {number} has no rows. Leave empty batches out.")
        with errors_named(f"batch {number}"):
            table = read_table(X, first_row=first_row)
            counting = batch_weights(sample_weight, table.n_rows, first_row) > 0
            self._read_columns(X, table, counting)
            self.labels.append(batch_labels(y, counting, first_row))
        self.sizes.append(table.n_rows)
        self._n_rows += table.n_rows
        self.counts.append(int(np.count_nonzero(counting)))

    def _read_columns(self, X: Any, table: Table, counting: NDArray[np.bool_]) -> None:
        """Values are checked as the encoder does, and levels are collected."""
        if self._first is not None:
            self._require_alike(self._first, table)
        design = self._encoder.fit_encode(table)
        told = self._encoder.told_levels_
        if self._first is None:
            self._first = design.schema
            self._types = [None] * len(table.columns)
            self.levels = [set() for _ in design.schema.categorical_positions]
            self.used = [set() for _ in design.schema.categorical_positions]
            # A table without rows says to which library the batches belong.
            is_frame = isinstance(nw.from_native(X, eager_only=True, pass_through=True), nw.DataFrame)
            self.sample = X[:0] if is_frame else None
            # The kinds of the first batch are the kinds of the table.
            self._encoder = TableEncoder(
                categorical_features=list(design.schema.categorical_positions),
                missing_numeric=self._encoder.missing_numeric,
                missing_categorical=self._encoder.missing_categorical,
                unseen_categories=self._encoder.unseen_categories,
                category_levels=self._encoder.category_levels,
            )
        for l, (position, used) in enumerate(
            zip(design.schema.categorical_positions, used_levels(design, counting, told), strict=True)
        ):
            levels = design.schema.columns[position].levels
            self._require_type(position, table.columns[position].label, _family_of(levels))
            self.levels[l].update(levels)
            self.used[l].update(used)

    def _require_alike(self, first: Schema, table: Table) -> None:
        """Columns as in the first batch."""
        if table.names != first.names or table.named != first.named:
            raise InvalidTableError(
                f"the columns are {', '.join(map(repr, table.names))}, but those of batch 0 are "
                f"{', '.join(map(repr, first.names))}. All batches need the same columns in the same order."
            )
        for position in first.numeric_positions:
            column = table.columns[position]
            if not isinstance(column, NumberColumn) and column.natural_kind() != "numeric":
                raise InvalidTableError(_other_type(column.label, "text", "numbers"))

    def _require_type(self, position: int, label: str, found: str | None) -> None:
        expected = self._types[position] or found
        if found is not None and found != expected:
            raise InvalidTableError(_other_type(label, found, str(expected)))
        self._types[position] = expected

    def schema(self, levels: Sequence[Iterable[Level]]) -> Schema:
        """The columns with these levels."""
        if self._first is None:
            raise InvalidTableError("there are no batches: nothing to fit.")
        return with_levels(self._first, levels)


def _family_of(levels: tuple[Level, ...]) -> str | None:
    """What kind of values these levels are; None if there are no values."""
    names = {bool: "booleans", str: "text", int: "numbers", float: "numbers"}
    found = {names[type(level)] for level in levels if level is not None}
    return " and ".join(sorted(found)) or None


def _other_type(label: str, found: str, expected: str) -> str:
    return f"{label} holds {found}, but {expected} in the batches before. A column has one type in all batches."
