"""``surefoot score``: predictions for the rows of a file, some rows at a time."""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from surefoot.cli.console import note, say_json
from surefoot.cli.loaded_model import known_texts, last_step, load_fitted, model_columns, read_columns
from surefoot.cli.options import (
    DONE,
    add_common_options,
    add_output_options,
    add_table_options,
    command,
    free_place,
    names,
    open_source,
)
from surefoot.cli.table_source import TableSource
from surefoot.core.new_file import new_file
from surefoot.sklearn_api.own_rows import own_rows

_EXAMPLES = """\
  surefoot score model.surefoot new_visits.csv --output scores.csv
  surefoot score model.surefoot new_visits.csv --keep customer --output scores.csv
  surefoot score model.surefoot new_visits.parquet | head"""


def add_score(subparsers: Any) -> None:
    """Add the command to the program."""
    parser = command(subparsers, "score", "Predict the rows of a table with a saved model.", _EXAMPLES, run_score)
    parser.add_argument("model", help="file that 'surefoot fit' or surefoot.save wrote")
    parser.add_argument("table", help="CSV or Parquet file with the columns of the model, in any order")
    add_output_options(parser, required=False, what="CSV file for the predictions; default: standard output")
    parser.add_argument("--keep", type=names, default=[], metavar="NAMES", help="columns of the table to write along")
    add_table_options(parser)
    add_common_options(parser)


def run_score(args: argparse.Namespace) -> int:
    """Score and write; see the parser."""
    if args.json and args.output is None:
        raise ValueError("--json says what was written, so it needs --output.")
    place = None if args.output is None else free_place(args)
    model = load_fitted(args.model)
    wanted = list(model_columns(model))
    source = open_source(args, wanted, known_texts(model), others={"--keep": args.keep})
    if place is None:
        count = _write(sys.stdout, model, source, args)
        return DONE
    with new_file(place, overwrite=args.force) as file:
        count = _write(file, model, source, args)
    if args.json:
        say_json({"output": str(place), "rows": count, "classes": last_step(model).classes_.tolist()})
    elif not args.quiet:
        note(f"{count:,} rows scored, written to {place}")
    return DONE


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
