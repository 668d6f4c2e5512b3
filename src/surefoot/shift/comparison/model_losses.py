"""The loss of every row under a model, and its decomposition over two tables."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from surefoot.core.arrays import FloatArray, RowArray
from surefoot.design.encode.schema import Level
from surefoot.design.read.column import plain_level
from surefoot.design.read.table import read_column
from surefoot.exceptions import InvalidTableError
from surefoot.shift.comparison.column_pairs import SharedColumns, chosen_rows
from surefoot.shift.comparison.decomposition import HELD_OUT, IN_SAMPLE, PARAMETERS, Decomposition, Judged, decomposition
from surefoot.shift.comparison.domain_classifier import DomainClassifier, domain_features, stratified_folds
from surefoot.sklearn_api.rows_of_fit import RowsOfFit

# A probability of 0 would make one wrong row the whole loss; the least that counts as one.
_LEAST_PROBABILITY = 1e-6


def decomposed_losses(
    probabilities: tuple[FloatArray, FloatArray],
    places: tuple[RowArray, RowArray],
    class_name: str,
    shared: SharedColumns,
    *,
    fitted: tuple[RowsOfFit | None, RowsOfFit | None] = (None, None),
    n_resamples: int,
    level: float,
    rng: np.random.Generator,
) -> Decomposition:
    """Decompose the change of the mean log loss, on up to some thousand rows of each table.

    Parameters
    ----------
    probabilities : pair of ndarrays of shape (n_rows, n_classes)
        What the model says of both tables.
    places : pair of ndarrays of shape (n_rows,)
        The classes that the rows are of.
    class_name : str
        Of the second class.
    shared : SharedColumns
    fitted : pair of RowsOfFit or None
        For tables that the model was fitted to, whose losses are then those of models that have not seen the row.
    n_resamples, level, rng
        Of the intervals.
    """
    judged, scores, chosen = [], [], []
    for said, known, own in zip(probabilities, places, fitted, strict=True):
        rows: RowArray = np.arange(known.size)
        if known.size > PARAMETERS.most_rows:
            rows = np.sort(rng.choice(known.size, PARAMETERS.most_rows, replace=False))
        logs = np.log(np.clip(said[rows], _LEAST_PROBABILITY, 1.0))
        two = said.shape[1] == 2
        unseen = said[rows]
        if own is not None and own.held_out is not None:
            unseen = np.column_stack([1.0 - own.held_out, own.held_out])[rows]
        losses = -np.log(np.clip(unseen[np.arange(rows.size), known[rows]], _LEAST_PROBABILITY, 1.0))
        observed = (known[rows] == 1).astype(np.float64)
        judged.append(Judged(losses, unseen[:, 1] if two else None, observed if two else None))
        # Log odds against the first class: all that the model says of a row.
        scores.append(logs[:, 1:] - logs[:, :1])
        chosen.append(rows)
    columns = [chosen_rows(column, (chosen[0], chosen[1])) for column in shared.columns]
    sizes = chosen[0].size, chosen[1].size
    domains = DomainClassifier(
        features=domain_features(columns, (scores[0], scores[1])),
        second=np.repeat([-1.0, 1.0], sizes),
        folds=stratified_folds(sizes, rng),
    )
    found = decomposition(domains, (judged[0], judged[1]), class_name, n_resamples=n_resamples, level=level, rng=rng)
    return replace(found, rows_of_fit=(_told(fitted[0]), _told(fitted[1])))


def _told(rows: RowsOfFit | None) -> str:
    if rows is None:
        return ""
    return IN_SAMPLE if rows.held_out is None else HELD_OUT


def class_places(y: Any, classes: Any, name: str) -> RowArray:
    """The place of every label among the model's classes."""
    known: list[Level] = np.asarray(classes).tolist()
    reading = read_column(y, name).categories()
    place = {level: at for at, level in enumerate(known)}
    values = [plain_level(value, name) for value in reading.values]
    for code, value in enumerate(values):
        if value not in place:
            row = int(np.flatnonzero(reading.codes == code)[0])
            raise InvalidTableError(
                f"{name}, row {row}: {value!r} is none of the classes that the model knows, {', '.join(map(repr, known))}."
            )
    places: RowArray = np.array([place[value] for value in values], dtype=np.int64)[reading.codes]
    return places
