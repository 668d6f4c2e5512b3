"""``surefoot fit``: from a file with a table to a file with a model."""

from __future__ import annotations

import argparse
import warnings
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from surefoot.cli.console import aligned, note, say, say_json
from surefoot.cli.exit_codes import DONE, NOT_PROVEN
from surefoot.cli.loaded_model import last_step
from surefoot.cli.option_words import in_options
from surefoot.cli.options import (
    TABLE_HELP,
    add_common_options,
    add_memory_option,
    add_output_options,
    add_table_options,
    add_weights_option,
    command,
    free_place,
    names,
    open_source,
)
from surefoot.cli.progress_bar import progress_bars
from surefoot.cli.settings.model_settings import add_model_settings, new_model, take_settings
from surefoot.cli.settings.target_classes import label_of, read_target
from surefoot.cli.table_source import ReadColumn, TableSource, labels, weight_column
from surefoot.cli.tables.chosen_columns import choose_columns
from surefoot.cli.tables.parsed_rows import ParsedRows, exceeds_memory
from surefoot.design.encode.deciding_columns import DecidingColumnWarning
from surefoot.design.read.column_doubts import doubt_of_levels
from surefoot.exceptions import DoubtfulColumnWarning, InvalidTableError
from surefoot.files.model_file import save
from surefoot.riskscore.estimator.risk_score import RiskScoreClassifier
from surefoot.robust.estimator.robust_logistic import RobustLogisticRegression

_EXAMPLES = """\
  surefoot fit visits.csv --target bought --output model.surefoot
  surefoot fit visits.csv --target bought --output model.surefoot --radius 0.1 --categorical region --drop customer
  surefoot fit visits.csv --target bought --output model.surefoot --range age=18:100 --range income=observed
  surefoot fit patients.parquet --target ill --output card.surefoot --model risk-score --max-features 4
  surefoot fit survey.csv --target vote --output model.surefoot --weights households
  surefoot fit patients.csv --target ill --output model.surefoot --groups hospital --select worst
  surefoot fit irises.xlsx --target species --positive virginica --output model.surefoot
  surefoot fit credit.csv.gz --target paid --output model.surefoot --missing-codes=-9,-8,-7
  surefoot fit samples.csv --target grade --output svm.surefoot --model svm --groups sample --violation 0.05

exit codes: 0 done, 1 the table or an option cannot be used, 2 wrong usage, 3 the file cannot be written,
4 the model was written but a limit came before its proof, 130 interrupted"""


def add_fit(subparsers: Any) -> None:
    """Add the command to the program."""
    parser = command(subparsers, "fit", _EXAMPLES, run_fit)
    parser.add_argument("table", help=TABLE_HELP)
    parser.add_argument("--target", required=True, metavar="NAME", help="the column to predict; two values, for svm several")
    parser.add_argument(
        "--positive",
        metavar="LABEL",
        help="the value of the target whose probability the model gives; default: the second in sorted order. Where "
        "there are more than two, it is told from all others",
    )
    add_output_options(parser, required=True, what="where the model goes")
    parser.add_argument("--model", choices=["robust", "risk-score", "svm"], default="robust", help="default: robust")
    columns = parser.add_argument_group("columns (types are guessed and shown; these options overrule the guess)")
    columns.add_argument("--numeric", type=names, default=[], metavar="NAMES", help="read these as numbers")
    columns.add_argument("--categorical", type=names, default=[], metavar="NAMES", help="read these as categories")
    columns.add_argument("--drop", type=names, default=[], metavar="NAMES", help="leave these out")
    add_weights_option(columns, "a column that says how often each row counts; it is no column of the model")
    columns.add_argument(
        "--missing",
        choices=["fill", "error", "drop"],
        default=None,
        help="gaps: filled (default; svm does not fill them, so there they are an error), or an error; svm also 'drop': rows "
        "with gaps are left out, as if these readings had not been taken",
    )
    columns.add_argument(
        "--unseen",
        choices=["error", "ignore"],
        default=None,
        help="robust, risk-score: levels that training never held, when scoring; default error",
    )
    settings = add_model_settings(parser)
    settings.add_argument("--gap", type=float, default=None, metavar="G", help="relative gap to prove; default: the model's")
    settings.add_argument("--time-limit", type=float, default=None, metavar="SECONDS", help="best model found by then")
    add_memory_option(settings)
    add_table_options(parser)
    add_common_options(parser)


def run_fit(args: argparse.Namespace) -> int:
    """Fit and save; see the parser."""
    place = free_place(args)
    take_settings(args)
    source = open_source(args)
    target = read_target(
        source,
        args.target,
        positive=args.positive,
        several=args.model == "svm" and args.positive is None,
        named_order=args.model == "risk-score",
    )
    reserved = [args.target]
    for option, name in (("--groups", args.groups), ("--weights", args.weights)):
        if name is not None:
            reserved.append(source.require(name, option))
    weights = [] if args.weights is None else [weight_column(source, args.weights)]
    columns, left_out = choose_columns(source, reserved, numeric=args.numeric, categorical=args.categorical, drop=args.drop)
    if not args.json:
        _show(source, columns, left_out, args)
    if args.model == "svm":
        _require_numbers(source, columns, drops_gaps=args.missing == "drop")
    # Of two classes of the table a card takes the one that is named; one that stands against all others comes second anyway.
    named = args.positive is not None and target.levels is None and args.model == "risk-score"
    model = new_model(args, columns, label_of(source.tallies[args.target], args.positive) if named else None)
    # What such a warning would say has been said, in options and but for columns that options name.
    warnings.filterwarnings("ignore", category=DoubtfulColumnWarning)
    warnings.filterwarnings("default", category=DecidingColumnWarning)
    if exceeds_memory(source, columns, args.memory):
        _fit_batches(model, args, source, columns, target)
    else:
        content = source.load([*columns, target, *_group_column(source, args), *weights])
        extra = {} if args.groups is None else {"groups": labels(content[args.groups])}
        if args.weights is not None:
            step = f"{model.steps[-1][0]}__" if isinstance(model, Pipeline) else ""
            extra[f"{step}sample_weight"] = content[args.weights]
        told = labels(content[args.target])
        if args.model == "svm":
            model.set_params(class_weight=_class_weight(args.class_weight, told))
            if args.groups is None:
                _warn_of_groups(content, columns, told)
        _warn_of_texts(content, [column for column in columns if not source.tallies[column.name].any_numbers], args.categorical)
        with progress_bars():
            model.fit(source.frame(content, columns), told, **extra)
    save(model, place, overwrite=args.force)
    proof = last_step(model).certificate_
    if args.json:
        say_json(_summary(model, args, source, columns, left_out))
    else:
        say()
        if isinstance(last_step(model), RiskScoreClassifier):
            say(str(last_step(model).score_card(meanings=model.steps[0][1].columns_)))
            say()
        reason = getattr(last_step(model), "radius_reason_", None)
        if reason is not None:
            say(in_options(f"radius {last_step(model).radius_:g}: {reason}"))
        say(proof.claim)
        say(f"model written to {place}")
    return DONE if proof.verified else NOT_PROVEN


def _group_column(source: TableSource, args: argparse.Namespace) -> list[ReadColumn]:
    return [] if args.groups is None else [source.column(args.groups, "categorical")]


def _fit_batches(
    model: Any, args: argparse.Namespace, source: TableSource, columns: list[ReadColumn], target: ReadColumn
) -> None:
    """Fit rows that do not fit into memory."""
    said = f"{source.n_rows:,} rows of {len(columns)} columns do not fit into --memory {args.memory:g} MB"
    if not isinstance(model, RobustLogisticRegression):
        raise InvalidTableError(
            f"{said}, and only --model robust without cv reads them in batches. Raise --memory, or take a sample."
        )
    gaps = [column.name for column in columns if column.kind == "numeric" and source.tallies[column.name].n_missing]
    if gaps:
        raise InvalidTableError(
            f"{said}, and gaps of numbers ({gaps[0]!r}) cannot be filled in batches. Fill them, or --drop it."
        )
    if args.weights is not None:
        raise InvalidTableError(f"{said}, and --weights are not read in batches. Raise --memory, or take a sample.")
    note(f"{said}: they are parsed into a temporary folder and fitted in batches.")
    with ParsedRows(source, columns, target) as batches, progress_bars():
        model.set_params(missing_numeric="error").fit(batches)


def _require_numbers(source: TableSource, columns: list[ReadColumn], *, drops_gaps: bool) -> None:
    """Raise for what a support vector machine cannot compare."""
    text = [column.name for column in columns if column.kind == "categorical"]
    if text:
        raise InvalidTableError(
            f"--model svm compares numbers, but column {text[0]!r} holds text. Leave it out with --drop, name it in --groups "
            "if it says which rows are samples of one input, or choose another model."
        )
    tallies = [source.tallies[column.name] for column in columns]
    gaps = ", ".join(f"{tally.name!r} ({tally.n_missing:,})" for tally in tallies if tally.n_missing)
    if gaps and not drops_gaps:
        raise InvalidTableError(
            f"--model svm does not fill gaps, and there are some in {gaps}. Fill them, leave rows out (--missing drop) or "
            "columns (--drop), or choose another model."
        )


def _class_weight(given: str | None, told: Any) -> Any:
    """The weights of classes by name, as the labels have them."""
    if given is None or given == "balanced":
        return given
    known = {str(label): label for label in dict.fromkeys(np.asarray(told).tolist())}
    found = {}
    for part in given.split(","):
        name, _, weight = part.rpartition("=")
        try:
            found[known[name.strip()]] = float(weight)
        except KeyError:
            raise ValueError(f"--class-weight {given} names {name!r}, which is no class: {', '.join(known)!s:.200}.") from None
        except ValueError:
            raise ValueError(
                f"--class-weight {given} must be 'balanced', or a number for each class: 'worn=5,new=1'."
            ) from None
    return found


def _warn_of_groups(content: Any, columns: list[ReadColumn], told: Any) -> None:
    """Point out whole numbers that repeat and never mix classes: they may say which rows are samples of one input."""
    codes = np.unique(np.asarray(told), return_inverse=True)[1]
    for column in columns:
        values = np.asarray(content[column.name], dtype=np.float64)
        if values.size == 0 or not np.array_equal(values, np.round(values)):
            continue
        levels, place, counts = np.unique(values, return_inverse=True, return_counts=True)
        label = np.zeros(levels.size, dtype=np.intp)
        label[place] = codes
        # Fewer levels than these per class may be a measurement that tells the classes apart.
        if levels.size > 2 * (codes.max() + 1) and counts.min() > 1 and np.array_equal(label[place], codes):
            note(
                f"warning: column {column.name!r} has {levels.size} whole numbers, each in several rows of one class, as if it "
                f"said which rows are samples of one input. If it does, use --groups {column.name}; otherwise each row is an "
                "input of its own."
            )


def _warn_of_texts(content: Any, columns: list[ReadColumn], known: list[str]) -> None:
    """Point out categories that are amounts or shares with a sign, which no spelling of numbers reads."""
    for column in columns:
        if column.kind != "categorical" or column.name in known:
            continue
        values = [value for value in content[column.name] if isinstance(value, str)]
        keep = f"or leave it out with --drop {column.name}, or say --categorical {column.name} if it is a category"
        doubt = doubt_of_levels(f"column {column.name!r}", list(dict.fromkeys(values)), len(values), keep)
        if doubt is not None:
            note(f"warning: {doubt}.")


def _show(source: TableSource, columns: list[ReadColumn], left_out: dict[str, Any], args: argparse.Namespace) -> None:
    tally = source.tallies[args.target]
    classes = ", ".join(f"{value} {count:,}" for value, count in sorted(tally.levels.items(), key=lambda pair: str(pair[0])))
    how = source.file.described
    say(f"{source.path}: {source.n_rows:,} rows ({how}); target {args.target!r}: {classes}")
    rows = [["column", "read as", "levels", "gaps"]]
    for column in columns:
        own = source.tallies[column.name]
        rows.append([column.name, column.told, "" if column.kind == "numeric" else own.n_levels, f"{own.n_missing:,}"])
    for name, (guess, _) in left_out.items():
        rows.append([name, f"{guess}: left out", source.tallies[name].n_levels, f"{source.tallies[name].n_missing:,}"])
    for line in aligned(rows, left=2):
        say(line)
    for name, (_, reason) in left_out.items():
        note(f"warning: {name!r} is left out: {reason}.")


def _summary(
    model: Any, args: argparse.Namespace, source: TableSource, columns: list[ReadColumn], left_out: dict[str, Any]
) -> dict[str, Any]:
    last = last_step(model)
    proof = last.certificate_
    radius = {"radius": last.radius_, "radius_reason": last.radius_reason_} if hasattr(last, "radius_reason_") else {}
    return {
        "output": str(args.output),
        "model": type(last).__name__,
        "rows": source.n_rows,
        "target": args.target,
        "positive": args.positive,
        "weights": args.weights,
        "classes": last.classes_.tolist(),
        **radius,
        "columns": [
            {"name": column.name, "kind": column.kind, "missing": source.tallies[column.name].n_missing} for column in columns
        ],
        "left_out": [{"name": name, "kind": guess, "reason": reason} for name, (guess, reason) in left_out.items()],
        "certificate": {
            "claim": proof.claim,
            "verified": proof.verified,
            "upper_bound": proof.upper_bound,
            "lower_bound": proof.lower_bound,
            "relative_gap": proof.relative_gap,
        },
    }
