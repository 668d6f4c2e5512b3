"""One HTML file about a fitted model: what it is, what is proven, how it does, and what shifts would do to it."""

from __future__ import annotations

import datetime
import importlib.metadata
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from surefoot.core.new_file import require_free, write_new
from surefoot.design.binarize.binary_column import BinaryColumn
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
    setting_blocks,
)
from surefoot.reports.page import Fact, ReportPage, Section, paragraph
from surefoot.reports.reliability import reliability_of
from surefoot.reports.sections.checklist_section import checklist_blocks, read_about
from surefoot.reports.sections.findings import Findings, known_items
from surefoot.reports.sections.group_section import group_blocks
from surefoot.reports.sections.groupings import read_groupings
from surefoot.reports.sections.quality_section import quality_blocks
from surefoot.reports.sections.rival_section import read_rivals, rival_blocks
from surefoot.reports.shift_section import default_sets, run_stress, worst_case_blocks, worst_case_fact, worst_case_of
from surefoot.reports.subject import Subject, read_subject
from surefoot.shift.shift_model import ShiftModel

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
    n_sets: int | None = None,
    time_limit: float | None = None,
    random_state: Any = 0,
    n_jobs: int | None = None,
    meanings: Iterable[BinaryColumn] = (),
    overwrite: bool = False,
    verbose: int = 0,
    sample_weight: Any = None,
    compare_with: Any = None,
    groups: Any = None,
    rivals: Mapping[str, Any] | None = None,
    training: Any = None,
    by: Any = None,
    about: Mapping[str, str] | None = None,
    json: bool = False,
) -> Path:
    """Write one self-contained HTML file about a fitted model, for the screen and for paper.

    It shows the coefficients or the score card, the certificate, a reliability diagram with intervals, the ROC and the decision
    curve, other models beside it, figures by group, the shift that would hurt most in words, a stress test, a summary of the
    data, the items of TRIPOD+AI and of a model card, and all settings. It loads nothing and runs nothing.

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
        What the stress test assumes to shift. None: what the model was fitted with, or else what ``surefoot stress`` assumes
        too: with a probability of 90 % a number moves by at most 0.4 standard deviations, and a category stays what it is. The
        report says what.
    reference : table, optional
        Where standard deviations and levels of the stress test come from, as in :func:`~surefoot.stress_test`.
    n_sets : int, optional
        Shifted tables of the stress test; 0 for none. None means 1000, or so many that they have a thousand million cells
        together, but at least 20: a number that depends on the table and not on the machine.
    time_limit : float, optional
        Most seconds for the stress test: there are fewer shifted tables where these would take longer, and the report says so.
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
    rivals : mapping of names to fitted classifiers, optional
        Models to show beside this one, such as the one in use: on the rows as they are and on the same shifted tables.
    training : tuple (table, labels), optional
        The rows that the model was fitted to. A plain logistic regression is fitted to them and shown beside the model, so that
        the price of its caution is seen; ``reference`` is this table too unless it is given.
    by : str, list of str, or mapping of names to columns, optional
        Columns by which rows are grouped to see whether the model does equally well for all of them; a mapping brings columns
        that the model does not see. Numbers are cut into quarters.
    about : mapping of items to texts, optional
        What only people know, by numbers of TRIPOD+AI ("5a") or sections of a model card ("intended use").
    json : bool, default=False
        Whether to write all figures beside the page, into a file of the same name that ends in ".json". Not for models of more
        than two classes.

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
    beside = require_free(place.with_suffix(".json"), overwrite=overwrite) if json else None
    if beside == place:
        raise ValueError(f"the page would be written over by its JSON file: give {place} another ending, such as .html.")
    _require_sets(n_sets, time_limit)
    told = read_about(about)
    version, today = _version(), datetime.date.today().isoformat()
    footer = f"Written by surefoot {version} on {today}."
    if is_inverse(model):
        given = {"shift": shift, "reference": reference, "sample_weight": sample_weight, "compare_with": compare_with}
        asked = {"groups": groups, "rivals": rivals, "training": training, "by": by, "about": about, "json": json or None}
        refuse_table_options(given | asked)
        seen = read_inverse_subject(model, X, y)
        page = inverse_page(seen, title=title, seconds=time_limit, random_state=random_state, footer=footer)
        write_new(place, page.html, overwrite=overwrite)
        return place
    if has_several_classes(model):
        if compare_with is not None:
            raise ValueError("compare_with is for models of two classes; use surefoot.compare for a model of more.")
        if groups is not None:
            raise ValueError("groups is for models of two classes; use predict(X, groups) of a model of more.")
        asked = {"rivals": rivals, "training": training, "by": by, "about": about, "json": json or None}
        refused = [name for name, value in asked.items() if value is not None]
        if refused:
            raise ValueError(f"{' and '.join(refused)}: for models of two classes only, and this one tells more apart.")
        page = class_page(read_class_subject(model, X, y), title=title, sample_weight=sample_weight, footer=footer)
        write_new(place, page.html, overwrite=overwrite)
        return place
    subject = read_subject(model, X, y)
    answered = answered_inputs(subject, groups)
    groupings = {} if by is None else read_groupings(by, subject.data)
    beside_it = read_rivals(subject, rivals, training)
    compared = comparison_with(subject, compare_with, random_state)
    count = default_sets(subject.data) if n_sets is None else int(n_sets)
    stress = None
    if count:
        stress = run_stress(
            subject,
            shift,
            rivals={} if beside_it is None else beside_it.models,
            reference=training[0] if reference is None and training is not None else reference,
            n_sets=count,
            seconds=None if time_limit is None else float(time_limit),
            random_state=random_state,
            n_jobs=n_jobs,
            verbose=verbose,
        )
    found = Findings(
        subject=subject,
        check=check_of(subject, sample_weight),
        bins=None if subject.probability is None else reliability_of(subject.probability[:, 1], subject.positive),
        worst=worst_case_of(subject),
        stress=stress,
        rivals=beside_it,
        groupings=groupings,
        version=version,
        written=today,
    )
    facts = [certificate_fact(found.check), *_accuracy_facts(found)]
    if answered is not None:
        facts.append(input_fact(answered))
    if found.worst is not None:
        facts.append(worst_case_fact(subject, found.worst))
    if stress is not None and stress.fact is not None:
        facts.append(stress.fact)
    if compared is not None:
        facts.append(comparison_fact(compared))
    sections = [
        Section("The model", model_blocks(subject, meanings)),
        Section("What is proven", certificate_blocks(subject.model, found.check)),
        Section("How well it does", quality_blocks(found)),
        *([] if beside_it is None else [Section("Beside other models", rival_blocks(subject, beside_it, stress))]),
        *([] if not groupings else [Section("Groups of rows", group_blocks(subject, groupings))]),
        *([] if answered is None else [Section("Inputs of several readings", input_blocks(answered))]),
        *([] if compared is None else [Section("What has shifted", comparison_blocks(compared))]),
        Section(
            "What shift would hurt most",
            worst_case_blocks(subject, found.worst, stressed=stress is not None and stress.report is not None),
        ),
        *([] if stress is None else [Section("Stress test", stress.blocks)]),
        Section("The data", _data_blocks(subject)),
        Section("Model card and TRIPOD+AI", checklist_blocks(known_items(found), told)),
        Section("Settings", setting_blocks(subject.model)),
    ]
    negative, positive = subject.classes
    name = model_name(subject.model)
    heading = title or f"{name}: {positive} or {negative}"
    page = ReportPage(
        title=heading,
        subtitle=f"{name} judged on {subject.data.n_rows:,} rows and {len(subject.data.names):,} columns",
        facts=tuple(facts),
        sections=tuple(sections),
        footer=footer,
    )
    write_new(place, page.html, overwrite=overwrite)
    if beside is not None:
        write_new(beside, found.json(heading, told), overwrite=overwrite)
    return place


def _require_sets(n_sets: Any, time_limit: Any) -> None:
    if n_sets is not None and not (isinstance(n_sets, (int, np.integer)) and not isinstance(n_sets, bool) and n_sets >= 0):
        raise ValueError(f"n_sets = {n_sets!r} must be a whole number at or above 0.")
    if time_limit is not None and not (
        isinstance(time_limit, (int, float)) and not isinstance(time_limit, bool) and time_limit > 0
    ):
        raise ValueError(f"time_limit = {time_limit!r} must be a positive number of seconds.")


def _accuracy_facts(found: Findings) -> list[Fact]:
    subject = found.subject
    negative, positive = (
        name if len(name) <= _SHORT_NAME else kind for name, kind in zip(subject.classes, _KINDS, strict=True)
    )
    facts = [Fact("AUC", f"{subject.rows.auc():.3f}", f"how often a row of {positive} ranks above one of {negative}")]
    if subject.probability is not None:
        ace = found.metrics["ace"]
        facts.append(Fact("Calibration error", f"{ace:.3f}", "mean distance of predicted from observed shares"))
    return facts


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
