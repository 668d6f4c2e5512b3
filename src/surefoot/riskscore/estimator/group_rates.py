"""What a card does to the groups of training rows that its rules compare.

A group of a :class:`~surefoot.constraints.FairRates` rule are the rows with the same values in its columns.
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from surefoot.core.arrays import FloatArray
from surefoot.reports.card.rates_by_group import Rates as Rates
from surefoot.reports.card.rates_by_group import rates_of_rows
from surefoot.riskscore.problem.card_rules import FairRule
from surefoot.riskscore.problem.problem import RiskScore, RiskScoreProblem


def group_rates(problem: RiskScoreProblem, card: RiskScore, names: tuple[str, ...]) -> dict[str, Rates]:
    """Rates by name of the group; NaN where a group has no rows of a class."""
    log_odds = problem.scores(card) / card.multiplier
    risk, positive = expit(log_odds), problem.labels > 0
    found: dict[str, Rates] = {}
    for rule in problem.rules:
        if not isinstance(rule, FairRule):
            continue
        values, place = np.unique(problem.columns[:, list(rule.columns)], axis=0, return_inverse=True)
        above = "" if rule.threshold == 0.0 else f" (flagged above {expit(rule.threshold):.3g})"
        for k, own in enumerate(values):
            name = _group_name([names[column] for column in rule.columns], own) + above
            found[name] = rates_of_rows(problem.weights, positive, risk, log_odds > rule.threshold, place.ravel() == k)
    return found


def _group_name(columns: list[str], values: FloatArray) -> str:
    if len(columns) == 1:
        return f"{columns[0]} = {values[0]:g}"
    # 0/1 columns made from one variable: those that are 1 say it all.
    ones = [name for name, value in zip(columns, values, strict=True) if value == 1.0]
    if all(value in (0.0, 1.0) for value in values.tolist()):
        return " and ".join(ones) if ones else f"none of {', '.join(columns)}"
    return ", ".join(f"{name} = {value:g}" for name, value in zip(columns, values, strict=True))
