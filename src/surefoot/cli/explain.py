"""``surefoot explain``: what a saved model is, in words or in another language."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import Any

from surefoot.cli.console import aligned, say
from surefoot.cli.exit_codes import DONE
from surefoot.cli.loaded_model import last_step, load_fitted
from surefoot.cli.options import add_output_options, command, free_place
from surefoot.core.new_file import new_file
from surefoot.files.formula import LinearTerm, read_formula
from surefoot.files.pmml import to_pmml
from surefoot.files.portable_json import to_json
from surefoot.files.sql import to_sql
from surefoot.reports.shown_coefficients import shown_coefficients
from surefoot.riskscore.estimator.risk_score import RiskScoreClassifier
from surefoot.robust.estimator.robust_logistic_model import RobustLogisticModel
from surefoot.sklearn_api.proven_model import ABOUT_LAST_STEP, has_changed, has_steps, standing_certificate

_EXAMPLES = """\
  surefoot explain model.surefoot
  surefoot explain model.surefoot --json
  surefoot explain model.surefoot --format sql --output score.sql"""


def add_explain(subparsers: Any) -> None:
    """Add the command to the program."""
    parser = command(subparsers, "explain", _EXAMPLES, run_explain)
    parser.add_argument("model")
    parser.add_argument("--format", choices=["text", "json", "sql", "pmml"], default="text", help="default: text")
    parser.add_argument("--json", dest="format", action="store_const", const="json", help="the same as --format json")
    add_output_options(parser, required=False, what="a file; default: standard output")


def run_explain(args: argparse.Namespace) -> int:
    """Explain; see the parser."""
    place = None if args.output is None else free_place(args)
    model = load_fitted(args.model)
    text = {"text": _text, "json": to_json, "sql": to_sql, "pmml": to_pmml}[args.format](model).rstrip("\n")
    if place is None:
        say(text)
        return DONE
    with new_file(place, overwrite=args.force) as file:
        file.write(f"{text}\n")
    return DONE


def _text(model: Any) -> str:
    last = last_step(model)
    classes = last.classes_.tolist()
    lines = [f"{type(last).__name__}: {', '.join(map(str, classes[:-1]))} or {classes[-1]}", ""]
    if isinstance(last, RiskScoreClassifier):
        before = model.steps[0][1] if last is not model else None
        card = last.score_card(meanings=getattr(before, "columns_", ()))
        lines.append(str(replace(card, proof=None) if has_changed(model) else card))
    elif isinstance(last, RobustLogisticModel):
        lines += [f"radius {last.radius_:g}: {last.radius_reason_}"]
        lines += [f"log odds of {classes[1]}: intercept {last.intercept_[0]:.6g}"]
        numeric, levels = shown_coefficients(last)
        rows = [["column", "level", "coefficient"]]
        values = {True: iter(numeric), False: iter(levels)}
        for column in last.schema_.columns:
            for level in column.level_labels or ("",):
                rows.append([column.name, str(level), f"{next(values[column.kind == 'numeric']):.6g}"])
        lines += aligned(rows, left=2)
    elif hasattr(last, "machines_"):
        rows = [["machine", "inputs", "at the margin", "proven"]]
        for machine in last.machines_:
            names = " or ".join(map(str, machine.classes_.tolist()))
            counts = f"{len(machine.groups_)}", f"{len(machine.support_groups_)}"
            rows.append([names, *counts, "yes" if machine.certificate_.verified else "no"])
        lines += [f"kernel {last.kernel}, {len(last.machines_)} machines of two classes each", *aligned(rows, left=1)]
    else:
        lines.append(
            f"kernel {last.kernel}, {len(last.groups_)} inputs, {len(last.support_groups_)} of them at the margin, "
            f"{last.support_.size} support samples"
        )
        if hasattr(last, "coef_"):
            formula = read_formula(model)
            rows = [["column", "coefficient"]]
            rows += [[term.feature, f"{term.coefficient:.6g}"] for term in formula.terms if isinstance(term, LinearTerm)]
            lines += [f"margin of {classes[1]}: intercept {formula.intercept:.6g}", *aligned(rows, left=1)]
    lines += [f"warning: {one.weakness_}" for one in getattr(last, "machines_", [last]) if getattr(one, "weakness_", "")]
    proof = standing_certificate(model)
    verdict = "verified" if proof.verified else "NOT verified"
    about = [f"  {ABOUT_LAST_STEP}"] if has_steps(model) else []
    told = [f"Certificate ({verdict})", f"  {proof.claim}", *about, f"  data {proof.problem_digest[:16]}"]
    return "\n".join([*lines, "", *told])
