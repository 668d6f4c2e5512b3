"""``surefoot compare``: two tables side by side, and what a saved model makes of both."""

from __future__ import annotations

import argparse
import copy
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from surefoot.cli.console import note, say, say_json
from surefoot.cli.exit_codes import DONE
from surefoot.cli.loaded_model import has_names, known_texts, load_fitted, model_columns, target_column
from surefoot.cli.options import add_common_options, add_table_options, command, names, open_source
from surefoot.cli.table_source import Kind, ReadColumn, TableSource, labels
from surefoot.exceptions import InvalidTableError, ModelFileError
from surefoot.shift.comparison.compare import compare
from surefoot.shift.comparison.comparison import Comparison

_EXAMPLES = """\
  surefoot compare training.csv june.csv
  surefoot compare training.csv june.csv --model model.surefoot --target bought
  surefoot compare training.csv june.csv --model model.surefoot --fail-on-shift --json

exit codes: 0 done, 1 the tables, the model or an option cannot be used, or --fail-on-shift was said and columns, labels or
the answers to the same rows have changed beyond chance, or the type of a column has changed, 2 wrong usage"""
# Told apart from a table that cannot be read by what is printed.
SHIFTED = 1


def add_compare(subparsers: Any) -> None:
    """Add the command to the program."""
    parser = command(subparsers, "compare", _EXAMPLES, run_compare)
    parser.add_argument("table", metavar="table_a", help="the table of before, such as the training rows")
    parser.add_argument("table_b", help="the table of now")
    parser.add_argument("--model", metavar="MODEL", help="a saved model: its columns, its prices, its radius")
    parser.add_argument(
        "--target", metavar="NAME", help="the column with the answers, if both tables have it; with a model its loss is judged"
    )
    parser.add_argument("--categorical", type=names, default=[], metavar="NAMES", help="read these as categories")
    parser.add_argument("--drop", type=names, default=[], metavar="NAMES", help="leave these out")
    parser.add_argument(
        "--level", type=float, default=0.05, metavar="P", help="how often chance may count as a shift; default 0.05"
    )
    parser.add_argument(
        "--fail-on-shift", action="store_true", help="exit code 1 if columns, labels or answers have changed beyond chance"
    )
    parser.add_argument("--seed", type=int, default=0, help="of the random exchanges; default 0")
    add_table_options(parser)
    add_common_options(parser)


def run_compare(args: argparse.Namespace) -> int:
    """Compare; see the parser."""
    model = None if args.model is None else load_fitted(args.model)
    if model is not None and not has_names(model):
        raise ModelFileError(
            f"{args.model} was fitted to a table without column names, so the columns of a file cannot be told apart. Compare "
            "the tables without --model, or in Python."
        )
    first, second = _opened(args, args.table, model), _opened(args, args.table_b, model)
    if args.target is not None:
        first.source.require(args.target, "--target")
        if args.target not in second.source.tallies:
            # The answers of now are often not in yet.
            note(f"{args.table_b} has no column {args.target!r}, so labels and the loss of the model are not compared.")
    labelled = args.target is not None and args.target in second.source.tallies
    kinds = _kinds(args, model, first.source, second.source)
    parts = [table.load(kinds, args.target if labelled else None, model) for table in (first, second)]
    found = compare(
        parts[0][0],
        parts[1][0],
        parts[0][1],
        parts[1][1],
        model,
        categorical_features=first.categories(kinds) if args.categorical else "from_dtype",
        level=args.level,
        random_state=args.seed,
    )
    if args.json:
        say_json(_content(found))
    else:
        say(repr(found))
    answers = found.decomposition is not None and bool(found.decomposition.answers_changed)
    changed = found.beyond_chance or answers or bool(found.retyped)
    return SHIFTED if args.fail_on_shift and changed else DONE


@dataclass(frozen=True)
class _Table:
    """One of the two files."""

    source: TableSource

    def load(
        self, kinds: Mapping[str, tuple[Kind, Mapping[str, Any] | None]], target: str | None, model: Any
    ) -> tuple[Any, Any]:
        """The columns of these kinds that the file has, and the labels."""
        columns = [
            self._column(name, "categorical", None)
            if kind == "numeric" and self._is_text(name)
            else self._column(name, kind, levels)
            for name, (kind, levels) in kinds.items()
            if name in self.source.tallies
        ]
        if not columns:
            raise InvalidTableError(f"no column of {self.source.path} is left to compare.")
        read = list(columns)
        if target is not None:
            numeric = model is None and self.source.tallies[target].all_numbers
            own = self.source.fitted_column(target, "numeric" if numeric else "categorical")
            read.append(own if model is None else target_column(model, self.source, target))
        content = self.source.load(read)
        return self.source.frame(content, columns), None if target is None else labels(content[target])

    def categories(self, kinds: Mapping[str, tuple[Kind, Mapping[str, Any] | None]]) -> list[str]:
        """The columns that are read as categories."""
        return [
            name for name in kinds if name in self.source.tallies and (kinds[name][0] == "categorical" or self._is_text(name))
        ]

    def _is_text(self, name: str) -> bool:
        """Whether a column has values and none of them is a number: no mistake in some row, but another type."""
        tally = self.source.tallies[name]
        return tally.n_present > 0 and not tally.any_numbers

    def _column(self, name: str, kind: Kind, levels: Mapping[str, Any] | None) -> ReadColumn:
        return self.source.fitted_column(name, kind) if levels is None else self.source.column(name, kind, levels)


def _opened(args: argparse.Namespace, path: str, model: Any) -> _Table:
    own = copy.copy(args)
    own.table = path
    return _Table(open_source(own, None, {} if model is None else known_texts(model, args.target)))


def _kinds(
    args: argparse.Namespace, model: Any, first: TableSource, second: TableSource
) -> dict[str, tuple[Kind, Mapping[str, Any] | None]]:
    """How both files are read: as the model knows them, or by what both hold."""
    for name in (*args.categorical, *args.drop):
        first.require(name, "--categorical" if name in args.categorical else "--drop")
    kinds: dict[str, tuple[Kind, Mapping[str, Any] | None]] = {}
    known = {} if model is None else model_columns(model)
    for name in dict.fromkeys((*first.tallies, *second.tallies)):
        if name == args.target or name in args.drop:
            continue
        if known:
            if name in known:
                kinds[name] = known[name]
            continue
        tallies = [source.tallies[name] for source in (first, second) if name in source.tallies]
        # Numbers of rows are compared, and told of there.
        guesses = {"numeric" if tally.numbers_rows else tally.guess() for tally in tallies}
        if name in args.categorical:
            kinds[name] = ("categorical", None)
        elif guesses & {"date", "identifier"}:
            what = "holds dates" if "date" in guesses else "has a value of its own in nearly every row"
            note(f"column {name!r} {what} and is not compared; name it in --categorical if it should be.")
        else:
            filled = [tally for tally in tallies if tally.n_present]
            # Numbers in one file and text in the other: the comparison says that the type changed.
            retyped = any(tally.all_numbers for tally in filled) and any(not tally.any_numbers for tally in filled)
            numeric = retyped or all(tally.all_numbers for tally in filled)
            kinds[name] = ("numeric" if numeric else "categorical", None)
    return kinds


def _content(found: Comparison) -> dict[str, Any]:
    """The comparison for programs."""
    radius, parts = found.radius, found.decomposition
    fields = ("name", "kind", "change", "distance", "by_chance", "shift", "p_value", "shifted", "joint_share", "price", "note")
    content: dict[str, Any] = {
        "rows": list(found.n_rows),
        "shift_beyond_chance": found.beyond_chance,
        "columns": [{field: getattr(line, field) for field in fields} for line in found.lines],
        "radius": {
            "estimate": radius.estimate,
            "interval": [radius.low, radius.high],
            "p_value": radius.p_value,
            "proven": [radius.lower, radius.upper],
            "by_chance": radius.by_chance,
            "model": radius.model_radius,
            "model_radius_automatic": radius.automatic,
            "covered": radius.covered,
            "in_words": str(radius),
        },
        "missing": list(found.missing),
        "extra": list(found.extra),
        "retyped": list(found.retyped),
        "identifiers": list(found.identifiers),
        "unknown": list(found.unknown),
        "remarks": list(found.remarks),
    }
    if parts is not None:
        told = {name: getattr(parts, name) for name in ("change", "inputs", "relation")}
        content["loss"] = {
            "first": parts.loss_a,
            "second": parts.loss_b,
            **{name: None if part is None else [part.value, part.low, part.high] for name, part in told.items()},
            "overlap": parts.overlap,
            "answers_changed": parts.answers_changed,
            "rows_of_fit": list(parts.rows_of_fit),
            "in_words": str(parts),
        }
    return content
