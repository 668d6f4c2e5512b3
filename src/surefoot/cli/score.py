"""``surefoot score``: predictions for the rows of a file, some rows at a time."""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from surefoot.chancesvm.estimator.chance_svc import ChanceConstrainedSVC
from surefoot.cli.console import note, say_json
from surefoot.cli.exit_codes import DONE
from surefoot.cli.loaded_model import known_texts, last_step, load_fitted, model_columns, read_columns
from surefoot.cli.options import (
    TABLE_HELP,
    add_common_options,
    add_output_options,
    add_table_options,
    command,
    free_place,
    names,
    open_source,
)
from surefoot.cli.table_source import TableSource, labels
from surefoot.cli.tables.file_lines import begins_at
from surefoot.core.new_file import new_file
from surefoot.sklearn_api.own_rows import own_rows, seen_by_last_step

_EXAMPLES = """\
  surefoot score model.surefoot new_visits.csv --output scores.csv
  surefoot score model.surefoot new_visits.csv --keep customer --output scores.csv
  surefoot score model.surefoot new_visits.parquet | head
  surefoot score svm.surefoot new_readings.csv --groups machine --output answers.csv"""


def add_score(subparsers: Any) -> None:
    """Add the command to the program."""
    parser = command(subparsers, "score", _EXAMPLES, run_score)
    parser.add_argument("model", help="file that 'surefoot fit' or surefoot.save wrote")
    parser.add_argument("table", help=f"{TABLE_HELP}; it has the columns of the model, in any order")
    add_output_options(parser, required=False, what="CSV file for the predictions; default: standard output")
    parser.add_argument("--keep", type=names, default=[], metavar="NAMES", help="columns of the table to write along")
    parser.add_argument(
        "--groups",
        metavar="NAME",
        help="a model that 'fit --model svm' wrote: the column that says which rows are readings of one input. Then there is "
        "one line for each input: its class, by all its readings, and (flips) how often a further one says otherwise at most",
    )
    add_table_options(parser)
    add_common_options(parser)


def run_score(args: argparse.Namespace) -> int:
    """Score and write; see the parser."""
    if args.json and args.output is None:
        raise ValueError("--json says what was written, so it needs --output.")
    place = None if args.output is None else free_place(args)
    model = load_fitted(args.model)
    wanted = list(model_columns(model))
    others = {"--keep": args.keep}
    if args.groups is not None:
        _require_inputs(model, wanted, args)
        others["--groups"] = [args.groups]
    source = open_source(args, wanted, known_texts(model), others=others)
    write, what = (_write, "rows") if args.groups is None else (_write_inputs, "inputs")
    if place is None:
        write(sys.stdout, model, source, args)
        return DONE
    with new_file(place, overwrite=args.force) as file:
        count = write(file, model, source, args)
    if args.json:
        say_json({"output": str(place), what: count, "classes": last_step(model).classes_.tolist()})
    elif not args.quiet:
        note(f"{count:,} {what} scored, written to {place}")
    return DONE


def _require_inputs(model: Any, wanted: list[str], args: argparse.Namespace) -> None:
    if not isinstance(last_step(model), ChanceConstrainedSVC):
        raise ValueError(
            "--groups is for a model that 'surefoot fit --model svm' wrote: no other one has inputs of several rows."
        )
    if args.keep:
        raise ValueError(
            "--keep writes columns of rows along, and with --groups there is one line for each input. Leave it out."
        )
    if args.groups in wanted:
        raise ValueError(f"--groups names {args.groups!r}, which is a column that the model reads.")


def _write_inputs(file: Any, model: Any, source: TableSource, args: argparse.Namespace) -> int:
    """One line for each input; its readings may stand anywhere in the table, so all of it is read."""
    columns, name = read_columns(model, source), source.require(args.groups, "--groups")
    content = source.load([*columns, source.column(name, "categorical")])
    rows, of_row, last = seen_by_last_step(model, source.frame(content, columns)), labels(content[name]), last_step(model)
    if len(last.classes_) == 2:
        found = last.promise_columns(rows, of_row)
    else:
        classes = last.predict(rows, of_row)
        names, first, counts = np.unique(of_row, return_index=True, return_counts=True)
        found = {"group": names, "rows": counts, "prediction": classes[first]}
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(found)
    writer.writerows(zip(*(np.asarray(column).tolist() for column in found.values()), strict=True))
    return len(found["group"])


def _write(file: Any, model: Any, source: TableSource, args: argparse.Namespace) -> int:
    writer = csv.writer(file, lineterminator="\n")
    last = last_step(model)
    machines = getattr(last, "machines_", [last])
    speaks = hasattr(model, "predict_proba") and all(getattr(one, "sigmoid_", True) is not None for one in machines)
    classes = last_step(model).classes_.tolist()
    # Of two classes one number says it all.
    shown = classes[1:] if len(classes) == 2 else classes
    named = [f"score of {name}" for name in classes] if len(classes) > 2 else ["score"]
    writer.writerow([*args.keep, "prediction", *([f"probability of {name}" for name in shown] if speaks else named)])
    count = 0
    for kept, frame in _parts(model, source, args.keep):
        begins_at(count)  # an estimator counts the rows of a part
        values = np.asarray((model.predict_proba if speaks else model.decision_function)(own_rows(frame)))
        columns = values[:, None] if values.ndim == 1 else values[:, 1:] if len(classes) == 2 else values
        writer.writerows(zip(*kept, np.asarray(model.predict(frame)).tolist(), *columns.T.tolist(), strict=True))
        count += len(values)
    return count


def _parts(model: Any, source: TableSource, keep: list[str]) -> Iterator[tuple[list[Any], Any]]:
    columns = read_columns(model, source)
    own = {column.name for column in columns}
    extra = [source.column(name, "categorical") for name in keep if name not in own]
    for chunk in source.chunks([*columns, *extra]):
        kept = [["" if value is None else value for value in chunk[name]] for name in keep]
        yield kept, source.frame(chunk, columns)
