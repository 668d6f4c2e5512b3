"""A table in a file: what its columns hold, and their rows as data frames, all at once or in batches."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np

from surefoot.cli.console import warn
from surefoot.design.read.column_guess import TRUTH_TEXTS, ColumnTally, Gaps, Guess, Spelling, parse_levels, parse_numbers
from surefoot.design.read.delimited import DelimitedFile, open_delimited
from surefoot.design.read.identifiers import named_as_identifier
from surefoot.design.read.parquet import ParquetTable, open_parquet_table
from surefoot.design.write.output_frame import build_frame
from surefoot.exceptions import InvalidTableError

Kind: TypeAlias = Literal["numeric", "categorical"]

CHUNK_ROWS = 1 << 14
_LIBRARIES = ("pandas", "polars", "pyarrow")
_PARQUET_MARK = b"PAR1"


@dataclass(frozen=True)
class ReadColumn:
    """How one column is read; ``levels`` are those of a model, by their text."""

    name: str
    kind: Kind
    spelling: Spelling = "plain"
    levels: Mapping[str, Any] | None = None

    def parse(self, values: Sequence[Any], gaps: Gaps, first_row: int, *, typed: bool) -> Any:
        if self.kind == "numeric":
            return parse_numbers(values, self.spelling, gaps.all, self.name, first_row)
        return parse_levels(values, self.levels, gaps, typed=typed)


@dataclass(frozen=True)
class TableSource:
    """A file that has been gone through once.

    Attributes
    ----------
    file : DelimitedFile or ParquetTable
    tallies : dict of str to ColumnTally
        What each column holds.
    gaps : Gaps
        Texts that stand for gaps.
    decimal_mark : str or None
    library : str
        The data frame library of the frames.
    """

    file: DelimitedFile | ParquetTable
    tallies: Mapping[str, ColumnTally]
    gaps: Gaps
    decimal_mark: str | None
    library: str = field(default_factory=lambda: _library())

    @property
    def n_rows(self) -> int:
        return next(iter(self.tallies.values())).n_rows

    @property
    def path(self) -> Path:
        return self.file.path

    @property
    def typed(self) -> bool:
        """Whether the file says what its values are; in a text file everything is text."""
        return isinstance(self.file, ParquetTable)

    def require(self, name: str, what: str) -> str:
        """The name of a column, if there is one."""
        if name not in self.tallies:
            known = ", ".join(map(repr, self.tallies))
            raise InvalidTableError(f"{self.path} has no column {name!r}, which {what} names. Its columns are {known}.")
        return name

    def column(self, name: str, kind: Kind, levels: Mapping[str, Any] | None = None) -> ReadColumn:
        """How a column is read as numbers or as categories."""
        tally = self.tallies[name]
        spelling = tally.spelling(self.decimal_mark) if kind == "numeric" and tally.all_numbers else "plain"
        return ReadColumn(name, kind, spelling, levels)

    def fitted_column(self, name: str, kind: Kind) -> ReadColumn:
        """How a column is read for a model that is to be fitted: truth values are such, as data frame libraries read them."""
        truths = kind == "categorical" and not self.typed and self.tallies[name].all_truths
        return self.column(name, kind, TRUTH_TEXTS if truths else None)

    def chunks(self, columns: Sequence[ReadColumn], rows: int = CHUNK_ROWS) -> Iterator[dict[str, Any]]:
        """The columns, read, of some rows at a time."""
        first = 0
        for chunk in self.file.chunks([column.name for column in columns], rows):
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
            else [value for part in parts for value in part[column.name]]
            for column in columns
        }


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
    with place.open("rb") as file:
        mark = file.read(4)
    opened: DelimitedFile | ParquetTable
    if mark == _PARQUET_MARK:
        opened = open_parquet_table(place)
    else:
        if place.suffix.lower() in (".xlsx", ".xls", ".gz", ".zip", ".feather"):
            raise InvalidTableError(f"{path} is a {place.suffix} file. Save the table as CSV or Parquet, and unpack it.")
        opened = open_delimited(place, delimiter=_delimiter(delimiter), encoding=encoding, drop_unnamed=drop_unnamed)
    gaps, typed = Gaps(named=frozenset(missing_values)), isinstance(opened, ParquetTable)
    asked = {name: option for option, own in (others or {}).items() for name in own}
    wanted = opened.names if columns is None else dict.fromkeys([*columns, *asked])
    for name in (*(columns or ()), *asked):
        if name not in opened.names:
            known = ", ".join(map(repr, opened.names))
            why = f"which {asked[name]} names" if name in asked else "which the model needs"
            raise InvalidTableError(f"{path} lacks the column {name!r}, {why}. It has {known}.")
    names = [name for name in opened.names if name in wanted]
    tallies = {name: ColumnTally(name) for name in names}
    for chunk in opened.chunks(list(names), CHUNK_ROWS) if names else ():
        for name, values in chunk.items():
            own = {} if levels is None else levels.get(name, {})
            tallies[name].add(values, gaps.among(typed=typed, known=own), typed=typed)
    if not any(tally.n_rows for tally in tallies.values()):
        raise InvalidTableError(f"{path} has a header but no rows.")
    return TableSource(opened, tallies, gaps, decimal_mark)


def choose_columns(
    source: TableSource, reserved: Sequence[str], *, numeric: Sequence[str], categorical: Sequence[str], drop: Sequence[str]
) -> tuple[list[ReadColumn], dict[str, tuple[Guess, str]]]:
    """Which columns a model gets, and why others are left out.

    Parameters
    ----------
    source : TableSource
    reserved : list of str
        Target, groups: columns that are not for the model.
    numeric, categorical, drop : list of str
        What the user says about columns, which overrules the guess.

    Returns
    -------
    columns : list of ReadColumn
    left_out : dict of str to (guess, reason)
    """
    for option, names in (("--numeric", numeric), ("--categorical", categorical), ("--drop", drop)):
        for name in names:
            source.require(name, option)
    chosen: list[ReadColumn] = []
    left_out: dict[str, tuple[Guess, str]] = {}
    for name, tally in source.tallies.items():
        if name in reserved or name in drop:
            continue
        guess = tally.guess()
        if name in numeric:
            if not tally.all_numbers:
                raise InvalidTableError(f"column {name!r} was named in --numeric, but {_not_numbers(source, name)}")
            chosen.append(source.fitted_column(name, "numeric"))
        elif name in categorical:
            if tally.is_identifier and guess != "numeric":
                warn(_identifier(tally, source))
            chosen.append(source.fitted_column(name, "categorical"))
        elif guess in ("numeric", "categorical"):
            remark = tally.remark()
            if remark is not None:
                warn(remark)
            if guess == "numeric" and named_as_identifier(name):
                warn(
                    f"column {name!r} is read as a number, and its name is that of an identifier. If it is one, leave it out "
                    f"with --drop {name}: it says nothing about new rows."
                )
            chosen.append(source.fitted_column(name, "numeric" if guess == "numeric" else "categorical"))
        else:
            tally.remark()
            left_out[name] = (guess, _reason(tally, guess, source))
    if not chosen:
        raise InvalidTableError(f"no column of {source.path} is left for the model; name some with --numeric or --categorical.")
    return chosen, left_out


def weight_column(source: TableSource, name: str) -> ReadColumn:
    """How the column with the weights of the rows is read, if each of them has one."""
    tally = source.tallies[source.require(name, "--weights")]
    if tally.n_missing or not tally.all_numbers:
        what = f"is missing in {tally.n_missing:,} of {tally.n_rows:,} rows" if tally.n_missing else "holds other than numbers"
        raise InvalidTableError(f"the column {name!r} of --weights {what}. Every row needs a weight at or above 0.")
    return source.fitted_column(name, "numeric")


def _reason(tally: ColumnTally, guess: Guess, source: TableSource) -> str:
    if guess == "date":
        return (
            "dates are neither numbers nor categories. Compute what matters, such as an age in days, or name the column in "
            "--categorical"
        )
    if guess == "identifier":
        return _identifier(tally, source)
    return "all rows have the same value" if guess == "constant" else "no row has a value"


def _identifier(tally: ColumnTally, source: TableSource) -> str:
    return (
        f"column {tally.name!r} has {tally.n_levels} levels in {tally.n_present:,} rows, like a name or a number of each row: "
        "as a category it would be learned by heart, and later tables would hold levels that the model does not know"
    )


def _not_numbers(source: TableSource, name: str) -> str:
    try:
        for _ in source.chunks([ReadColumn(name, "numeric")]):
            pass
    except InvalidTableError as error:
        return str(error)
    return "it has no values."


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
    raise InvalidTableError("tables from files need a data frame library: pip install pandas, polars or pyarrow.")
