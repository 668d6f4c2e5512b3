"""Rows that are readings of inputs: how often these are put into the right class by all of these, and how sure that is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from surefoot.chancesvm.estimator.chance_svc import ChanceConstrainedSVC
from surefoot.core.arrays import BoolArray, FloatArray
from surefoot.design.encode.row_groups import read_row_groups
from surefoot.exceptions import InvalidTableError
from surefoot.reports.page import Fact, paragraph, table
from surefoot.reports.subject import Subject
from surefoot.reports.wording import risk_text

# An answer counts as sure if a further reading says otherwise at most that often.
SURE = 0.1
# It is a bound for every distribution with the spread: near 1 it says nothing of how often that happens.
_NO_PROMISE = 0.99
# Inputs that are listed.
_MOST_INPUTS = 10


@dataclass(frozen=True, eq=False)
class AnsweredInputs:
    """What a model says of inputs, and whether that is right.

    Attributes
    ----------
    told : mapping
        Columns of ``promise``.
    labels : list
        Their true classes.
    right : ndarray of shape (n_inputs,), bool
    """

    told: dict[str, Any]
    labels: list[Any]
    right: BoolArray

    @property
    def flips(self) -> FloatArray:
        return np.asarray(self.told["flips"], dtype=np.float64)

    @property
    def sure(self) -> BoolArray:
        return np.asarray(self.flips <= SURE)


def answered_inputs(subject: Subject, groups: Any) -> AnsweredInputs | None:
    """The inputs of the rows of a report; None if they are no readings of any.

    Raises
    ------
    ValueError
        If the model knows no inputs.
    InvalidTableError
        If rows of an input have different classes.
    """
    if groups is None:
        return None
    if not isinstance(subject.model, ChanceConstrainedSVC):
        raise ValueError("groups is for support vector machines, whose inputs have several rows; leave it out.")
    named = read_row_groups(groups, subject.positive.size)
    sizes = np.bincount(named.codes)
    positive = np.bincount(named.codes, subject.positive)
    mixed = np.flatnonzero((positive > 0) & (positive < sizes))
    if mixed.size:
        raise InvalidTableError(
            f"group {named.names[mixed[0]]!r} has rows of both classes, and readings of one input have one. Check groups."
        )
    told = subject.model.promise_columns(subject.seen, groups)
    classes = np.asarray(subject.whole.classes_).tolist()
    labels = [classes[int(one > 0)] for one in positive.tolist()]
    right = np.array([one == own for one, own in zip(told["prediction"], labels, strict=True)])
    return AnsweredInputs(told, labels, right)


def input_fact(answered: AnsweredInputs) -> Fact:
    """The figure at the top of the page."""
    count = answered.right.size
    return Fact("Inputs right", f"{answered.right.mean():.1%}", f"of {count:,}, by all readings of each")


def input_blocks(answered: AnsweredInputs) -> tuple[str, ...]:
    """The section about inputs."""
    count, sure = answered.right.size, answered.sure
    told = (
        f"The rows are readings of {count:,} inputs. By the mean score of all its readings, {int(answered.right.sum()):,} of "
        f"them ({answered.right.mean():.1%}) are put into the right class. Of {int(sure.sum()):,} the model says that a "
        f"further reading is put into another class at most {SURE:.0%} of the time, whatever the noise "
        "with the spread that is stated"
    )
    told += f"; {answered.right[sure].mean():.1%} of these are right." if sure.any() else "."
    # Those of which nothing is known stand first.
    order = np.argsort(-np.nan_to_num(answered.flips, nan=np.inf), kind="stable")[:_MOST_INPUTS].tolist()
    rows = [
        [
            str(answered.told["group"][at]),
            f"{answered.told['rows'][at]:,}",
            str(answered.told["prediction"][at]),
            str(answered.labels[at]),
            _bound(float(answered.flips[at])),
        ]
        for at in order
    ]
    headings = ("input", "readings", "predicted", "true", "a further reading says otherwise, at most")
    blocks = [paragraph(told), table(headings, rows, left=1, caption="The least sure inputs")]
    if count > _MOST_INPUTS:
        blocks.append(paragraph(f"{count - _MOST_INPUTS:,} others are left out; promise() lists all.", "small"))
    return tuple(blocks)


def _bound(flips: float) -> str:
    if np.isnan(flips):
        return "not known"
    return "no promise" if flips > _NO_PROMISE else risk_text(flips)
