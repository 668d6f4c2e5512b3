"""Which columns of a table a model gets, how each is read, and why others are left out."""

from __future__ import annotations

from collections.abc import Sequence

from surefoot.cli.console import warn
from surefoot.cli.table_source import ReadColumn, TableSource
from surefoot.cli.tables.file_lines import lines_of, told_in_lines
from surefoot.design.read.column_guess import ColumnTally, Guess
from surefoot.design.read.identifiers import named_as_identifier
from surefoot.exceptions import InvalidTableError


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
            if not tally.all_numbers_or_codes:
                raise InvalidTableError(f"column {name!r} was named in --numeric, but {_not_numbers(source, name)}")
            chosen.append(source.fitted_column(name, "numeric"))
        elif name in categorical:
            if tally.is_identifier and guess != "numeric" and not tally.numbers_rows:
                warn(_identifier(tally, source))
            chosen.append(source.fitted_column(name, "categorical"))
        elif guess in ("numeric", "categorical"):
            _remark(tally, source)
            if guess == "numeric" and named_as_identifier(name):
                warn(
                    f"column {name!r} is read as a number, and its name is that of an identifier. If it is one, leave it out "
                    f"with --drop {name}: it says nothing about new rows."
                )
            codes = tally.gap_codes() if guess == "numeric" else {}
            if codes:
                shown = " and ".join(f"{value:g} in {count:,} rows" for value, count in codes.items())
                named = ",".join(f"{value:g}" for value in codes)
                warn(
                    f"column {name!r} holds {shown}, and is at or above 0 in all others. If these are codes of gaps, say "
                    f"--missing-codes {name}={named}"
                )
            chosen.append(source.fitted_column(name, "numeric" if guess == "numeric" else "categorical"))
        else:
            _remark(tally, source)
            left_out[name] = (guess, _reason(tally, guess, source))
    if not chosen:
        raise InvalidTableError(f"no column of {source.path} is left for the model; name some with --numeric or --categorical.")
    return chosen, left_out


def _remark(tally: ColumnTally, source: TableSource) -> None:
    """Say what is odd about a column that is nearly numeric, with the line; raise if it can only be meant as numbers."""
    with told_in_lines(source.file):
        remark = tally.remark()
    if remark is not None:
        warn(lines_of(source.file, remark))


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
    if tally.numbers_rows:
        return (
            f"column {tally.name!r} holds another whole number in every row, as an identifier does: it says nothing of new "
            f"rows, and costs digits and proofs. If it measures something, say --numeric {tally.name}"
        )
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
