"""A table in partitions: what its columns are is learned where the partitions live, and so are they encoded.

What is learned is what :class:`~surefoot.design.encode.TableEncoder` learns from the table in one piece: names and kinds of the
columns, levels of the categories, sorted, and the two classes. The answers of the partitions are of the size of the levels.

    look      names, and kinds as the values suggest; a partition without rows is left out from here on
    learn     levels and labels, every value checked
    encode    numbers, codes and signs of the rows of positive weight

A column of Python objects may be empty in one partition and text in another, so kinds are agreed upon before levels are read.
Rows are counted from 0 within their partition in all messages.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surefoot.design.batches import MOST_LABELS, EncodedBatch
from surefoot.design.column import NumberColumn, ObjectColumn, sorted_levels
from surefoot.design.dask_partitions import Partitions
from surefoot.design.encode import TableEncoder
from surefoot.design.labels import encode_labels
from surefoot.design.mixed_design import MixedDesign
from surefoot.design.schema import Kind, Level, Schema
from surefoot.design.table import read_column, read_table
from surefoot.exceptions import InvalidTableError

Part = tuple[Any, Any, Any]


@dataclass(frozen=True)
class Look:
    """Names and kinds of the columns of one partition; a kind is None where all values are missing and could be anything."""

    names: tuple[str, ...]
    kinds: tuple[Kind | None, ...]


@dataclass(frozen=True)
class Learned:
    """What one partition holds: its schema, the levels and labels of rows that count, and all labels with their type."""

    schema: Schema
    used: tuple[frozenset[Level], ...]
    labels: tuple[Any, ...]
    counting_labels: frozenset[Any]
    label_type: np.dtype[Any]
    n_rows: int
    n_counting: int


@dataclass(frozen=True)
class PartitionedTable:
    """What is known of a table in partitions.

    Attributes
    ----------
    schema : Schema
        With the levels of rows that count.
    classes : ndarray of shape (2,)
    counts : list of int
        Rows of positive weight in each partition.
    first_rows : list of int
        Where the partitions start in the table.
    numbers : list of int
        Places of the partitions among all, those without rows included.
    all_levels : Schema
        With the levels of all rows.
    """

    schema: Schema
    classes: NDArray[Any]
    counts: list[int]
    first_rows: list[int]
    numbers: list[int]
    all_levels: Schema

    @property
    def encodings(self) -> list[tuple[Any, ...]]:
        """Arguments of :func:`encode_part` for each partition."""
        return [
            (self.all_levels, self.schema, self.classes, *place) for place in zip(self.numbers, self.first_rows, strict=True)
        ]


def learn_partitions(partitions: Partitions, encoder: TableEncoder) -> tuple[Partitions, PartitionedTable]:
    """Learn from tuples (X, y, sample_weight); returns the partitions that have rows, and what they hold.

    Raises
    ------
    InvalidTableError
        If there are no rows, partitions disagree in columns or types, or a value cannot be used.
    """
    looks = partitions.each(look_at_part, [(encoder, number) for number in range(len(partitions))])
    numbers = [number for number, look in enumerate(looks) if look is not None]
    kinds = _agreed_kinds({number: look for number, look in enumerate(looks) if look is not None})
    if len(numbers) < len(looks):
        partitions = partitions.chosen(numbers)
    fixed = TableEncoder(
        categorical_features=[at for at, kind in enumerate(kinds) if kind == "categorical"],
        missing_numeric=encoder.missing_numeric,
        missing_categorical=encoder.missing_categorical,
        unseen_categories=encoder.unseen_categories,
    )
    learned = partitions.each(learn_part, [(fixed, number) for number in numbers])
    all_levels = _joined(learned)
    used = [frozenset[Level]().union(*found) for found in zip(*(part.used for part in learned), strict=True)]
    return partitions, PartitionedTable(
        schema=_only_levels(all_levels, used),
        classes=_classes(learned),
        counts=[part.n_counting for part in learned],
        first_rows=[0, *np.cumsum([part.n_rows for part in learned]).tolist()[:-1]],
        numbers=numbers,
        all_levels=all_levels,
    )


def look_at_part(part: Part, encoder: TableEncoder, number: int) -> Look | None:
    """Names and kinds of one partition, or None if it has no rows."""
    if part[0].shape[0] == 0:
        return None
    with _in_partition(number):
        table = read_table(part[0])
        kinds: list[Kind | None] = list(encoder.kinds(table))
        if encoder.categorical_features == "from_dtype":
            for at, column in enumerate(table.columns):
                if isinstance(column, ObjectColumn) and kinds[at] == "numeric" and not column.categories().values:
                    kinds[at] = None
        return Look(table.names, tuple(kinds))


def learn_part(part: Part, encoder: TableEncoder, number: int) -> Learned:
    """Levels and labels of one partition; all values are checked."""
    X, y, sample_weight = part
    with _in_partition(number):
        design = encoder.fit_encode(X)
        counting = _weights(sample_weight, design.n_rows) > 0
        column = read_column(y, "y")
        reading = column.categories()
        if reading.codes.size != design.n_rows:
            raise InvalidTableError(
                f"Found input variables with inconsistent numbers of samples: X has {design.n_rows} rows, y has "
                f"{reading.codes.size} labels."
            )
        missing = np.flatnonzero(reading.codes < 0)
        if missing.size:
            raise InvalidTableError(
                f"Input y contains NaN: {missing.size} label(s) are missing, the first in row {missing[0]}. Drop those rows."
            )
        label_type: np.dtype[Any] = np.dtype(object)
        if isinstance(column, NumberColumn):
            label_type = column.values.dtype
        elif isinstance(y, np.ndarray) and y.dtype.kind == "U":
            label_type = y.dtype
        return Learned(
            schema=design.schema,
            used=tuple(
                frozenset(category.levels[code] for code in np.unique(design.codes[counting, l]))
                for l, category in enumerate(design.schema.categorical_columns)
            ),
            # Enough to say that these are no two classes, whatever y is.
            labels=reading.values[:MOST_LABELS],
            counting_labels=frozenset(reading.values[code] for code in np.unique(reading.codes[counting])[:MOST_LABELS]),
            label_type=label_type,
            n_rows=design.n_rows,
            n_counting=int(np.count_nonzero(counting)),
        )


def encode_part(
    part: Part, all_levels: Schema, schema: Schema, classes: NDArray[Any], number: int, first_row: int
) -> EncodedBatch:
    """The rows of positive weight of one partition."""
    X, y, sample_weight = part
    with _in_partition(number):
        design = TableEncoder.from_schema(all_levels).encode(X)
        signs = encode_labels(y, classes=classes).signs
        weights = _weights(sample_weight, design.n_rows)
    kept = np.flatnonzero(weights > 0)
    if kept.size < design.n_rows:
        design, signs, weights = design.take(kept), signs[kept], weights[kept]
    codes = np.empty_like(design.codes)
    for l, (known, used) in enumerate(zip(all_levels.categorical_columns, schema.categorical_columns, strict=True)):
        # Levels of rows that do not count are in no row that is left.
        places = {level: code for code, level in enumerate(used.levels)}
        codes[:, l] = np.array([places.get(level, -1) for level in known.levels], dtype=np.int32)[design.codes[:, l]]
    return EncodedBatch(MixedDesign(design.numeric, codes, schema.n_levels, schema), signs, weights, first_row)


@contextmanager
def _in_partition(number: int) -> Iterator[None]:
    """Adds the number of the partition to what is said about its rows."""
    try:
        yield
    except InvalidTableError as error:
        raise type(error)(f"partition {number}: {error}") from error


def _weights(sample_weight: Any, n_rows: int) -> NDArray[np.float64]:
    if sample_weight is None:
        return np.ones(n_rows)
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.shape != (n_rows,):
        raise InvalidTableError(f"sample_weight has shape {weights.shape}, but X has {n_rows} rows: one weight per row.")
    wrong = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if wrong.size:
        raise InvalidTableError(
            f"sample_weight of row {wrong[0]} is {weights[wrong[0]]}; weights are finite and not negative. "
            "Use 0 to leave a row out."
        )
    return weights


def _agreed_kinds(looks: dict[int, Look]) -> list[Kind]:
    """The kinds of all partitions together."""
    if not looks:
        raise InvalidTableError("Found array with 0 sample(s): no partition has a row.")
    first = next(iter(looks))
    names = looks[first].names
    kinds: list[Kind | None] = [None] * len(names)
    sources = [first] * len(names)
    for number, look in looks.items():
        if look.names != names:
            raise InvalidTableError(
                f"partition {number}: the columns are {', '.join(map(repr, look.names))}, but those of partition {first} are "
                f"{', '.join(map(repr, names))}. All partitions need the same columns in the same order."
            )
        for at, kind in enumerate(look.kinds):
            if kinds[at] is None:
                kinds[at], sources[at] = kind, number
            elif kind is not None and kind != kinds[at]:
                raise InvalidTableError(
                    f"column {names[at]!r} is {kinds[at]} in partition {sources[at]} but {kind} in partition {number}. Make it "
                    "all numbers or all text, or name it in categorical_features to take every distinct value as a level."
                )
    return [kind or "numeric" for kind in kinds]


def _joined(learned: Sequence[Learned]) -> Schema:
    """The columns with the levels of all partitions."""
    schema = learned[0].schema
    columns = list(schema.columns)
    for position in schema.categorical_positions:
        found = dict.fromkeys(level for part in learned for level in part.schema.columns[position].levels)
        levels = sorted_levels([level for level in found if level is not None], schema.label(position))
        columns[position] = replace(columns[position], levels=(*levels, None) if None in found else levels)
    return replace(schema, columns=tuple(columns))


def _only_levels(schema: Schema, used: Sequence[frozenset[Level]]) -> Schema:
    columns = list(schema.columns)
    for position, kept in zip(schema.categorical_positions, used, strict=True):
        levels = tuple(level for level in columns[position].levels if level in kept)
        columns[position] = replace(columns[position], levels=levels)
    return replace(schema, columns=tuple(columns))


def _classes(learned: Sequence[Learned]) -> NDArray[Any]:
    """The two classes of all partitions."""
    values = list(dict.fromkeys(label for part in learned for label in part.labels))
    kind = np.result_type(*{part.label_type for part in learned})
    classes = encode_labels(np.array(values, dtype=kind)).classes
    counting = frozenset[Any]().union(*(part.counting_labels for part in learned))
    if len(counting) < 2:
        raise InvalidTableError(
            "This solver needs samples of at least 2 classes in the data, but the data contains only one class: "
            f"{next(iter(counting), None)!r} (counting rows with positive sample_weight)."
        )
    return classes
