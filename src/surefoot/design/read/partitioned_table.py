"""A table in partitions: what its columns are is learned where the partitions live, and so are they encoded.

What is learned is what :class:`~surefoot.design.encode.table_encoder.TableEncoder` learns from the table in one piece: names
and kinds of the columns, levels of the categories, sorted, and the two classes. The answers of the partitions are of the size
of the levels.

    look      names, and kinds as the values suggest; a partition without rows is left out from here on
    learn     levels and labels, every value checked
    encode    numbers, codes and signs of the rows of positive weight

A column of Python objects may be empty in one partition and text in another, so kinds are agreed upon before levels are read.
Rows are counted from 0 within their partition in all messages.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
from surefoot.design.encode.schema import Kind, Level, Schema
from surefoot.design.encode.table_encoder import TableEncoder
from surefoot.design.read.column import ObjectColumn
from surefoot.design.read.dask_partitions import Partitions
from surefoot.design.read.table import read_table
from surefoot.exceptions import InvalidTableError

Part = tuple[Any, Any, Any]


@dataclass(frozen=True)
class Look:
    """Names and kinds of the columns of one partition; a kind is None where all values are missing and could be anything."""

    names: tuple[str, ...]
    kinds: tuple[Kind | None, ...]


@dataclass(frozen=True)
class Learned:
    """What one partition holds: its schema, the levels of rows that count, and its labels."""

    schema: Schema
    used: tuple[frozenset[Level], ...]
    labels: BatchLabels
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
        category_levels=encoder.category_levels,
    )
    learned = partitions.each(learn_part, [(fixed, number) for number in numbers])
    schema = learned[0].schema
    found = zip(*([column.levels for column in part.schema.categorical_columns] for part in learned), strict=True)
    used = zip(*(part.used for part in learned), strict=True)
    return partitions, PartitionedTable(
        schema=with_levels(schema, [chain.from_iterable(levels) for levels in used]),
        classes=two_classes(part.labels for part in learned),
        counts=[part.n_counting for part in learned],
        first_rows=[0, *np.cumsum([part.n_rows for part in learned]).tolist()[:-1]],
        numbers=numbers,
        all_levels=with_levels(schema, [chain.from_iterable(levels) for levels in found]),
    )


def look_at_part(part: Part, encoder: TableEncoder, number: int) -> Look | None:
    """Names and kinds of one partition, or None if it has no rows."""
    if part[0].shape[0] == 0:
        return None
    with errors_named(f"partition {number}"):
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
    with errors_named(f"partition {number}"):
        design = encoder.fit_encode(X)
        counting = batch_weights(sample_weight, design.n_rows) > 0
        return Learned(
            schema=design.schema,
            used=used_levels(design, counting, encoder.told_levels_),
            labels=batch_labels(y, counting),
            n_rows=design.n_rows,
            n_counting=int(np.count_nonzero(counting)),
        )


def encode_part(
    part: Part, all_levels: Schema, schema: Schema, classes: NDArray[Any], number: int, first_row: int
) -> EncodedBatch:
    """The rows of positive weight of one partition."""
    with errors_named(f"partition {number}"):
        return encode_batch(part, all_levels, schema, classes, first_row=first_row)


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
