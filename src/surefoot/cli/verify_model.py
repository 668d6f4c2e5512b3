"""``surefoot verify``: check the proof of a saved model once more, from the rows that it was fitted to."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

import numpy as np

from surefoot.cli.console import note, say, say_json
from surefoot.cli.exit_codes import DONE, NOT_VERIFIED
from surefoot.cli.loaded_model import (
    group_column,
    has_names,
    known_texts,
    last_step,
    load_fitted,
    model_columns,
    read_columns,
    target_column,
)
from surefoot.cli.option_words import in_options
from surefoot.cli.options import (
    add_common_options,
    add_memory_option,
    add_table_options,
    add_weights_option,
    command,
    open_source,
)
from surefoot.cli.table_source import ReadColumn, TableSource, labels, weight_column
from surefoot.cli.tables.parsed_rows import ParsedRows, exceeds_memory
from surefoot.core.certificate import Certificate
from surefoot.exceptions import CertificateError
from surefoot.sklearn_api.verification import verify

_EXAMPLES = """\
  surefoot verify model.surefoot visits.csv --target bought
  surefoot verify model.surefoot visits.csv --target bought --arithmetic ball --json

exit codes: 0 the proof holds, 1 it does not, or model or rows are not those of the proof, 2 wrong usage"""


def add_verify(subparsers: Any) -> None:
    """Add the command to the program."""
    parser = command(subparsers, "verify", _EXAMPLES, run_verify)
    parser.add_argument("model")
    parser.add_argument("table", help="the rows that the model was fitted to")
    parser.add_argument("--target", required=True, metavar="NAME")
    add_weights_option(parser, "the column with the weights of the rows, if the fit had some")
    parser.add_argument("--groups", metavar="NAME", help="the column with the groups; default: those that the model knows")
    parser.add_argument("--arithmetic", choices=["double", "ball"], default="double", help="ball needs python-flint")
    add_memory_option(parser)
    add_table_options(parser)
    add_common_options(parser)


def run_verify(args: argparse.Namespace) -> int:
    """Verify; see the parser."""
    model = load_fitted(args.model)
    if args.groups is not None and not hasattr(last_step(model), "groups_"):
        note(f"--groups {args.groups} is left out: the proof of this model does not depend on groups.")
        args.groups = None
    more = {"--weights": args.weights, "--groups": args.groups}
    others = {option: [name] for option, name in {"--target": args.target, **more}.items() if name is not None}
    apart = [name for named in others.values() for name in named]
    own = [name for name in model_columns(model) if name not in apart] if has_names(model) else None
    source = open_source(args, own, known_texts(model, args.target), others)
    # Columns without names go by their order: if that is another one than in the fit, the digest of the rows tells.
    names = None if has_names(model) else [name for name in source.tallies if name not in apart]
    columns, target = read_columns(model, source, names), target_column(model, source, args.target)
    in_parts = getattr(last_step(model), "part_rows_", None) is not None and has_names(model) and args.weights is None
    try:
        if in_parts and exceeds_memory(source, columns, args.memory):
            proof = _proof_from_batches(model, args, source, columns, target)
        else:
            proof = _proof_from_table(model, args, source, columns, target)
    except CertificateError as error:
        if args.json:
            say_json({"verified": False, "reason": str(error)})
        else:
            say("NOT verified")
            note(f"error: {in_options(str(error))}")
        return NOT_VERIFIED
    if args.json:
        fields = ("verified", "claim", "upper_bound", "lower_bound", "relative_gap", "problem_digest", "model_digest")
        say_json({**{name: getattr(proof, name) for name in fields}, "rows": source.n_rows, "arithmetic": args.arithmetic})
    else:
        say(f"{'verified' if proof.verified else 'NOT verified'} on {source.n_rows:,} rows: {proof.claim}")
    return DONE if proof.verified else NOT_VERIFIED


def _proof_from_table(
    model: Any, args: argparse.Namespace, source: TableSource, columns: list[ReadColumn], target: ReadColumn
) -> Certificate:
    extra = [] if args.weights is None else [weight_column(source, args.weights)]
    extra += [] if args.groups is None else [group_column(model, source, args.groups)]
    content = source.load([*columns, target, *extra])
    return verify(
        model,
        source.frame(content, columns) if has_names(model) else _rows(content, columns),
        labels(content[args.target]),
        sample_weight=None if args.weights is None else content[args.weights],
        groups=None if args.groups is None else labels(content[args.groups]),
        arithmetic=args.arithmetic,
    )


def _proof_from_batches(
    model: Any, args: argparse.Namespace, source: TableSource, columns: list[ReadColumn], target: ReadColumn
) -> Certificate:
    """The proof from rows that do not fit into memory, read as the fit has read them."""
    said = f"{source.n_rows:,} rows of {len(columns)} columns do not fit into --memory {args.memory:g} MB"
    if args.groups is not None:
        raise ValueError("--groups are not for models that were fitted in batches: their proof does not depend on any.")
    with ParsedRows(source, columns, target) as batches:
        if tuple(batches.counts) != last_step(model).part_rows_:
            raise CertificateError(
                f"{said}, and the batches that this file is read in are not those of the fit. If it holds the rows of the fit, "
                "raise --memory: a table in memory is cut as the fit has cut it."
            )
        note(f"{said}: they are parsed into a temporary folder and verified in batches.")
        return verify(model, batches, arithmetic=args.arithmetic)


def _rows(content: Mapping[str, Any], columns: list[ReadColumn]) -> Any:
    """The table of a model that was fitted to an array, or to a list of rows."""
    values = [content[column.name] for column in columns]
    if all(column.kind == "numeric" for column in columns):
        return np.column_stack(values)
    return [list(row) for row in zip(*values, strict=True)]
