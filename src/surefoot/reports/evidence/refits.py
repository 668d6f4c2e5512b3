"""A model fitted again to other rows: resamples, and all folds but one, with everything that the model learns.

What is refitted is the whole estimator that is passed: of a pipeline, the thresholds of its questions too, so that what they
gained by looking at the labels is not counted as merit.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import GroupKFold, StratifiedKFold
from sklearn.utils import _safe_indexing

from surefoot.core.arrays import BoolArray, FloatArray
from surefoot.exceptions import ConvergenceLimitWarning, DoubtfulColumnWarning, InfeasibleProblemError, WeakModelWarning

Places = NDArray[np.intp]
# Draws of a resample until it holds both classes.
_MOST_DRAWS = 100


@dataclass(frozen=True, eq=False)
class Refit:
    """What is kept of a model that was fitted to some rows.

    Attributes
    ----------
    rows : ndarray of int
        Rows that it was fitted to; some of them several times.
    risks : ndarray of shape (n_rows,)
        Its risks for all rows of the table.
    points : dict of str to int
        Points of its card by column; empty if it is no card.
    variables : dict of str to str
        Variable by column with points.
    proven : bool
        Whether no limit ended the fit.
    """

    rows: Places
    risks: FloatArray
    points: dict[str, int]
    variables: dict[str, str]
    proven: bool


def refit(estimator: Any, X: Any, y: Any, rows: Places, positive_class: Any) -> Refit | None:
    """Fit a clone to some rows; None if no card obeys the rules on them."""
    model = clone(estimator)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            model.fit(_safe_indexing(X, rows), _safe_indexing(y, rows))
            risks = risks_of(model, X, positive_class)
        except InfeasibleProblemError:
            return None
        except Exception as error:
            error.add_note(
                "This came of a fit to a part of the rows. A level or a gap that no row of the part has is an error by "
                "default: ThresholdBinarizer(unseen='zero') reads it as zeros. A rule that names a column needs it in every "
                "part: fix its thresholds, or leave monotone out for it."
            )
            raise
    limits = [one for one in told if issubclass(one.category, ConvergenceLimitWarning)]
    for one in told:
        if not issubclass(one.category, (ConvergenceLimitWarning, DoubtfulColumnWarning, WeakModelWarning)):
            warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)
    points, variables = card_parts(model)
    return Refit(rows, risks, points, variables, not limits)


def risks_of(model: Any, X: Any, positive_class: Any) -> FloatArray:
    """Risks of the rows of a table."""
    at = list(model.classes_).index(positive_class)
    return np.asarray(model.predict_proba(X), dtype=np.float64)[:, at]


def positive_class_of(model: Any) -> Any:
    """The class whose risk a fitted model, or the last step of a pipeline, gives."""
    last = model[-1] if hasattr(model, "steps") else model
    return getattr(last, "pos_label_", model.classes_[1])


def card_parts(model: Any) -> tuple[dict[str, int], dict[str, str]]:
    """Points by column of a card, or of the last step of a pipeline, and the variable of each; nothing of other models."""
    steps = [step for _, step in model.steps] if hasattr(model, "steps") else [model]
    points: dict[str, int] = dict(getattr(steps[-1], "points_", {}))
    made: dict[str, str] = {}
    for step in steps:
        made |= {column.name: column.feature for column in getattr(step, "columns_", ())}
    return points, {name: made.get(name, name) for name in points}


def resamples(positive: BoolArray, groups: Places | None, count: int, random: np.random.Generator) -> Iterator[Places]:
    """Rows drawn with repetition, or whole groups of them, each with both classes."""
    members = None if groups is None else [np.flatnonzero(groups == group) for group in np.unique(groups)]
    for _ in range(count):
        for _ in range(_MOST_DRAWS):
            if members is None:
                rows = random.integers(0, positive.size, positive.size)
            else:
                rows = np.concatenate([members[k] for k in random.integers(0, len(members), len(members))])
            if 0 < positive[rows].sum() < rows.size:
                break
        else:
            raise ValueError("resamples of these rows hold one class only: there are too few rows, or groups, of the other.")
        yield rows


def folds(positive: BoolArray, groups: Places | None, count: int, seed: int) -> Iterator[tuple[Places, Places]]:
    """Rows to fit to and rows to predict; every row is predicted once."""
    where = np.zeros(positive.size)
    if groups is None:
        yield from StratifiedKFold(count, shuffle=True, random_state=seed).split(where, positive)
    else:
        yield from GroupKFold(count).split(where, positive, groups)
