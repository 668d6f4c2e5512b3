"""Whether any score card obeys the rules: a small mixed-integer program without an objective.

Variables: the intercept b; for every column its points p_j and two marks a_j, c_j in {0, 1}, "has positive points" and "has
negative points". With lower_j <= 0 <= upper_j,

    a_j + lower_j c_j <= p_j <= upper_j a_j - c_j,    a_j + c_j <= 1,    sum_j (a_j + c_j) <= max_features,

so that a_j + c_j says whether column j is used. Groups and implications are sums of these marks; a list of points is a choice
of one of its values; one sign for a group is one more mark t with a_j <= t and c_j <= 1 - t; the risk of a person is linear.
For a rate, every distinct row r of the label has a mark f_r for "flagged":

    f_r = 0 only if s_r < threshold,    f_r = 1 only if s_r >= threshold,    least <= sum_r w_r f_r <= most.

At a free scale limits of log odds are such of scores divided by the multiplier m. Times m they are linear in points and m,
which is one more variable, the only one that need not be whole.

What a budget counts is one more mark for every group that is paid for together. Rates of groups are left out: they would need a
mark for every distinct row.

Where scores are not whole numbers, "<" is relaxed to "<=": then a program without a solution still proves that there is no
card, and a solution is a card only if the rules themselves say so. HiGHS solves the program, through SciPy.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array

from surefoot.riskscore.problem.card_rules import (
    ROUNDING,
    BudgetRule,
    CardRule,
    FairRule,
    GroupRule,
    ImplicationRule,
    LinearRule,
    PointSetRule,
    RateRule,
    SignRule,
)
from surefoot.riskscore.problem.problem import RiskScore, RiskScoreProblem
from surefoot.riskscore.search.parameters import DEFAULT_PARAMETERS, SearchParameters

_INFEASIBLE = 2  # status of scipy.optimize.milp

Terms = Iterable[tuple[int, float]]


def has_card(problem: RiskScoreProblem, seconds: float, parameters: SearchParameters = DEFAULT_PARAMETERS) -> bool | None:
    """Whether a card obeys limits, size and rules of the problem; None if that was not decided in the time given."""
    if seconds <= 0:
        return None
    program = CardProgram(problem, parameters)
    for rule in problem.rules:
        program.add(rule)
    return program.solve(seconds)


class ProgramParts(NamedTuple):
    """Rows low <= matrix x <= high over variables lower <= x <= upper, all whole but for a multiplier."""

    matrix: Any  # csr_array, which carries no types
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]


class CardProgram:
    """The program for one problem, rule by rule."""

    def __init__(self, problem: RiskScoreProblem, parameters: SearchParameters = DEFAULT_PARAMETERS) -> None:
        self.problem = problem
        self.parameters = parameters
        d = problem.n_columns
        self._points, self._positive, self._negative = (1 + k * d + np.arange(d) for k in range(3))
        ones = np.ones(d)
        self._lower = [float(problem.intercept_lower), *problem.lower.tolist(), *(0 * ones), *(0 * ones)]
        self._upper = [float(problem.intercept_upper), *problem.upper.tolist(), *(problem.upper > 0), *(problem.lower < 0)]
        self._entries: list[tuple[int, int, float]] = []
        self._limits: list[tuple[float, float]] = []
        for j in range(d):
            p, a, c = int(self._points[j]), int(self._positive[j]), int(self._negative[j])
            self._row([(p, 1.0), (a, -1.0), (c, -float(problem.lower[j]))], 0.0, math.inf)
            self._row([(p, 1.0), (a, -float(problem.upper[j])), (c, 1.0)], -math.inf, 0.0)
            self._row([(a, 1.0), (c, 1.0)], 0.0, 1.0)
        self._row(self._used(range(d)), 0.0, float(problem.max_features))
        self._multiplier = self._variable(*problem.multipliers) if problem.scale == "free" else None

    def add(self, rule: CardRule) -> None:
        """Add a rule of the problem."""
        if isinstance(rule, GroupRule):
            self._row(self._used(rule.columns), float(rule.least), float(rule.most))
        elif isinstance(rule, ImplicationRule):
            for cause in rule.cause:
                self._row([*self._used(rule.effect), *((at, -1.0) for at, _ in self._used([cause]))], 0.0, math.inf)
        elif isinstance(rule, PointSetRule):
            self._add_point_set(rule)
        elif isinstance(rule, SignRule):
            mark = self._variable(0.0, 1.0)
            for j in rule.columns:
                self._row([(mark, 1.0), (int(self._positive[j]), -1.0)], 0.0, math.inf)
                self._row([(mark, 1.0), (int(self._negative[j]), 1.0)], -math.inf, 1.0)
        elif isinstance(rule, LinearRule):
            score = self._score(rule.coefficients, rule.intercept_coefficient)
            if self._multiplier is None:
                self._row(score, rule.lower, rule.upper)
            else:
                for least, sign in ((rule.lower, 1.0), (-rule.upper, -1.0)):
                    if least > -math.inf:
                        self._row([*((at, sign * value) for at, value in score), (self._multiplier, -least)], 0.0, math.inf)
        elif isinstance(rule, BudgetRule):
            paid = [self._variable(0.0, 1.0) for _ in rule.costs]
            for column, group in zip(rule.columns, rule.group, strict=True):
                self._row([(paid[group], 1.0), *((at, -1.0) for at, _ in self._used([column]))], 0.0, math.inf)
            self._row(zip(paid, rule.costs, strict=True), -math.inf, rule.limit)
        elif not isinstance(rule, FairRule):
            self._add_rate(rule)

    @property
    def points(self) -> NDArray[np.intp]:
        """Variables that hold the points of every column; the intercept is variable 0."""
        return self._points

    @property
    def marks(self) -> NDArray[np.intp]:
        """Variables that say whether a column has points, positive ones first, then negative ones."""
        return np.concatenate([self._positive, self._negative])

    def parts(self) -> ProgramParts:
        """The program as it is now."""
        rows, columns, values = zip(*self._entries, strict=True)
        matrix = csr_array((values, (rows, columns)), shape=(len(self._limits), len(self._lower)))
        low, high = (np.array(side, dtype=np.float64) for side in zip(*self._limits, strict=True))
        return ProgramParts(matrix, low, high, np.array(self._lower, dtype=np.float64), np.array(self._upper, dtype=np.float64))

    def solve(self, seconds: float) -> bool | None:
        """Whether there is a card, or None if HiGHS could not tell in time."""
        matrix, low, high, lower, upper = self.parts()
        result = milp(
            np.zeros(lower.size),
            constraints=LinearConstraint(matrix, low, high),
            integrality=np.arange(lower.size) != (-1 if self._multiplier is None else self._multiplier),
            bounds=Bounds(lower, upper),
            # Presolve of HiGHS 1.15 finds no solution where two rows with the same coefficients meet in an equality.
            options={"time_limit": seconds, "presolve": False},
        )
        if result.status == _INFEASIBLE:
            return False
        if result.x is None:
            return None
        whole = np.rint(result.x).astype(np.int32)
        card = RiskScore(int(whole[0]), whole[self._points])
        if self._multiplier is not None:
            least, most = self.problem.scales(card.intercept, card.points)
            if not least <= most:
                return None
            card = replace(card, multiplier=1.0 / least)
        return True if self.problem.admits(card) else None

    def _add_point_set(self, rule: PointSetRule) -> None:
        low, high = int(self.problem.lower[rule.column]), int(self.problem.upper[rule.column])
        chosen = [(self._variable(0.0, 1.0), value) for value in set(rule.values) if low <= value <= high]
        # Without a value within the limits this is a row of zeros that should sum to one; HiGHS then finds no solution.
        self._row([(mark, 1.0) for mark, _ in chosen] or [(0, 0.0)], 1.0, 1.0)
        self._row([(int(self._points[rule.column]), -1.0), *((mark, float(value)) for mark, value in chosen)], 0.0, 0.0)

    def _add_rate(self, rule: RateRule) -> None:
        problem = self.problem
        chosen = problem.labels == rule.label
        rows, place = np.unique(problem.columns[chosen], axis=0, return_inverse=True)
        if rows.shape[0] > self.parameters.max_marked_rows:
            return
        weight = np.bincount(place.ravel(), problem.weights[chosen], minlength=rows.shape[0])
        whole = bool(np.all(rows == np.rint(rows)))
        # The least score with a flag and the largest without: neighbouring whole numbers, or both the threshold, which leaves
        # no card out; a card on it is looked at again.
        flagged = math.floor(rule.threshold) + 1.0 if whole else rule.threshold
        unflagged = flagged - 1.0 if whole else flagged
        least, most = self._score_range(rows)
        marks = [self._variable(0.0, 1.0) for _ in range(rows.shape[0])]
        scaled: list[tuple[int, float]] = []
        if self._multiplier is not None and not rule.at_even_odds:
            # Scores less the threshold times the multiplier: what is flagged then begins at 0.
            scaled = [(self._multiplier, -rule.threshold)]
            ends = np.array(problem.multipliers) * rule.threshold
            least, most, flagged, unflagged = least - ends.max(), most - ends.min(), 0.0, 0.0
        for row, mark, low, high in zip(rows, marks, least, most, strict=True):
            score = [*self._score(row, 1.0), *scaled]
            self._row([*score, (mark, -(max(high, unflagged) - unflagged))], -math.inf, unflagged)
            self._row([*score, (mark, -(flagged - min(low, flagged)))], min(low, flagged), math.inf)
        fraction = weight / weight.sum()
        self._row(zip(marks, fraction.tolist(), strict=True), rule.lower - ROUNDING, rule.upper + ROUNDING)

    def _score_range(self, rows: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Bounds on the score of each row over all cards of the allowed size."""
        problem = self.problem
        ends = rows * problem.lower, rows * problem.upper
        size = min(problem.max_features, problem.n_columns)
        least = np.sort(np.minimum(*ends), axis=1)[:, :size].sum(axis=1) + problem.intercept_lower
        most = np.sort(np.maximum(*ends), axis=1)[:, problem.n_columns - size :].sum(axis=1) + problem.intercept_upper
        return least, most

    def _used(self, columns: Iterable[int]) -> list[tuple[int, float]]:
        return [(int(mark[j]), 1.0) for j in columns for mark in (self._positive, self._negative)]

    def _score(self, coefficients: NDArray[np.float64], of_intercept: float) -> list[tuple[int, float]]:
        used = np.flatnonzero(coefficients)
        return [(0, float(of_intercept)), *zip(self._points[used].tolist(), coefficients[used].tolist(), strict=True)]

    def _variable(self, lower: float, upper: float) -> int:
        self._lower.append(lower)
        self._upper.append(upper)
        return len(self._lower) - 1

    def _row(self, terms: Terms, lower: float, upper: float) -> None:
        self._entries.extend((len(self._limits), at, value) for at, value in terms)
        self._limits.append((lower, upper))
