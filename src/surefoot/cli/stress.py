"""``surefoot stress``: a saved model on thousands of shifted tables."""

from __future__ import annotations

import argparse
import contextlib
from dataclasses import replace
from typing import Any

from surefoot.cli.console import say, say_json
from surefoot.cli.exit_codes import DONE
from surefoot.cli.loaded_model import known_texts, load_fitted, model_columns, read_columns, target_column
from surefoot.cli.options import add_common_options, add_table_options, command, open_source
from surefoot.cli.table_source import labels, weight_column
from surefoot.reports.shift_wording import ASSUMED, shift_words
from surefoot.shift.column_settings import DEFAULT_INTERVAL
from surefoot.shift.default_shift import DEFAULT_CERTAINTY, default_shift, own_shift
from surefoot.shift.shift_model import ShiftModel
from surefoot.shift.stress.stress_test import stress_test

_EXAMPLES = """\
  surefoot stress model.surefoot test.csv --target bought
  surefoot stress model.surefoot test.csv --target bought --certainty 0.7 --sets 5000 --scenarios all --json"""


def add_stress(subparsers: Any) -> None:
    """Add the command to the program."""
    parser = command(subparsers, "stress", _EXAMPLES, run_stress)
    parser.add_argument("model")
    parser.add_argument("table", help="rows with known answers")
    parser.add_argument("--target", required=True, metavar="NAME")
    add_shift_options(parser)
    parser.add_argument("--sets", type=int, default=1000, metavar="N", help="shifted tables per scenario; default 1000")
    parser.add_argument("--scenarios", choices=["expected", "unexpected", "all"], default="expected")
    parser.add_argument("--seed", type=int, default=0, help="of the random shifts; default 0")
    add_table_options(parser)
    add_common_options(parser)


def add_shift_options(parser: argparse.ArgumentParser) -> None:
    """Options that describe a shift model."""
    group = parser.add_argument_group("what may shift")
    group.add_argument(
        "--certainty",
        type=float,
        default=None,
        metavar="P",
        help=f"how sure a value is to stay what it is; default: as the model was fitted, or else {DEFAULT_CERTAINTY:g}",
    )
    group.add_argument("--interval", metavar="U", help=f"by how much a number may move; default '{DEFAULT_INTERVAL}'")


def chosen_shift(args: argparse.Namespace, model: Any) -> ShiftModel | None:
    """The shift that the options describe, or None if they describe none."""
    if args.certainty is None and args.interval is None:
        return None
    if args.certainty is None and own_shift(model) is not None:
        raise ValueError(
            "--interval alone would change nothing: the model was fitted with a shift model of its own. Say --certainty too."
        )
    interval: Any = DEFAULT_INTERVAL if args.interval is None else args.interval
    with contextlib.suppress(ValueError):  # "0.4 std" is for the shift model to read
        interval = float(interval)
    if args.certainty is None:
        return replace(default_shift(model), numeric_interval=interval)
    return ShiftModel(numeric_certainty=args.certainty, numeric_interval=interval, categorical_certainty=args.certainty)


def labelled_rows(
    args: argparse.Namespace, model: Any, weights: str | None = None, groups: str | None = None
) -> tuple[Any, Any, Any, Any]:
    """The table, the answers, and the weights and groups if there are any, that the arguments name."""
    own = [name for name in model_columns(model) if name != args.target]
    named = {"--target": args.target, "--weights": weights, "--groups": groups}
    source = open_source(
        args, own, known_texts(model, args.target), {option: [name] for option, name in named.items() if name is not None}
    )
    columns, target = read_columns(model, source), target_column(model, source, args.target)
    extra = [] if weights is None else [weight_column(source, weights)]
    if groups is not None:
        extra.append(source.column(source.require(groups, "--groups"), "categorical"))
    content = source.load([*columns, target, *extra])
    return (
        source.frame(content, columns),
        labels(content[args.target]),
        None if weights is None else content[weights],
        None if groups is None else labels(content[groups]),
    )


def run_stress(args: argparse.Namespace) -> int:
    """Run the test and print its table; see the parser."""
    model = load_fitted(args.model)
    X, y, _, _ = labelled_rows(args, model)
    given, own = chosen_shift(args, model), own_shift(model)
    shift = given or own or default_shift(model)
    report = stress_test(
        model,
        X,
        y,
        shift,
        args.sets,
        random_state=args.seed,
        n_jobs=args.jobs,
        scenarios=args.scenarios,
        verbose=not args.quiet,
    )
    if not args.json:
        if given is None and own is None:
            say(f"{ASSUMED} {shift_words(shift)}. Say what may shift with --certainty.\n")
        say(str(report))
        return DONE
    lines = [
        {
            "scenario": scenario,
            "metric": metric,
            "unshifted": report.unshifted[0, k],
            "mean": report.values[s, 0, k].mean(),
            "worst": report.values[s, 0, k].min() if metric in ("auc", "accuracy") else report.values[s, 0, k].max(),
        }
        for s, scenario in enumerate(report.scenarios)
        for k, metric in enumerate(report.metrics)
    ]
    say_json({"sets": report.n_sets, "rows": len(y), "shift": shift_words(shift), "results": lines})
    return DONE
