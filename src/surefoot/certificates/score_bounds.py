"""Lower bounds on the objective of score cards, recomputed from the raw columns.

The loss L is convex. At a point p with gradient g, for every card q whose coordinates lie in a box [l, u],

    L(q) >= L(p) + g . (q - p) >= L(p) - sum_j (g_j p_j - min(g_j l_j, g_j u_j)).

Under a shift of the rows the loss is never below the plain one, so the bounds hold for robust cards, too.

Rounding. Sums run over the rows in pairs (NumPy's, along contiguous memory), so a sum of n terms is off by at most
(32 + log2 n) u times the sum of their sizes, u = 2^-53. With a_i = sum_j P_j |x_ij|, P_j the largest size of coordinate j at
the point and in the box, A1 and A2 the means of a_i and a_i^2 (the latter bounded by Minkowski's inequality) and k columns, the
derivation of cpp/include/surefoot/rounding_slack.hpp holds word by word and gives

    2 u [(1 + 4 A1) (32 + log2 n + 5 k + 46) + (k + 2) A2],

which is subtracted from every bound.
"""

from __future__ import annotations

import numpy as np

from surefoot.certificates.score_walk import BoxClaim, Claim, NodeClaim, used_limits
from surefoot.problems.arrays import FloatArray
from surefoot.problems.risk_score import RiskScore, RiskScoreProblem

UNIT = 2.0**-53
# Columns whose slopes are worked out together: their products with the rows should not fill the memory.
BLOCK = 16


class ScoreBounds:
    """Bounds for one problem."""

    def __init__(self, problem: RiskScoreProblem) -> None:
        self.problem = problem
        self.columns = np.ascontiguousarray(problem.columns.T)
        self.lower, self.upper = used_limits(problem)
        self.size = min(problem.max_features, problem.n_columns)
        sizes = np.abs(self.columns)
        self.mean = np.array([float(np.sum(row * problem.weights)) for row in sizes])
        self.root = np.sqrt(np.array([float(np.sum(row * row * problem.weights)) for row in sizes]))
        most = np.where(np.isfinite(self.lower), np.maximum(np.abs(self.lower), np.abs(self.upper)), 0.0)
        self.most = most
        self.intercept = float(max(abs(problem.intercept_lower), abs(problem.intercept_upper)))

    def slack(self, support: tuple[int, ...], point: FloatArray) -> float:
        """What rounding may add to a bound at a point, over cards with ``support`` and any further columns."""
        chosen = list(support)
        size = np.maximum(self.most[chosen], np.abs(point[1:]))
        intercept = max(self.intercept, float(abs(point[0])))
        others = (
            np.sort(self.most * self.mean)[::-1][: self.size].sum(),
            np.sort(self.most * self.root)[::-1][: self.size].sum(),
        )
        mean = intercept + float(size @ self.mean[chosen]) + float(others[0])
        root = intercept + float(size @ self.root[chosen]) + float(others[1])
        k = len(support) + self.size
        terms = 32.0 + np.log2(self.problem.n_rows) + 5 * k + 46
        return float(2 * UNIT * ((1 + 4 * mean) * terms + (k + 2) * root**2))

    def tangent(self, support: tuple[int, ...], point: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        """Loss at a point, its gradient, and the weighted residuals of the rows."""
        problem = self.problem
        scores = np.full(problem.n_rows, float(point[0]))
        for column, value in zip(support, point[1:], strict=True):
            scores += value * self.columns[column]
        margins = problem.labels * scores
        loss = float(np.sum(problem.weights * np.logaddexp(0.0, -margins)))
        residuals: FloatArray = -problem.labels * problem.weights * np.exp(-np.logaddexp(0.0, margins))
        return loss, np.append(np.sum(residuals), self.slopes(residuals, support)), residuals

    def slopes(self, residuals: FloatArray, columns: tuple[int, ...]) -> FloatArray:
        """Slope of the loss along each column."""
        parts = [
            np.sum(self.columns[list(columns[begin : begin + BLOCK])] * residuals, axis=1)
            for begin in range(0, len(columns), BLOCK)
        ]
        return np.concatenate(parts) if parts else np.zeros(0)

    def over_box(self, support: tuple[int, ...], point: FloatArray, lower: FloatArray, upper: FloatArray) -> float:
        """Bound on the objective of all cards of a support with coordinates in a box."""
        loss, gradient, _ = self.tangent(support, point)
        paid = float(np.sum(gradient * point - np.minimum(gradient * lower, gradient * upper)))
        return loss - paid - self.slack(support, point) + self.problem.penalty * len(support)

    def everywhere(self, point: FloatArray) -> float:
        """Bound on the objective of every card from a point with an entry for the intercept and for every column."""
        used = tuple(np.flatnonzero(point[1:]).tolist())
        chosen = np.append(point[0], point[1:][list(used)])
        loss, gradient, residuals = self.tangent(used, chosen)
        ends = gradient[0] * np.array([self.problem.intercept_lower, self.problem.intercept_upper])
        may = tuple(np.flatnonzero(np.isfinite(self.lower)).tolist())
        gains = np.maximum(self.gains(residuals, may) - self.problem.penalty, 0.0)
        best = np.sort(gains)[::-1][: self.size].sum()
        return float(loss - np.sum(gradient * chosen) + ends.min() - best - self.slack(used, chosen))

    def gains(self, residuals: FloatArray, columns: tuple[int, ...]) -> FloatArray:
        chosen = list(columns)
        slopes = self.slopes(residuals, columns)
        return -np.minimum(slopes * self.lower[chosen], slopes * self.upper[chosen])

    def of(self, claim: Claim) -> float:
        """The bound that a claim proves; NaN or -inf for one that proves nothing."""
        with np.errstate(over="ignore", invalid="ignore"):
            return self._of_node(claim) if isinstance(claim, NodeClaim) else self._of_box(claim)

    def _of_box(self, claim: BoxClaim) -> float:
        if claim.point is not None:
            return self.over_box(claim.support, claim.point, np.array(claim.lower, float), np.array(claim.upper, float))
        points = np.zeros(self.problem.n_columns, dtype=np.int32)
        points[list(claim.support)] = claim.lower[1:]
        card = RiskScore(claim.lower[0], points)
        if not self.problem.admits(card):
            return np.inf
        return self.problem.objective(card) - self.slack(claim.support, np.array(claim.lower, float))

    def _of_node(self, claim: NodeClaim) -> float:
        chosen = list(claim.prefix)
        lower = np.append(self.problem.intercept_lower, self.lower[chosen])
        upper = np.append(self.problem.intercept_upper, self.upper[chosen])
        loss, gradient, residuals = self.tangent(claim.prefix, claim.point)
        base = loss - float(np.sum(gradient * claim.point - np.minimum(gradient * lower, gradient * upper)))
        base -= self.slack(claim.prefix, claim.point)
        gain = dict(zip(claim.candidates, self.gains(residuals, claim.candidates).tolist(), strict=True))
        further = self.size - len(claim.prefix) - 1
        bounds = [np.inf]
        for out in set(claim.candidates) - set(claim.kept):
            bounds.append(base - gain[out] - _largest([gain[c] for c in claim.candidates if c != out], further))
        for at, out in enumerate(claim.kept):
            if out not in claim.children:
                bounds.append(base - gain[out] - _largest([gain[c] for c in claim.kept[at + 1 :]], further))
        # One that is not a number proves nothing, and must not hide behind others.
        return float(np.min(bounds)) + self.problem.penalty * (len(claim.prefix) + 1)


def _largest(gains: list[float], count: int) -> float:
    """Sum of the largest few of the gains that are gains at all."""
    return sum(sorted((gain for gain in gains if not gain <= 0), reverse=True)[:count])
