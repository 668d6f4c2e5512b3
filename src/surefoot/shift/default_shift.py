"""What is assumed to shift where nobody said anything: one assumption for stress tests of the command line and for reports."""

from __future__ import annotations

from typing import Any

from surefoot.shift.column_settings import DEFAULT_INTERVAL
from surefoot.shift.shift_model import ShiftModel
from surefoot.sklearn_api.proven_model import has_steps, last_step

# Every column may shift a little: so sure is a number to move by less than the interval, and a category to stay. Not tuned.
DEFAULT_CERTAINTY = 0.9


def own_shift(model: Any) -> ShiftModel | None:
    """The shift model that a model was fitted with; None behind other steps, where its columns are not those of the table."""
    own = getattr(last_step(model), "shift", None)
    return own if isinstance(own, ShiftModel) and not has_steps(model) else None


def default_shift(model: Any) -> ShiftModel:
    """Every column is as sure as every other one; columns are categories where the model says so."""
    categories = "from_dtype" if has_steps(model) else getattr(last_step(model), "categorical_features", "from_dtype")
    return ShiftModel(
        numeric_certainty=DEFAULT_CERTAINTY,
        numeric_interval=DEFAULT_INTERVAL,
        categorical_certainty=DEFAULT_CERTAINTY,
        categorical_features=categories,
    )
