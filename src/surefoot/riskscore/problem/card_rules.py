"""What a score card must look like besides fitting well, in terms of column numbers.

Nine kinds of rules express the operational constraints of Table 1 of Ustun and Rudin (JMLR 2019), and more:

- :class:`GroupRule`: at least a and at most b columns of a group have points (model size, either-or, at most k thresholds);
- :class:`ImplicationRule`: if one of these columns has points, one of those has (logical structure);
- :class:`PointSetRule`: the points of a column come from a list (fixed points, signs, limits, multiples of five);
- :class:`SignRule`: the points of a group have one sign (thresholds of one variable, whose risk then rises or falls all along);
- :class:`LinearRule`: a <= (c_0 intercept + sum_j c_j points_j) / multiplier <= b (the risk predicted for a described person);
- :class:`RateRule`: limits on the fraction of the positive, or of the negative, rows whose log odds, score / multiplier, are
  above a threshold (true and false positive rate);
- :class:`FairRule`: such fractions, group by group of rows, differ by no more than a limit (equal opportunity, demographic
  parity);
- :class:`FairRiskRule`: so do mean risks less the observed share (calibration, and balance of the risks of a class);
- :class:`BudgetRule`: what the columns with points cost, columns of one measurement together once, keeps to a budget.

Linear rules and rates are about log odds. At unit scale these are scores; where the multiplier is free, they leave a card an
interval of multipliers (:mod:`surefoot.riskscore.problem.card_scales`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from scipy.special import expit

from surefoot.core.arrays import FloatArray, IntArray

# Bounds the rounding by which a linear rule may be broken, relative to the size of its terms, and a rate absolutely.
ROUNDING = 1e-9
# Where the multiplier is free, log odds keep this distance from a threshold, relative to it and absolutely: a risk computed in
# doubles is then on the same side. The loss of a card changes by far less than what a certificate confirms.
THRESHOLD_ROUNDING = 1e-11, 4e-15


@dataclass(frozen=True)
class GroupRule:
    """Between ``least`` and ``most`` of the columns have points; a column that is named twice counts once."""

    columns: tuple[int, ...]
    least: int = 0
    most: int = 2**31 - 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", tuple(dict.fromkeys(self.columns)))

    def allows(self, points: IntArray) -> bool:
        return self.least <= int(np.count_nonzero(points[list(self.columns)])) <= self.most


@dataclass(frozen=True)
class ImplicationRule:
    """If any column of ``cause`` has points, at least one of ``effect`` has."""

    cause: tuple[int, ...]
    effect: tuple[int, ...]

    def allows(self, points: IntArray) -> bool:
        return not points[list(self.cause)].any() or bool(points[list(self.effect)].any())


@dataclass(frozen=True)
class PointSetRule:
    """The points of ``column`` are one of ``values``; a list without 0 demands the column."""

    column: int
    values: tuple[int, ...]

    def allows(self, points: IntArray) -> bool:
        return int(points[self.column]) in self.values


@dataclass(frozen=True)
class SignRule:
    """The points of ``columns`` are all at or above 0, or all at or below 0."""

    columns: tuple[int, ...]

    def allows(self, points: IntArray) -> bool:
        chosen = points[list(self.columns)]
        return bool(np.all(chosen >= 0) or np.all(chosen <= 0))


@dataclass(frozen=True, eq=False)
class LinearRule:
    """lower <= (intercept_coefficient * intercept + coefficients . points) / multiplier <= upper."""

    coefficients: FloatArray
    intercept_coefficient: float = 1.0
    lower: float = -np.inf
    upper: float = np.inf

    def score(self, intercept: int, points: IntArray) -> tuple[float, float]:
        """The sum that the rule is about, at a multiplier of 1, and how far rounding may have moved it."""
        terms = np.append(self.coefficients * points, self.intercept_coefficient * intercept)
        return float(terms.sum()), ROUNDING * (1.0 + float(np.abs(terms).sum()))

    def allows(self, intercept: int, points: IntArray) -> bool:
        score, margin = self.score(intercept, points)
        return self.lower - margin <= score <= self.upper + margin


@dataclass(frozen=True)
class RateRule:
    """lower <= fraction of the weight of the rows with label ``label`` whose log odds are above ``threshold`` <= upper.

    Above, not at: a score of 0, where both classes are equally likely, is not predicted to be positive (scikit-learn's rule).
    ``rate`` and ``allows`` are about scores, the log odds at unit scale.
    """

    label: float
    lower: float = 0.0
    upper: float = 1.0
    threshold: float = 0.0

    @property
    def _margin(self) -> float:
        return THRESHOLD_ROUNDING[0] * abs(self.threshold) + THRESHOLD_ROUNDING[1]

    @property
    def flagged_from(self) -> float:
        """At a free scale, the least log odds of a row that must be flagged."""
        return self.threshold + self._margin

    @property
    def unflagged_to(self) -> float:
        """At a free scale, the largest log odds of a row that must not be flagged."""
        return self.threshold - self._margin

    @property
    def at_even_odds(self) -> bool:
        """Whether the threshold is a score of 0, and so one at any multiplier."""
        return self.unflagged_to <= 0.0 <= self.flagged_from

    def rate(self, scores: FloatArray, labels: FloatArray, weights: FloatArray) -> float:
        """The rate that the rule limits."""
        chosen = labels == self.label
        flagged = chosen & (scores > self.threshold)
        return float(weights[flagged].sum() / weights[chosen].sum())

    def allows(self, scores: FloatArray, labels: FloatArray, weights: FloatArray) -> bool:
        return self.lower - ROUNDING <= self.rate(scores, labels, weights) <= self.upper + ROUNDING


@dataclass(frozen=True)
class FairRule:
    """Fractions of flagged rows differ by at most ``most`` between any two groups of rows.

    A group are rows with the same values in ``columns``; a fraction is that of the weight of its rows with label ``label``, or
    of all its rows if that is 0, whose log odds are above ``threshold``. Groups without such rows have none. At a free scale
    the threshold is 0, even odds: others would leave a card several intervals of multipliers.
    """

    columns: tuple[int, ...]
    label: float
    most: float
    threshold: float = 0.0

    def shares(self, columns: FloatArray, labels: FloatArray, weights: FloatArray) -> tuple[IntArray, FloatArray]:
        """Every row's group, -1 where it does not count, and its share of the weight of its group."""
        counts = (weights > 0) & ((labels == self.label) | (self.label == 0.0))
        group = np.full(labels.size, -1, dtype=np.int32)
        group[counts] = np.unique(columns[np.ix_(counts, list(self.columns))], axis=0, return_inverse=True)[1].ravel()
        total = np.bincount(group[counts], weights[counts])
        share = np.zeros(labels.size)
        share[counts] = weights[counts] / total[group[counts]]
        return group, share

    def difference(self, columns: FloatArray, scores: FloatArray, labels: FloatArray, weights: FloatArray) -> float:
        """The largest difference of two of these fractions; 0 where there are no two."""
        group, share = self.shares(columns, labels, weights)
        counts = group >= 0
        if not counts.any():
            return 0.0
        means = np.bincount(group[counts], share[counts] * self._counted(scores[counts], labels[counts]))
        return float(np.ptp(np.append(means, self._compared_with)))

    def _counted(self, scores: FloatArray, labels: FloatArray) -> FloatArray:
        """What rows add to the fraction of their group, each times its share."""
        return (scores > self.threshold).astype(np.float64)

    @property
    def _compared_with(self) -> tuple[float, ...]:
        """Numbers that the groups are compared with beside each other."""
        return ()

    def allows(self, columns: FloatArray, scores: FloatArray, labels: FloatArray, weights: FloatArray) -> bool:
        return self.difference(columns, scores, labels, weights) <= self.most + ROUNDING


@dataclass(frozen=True)
class FairRiskRule(FairRule):
    """Mean risks less the share of positive rows differ by at most ``most`` between any two groups of rows.

    Of all rows (``label`` 0) that is calibration in the large, group by group, and no group may be off by more than ``most``
    itself: risks that are equally wrong for all are not calibrated. Of the rows of one label the share is the same in every
    group, and risks of that class are balanced (Kleinberg, Mullainathan and Raghavan, ITCS 2017). For the unit scale only: a
    mean risk neither rises nor falls with the multiplier. The threshold does not matter.
    """

    def _counted(self, scores: FloatArray, labels: FloatArray) -> FloatArray:
        return np.asarray(expit(scores) - (labels > 0), dtype=np.float64)

    @property
    def _compared_with(self) -> tuple[float, ...]:
        return (0.0,) if self.label == 0.0 else ()


@dataclass(frozen=True)
class BudgetRule:
    """The costs of the groups that have a column with points add up to at most ``most``, up to rounding.

    ``columns[k]`` belongs to group ``group[k]``, whose number is that of its price in ``costs``; columns may belong to several.
    """

    columns: tuple[int, ...]
    group: tuple[int, ...]
    costs: tuple[float, ...]
    most: float

    @property
    def limit(self) -> float:
        """The budget with what rounding may add."""
        return self.most + ROUNDING * (1.0 + abs(self.most))

    def cost(self, points: IntArray) -> float:
        """What a card costs."""
        used = {group for column, group in zip(self.columns, self.group, strict=True) if points[column] != 0}
        return float(sum(self.costs[group] for group in sorted(used)))

    def allows(self, points: IntArray) -> bool:
        return self.cost(points) <= self.limit


CardRule: TypeAlias = GroupRule | ImplicationRule | PointSetRule | SignRule | LinearRule | RateRule | FairRule | BudgetRule


def check_rule(rule: CardRule, labels: FloatArray, n_columns: int) -> None:
    """Raise ``ValueError`` if the rule does not fit a table with these labels and so many columns."""
    if isinstance(rule, LinearRule):
        if rule.coefficients.shape != (n_columns,):
            raise ValueError(
                f"a linear rule has coefficients of shape {rule.coefficients.shape}; the table has {n_columns} columns."
            )
        if not (np.isfinite(rule.coefficients).all() and np.isfinite(rule.intercept_coefficient)):
            raise ValueError("a linear rule has a coefficient that is not finite.")
        return
    if isinstance(rule, RateRule):
        if not np.any(labels == rule.label):
            raise ValueError(f"a rule limits the rate of rows with label {rule.label}, and there are none.")
        return
    if isinstance(rule, FairRule) and not (rule.most >= 0 and np.isfinite(rule.threshold) and rule.label in (-1.0, 0.0, 1.0)):
        raise ValueError(f"a rule about groups has label {rule.label}, limit {rule.most} and threshold {rule.threshold}.")
    if isinstance(rule, BudgetRule):
        priced = all(np.isfinite(cost) and cost >= 0 for cost in rule.costs) and not np.isnan(rule.most)
        if not (priced and len(rule.group) == len(rule.columns) and all(0 <= k < len(rule.costs) for k in rule.group)):
            raise ValueError(
                "a budget needs a group for every column, a finite cost at or above 0 for every group, and a limit."
            )
    for column in _columns(rule):
        if not 0 <= column < n_columns:
            raise ValueError(f"a rule names column {column}; columns run from 0 to {n_columns - 1}.")


def _columns(rule: GroupRule | ImplicationRule | PointSetRule | SignRule | FairRule | BudgetRule) -> tuple[int, ...]:
    if isinstance(rule, ImplicationRule):
        return rule.cause + rule.effect
    return (rule.column,) if isinstance(rule, PointSetRule) else rule.columns
