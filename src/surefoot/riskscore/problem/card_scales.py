"""The scales, t = 1 / multiplier, at which a card of free scale obeys its rules.

Rules about risks are about log odds t s. For given points each end of one, t s >= a or t s <= b, leaves an interval of
scales: the end t = a / s bounds it from below or from above, according to the sign of s. A rate of flagged rows is such a
rule as well. With rows in falling order of their scores, the rate of the flagged is between its limits if and only if the
row at which it attains the least is flagged and the row that would exceed the most is not. So all rules together leave an
interval, or nothing; the loss is convex in t, so the best scale is the best one without rules, moved to the nearest end.

A rule about even odds, a score of 0, is one about points alone. A row on its threshold is not flagged, so the best scale may be
one that is only approached; the search takes one within a relative distance of 1e-11 of it (``RateRule.flagged_from``), where
rounding cannot turn a card into one that breaks its rule. All other rules hold at every scale.
"""

from __future__ import annotations

import numpy as np

from surefoot.core.arrays import FloatArray, IntArray
from surefoot.riskscore.problem.card_rules import ROUNDING, CardRule, FairRule, LinearRule, RateRule

# Two ends that rounding alone has put into the wrong order are one.
EDGE = 1e-12

Scales = tuple[float, float]
_NONE: Scales = (np.inf, -np.inf)


def rule_scales(
    rule: CardRule,
    intercept: int,
    points: IntArray,
    scores: FloatArray,
    labels: FloatArray,
    weights: FloatArray,
    within: Scales,
) -> Scales:
    """The part of ``within`` at which a card with these scores obeys the rule; ends in the wrong order if there is none."""
    low, high = within
    if isinstance(rule, LinearRule):
        score, margin = rule.score(intercept, points)
        low, high = _at_least(score, margin, rule.lower, (low, high))
        low, high = _at_least(-score, margin, -rule.upper, (low, high))
    elif isinstance(rule, RateRule):
        if rule.at_even_odds:
            return within if rule.allows(scores, labels, weights) else _NONE
        low, high = _rate_scales(rule, scores, labels, weights, within)
    elif isinstance(rule, FairRule):
        raise TypeError("rates of groups are about even odds, and say nothing about scales.")
    elif not rule.allows(points):
        return _NONE
    return (low, low) if high < low <= high * (1.0 + EDGE) else (low, high)


def _at_least(score: float, margin: float, least: float, within: Scales) -> Scales:
    """The scales t with t * score >= least."""
    low, high = within
    if least == -np.inf:
        return within
    if least == 0.0:
        return within if score >= -margin else _NONE
    if least > 0.0:
        return (max(low, least / score), high) if score > 0.0 else _NONE
    return (low, min(high, least / score)) if score < 0.0 else within


def _rate_scales(rule: RateRule, scores: FloatArray, labels: FloatArray, weights: FloatArray, within: Scales) -> Scales:
    chosen = (labels == rule.label) & (weights > 0.0)
    order = np.argsort(-scores[chosen], kind="stable")
    falling = scores[chosen][order]
    rate = np.cumsum(weights[chosen][order]) / weights[chosen].sum()
    must = int(np.searchsorted(rate, rule.lower - ROUNDING))
    if rule.lower > ROUNDING:
        if must == falling.size:
            return _NONE
        within = _at_least(float(falling[must]), 0.0, rule.flagged_from, within)
    must_not = int(np.searchsorted(rate, rule.upper + ROUNDING, side="right"))
    if must_not < falling.size:
        within = _at_least(-float(falling[must_not]), 0.0, -rule.unflagged_to, within)
    return within
