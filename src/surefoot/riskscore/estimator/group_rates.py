"""What a card does to groups of training rows: how many of each it flags, and whether its risks are right for them.

A group of a :class:`~surefoot.constraints.FairRates` rule are the rows with the same values in its columns. Rates are told for
every such rule, of all three kinds, whichever it limits: like rates of one kind may go with very different rates of another.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from scipy.special import expit

from surefoot.core.arrays import BoolArray, FloatArray
from surefoot.riskscore.problem.card_rules import FairRule
from surefoot.riskscore.problem.problem import RiskScore, RiskScoreProblem

# Weight, observed share of the positive class, mean risk, and the shares flagged: of all, of the positive, of the other rows.
Rates = tuple[float, float, float, float, float, float]


def group_rates(problem: RiskScoreProblem, card: RiskScore, names: tuple[str, ...]) -> dict[str, Rates]:
    """Rates by name of the group; NaN where a group has no rows of a class."""
    log_odds = problem.scores(card) / card.multiplier
    risk, positive = expit(log_odds), problem.labels > 0
    found: dict[str, Rates] = {}
    for rule in problem.rules:
        if not isinstance(rule, FairRule):
            continue
        flagged = log_odds > rule.threshold
        values, place = np.unique(problem.columns[:, list(rule.columns)], axis=0, return_inverse=True)
        above = "" if rule.threshold == 0.0 else f" (flagged above {expit(rule.threshold):.3g})"
        for k, own in enumerate(values):
            rows = place.ravel() == k
            name = _group_name([names[column] for column in rule.columns], own) + above
            found[name] = (
                float(problem.weights[rows].sum()),
                *(_mean(problem.weights, rows, values) for values in (positive, risk, flagged)),
                *(_mean(problem.weights, rows & chosen, flagged) for chosen in (positive, ~positive)),
            )  # type: ignore[assignment]
    return found


def rates_sentence(rates: Mapping[str, Rates], classes: tuple[str, str]) -> str:
    """The rates in words, for a card; nothing if there are none."""
    if not rates:
        return ""
    told = "; ".join(
        f"{name}: {_percent(all_)} ({_percent(true)} and {_percent(false)}), mean risk {_percent(risk)}, "
        f"observed {_percent(share)}"
        for name, (_, share, risk, all_, true, false) in rates.items()
    )
    return f"Training rows flagged by group (of {classes[1]} and of {classes[0]}): {told}."


def _group_name(columns: list[str], values: FloatArray) -> str:
    if len(columns) == 1:
        return f"{columns[0]} = {values[0]:g}"
    # 0/1 columns made from one variable: those that are 1 say it all.
    ones = [name for name, value in zip(columns, values, strict=True) if value == 1.0]
    if all(value in (0.0, 1.0) for value in values.tolist()):
        return " and ".join(ones) if ones else f"none of {', '.join(columns)}"
    return ", ".join(f"{name} = {value:g}" for name, value in zip(columns, values, strict=True))


def _mean(weights: FloatArray, rows: BoolArray, values: FloatArray | BoolArray) -> float:
    weight = float(weights[rows].sum())
    return float(weights[rows] @ values[rows]) / weight if weight > 0 else math.nan


def _percent(share: float) -> str:
    return "none there" if math.isnan(share) else f"{share:.1%}"
