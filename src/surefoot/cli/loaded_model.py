"""A model from a file, and what it asks of a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sklearn.pipeline import Pipeline

from surefoot.cli.settings.target_classes import one_against_rest, positive_of
from surefoot.cli.table_source import Kind, ReadColumn, TableSource
from surefoot.design.read.written_values import TRUTH_TEXTS
from surefoot.exceptions import InvalidTableError, ModelFileError
from surefoot.files.model_file import load
from surefoot.inverse.estimator.inverse_optimizer import InverseOptimizer


def load_fitted(path: str) -> Any:
    """The model in a file, if it is a fitted classifier."""
    model = load(path)
    last = last_step(model)
    name = type(last).__name__
    if isinstance(last, InverseOptimizer):
        raise ModelFileError(
            f"{path} holds an {name}: it learns from signals and responses, which are no table that a command could read. Use "
            f"it in Python: surefoot.verify(surefoot.load({path!r}), signals, responses)."
        )
    if not hasattr(last, "classes_"):
        what = "which was never fitted" if hasattr(last, "predict") else "which is no classifier"
        raise ModelFileError(f"{path} holds a {name}, {what}.")
    return model


def last_step(model: Any) -> Any:
    """The model itself, which may stand at the end of a pipeline."""
    return model.steps[-1][1] if isinstance(model, Pipeline) else model


def model_columns(model: Any, names: Sequence[str] | None = None) -> dict[str, tuple[Kind, Mapping[str, Any] | None]]:
    """The columns that a model reads: kind, and levels by their text.

    Parameters
    ----------
    model : estimator
    names : list of str, optional
        Names of a table's columns, which the columns of a model without names are taken for, in this order.

    Raises
    ------
    ModelFileError
        If the model was fitted to a table without names, and there are none for it.
    """
    first = model.steps[0][1] if isinstance(model, Pipeline) else model
    if hasattr(first, "plan_"):
        schema = first.plan_.schema
    elif hasattr(first, "schema_"):
        schema = first.schema_
    else:
        known = getattr(first, "feature_names_in_", None)
        return {str(name): ("numeric", None) for name in (_named(model, names) if known is None else known)}
    chosen = schema.names if schema.named else _named(model, names)
    return {
        name: (column.kind, None if column.kind == "numeric" else _by_text(column.levels))
        for name, column in zip(chosen, schema.columns, strict=True)
    }


def has_names(model: Any) -> bool:
    """Whether a model was fitted to a table with names of columns."""
    first = model.steps[0][1] if isinstance(model, Pipeline) else model
    return hasattr(first, "feature_names_in_")


def _named(model: Any, names: Sequence[str] | None) -> Sequence[str]:
    first = model.steps[0][1] if isinstance(model, Pipeline) else model
    if names is None:
        raise ModelFileError(
            "the model was fitted to a table without column names, so the columns of a file cannot be told apart. Fit it to a "
            "data frame, or use it in Python; 'surefoot verify' takes columns in the order in which they stand."
        )
    if len(names) != first.n_features_in_:
        raise ModelFileError(
            f"the model was fitted to {first.n_features_in_} columns without names, and the file has {len(names)} beside the "
            "target and other columns that were named: hand over a file with those of the fit, in their order."
        )
    return names


def known_texts(model: Any, target: str | None = None) -> dict[str, Mapping[str, Any]]:
    """The levels and classes that a model knows, by column and text: what of a table is no gap."""
    columns = model_columns(model).items() if has_names(model) else ()
    known = {name: levels for name, (_, levels) in columns if levels is not None}
    return known if target is None else {**known, target: _by_text(last_step(model).classes_.tolist())}


def read_columns(model: Any, source: TableSource, names: Sequence[str] | None = None) -> list[ReadColumn]:
    """How the columns of a model are read from a table; ``names`` as for :func:`model_columns`."""
    return [source.column(name, kind, levels) for name, (kind, levels) in model_columns(model, names).items()]


def group_column(model: Any, source: TableSource, name: str) -> ReadColumn:
    """How the groups of a support vector machine are read from a table: as its fit had them, numbers as numbers."""
    return source.column(source.require(name, "--groups"), "categorical", _by_text(getattr(last_step(model), "groups_", ())))


def target_column(model: Any, source: TableSource, name: str) -> ReadColumn:
    """How the labels of a model are read from a table.

    Raises
    ------
    InvalidTableError
        If there is no such column, or it has gaps.
    """
    source.require(name, "--target")
    if source.tallies[name].n_missing:
        raise InvalidTableError(f"the target {name!r} is missing in {source.tallies[name].n_missing:,} rows. Leave them out.")
    classes = last_step(model).classes_.tolist()
    positive = positive_of(classes)
    if positive is not None:  # it was told from all others
        return one_against_rest(source, name, positive)
    if all(isinstance(label, (int, float)) and not isinstance(label, bool) for label in classes):
        return source.column(name, "numeric")
    return source.column(name, "categorical", _by_text(classes))


def _by_text(levels: Any) -> dict[str, Any]:
    """Levels by all that a file may write for them; what is itself a level comes first."""
    present = [level for level in levels if level is not None]
    truths = {text: truth for text, truth in TRUTH_TEXTS.items() if any(level is truth for level in present)}
    numbers = [level for level in present if isinstance(level, int | float) and not isinstance(level, bool)]
    wholes = {text: level for level in numbers if level == int(level) for text in (str(int(level)), str(float(level)))}
    return {**truths, **wholes, **{str(level): level for level in present}}
