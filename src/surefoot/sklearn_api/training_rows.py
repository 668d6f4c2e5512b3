"""The rows that a model is fitted to: encoded table, labels and weights, without the rows that do not count."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing, check_consistent_length, column_or_1d
from sklearn.utils.validation import check_is_fitted, validate_data

from surefoot.core.arrays import AnyArray, FloatArray
from surefoot.design.encode.labels import ClassLabels, encode_labels
from surefoot.design.encode.mixed_design import MixedDesign
from surefoot.design.encode.schema import Level
from surefoot.design.encode.table_encoder import TableEncoder
from surefoot.exceptions import InvalidTableError
from surefoot.sklearn_api.sample_weight import row_counts, row_weights


@dataclass(frozen=True)
class TrainingRows:
    """Rows of positive weight.

    Attributes
    ----------
    design : MixedDesign
        Its levels are those that occur in these rows, and those that were told.
    labels : ndarray of shape (n_rows,)
        -1.0 and +1.0.
    weights : ndarray of shape (n_rows,)
        Positive, summing to 1.
    classes : ndarray of shape (2,)
    positions : ndarray of shape (n_rows,)
        Where each row stands in the table that came in.
    counts : ndarray of shape (n_rows,)
        How often each row counts: the weights as they were given.
    """

    design: MixedDesign
    labels: FloatArray
    weights: FloatArray
    classes: AnyArray
    positions: NDArray[np.intp]
    counts: FloatArray

    def take(self, rows: NDArray[np.intp]) -> TrainingRows:
        """Some of the rows, by their place here, with all levels; their weights sum to 1 again."""
        labels = self.labels[rows]
        _require_both_classes(labels, self.classes)
        weights = self.weights[rows]
        return replace(
            self,
            design=self.design.take(rows),
            labels=labels,
            weights=weights / weights.sum(),
            positions=self.positions[rows],
            counts=self.counts[rows],
        )


def flat_labels(y: Any) -> Any:
    """Labels as one column; a table of one column is accepted with scikit-learn's warning."""
    if y is None:
        raise ValueError("this estimator requires y to be passed, but the target y is None.")
    return column_or_1d(y, warn=True) if getattr(y, "ndim", 1) == 2 else y


def read_training_rows(encoder: TableEncoder, X: Any, y: Any, sample_weight: Any = None) -> TrainingRows:
    """Learn the encoder's schema from a table and read the rows that count.

    A row of weight 0 is checked like any other and then left out, as if it had never been in the table: a level that occurs in
    such rows only is unknown to the model.
    """
    labels = encode_labels(flat_labels(y))
    counts = row_counts(sample_weight, labels.signs.size)
    weights = row_weights(counts, counts.size)
    weighted_medians = sample_weight is not None and encoder.missing_numeric == "median"
    design = encoder.fit_encode(X, weights if weighted_medians else None)
    require_same_length(design, labels.signs)
    counting = np.flatnonzero(weights > 0)
    signs = labels.signs
    if counting.size < design.n_rows:
        design = _without_unused_levels(design.take(counting), encoder.told_levels_)
        signs, weights = signs[counting], weights[counting]
    _require_both_classes(signs, labels.classes)
    return TrainingRows(design, signs, weights, labels.classes, counting, counts[counting])


def reread_training_rows(model: Any, X: Any, y: Any, sample_weight: Any = None) -> TrainingRows:
    """The rows that count as a fitted model reads them: by its ``schema_`` and its ``classes_``."""
    labels = encode_labels(flat_labels(y), classes=model.classes_)
    counts = row_counts(sample_weight, labels.signs.size)
    weights = row_weights(counts, counts.size)
    counting = np.flatnonzero(weights > 0)
    signs = labels.signs
    if counting.size < signs.size:
        check_consistent_length(X, signs)
        # Such rows may hold levels that the model does not know: they were never part of its table.
        X, signs, weights = _safe_indexing(X, counting), signs[counting], weights[counting]
    require_columns_of_training(model, X)
    design = TableEncoder.from_schema(model.schema_).encode(X)
    require_same_length(design, signs)
    return TrainingRows(design, signs, weights, labels.classes, counting, counts[counting])


def require_same_classes(model: Any, rows: TrainingRows | ClassLabels) -> None:
    """Raise unless rows that were read anew have the classes of a fitted model."""
    if rows.classes.tolist() != model.classes_.tolist():
        raise InvalidTableError(f"the labels are {rows.classes.tolist()}, those of the model {model.classes_.tolist()}.")


def refuse_groups(groups: Any) -> None:
    """Raise for groups that a model has no use for."""
    if groups is not None:
        raise ValueError("groups are for ChanceConstrainedSVC; the proof of this model does not depend on any.")


def require_same_length(design: MixedDesign, labels: FloatArray) -> None:
    """Raise if there is not one label per row."""
    if labels.size != design.n_rows:
        raise InvalidTableError(
            f"Found input variables with inconsistent numbers of samples: X has {design.n_rows} rows, "
            f"y has {labels.size} labels."
        )


def _require_both_classes(labels: FloatArray, classes: AnyArray) -> None:
    if np.all(labels == labels[0]):
        only = classes.tolist()[int(labels[0] > 0)]
        raise InvalidTableError(
            "This solver needs samples of at least 2 classes in the data, but the data contains only one class: "
            f"{only!r} (counting rows with positive sample_weight)."
        )


def _without_unused_levels(design: MixedDesign, told: Mapping[int, Iterable[Level]]) -> MixedDesign:
    """The same rows, with a schema that knows only the levels they hold, and those that were told, by position."""
    columns = list(design.schema.columns)
    codes = np.empty_like(design.codes)
    for at, position in enumerate(design.schema.categorical_positions):
        column = columns[position]
        counted = [code for code, level in enumerate(column.levels) if level in told.get(position, ())]
        used = np.union1d(design.codes[:, at], np.array(counted, dtype=design.codes.dtype))
        codes[:, at] = np.searchsorted(used, design.codes[:, at])
        columns[position] = replace(column, levels=tuple(column.levels[code] for code in used))
    schema = replace(design.schema, columns=tuple(columns))
    return MixedDesign(numeric=design.numeric, codes=codes, n_levels=schema.n_levels, schema=schema)


def require_columns_of_training(model: Any, X: Any) -> None:
    """Raise, in scikit-learn's words, unless a model is fitted and a table has names and number of its columns.

    Shapes and values are checked where the table is read.
    """
    check_is_fitted(model)
    if getattr(X, "ndim", 2) == 2:
        validate_data(model, X, reset=False, skip_check_array=True)


def set_columns_of_training(model: Any, names: Sequence[str], *, named: bool) -> None:
    """Set number and names of the training columns; names of an earlier fit are forgotten if this table has none."""
    model.n_features_in_ = len(names)
    if named:
        model.feature_names_in_ = np.array(names, dtype=object)
    elif hasattr(model, "feature_names_in_"):
        del model.feature_names_in_
