"""The base of all rules for score cards, and what the numbers in them may be.

A rule is a small frozen object in the words of those who use the card: columns by name, risks as probabilities.
``rules(columns)`` turns it into the rules of :mod:`surefoot.riskscore.problem.card_rules`, in which columns are numbers;
``values(columns)`` names the points that it speaks of, so that limits are widened to hold them.
"""

from __future__ import annotations

import numbers
from abc import ABC, abstractmethod
from dataclasses import fields
from typing import Any

import numpy as np

from surefoot.riskscore.estimator.card_columns import CardColumns
from surefoot.riskscore.estimator.card_limits import MOST_POINTS
from surefoot.riskscore.problem.card_rules import CardRule


class Constraint(ABC):
    """Base of all rules."""

    @abstractmethod
    def rules(self, columns: CardColumns) -> tuple[CardRule, ...]:
        """The rule in terms of column numbers; the points that :meth:`values` names lie within the limits of ``columns``."""

    def values(self, columns: CardColumns) -> dict[int, tuple[int, ...]]:
        """Points that the rule speaks of, by column; limits of points are widened to hold them."""
        return {}

    @property
    def _name(self) -> str:
        return type(self).__name__

    def __repr__(self) -> str:
        shown = ", ".join(f"{field.name}={getattr(self, field.name)!r}" for field in fields(self))  # type: ignore[arg-type]
        return f"{self._name}({shown})"


def whole_count(value: Any, rule: str, name: str) -> int:
    """A number of columns, if it is one."""
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool) and value >= 0:
        return int(value)
    raise ValueError(f"{rule}: {name} = {value!r} must be a whole number at or above 0.")


def whole_points(value: Any, rule: str, name: str) -> int:
    """Points, if they are whole and not so large that a list of all up to them fills the memory."""
    if isinstance(value, numbers.Real) and not isinstance(value, bool) and float(value).is_integer():
        if abs(float(value)) < MOST_POINTS:
            return int(float(value))
        raise ValueError(f"{rule}: {name} = {value!r} is too large; points lie between -{MOST_POINTS} and {MOST_POINTS}.")
    raise ValueError(f"{rule}: {name} = {value!r} must be a whole number; points are whole.")


def require_fraction(value: Any, rule: str, name: str, *, open_ends: bool = False) -> float:
    """A number from 0 to 1, or between them."""
    if isinstance(value, numbers.Real) and not isinstance(value, bool):
        fraction = float(value)
        if 0 < fraction < 1 or (not open_ends and fraction in (0.0, 1.0)):
            return fraction
    ends = "between 0 and 1, without the ends" if open_ends else "from 0 to 1"
    raise ValueError(f"{rule}: {name} = {value!r} must be a number {ends}.")
