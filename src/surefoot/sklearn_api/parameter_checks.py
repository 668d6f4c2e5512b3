"""Checks of parameters that estimators of several families have."""

from __future__ import annotations

import math
import numbers
from typing import Any

import numpy as np


def require_radius(radius: Any, name: str = "radius") -> float:
    """The radius as a float, if it is one."""
    if not (is_number(radius) and 0 <= radius < math.inf):
        raise ValueError(f"{name} = {radius!r} must be a finite number at or above 0; 0 is plain logistic regression.")
    return float(radius)


def require_label_weight(weight: Any, name: str = "label_weight") -> float:
    """The price of a flip as a float, if it is one."""
    if not (is_number(weight) and weight > 0):
        raise ValueError(
            f"{name} = {weight!r} must be a positive number. It is the price of flipping a label; inf forbids flips."
        )
    return float(weight)


def require_gap(gap: Any, name: str = "tol") -> float:
    """The relative gap to prove as a float, if it is one."""
    if not (is_number(gap) and 0 <= gap < 1):
        raise ValueError(f"{name} = {gap!r} must be a number at or above 0 and below 1. It is the relative gap to prove.")
    return float(gap)


def require_time_limit(seconds: Any, name: str = "time_limit") -> float | None:
    """A time limit as a float, or None if there is none."""
    if seconds is None:
        return None
    if not (is_number(seconds) and seconds > 0):
        raise ValueError(f"{name} = {seconds!r} must be None or a positive number of seconds.")
    return float(seconds)


def is_number(value: Any) -> bool:
    """Whether a value is a number, and neither a truth value nor NaN."""
    return isinstance(value, numbers.Real) and not isinstance(value, (bool, np.bool_)) and not math.isnan(float(value))
