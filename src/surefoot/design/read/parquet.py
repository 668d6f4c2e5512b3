"""Tables in Parquet files, read a batch of rows at a time; the only file that imports pyarrow.

Files are opened anew in every pass and nothing is written anywhere. A batch has at most ``batch_cells`` cells, whatever the
size of the row groups.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from surefoot.exceptions import InvalidTableError


@dataclass(frozen=True)
class ParquetParameters:
    """How much of a file is in memory at a time: memory against calls. Not tuned."""

    # Cells of a batch; as float64, 32 megabytes.
    batch_cells: int = 2**22
    # Rows of a batch, whatever the number of columns.
    max_batch_rows: int = 2**17
    min_batch_rows: int = 2**10
    # Bytes of a column chunk that are read at a time, instead of the whole.
    buffer_bytes: int = 2**20


PARAMETERS = ParquetParameters()


def is_parquet_path(X: Any) -> bool:
    """Whether X is a path, or a list of paths."""
    if isinstance(X, (list, tuple)):
        return len(X) > 0 and all(isinstance(entry, (str, os.PathLike)) for entry in X)
    return isinstance(X, (str, os.PathLike))


@dataclass(frozen=True)
class ParquetBatches:
    """The batches (X, y) or (X, y, sample_weight) of one or more Parquet files.

    Attributes
    ----------
    files : tuple of Path
    target : str
        Name of the column with the labels.
    weight : str or None
        Name of the column with the row weights.
    """

    files: tuple[Path, ...]
    target: str
    weight: str | None

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        parquet = pyarrow_parquet()
        named = [name for name in (self.target, self.weight) if name is not None]
        for path in self.files:
            with parquet.ParquetFile(path, pre_buffer=False, buffer_size=PARAMETERS.buffer_bytes) as file:
                names = file.schema_arrow.names
                for name in named:
                    if name not in names:
                        known = ", ".join(map(repr, names))
                        raise InvalidTableError(f"{path} has no column {name!r}; its columns are {known}.")
                features = [name for name in names if name not in named]
                rows = max(PARAMETERS.batch_cells // max(len(names), 1), PARAMETERS.min_batch_rows)
                rows = min(rows, PARAMETERS.max_batch_rows)
                for batch in file.iter_batches(batch_size=rows):
                    if batch.num_rows:  # a file may end with an empty row group
                        yield (batch.select(features), *(_column(batch, name) for name in named))


def _column(batch: Any, name: str) -> Any:
    """One column as a series that narwhals knows."""
    import pyarrow

    return pyarrow.chunked_array([batch.column(name)])


def open_parquet(X: Any, target: Any, weight: Any) -> ParquetBatches:
    """The batches of a Parquet file, of all such files in a directory (by name), or of a list of files.

    Raises
    ------
    InvalidTableError
        If there is no such file, or no name of a target column.
    ImportError
        Without pyarrow.
    """
    if not isinstance(target, str):
        raise InvalidTableError(f"to fit a Parquet file, name its target column: fit({X!r}, y='column'); y is {target!r:.80}.")
    if weight is not None and not isinstance(weight, str):
        raise InvalidTableError(
            f"to weigh the rows of a Parquet file, name the column that holds the weights; sample_weight is {weight!r:.80}."
        )
    pyarrow_parquet()
    paths: Sequence[Any] = X if isinstance(X, (list, tuple)) else [X]
    files: list[Path] = []
    for entry in paths:
        path = Path(os.fspath(entry))
        if path.is_dir():
            found = sorted(path.glob("*.parquet"))
            if not found:
                raise InvalidTableError(f"the directory {path} holds no file *.parquet.")
            files.extend(found)
        elif path.is_file():
            files.append(path)
        else:
            raise InvalidTableError(f"there is no file or directory {path}.")
    return ParquetBatches(tuple(files), target, weight)


def pyarrow_parquet() -> Any:
    """The reader of Parquet files."""
    try:
        import pyarrow.parquet
    except ImportError as error:
        raise ImportError('reading Parquet files needs pyarrow: pip install "surefoot[parquet]".') from error
    return pyarrow.parquet
