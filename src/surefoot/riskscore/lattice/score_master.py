"""The master programme of the cutting-plane methods: cards with their rules, and the epigraph of the loss outer-approximated.

    min  theta + penalty * sum_j (a_j + c_j)   over cards (b, p) with their marks a, c of
    :mod:`surefoot.riskscore.search.card_program`,

    theta >= L(x) + g(x) . ((b, p) - x)   for every point x at which a cut was made (Kelley 1960),

L the loss and g its gradient. By convexity no cut excludes a card with its loss, so every optimum of the master, over integers
or relaxed, is a lower bound. This is AugmentedRiskSlimMIP, formulation (24) of Ustun and Rudin (JMLR 2019): the objective, the
loss and the number of columns are rows or variables of their own, with bounds that imply bounds of each other (Algorithm 5).
"""

from __future__ import annotations

import math

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.core.backends.highs import BOUND_SLACK, LinearProgramme
from surefoot.riskscore.baselines.merged_rows import ScoreRows, card_of
from surefoot.riskscore.baselines.tangent_bound import TANGENT_ERROR
from surefoot.riskscore.problem.problem import RiskScore, RiskScoreProblem
from surefoot.riskscore.search.card_program import CardProgram


class ScoreMaster:
    """Cards, rules, cuts and the bounds of the terms of the objective."""

    def __init__(self, problem: RiskScoreProblem, rows: ScoreRows) -> None:
        self.problem, self.rows = problem, rows
        cards = CardProgram(problem)
        for rule in problem.rules:
            cards.add(rule)
        self.parts = cards.parts()
        matrix, low, high, lower, upper = self.parts
        n, d = lower.size, problem.n_columns
        self.card_columns = np.append(0, cards.points).astype(np.int32)
        self._theta, self.marks = n, cards.marks.astype(np.int32)
        cost = np.zeros(n + 1)
        cost[self.marks], cost[self._theta] = problem.penalty, 1.0
        self.n_integers, self.lower, self.upper = n, lower, upper
        self.programme = LinearProgramme(np.append(lower, 0.0), np.append(upper, np.inf), cost)
        for row in range(low.size):
            part = slice(matrix.indptr[row], matrix.indptr[row + 1])
            self.programme.add_row(matrix.indices[part], matrix.data[part], float(low[row]), float(high[row]))
        self.most = min(problem.max_features, d)
        self._size_row = self.programme.add_row(self.marks, np.ones(2 * d), 0.0, float(self.most))
        self._value_columns = np.append(self.marks, self._theta).astype(np.int32)
        prices = np.append(np.full(2 * d, problem.penalty), 1.0)
        self._value_row = self.programme.add_row(self._value_columns, prices, 0.0, np.inf)
        # Gradients over intercept and points, and the cut's value at 0.
        self.cuts: list[tuple[FloatArray, float]] = []
        self._cut_at: set[bytes] = set()

    @property
    def n_cuts(self) -> int:
        return len(self.cuts)

    def loss(self, point: FloatArray) -> float:
        """The loss at a point (intercept first)."""
        return self.rows.loss(self.rows.scores(point))

    def cut(self, point: FloatArray) -> float:
        """Add the tangent of the loss at a point (intercept first), unless it is there; the loss at the point."""
        scores = self.rows.scores(point)
        loss = self.rows.loss(scores)
        key = point.tobytes()
        if key in self._cut_at:
            return loss
        self._cut_at.add(key)
        gradient = self.rows.gradient(scores)
        # The tangent, lowered by what rounding may have raised it.
        base = loss - float(gradient @ point) - TANGENT_ERROR * (abs(loss) + float(np.abs(gradient * point).sum()))
        used = np.flatnonzero(gradient)
        columns = np.append(self.card_columns[used], self._theta)
        self.programme.add_row(columns, np.append(-gradient[used], 1.0), base, np.inf)
        self.cuts.append((gradient, base))
        return loss

    def cut_violation(self, point: FloatArray, x: FloatArray) -> float:
        """Cut the loss at a point; by how much the solution x there violated the cut."""
        return self.cut(point) - float(x[self._theta])

    def point_of(self, x: FloatArray) -> FloatArray:
        """Intercept and points of a solution."""
        return np.asarray(x[self.card_columns], dtype=np.float64)

    def card_of(self, x: FloatArray) -> RiskScore:
        """The card of an integer solution."""
        return card_of(self.point_of(x))

    def chain_bounds(self, upper: float, lower: float) -> None:
        """Bound the objective, and what this implies for the loss and the number of columns (chained updates, Algorithm 5).

        Cards as good as ``upper`` stay feasible.
        """
        penalty = self.problem.penalty
        if penalty > 0 and math.isfinite(upper):
            # Propositions 2 and 4: a card with more columns costs more than the incumbent.
            self.most = min(self.most, int((upper - max(lower - penalty * self.most, 0.0)) / penalty * (1 + 1e-9)))
        self.programme.limit_row(self._size_row, 0.0, float(self.most))
        self.programme.limit_column(self._theta, max(lower - penalty * self.most - BOUND_SLACK, 0.0), upper)
        self.programme.limit_row(self._value_row, max(lower - BOUND_SLACK, 0.0), upper)
