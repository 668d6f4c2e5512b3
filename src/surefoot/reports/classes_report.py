"""The report about a support vector machine of more than two classes, in which rankings and shifts have no place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from surefoot.core.arrays import AnyArray
from surefoot.design.read.table import Table, read_table
from surefoot.exceptions import InvalidTableError
from surefoot.reports.data_summary import summary_blocks
from surefoot.reports.model_section import (
    certificate_blocks,
    certificate_fact,
    check_of,
    machine_blocks,
    model_name,
    rows_note,
    setting_blocks,
)
from surefoot.reports.page import Fact, ReportPage, Section, paragraph, table
from surefoot.sklearn_api.own_rows import seen_by_last_step
from surefoot.sklearn_api.proven_model import last_step, refitted
from surefoot.sklearn_api.training_rows import flat_labels

# Names that fit into a title, and classes that fit into a table.
_MOST_NAMES, _MOST_CLASSES = 4, 20


@dataclass(frozen=True, eq=False)
class ClassSubject:
    """A model of more than two classes and what it says about a table.

    Attributes
    ----------
    whole, model, X, y, seen, data
        As those of :class:`~surefoot.reports.subject.Subject`.
    found, true : ndarray of shape (n_rows,)
        Places of the predicted and of the true labels among the classes.
    """

    whole: Any
    model: Any
    X: Any
    y: Any
    seen: Any
    data: Table
    found: NDArray[np.intp]
    true: NDArray[np.intp]

    @property
    def names(self) -> list[str]:
        return [str(name) for name in self.model.classes_.tolist()]


def has_several_classes(model: Any) -> bool:
    """Whether a report on a model is one on more than two classes."""
    return hasattr(last_step(refitted(model)), "machines_")


def read_class_subject(model: Any, X: Any, y: Any) -> ClassSubject:
    """Apply a model of more than two classes to a table.

    Raises
    ------
    InvalidTableError
        If the table does not fit the model, or holds a label that the model does not know.
    """
    model = refitted(model)
    last = model.steps[-1][1] if isinstance(model, Pipeline) else model
    check_is_fitted(last)
    data, seen = read_table(X), seen_by_last_step(model, X)
    true = _places(last.classes_, flat_labels(y))
    if true.size != data.n_rows:
        raise InvalidTableError(
            f"Found input variables with inconsistent numbers of samples: X has {data.n_rows} rows, y has {true.size} labels."
        )
    return ClassSubject(model, last, X, y, seen, data, _places(last.classes_, last.predict(seen)), true)


def class_page(subject: ClassSubject, *, title: str, sample_weight: Any, footer: str) -> ReportPage:
    """The page about it."""
    check = check_of(subject, sample_weight)
    right, name = float(np.mean(subject.found == subject.true)), model_name(subject.model)
    names = subject.names
    shown = ", ".join(names[:_MOST_NAMES]) + (", ..." if len(names) > _MOST_NAMES else "")
    sections = (
        Section("The model", machine_blocks(subject.model)),
        Section("What is proven", certificate_blocks(subject.model, check)),
        Section(
            "How well it does",
            (
                rows_note(same_rows=check.same_rows),
                paragraph(f"In these rows the predicted class is right in {right:.1%}."),
                *_confusion_blocks(subject),
            ),
        ),
        Section("The data", (paragraph(_counts(subject)), *summary_blocks(subject.data, None))),
        Section("Settings", setting_blocks(subject.model)),
    )
    size = f"{subject.data.n_rows:,} rows and {len(subject.data.names):,} columns"
    return ReportPage(
        title=title or f"{name}: {shown}",
        subtitle=f"{name} of {len(names)} classes judged on {size}",
        facts=(certificate_fact(check), Fact("Accuracy", f"{right:.1%}", "of the rows get the right class")),
        sections=sections,
        footer=footer,
    )


def _places(classes: AnyArray, labels: Any) -> NDArray[np.intp]:
    known = {name: at for at, name in enumerate(classes.tolist())}
    values = np.asarray(labels).tolist()
    strange = [(row, value) for row, value in enumerate(values) if value not in known]
    if strange:
        row, value = strange[0]
        raise InvalidTableError(
            f"y, row {row}: {value!r} is not one of the classes that the model knows, {list(known)!r:.200}."
        )
    return np.array([known[value] for value in values], dtype=np.intp)


def _counts(subject: ClassSubject) -> str:
    counts = np.bincount(subject.true, minlength=len(subject.names)).tolist()
    parts = ", ".join(
        f"{count:,} ({count / subject.true.size:.1%}) {name}" for name, count in zip(subject.names, counts, strict=True)
    )
    return f"{subject.true.size:,} rows: {parts}."


def _confusion_blocks(subject: ClassSubject) -> tuple[str, ...]:
    names = subject.names
    if len(names) > _MOST_CLASSES:
        return (paragraph(f"A table of {len(names)} classes has no place on a page.", "small"),)
    counts = np.zeros((len(names), len(names)), dtype=np.int64)
    np.add.at(counts, (subject.true, subject.found), 1)
    rows = [[name, *(f"{count:,}" for count in line)] for name, line in zip(names, counts.tolist(), strict=True)]
    return (table(("true class", *names), rows, caption="Rows by their true class and by the predicted one"),)
