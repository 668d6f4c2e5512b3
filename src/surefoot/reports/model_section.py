"""What a report says about the model itself: coefficients, score card or inputs, settings, and what is proven."""

from __future__ import annotations

import datetime
import inspect
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from surefoot.chancesvm.estimator.chance_svc import ChanceConstrainedSVC
from surefoot.core.arrays import BoolArray, FloatArray
from surefoot.core.certificate import DIGITS, Certificate, rounded_down, rounded_up
from surefoot.design.binarize.binary_column import BinaryColumn
from surefoot.design.read.table import read_table
from surefoot.exceptions import InvalidObservationError, InvalidTableError, SurefootError
from surefoot.inverse.estimator.inverse_optimizer import InverseOptimizer
from surefoot.reports.page import Fact, paragraph, signed_bar, table
from surefoot.reports.shown_coefficients import shown_coefficients
from surefoot.reports.subject import Subject
from surefoot.reports.wording import number_text, risk_text
from surefoot.riskscore.estimator.risk_score import RiskScoreClassifier
from surefoot.sklearn_api.proven_model import CHANGED, has_changed, has_steps, standing_certificate, told_change
from surefoot.sklearn_api.shown_certificate import gap_scale
from surefoot.sklearn_api.verification import proof_parts, require_same

# A page is to be read: more coefficients, or inputs, than these are left to coefficients() and inputs().
_MOST_LINES = 60
_MOST_INPUTS = 15
_LONGEST_SETTING = 160
# Coefficients that differ by less, relative to the largest of their column, are the same up to the tolerance of a solve.
_TIE = 1e-4


def model_name(model: Any) -> str:
    """The kind of model in words."""
    if isinstance(model, RiskScoreClassifier):
        return "Score card"
    if isinstance(model, ChanceConstrainedSVC):
        return "Chance-constrained support vector machine"
    if isinstance(model, InverseOptimizer):
        return "Inverse optimization"
    return "Robust logistic regression"


def model_blocks(subject: Subject, meanings: Iterable[BinaryColumn]) -> tuple[str, ...]:
    """The section about the model."""
    model = subject.model
    if isinstance(model, RiskScoreClassifier):
        card = model.score_card(meanings=tuple(meanings) or subject.meanings)
        if has_changed(subject.whole):
            card = replace(card, proof=None)
        return (paragraph("Points are added up by hand; the table turns the total into a probability."), card.html)
    if isinstance(model, ChanceConstrainedSVC):
        return _svm_blocks(subject)
    return _coefficient_blocks(subject)


def setting_blocks(model: Any) -> tuple[str, ...]:
    """All parameters of the model, so that it can be fitted again; those at their defaults in one line."""
    signature = inspect.signature(type(model).__init__).parameters
    rows, usual = [], []
    for name, value in model.get_params(deep=False).items():
        text = repr(value)
        if name in signature and text == repr(signature[name].default):
            usual.append(f"{name}={text}")
        else:
            rows.append([name, text if len(text) <= _LONGEST_SETTING else f"{text[:_LONGEST_SETTING]} ..."])
    blocks = [table(("parameter", "value"), rows, left=2)] if rows else []
    kind = type(model).__name__
    article = "an" if kind[0] in "AEIOU" else "a"
    return (
        paragraph(f"The model is {article} {kind}."),
        *blocks,
        paragraph(f"At their defaults: {', '.join(usual)}.", "small"),
    )


@dataclass(frozen=True)
class ProofCheck:
    """What a report can say about the proof of its model.

    Attributes
    ----------
    certificate : Certificate
        As it stands: made anew where the rows are those of training, else that of the fit; one that claims nothing of a model
        that has changed.
    told : str
        When and on which rows it was checked, and what is not known.
    same_rows : bool
        Whether the rows of the report are known to be those of training.
    changed : bool
        Whether the model is known to be another one than that of the proof.
    doubt : str
        What the verdict on the first screen has to be read with, or nothing.
    """

    certificate: Certificate
    told: str
    same_rows: bool = False
    changed: bool = False
    doubt: str = ""


def rows_note(*, same_rows: bool) -> str:
    """On which rows figures are."""
    if same_rows:
        return paragraph(
            "These are the rows the model was fitted to, which flatters it: judge it by rows it has not seen.", "warn"
        )
    return paragraph(
        "Figures are of the rows handed to this report. Rows that the model was fitted to would flatter it.", "small"
    )


def check_of(subject: Any, sample_weight: Any = None, *, rows: str = "rows") -> ProofCheck:
    """Check the proof of a model on the rows of a report with these weights, if they are those of training.

    ``rows`` is what they are called.
    """
    whole, model = subject.whole, subject.model
    proof = standing_certificate(whole)
    if has_changed(whole):
        told = told_change(whole)
        return ProofCheck(proof, f"{told[0].upper()}{told[1:]}. What was proven then says nothing about it.", changed=True)
    known = "" if proof.model_digest else " The proof predates fingerprints of models, so nothing says whether it has changed."
    today, count = datetime.date.today().isoformat(), subject.data.n_rows
    fitted = "The proof was checked when the model was fitted"
    again = f"verify, given the {rows} of training, checks it once more.{known}"
    doubt = f"of the last step as it was fitted, not confirmed on these {rows}" if has_steps(whole) else ""
    other, flaw = False, ""
    try:
        fresh = proof_parts(model, subject.seen, subject.y, sample_weight).judge()
        other = fresh.problem_digest != proof.problem_digest
        require_same(model, fresh)
    except (SurefootError, ValueError, TypeError) as error:
        # Rows of training can be read, since they were.
        other, flaw = other or isinstance(error.__cause__, InvalidTableError | InvalidObservationError), f"{error!s:.400}"
    if other and has_steps(whole):
        told = (
            "on what the steps before it made of the rows of training. What they make of the rows of this report is something "
            f"else: these are other rows, or have other weights, or a step has changed since; {again}"
        )
        return ProofCheck(proof, f"{fitted}, {told}", doubt=doubt)
    if other:
        told = f"on the {rows} of training with their weights, which are not those of this report; {again}"
        return ProofCheck(proof, f"{fitted}, {told}")
    if flaw:
        return ProofCheck(
            proof, f"{fitted}. It could not be confirmed on the {rows} of this report: {flaw} {known}", doubt=doubt
        )
    return ProofCheck(
        fresh,
        f"The proof was checked once more on {today}, on the {count:,} {rows} of this report, which are those of training.",
        same_rows=True,
    )


def certificate_fact(check: ProofCheck, *, rows: str = "rows") -> Fact:
    """The verdict for the first screen."""
    certificate = check.certificate
    if check.changed:
        return Fact("Certificate", "void", CHANGED)
    if certificate.verified:
        note = f"no other model of this kind is better on the training {rows}"
        if certificate.tolerance > 1e-4:
            note += f" by more than {certificate.tolerance:.2g}"
        return Fact("Certificate", "proven", f"{note}; {check.doubt}" if check.doubt else note)
    if math.isfinite(certificate.relative_gap):
        scale = gap_scale(certificate)
        note = f"another model may be better by so much{f' of {scale}' * bool(scale)}"
        return Fact("Certificate", f"gap {risk_text(certificate.relative_gap)}", note)
    return Fact("Certificate", "not proven", "nothing is known about better models")


def certificate_blocks(model: Any, check: ProofCheck, *, rows: str = "rows") -> tuple[str, ...]:
    """The certificate card, with what :func:`check_of` found."""
    proof, outcome, solver = check.certificate, model.outcome_, getattr(model, "solver_", None) or model.solver
    if check.changed:
        return (paragraph(check.told, "warn"),)
    scale = gap_scale(proof)
    part = f"relative to {scale}" if scale else "of the objective"
    lines = [
        ["objective of this model, at most", _known(proof.upper_bound, rounded_up)],
        ["no model of its class is below", _known(proof.lower_bound, rounded_down)],
        ["gap, at most", f"{_known(proof.gap, rounded_up, 2)} ({_known(proof.relative_gap, rounded_up, 2)} {part})"],
        ["gap that was asked for", f"{proof.tolerance:.1e}"],
        ["how the solve ended", f"{outcome.status.value} ({solver}, {outcome.seconds:.2f} s)"],
        ["fingerprint of the problem", proof.problem_digest[:16]],
        ["fingerprint of the model", proof.model_digest[:16] or "none"],
    ]
    return (
        paragraph(proof.claim, "good" if proof.verified and not check.doubt else "warn"),
        table(("", ""), lines, left=2),
        paragraph(check.told),
        paragraph(
            f"Both bounds were recomputed from the training {rows} by code that knows no solver. They speak about the "
            f"optimization problem on those {rows}; they do not promise that tomorrow's data is like them.",
            "small",
        ),
    )


def _known(value: float, rounded: Callable[[float, int], str], digits: int = DIGITS) -> str:
    return rounded(value, digits) if math.isfinite(value) else "not known"


def _coefficient_blocks(subject: Subject) -> tuple[str, ...]:
    model = subject.model
    numeric, levels = shown_coefficients(model)
    spreads, whose = _spreads(subject)
    lines: list[tuple[float, list[list[Any]]]] = []  # per column: its largest effect, and its lines
    at_number = at_level = 0
    any_tied = False
    for column in model.schema_.columns:
        if column.kind == "numeric":
            spread = float(spreads[at_number])
            own = [[column.name, "", numeric[at_number], numeric[at_number] * spread, _significant(spread)]]
            at_number += 1
        else:
            values = levels[at_level : at_level + column.n_levels]
            at_level += column.n_levels
            tied = _tied(values)
            any_tied |= bool(tied.any())
            own = [
                [column.name, str(label), value, value, "reference" if k == 0 else "tied" * bool(tied[k])]
                for k, (label, value) in enumerate(zip(column.level_labels, values, strict=True))
            ]
        lines.append((max(abs(line[3]) for line in own), own))
    lines.sort(key=lambda entry: -entry[0])
    flat = [line for _, own in lines for line in own]
    largest = lines[0][0] or 1.0
    rows = [
        [name, level, _significant(value), note, _significant(effect), signed_bar(effect / largest)]
        for name, level, value, effect, note in flat[:_MOST_LINES]
    ]
    negative, positive = subject.classes
    intercept = number_text(round(float(model.intercept_[0]), 4))
    price = (
        f"It is protected against shifts of the training rows at a mean price of up to {model.radius_:.4g} per row "
        f"(the radius; {model.radius_reason_})."
        if model.radius_ > 0
        else "It is not protected against shifts: its radius is 0, which is plain logistic regression."
    )
    blocks = [
        paragraph(
            f"The log odds of {positive} against {negative} are {intercept} plus, for every column, its coefficient: times the "
            f"number for numeric columns, as it stands for categories. The effect is that of one standard deviation of "
            f"{whose}. {price}"
        ),
        table(
            ("column", "level", "coefficient", "standard deviation", "effect", f"\u2190 {negative} \u00b7 {positive} \u2192"),
            rows,
            left=2,
            ready=(5,),
        ),
    ]
    if any_tied:
        blocks.append(
            paragraph(
                "Tied levels have the same coefficient: what their rows say beyond it, often few, is less than what a shift "
                "between levels may cost.",
                "small",
            )
        )
    if len(flat) > _MOST_LINES:
        blocks.append(paragraph(f"{len(flat) - _MOST_LINES:,} smaller ones are left out; coefficients() lists all.", "small"))
    if model.loses_digits:
        lost = f"{model.public_rounding_:.1g}"
        blocks.append(
            paragraph(
                f"Columns are so far from 0 that plain sums of these numbers lose about {lost} of the log odds. What was "
                "proven holds for sums without rounding, as predict() takes them.",
                "small",
            )
        )
    return tuple(blocks)


def _spreads(subject: Subject) -> tuple[FloatArray, str]:
    """The standard deviations of the numeric columns, and of which rows they are.

    The default prices are one over those of the training rows, which do not depend on the rows of a report.
    """
    model = subject.model
    if model.numeric_weights is None and model.shift is None:
        found: FloatArray = 1.0 / model.ground_cost_.numeric_weights
        return found, "the training rows"
    columns = read_table(subject.seen).columns
    places = model.schema_.numeric_positions
    return np.array([float(np.nanstd(columns[at].numbers())) for at in places]), "the rows of this report"


def _tied(values: FloatArray) -> BoolArray:
    """Which levels of a category share their coefficient with another one; none where all are 0."""
    tied = np.zeros(values.size, dtype=bool)
    largest = float(np.abs(values).max(initial=0.0))
    if largest > 0:
        order = np.argsort(values)
        close = np.diff(values[order]) <= _TIE * largest
        tied[order[1:]] |= close
        tied[order[:-1]] |= close
    return tied


def _significant(value: float) -> str:
    return number_text(float(f"{value:.3g}"))


def _svm_blocks(subject: Subject) -> tuple[str, ...]:
    model = subject.model
    inputs = {name: np.asarray(values) for name, values in model.input_columns().items()}
    promised = np.asarray(inputs["misclassified"], dtype=np.float64)
    kept = int(np.sum(promised <= inputs["violation"] * (1 + 1e-6)))
    count = promised.size
    kernel = model.kernel if isinstance(model.kernel, str) else "own"
    blocks = [
        paragraph(
            f"It separates {count} uncertain inputs, each known by its mean and covariance, with a kernel of kind {kernel!r}. "
            f"For {kept} of them the probability of misclassification is at most the one tolerated, whatever distribution with "
            f"these moments they have. {_support(len(model.support_groups_), count)}"
        )
    ]
    if getattr(model, "weakness_", ""):
        blocks.append(paragraph(_sentence(model.weakness_), "warn"))
    order = np.argsort(-promised, kind="stable")[:_MOST_INPUTS]
    rows = [
        [
            str(inputs["group"][at]),
            str(inputs["label"][at]),
            str(inputs["samples"][at]) if inputs["samples"][at] else "moments",
            risk_text(float(inputs["violation"][at])),
            risk_text(float(promised[at])),
            "yes" if inputs["support"][at] else "no",
        ]
        for at in order.tolist()
    ]
    headings = ("input", "class", "samples", "tolerated", "misclassified at most", "supports")
    blocks.append(table(headings, rows, left=2, caption="Inputs with the weakest promise"))
    if count > _MOST_INPUTS:
        blocks.append(paragraph(f"{count - _MOST_INPUTS:,} others are left out; inputs() lists all.", "small"))
    if hasattr(model, "coef_"):
        blocks.append(_plane(model.schema_.names, model.coef_[0]))
    return tuple(blocks)


def machine_blocks(model: Any) -> tuple[str, ...]:
    """The section about a support vector machine of more than two classes."""
    scheme = "each class against the rest" if model.multi_class_ == "ovr" else "each pair of classes"
    rows = []
    for machine in model.machines_:
        inputs = machine.input_columns()
        kept = int(np.sum(np.asarray(inputs["misclassified"]) <= np.asarray(inputs["violation"]) * (1 + 1e-6)))
        proof = machine.certificate_
        told = "proven" if proof.verified else f"gap {_known(proof.relative_gap, rounded_up, 2)}"
        names = " or ".join(map(str, machine.classes_.tolist()))
        rows.append([names, str(len(machine.groups_)), str(kept), str(len(machine.support_groups_)), told])
    kernel = model.kernel if isinstance(model.kernel, str) else "own"
    blocks = [
        paragraph(
            f"There is a machine for {scheme}, with a kernel of kind {kernel!r}. A promise is kept where the probability of "
            "misclassification between the two is at most the one tolerated, whatever distribution with its moments an input "
            "has."
        ),
        table(("machine", "inputs", "promises kept", "support it", "optimality"), rows[:_MOST_LINES], left=1),
    ]
    if len(rows) > _MOST_LINES:
        blocks.append(paragraph(f"{len(rows) - _MOST_LINES:,} others are left out; machines_ has all.", "small"))
    for machine in model.machines_[:_MOST_LINES]:
        if getattr(machine, "weakness_", ""):
            names = " or ".join(map(str, machine.classes_.tolist()))
            blocks.append(paragraph(f"{names}: {machine.weakness_}", "warn"))
    return tuple(blocks)


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}"


def _support(supporting: int, count: int) -> str:
    if supporting == count:
        return "All of them touch the margin or lie beyond."
    return f"{supporting} touch the margin or lie beyond; without the others the model would be the same."


def _plane(names: tuple[str, ...], coefficients: FloatArray) -> str:
    order = np.argsort(-np.abs(coefficients), kind="stable")[:_MOST_LINES].tolist()
    largest = float(np.abs(coefficients).max(initial=0.0)) or 1.0
    rows = [[names[at], _significant(float(coefficients[at])), signed_bar(float(coefficients[at]) / largest)] for at in order]
    return table(("column", "coefficient", ""), rows, ready=(2,))
