"""A model from a file, and what it asks of a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sklearn.pipeline import Pipeline

from surefoot.cli.table_source import Kind, ReadColumn, TableSource
from surefoot.exceptions import InvalidTableError, ModelFileError
from surefoot.files.model_file import load


def load_fitted(path: str) -> Any:
    """The model in a file, if it is a fitted classifier."""
    model = load(path)
    last = last_step(model)
    if not hasattr(last, "classes_"):
        raise ModelFileError(f"{path} holds a {type(last).__name__} that was never fitted, or no classifier.")
    return model


def last_step(model: Any) -> Any:
    """The model itself, which may stand at the end of a pipeline."""
    return model.steps[-1][1] if isinstance(model, Pipeline) else model


def model_columns(model: Any) -> dict[str, tuple[Kind, Mapping[str, Any] | None]]:
    """The columns that a model reads: kind, and levels by their text.

    Raises
    ------
    ModelFileError
        If the model was fitted to a table without names.
    """
    first = model.steps[0][1] if isinstance(model, Pipeline) else model
    if hasattr(first, "plan_"):
        schema = first.plan_.schema
    elif hasattr(first, "schema_"):
        schema = first.schema_
    else:
        return {str(name): ("numeric", None) for name in getattr(first, "feature_names_in_", ())}
    if not schema.named:
        raise ModelFileError("the model was fitted to a table without column names, so no file can be matched with it.")
    return {
        column.name: (column.kind, None if column.kind == "numeric" else _by_text(column.levels)) for column in schema.columns
    }


def read_columns(model: Any, source: TableSource) -> list[ReadColumn]:
    """How the columns of a model are read from a table."""
    return [source.column(name, kind, levels) for name, (kind, levels) in model_columns(model).items()]


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
    if all(isinstance(label, (int, float)) and not isinstance(label, bool) for label in classes):
        return source.column(name, "numeric")
    return source.column(name, "categorical", _by_text(classes))


def _by_text(levels: Any) -> dict[str, Any]:
    found = {str(level): level for level in levels if level is not None}
    found |= {str(level).lower(): level for level in levels if isinstance(level, bool)}
    return found
