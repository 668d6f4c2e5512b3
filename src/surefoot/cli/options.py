"""Options that several commands share, and what they open."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from surefoot.cli.commands import COMMANDS
from surefoot.cli.table_source import TableSource, open_table
from surefoot.cli.tables.missing_codes import HELP, missing_codes
from surefoot.core.new_file import require_free

TABLE_HELP = (
    "a file with a header: CSV or other text (any delimiter), JSON lines, both also as .gz, .bz2, .xz or .zip; Parquet, "
    "Feather, Excel (pip install 'surefoot[excel]')"
)


def names(text: str) -> list[str]:
    """Names that are separated by commas; a comma in a name is written twice."""
    parts = text.replace(",,", "\0").split(",")
    return [part.replace("\0", ",").strip() for part in parts if part.strip()]


def command(subparsers: Any, name: str, examples: str, run: Any) -> argparse.ArgumentParser:
    """A parser for one command; ``run(args)`` returns the exit code."""
    summary = COMMANDS[name][1]
    parser: argparse.ArgumentParser = subparsers.add_parser(
        name,
        help=summary,
        description=summary,
        allow_abbrev=False,
        epilog=f"examples:\n{examples}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=run)
    return parser


def add_table_options(parser: argparse.ArgumentParser) -> None:
    """How a table is read."""
    group = parser.add_argument_group("how the table is read")
    group.add_argument(
        "--delimiter", help="what separates values in a text file: one character, or 'tab'; found out by default"
    )
    group.add_argument("--encoding", help="encoding of a text file; default utf-8, or what its first bytes say")
    group.add_argument("--decimal", choices=[".", ","], help="the mark before decimals, where numbers can be read in two ways")
    group.add_argument(
        "--missing-values",
        type=names,
        default=[],
        metavar="TEXTS",
        help="texts that stand for gaps; in text files NA, NaN, null, None, ? and nothing do anyway, unless the model knows "
        "them as levels",
    )
    group.add_argument("--missing-codes", action="append", metavar="CODES", help=HELP)
    group.add_argument("--sheet", metavar="NAME", help="the sheet of an Excel workbook; default: the only one with values")
    group.add_argument("--drop-unnamed", action="store_true", help="leave out columns without a name in the header")


def add_memory_option(parser: Any) -> None:
    """How much of the machine a table may take."""
    parser.add_argument("--memory", type=float, default=2048, metavar="MB", help="for the table; default 2048")


def add_output_options(parser: argparse.ArgumentParser, *, required: bool, what: str) -> None:
    """Where the result goes."""
    parser.add_argument("--output", "-o", required=required, metavar="FILE", help=what)
    parser.add_argument("--force", action="store_true", help="replace the file if it is there")


def add_common_options(parser: argparse.ArgumentParser) -> None:
    """What is said, and on how many threads."""
    parser.add_argument("--json", action="store_true", help="the result as JSON on standard output")
    parser.add_argument("--quiet", "-q", action="store_true", help="no progress")
    parser.add_argument("--jobs", type=_threads, default=None, metavar="N", help="threads; -1 for all cores")


def add_weights_option(parser: Any, what: str) -> None:
    """The column with the weights of the rows."""
    parser.add_argument("--weights", metavar="NAME", help=what)


def _threads(text: str) -> int:
    number = int(text)
    if number == 0:
        raise argparse.ArgumentTypeError("0 threads compute nothing; -1 is for all cores")
    return number


def open_source(
    args: argparse.Namespace,
    columns: Sequence[str] | None = None,
    levels: Mapping[str, Mapping[str, Any]] | None = None,
    others: Mapping[str, Sequence[str]] | None = None,
) -> TableSource:
    """The table that the arguments name; ``columns`` and ``levels`` are those of a model, ``others`` those of options."""
    everywhere, by_column = missing_codes(args.missing_codes)
    return open_table(
        args.table,
        columns=columns,
        levels=levels,
        others=others,
        delimiter=args.delimiter,
        encoding=args.encoding,
        decimal_mark=args.decimal,
        missing_values=(*args.missing_values, *everywhere),
        drop_unnamed=args.drop_unnamed,
        sheet=args.sheet,
        gap_codes=by_column,
        quiet=args.quiet,
    )


def free_place(args: argparse.Namespace) -> Path:
    """Where the output goes; known to be free before any work is done."""
    try:
        return require_free(args.output, overwrite=args.force)
    except FileExistsError:
        raise FileExistsError(f"{args.output} exists already; name another file, or say --force to replace it.") from None
