"""A mark of every parameter that a model was fitted with, so that one that is set afterwards is noticed and named."""

from __future__ import annotations

import dataclasses
import numbers
from collections.abc import Mapping, Sequence, Set
from typing import Any

import numpy as np

from surefoot.core.certificate import digest

# How a fit is computed and what it prints, not what is fitted; a checkpoint is a file of one machine.
_FREE = frozenset({"verbose", "n_jobs", "checkpoint"})
_MARK_LENGTH = 16
# Deeper than any parameter that a fit can read; one that contains itself ends here.
_DEEPEST = 30


def parameter_marks(model: Any) -> dict[str, str]:
    """The mark of each parameter of an estimator that has a say in its problem, its proof or its answers."""
    given = model.get_params(deep=False)
    return {name: parameter_mark(name, value) for name, value in given.items() if name not in _FREE}


def sealed_fields(record: Any) -> dict[str, Any]:
    """The fields of a record by name; those that came later, which their metadata say, only where they differ from the default.

    So a seal from before a field existed is still the seal of the same record.
    """
    fields = {field.name: (getattr(record, field.name), field) for field in dataclasses.fields(record)}
    return {
        name: value for name, (value, field) in fields.items() if not (field.metadata.get("later") and value is field.default)
    }


def parameter_mark(name: str, value: Any) -> str:
    """The mark of one value."""
    return digest(name, {"value": _spelled(value)})[:_MARK_LENGTH]


def _spelled(value: Any, depth: int = 0) -> str:
    """A text that equal values share, before and after they were in a file.

    Objects of a class that nothing is known about are told by that class alone: their state may change as they are used.
    """
    if depth > _DEEPEST:
        return "deeper"
    if value is None or isinstance(value, str):
        return "None" if value is None else repr(str(value))
    if isinstance(value, bool | np.bool_):
        return repr(bool(value))
    if isinstance(value, numbers.Real):
        return repr(float(value)) if float(value) == value or value != value else str(value)
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        return f"array {digest('array', {'numbers': value})}"
    if isinstance(value, Mapping):
        return f"mapping {sorted((_spelled(key, depth + 1), _spelled(item, depth + 1)) for key, item in value.items())}"
    if isinstance(value, Set):
        return f"set {sorted(_spelled(item, depth + 1) for item in value)}"
    if isinstance(value, np.ndarray):
        return _spelled(value.tolist(), depth + 1)
    if isinstance(value, Sequence):
        return f"sequence [{', '.join(_spelled(item, depth + 1) for item in value)}]"
    own = f"{type(value).__module__.partition('.')[0]} {type(value).__qualname__}"
    if hasattr(value, "__array__"):  # a series of a data frame library
        return f"{own} {_spelled(np.asarray(value), depth + 1)}"
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        made = {field.name for field in dataclasses.fields(value) if field.init}
        fields = {field: own_value for field, own_value in sealed_fields(value).items() if field in made}
        return f"{own} {_spelled(fields, depth + 1)}"
    if own.startswith(("surefoot ", "sklearn ")) and hasattr(value, "__dict__"):  # forward problems, folds
        return f"{own} {_spelled(vars(value), depth + 1)}"
    return f"{own} {getattr(value, '__qualname__', '')}"
