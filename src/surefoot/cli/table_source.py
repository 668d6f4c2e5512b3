"""A table in a file: what its columns hold, and their rows as data frames, all at once or in batches."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np

from surefoot.cli.progress_bar import shown_reading
from surefoot.cli.tables.file_lines import opened, told_in_lines
from surefoot.design.read.column_guess import ColumnTally
from surefoot.design.read.written_values import TRUTH_TEXTS, Gaps, Spelling, parse_levels, parse_numbers
from surefoot.design.stored.open_stored import open_stored
from surefoot.design.stored.stored_table import StoredTable
from surefoot.design.write.output_frame import build_frame
from surefoot.exceptions import InvalidTableError

Kind: TypeAlias = Literal["numeric", "categorical"]

CHUNK_ROWS = 1 << 14
_LIBRARIES = ("pandas", "polars", "pyarrow")


@dataclass(frozen=True)
class ReadColumn:
    """How one column is read; ``levels`` are those of a model, by their text, ``unit`` is what stands beside its numbers."""

    name: str
    kind: Kind
    spelling: Spelling = "plain"
    levels: Mapping[str, Any] | None = None
    unit: str = ""

    def parse(self, values: Sequence[Any], gaps: Gaps, first_row: int, *, typed: bool) -> Any:
        own = gaps.of(self.name)
        if self.kind == "numeric":
            return parse_numbers(values, self.spelling, own.all, self.name, first_row, self.unit)
        return parse_levels(values, self.levels, own, typed=typed)

    @property
    def told(self) -> str:
        """The kind, and how numbers are written where that is unusual."""
        how = ", ".join(([self.unit] if self.unit else []) + ([self.spelling] if self.spelling != "plain" else []))
        return f"{self.kind} ({how})" if how else self.kind


@dataclass(frozen=True)
class TableSource:
    """A file that has been gone through once.

    Attributes
    ----------
    file : StoredTable
    tallies : dict of str to ColumnTally
        What each column holds.
    gaps : Gaps
        Texts that stand for gaps.
    decimal_mark : str or None
    library : str
        The data frame library of the frames.
    quiet : bool
        Whether long reading is silent.
    """

    file: StoredTable
    tallies: Mapping[str, ColumnTally]
    gaps: Gaps
    decimal_mark: str | None
    library: str = field(default_factory=lambda: _library())
    quiet: bool = True

    @property
    def n_rows(self) -> int:
        return next(iter(self.tallies.values())).n_rows

    @property
    def path(self) -> Path:
        return self.file.path

    @property
    def typed(self) -> bool:
        """Whether the file says what its values are; in a text file everything is text."""
        return self.file.typed

    def require(self, name: str, what: str) -> str:
        """The name of a column, if there is one."""
        if name not in self.tallies:
            known = ", ".join(map(repr, self.tallies))
            raise InvalidTableError(f"{self.path} has no column {name!r}, which {what} names. Its columns are {known}.")
        return name

    def column(self, name: str, kind: Kind, levels: Mapping[str, Any] | None = None) -> ReadColumn:
        """How a column is read as numbers or as categories."""
        tally = self.tallies[name]
        if kind == "categorical" or not tally.all_numbers:
            return ReadColumn(name, kind, "plain", levels)
        return ReadColumn(name, kind, tally.spelling(self.decimal_mark), levels, tally.unit)

    def fitted_column(self, name: str, kind: Kind) -> ReadColumn:
        """How a column is read for a model that is to be fitted: truth values are such, as data frame libraries read them."""
        truths = kind == "categorical" and not self.typed and self.tallies[name].all_truths
        return self.column(name, kind, TRUTH_TEXTS if truths else None)

    def chunks(self, columns: Sequence[ReadColumn], rows: int = CHUNK_ROWS) -> Iterator[dict[str, Any]]:
        """The columns, read, of some rows at a time."""
        first = 0
        read = shown_reading(self.path, self.file.chunks([column.name for column in columns], rows), quiet=self.quiet)
        with told_in_lines(self.file):
            for chunk in read:
                yield {column.name: column.parse(chunk[column.name], self.gaps, first, typed=self.typed) for column in columns}
                first += len(next(iter(chunk.values())))

    def frame(self, content: Mapping[str, Any], columns: Sequence[ReadColumn]) -> Any:
        return build_frame({column.name: content[column.name] for column in columns}, self.library)

    def load(self, columns: Sequence[ReadColumn]) -> dict[str, Any]:
        """The columns of all rows."""
        parts = list(self.chunks(columns))
        return {
            column.name: np.concatenate([part[column.name] for part in parts])
            if column.kind == "numeric"
            else _joined([part[column.name] for part in parts])
            for column in columns
        }


def _joined(parts: list[Any]) -> list[Any]:
    return [value for part in parts for value in part]


def labels(values: Any) -> Any:
    """Labels as an array: whole numbers stay whole."""
    if isinstance(values, np.ndarray):
        return values.astype(np.int64) if np.all(values == np.rint(values)) else values
    return np.array(values, dtype=bool if {type(value) for value in values} == {bool} else object)


def open_table(
    path: str,
    *,
    columns: Sequence[str] | None = None,
    levels: Mapping[str, Mapping[str, Any]] | None = None,
    others: Mapping[str, Sequence[str]] | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    decimal_mark: str | None = None,
    missing_values: Sequence[str] = (),
    drop_unnamed: bool = False,
    sheet: str | None = None,
    gap_codes: Mapping[str, frozenset[str]] | None = None,
    quiet: bool = True,
) -> TableSource:
    """Open a file and go through it once, with memory for some rows of it.

    Parameters
    ----------
    path : str
    columns : list of str, optional
        The columns to look at, which a model needs; None for all.
    levels : mapping of str to mapping, optional
        By column, the texts that a model knows as levels: they are no gaps.
    others : mapping of str to list of str, optional
        More columns to look at, by the option that names them.

    Raises
    ------
    InvalidTableError
        If the file is no table; the message says what is wrong where, and what to do.
    """
    place = Path(path)
    if not place.is_file():
        raise InvalidTableError(f"there is no file {path!r}.")
    stored = open_stored(place, delimiter=_delimiter(delimiter), encoding=encoding, drop_unnamed=drop_unnamed, sheet=sheet)
    opened(stored)
    gaps, typed = Gaps(named=frozenset(missing_values), by_column=gap_codes or {}), stored.typed
    for name in gaps.by_column:
        if name not in stored.names:
            known = ", ".join(map(repr, stored.names))
            raise InvalidTableError(f"{path} has no column {name!r}, which --missing-codes names. Its columns are {known}.")
    asked = {name: option for option, own in (others or {}).items() for name in own}
    wanted = stored.names if columns is None else dict.fromkeys([*columns, *asked])
    for name in (*(columns or ()), *asked):
        if name not in stored.names:
            known = ", ".join(map(repr, stored.names))
            why = f"which {asked[name]} names" if name in asked else "which the model needs"
            raise InvalidTableError(f"{path} lacks the column {name!r}, {why}. It has {known}.")
    names = [name for name in stored.names if name in wanted]
    tallies = {name: ColumnTally(name) for name in names}
    for chunk in shown_reading(place, stored.chunks(names, CHUNK_ROWS), quiet=quiet) if names else ():
        for name, values in chunk.items():
            own = {} if levels is None else levels.get(name, {})
            tallies[name].add(values, gaps.of(name).among(typed=typed, known=own), typed=typed)
    if not any(tally.n_rows for tally in tallies.values()):
        raise InvalidTableError(f"{path} has a header but no rows.")
    return TableSource(stored, tallies, gaps, decimal_mark, quiet=quiet)


def weight_column(source: TableSource, name: str) -> ReadColumn:
    """How the column with the weights of the rows is read, if each of them has one."""
    tally = source.tallies[source.require(name, "--weights")]
    if tally.n_missing or not tally.all_numbers:
        what = f"is missing in {tally.n_missing:,} of {tally.n_rows:,} rows" if tally.n_missing else "holds other than numbers"
        raise InvalidTableError(f"the column {name!r} of --weights {what}. Every row needs a weight at or above 0.")
    return source.fitted_column(name, "numeric")


def _delimiter(given: str | None) -> str | None:
    if given is None:
        return None
    named = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "pipe": "|"}.get(given, given)
    if len(named) != 1:
        raise InvalidTableError(f"--delimiter {given!r} must be one character, or tab.")
    return named


def _library() -> str:
    for name in _LIBRARIES:
        if importlib.util.find_spec(name) is not None:
            return name
    raise InvalidTableError(
        'tables from files need a data frame library, such as the one of the extra: pip install "surefoot[cli]".'
    )
