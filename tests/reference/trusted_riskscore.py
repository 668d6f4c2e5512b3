"""Scores, losses and rules of a card, once more: row by row, in exact fractions, all shifts of a row written out."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from reference.golden_section import SHARE
from surefoot.riskscore.problem.card_rules import (
    CardRule,
    GroupRule,
    ImplicationRule,
    LinearRule,
    PointSetRule,
    RateRule,
    SignRule,
)
from surefoot.riskscore.problem.problem import RiskScore, RiskScoreProblem


def exact_scores(problem: RiskScoreProblem, card: RiskScore) -> list[Fraction]:
    """b + sum_j p_j x_ij of every row."""
    points = [int(value) for value in card.points]
    return [
        Fraction(int(card.intercept)) + sum((Fraction(float(x)) * p for x, p in zip(row, points, strict=True)), Fraction(0))
        for row in problem.columns
    ]


def softplus(value: float) -> float:
    return max(value, 0.0) + math.log1p(math.exp(-abs(value)))


def shifted_losses(problem: RiskScoreProblem, card: RiskScore) -> list[list[tuple[float, float]]]:
    """For every row, loss and cost of every shift: each set of flips, with either label."""
    shift, scale = problem.shift, 1 / Fraction(float(card.multiplier))
    assert shift is not None
    flippable = [j for j in range(len(card.points)) if shift.flips[j] and math.isfinite(shift.prices[j])]
    scores, found = exact_scores(problem, card), []
    for row, label, score in zip(problem.columns, problem.labels, scores, strict=True):
        shifts = []
        for size in range(len(flippable) + 1):
            for chosen in itertools.combinations(flippable, size):
                moved = sum((int(card.points[j]) * (1 - 2 * Fraction(float(row[j]))) for j in chosen), Fraction(0))
                cost = math.fsum(float(shift.prices[j]) for j in chosen)
                for final in (1.0, -1.0):
                    paid = cost + (0.0 if final == label else float(shift.label_price))
                    if math.isfinite(paid):
                        shifts.append((softplus(float(-Fraction(final) * (score + moved) * scale)), paid))
        found.append(shifts)
    return found


def mean_loss(problem: RiskScoreProblem, card: RiskScore) -> float:
    """The weighted log loss; under a shift the least over lambda, by the golden section, of what all shifts of rows gain."""
    weights = [float(weight) for weight in problem.weights]
    shift = problem.shift
    if shift is None or shift.radius == 0:
        scale = 1 / Fraction(float(card.multiplier))
        margins = zip(problem.labels, exact_scores(problem, card), weights, strict=True)
        return math.fsum(w * softplus(float(-Fraction(float(y)) * s * scale)) for y, s, w in margins)
    listed = shifted_losses(problem, card)

    def at(lam: float) -> float:
        worst = (w * max(loss - lam * cost for loss, cost in row) for w, row in zip(weights, listed, strict=True))
        return lam * float(shift.radius) + math.fsum(worst)

    moved = [j for j in range(len(card.points)) if not shift.flips[j]]
    low = max((abs(int(card.points[j])) / float(card.multiplier) / float(shift.prices[j]) for j in moved), default=0.0)
    costs = [cost for row in listed for _, cost in row if cost > 0]
    most = max(loss for row in listed for loss, _ in row)
    high = low + (most / min(costs) if costs else 0.0) + 1.0
    best = min(at(low), at(high))
    for _ in range(100):
        left, right = high - SHARE * (high - low), low + SHARE * (high - low)
        at_left, at_right = at(left), at(right)
        best = min(best, at_left, at_right)
        low, high = (low, right) if at_left <= at_right else (left, high)
    return best


def points_used(card: RiskScore) -> int:
    return sum(1 for value in card.points if value != 0)


def card_value(problem: RiskScoreProblem, card: RiskScore) -> float:
    """Loss plus penalty."""
    return mean_loss(problem, card) + float(problem.penalty) * points_used(card)


def rule_margin(problem: RiskScoreProblem, rule: CardRule, card: RiskScore) -> float:
    """How far inside a rule a card is; below 0 outside. Rules that are kept or broken as a whole count as 1 or -1."""
    points = [int(value) for value in card.points]
    if isinstance(rule, GroupRule):
        used = len({j for j in rule.columns if points[j] != 0})
        return 1.0 if rule.least <= used <= rule.most else -1.0
    if isinstance(rule, ImplicationRule):
        kept = all(points[j] == 0 for j in rule.cause) or any(points[j] != 0 for j in rule.effect)
        return 1.0 if kept else -1.0
    if isinstance(rule, PointSetRule):
        return 1.0 if any(points[rule.column] == value for value in rule.values) else -1.0
    if isinstance(rule, SignRule):
        signs = {(points[j] > 0) - (points[j] < 0) for j in rule.columns}
        return -1.0 if {1, -1} <= signs else 1.0
    scale = 1 / Fraction(float(card.multiplier))
    if isinstance(rule, LinearRule):
        terms = [Fraction(float(c)) * p for c, p in zip(rule.coefficients, points, strict=True)]
        odds = float((sum(terms, Fraction(float(rule.intercept_coefficient)) * int(card.intercept))) * scale)
        return min(odds - rule.lower, rule.upper - odds)
    assert isinstance(rule, RateRule)
    chosen = [
        (float(score * scale) - rule.threshold, Fraction(float(weight)))
        for score, weight, label in zip(exact_scores(problem, card), problem.weights, problem.labels, strict=True)
        if label == rule.label and weight > 0
    ]
    total = sum((weight for _, weight in chosen), Fraction(0))
    share = float(sum((weight for above, weight in chosen if above > 0), Fraction(0)) / total)
    margin = min(share - rule.lower, rule.upper - share)
    kept = 1.0 if margin >= -1e-12 else -1.0
    # A row at the threshold is not above it, and one that rounding could carry across leaves the verdict open.
    nearest = min((abs(above) for above, _ in chosen if above != 0), default=1.0)
    at_threshold = any(above == 0 for above, _ in chosen) and problem.scale == "free" and rule.threshold != 0
    return 0.0 if at_threshold else kept * min(nearest, 1.0)


def card_margin(problem: RiskScoreProblem, card: RiskScore) -> float:
    """How far inside all limits and rules a card is; below 0 if it breaks one."""
    if len(card.points) != problem.columns.shape[1]:
        return -1.0
    whole = [
        all(int(low) <= int(p) <= int(high) for p, low, high in zip(card.points, problem.lower, problem.upper, strict=True)),
        problem.intercept_lower <= card.intercept <= problem.intercept_upper,
        points_used(card) <= problem.max_features,
    ]
    if not all(whole):
        return -1.0
    low, high = allowed_multipliers(problem)
    if problem.scale == "unit":
        range_margin = 1.0 if card.multiplier == 1.0 else -1.0
    else:
        inside = low <= card.multiplier <= high
        nearest = min(abs(card.multiplier - low), abs(card.multiplier - high))
        range_margin = 1.0 if inside and nearest == 0 else (nearest if inside else -nearest)
    return min([range_margin, *(rule_margin(problem, rule, card) for rule in problem.rules)])


def allowed_multipliers(problem: RiskScoreProblem) -> tuple[float, float]:
    return (1.0, 1.0) if problem.scale == "unit" else (float(problem.multipliers[0]), float(problem.multipliers[1]))


def tried_scales(problem: RiskScoreProblem, card: RiskScore, count: int) -> Iterator[tuple[float, float]]:
    """Scales t = 1 / multiplier over the whole range, and how far inside the rules the card is there."""
    low, high = 1.0 / problem.multipliers[1], 1.0 / problem.multipliers[0]
    for k in range(count):
        scale = low * (high / low) ** (k / (count - 1))
        scaled = RiskScore(card.intercept, card.points, 1.0 / scale)
        yield scale, min((rule_margin(problem, rule, scaled) for rule in problem.rules), default=1.0)


def flags(rule: RateRule, log_odds: float) -> bool:
    """Whether log odds are above a rule's threshold."""
    return Fraction(log_odds) > Fraction(rule.threshold)


def counted(problem: RiskScoreProblem) -> tuple[int, int]:
    """Rows and columns."""
    rows = problem.columns.tolist()
    return len(rows), len(problem.lower.tolist())


def without_repeats(columns: Sequence[int]) -> list[int]:
    found: list[int] = []
    for column in columns:
        if column not in found:
            found.append(column)
    return found


def is_shift(shift: Any, columns: np.ndarray) -> bool:
    """Whether an adversary's prices fit a table, by looking at every entry."""
    n = columns.shape[1]
    if not (math.isfinite(shift.radius) and shift.radius >= 0) or not shift.label_price > 0:
        return False
    if np.shape(shift.prices) != (n,) or np.shape(shift.flips) != (n,):
        return False
    if any(not (price > 0) for price in shift.prices):
        return False
    return all(value in (0.0, 1.0) for row in columns for value, flip in zip(row, shift.flips, strict=True) if flip)


def is_card_problem(parts: dict[str, Any]) -> bool:
    """Whether these parts make up a problem, by looking at every entry."""
    columns, labels, weights = (np.asarray(parts[name], dtype=float) for name in ("columns", "labels", "weights"))
    lower, upper = np.asarray(parts["lower"]), np.asarray(parts["upper"])
    if columns.ndim != 2 or any(part.ndim != 1 for part in (labels, weights, lower, upper)):
        return False
    rows, n = columns.shape
    if rows == 0 or not rows == len(labels) == len(weights) or not n == len(lower) == len(upper):
        return False
    checks = [
        all(math.isfinite(value) for row in columns for value in row),
        all(label in (-1.0, 1.0) for label in labels),
        all(math.isfinite(weight) and weight >= 0 for weight in weights),
        abs(math.fsum(weights) - 1.0) <= 1e-6,
        all(low == int(low) and high == int(high) and low <= 0 <= high for low, high in zip(lower, upper, strict=True)),
        parts["intercept_lower"] <= parts["intercept_upper"],
        parts["max_features"] >= 0,
        math.isfinite(parts["penalty"]) and parts["penalty"] >= 0,
        parts.get("scale", "unit") in ("unit", "free"),
    ]
    low, high = parts.get("multipliers", (0.2, 20.0))
    checks.append(0 < low < high < math.inf)
    for rule in parts.get("rules", ()):
        if isinstance(rule, LinearRule):
            finite = all(math.isfinite(value) for value in (*np.ravel(rule.coefficients), rule.intercept_coefficient))
            checks.append(np.shape(rule.coefficients) == (n,) and finite)
        elif isinstance(rule, RateRule):
            checks.append(any(label == rule.label for label in labels))
        else:
            named = getattr(rule, "columns", ()) or getattr(rule, "cause", ()) + getattr(rule, "effect", ())
            named = named or ((rule.column,) if isinstance(rule, PointSetRule) else ())
            checks.append(all(0 <= column < n for column in named))
    if parts.get("shift") is not None:
        checks.append(is_shift(parts["shift"], columns))
    return all(checks)


def told(problem: RiskScoreProblem) -> str:
    """Everything that defines the optimum, written out."""
    rules = [
        (type(rule).__name__, {name: np.asarray(value).tolist() for name, value in vars(rule).items()})
        for rule in problem.rules
    ]
    shift = problem.shift and {name: np.asarray(value).tolist() for name, value in vars(problem.shift).items()}
    arrays = [getattr(problem, name).tolist() for name in ("columns", "labels", "weights", "lower", "upper")]
    limits = (problem.intercept_lower, problem.intercept_upper, problem.max_features, problem.penalty)
    return repr((arrays, limits, rules, shift, allowed_multipliers(problem)))
