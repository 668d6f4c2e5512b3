"""Tables in a sheet of an Excel workbook, read row by row by openpyxl."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from surefoot.design.stored.table_header import require_header
from surefoot.exceptions import InvalidTableError

# What a cell shows whose formula has no value.
_ERRORS = frozenset({"#DIV/0!", "#N/A", "#NAME?", "#NULL!", "#NUM!", "#REF!", "#VALUE!"})


@dataclass(frozen=True)
class Workbook:
    """One sheet with a header; rows without any value are left out.

    Attributes
    ----------
    path : Path
    sheet : str
    header : tuple of str
        All names; empty ones belong to columns that are left out.
    """

    path: Path
    sheet: str
    header: tuple[str, ...]

    typed = True

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name in self.header if name)

    @property
    def described(self) -> str:
        return f"Excel, sheet {self.sheet!r}"

    def chunks(self, names: Sequence[str], rows: int) -> Iterator[dict[str, Sequence[Any]]]:
        """Some columns, by name, of up to ``rows`` rows at a time."""
        places = {name: self.header.index(name) for name in names}
        with _sheet(self.path, self.sheet) as cells:
            read = self._rows(cells)
            while chunk := [row for _, row in islice(read, rows)]:
                yield {name: [row[place] for row in chunk] for name, place in places.items()}

    def place_of(self, row: int) -> str:
        with _sheet(self.path, self.sheet) as cells:
            for at, (number, _) in enumerate(self._rows(cells)):
                if at == row:
                    return f"row {number} of the sheet"
        return f"row {row}"

    def _rows(self, cells: Iterator[tuple[Any, ...]]) -> Iterator[tuple[int, list[Any]]]:
        """Rows with a value, as wide as the header, with their numbers in the sheet."""
        width = len(self.header)
        _first_filled(cells)
        for number, row in cells:
            values = [_plain(value) for value in row]
            if all(value is None for value in values):
                continue
            if any(value is not None for value in values[width:]):
                raise InvalidTableError(
                    f"{self.path}, row {number} of the sheet has a value beyond the {width} columns of the header. Name that "
                    "column, or delete the value."
                )
            yield number, (values + [None] * width)[:width]


def open_workbook(path: Path, *, sheet: str | None = None, drop_unnamed: bool = False) -> Workbook:
    """Look at the header of a sheet; None: of the only one with values.

    Raises
    ------
    InvalidTableError
        If the workbook cannot be read, or it is not clear which sheet is meant, or the header is none.
    """
    names = _sheets(path)
    if sheet is not None and sheet not in names:
        raise InvalidTableError(f"{path} has no sheet {sheet!r}; it has {', '.join(map(repr, names))}.")
    filled = {name: header for name in ([sheet] if sheet is not None else names) if (header := _header(path, name))}
    if not filled:
        raise InvalidTableError(f"{path} is empty: {'this sheet' if sheet is not None else 'no sheet'} has a value.")
    if len(filled) > 1:
        raise InvalidTableError(
            f"{path} has {len(filled)} sheets with values, {', '.join(map(repr, filled))}. Say which one: --sheet "
            f"{next(iter(filled))!r}."
        )
    ((chosen, header),) = filled.items()
    require_header(path, header, drop_unnamed)
    return Workbook(path, chosen, header)


def _header(path: Path, sheet: str) -> tuple[str, ...]:
    with _sheet(path, sheet) as cells:
        found = _first_filled(cells)
    texts = [("" if value is None else str(value).strip()) for value in found]
    while texts and not texts[-1]:
        texts.pop()
    return tuple(texts)


def _first_filled(cells: Iterator[tuple[int, Any]]) -> Sequence[Any]:
    return next((row for _, row in cells if any(value is not None for value in row)), ())


def _plain(value: Any) -> Any:
    """A cell as Python has it: blanks and errors of formulas are gaps."""
    if isinstance(value, str) and (not value.strip() or value in _ERRORS):
        return None
    return value


def _openpyxl() -> Any:
    try:
        import openpyxl
    except ImportError as error:
        raise ImportError('reading Excel workbooks needs openpyxl: pip install "surefoot[excel]".') from error
    return openpyxl


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    try:
        book = _openpyxl().load_workbook(path, read_only=True, data_only=True)
    except (zipfile.BadZipFile, KeyError, ValueError, OSError) as error:
        raise InvalidTableError(f"{path} is not a workbook that can be read: {error!s:.200}") from error
    try:
        yield book
    finally:
        book.close()


def _sheets(path: Path) -> list[str]:
    with _opened(path) as book:
        return [sheet.title for sheet in book.worksheets]


@contextmanager
def _sheet(path: Path, name: str) -> Iterator[Iterator[tuple[int, Any]]]:
    """Rows of a sheet with their numbers."""
    with _opened(path) as book:
        sheet = book[name]
        sheet.reset_dimensions()  # some programs write dimensions that are wrong
        yield enumerate(sheet.iter_rows(values_only=True), 1)
