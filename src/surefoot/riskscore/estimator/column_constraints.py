"""Rules about columns and their points: which are used together, with which signs and values."""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from surefoot.riskscore.estimator.card_columns import CardColumns
from surefoot.riskscore.estimator.constraint import Constraint, require_fraction, whole_count, whole_points
from surefoot.riskscore.problem.card_rules import (
    ROUNDING,
    BudgetRule,
    CardRule,
    GroupRule,
    ImplicationRule,
    PointSetRule,
    SignRule,
)


@dataclass(frozen=True, repr=False)
class MaxFeatures(Constraint):
    """At most ``count`` columns have points: of all, or of ``columns``."""

    count: int
    columns: Any = None

    def rules(self, columns: CardColumns) -> tuple[CardRule, ...]:
        return (GroupRule(_all_or(self.columns, columns, self._name), most=whole_count(self.count, self._name, "count")),)


@dataclass(frozen=True, repr=False)
class MinFeatures(Constraint):
    """At least ``count`` columns have points: of all, or of ``columns``."""

    count: int
    columns: Any = None

    def rules(self, columns: CardColumns) -> tuple[CardRule, ...]:
        group = _all_or(self.columns, columns, self._name)
        return (GroupRule(group, least=_at_most_all(whole_count(self.count, self._name, "count"), group, self._name)),)


@dataclass(frozen=True, repr=False)
class AtMost(Constraint):
    """At most ``count`` of ``columns`` have points."""

    count: int
    columns: Any

    def rules(self, columns: CardColumns) -> tuple[CardRule, ...]:
        group = columns.find_all(self.columns, self._name)
        return (GroupRule(group, most=whole_count(self.count, self._name, "count")),)


@dataclass(frozen=True, repr=False)
class AtLeast(Constraint):
    """At least ``count`` of ``columns`` have points."""

    count: int
    columns: Any

    def rules(self, columns: CardColumns) -> tuple[CardRule, ...]:
        group = columns.find_all(self.columns, self._name)
        return (GroupRule(group, least=_at_most_all(whole_count(self.count, self._name, "count"), group, self._name)),)


@dataclass(frozen=True, repr=False)
class Choose(Constraint):
    """Exactly ``count`` of ``columns`` have points; with 1, either one or another."""

    count: int
    columns: Any

    def rules(self, columns: CardColumns) -> tuple[CardRule, ...]:
        group = columns.find_all(self.columns, self._name)
        count = _at_most_all(whole_count(self.count, self._name, "count"), group, self._name)
        return (GroupRule(group, least=count, most=count),)


@dataclass(frozen=True, repr=False)
class MaxThresholds(Constraint):
    """At most ``count`` of the 0/1 columns made from a variable have points.

    ``variable`` is the name that they begin with ("age" for "age >= 40" and "age >= 65"), or a list of columns.
    """

    count: int
    variable: Any

    def rules(self, columns: CardColumns) -> tuple[CardRule, ...]:
        group = columns.of_variable(self.variable, self._name)
        columns.require_binary(group, self._name)
        return (GroupRule(group, most=whole_count(self.count, self._name, "count")),)


@dataclass(frozen=True, repr=False)
class Implies(Constraint):
    """If one of the columns ``cause`` has points, then at least one of the columns ``effect`` has; lists, or single ones."""

    cause: Any
    effect: Any

    def rules(self, columns: CardColumns) -> tuple[CardRule, ...]:
        cause = columns.find_all(self.cause, self._name)
        return (ImplicationRule(cause, columns.find_all(self.effect, self._name)),)


@dataclass(frozen=True, repr=False)
class Sign(Constraint):
    """The points of ``columns`` (one or several) are at or above 0 for ``sign=1``, at or below 0 for ``sign=-1``.

    "+" and "-", "positive" and "negative" say the same.
    """

    columns: Any
    sign: Any

    _SIGNS: ClassVar[dict[Any, int]] = {1: 1, "+": 1, "positive": 1, -1: -1, "-": -1, "negative": -1}

    def rules(self, columns: CardColumns) -> tuple[CardRule, ...]:
        sign = self._SIGNS.get(self.sign if isinstance(self.sign, (str, int, float)) else None)
        if sign is None:
            raise ValueError(f"{self._name}: sign = {self.sign!r} is not understood; use 1 (or '+') or -1 (or '-').")
        return tuple(_signed(columns, at, sign) for at in columns.find_all(self.columns, self._name))


@dataclass(frozen=True, repr=False)
class Monotone(Constraint):
    """The thresholds of a variable speak with one voice: the risk only rises, or only falls, along the variable.

    Parameters
    ----------
    variable : str or list
        The name that 0/1 columns begin with ("age" for "age >= 40" and "age >= 65"), or a list of 0/1 columns that are 1 from
        some value on.
    direction : {"either", "increasing", "decreasing"}, default="either"
        Whether all of their points are at or above 0, at or below 0, or one of the two, whichever fits better.
    """

    variable: Any
    direction: str = "either"

    def rules(self, columns: CardColumns) -> tuple[CardRule, ...]:
        group = columns.of_variable(self.variable, self._name)
        if isinstance(self.variable, str):
            group = self._thresholds(group, columns)
        columns.require_binary(group, self._name)
        if self.direction == "either":
            return (SignRule(group),)
        if self.direction not in ("increasing", "decreasing"):
            raise ValueError(
                f"{self._name}: direction = {self.direction!r} is not understood; use 'either', 'increasing' or 'decreasing'."
            )
        return tuple(_signed(columns, at, 1 if self.direction == "increasing" else -1) for at in group)

    def _thresholds(self, group: tuple[int, ...], columns: CardColumns) -> tuple[int, ...]:
        """Of the columns made from a variable, those that are 1 from some value on; gaps have no place in an order."""
        rising = tuple(at for at in group if columns.names[at][len(self.variable) :].startswith((" >= ", " > ")))
        other = [columns.names[at] for at in group if at not in rising and not columns.names[at].endswith(" missing")]
        if other or not rising:
            named = other[0] if other else columns.names[group[0]]
            raise ValueError(
                f"{self._name} needs thresholds of {self.variable!r}, such as '{self.variable} >= 1', but column {named!r} is "
                "none. List the columns, each of them 1 from some value on."
            )
        return rising


@dataclass(frozen=True, repr=False)
class Bounds(Constraint):
    """The points of ``columns`` (one or several) lie between ``lower`` and ``upper``, which hold 0 between them.

    They may go beyond ``max_points``.
    """

    columns: Any
    lower: int
    upper: int

    def rules(self, columns: CardColumns) -> tuple[CardRule, ...]:
        return tuple(PointSetRule(at, values) for at, values in self.values(columns).items())

    def values(self, columns: CardColumns) -> dict[int, tuple[int, ...]]:
        lower, upper = whole_points(self.lower, self._name, "lower"), whole_points(self.upper, self._name, "upper")
        if lower > upper:
            raise ValueError(f"{self._name}: lower = {lower} is above upper = {upper}.")
        if not lower <= 0 <= upper:
            raise ValueError(
                f"{self._name}: the points from {lower} to {upper} leave out 0, which stands for a column that is not used. "
                "Widen the range to 0; to demand a column add AtLeast(1, [column])."
            )
        return dict.fromkeys(columns.find_all(self.columns, self._name), tuple(range(lower, upper + 1)))


@dataclass(frozen=True, repr=False)
class PointSet(Constraint):
    """The points of ``columns`` (one or several), where they are used, are among ``points``, such as (1, 2, 5, 10).

    They may go beyond ``max_points``.
    """

    columns: Any
    points: Any

    def rules(self, columns: CardColumns) -> tuple[CardRule, ...]:
        return tuple(PointSetRule(at, values) for at, values in self.values(columns).items())

    def values(self, columns: CardColumns) -> dict[int, tuple[int, ...]]:
        if not isinstance(self.points, Iterable) or isinstance(self.points, str):
            raise ValueError(f"{self._name}: points = {self.points!r} must be a list of whole numbers.")
        allowed = sorted({0, *(whole_points(value, self._name, "points") for value in self.points)})
        return dict.fromkeys(columns.find_all(self.columns, self._name), tuple(allowed))


@dataclass(frozen=True, repr=False)
class Fixed(Constraint):
    """The column has exactly these points; 0 bars it from the card. They may go beyond ``max_points``."""

    column: Any
    points: int

    def rules(self, columns: CardColumns) -> tuple[CardRule, ...]:
        return tuple(PointSetRule(at, values) for at, values in self.values(columns).items())

    def values(self, columns: CardColumns) -> dict[int, tuple[int, ...]]:
        return {columns.find(self.column, self._name): (whole_points(self.points, self._name, "points"),)}


@dataclass(frozen=True, repr=False)
class ForbiddenTogether(Constraint):
    """The ``columns`` are never all on one card; of two, at most one has points."""

    columns: Any

    def rules(self, columns: CardColumns) -> tuple[CardRule, ...]:
        group = columns.find_all(self.columns, self._name)
        if len(group) < 2:
            raise ValueError(f"{self._name} names one column only; Fixed(column, 0) bars a column from the card.")
        return (GroupRule(group, most=len(group) - 1),)


@dataclass(frozen=True, repr=False)
class CostBudget(Constraint):
    """What has to be measured for the card costs at most ``most``.

    ``costs`` maps variables to what it costs to measure them. A variable is paid for once, however many of the columns made
    from it ("age >= 40", "age >= 65") have points; columns that it leaves out cost nothing. Columns that are measured
    together are given as a tuple.
    """

    costs: Mapping[Any, float]
    most: float

    def rules(self, columns: CardColumns) -> tuple[CardRule, ...]:
        if not isinstance(self.costs, Mapping) or not self.costs:
            raise ValueError(f"{self._name}: costs = {self.costs!r} must be a mapping from columns to what they cost.")
        prices = [self._price(f"the cost of {variable!r}", cost) for variable, cost in self.costs.items()]
        most = self._price("most", self.most)
        pairs = [
            (at, k)
            for k, variable in enumerate(self.costs)
            for at in columns.of_variable(list(variable) if isinstance(variable, tuple) else variable, self._name)
        ]
        return (BudgetRule(tuple(at for at, _ in pairs), tuple(k for _, k in pairs), tuple(prices), most),)

    def _price(self, what: str, value: Any) -> float:
        if isinstance(value, numbers.Real) and not isinstance(value, bool) and 0 <= float(value) < math.inf:
            return float(value)
        raise ValueError(f"{self._name}: {what} is {value!r} and must be a finite number at or above 0.")


@dataclass(frozen=True, repr=False)
class MinShare(Constraint):
    """At least this ``share`` of the training rows answers yes to every question with points, and as many answer no.

    It is about columns of 0 and 1: about all of them, or about ``columns``. Rows count with their weights, those of
    ``class_weight`` included.
    """

    share: float
    columns: Any = None

    def rules(self, columns: CardColumns) -> tuple[CardRule, ...]:
        least = require_fraction(self.share, self._name, "share")
        assert columns.shares is not None
        if self.columns is None:
            group = tuple(np.flatnonzero(columns.binary).tolist())
        else:
            group = columns.find_all(self.columns, self._name)
            columns.require_binary(group, self._name)
        # A share that is reached up to rounding is reached.
        rare = np.minimum(columns.shares, 1.0 - columns.shares) < least - ROUNDING
        return tuple(PointSetRule(at, (0,)) for at in group if rare[at])


def _all_or(chosen: Any, columns: CardColumns, rule: str) -> tuple[int, ...]:
    return tuple(range(len(columns.names))) if chosen is None else columns.find_all(chosen, rule)


def _at_most_all(count: int, group: tuple[int, ...], rule: str) -> int:
    if count > len(group):
        raise ValueError(f"{rule}: count = {count}, but there are only {len(group)} columns to choose from.")
    return count


def _signed(columns: CardColumns, at: int, sign: int) -> PointSetRule:
    return PointSetRule(at, tuple(value for value in columns.limits(at) if value * sign >= 0))
