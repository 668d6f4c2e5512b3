"""Rows of a long file as batches that can be gone through many times.

Reading text is what takes time, so it is done once: numbers, and levels as codes, go to a temporary folder, and every pass
reads them there. Memory is needed for one batch and for the distinct levels.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np

from surefoot.cli.table_source import ReadColumn, TableSource, labels
from surefoot.design.read.column import Categories, CodedColumn, NumberColumn
from surefoot.design.read.table import Table
from surefoot.design.stored.text_block import CodedLevels

# Rows of a batch, at least, but for the last one: few calls for each pass against memory. Not tuned.
BATCH_ROWS = 1 << 16
# Copies of a table that frames, encoding and solvers hold at the same time, at most.
_COPIES = 6


def exceeds_memory(source: TableSource, columns: Sequence[ReadColumn], memory: float) -> bool:
    """Whether these columns and a target, in memory as a whole, might need more than so many MB."""
    return source.n_rows * (len(columns) + 1) * 8 * _COPIES > memory * 2**20


class ParsedRows:
    """Batches (X, y) of a file; a context manager, which removes what it wrote.

    Parameters
    ----------
    source : TableSource
    columns : list of ReadColumn
    target : ReadColumn

    Attributes
    ----------
    counts : list of int
        Rows of each batch, once it has been entered.
    """

    def __init__(self, source: TableSource, columns: Sequence[ReadColumn], target: ReadColumn) -> None:
        self._source, self._columns = source, [*columns, target]
        self._levels: dict[str, dict[Any, int]] = {column.name: {} for column in self._columns if column.kind == "categorical"}
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._batches: list[Path] = []
        self.counts: list[int] = []

    def __enter__(self) -> Self:
        self._folder = tempfile.TemporaryDirectory(prefix="surefoot-")
        parts: list[list[Any]] = []
        for chunk in self._source.chunks(self._columns):
            parts.append([self._packed(column, chunk[column.name]) for column in self._columns])
            if sum(len(part[-1]) for part in parts) >= BATCH_ROWS:
                self._write(Path(self._folder.name), parts)
                parts = []
        if parts:
            self._write(Path(self._folder.name), parts)
        return self

    def _write(self, folder: Path, parts: list[list[Any]]) -> None:
        """One batch: all numbers, column by column, and then all places of levels."""
        path = folder / f"{len(self._batches)}"
        columns = [np.concatenate(pieces) for pieces in zip(*parts, strict=True)]
        with path.open("wb") as file:
            for kind, own in (("numeric", np.float64), ("categorical", np.int32)):
                for column, values in zip(self._columns, columns, strict=True):
                    if column.kind == kind:
                        np.ascontiguousarray(values, own).tofile(file)
        self._batches.append(path)
        self.counts.append(len(columns[-1]))

    def _read(self, path: Path, rows: int) -> list[Any]:
        """The columns of a batch, in their order."""
        n_numbers = sum(column.kind == "numeric" for column in self._columns)
        with path.open("rb") as file:
            numbers = iter(np.fromfile(file, np.float64, n_numbers * rows).reshape(n_numbers, rows))
            n_codes = len(self._columns) - n_numbers
            codes = iter(np.fromfile(file, np.int32, n_codes * rows).reshape(n_codes, rows))
        return [next(numbers) if column.kind == "numeric" else next(codes) for column in self._columns]

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._folder is not None:
            self._folder.cleanup()

    def __iter__(self) -> Iterator[tuple[Table, Any]]:
        levels = {name: tuple(known) for name, known in self._levels.items()}
        names = tuple(column.name for column in self._columns[:-1])
        first = 0
        for path, rows in zip(self._batches, self.counts, strict=True):
            values = self._read(path, rows)
            *read, y = [
                NumberColumn(f"column {column.name!r}", numbers, first_row=first)
                if column.kind == "numeric"
                else CodedColumn(f"column {column.name!r}", Categories(numbers, levels[column.name]), first)
                for column, numbers in zip(self._columns, values, strict=True)
            ]
            yield Table(rows, names, True, read, first_row=first), labels(y.values) if isinstance(y, NumberColumn) else y
            first += rows

    def _packed(self, column: ReadColumn, values: Any) -> Any:
        """Numbers, or places of levels; that of a gap is -1."""
        if column.kind == "numeric":
            return values
        known = self._levels[column.name]
        distinct = values.values if isinstance(values, CodedLevels) else tuple(dict.fromkeys(values))
        for value in distinct:
            if value is not None:
                known.setdefault(value, len(known))
        places = {**known, None: -1}
        if isinstance(values, CodedLevels):
            return np.array([places[value] for value in distinct], np.int32)[values.codes]
        return np.fromiter(map(places.__getitem__, values), np.int32, len(values))
