"""Everything a report found, before it is put into words: the page, the checklists and the JSON file read it from here."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from surefoot.reports.data_summary import share_missing
from surefoot.reports.model_section import ProofCheck, model_name
from surefoot.reports.reliability import Reliability
from surefoot.reports.sections.checklist_section import CARD_ITEMS, TRIPOD_ITEMS
from surefoot.reports.sections.group_section import group_figures
from surefoot.reports.sections.groupings import RowGroup
from surefoot.reports.sections.net_benefit import THRESHOLDS, benefit_for_all, net_benefit
from surefoot.reports.sections.rival_section import Rivals, rival_figures
from surefoot.reports.shift_section import Stress
from surefoot.reports.subject import Subject
from surefoot.robust.estimator.worst_case import WorstCase
from surefoot.shift.stress.metrics import metrics_of_probabilities


@dataclass(frozen=True, eq=False)
class Findings:
    """What is known of a model and a table; parts that nobody asked for are None or empty."""

    subject: Subject
    check: ProofCheck
    bins: Reliability | None
    worst: WorstCase | None
    stress: Stress | None
    rivals: Rivals | None
    groupings: dict[str, list[RowGroup]]
    version: str
    written: str

    @property
    def metrics(self) -> dict[str, float]:
        """AUC, accuracy, and, where there are probabilities, calibration error and log loss."""
        subject, found = self.subject, {"auc": self.subject.rows.auc()}
        if subject.probability is not None:
            first, second = subject.probability[None, :, 0], subject.probability[None, :, 1]
            names = ("ace", "log_loss", "accuracy")
            found |= dict(zip(names, metrics_of_probabilities(first, second, subject.positive, names)[0].tolist(), strict=True))
        if subject.goes_by_score:
            # As predict goes: the probabilities of a support vector machine may lean to the other class near a score of 0.
            found["accuracy"] = float(np.mean((subject.scores > 0) == subject.positive))
        return found

    def record(self, title: str, about: Mapping[str, str]) -> dict[str, Any]:
        """All figures as plain containers."""
        subject, proof = self.subject, self.check.certificate
        positives, rows = int(subject.positive.sum()), int(subject.positive.size)
        certificate = {key: value for key, value in proof.to_dict().items() if key != "witness"}
        return {
            "format": "surefoot report 1",
            "title": title,
            "surefoot": self.version,
            "written": self.written,
            "model": {
                "kind": model_name(subject.model),
                "class": type(subject.model).__name__,
                "parameters": {key: repr(value) for key, value in subject.model.get_params(deep=False).items()},
                "classes": list(subject.classes),
                "columns": list(subject.data.names),
            },
            "certificate": certificate | {"checked": self.check.told, "void": self.check.changed},
            "data": {"rows": rows, "positive": positives, "columns": len(subject.data.names)},
            "metrics": self.metrics | {"rows_of_training": self.check.same_rows},
            "reliability": None if self.bins is None else {k: v.tolist() for k, v in vars(self.bins).items()},
            "decision_curve": self._decision_curve(),
            "rivals": None if self.rivals is None else rival_figures(subject, self.rivals),
            "groups": {
                name: [asdict(group_figures(subject, group)) for group in groups] for name, groups in self.groupings.items()
            },
            "worst_case": self._worst_case(),
            "stress": self._stress(),
            "checklists": known_items(self) | dict(about),
        }

    def json(self, title: str, about: Mapping[str, str]) -> str:
        """The record as a JSON document; numbers that JSON cannot hold are null."""
        return json.dumps(_plain(self.record(title, about)), indent=1, allow_nan=False, ensure_ascii=False) + "\n"

    def _decision_curve(self) -> Any:
        if self.subject.probability is None:
            return None
        positive = self.subject.positive
        return {
            "thresholds": THRESHOLDS.tolist(),
            "model": net_benefit(self.subject.probability[:, 1], positive).tolist(),
            "everybody": benefit_for_all(positive).tolist(),
        }

    def _worst_case(self) -> Any:
        if self.worst is None:
            return None
        return {
            "radius": self.worst.radius,
            "nominal_loss": self.worst.nominal_loss,
            "expected_loss": self.worst.expected_loss,
        }

    def _stress(self) -> Any:
        if self.stress is None or self.stress.report is None:
            return None if self.stress is None else {"reason": self.stress.reason}
        report = self.stress.report
        lines = {}
        for model in report.models:
            lines[model] = {
                metric: {"mean": float(values.mean()), "least": float(values.min()), "most": float(values.max())}
                for metric in report.metrics
                for values in (self.stress.values(metric, model),)
            }
        return {"sets": report.n_sets, "assumed": self.stress.assumed, "models": lines}


def known_items(found: Findings) -> dict[str, str]:
    """What the findings say about the items of the checklists."""
    subject, check, metrics = found.subject, found.check, found.metrics
    name, (negative, positive) = model_name(subject.model), subject.classes
    rows, events, columns = subject.positive.size, int(subject.positive.sum()), subject.data.names
    listed = ", ".join(columns[:12]) + (f" and {len(columns) - 12} more" if len(columns) > 12 else "")
    gaps = _gaps(found)
    fit = f"{metrics['accuracy']:.1%} right, AUC {metrics['auc']:.3f}" + (
        f", mean log loss {metrics['log_loss']:.4f}" if "log_loss" in metrics else ""
    )
    proven = "proven to be the best of its class on the rows of training" if check.certificate.verified else "not proven"
    proven = "void: the model has changed since it was proven" if check.changed else proven
    seen = (
        "the rows the model was fitted to"
        if check.same_rows
        else "rows handed to this report, not known to be those of training"
    )
    grouped = ", ".join(found.groupings)
    shifted = (
        f"{found.stress.report.n_sets:,} shifted tables: see the stress test."
        if found.stress is not None and found.stress.report is not None
        else ""
    )
    known = {
        "model details": f"{name} of surefoot {found.version}, optimality {proven}. All parameters are under Settings.",
        "factors": f"By group: {grouped}." if grouped else "",
        "metrics": "AUC, mean log loss, calibration error, accuracy, net benefit; intervals are of 95 %.",
        "evaluation data": f"{rows:,} rows, {events:,} of them {positive}; {seen}.",
        "quantitative analyses": f"{fit[0].upper()}{fit[1:]}. {shifted}".strip(),
        "caveats and recommendations": "A proof is about the rows of training; it does not promise that others are like them.",
        "1": f"{name}: {positive} or {negative}.",
        "8a": f"Two classes, {positive} and {negative}.",
        "9b": f"{len(columns):,} columns: {listed}.",
        "10": f"{rows:,} rows evaluated here.",
        "11": gaps,
        "12a": f"Evaluated on {seen}.",
        "12c": f"{name}, fitted by exact optimization; {proven}.",
        "12e": "AUC, mean log loss, calibration error, reliability diagram, ROC and decision curve.",
        "12g": f"predict_proba of surefoot {found.version}; the coefficients or points are in this report.",
        "13": f"{events / rows:.1%} of the rows are {positive}.",
        "14": f"Figures by {grouped}." if grouped else "",
        "15": "The probability of a class." if subject.probability is not None else "A class and a score.",
        "18f": "surefoot is open source (BSD 3-Clause).",
        "20b": "The data, column by column, are in this report.",
        "21": f"{rows:,} rows, {events:,} with the outcome {positive}.",
        "22": "Coefficients, points or inputs are under The model.",
        "23a": f"{fit[0].upper()}{fit[1:]}; intervals in the reliability diagram" + (f" and by {grouped}." if grouped else "."),
        "23b": f"By {grouped}." if grouped else "",
    }
    assert known.keys() <= {*CARD_ITEMS, *TRIPOD_ITEMS}, "every item is one of the lists"
    return {key: text for key, text in known.items() if text}


def _gaps(found: Findings) -> str:
    data, missing = found.subject.data, []
    for name, column in zip(data.names, data.columns, strict=True):
        count = int(np.sum(column.categories().codes < 0))
        if count:
            missing.append(f"{name} {share_missing(count, data.n_rows)}")
    if not missing:
        return "No value is missing in these rows."
    return f"Missing: {', '.join(missing[:8])}{f' and {len(missing) - 8} more columns' if len(missing) > 8 else ''}."


def _plain(value: Any) -> Any:
    """Nested containers with nothing but what JSON holds."""
    if isinstance(value, Mapping):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(entry) for entry in value]
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, (bool, int, str)) else str(value)
