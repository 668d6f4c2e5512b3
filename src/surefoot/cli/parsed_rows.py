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


class ParsedRows:
    """Batches (X, y) of a file; a context manager, which removes what it wrote.

    Parameters
    ----------
    source : TableSource
    columns : list of ReadColumn
    target : ReadColumn
    """

    def __init__(self, source: TableSource, columns: Sequence[ReadColumn], target: ReadColumn) -> None:
        self._source, self._columns, self._target = source, list(columns), target
        self._levels: dict[str, dict[Any, int]] = {}
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._batches: list[Path] = []

    def __enter__(self) -> Self:
        self._folder = tempfile.TemporaryDirectory(prefix="surefoot-")
        every = [*self._columns, self._target]
        for at, chunk in enumerate(self._source.chunks(every)):
            path = Path(self._folder.name) / f"{at}.npz"
            np.savez(path, **{str(k): self._packed(column, chunk[column.name]) for k, column in enumerate(every)})
            self._batches.append(path)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._folder is not None:
            self._folder.cleanup()

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        every = [*self._columns, self._target]
        texts = {name: np.array([*known], dtype=object) for name, known in self._levels.items()}
        for path in self._batches:
            with np.load(path, allow_pickle=False) as packed:
                chunk = {
                    column.name: packed[str(k)] if column.kind == "numeric" else texts[column.name][packed[str(k)]].tolist()
                    for k, column in enumerate(every)
                }
            yield self._source.frame(chunk, self._columns), labels(chunk[self._target.name])

    def _packed(self, column: ReadColumn, values: Any) -> Any:
        if column.kind == "numeric":
            return values
        known = self._levels.setdefault(column.name, {})
        return np.array([known.setdefault(value, len(known)) for value in values], dtype=np.int32)
