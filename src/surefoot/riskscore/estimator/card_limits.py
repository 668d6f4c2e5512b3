"""What the parameters of the estimator say about cards, once they make sense."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from surefoot.sklearn_api.parameter_checks import is_number, require_gap, require_time_limit

# Log odds that the largest points may stand for at a free scale: odds of 148 to 1, as with the default points at unit scale.
# More would only make rows that are separated anyway more certain.
LARGEST_EFFECT = 5.0
# Points per unit of log odds at most: steps of 0.05, finer than a table of rounded percents shows.
FINEST_SCALE = 20.0
# Larger points are for no card, and certificates go through all points of a column.
MOST_POINTS = 2**20


@dataclass(frozen=True)
class CardLimits:
    """Size, points and scale of admissible cards, and the price of a column."""

    max_features: int | None
    max_points: int
    intercept_bound: int
    penalty: float
    scale: Literal["unit", "free"] = "unit"

    @property
    def multipliers(self) -> tuple[float, float]:
        """Smallest and largest multiplier at a free scale; 1, the unit scale, lies between them."""
        return min(1.0, self.max_points / LARGEST_EFFECT), FINEST_SCALE

    def __str__(self) -> str:
        return f"max_features={self.max_features}, max_points={self.max_points} and intercept_bound={self.intercept_bound}"


def read_limits(model: Any) -> CardLimits:
    """The limits that a model's parameters set.

    Raises
    ------
    ValueError
        If one of them, its gap or its time limit makes no sense; the message names it.
    """
    for name, least in (("max_points", 1), ("intercept_bound", 0)):
        value = getattr(model, name)
        if not (_is_whole(value) and least <= value < MOST_POINTS):
            raise ValueError(f"{name} = {value!r} must be a whole number of at least {least} and below {MOST_POINTS}.")
    if model.max_features is not None and not (_is_whole(model.max_features) and model.max_features >= 0):
        raise ValueError(f"max_features = {model.max_features!r} must be None or a whole number at or above 0.")
    if not (is_number(model.sparsity_penalty) and 0 <= model.sparsity_penalty < math.inf):
        raise ValueError(f"sparsity_penalty = {model.sparsity_penalty!r} must be a finite number at or above 0.")
    require_gap(model.gap, "gap")
    require_time_limit(model.time_limit)
    if not (isinstance(model.scale, str) and model.scale in ("unit", "free")):
        raise ValueError(f"scale = {model.scale!r} must be 'unit' or 'free'.")
    return CardLimits(
        None if model.max_features is None else int(model.max_features),
        int(model.max_points),
        int(model.intercept_bound),
        float(model.sparsity_penalty),
        "free" if model.scale == "free" else "unit",
    )


def _is_whole(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)
