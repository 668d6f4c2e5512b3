"""Rows by the name that a person finds them by: the line of a text file, the row of a sheet.

Estimators count rows from 0. A table that a command has opened says where a row stands in its file, and messages are told in
these words before anybody reads them: one numbering, whoever speaks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from surefoot.design.stored.stored_table import StoredTable

# What stands in quotation marks is a name or a value of somebody, and stays.
_ROW = re.compile(r"(?<!\w)'[^']*'|\"[^\"]*\"|\brow (\d+)\b")
_TOLD = "_surefoot_lines_told"


@dataclass
class _Rows:
    """The tables of a command, and which row of a file is the first of the rows at hand."""

    opened: list[StoredTable] = field(default_factory=list)
    first: int = 0


_rows: ContextVar[_Rows | None] = ContextVar("surefoot_rows", default=None)


@contextmanager
def counted_rows() -> Iterator[None]:
    """Within the block, rows in messages are those of the table that was opened, if it was one."""
    token = _rows.set(_Rows())
    try:
        yield
    except Exception as error:
        tell_lines(error)
        raise
    finally:
        _rows.reset(token)


def opened(table: StoredTable) -> None:
    """Note that a command has opened a table."""
    rows = _rows.get()
    if rows is not None:
        rows.opened.append(table)


def begins_at(row: int) -> None:
    """Note which row of the file is row 0 of the rows at hand."""
    rows = _rows.get()
    if rows is not None:
        rows.first = row


def in_lines(message: str) -> str:
    """A message whose rows are lines of the table of the command; as it is where there are several tables."""
    rows = _rows.get()
    if rows is None or len(rows.opened) != 1:
        return message
    return lines_of(rows.opened[0], message, rows.first)


def lines_of(table: StoredTable, message: str, first: int = 0) -> str:
    """A message about rows of a table, in which rows are lines of its file."""
    return _ROW.sub(lambda found: found[0] if found[1] is None else table.place_of(first + int(found[1])), message)


@contextmanager
def told_in_lines(table: StoredTable) -> Iterator[None]:
    """Within the block, errors about rows of a table name their lines."""
    try:
        yield
    except Exception as error:
        _tell(error, lambda message: lines_of(table, message))
        raise


def tell_lines(error: Exception) -> None:
    """Have an error name lines where it names rows, unless it does already."""
    _tell(error, in_lines)


def _tell(error: Exception, words: Callable[[str], str]) -> None:
    if error.args and isinstance(error.args[0], str) and not getattr(error, _TOLD, False):
        error.args = (words(error.args[0]), *error.args[1:])
        setattr(error, _TOLD, True)
