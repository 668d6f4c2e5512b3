"""Tables in Parquet and Feather files, read a batch of rows at a time by pyarrow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from surefoot.design.read.parquet import PARAMETERS, pyarrow_parquet
from surefoot.exceptions import InvalidTableError

Format: TypeAlias = Literal["Parquet", "Feather"]
# How files of either format begin.
PARQUET_MARK, FEATHER_MARK, OLD_FEATHER_MARK = b"PAR1", b"ARROW1", b"FEA1"


@dataclass(frozen=True)
class ArrowFile:
    """A file that knows the types of its columns."""

    path: Path
    names: tuple[str, ...]
    described: Format

    typed = True

    def chunks(self, names: Sequence[str], rows: int) -> Iterator[dict[str, Sequence[Any]]]:
        """Some columns, by name, as Python values of up to ``rows`` rows at a time."""
        for batch in (self._parquet if self.described == "Parquet" else self._feather)(names, rows):
            if batch.num_rows:
                yield {name: batch.column(name).to_pylist() for name in names}

    def place_of(self, row: int) -> str:
        return f"row {row + 1}"

    def _parquet(self, names: Sequence[str], rows: int) -> Iterator[Any]:
        with pyarrow_parquet().ParquetFile(self.path, pre_buffer=False, buffer_size=PARAMETERS.buffer_bytes) as file:
            yield from file.iter_batches(batch_size=rows, columns=list(names))

    def _feather(self, names: Sequence[str], rows: int) -> Iterator[Any]:
        import pyarrow as pa

        with pa.memory_map(str(self.path)) as mapped, pa.ipc.open_file(mapped) as file:
            for at in range(file.num_record_batches):
                batch = file.get_batch(at).select(list(names))
                for first in range(0, batch.num_rows, rows):
                    yield batch.slice(first, rows)


def open_arrow_file(path: Path, kind: Format) -> ArrowFile:
    """Look at the columns of a Parquet or Feather file.

    Raises
    ------
    InvalidTableError
        If it is none, or has no columns, or two of one name.
    """
    parquet = pyarrow_parquet()
    import pyarrow as pa

    try:
        if kind == "Parquet":
            with parquet.ParquetFile(path) as file:
                names = tuple(file.schema_arrow.names)
        else:
            with pa.memory_map(str(path)) as mapped, pa.ipc.open_file(mapped) as stored:
                names = tuple(stored.schema.names)
    except (pa.ArrowException, OSError) as error:
        raise InvalidTableError(f"{path} is not a {kind} file that can be read: {error!s:.200}") from error
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated or "" in names or not names:
        flaw = f"the column {repeated[0]!r} twice" if repeated else "a column without a name" if names else "no columns"
        raise InvalidTableError(f"{path} has {flaw}. Rename its columns.")
    return ArrowFile(path, names, kind)
