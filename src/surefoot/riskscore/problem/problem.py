"""The risk score problem: the best score card with few, small, whole points.

    min over an intercept b and points p of   sum_i w_i log(1 + exp(-y_i s_i)) + penalty * #{j : p_j != 0},

    s_i = b + sum_j p_j x_ij,   b and p_j whole numbers,   lower_j <= p_j <= upper_j,   #{j : p_j != 0} <= max_features,

and the card obeys the rules of :mod:`surefoot.riskscore.problem.card_rules`. This is RISKSLIM's problem, equation (1) of Ustun
and Rudin (JMLR 2019), with row weights. The intercept is not penalised. With a
:class:`~surefoot.riskscore.problem.score_shift.ScoreShift` the loss is the worst mean loss under any shift of the rows within
its radius: the robust score card. Conventions for labels and weights are those of :mod:`surefoot.robust.problem.problem`.

At a free scale the risk is that of s / m, with a multiplier m chosen together with the points (Liu, Zhong, Li, Seltzer and
Rudin, FasterRisk, NeurIPS 2022): the loss is sum_i w_i log(1 + exp(-y_i s_i / m)), or its worst mean under a shift, m in a
given range and such that the rules about risks hold (:mod:`surefoot.riskscore.problem.card_scales`).
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Literal

import numpy as np

from surefoot.core.array_checks import WEIGHT_SLACK, require_dimensions, whole_numbers
from surefoot.core.arrays import FloatArray, IntArray
from surefoot.core.certificate import digest
from surefoot.riskscore.problem.card_rules import CardRule, FairRiskRule, FairRule, LinearRule, RateRule, check_rule
from surefoot.riskscore.problem.card_scales import EDGE, Scales, rule_scales
from surefoot.riskscore.problem.score_shift import ScoreShift, WorstLoss


@dataclass(frozen=True, eq=False)
class RiskScore:
    """A score card: whole points per column and a whole intercept; the risk is 1 / (1 + exp(-score / multiplier))."""

    intercept: int
    points: IntArray
    multiplier: float = 1.0

    @property
    def size(self) -> int:
        """Number of columns with points."""
        return int(np.count_nonzero(self.points))


@dataclass(frozen=True, eq=False, repr=False)
class RiskScoreProblem:
    """One instance of the risk score problem.

    Minimises the weighted log loss plus ``penalty`` times the number of columns with points, over whole points.

    Parameters
    ----------
    columns : ndarray of shape (n_rows, n_columns)
        Finite numbers; 0/1 columns are searched fastest.
    labels : ndarray of shape (n_rows,)
        -1.0 and +1.0.
    weights : ndarray of shape (n_rows,)
        Not negative, summing to 1.
    lower, upper : ndarray of shape (n_columns,)
        Smallest and largest points of each column; 0 lies between them.
    intercept_lower, intercept_upper : int
    max_features : int
        Most columns a card may use.
    penalty : float
        Price of using a column, at or above 0.
    rules : tuple of rules of :mod:`surefoot.riskscore.problem.card_rules`, default=()
    shift : ScoreShift, default=None
        Makes the loss robust; None, or a radius of 0, leaves the rows as they are.
    scale : {"unit", "free"}, default="unit"
        Whether the multiplier of a card is 1, or chosen with the points.
    multipliers : tuple of float, default=(0.2, 20.0)
        Smallest and largest multiplier at a free scale, above 0 and different. The largest should allow fine
        coefficients (points up to 5 and a multiplier of 20 make steps of 0.05), the smallest for large ones.

    Raises
    ------
    ValueError
        If a part breaks these conventions; the message names column, row and value.
    """

    columns: FloatArray
    labels: FloatArray
    weights: FloatArray
    lower: IntArray
    upper: IntArray
    intercept_lower: int
    intercept_upper: int
    max_features: int
    penalty: float = 0.0
    rules: tuple[CardRule, ...] = ()
    shift: ScoreShift | None = None
    scale: Literal["unit", "free"] = "unit"
    multipliers: tuple[float, float] = (0.2, 20.0)

    def __post_init__(self) -> None:
        for name in ("columns", "labels", "weights"):
            object.__setattr__(self, name, np.ascontiguousarray(getattr(self, name), dtype=np.float64))
        for name in ("lower", "upper"):
            object.__setattr__(self, name, whole_numbers(name, getattr(self, name)))
        self.check()

    def check(self) -> None:
        """Raise ``ValueError`` if the arrays, as they are now, break the conventions of the module docstring."""
        require_dimensions(self, (("columns", 2), ("labels", 1), ("weights", 1), ("lower", 1), ("upper", 1)))
        for name, wanted in (
            ("labels", self.n_rows),
            ("weights", self.n_rows),
            ("lower", self.n_columns),
            ("upper", self.n_columns),
        ):
            if getattr(self, name).size != wanted:
                raise ValueError(f"{name} has {getattr(self, name).size} entries, but the table needs {wanted}.")
        _check_rows(self)
        _check_limits(self)
        for rule in self.rules:
            check_rule(rule, self.labels, self.n_columns)
            if isinstance(rule, FairRiskRule) and self.scale == "free":
                raise ValueError("mean risks of groups are compared at the unit scale only, and the scale is free.")
            if isinstance(rule, FairRule) and self.scale == "free" and rule.threshold != 0.0:
                raise ValueError("at a free scale rates of groups are compared at a risk of 0.5 only; use the unit scale.")
        if self.shift is not None:
            self.shift.check(self.columns)
        _check_scale(self)

    def __repr__(self) -> str:
        return f"RiskScoreProblem(rows={self.n_rows}, columns={self.n_columns}, max_features={self.max_features})"

    @property
    def n_rows(self) -> int:
        return int(self.columns.shape[0])

    @property
    def n_columns(self) -> int:
        return int(self.columns.shape[1])

    @property
    def multiplier_range(self) -> tuple[float, float]:
        """Smallest and largest multiplier a card may have."""
        return self.multipliers if self.scale == "free" else (1.0, 1.0)

    def scores(self, card: RiskScore) -> FloatArray:
        """Total points of every row, intercept included."""
        used = np.flatnonzero(card.points)
        return np.asarray(self.columns[:, used] @ card.points[used].astype(np.float64) + card.intercept, dtype=np.float64)

    def loss(self, card: RiskScore) -> float:
        """Weighted mean of log(1 + exp(-y s / multiplier)); with a shift, under the worst one."""
        if self.shift is not None and self.shift.radius > 0:
            return self.worst_loss(card.intercept, card.points, 1.0 / card.multiplier).value
        return float(self.weights @ np.logaddexp(0.0, -self.labels * (self.scores(card) / card.multiplier)))

    def worst_loss(self, intercept: int, points: IntArray, scale: float) -> WorstLoss:
        """Loss of a card under the worst shift, at a scale of 1 / multiplier."""
        assert self.shift is not None
        return self.shift.worst_loss(self.columns, self.labels, self.weights, intercept, points, scale)

    def price(self, card: RiskScore) -> float:
        """The price lambda at which the worst loss of a card is found; 0 where rows stay as they are."""
        shifted = self.shift is not None and self.shift.radius > 0
        return self.worst_loss(card.intercept, card.points, 1.0 / card.multiplier).price if shifted else 0.0

    def objective(self, card: RiskScore) -> float:
        """Loss plus penalty."""
        return self.loss(card) + self.penalty * card.size

    def admits(self, card: RiskScore) -> bool:
        """Whether the card keeps to limits, size and rules."""
        return bool(
            card.points.shape == (self.n_columns,)
            and np.all((card.points >= self.lower) & (card.points <= self.upper))
            and self.intercept_lower <= card.intercept <= self.intercept_upper
            and card.size <= self.max_features
            and self.multiplier_range[0] * (1 - EDGE) <= card.multiplier <= self.multiplier_range[1] * (1 + EDGE)
            and all(self.obeys(card, rule) for rule in self.rules)
        )

    def obeys(self, card: RiskScore, rule: CardRule) -> bool:
        """Whether the card keeps to one rule."""
        if isinstance(rule, FairRule):
            return rule.allows(self.columns, self.scores(card) / card.multiplier, self.labels, self.weights)
        if self.scale == "free":
            low, high = self.scales(card.intercept, card.points, (rule,))
            # A multiplier at an end of its range may be off by the rounding of its reciprocal.
            return low * (1 - EDGE) <= 1.0 / card.multiplier <= high * (1 + EDGE)
        if isinstance(rule, LinearRule):
            return rule.allows(card.intercept, card.points)
        if isinstance(rule, RateRule):
            return rule.allows(self.scores(card), self.labels, self.weights)
        return rule.allows(card.points)

    def scales(self, intercept: int, points: IntArray, rules: tuple[CardRule, ...] | None = None) -> Scales:
        """At a free scale, the smallest and largest 1 / multiplier at which these points obey the rules.

        All rules of the problem, or those given; the ends are in the wrong order if they leave none.
        """
        within = 1.0 / self.multipliers[1], 1.0 / self.multipliers[0]
        scores = self.scores(RiskScore(intercept, points))
        for rule in self.rules if rules is None else rules:
            if isinstance(rule, FairRule):
                # Even odds are a score of 0 at every scale.
                if not rule.allows(self.columns, scores, self.labels, self.weights):
                    return np.inf, -np.inf
                continue
            within = rule_scales(rule, intercept, points, scores, self.labels, self.weights, within)
        return within

    def digest(self) -> str:
        """Fingerprint of everything that defines the optimum; certificates compute the same one from the fields."""
        shift = self.shift if self.shift is not None and self.shift.radius > 0 else None
        parts: dict[str, Any] = {
            "columns": self.columns,
            "labels": self.labels,
            "weights": self.weights,
            "lower": self.lower.astype(np.float64),
            "upper": self.upper.astype(np.float64),
            "intercepts": np.array((self.intercept_lower, self.intercept_upper)),
            "size": min(self.max_features, self.n_columns),
            "penalty": float(self.penalty),
            "multipliers": np.array(self.multiplier_range, dtype=np.float64),
            "radius": 0.0 if shift is None else float(shift.radius),
        }
        if shift is not None:
            parts |= {"prices": shift.prices, "flips": shift.flips, "label_price": float(shift.label_price)}
        for k, rule in enumerate(self.rules):
            kind = type(rule).__name__
            parts |= {f"{kind} {k} {part.name}": np.asarray(getattr(rule, part.name)) for part in fields(rule)}
        return digest("score card", parts)


def _check_scale(problem: RiskScoreProblem) -> None:
    if problem.scale not in ("unit", "free"):
        raise ValueError(f"scale = {problem.scale!r} must be 'unit' or 'free'.")
    low, high = problem.multipliers
    if not (0 < low < high < np.inf):
        raise ValueError(
            f"multipliers = {problem.multipliers} must be two different finite numbers above 0, the smaller first."
        )


def _check_rows(problem: RiskScoreProblem) -> None:
    if problem.n_rows == 0:
        raise ValueError("the table has no rows.")
    wrong = np.argwhere(~np.isfinite(problem.columns))
    if wrong.size:
        row, column = wrong[0]
        raise ValueError(f"column {column} holds {problem.columns[row, column]} in row {row}; columns hold finite numbers.")
    for name, bad, rule in (
        ("labels", np.abs(problem.labels) != 1.0, "labels are -1.0 and +1.0"),
        ("weights", ~(np.isfinite(problem.weights) & (problem.weights >= 0)), "weights are finite and not negative"),
    ):
        if bad.any():
            at = int(np.flatnonzero(bad)[0])
            raise ValueError(f"{name}[{at}] = {getattr(problem, name)[at]}; {rule}.")
    total = float(problem.weights.sum())
    if not abs(total - 1.0) <= WEIGHT_SLACK:
        raise ValueError(f"weights sum to {total}; divide them by their sum, so that they sum to 1.")


def _check_limits(problem: RiskScoreProblem) -> None:
    wrong = np.flatnonzero((problem.lower > 0) | (problem.upper < 0))
    if wrong.size:
        at = int(wrong[0])
        raise ValueError(
            f"points of column {at} range from {problem.lower[at]} to {problem.upper[at]}; 0, which leaves a column out, must "
            "lie between. Ask for a column with a rule instead."
        )
    if problem.intercept_lower > problem.intercept_upper:
        raise ValueError(f"intercept_lower = {problem.intercept_lower} is above intercept_upper = {problem.intercept_upper}.")
    if problem.max_features < 0:
        raise ValueError(f"max_features = {problem.max_features} must be at or above 0.")
    if not (np.isfinite(problem.penalty) and problem.penalty >= 0):
        raise ValueError(f"penalty = {problem.penalty} must be a finite number at or above 0.")
