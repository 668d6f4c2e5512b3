"""The loss of every row under a model, and its decomposition over two tables."""

from __future__ import annotations

from typing import Any

import numpy as np

from surefoot.core.arrays import RowArray
from surefoot.design.encode.schema import Level
from surefoot.design.read.column import plain_level
from surefoot.design.read.table import read_column
from surefoot.exceptions import InvalidTableError
from surefoot.shift.comparison.column_pairs import SharedColumns, chosen_rows
from surefoot.shift.comparison.decomposition import PARAMETERS, Decomposition, Judged, decomposition
from surefoot.shift.comparison.domain_classifier import DomainClassifier, domain_features, stratified_folds
from surefoot.sklearn_api.own_rows import own_rows

# A probability of 0 would make one wrong row the whole loss; the least that counts as one.
_LEAST_PROBABILITY = 1e-6


def loss_decomposition(
    model: Any,
    tables: tuple[Any, Any],
    labels: tuple[Any, Any],
    shared: SharedColumns,
    *,
    n_resamples: int,
    level: float,
    rng: np.random.Generator,
) -> Decomposition:
    """Predict both tables and decompose the change of the mean log loss, on up to some thousand rows of each."""
    judged, scores, chosen = [], [], []
    for table, y, which in zip(tables, labels, ("a", "b"), strict=True):
        probabilities = np.asarray(model.predict_proba(own_rows(table)), dtype=np.float64)
        bounded = np.clip(probabilities, _LEAST_PROBABILITY, 1.0)
        places = _class_places(y, model.classes_, f"y_{which}")
        rows: RowArray = np.arange(places.size)
        if places.size > PARAMETERS.most_rows:
            rows = np.sort(rng.choice(places.size, PARAMETERS.most_rows, replace=False))
        logs = np.log(bounded)
        losses = -logs[np.arange(places.size), places][rows]
        two = len(model.classes_) == 2
        observed = (places == 1).astype(np.float64)[rows] if two else None
        judged.append(Judged(losses, probabilities[rows, 1] if two else None, observed))
        # Log odds against the first class: all that the model says of a row.
        scores.append((logs[:, 1:] - logs[:, :1])[rows])
        chosen.append(rows)
    columns = [chosen_rows(column, (chosen[0], chosen[1])) for column in shared.columns]
    sizes = chosen[0].size, chosen[1].size
    domains = DomainClassifier(
        features=domain_features(columns, (scores[0], scores[1])),
        second=np.repeat([-1.0, 1.0], sizes),
        folds=stratified_folds(sizes, rng),
    )
    name = str(np.asarray(model.classes_).tolist()[1])
    return decomposition(domains, (judged[0], judged[1]), name, n_resamples=n_resamples, level=level, rng=rng)


def _class_places(y: Any, classes: Any, name: str) -> RowArray:
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
