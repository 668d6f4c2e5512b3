"""Calibration folds of a kernel classifier: Platt scaling and margins by models that did not see the rows they score.

Rows of one group are samples of one input, so folds are made of whole groups: a model that has seen an input would be too sure
of its other samples. Clusters that k-means made are no inputs that could come again; there the folds are made of rows, and each
fold makes clusters of its own.
"""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from surefoot.chancesvm.estimator.class_rows import ClassRows
from surefoot.chancesvm.estimator.input_problem import pose_rows
from surefoot.chancesvm.estimator.input_promises import HeldOutMargins, held_out_margins, score_moments
from surefoot.chancesvm.estimator.kernel_scores import KernelScores
from surefoot.chancesvm.estimator.svm_settings import SVMSettings
from surefoot.chancesvm.inputs.uncertain_inputs import read_violation
from surefoot.chancesvm.solvers.platt_scaling import PlattScaling, fit_platt_scaling
from surefoot.core.arrays import FloatArray
from surefoot.design.encode.row_groups import RowGroups
from surefoot.exceptions import InvalidTableError
from surefoot.sklearn_api.training_rows import TrainingRows

# Solves that a calibration costs; the number of folds of scikit-learn's CalibratedClassifierCV.
N_FOLDS = 5


def calibrated(
    rows: TrainingRows, given: RowGroups | None, settings: SVMSettings
) -> tuple[PlattScaling, HeldOutMargins | None]:
    """Solve once per calibration fold: Platt scaling of the scores of all folds, and the margins of inputs that have names.

    Parameters
    ----------
    rows : TrainingRows
    given : RowGroups or None
        The groups of these rows, if the user named them.
    settings : SVMSettings

    Raises
    ------
    InvalidTableError
        If a class has fewer than two groups (rows, without groups), so that no fold can leave one out.
    """
    # An array of violations is in the order of all groups, of which a fold has only some.
    settings = replace(settings, violation=read_violation(settings.violation, None if given is None else given.names))
    folds = folds_of_inputs(rows, given, N_FOLDS, settings.seed, "probability=True", " Collect more, or use probability=False.")
    scores = np.empty(len(rows.labels))
    margins, labels = list[FloatArray](), list[FloatArray]()
    for fold in range(folds.max() + 1):
        train, own_fold = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
        own = rows.take(train)
        posed = pose_rows(own, None if given is None else given.take(train), settings, named=given is not None)
        outcome = posed.solve(settings, time.perf_counter()).outcome
        model = KernelScores.of_plane(posed.problem, outcome.primal, posed.order, posed.units)
        block = settings.block(rows.design.take(own_fold), own)
        scores[own_fold] = model(block)
        if given is not None:
            inputs = given.take(own_fold)
            margins.append(score_moments(model, block, inputs, posed.pool).margins)
            labels.append(inputs.labels(rows.labels[own_fold], rows.classes))
    scaling = fit_platt_scaling(scores, rows.labels, rows.weights * len(rows.labels))
    return scaling, None if given is None else held_out_margins(np.concatenate(margins), np.concatenate(labels))


def folds_of_inputs(
    rows: TrainingRows,
    given: RowGroups | None,
    count: int,
    seed: int,
    who: str = "cross-validation",
    remedy: str = "",
    *,
    several: ClassRows | None = None,
) -> NDArray[np.intp]:
    """The fold of each row, at most so many: whole groups, or rows where nobody named any.

    ``several`` are the same rows with all their classes, if these are more than two.

    Raises
    ------
    InvalidTableError
        If a class has fewer than two groups, or rows.
    """
    units = np.arange(len(rows.labels)) if given is None else given.codes
    codes, classes = ((rows.labels > 0).astype(np.intp), rows.classes) if several is None else (several.codes, several.classes)
    counts = [np.unique(units[codes == at]).size for at in range(classes.size)]
    if min(counts) < 2:
        what, poor = "row" if given is None else "group", classes.tolist()[int(np.argmin(counts))]
        raise InvalidTableError(
            f"{who} holds out {what}s of each class, but class {poor!r} has only {min(counts)} {what}.{remedy}"
        )
    return _folds(units, codes, min(count, *counts), np.random.default_rng(seed))


def _folds(units: NDArray[np.intp], labels: NDArray[np.intp], count: int, draw: np.random.Generator) -> NDArray[np.intp]:
    """The fold of each row: units of each class are dealt out in turn, so that no fold takes all of a class."""
    folds = np.empty(len(labels), dtype=np.intp)
    for label in range(int(labels.max()) + 1):
        rows = np.flatnonzero(labels == label)
        own, codes = np.unique(units[rows], return_inverse=True)
        folds[rows] = (draw.permutation(own.size) % count)[codes]
    return folds
