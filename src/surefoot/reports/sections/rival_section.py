"""Other models beside the one of a report: what its caution costs where nothing shifts, and what it saves where something does.

Losses of two models are compared row by row, so that the interval of their difference is not widened by how hard rows are:
mean +- 1.96 standard errors of the differences of single rows.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from surefoot.core.arrays import FloatArray
from surefoot.exceptions import InvalidTableError, SurefootError
from surefoot.reports.page import paragraph, table
from surefoot.reports.reliability import NORMAL_QUANTILE
from surefoot.reports.shift_section import OWN_NAME, Stress
from surefoot.reports.subject import Subject
from surefoot.robust.estimator.robust_logistic import RobustLogisticRegression
from surefoot.shift.stress.metrics import metrics_of_probabilities
from surefoot.sklearn_api.own_rows import own_rows

PLAIN_NAME = "plain logistic regression"
# How a model reads a table; a plain regression reads it in the same way.
_READING = (
    "categorical_features",
    "category_levels",
    "fit_intercept",
    "missing_categorical",
    "missing_numeric",
    "unseen_categories",
)
_METRICS = ("auc", "log_loss", "ace", "accuracy")
_HEADINGS = ("AUC", "log loss", "calibration error", "accuracy")


@dataclass(frozen=True, eq=False)
class Rivals:
    """Models beside the one of the report.

    Attributes
    ----------
    models : mapping of names to fitted classifiers
    probability : mapping of names to ndarray of shape (n_rows, 2)
        Of the two classes of the report, in its order; the model of the report comes first.
    told : str
        What could not be done, or nothing.
    """

    models: dict[str, Any]
    probability: dict[str, FloatArray]
    told: str = ""


def read_rivals(subject: Subject, given: Mapping[str, Any] | None, training: Any) -> Rivals | None:
    """The models that stand beside that of the report, applied to its rows; None if there are none.

    Parameters
    ----------
    subject : Subject
    given : mapping of names to fitted classifiers, optional
    training : tuple (table, labels), optional
        Rows to which a plain logistic regression is fitted.

    Raises
    ------
    ValueError
        If a rival is no classifier of the same two classes, or training is no pair.
    InvalidTableError
        If a rival cannot read the rows.
    """
    models, told = dict(given or {}), ""
    if training is not None:
        plain, told = _plain_regression(subject, training)
        if plain is not None:
            models = {PLAIN_NAME: plain, **models}
    if not models and not told:
        return None
    if subject.probability is None:
        raise ValueError(
            "rivals are compared by their probabilities, which this model does not have: fit it with probability=True."
        )
    probability = {OWN_NAME: subject.probability}
    for name, model in models.items():
        if not isinstance(name, str) or name == OWN_NAME:
            raise ValueError(f"rivals = {{{name!r}: ...}}: the name of a rival must be text, and not {OWN_NAME!r}.")
        probability[name] = _probability(subject, name, model)
    return Rivals(models, probability, told)


def _plain_regression(subject: Subject, training: Any) -> tuple[Any, str]:
    if not (isinstance(training, tuple) and len(training) == 2):
        raise ValueError("training must be a pair (table, labels): the rows that the model was fitted to.")
    known = subject.model.get_params(deep=False)
    reading = {} if subject.seen is not subject.X else {name: known[name] for name in _READING if name in known}
    model = RobustLogisticRegression(radius=0.0, **reading)
    try:
        return model.fit(*training), ""
    except SurefootError as error:
        return None, f"There is no plain logistic regression to compare with: {error!s:.300}"


def _probability(subject: Subject, name: str, model: Any) -> FloatArray:
    kind = type(model.steps[-1][1] if isinstance(model, Pipeline) else model).__name__
    classes = [str(label) for label in np.asarray(getattr(model, "classes_", ())).tolist()]
    if not hasattr(model, "predict_proba") or sorted(classes) != sorted(subject.classes):
        raise ValueError(
            f"rival {name!r} ({kind}) must be a fitted classifier with predict_proba and the classes "
            f"{list(subject.classes)}; it has {classes or 'none'}."
        )
    try:
        found = np.asarray(model.predict_proba(own_rows(subject.X)), dtype=np.float64)
    except Exception as error:  # of any library
        raise InvalidTableError(f"rival {name!r} ({kind}) cannot read the rows of the report: {error!s:.300}") from error
    return found[:, [classes.index(label) for label in subject.classes]]


def rival_figures(subject: Subject, rivals: Rivals) -> dict[str, dict[str, float]]:
    """AUC, log loss, calibration error and accuracy of every model on the rows as they are."""
    names = list(rivals.probability)
    first, second = (np.stack([rivals.probability[name][:, at] for name in names]) for at in (0, 1))
    found = metrics_of_probabilities(first, second, subject.positive, _METRICS).tolist()
    return {name: dict(zip(_METRICS, line, strict=True)) for name, line in zip(names, found, strict=True)}


def loss_difference(subject: Subject, rivals: Rivals, name: str) -> tuple[float, float]:
    """By how much the mean log loss of this model is above that of a rival, and half the width of the 95 % interval."""
    own, other = (_losses(subject, rivals.probability[who]) for who in (OWN_NAME, name))
    gap = own - other
    return float(gap.mean()), NORMAL_QUANTILE * float(gap.std(ddof=1)) / math.sqrt(gap.size) if gap.size > 1 else math.inf


def _losses(subject: Subject, probability: FloatArray) -> FloatArray:
    happened = np.where(subject.positive, probability[:, 1], probability[:, 0])
    losses: FloatArray = -np.log(np.maximum(happened, np.finfo(np.float64).tiny))
    return losses


def rival_blocks(subject: Subject, rivals: Rivals, stress: Stress | None) -> tuple[str, ...]:
    """The section about the price of caution."""
    blocks = [paragraph(_price(subject, rivals, stress, name)) for name in rivals.models]
    if rivals.told:
        blocks.append(paragraph(rivals.told, "warn"))
    if not rivals.models:
        return tuple(blocks)
    figures = rival_figures(subject, rivals)
    rows = [[name, *(f"{line[metric]:.4f}" for metric in _METRICS)] for name, line in figures.items()]
    blocks.append(table(("model", *_HEADINGS), rows, caption="On the rows as they are"))
    if stress is not None and stress.report is not None:
        blocks.append(_under_stress(stress))
    blocks.append(paragraph("AUC and accuracy: greater is better. Log loss and calibration error: smaller is better.", "small"))
    return tuple(blocks)


def _under_stress(stress: Stress) -> str:
    assert stress.report is not None
    rows = []
    for name in stress.report.models:
        auc, loss = stress.values("auc", name), stress.values("log_loss", name)
        rows.append([name, *(f"{value:.4f}" for value in (auc.mean(), auc.min(), loss.mean(), loss.max()))])
    headings = ("model", "mean AUC", "worst AUC", "mean log loss", "worst log loss")
    return table(headings, rows, caption=f"On the same {stress.report.n_sets:,} shifted tables")


def _price(subject: Subject, rivals: Rivals, stress: Stress | None, name: str) -> str:
    gap, half = loss_difference(subject, rivals, name)
    told = f"Beside {name}: as the rows are, the mean log loss of this model is {_compared(gap, half)}"
    if stress is not None and stress.report is not None:
        own, other = stress.values("log_loss"), stress.values("log_loss", name)
        better = float(np.mean(own < other))
        told += (
            f"; on shifted tables it is {_above(float(own.mean() - other.mean()))} on average, it is the smaller one on "
            f"{better:.0%} of them, and in the worst case for each it is {own.max():.4f} against {other.max():.4f}"
        )
    return f"{told}."


def _compared(gap: float, half: float) -> str:
    within = f"95 % interval of the difference {gap - half:+.4f} to {gap + half:+.4f}"
    verdict = "which chance alone may explain" if abs(gap) <= half else "more than chance explains"
    return f"{_above(gap)} ({within}, {verdict})"


def _above(gap: float) -> str:
    return f"{abs(gap):.4f} {'above' if gap > 0 else 'below'}"
