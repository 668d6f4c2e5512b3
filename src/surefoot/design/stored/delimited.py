"""Tables in text files, read a chunk of rows at a time: CSV and its relatives.

Delimiter and encoding are looked up in the beginning of the file unless they are given. Nothing else is guessed: a header with
repeated or empty names, a row that is longer or shorter than the header and bytes of another encoding are errors that name
their line.
"""

from __future__ import annotations

import codecs
import csv
import importlib.util
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from itertools import chain, count, islice
from operator import methodcaller
from pathlib import Path
from typing import IO, Any

from surefoot.design.stored.compressed import compression_of, stored_bytes
from surefoot.design.stored.table_header import require_header
from surefoot.design.stored.text_block import TextBlock
from surefoot.exceptions import InvalidTableError

DELIMITERS = (",", ";", "\t", "|")
_MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
# Text longer than this in one cell is a quotation mark that was never closed.
_LONGEST_CELL = 1 << 20


@dataclass(frozen=True)
class SampleParameters:
    """What of a file is looked at to guess encoding and delimiter: more is surer, and slower. Not tuned."""

    bytes: int = 1 << 16
    rows: int = 50


SAMPLE = SampleParameters()


@dataclass(frozen=True)
class DelimitedFile:
    """A text file with a header.

    Attributes
    ----------
    path : Path
    delimiter, encoding : str
    header : tuple of str
        All names; empty ones belong to columns that are left out.
    """

    path: Path
    delimiter: str
    encoding: str
    header: tuple[str, ...]

    typed = False

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name in self.header if name)

    @property
    def described(self) -> str:
        packed = compression_of(self.path)
        return f"{'' if packed is None else f'{packed}, '}delimiter {self.delimiter!r}, {self.encoding}"

    def place_of(self, row: int) -> str:
        """The line that a row begins in: cells in quotation marks may go on for several, and blank ones are no rows."""
        with _open(self.path, self.encoding) as file:
            reader = _reader(file, self.delimiter)
            begins = 1
            for at in count(-1):  # the header comes first
                cells = next(reader, None)
                while cells is not None and not cells:
                    begins = reader.line_num + 1
                    cells = next(reader, None)
                if cells is None or at == row:
                    return f"line {begins}"
                begins = reader.line_num + 1
        return f"row {row}"

    def chunks(self, names: Sequence[str], rows: int) -> Iterator[dict[str, Sequence[Any]]]:
        """Some columns, by name, of up to ``rows`` rows at a time."""
        places = [self.header.index(name) for name in names]
        width = len(self.header)
        with _open(self.path, self.encoding) as file:
            reader, read = _reader(file, self.delimiter), 0
            try:
                next(reader)
                read = reader.line_num
                while lines := list(islice(file, rows)):
                    block = _arrow_blocks(lines, self.delimiter, width, places) if _has_arrow() else None
                    if block is not None:
                        read += len(lines)
                        yield dict(zip(names, block, strict=True))
                        continue
                    cells = _plain_cells(lines, self.delimiter, width)
                    if cells is not None:
                        read += len(lines)
                        yield {name: cells[place::width] for name, place in zip(names, places, strict=True)}
                        continue
                    # A cell in quotation marks may go on for lines that have not been read yet.
                    reader = _reader(chain(lines, file), self.delimiter)
                    chunk = []
                    for _ in range(len(lines)):
                        begins = read + reader.line_num + 1
                        row = next(reader, None)
                        if row:  # without blank lines
                            _require_width(row, width, begins, self)
                            chunk.append(row)
                    read += reader.line_num
                    if chunk:
                        columns = list(zip(*chunk, strict=True))
                        yield {name: columns[place] for name, place in zip(names, places, strict=True)}
            except UnicodeDecodeError as error:
                raise _wrong_encoding(self.path, self.encoding, error) from error
            except csv.Error as error:
                line = reader.line_num + read
                raise InvalidTableError(
                    f"{self.path}, line {line}: {error}. Check the quotation marks there, or --delimiter."
                ) from error


def open_delimited(
    path: Path, *, delimiter: str | None = None, encoding: str | None = None, drop_unnamed: bool = False
) -> DelimitedFile:
    """Look at the beginning of a text file.

    Raises
    ------
    InvalidTableError
        If it is empty, is not text, or has a header that no table can have; the message says what to do.
    """
    sample = _sample(path)
    chosen = encoding or next((name for mark, name in _MARKS if sample.startswith(mark)), "utf-8")
    try:
        codecs.lookup(chosen)
    except LookupError:
        raise InvalidTableError(
            f"there is no encoding {chosen!r}; common ones are utf-8, latin-1, cp1252 and utf-16."
        ) from None
    if b"\0" in sample and "16" not in chosen and "32" not in chosen:
        raise InvalidTableError(f"{path} is no text: it has zero bytes. Export the table as CSV or Parquet first.")
    rows = _first_rows(path, chosen, delimiter or ",")
    if not rows:
        raise InvalidTableError(f"{path} is empty: there is neither a header nor a row.")
    if delimiter is None:
        delimiter = _guess_delimiter(path, chosen)
        rows = _first_rows(path, chosen, delimiter)
    header = tuple(name.strip() for name in rows[0])
    require_header(path, header, drop_unnamed)
    return DelimitedFile(path, delimiter, chosen, header)


def _sample(path: Path) -> bytes:
    with stored_bytes(path) as file:
        return file.read(SAMPLE.bytes)


@contextmanager
def _open(path: Path, encoding: str) -> Iterator[IO[str]]:
    # A mark at the beginning is no part of the first name, whoever wrote it.
    chosen = "utf-8-sig" if encoding.lower() in ("utf-8", "utf8") else encoding
    with stored_bytes(path) as file, io.TextIOWrapper(file, encoding=chosen, newline="") as text:
        yield text


def _reader(file: Iterable[str], delimiter: str) -> Any:
    csv.field_size_limit(_LONGEST_CELL)
    return csv.reader(file, delimiter=delimiter, strict=True)


def _first_rows(path: Path, encoding: str, delimiter: str) -> list[list[str]]:
    with _open(path, encoding) as file:
        try:
            reader = _reader(file, delimiter)
            return [row for row in islice(reader, SAMPLE.rows) if row]
        except UnicodeDecodeError as error:
            raise _wrong_encoding(path, encoding, error) from error
        except csv.Error:
            # Of another delimiter, perhaps; whoever reads on will say so by line.
            file.seek(0)
            return [line.rstrip("\r\n").split(delimiter) for line in islice(file, SAMPLE.rows) if line.strip()]


def _guess_delimiter(path: Path, encoding: str) -> str:
    """The delimiter under which the first rows are longest and of one length."""
    best, most = ",", 1
    for candidate in DELIMITERS:
        widths = Counter(map(len, _first_rows(path, encoding, candidate)))
        width, agreeing = widths.most_common(1)[0]
        if agreeing == widths.total() and width > most:
            best, most = candidate, width
    if most == 1:  # rows of several lengths: the header decides, and the first wrong row is named when it is read
        header = _first_rows(path, encoding, "\n")[0][0]
        return max(DELIMITERS, key=header.count)
    return best


@cache
def _has_arrow() -> bool:
    return importlib.util.find_spec("pyarrow") is not None


@cache
def _loose_quote(delimiter: str) -> re.Pattern[str]:
    """A quotation mark with text on both sides: such a cell is read with care, or refused."""
    mark = re.escape(delimiter)
    return re.compile(rf'[^{mark}\n"]"[^{mark}\r\n"]')


def _arrow_blocks(lines: list[str], delimiter: str, width: int, places: Sequence[int]) -> list[TextBlock] | None:
    """Some columns of some lines; None if they have to be read with care, which the csv module takes."""
    if delimiter not in DELIMITERS or width == 1:
        return None
    text = "".join(lines)
    quoted = '"' in text
    # An odd number of marks in a line: a cell goes on in the next one.
    if quoted and (any(at % 2 for at in map(methodcaller("count", '"'), lines)) or _loose_quote(delimiter).search(text)):
        return None
    if "\r" in text:
        text = text.replace("\r\n", "\n")
        if "\r" in text:
            return None
    if text.startswith("\n") or "\n\n" in text:  # a blank line is no row
        return None
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    known = [str(at) for at in range(width)]
    try:
        found = arrow_csv.read_csv(
            pa.BufferReader(text.encode()),
            arrow_csv.ReadOptions(column_names=known, block_size=max(len(text) * 4, 1), use_threads=False),
            arrow_csv.ParseOptions(delimiter=delimiter, quote_char='"' if quoted else False, ignore_empty_lines=False),
            arrow_csv.ConvertOptions(
                column_types=dict.fromkeys(known, pa.string()),
                include_columns=[str(at) for at in places],
                strings_can_be_null=False,
            ),
        )
    except (pa.ArrowInvalid, UnicodeEncodeError):
        return None
    if found.num_rows != len(lines):
        return None
    return [TextBlock(_one_chunk(column)) for column in found.columns]


def _one_chunk(column: Any) -> Any:
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _plain_cells(lines: list[str], delimiter: str, width: int) -> list[str] | None:
    """All cells of some lines, row after row; None if they have to be read with care: quotation marks, lines of other lengths.

    Splitting the text at once takes a fifth of the time of reading it row by row.
    """
    if set(map(methodcaller("count", delimiter), lines)) != {width - 1} or width == 1:
        return None
    text = "".join(lines)
    if '"' in text:
        return None
    if "\r" in text:
        text = text.replace("\r\n", "\n")
        if "\r" in text:
            return None
    return text.removesuffix("\n").replace("\n", delimiter).split(delimiter)


def _require_width(row: list[str], width: int, line: int, file: DelimitedFile) -> None:
    if len(row) != width:
        raise InvalidTableError(
            f"{file.path}, line {line}: {len(row)} values, but the header has {width} names (delimiter "
            f"{file.delimiter!r}). Put values that hold the delimiter in quotation marks, or name another --delimiter."
        )


def _wrong_encoding(path: Path, encoding: str, error: UnicodeDecodeError) -> InvalidTableError:
    found = error.object[error.start : error.start + 1].hex()
    return InvalidTableError(
        f"{path} is not {encoding}: byte 0x{found} means nothing there. Name its encoding, for example --encoding latin-1 or "
        "--encoding cp1252."
    )
