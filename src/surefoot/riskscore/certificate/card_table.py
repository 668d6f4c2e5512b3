"""The problem of a score card as its certificate sees it: plain arrays that were checked here, and the rules.

Rates and their differences hold up to 1e-9, costs and risks of a person likewise relative to their terms, multipliers up to a
factor of 1 +- 1e-12 (``SLACK``, ``EDGE``): that is part of what a score card is, for the card at hand and for those that it is
compared with.
Whether a row is flagged is decided by its exact score. Whether a card keeps a rule is decided in enclosures otherwise, so it
may be open: a card is taken for one only if it surely keeps all rules, and left out of the comparison only if it surely breaks
one. Where the multiplier is free, rows of the card at hand are surely on their side of a threshold, those of the others at
least on it.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from surefoot.core.arrays import BoolArray, FloatArray
from surefoot.core.certificate import digest
from surefoot.core.enclosure import Enclosure, enclose
from surefoot.exceptions import CertificateError

if TYPE_CHECKING:
    from surefoot.riskscore.problem.problem import RiskScore, RiskScoreProblem

Integers = NDArray[np.int64]
Scales = tuple[FloatArray | float, FloatArray | float]
SLACK = 1e-9
EDGE = 1e-12
WEIGHT_SLACK = 1e-9
# Whole numbers from here on may be rounded when they become doubles.
LARGEST_WHOLE = 2.0**53
# The fields that say all about a rule; a rule without exactly these is refused.
RULE_FIELDS = {
    "GroupRule": ("columns", "least", "most"),
    "ImplicationRule": ("cause", "effect"),
    "PointSetRule": ("column", "values"),
    "SignRule": ("columns",),
    "LinearRule": ("coefficients", "intercept_coefficient", "lower", "upper"),
    "RateRule": ("label", "lower", "upper", "threshold"),
    "FairRule": ("columns", "label", "most", "threshold"),
    "FairRiskRule": ("columns", "label", "most", "threshold"),
    "BudgetRule": ("columns", "group", "costs", "most"),
}
COLUMN_FIELDS = {"columns", "cause", "effect", "column"}


@dataclass(frozen=True, eq=False)
class Card:
    """Points, intercept and multiplier of the card at hand."""

    points: Integers
    intercept: int
    multiplier: float


class CardTable:
    """Rows, limits and rules; ``lower`` and ``upper`` are the points of a column once it has any, inf and -inf if it cannot."""

    def __init__(self, problem: RiskScoreProblem) -> None:
        self.columns = _numbers(problem, "columns", 2)
        n, d = self.columns.shape
        self.labels, self.weights = _numbers(problem, "labels", 1, n), _numbers(problem, "weights", 1, n)
        self.limits = tuple(_numbers(problem, name, 1, d) for name in ("lower", "upper"))
        self.rules: tuple[tuple[str, Any], ...] = tuple((type(rule).__name__, rule) for rule in problem.rules)
        self.intercepts = (int(problem.intercept_lower), int(problem.intercept_upper))
        self.size, self.penalty = min(int(problem.max_features), d), float(problem.penalty)
        self.shift = problem.shift if problem.shift is not None and float(problem.shift.radius) > 0 else None
        self.free = problem.scale == "free"
        low, high = (float(m) for m in problem.multipliers) if self.free else (1.0, 1.0)
        _require(n > 0 and np.all(np.abs(self.labels) == 1.0), "labels are -1 and +1, and there are some")
        _require(np.all(self.weights >= 0) and abs(self.weights.sum() - 1.0) <= WEIGHT_SLACK, "weights are not negative, sum 1")
        whole = all(np.all(limit == np.round(limit)) for limit in self.limits)
        _require(whole and np.all(self.limits[0] <= 0) and np.all(self.limits[1] >= 0), "limits are whole, with 0 in between")
        _require(self.intercepts[0] <= self.intercepts[1] and self.size >= 0, "limits are in order")
        ends = np.append(np.abs(self.limits).max(initial=0.0), np.abs(np.array(self.intercepts, dtype=np.float64)))
        _require(ends.max() < LARGEST_WHOLE, "limits are whole numbers that doubles tell apart")
        _require(np.isfinite(self.penalty) and self.penalty >= 0, "the penalty is finite and at or above 0")
        _require(problem.scale in ("unit", "free") and 0 < low <= high < np.inf, "multipliers are above 0 and in order")
        _require(low < high or not self.free, "a free scale has two multipliers that differ")
        self.multipliers = (low, high)
        # All scales t = 1 / multiplier that a card may have.
        scales = (enclose(1 - EDGE) / high).low, (enclose(1 + EDGE) / low).high
        self.scales = (float(scales[0]), float(scales[1])) if self.free else (1.0, 1.0)
        for kind, rule in self.rules:
            _require_rule(kind, rule, d, self.free)
        self.prices, self.flips = np.full(d, np.inf), np.zeros(d, dtype=bool)
        self.radius, self.label_price = 0.0, np.inf
        if self.shift is not None:
            self._read_shift(problem.shift, d)
        self.lower, self.upper = self._used_limits()
        self.usable = np.isfinite(self.lower)
        # Sums of whole numbers below 2**53 are exact.
        largest = np.abs(self.columns).max(initial=0.0) * ends[0] * d + ends[1:].max()
        self.whole = bool(np.all(self.columns == np.round(self.columns)) and largest < 2.0**53)
        self.binary: BoolArray = np.all((self.columns == 0) | (self.columns == 1), axis=0)

    def _read_shift(self, shift: Any, d: int) -> None:
        self.prices, self.flips = np.asarray(shift.prices, dtype=np.float64), np.asarray(shift.flips, dtype=bool)
        self.radius, self.label_price = float(shift.radius), float(shift.label_price)
        _require(self.prices.shape == self.flips.shape == (d,), "a shift has a price for every column")
        _require(np.all(self.prices > 0) and self.label_price > 0 and np.isfinite(self.radius), "prices are above 0")
        flipped = self.columns[:, self.flips]
        _require(np.all((flipped == 0) | (flipped == 1)), "columns that flip hold 0 and 1")

    def _used_limits(self) -> tuple[FloatArray, FloatArray]:
        lower, upper = np.full(len(self.limits[0]), np.inf), np.full(len(self.limits[0]), -np.inf)
        for column in range(len(lower)):
            low, high = self.limits[0][column], self.limits[1][column]
            sets = [set(rule.values) for kind, rule in self.rules if kind == "PointSetRule" and rule.column == column]
            # Without a rule, the least and the largest whole number but 0 between the limits are two of these.
            admitted = set.intersection(*sets) if sets else {low, -1.0, 1.0, high}
            values = [value for value in admitted if value != 0 and low <= value <= high and value == int(value)]
            if values:
                lower[column], upper[column] = min(values), max(values)
        return lower, upper

    def digest(self) -> str:
        """Fingerprint of all that the optimum depends on."""
        parts: dict[str, Any] = {
            "columns": self.columns, "labels": self.labels, "weights": self.weights, "lower": self.limits[0],
            "upper": self.limits[1], "intercepts": np.array(self.intercepts), "size": self.size, "penalty": self.penalty,
            "multipliers": np.array(self.multipliers), "radius": self.radius,
        }  # fmt: skip
        if self.shift is not None:
            parts |= {"prices": self.prices, "flips": self.flips, "label_price": self.label_price}
        for k, (kind, rule) in enumerate(self.rules):
            parts |= {f"{kind} {k} {name}": np.asarray(getattr(rule, name)) for name in RULE_FIELDS[kind]}
        return digest("score card", parts)

    def admits_supports(self, support: Integers) -> BoolArray:
        """Whether the rules about supports alone admit exactly these sets of columns; whole numbers, so this is decided."""
        marks = np.zeros((len(support), self.columns.shape[1]), dtype=bool)
        np.put_along_axis(marks, support, True, axis=1)
        fine = np.ones(len(support), dtype=bool)
        for kind, rule in self.rules:
            if kind == "GroupRule":
                count = marks[:, sorted(set(rule.columns))].sum(axis=1)
                fine &= (count >= rule.least) & (count <= rule.most)
            elif kind == "ImplicationRule":
                fine &= ~marks[:, list(rule.cause)].any(axis=1) | marks[:, list(rule.effect)].any(axis=1)
            elif kind == "PointSetRule" and 0 not in rule.values:
                fine &= marks[:, rule.column]
            elif kind == "BudgetRule":
                paid = np.zeros((len(support), len(rule.costs)), dtype=bool)
                for column, group in zip(rule.columns, rule.group, strict=True):
                    paid[:, group] |= marks[:, column]
                fine &= paid @ np.array(rule.costs, dtype=np.float64) <= rule.most + SLACK * (1.0 + abs(rule.most))
        return fine

    def flaw_of(self, card: Card | RiskScore) -> str:
        """Why the card may not be one of the class, or nothing."""
        points, scale = card.points, 1.0 / card.multiplier if card.multiplier else np.inf
        inside = np.all((points >= self.limits[0]) & (points <= self.limits[1]))
        inside &= self.intercepts[0] <= card.intercept <= self.intercepts[1]
        if not (inside and np.count_nonzero(points) <= self.size):
            return "the card breaks limits on points, intercept or number of columns"
        if not self.scales[0] <= scale <= self.scales[1]:
            return "the card's multiplier is out of range"
        used = np.flatnonzero(points)
        numbers = np.append(float(card.intercept), points[used])
        low, high = self.scales_of(used[None, :], numbers[None, :], sure=True)
        return "" if low[0] <= scale <= high[0] else "the card breaks a rule"

    def scales_of(self, support: Integers, cards: FloatArray, *, sure: bool) -> tuple[FloatArray, FloatArray]:
        """Scales between which cards (intercept, then the points of their support) keep all rules; empty if low > high.

        Surely, or without ``sure`` possibly.
        """
        points = np.zeros((len(cards), self.columns.shape[1] + 1))
        np.put_along_axis(points, support, cards[:, 1:], axis=1)
        points[:, -1] = cards[:, 0]
        fine = self.admits_supports(support)
        scales: Scales = np.full(len(cards), self.scales[0]), np.full(len(cards), self.scales[1])
        for kind, rule in self.rules:
            if kind == "PointSetRule":
                fine &= np.isin(points[:, rule.column], rule.values)
            elif kind == "SignRule":
                chosen = points[:, list(rule.columns)]
                fine &= np.all(chosen >= 0, axis=1) | np.all(chosen <= 0, axis=1)
            elif kind == "LinearRule":
                factors = np.append(rule.coefficients, rule.intercept_coefficient)
                total, slack = (enclose(points) * factors).sum(axis=1), SLACK * (1.0 + np.abs(points * factors).sum(axis=1))
                for score, end in ((total, rule.lower), (-total, -rule.upper)):
                    scales = self._at_least(score.low if sure else score.high, end, slack, scales)
            elif kind in ("RateRule", "FairRule", "FairRiskRule"):
                values = np.moveaxis(self.columns[:, support], 0, 1)
                scores = (enclose(values) @ cards[:, 1:, None]).reshape(len(cards), -1) + cards[:, :1]
                if self.free and rule.threshold != 0.0:
                    scales = self._rate_scales(rule, scores, scales, sure=sure)
                elif kind == "FairRiskRule":
                    # Of a risk the logarithm is -softplus(-score).
                    fine &= self._keeps_fair(rule, (-(-scores).softplus()).exp() - (self.labels > 0), sure=sure)
                else:
                    keeps = self._keeps_rate if kind == "RateRule" else self._keeps_fair
                    fine &= keeps(rule, self._above(rule.threshold, values, cards, scores), sure=sure)
        # Multipliers hold up to a factor, and so do the ends that rules leave to them.
        edge = 0.0 if not self.free else EDGE if sure else 2 * EDGE
        return np.where(fine, scales[0] * (1 - edge), np.inf), np.where(fine, scales[1] * (1 + edge), -np.inf)

    def _at_least(self, value: FloatArray, least: float, slack: FloatArray | float, scales: Scales) -> Scales:
        """The scales t in a range with t value >= least, up to the slack where the scale is not free or the end is 0."""
        low, high = scales
        if least == 0.0 or not self.free:
            return np.where(value >= least - slack, low, np.inf), high
        if least > 0.0:
            return np.where(value > 0.0, np.maximum(low, least / value), np.inf), high
        return low, np.where(value < 0.0, np.minimum(high, least / value), high)

    def _above(self, threshold: float, values: FloatArray, cards: FloatArray, scores: Enclosure) -> Enclosure:
        """Which rows, 0 or 1, have an exact score above a threshold; what doubles leave open is added up in fractions."""
        flagged = scores.mid > threshold
        close = (scores.low <= threshold) & (threshold <= scores.high)
        for card, row in np.argwhere(close & (not self.whole)).tolist():
            terms = zip(values[card, row].tolist(), cards[card, 1:].tolist(), strict=True)
            exact = sum((Fraction(value) * Fraction(points) for value, points in terms), Fraction(cards[card, 0]))
            flagged[card, row] = exact > Fraction(threshold)
        return enclose(flagged.astype(np.float64))

    def _keeps_rate(self, rule: Any, flagged: Enclosure, *, sure: bool) -> BoolArray:
        weights = enclose(np.where(self.labels == rule.label, self.weights, 0.0))
        rate = (flagged @ weights) / weights.sum()
        least, most = (rate.low, rate.high) if sure else (rate.high, rate.low)
        return np.asarray((least >= rule.lower - SLACK) & (most <= rule.upper + SLACK))

    def _keeps_fair(self, rule: Any, counted: Enclosure, *, sure: bool) -> BoolArray:
        """Of which cards no two groups, nor calibration and 0, differ by more than allowed in the mean of what is counted."""
        counts = (self.weights > 0) & ((self.labels == rule.label) | (rule.label == 0.0))
        _, group = np.unique(self.columns[:, list(rule.columns)], axis=0, return_inverse=True)
        end = 0.0 if type(rule).__name__ == "FairRiskRule" and rule.label == 0.0 else np.inf
        least, most = np.full(counted.shape[0], end), np.full(counted.shape[0], -end)
        for own in np.unique(group.ravel()[counts]):
            weights = enclose(np.where(counts & (group.ravel() == own), self.weights, 0.0))
            rate = (counted @ weights) / weights.sum()
            least, most = np.minimum(least, rate.low if sure else rate.high), np.maximum(most, rate.high if sure else rate.low)
        return np.asarray(~(most - least > rule.most + SLACK))

    def _rate_scales(self, rule: Any, scores: Enclosure, scales: Scales, *, sure: bool) -> Scales:
        """A rate lies in its limits if the row that attains the least is flagged and the one that exceeds the most is not."""
        chosen = np.flatnonzero((self.labels == rule.label) & (self.weights > 0))
        scores, weights = scores[:, chosen], enclose(self.weights[chosen])
        # A multiplier at an end of its range may be off by the rounding of its reciprocal.
        aside = 4 * EDGE * abs(rule.threshold) if sure else 0.0
        for sign, ends, limit in (
            (1.0, scores.low if sure else scores.high, rule.lower),
            (-1.0, scores.high if sure else scores.low, rule.upper),
        ):
            # Rows in falling order of what counts: their weights added up so far, over all.
            order = np.argsort(-ends, axis=1, kind="stable")
            rate = weights[order].cumsum(1) / weights.sum()
            reached = rate.low if sure == (sign > 0) else rate.high
            at = np.sum(reached < limit - SLACK if sign > 0 else reached <= limit + SLACK, axis=1)
            falling = np.column_stack([np.take_along_axis(ends, order, axis=1), np.full(len(ends), -np.inf)])
            deciding = np.take_along_axis(falling, at[:, None], axis=1)[:, 0]
            if sign < 0 or limit > SLACK:
                scales = self._at_least(sign * deciding, sign * rule.threshold + aside, 0.0, scales)
        return scales


def _numbers(owner: Any, name: str, n_dimensions: int, n_entries: int | None = None) -> FloatArray:
    """A field as an array of finite doubles of the right shape."""
    found = np.asarray(getattr(owner, name), dtype=np.float64)
    _require(found.ndim == n_dimensions and (n_entries is None or len(found) == n_entries), f"{name} has the wrong shape")
    _require(np.isfinite(found).all(), f"{name} has an entry that is not finite")
    return found


def _require_rule(kind: str, rule: Any, d: int, free: bool) -> None:
    _require(
        kind in RULE_FIELDS and all(hasattr(rule, name) for name in RULE_FIELDS[kind]), f"a rule is of no known kind: {kind}"
    )
    ends = [getattr(rule, name) for name in ("lower", "upper", "least", "most", "threshold") if hasattr(rule, name)]
    _require(not np.isnan(ends).any(), "limits of rules are numbers")
    if kind == "LinearRule":
        numbers = np.append(rule.coefficients, rule.intercept_coefficient)
        _require(numbers.shape == (d + 1,) and np.isfinite(numbers).all(), "a linear rule has a coefficient for every column")
    elif kind == "RateRule":
        _require(rule.label in (-1.0, 1.0), "a rate is that of a label")
    elif kind in ("FairRule", "FairRiskRule"):
        _require(rule.label in (-1.0, 0.0, 1.0) and rule.most >= 0, "groups are compared by a label, up to a difference")
        even = kind == "FairRule" and rule.threshold == 0.0
        _require(even or not free, "at a free scale groups are compared by who is flagged at even odds")
    elif kind == "BudgetRule":
        _require(all(0 <= cost < np.inf for cost in rule.costs), "costs are finite and at or above 0")
        _require(all(0 <= k < len(rule.costs) for k in rule.group), "columns of a budget have a price")
    named = [column for name in COLUMN_FIELDS & set(RULE_FIELDS[kind]) for column in np.ravel(getattr(rule, name))]
    _require(all(0 <= column < d for column in named), "a rule names columns of the table only")


def _require(fine: object, convention: str) -> None:
    if not fine:
        raise CertificateError(f"the problem breaks its own conventions: {convention}.")
