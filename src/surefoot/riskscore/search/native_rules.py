"""The rules of a score card as the native search takes them."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from surefoot import _native
from surefoot.core.arrays import IntArray
from surefoot.riskscore.problem.card_rules import (
    ROUNDING,
    BudgetRule,
    FairRiskRule,
    FairRule,
    GroupRule,
    ImplicationRule,
    LinearRule,
    PointSetRule,
    RateRule,
    SignRule,
)
from surefoot.riskscore.problem.problem import RiskScoreProblem


def native_rules(problem: RiskScoreProblem) -> _native.CardRules:
    """All rules of a problem.

    A column whose points must come from a list without 0 is demanded by a group rule of its own. The limits of rates become
    weights, and what rounding may cost is granted here, as in :class:`RateRule`. What is above a threshold is at or above the
    next number.
    """
    native = _native.CardRules()
    n_columns = problem.n_columns
    for rule in problem.rules:
        if isinstance(rule, GroupRule):
            native.add_group(member=_flags(rule.columns, n_columns), least=rule.least, most=rule.most)
        elif isinstance(rule, ImplicationRule):
            native.add_implication(cause=_flags(rule.cause, n_columns), effect=_flags(rule.effect, n_columns))
        elif isinstance(rule, LinearRule):
            native.add_linear(
                lower=rule.lower,
                upper=rule.upper,
                intercept_coefficient=rule.intercept_coefficient,
                coefficient=np.ascontiguousarray(rule.coefficients, dtype=np.float64),
            )
        elif isinstance(rule, SignRule):
            native.add_sign(member=_flags(rule.columns, n_columns))
        elif isinstance(rule, BudgetRule):
            native.add_budget(
                column=np.array(rule.columns, dtype=np.int32),
                group=np.array(rule.group, dtype=np.int32),
                cost=np.array(rule.costs, dtype=np.float64),
                most=rule.limit,
            )
        elif isinstance(rule, FairRule):
            group, share = rule.shares(problem.columns, problem.labels, problem.weights)
            counts, of_risks = group >= 0, isinstance(rule, FairRiskRule)
            observed = np.bincount(group[counts], share[counts] * (problem.labels[counts] > 0)).astype(np.float64)
            native.add_fair(
                group=group,
                share=share,
                # A group of no rows, where all others are compared with 0 too.
                observed=np.append(observed, np.zeros(int(rule.label == 0.0))) if of_risks else np.zeros(0),
                most=rule.most + ROUNDING,
                threshold=math.nextafter(rule.threshold, math.inf),
            )
        elif isinstance(rule, RateRule):
            total = float(problem.weights[problem.labels == rule.label].sum())
            approached = problem.scale == "free" and not rule.at_even_odds
            native.add_rate(
                positive=bool(rule.label > 0),
                least=total * (rule.lower - ROUNDING),
                most=total * (rule.upper + ROUNDING),
                threshold=rule.flagged_from if approached else math.nextafter(rule.threshold, math.inf),
                unflagged=rule.unflagged_to if approached else rule.threshold,
            )
    for column, values in _allowed_points(problem).items():
        if 0 not in values:
            native.add_group(member=_flags((column,), n_columns), least=1, most=GroupRule((column,)).most)
        used = sorted(values - {0})
        if used:
            native.set_values(column, np.array(used, dtype=np.int32))
        else:
            # Said as a rule too: where there are rules the search leaves no column to its twin, and neither does a certificate.
            native.add_group(member=_flags((column,), n_columns), least=0, most=0)
    return native


def point_limits(problem: RiskScoreProblem) -> tuple[IntArray, IntArray]:
    """Smallest and largest points of every column once it is used; 0 and 0 for a column that cannot be."""
    lower, upper = problem.lower.copy(), problem.upper.copy()
    for column, values in _allowed_points(problem).items():
        used = [value for value in values if value != 0]
        lower[column], upper[column] = (min(used), max(used)) if used else (0, 0)
    return lower, upper


def _allowed_points(problem: RiskScoreProblem) -> dict[int, set[int]]:
    """For every column with point sets, what they and the column's limits have in common."""
    allowed: dict[int, set[int]] = {}
    for rule in problem.rules:
        if isinstance(rule, PointSetRule):
            limits = set(range(int(problem.lower[rule.column]), int(problem.upper[rule.column]) + 1))
            allowed[rule.column] = allowed.get(rule.column, limits) & set(rule.values)
    return allowed


def _flags(columns: tuple[int, ...], n_columns: int) -> NDArray[np.uint8]:
    marked = np.zeros(n_columns, dtype=np.uint8)
    marked[list(columns)] = 1
    return marked
