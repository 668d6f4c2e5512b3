"""One HTML file about a fitted model: what it is, what is proven, how it does, and what shifts would do to it."""

from __future__ import annotations

import datetime
import importlib.metadata
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from surefoot.chancesvm.estimator.chance_svc import ChanceConstrainedSVC
from surefoot.core.new_file import require_free, write_new
from surefoot.design.binarize.binary_column import BinaryColumn
from surefoot.reports.charts import reliability_chart, roc_chart
from surefoot.reports.classes_report import class_page, has_several_classes, read_class_subject
from surefoot.reports.comparison_section import comparison_blocks, comparison_fact, comparison_with
from surefoot.reports.data_summary import summary_blocks
from surefoot.reports.input_section import answered_inputs, input_blocks, input_fact
from surefoot.reports.inverse_report import inverse_page, is_inverse, read_inverse_subject, refuse_table_options
from surefoot.reports.model_section import (
    certificate_blocks,
    certificate_fact,
    check_of,
    model_blocks,
    model_name,
    rows_note,
    setting_blocks,
)
from surefoot.reports.page import Fact, ReportPage, Section, figures, paragraph
from surefoot.reports.reliability import Reliability, reliability_of
from surefoot.reports.shift_section import run_stress, worst_case_blocks, worst_case_fact, worst_case_of
from surefoot.reports.subject import Subject, read_subject
from surefoot.shift.shift_model import ShiftModel
from surefoot.shift.stress.metrics import metrics_of_probabilities

# An objective that agrees to so many digits is that of the same rows.
_SAME = 1e-6
# Names of classes that fit into a sentence, and what is said instead.
_SHORT_NAME, _KINDS = 24, ("the negative class", "the positive class")


def report(
    model: Any,
    X: Any,
    y: Any,
    path: Any,
    *,
    title: str = "",
    shift: ShiftModel | None = None,
    reference: Any = None,
    n_sets: int = 1000,
    time_limit: float = 20.0,
    random_state: Any = 0,
    n_jobs: int | None = None,
    meanings: Iterable[BinaryColumn] = (),
    overwrite: bool = False,
    verbose: int = 0,
    sample_weight: Any = None,
    compare_with: Any = None,
    groups: Any = None,
) -> Path:
    """Write one self-contained HTML file about a fitted model, for the screen and for paper.

    It shows the coefficients or the score card, the certificate, a reliability diagram with intervals, the ROC curve, the shift
    that would hurt most in words, a stress test, a summary of the data, and all settings. It loads nothing and runs nothing.

    Parameters
    ----------
    model : fitted RobustLogisticRegression, RobustLogisticRegressionCV, RiskScoreClassifier or ChanceConstrainedSVC
        Or a fitted pipeline that ends with one, or an ``InverseOptimizer``. A support vector machine is judged by its ranking
        only, unless it was fitted with ``probability=True``. One of more than two classes has a shorter page: accuracy and a
        table of true and predicted classes, no ranking, no shifts and no stress test. One of a learned cost has its entries,
        the forward problem, what it explains of the observations, and, on those of its fit, how far it can be trusted;
        ``time_limit`` and ``random_state`` are then those of the refits, and options about tables are refused.
    X : data frame (pandas, polars, pyarrow), 2-d array, or list of rows
        Rows with known answers; best rows that the model has not been fitted to. Signals for an ``InverseOptimizer``.
    y : array-like of shape (n_rows,)
        The answers, rows of both classes among them if there are two; responses for an ``InverseOptimizer``.
    path : str or path
        The file to write, such as "report.html".
    title : str, default=""
        Heading of the page.
    shift : ShiftModel, optional
        What the stress test assumes to shift. None: what the model was fitted with, or else that every column may shift a
        little; the report says what.
    reference : table, optional
        Where standard deviations and levels of the stress test come from, as in :func:`~surefoot.stress_test`.
    n_sets : int, default=1000
        Shifted tables of the stress test; 0 for none.
    time_limit : float, default=20.0
        Most seconds for the stress test: there are fewer shifted tables where these would take longer.
    random_state : None, int, or NumPy generator, default=0
        Of the stress test.
    n_jobs : int, optional
        Threads of the stress test.
    meanings : iterable of BinaryColumn, optional
        What the 0/1 columns of a score card say: ``columns_`` of the ``ThresholdBinarizer`` that made them. Pipelines know.
    overwrite : bool, default=False
        Whether to replace a file that is there.
    verbose : int, default=0
        Above 0: how much of the stress test is done, on standard error.
    sample_weight : array-like of shape (n_rows,), optional
        The weights of the fit, where the rows are those of training: its proof is then checked once more, on them. In all
        figures each row counts once.
    compare_with : table, tuple (table, labels), or Comparison, optional
        An earlier table, such as the training rows, or what :func:`~surefoot.compare` found already: the report then says what
        has shifted since, whether the radius of the model covers it, and with labels what changed its loss. Not for models of
        more than two classes.
    groups : array-like of shape (n_rows,), optional
        Of a support vector machine of two classes: the input that each row is a reading of. The report then also says how often
        inputs are put into the right class by all their readings, and of which ones that is least sure. Other figures are of
        rows.

    Returns
    -------
    pathlib.Path
        Where the report is.

    Raises
    ------
    FileExistsError
        If there is a file, and ``overwrite`` is False.
    OSError
        If the file cannot be written; nothing is left of it then, and what was there before still is.
    InvalidTableError
        If the table does not fit the model.

    Examples
    --------
    >>> import surefoot as sf
    >>> X = [[1.0, "web"], [2.0, "shop"], [3.0, "web"], [4.0, "shop"], [5.0, "shop"], [6.0, "web"]]
    >>> y = ["no", "no", "yes", "no", "yes", "yes"]
    >>> model = sf.RobustLogisticRegression(radius=0.05).fit(X, y)
    >>> path = sf.report(model, X, y, "report.html")  # doctest: +SKIP
    """
    place = require_free(path, overwrite=overwrite)
    if not (isinstance(n_sets, (int, np.integer)) and not isinstance(n_sets, bool) and n_sets >= 0):
        raise ValueError(f"n_sets = {n_sets!r} must be a whole number at or above 0.")
    if not (isinstance(time_limit, (int, float)) and not isinstance(time_limit, bool) and time_limit > 0):
        raise ValueError(f"time_limit = {time_limit!r} must be a positive number of seconds.")
    if is_inverse(model):
        refuse_table_options(
            shift=shift, reference=reference, sample_weight=sample_weight, compare_with=compare_with, groups=groups
        )
    footer = f"Written by surefoot {_version()} on {datetime.date.today().isoformat()}."
    if is_inverse(model):
        about = read_inverse_subject(model, X, y)
        page = inverse_page(about, title=title, seconds=float(time_limit), random_state=random_state, footer=footer)
        write_new(place, page.html, overwrite=overwrite)
        return place
    if has_several_classes(model):
        if compare_with is not None:
            raise ValueError("compare_with is for models of two classes; use surefoot.compare for a model of more.")
        if groups is not None:
            raise ValueError("groups is for models of two classes; use predict(X, groups) of a model of more.")
        page = class_page(read_class_subject(model, X, y), title=title, sample_weight=sample_weight, footer=footer)
        write_new(place, page.html, overwrite=overwrite)
        return place
    subject = read_subject(model, X, y)
    answered = answered_inputs(subject, groups)
    compared = comparison_with(subject, compare_with, random_state)
    worst = worst_case_of(subject)
    stress = None
    if n_sets:
        stress = run_stress(
            subject,
            shift,
            reference=reference,
            n_sets=int(n_sets),
            seconds=float(time_limit),
            random_state=random_state,
            n_jobs=n_jobs,
            verbose=verbose,
        )
    bins = None if subject.probability is None else reliability_of(subject.probability[:, 1], subject.positive)
    check = check_of(subject, sample_weight)
    facts = [certificate_fact(check), *_accuracy_facts(subject)]
    if answered is not None:
        facts.append(input_fact(answered))
    if worst is not None:
        facts.append(worst_case_fact(subject, worst))
    if stress is not None and stress.fact is not None:
        facts.append(stress.fact)
    if compared is not None:
        facts.append(comparison_fact(compared))
    sections = [
        Section("The model", model_blocks(subject, meanings)),
        Section("What is proven", certificate_blocks(subject.model, check)),
        Section("How well it does", _quality_blocks(subject, bins, same_rows=check.same_rows)),
        *([] if answered is None else [Section("Inputs of several readings", input_blocks(answered))]),
        *([] if compared is None else [Section("What has shifted", comparison_blocks(compared))]),
        Section(
            "What shift would hurt most",
            worst_case_blocks(subject, worst, stressed=stress is not None and stress.report is not None),
        ),
        *([] if stress is None else [Section("Stress test", stress.blocks)]),
        Section("The data", _data_blocks(subject)),
        Section("Settings", setting_blocks(subject.model)),
    ]
    negative, positive = subject.classes
    name = model_name(subject.model)
    page = ReportPage(
        title=title or f"{name}: {positive} or {negative}",
        subtitle=f"{name} judged on {subject.data.n_rows:,} rows and {len(subject.data.names):,} columns",
        facts=tuple(facts),
        sections=tuple(sections),
        footer=footer,
    )
    write_new(place, page.html, overwrite=overwrite)
    return place


def _accuracy_facts(subject: Subject) -> list[Fact]:
    negative, positive = (
        name if len(name) <= _SHORT_NAME else kind for name, kind in zip(subject.classes, _KINDS, strict=True)
    )
    facts = [Fact("AUC", f"{subject.rows.auc():.3f}", f"how often a row of {positive} ranks above one of {negative}")]
    if subject.probability is not None:
        ace = _metrics(subject)["ace"]
        facts.append(Fact("Calibration error", f"{ace:.3f}", "mean distance of predicted from observed shares"))
    return facts


def _metrics(subject: Subject) -> dict[str, float]:
    names = ("ace", "log_loss", "accuracy")
    # As predict goes: the probabilities of a support vector machine may lean to the other class near a score of 0.
    by_score = {"accuracy": float(np.mean((subject.scores > 0) == subject.positive))} if _goes_by_score(subject) else {}
    if subject.probability is None:
        return by_score
    first, second = subject.probability[None, :, 0], subject.probability[None, :, 1]
    found = metrics_of_probabilities(first, second, subject.positive, names)[0].tolist()
    return dict(zip(names, found, strict=True)) | by_score


def _goes_by_score(subject: Subject) -> bool:
    return isinstance(subject.model, ChanceConstrainedSVC)


def _quality_blocks(subject: Subject, bins: Reliability | None, *, same_rows: bool) -> tuple[str, ...]:
    roc = (
        roc_chart(subject.rows),
        "ROC curve: for every threshold, whom it finds among the positive and among the negative rows.",
    )
    metrics = _metrics(subject)
    which = "predicted" if _goes_by_score(subject) else "more likely"
    told = [f"the {which} class is right in {metrics['accuracy']:.1%} of the rows"]
    if bins is None:
        return (
            paragraph(f"In these rows {told[0]}. Reliability needs probabilities: fit the model with probability=True."),
            figures(roc),
        )
    told.append(f"the mean log loss is {metrics['log_loss']:.4f}")
    verdict = (
        "The predicted probability lies in every interval."
        if bins.n_outside == 0
        else f"The predicted probability lies outside the interval of {bins.n_outside} of {bins.predicted.size} groups."
    )
    reliability = (
        reliability_chart(bins),
        "Reliability: rows in groups of similar probability, with 95 % intervals of the observed share. On the dashed line "
        f"predictions are right. {verdict}",
    )
    return (
        rows_note(same_rows=same_rows),
        paragraph(f"In these rows {' and '.join(told)}."),
        figures(reliability, roc),
    )


def _data_blocks(subject: Subject) -> tuple[str, ...]:
    negative, positive = subject.classes
    count = int(subject.positive.sum())
    rows = subject.positive.size
    told = f"{rows:,} rows: {count:,} ({count / rows:.1%}) {positive}, {rows - count:,} ({1 - count / rows:.1%}) {negative}."
    schema = subject.model.schema_ if subject.seen is subject.X else None
    categorical = None if schema is None else frozenset(schema.categorical_positions)
    return (paragraph(told), *summary_blocks(subject.data, categorical))


def _version() -> str:
    try:
        return importlib.metadata.version("surefoot")
    except importlib.metadata.PackageNotFoundError:  # a source tree that was never installed
        return "0+unknown"
