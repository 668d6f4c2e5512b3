"""Tangent planes below the loss of score cards, recomputed from the raw columns; under a shift of the rows, too.

The plain loss L is convex: at a point p with gradient g, L(q) >= L(p) + g . (q - p) for all q.

The robust loss of ``riskscore/problem/score_shift.py`` is a minimum over lambda of lambda radius + sum_i w_i max_S (V_iS -
lambda c_S), V_iS(q) the loss of row i after the shift S, c_S its cost. For any mixture theta_iS that sums to 1 in every row

    robust loss(q) >= min over lambda of   lambda h + sum_i w_i sum_S theta_iS V_iS(q),

    h = radius - sum_i w_i sum_S theta_iS c_S,

and the last sum is convex in q, so it has tangent planes. Here S runs over all sets of flips of the support's columns, and
label changes; the mixture is the softmax of (V_iS(p) - lambda c_S) / smoothing, which for a good point, price and smoothing are
close to the worst case. Whatever they are, the plane holds: a bad proof only proves little. Columns beyond the support are
not shifted, which leaves the adversary weaker, and slopes along them are those of the rows as they are.

Rounding. Sums run over the rows in pairs (NumPy's, along contiguous memory), so a sum of n terms is off by at most
(32 + log2 n) u times the sum of their sizes, u = 2^-53. With a_i = sum_j P_j |x_ij|, P_j the largest size of coordinate j at
the point and in the box, A1 and A2 the means of a_i and a_i^2 (the latter bounded by Minkowski's inequality) and k columns, the
derivation of cpp/include/surefoot/riskscore/search/rounding_slack.hpp holds word by word and gives

    2 u [(1 + 4 A1) (32 + log2 n + 5 k + 46) + (k + 2) A2].

Under a shift a flipped column is 0 or 1, so 1 takes the place of |x_ij|; every row has C shifts, whose weights sum to 1 up to
(C + 2) u, which adds C to the number of terms; and lambda h is off by as many u times lambda (radius + mean cost).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.riskscore.certificate.score_claims import Integers
from surefoot.riskscore.certificate.score_premises import scale_range, used_limits
from surefoot.riskscore.problem.problem import RiskScoreProblem

UNIT = 2.0**-53
# Numbers in one block of products with the rows, which should not fill the memory.
BLOCK = 4_000_000
# Smallest smoothing of a mixture; the plane holds for any.
_MIN_SMOOTHING = 1e-12


@dataclass(frozen=True, eq=False)
class Plane:
    """A plane below the loss: ``constant + gradient . q + price_slope * lambda``.

    Its slope along a column beyond the support is ``residuals . x_j``; ``slack`` is what
    rounding may have added to it anywhere in the limits.
    """

    constant: float
    gradient: FloatArray
    residuals: FloatArray
    price_slope: float
    slack: float


class Planes:
    """Tangent planes of one problem's loss."""

    def __init__(self, problem: RiskScoreProblem) -> None:
        self.problem = problem
        self.columns = np.ascontiguousarray(problem.columns.T)
        self.lower, self.upper = used_limits(problem)
        self.size = min(problem.max_features, problem.n_columns)
        self.scales = scale_range(problem)
        self.shift = problem.shift if problem.shift is not None and problem.shift.radius > 0 else None
        sizes = np.abs(self.columns)
        self.mean = np.array([float(np.sum(row * problem.weights)) for row in sizes])
        self.root = np.sqrt(np.array([float(np.sum(row * row * problem.weights)) for row in sizes]))
        furthest = np.maximum(np.abs(self.lower), np.abs(self.upper))
        self.most = np.where(np.isfinite(self.lower), self.scales[1] * furthest, 0.0)
        self.intercept = self.scales[1] * float(max(abs(problem.intercept_lower), abs(problem.intercept_upper)))
        self.most_price = 0.0
        if self.shift is not None:
            # Flipped columns are 0 or 1, whatever they were.
            flips = self.shift.flips & np.isfinite(self.shift.prices)
            self.mean[flips], self.root[flips] = 1.0, 1.0
            self.most_price = self._price_limit(np.where(flips, 1.0, sizes.max(axis=1, initial=0.0)))

    def _price_limit(self, largest: FloatArray) -> float:
        """Beyond this lambda no shift gains its price: a flip gains at most its points, a new label at most the score."""
        assert self.shift is not None
        finite = np.isfinite(self.shift.prices)
        largest_score = self.intercept + float(np.sort(self.most * largest)[::-1][: self.size].sum())
        by_column = np.max(self.most[finite] / self.shift.prices[finite], initial=0.0)
        return float(max(by_column, largest_score / self.shift.label_price)) * (1 + 1e-12)

    def slack(self, support: tuple[int, ...], point: FloatArray, n_shifts: int = 0) -> float:
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
        terms = 32.0 + np.log2(self.problem.n_rows) + 5 * k + 46 + n_shifts
        return float(2 * UNIT * ((1 + 4 * mean) * terms + (k + 2) * root**2))

    def at(self, support: tuple[int, ...], point: FloatArray, price: float, smoothing: float) -> Plane:
        """The plane that touches the loss at a point; without a shift, price and smoothing mean nothing."""
        if self.shift is not None:
            return self._mixed(support, point, price, max(smoothing, _MIN_SMOOTHING))
        return self.plain(support, point)

    def plain(self, support: tuple[int, ...], point: FloatArray) -> Plane:
        """The plane that touches the loss of the rows as they are, which no shift makes smaller."""
        problem = self.problem
        scores = np.full(problem.n_rows, float(point[0]))
        for column, value in zip(support, point[1:], strict=True):
            scores += value * self.columns[column]
        margins = problem.labels * scores
        # One exponential gives log(1 + exp(-m)) = max(-m, 0) + log(1 + exp(-|m|)) and its slope, each to a few units.
        small = np.exp(-np.abs(margins))
        loss = float(np.sum(problem.weights * (np.maximum(-margins, 0.0) + np.log1p(small))))
        residuals: FloatArray = -problem.labels * problem.weights * (np.where(margins > 0, small, 1.0) / (1.0 + small))
        gradient = np.append(np.sum(residuals), self.slopes(residuals, support))
        return Plane(loss - float(np.sum(gradient * point)), gradient, residuals, 0.0, self.slack(support, point))

    def _mixed(self, support: tuple[int, ...], point: FloatArray, price: float, smoothing: float) -> Plane:
        shift, problem = self.shift, self.problem
        assert shift is not None
        flips = [k for k, column in enumerate(support) if shift.flips[column] and np.isfinite(shift.prices[column])]
        sets = (np.arange(2 ** len(flips))[:, None] >> np.arange(len(flips))) & 1
        signs = np.array([1.0, -1.0] if np.isfinite(shift.label_price) else [1.0])
        prices = sets @ shift.prices[[support[k] for k in flips]] if flips else np.zeros(1)
        costs = np.concatenate([prices + (shift.label_price if sign < 0 else 0.0) for sign in signs])
        # Rows that are alike in label and support have the same shifts: one of each is looked at.
        rows, cell = self._cells(support)
        loss, cost, slope = np.zeros(rows.size), np.zeros(rows.size), np.zeros(rows.size)
        # For every column that can be flipped, the slope of a row times the column's value after the shift.
        turned = np.zeros((len(flips), rows.size))
        flipped = [support[k] for k in flips]
        step = max(BLOCK // costs.size, 1)
        for begin in range(0, rows.size, step):
            own = slice(begin, begin + step)
            labels = problem.labels[rows[own]]
            scores = np.full(labels.size, float(point[0]))
            for column, value in zip(support, point[1:], strict=True):
                scores += value * self.columns[column, rows[own]]
            values_before = self.columns[flipped][:, rows[own]]
            turns = 1.0 - 2.0 * values_before  # flipping adds so much to the column
            moves = sets @ (turns * point[1:][flips][:, None])
            arguments = np.concatenate([-sign * labels * (scores + moves) for sign in signs])
            values = np.logaddexp(0.0, arguments)
            mixture = (values - price * costs[:, None]) / smoothing
            mixture = np.exp(mixture - mixture.max(axis=0))
            mixture /= mixture.sum(axis=0)
            loss[own] = np.sum(mixture * values, axis=0)
            cost[own] = costs @ mixture
            slopes = mixture * np.exp(-np.logaddexp(0.0, -arguments)) * -np.repeat(signs, len(sets))[:, None] * labels
            of_sets = slopes.reshape(signs.size, len(sets), -1).sum(axis=0)
            slope[own] = of_sets.sum(axis=0)
            turned[:, own] = values_before * slope[own] + turns * (sets.T @ of_sets)
        residuals = problem.weights * slope[cell]
        gradient = np.append(np.sum(residuals), self.slopes(residuals, support))
        gradient[[k + 1 for k in flips]] = np.sum(problem.weights * turned[:, cell], axis=1)
        mean_cost = float(np.sum(problem.weights * cost[cell]))
        terms = 32.0 + np.log2(problem.n_rows) + costs.size + 8
        slack = self.slack(support, point, costs.size) + 2 * UNIT * terms * self.most_price * (shift.radius + mean_cost)
        constant = float(np.sum(problem.weights * loss[cell])) - float(np.sum(gradient * point))
        return Plane(constant, gradient, residuals, shift.radius - mean_cost, slack)

    def _cells(self, support: tuple[int, ...]) -> tuple[Integers, Integers]:
        """One row of every kind, as far as label and support tell them apart, and the kind of every row."""
        kind: Integers = (self.problem.labels > 0).astype(np.int64)
        first: Integers = np.zeros(0, dtype=np.int64)
        for column in (None, *support):
            if column is not None:
                code = np.unique(self.columns[column], return_inverse=True)[1].reshape(-1)
                kind = kind * (int(code.max()) + 1) + code
            _, first, kind = np.unique(kind, return_index=True, return_inverse=True)
            kind = kind.reshape(-1)
        return first, kind

    def slopes(self, residuals: FloatArray, columns: tuple[int, ...]) -> FloatArray:
        """Slope of the plane along each column."""
        step = max(BLOCK // self.problem.n_rows, 1)
        parts = [
            np.sum(self.columns[list(columns[begin : begin + step])] * residuals, axis=1)
            for begin in range(0, len(columns), step)
        ]
        return np.concatenate(parts) if parts else np.zeros(0)
