"""A table that comes in batches: what the columns are is learned in a first pass, and every pass encodes batch by batch.

A batch is a tuple (X, y) or (X, y, sample_weight). The batches are read many times, so they must come from something that
starts again whenever it is iterated over: a list, an object whose ``__iter__`` opens its source anew, a Parquet file. What is
learned is what :class:`~surefoot.design.encode.TableEncoder` learns from the table in one piece: names and kinds of the columns
(those of the first batch, which the others must share), levels of the categories (of all batches, sorted), and the two classes.

Rows without weight are checked like any other and then left out; a level that only they hold is unknown to the model. Rows
are counted from 0 over the whole table in all messages, and so are batches.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NoReturn

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from surefoot.design.column import NumberColumn, sorted_levels
from surefoot.design.encode import TableEncoder
from surefoot.design.labels import encode_labels
from surefoot.design.mixed_design import MixedDesign
from surefoot.design.schema import Level, Schema
from surefoot.design.table import Table, read_column, read_table
from surefoot.exceptions import InvalidTableError

# Labels are collected until it is plain that these are no two classes.
MOST_LABELS = 1000
ONE_SHOT_ADVICE = (
    "Pass a list of batches, an object whose __iter__ method starts again from the first batch, or the path of a Parquet file."
)


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
    """

    design: MixedDesign
    signs: NDArray[np.float64]
    weights: NDArray[np.float64]
    first_row: int


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
        self._full = learner.schema()
        self._sizes = learner.sizes
        self._used = [
            np.array([level in used for level in column.levels], dtype=np.bool_)
            for column, used in zip(self._full.categorical_columns, learner.used, strict=True)
        ]
        self.counts = learner.counts
        self.classes = learner.classes()
        self.sample = learner.sample
        self.schema = _kept_levels(self._full, self._used)

    def __iter__(self) -> Iterator[EncodedBatch]:
        encoder = TableEncoder.from_schema(self._full)
        translations = [np.where(used, np.cumsum(used) - 1, -1).astype(np.int32) for used in self._used]
        first_row = 0
        number = -1
        for number, given in enumerate(self._source):
            X, y, sample_weight = _unpacked(number, given)
            try:
                design = encoder.encode(read_table(X, first_row=first_row))
                signs = encode_labels(y, classes=self.classes, first_row=first_row).signs
                weights = _checked_weights(sample_weight, design.n_rows, first_row)
            except InvalidTableError as error:
                _raise_in_batch(error, number)
            if number >= len(self._sizes) or design.n_rows != self._sizes[number] or signs.size != design.n_rows:
                raise InvalidTableError(_changed(number))
            kept = np.flatnonzero(weights > 0)
            if kept.size < design.n_rows:
                design, signs, weights = design.take(kept), signs[kept], weights[kept]
            codes = np.empty_like(design.codes)
            for l, translation in enumerate(translations):
                codes[:, l] = translation[design.codes[:, l]]
            if kept.size != self.counts[number] or codes.min(initial=0) < 0:
                raise InvalidTableError(_changed(number))
            yield EncodedBatch(MixedDesign(design.numeric, codes, self.schema.n_levels, self.schema), signs, weights, first_row)
            first_row += self._sizes[number]
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


def _raise_in_batch(error: InvalidTableError, number: int) -> NoReturn:
    """The same error, with the number of the batch."""
    raise type(error)(f"batch {number}: {error}") from error


def _checked_weights(sample_weight: Any, n_rows: int, first_row: int) -> NDArray[np.float64]:
    if sample_weight is None:
        return np.ones(n_rows)
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.shape != (n_rows,):
        raise InvalidTableError(f"sample_weight has shape {weights.shape}, but X has {n_rows} rows: one weight per row.")
    wrong = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if wrong.size:
        raise InvalidTableError(
            f"sample_weight of row {first_row + wrong[0]} is {weights[wrong[0]]}; weights are finite and not negative. "
            "Use 0 to leave a row out."
        )
    return weights


def _kept_levels(schema: Schema, used: list[NDArray[np.bool_]]) -> Schema:
    columns = list(schema.columns)
    for position, flags in zip(schema.categorical_positions, used, strict=True):
        column = columns[position]
        columns[position] = replace(
            column, levels=tuple(level for level, kept in zip(column.levels, flags, strict=True) if kept)
        )
    return replace(schema, columns=tuple(columns))


class _Learner:
    """What is known after some batches."""

    def __init__(self, encoder: TableEncoder) -> None:
        self.sizes: list[int] = []
        self.counts: list[int] = []
        self.sample: Any = None
        self.used: list[set[Level]] = []
        self._n_rows = 0
        self._encoder = encoder
        self._first: Schema | None = None
        self._types: list[str | None] = []
        self._levels: list[dict[Level, None]] = []
        self._labels: dict[Level, None] = {}
        self._counting_labels: set[Level] = set()
        self._label_arrays: list[Any] = []

    def read(self, batch: Any) -> None:
        number, first_row = len(self.sizes), self._n_rows
        X, y, sample_weight = _unpacked(number, batch)
        if getattr(X, "shape", (1,))[0] == 0:
            raise InvalidTableError(f"batch {number} has no rows. Leave empty batches out.")
        try:
            table = read_table(X, first_row=first_row)
            weights = _checked_weights(sample_weight, table.n_rows, first_row)
            self._read_columns(X, table, weights > 0)
            self._read_labels(y, table, weights > 0)
        except InvalidTableError as error:
            _raise_in_batch(error, number)
        self.sizes.append(table.n_rows)
        self._n_rows += table.n_rows
        self.counts.append(int(np.count_nonzero(weights)))

    def _read_columns(self, X: Any, table: Table, counting: NDArray[np.bool_]) -> None:
        """Values are checked as the encoder does, and levels are collected."""
        if self._first is not None:
            self._require_alike(self._first, table)
        design = self._encoder.fit_encode(table)
        if self._first is None:
            self._first = design.schema
            self._types = [None] * len(table.columns)
            self._levels = [{} for _ in design.schema.categorical_positions]
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
            )
        for l, position in enumerate(design.schema.categorical_positions):
            levels = design.schema.columns[position].levels
            self._require_type(position, table.columns[position].label, _family_of(levels))
            self._levels[l].update(dict.fromkeys(levels))
            self.used[l].update(levels[code] for code in np.unique(design.codes[counting, l]))

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

    def _read_labels(self, y: Any, table: Table, counting: NDArray[np.bool_]) -> None:
        column = read_column(y, "y", first_row=table.first_row)
        reading = column.categories()
        if reading.codes.size != table.n_rows:
            raise InvalidTableError(
                f"Found input variables with inconsistent numbers of samples: X has {table.n_rows} rows, y has "
                f"{reading.codes.size} labels."
            )
        missing = np.flatnonzero(reading.codes < 0)
        if missing.size:
            raise InvalidTableError(
                f"Input y contains NaN: {missing.size} label(s) are missing, the first in row {table.first_row + missing[0]}. "
                "Drop those rows."
            )
        if len(self._labels) <= MOST_LABELS:
            self._labels.update(dict.fromkeys(reading.values))
        self._counting_labels.update(reading.values[code] for code in np.unique(reading.codes[counting]))
        if isinstance(column, NumberColumn):
            self._label_arrays.append(np.empty(0, column.values.dtype))
        elif isinstance(y, np.ndarray) and y.dtype.kind == "U":
            self._label_arrays.append(np.empty(0, y.dtype))
        else:
            self._label_arrays.append(np.empty(0, object))

    def schema(self) -> Schema:
        """The columns with the levels of all batches."""
        if self._first is None:
            raise InvalidTableError("there are no batches: nothing to fit.")
        columns = list(self._first.columns)
        for position, found in zip(self._first.categorical_positions, self._levels, strict=True):
            levels = sorted_levels([level for level in found if level is not None], self._first.label(position))
            columns[position] = replace(columns[position], levels=(*levels, None) if None in found else levels)
        return replace(self._first, columns=tuple(columns))

    def classes(self) -> NDArray[Any]:
        """The two classes of all batches."""
        kind = np.result_type(*{array.dtype for array in self._label_arrays})
        labels = encode_labels(np.array(list(self._labels), dtype=kind))
        if len(self._counting_labels) < 2:
            raise InvalidTableError(
                "This solver needs samples of at least 2 classes in the data, but the data contains only one class: "
                f"{next(iter(self._counting_labels), None)!r} (counting rows with positive sample_weight)."
            )
        return labels.classes


def _family_of(levels: tuple[Level, ...]) -> str | None:
    """What kind of values these levels are; None if there are no values."""
    names = {bool: "booleans", str: "text", int: "numbers", float: "numbers"}
    found = {names[type(level)] for level in levels if level is not None}
    return " and ".join(sorted(found)) or None


def _other_type(label: str, found: str, expected: str) -> str:
    return f"{label} holds {found}, but {expected} in the batches before. A column has one type in all batches."
