"""``surefoot verify``: check the proof of a saved model once more, from the rows that it was fitted to."""

from __future__ import annotations

import argparse
from typing import Any

from surefoot.cli.console import note, say, say_json
from surefoot.cli.loaded_model import load_fitted, model_columns, read_columns, target_column
from surefoot.cli.options import DONE, NOT_VERIFIED, add_common_options, add_table_options, command, open_source
from surefoot.cli.table_source import labels
from surefoot.exceptions import CertificateError
from surefoot.sklearn_api.verification import verify

_EXAMPLES = """\
  surefoot verify model.surefoot visits.csv --target bought
  surefoot verify model.surefoot visits.csv --target bought --arithmetic ball --json

exit codes: 0 the proof holds, 1 it does not, or model or rows are not those of the proof, 2 wrong usage"""


def add_verify(subparsers: Any) -> None:
    """Add the command to the program."""
    parser = command(subparsers, "verify", "Check the proof of a saved model from its training rows.", _EXAMPLES, run_verify)
    parser.add_argument("model")
    parser.add_argument("table", help="the rows that the model was fitted to")
    parser.add_argument("--target", required=True, metavar="NAME")
    parser.add_argument("--weights", metavar="NAME", help="the column with the weights of the rows, if the fit had some")
    parser.add_argument("--groups", metavar="NAME", help="the column with the groups; default: those that the model knows")
    parser.add_argument("--arithmetic", choices=["double", "ball"], default="double", help="ball needs python-flint")
    add_table_options(parser)
    add_common_options(parser)


def run_verify(args: argparse.Namespace) -> int:
    """Verify; see the parser."""
    model = load_fitted(args.model)
    more = {"--weights": args.weights, "--groups": args.groups}
    named = [name for name in more.values() if name is not None]
    own = [name for name in model_columns(model) if name not in (args.target, *named)]
    source = open_source(args, [*own, args.target, *named])
    columns, target = read_columns(model, source), target_column(model, source, args.target)
    extra = [
        source.column(source.require(name, option), "numeric" if option == "--weights" else "categorical")
        for option, name in more.items()
        if name is not None
    ]
    content = source.load([*columns, target, *extra])
    try:
        proof = verify(
            model,
            source.frame(content, columns),
            labels(content[args.target]),
            sample_weight=None if args.weights is None else content[args.weights],
            groups=None if args.groups is None else labels(content[args.groups]),
            arithmetic=args.arithmetic,
        )
    except CertificateError as error:
        if args.json:
            say_json({"verified": False, "reason": str(error)})
        else:
            say("NOT verified")
            note(f"error: {error}")
        return NOT_VERIFIED
    if args.json:
        fields = ("verified", "claim", "upper_bound", "lower_bound", "relative_gap", "problem_digest", "model_digest")
        say_json({**{name: getattr(proof, name) for name in fields}, "rows": source.n_rows, "arithmetic": args.arithmetic})
    else:
        say(f"{'verified' if proof.verified else 'NOT verified'} on {source.n_rows:,} rows: {proof.claim}")
    return DONE if proof.verified else NOT_VERIFIED
