"""``surefoot fit``: from a file with a table to a file with a model."""

from __future__ import annotations

import argparse
import warnings
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from surefoot.chancesvm.estimator.chance_svc import ChanceConstrainedSVC
from surefoot.cli import levels_option, range_option
from surefoot.cli.console import aligned, note, say, say_json
from surefoot.cli.loaded_model import last_step
from surefoot.cli.options import (
    DONE,
    NOT_PROVEN,
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
from surefoot.cli.parsed_rows import ParsedRows, exceeds_memory
from surefoot.cli.progress_bar import progress_bars
from surefoot.cli.table_source import ReadColumn, TableSource, choose_columns, labels, weight_column
from surefoot.design.read.column_doubts import doubt_of_levels, doubt_of_numbers
from surefoot.design.read.identifiers import named_as_identifier
from surefoot.exceptions import DoubtfulColumnWarning, InvalidTableError
from surefoot.files.model_file import save
from surefoot.riskscore.estimator.risk_score import RiskScoreClassifier
from surefoot.robust.estimator.robust_logistic import RobustLogisticRegression
from surefoot.robust.estimator.robust_logistic_cv import RobustLogisticRegressionCV
from surefoot.sklearn_api.path_choice import SELECTS
from surefoot.sklearn_api.threshold_binarizer import ThresholdBinarizer

_EXAMPLES = """\
  surefoot fit visits.csv --target bought --output model.surefoot
  surefoot fit visits.csv --target bought --output model.surefoot --radius 0.1 --categorical region --drop customer
  surefoot fit visits.csv --target bought --output model.surefoot --range age=18:100 --range income=observed
  surefoot fit patients.parquet --target ill --output card.surefoot --model risk-score --max-features 4
  surefoot fit survey.csv --target vote --output model.surefoot --weights households
  surefoot fit patients.csv --target ill --output model.surefoot --groups hospital --select worst
  surefoot fit samples.csv --target grade --output svm.surefoot --model svm --groups sample --violation 0.05

exit codes: 0 done, 1 the table or an option cannot be used, 2 wrong usage, 3 the file cannot be written,
4 the model was written but a limit came before its proof, 130 interrupted"""


def add_fit(subparsers: Any) -> None:
    """Add the command to the program."""
    parser = command(subparsers, "fit", "Fit a model to a table and save it with its proof.", _EXAMPLES, run_fit)
    parser.add_argument("table", help="CSV (any delimiter) or Parquet file with a header")
    parser.add_argument("--target", required=True, metavar="NAME", help="the column to predict; two values, for svm several")
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
        default="fill",
        help="gaps: filled (default; svm does not fill them, so there they are an error), or an error; svm also 'drop': rows "
        "with gaps are left out, as if these readings had not been taken",
    )
    columns.add_argument(
        "--unseen", choices=["error", "ignore"], default="error", help="levels that training never held, when scoring"
    )
    settings = parser.add_argument_group("settings of the model")
    settings.add_argument(
        "--radius",
        default=None,
        metavar="R",
        help="robust, risk-score: how far tables may shift; robust also 'auto', the default, or 'cv'",
    )
    settings.add_argument("--range", dest="ranges", action="append", metavar="RANGE", help=range_option.HELP)
    settings.add_argument("--levels", action="append", metavar="LEVELS", help=levels_option.HELP)
    settings.add_argument("--max-features", type=int, default=5, metavar="N", help="risk-score: most lines of the card")
    settings.add_argument("--max-points", type=int, default=5, metavar="N", help="risk-score: most points of a line")
    settings.add_argument(
        "--groups",
        metavar="NAME",
        help="svm: the column that says which rows are samples of one input; without, each is one of its own. robust, with "
        "--radius cv or --select: the site or period of each row; each is left out in turn",
    )
    settings.add_argument(
        "--select",
        choices=SELECTS,
        default=None,
        help="robust: choose the radius by the mean over what is left out (default), its worst, or its worst quarter, or the "
        "most robust within one standard error of the best mean",
    )
    settings.add_argument("--kernel", choices=["linear", "poly", "rbf"], default="rbf", help="svm: default rbf")
    settings.add_argument(
        "--violation", type=float, default=0.95, metavar="P", help="svm: tolerated probability of an error; 0.95"
    )
    settings.add_argument("--C", dest="price", type=float, default=1.0, metavar="C", help="svm: price of slack; 1")
    settings.add_argument(
        "--class-weight",
        default=None,
        metavar="W",
        help="svm: 'balanced', or what the price of each class is multiplied by, as in 'worn=5,new=1'",
    )
    settings.add_argument("--gap", type=float, default=None, metavar="G", help="relative gap to prove; default: the model's")
    settings.add_argument("--time-limit", type=float, default=None, metavar="SECONDS", help="best model found by then")
    add_memory_option(settings)
    add_table_options(parser)
    add_common_options(parser)


def run_fit(args: argparse.Namespace) -> int:
    """Fit and save; see the parser."""
    place = free_place(args)
    source = open_source(args)
    target = _target(source, args.target, several=args.model == "svm")
    reserved = [args.target]
    if args.groups is not None:
        reserved.append(source.require(args.groups, "--groups"))
        if args.model != "svm" and not (args.model == "robust" and _chooses_radius(args)):
            raise ValueError(
                "--groups is for --model svm, where it says which rows are samples of one uncertain input, and for --model "
                "robust with --radius cv or --select, where it says which rows are of one site or period."
            )
    if args.select is not None and args.model != "robust":
        raise ValueError("--select is for --model robust.")
    if args.select is not None and args.radius not in (None, "cv"):
        raise ValueError(f"--select chooses the radius, but --radius is {args.radius}. Give one of them.")
    if args.ranges and args.model != "robust":
        raise ValueError("--range is for --model robust.")
    if args.levels and args.model != "robust":
        raise ValueError("--levels is for --model robust.")
    if args.class_weight is not None and args.model != "svm":
        raise ValueError("--class-weight is for --model svm.")
    if args.missing == "drop" and args.model != "svm":
        raise ValueError("--missing drop is for --model svm; other models fill gaps, or refuse them.")
    if args.weights is not None:
        reserved.append(source.require(args.weights, "--weights"))
    weights = [] if args.weights is None else [weight_column(source, args.weights)]
    columns, left_out = choose_columns(source, reserved, numeric=args.numeric, categorical=args.categorical, drop=args.drop)
    if not args.json:
        _show(source, columns, left_out, args)
    if args.model == "svm":
        _require_numbers(source, columns, drops_gaps=args.missing == "drop")
    model = _model(args, columns)
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
        _warn_of_identifiers(content, columns, args.numeric)
        _warn_of_texts(content, [column for column in columns if not source.tallies[column.name].any_numbers], args.categorical)
        # What it would say has been said, in options and but for columns that options name.
        warnings.filterwarnings("ignore", category=DoubtfulColumnWarning)
        with progress_bars():
            model.fit(source.frame(content, columns), told, **extra)
    save(model, place, overwrite=args.force)
    proof = last_step(model).certificate_
    if args.json:
        say_json(_summary(model, args, source, columns, left_out))
    else:
        say()
        reason = getattr(last_step(model), "radius_reason_", None)
        if reason is not None:
            say(f"radius {last_step(model).radius_:g}: {reason}")
        say(proof.claim)
        say(f"model written to {place}")
    return DONE if proof.verified else NOT_PROVEN


def _target(source: TableSource, name: str, *, several: bool) -> ReadColumn:
    """How the target is read, if it tells two classes apart, or several where the model can."""
    tally = source.tallies[source.require(name, "--target")]
    if tally.n_missing:
        raise InvalidTableError(
            f"the target {name!r} is missing in {tally.n_missing:,} of {tally.n_rows:,} rows. Leave them out."
        )
    classes = len(tally.levels)
    if classes < 2 or (classes > 2 and not several) or tally.truncated:
        counts = list(tally.levels.items())[:5]
        shown = ", ".join(f"{value!r}" if tally.truncated else f"{value!r} ({count:,} rows)" for value, count in counts)
        more = ", ..." if len(tally.levels) > 5 else ""
        raise InvalidTableError(
            f"the target {name!r} holds {tally.n_levels} values ({shown}{more}), but a model tells two classes apart (--model "
            "svm several). Leave rows out, put values together, or compare a number with a threshold first."
        )
    return source.fitted_column(name, "numeric" if tally.all_numbers else "categorical")


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


def _warn_of_identifiers(content: Any, columns: list[ReadColumn], known: list[str]) -> None:
    """Point out whole numbers that differ in every row; those whose name says so have been pointed out."""
    for column in columns:
        if column.kind != "numeric" or column.name in known or named_as_identifier(column.name):
            continue
        doubt = doubt_of_numbers(f"column {column.name!r}", column.name, np.asarray(content[column.name], dtype=np.float64))
        if doubt is not None:
            note(f"warning: {doubt}: --drop {column.name}, or --numeric {column.name}.")


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


def _model(args: argparse.Namespace, columns: list[ReadColumn]) -> Any:
    verbose = 0 if args.quiet else 1
    shared: dict[str, Any] = {"time_limit": args.time_limit, "verbose": verbose}
    if args.gap is not None:
        shared["gap" if args.model == "risk-score" else "tol"] = args.gap
    if args.model == "svm":
        # Who names no column has been told by the help what that means.
        batches = "rows" if args.groups is None else "auto"
        # It puts columns into standard units itself.
        return ChanceConstrainedSVC(
            C=args.price,
            kernel=args.kernel,
            violation=args.violation,
            probability=True,
            batches=batches,
            missing="drop" if args.missing == "drop" else "raise",
            random_state=0,
            **shared,
        )
    shared["n_jobs"] = args.jobs
    fill, ignore = args.missing == "fill", args.unseen == "ignore"
    if args.model == "risk-score":
        binarizer = ThresholdBinarizer(missing="column" if fill else "error", unseen="zero" if ignore else "error")
        card = RiskScoreClassifier(
            max_features=args.max_features, max_points=args.max_points, radius=_radius(args.radius, 0.0), **shared
        )
        return Pipeline([("columns", binarizer), ("card", card)])
    shared |= {
        "numeric_range": range_option.numeric_range(args.ranges),
        "category_levels": levels_option.category_levels(args.levels),
        "categorical_features": [column.name for column in columns if column.kind == "categorical"],
        "missing_numeric": "median" if fill else "error",
        "missing_categorical": "level" if fill else "error",
        "unseen_categories": "reference" if ignore else "error",
    }
    if _chooses_radius(args):
        return RobustLogisticRegressionCV(select=args.select or "mean", **shared)
    radius = "auto" if args.radius in (None, "auto") else _radius(args.radius, 0.0)
    return RobustLogisticRegression(radius=radius, **shared)


def _chooses_radius(args: argparse.Namespace) -> bool:
    return args.radius == "cv" or args.select is not None


def _radius(given: str | None, default: float) -> float:
    if given is None:
        return default
    try:
        return float(given)
    except ValueError:
        raise ValueError(f"--radius {given} must be a number at or above 0, or for --model robust 'auto' or 'cv'.") from None


def _show(source: TableSource, columns: list[ReadColumn], left_out: dict[str, Any], args: argparse.Namespace) -> None:
    tally = source.tallies[args.target]
    classes = ", ".join(f"{value} {count:,}" for value, count in sorted(tally.levels.items(), key=lambda pair: str(pair[0])))
    delimiter = getattr(source.file, "delimiter", None)
    how = "Parquet" if delimiter is None else f"delimiter {delimiter!r}, {getattr(source.file, 'encoding', '')}"
    say(f"{source.path}: {source.n_rows:,} rows ({how}); target {args.target!r}: {classes}")
    rows = [["column", "read as", "levels", "gaps"]]
    for column in columns:
        own = source.tallies[column.name]
        kind = column.kind if column.spelling == "plain" else f"numeric ({column.spelling})"
        rows.append([column.name, kind, "" if column.kind == "numeric" else own.n_levels, f"{own.n_missing:,}"])
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
