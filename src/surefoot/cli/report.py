"""``surefoot report``: one HTML file about a saved model, for a committee."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from surefoot.cli.console import say, say_json
from surefoot.cli.exit_codes import DONE
from surefoot.cli.loaded_model import load_fitted
from surefoot.cli.options import (
    add_common_options,
    add_output_options,
    add_table_options,
    add_weights_option,
    command,
    free_place,
)
from surefoot.cli.stress import add_shift_options, chosen_shift, labelled_rows
from surefoot.reports.model_report import report

_EXAMPLES = """\
  surefoot report model.surefoot test.csv --target bought --output report.html
  surefoot report model.surefoot test.csv --target bought --output report.html --title "Visits, spring" --sets 5000 --force

exit codes: 0 done, 1 the model, the table or an option cannot be used, 2 wrong usage, 3 the file cannot be written"""


def add_report(subparsers: Any) -> None:
    """Add the command to the program."""
    parser = command(subparsers, "report", _EXAMPLES, run_report)
    parser.add_argument("model")
    parser.add_argument("table", help="rows with known answers; best rows that the model has not seen")
    parser.add_argument("--target", required=True, metavar="NAME")
    add_output_options(parser, required=True, what="the HTML file")
    add_weights_option(parser, "the column with the weights of the fit: its proof is checked with them; no figure uses them")
    parser.add_argument(
        "--groups",
        metavar="NAME",
        help="a model that 'fit --model svm' wrote: the column that says which rows are readings of one input. The report then "
        "also says how often inputs are put into the right class",
    )
    parser.add_argument(
        "--compare-with", metavar="TABLE", help="an earlier table, such as the training rows: what has shifted since"
    )
    parser.add_argument(
        "--training",
        metavar="TABLE",
        help="the rows of the fit: a plain logistic regression is fitted to them and shown beside the model",
    )
    parser.add_argument(
        "--rival",
        action="append",
        default=[],
        metavar="MODEL",
        help="another saved model to show beside this one; may be repeated",
    )
    parser.add_argument(
        "--by",
        action="append",
        default=[],
        metavar="NAME",
        help="a column by which rows are grouped, to see whether the model does equally well for all; may be repeated",
    )
    parser.add_argument("--title", default="", help="heading of the page")
    parser.add_argument("--with-json", action="store_true", help="write all figures beside the page too, into a file .json")
    parser.add_argument(
        "--sets",
        type=int,
        default=None,
        metavar="N",
        help="shifted tables of the stress test; default 1000, fewer for large tables",
    )
    parser.add_argument(
        "--sets-time",
        type=float,
        default=None,
        metavar="S",
        help="fewer shifted tables where they would take more than S seconds",
    )
    add_shift_options(parser)
    add_table_options(parser)
    add_common_options(parser)


def run_report(args: argparse.Namespace) -> int:
    """Write the report; see the parser."""
    place = free_place(args)
    model = load_fitted(args.model)
    X, y, weights, groups = labelled_rows(args, model, args.weights, args.groups)
    path = report(
        model,
        X,
        y,
        place,
        title=args.title,
        shift=chosen_shift(args, model),
        n_sets=args.sets,
        time_limit=args.sets_time,
        n_jobs=args.jobs,
        overwrite=args.force,
        verbose=not args.quiet,
        sample_weight=weights,
        groups=groups,
        compare_with=None if args.compare_with is None else _other_table(args, model, args.compare_with),
        training=None if args.training is None else _other_table(args, model, args.training),
        rivals=_rivals(args.rival),
        by={name: labelled_rows(args, model, None, name)[3] for name in args.by} or None,
        json=args.with_json,
    )
    if args.json:
        say_json({"output": str(path), "rows": len(y)})
    else:
        say(f"report written to {path}")
    return DONE


def _other_table(args: argparse.Namespace, model: Any, path: str) -> tuple[Any, Any]:
    """Another table and its answers, read like the table of the report."""
    X, y, _, _ = labelled_rows(argparse.Namespace(**{**vars(args), "table": path}), model)
    return X, y


def _rivals(paths: list[str]) -> dict[str, Any] | None:
    """Saved models by the names of their files."""
    return {Path(path).name: load_fitted(path) for path in paths} or None
