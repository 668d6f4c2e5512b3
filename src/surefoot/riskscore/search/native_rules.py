"""The rules of a score card as the native search takes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from surefoot.core.arrays import FloatArray, IntArray
from surefoot.riskscore.problem.card_rules import (
    ROUNDING,
    GroupRule,
    ImplicationRule,
    LinearRule,
    PointSetRule,
    RateRule,
    SignRule,
)
from surefoot.riskscore.problem.problem import RiskScoreProblem


class NativeRules(NamedTuple):
    """Flags per column, limits, coefficients with the intercept first; in the order of the native function's arguments."""

    members: NDArray[np.uint8]
    least: IntArray
    most: IntArray
    cause: NDArray[np.uint8]
    effect: NDArray[np.uint8]
    row_lower: FloatArray
    row_upper: FloatArray
    row_coefficient: FloatArray
    one_sign: NDArray[np.uint8]
    rate_positive: NDArray[np.uint8]
    rate_least: FloatArray
    rate_most: FloatArray
    rate_threshold: FloatArray
    rate_unflagged: FloatArray
    set_columns: IntArray
    set_values: IntArray


def native_rules(problem: RiskScoreProblem) -> NativeRules:
    """All rules of a problem.

    A column whose points must come from a list without 0 is demanded by a group rule of its own. The limits of rates become
    weights, and what rounding may cost is granted here, as in :class:`RateRule`.
    """
    chosen = _allowed_points(problem)
    demanded = [GroupRule((column,), least=1) for column, values in chosen.items() if 0 not in values]
    groups = [rule for rule in problem.rules if isinstance(rule, GroupRule)] + demanded
    implications = [rule for rule in problem.rules if isinstance(rule, ImplicationRule)]
    rows = [rule for rule in problem.rules if isinstance(rule, LinearRule)]
    signs = [rule for rule in problem.rules if isinstance(rule, SignRule)]
    rates = [rule for rule in problem.rules if isinstance(rule, RateRule)]
    totals = np.array([problem.weights[problem.labels == rule.label].sum() for rule in rates], dtype=np.float64)
    pairs = [(column, value) for column, values in chosen.items() for value in sorted(values) if value != 0]
    coefficients = [np.append(rule.intercept_coefficient, rule.coefficients) for rule in rows]
    return NativeRules(
        _flags([rule.columns for rule in groups], problem.n_columns),
        np.array([rule.least for rule in groups], dtype=np.int32),
        np.array([rule.most for rule in groups], dtype=np.int32),
        _flags([rule.cause for rule in implications], problem.n_columns),
        _flags([rule.effect for rule in implications], problem.n_columns),
        np.array([rule.lower for rule in rows], dtype=np.float64),
        np.array([rule.upper for rule in rows], dtype=np.float64),
        np.array(coefficients, dtype=np.float64).reshape(len(rows), problem.n_columns + 1),
        _flags([rule.columns for rule in signs], problem.n_columns),
        np.array([rule.label > 0 for rule in rates], dtype=np.uint8),
        totals * (np.array([rule.lower for rule in rates]) - ROUNDING),
        totals * (np.array([rule.upper for rule in rates]) + ROUNDING),
        np.array([rule.flagged_from for rule in rates], dtype=np.float64),
        np.array([rule.unflagged_to for rule in rates], dtype=np.float64),
        np.array([column for column, _ in pairs], dtype=np.int32),
        np.array([value for _, value in pairs], dtype=np.int32),
    )


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


def _flags(columns: Sequence[tuple[int, ...]], n_columns: int) -> NDArray[np.uint8]:
    marked = np.zeros((len(columns), n_columns), dtype=np.uint8)
    for line, chosen in zip(marked, columns, strict=True):
        line[list(chosen)] = 1
    return marked
