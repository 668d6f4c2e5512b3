"""The robust score card: what an adversary may change in the rows, at what price, and what a card then loses.

For a card with score s(x) = b + p . x the robust loss is

    min over lambda >= 0 of   lambda radius + sum_i w_i r_i(lambda),   |p_j| <= price_j lambda for the numeric columns,

    r_i(lambda) = max over sets S of flips and labels y' of   softplus(-y' s(x_i with S flipped)) - lambda cost,

    cost = sum_{j in S} price_j + label_price [y' != y_i].

By duality it is the largest mean loss over all ways to shift the rows whose mean cost is at most the radius, where price_j is
what a unit of a numeric column or a flip of a 0/1 column costs. Infinite prices forbid a change.

The worst flips of a row. For a target label y' flipping column j raises the loss argument by u_j = -y' p_j (1 - 2 x_ij),
that is by |p_j| or by -|p_j|. Softplus is convex, softplus(v) = max over tau in [0, 1] of tau v - h(tau), so the best set is
{j : u_j > 0, u_j / price_j > lambda / tau} for some tau: a prefix of the columns in falling order of |p_j| / price_j. That
order is the same for all rows, so one running sum over the columns gives the candidates of all rows at once.

The best lambda. For a given card each candidate is a straight line in lambda, so the whole is convex and piecewise linear: the
tangents at two points with slopes of opposite signs meet at or below the minimum, which bounds it from below, and meet at the
minimum once the pieces on both sides of it have been found.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from surefoot.problems.arrays import FloatArray, IntArray

# Tangents that meet this close to the best value found (relative) have found it.
_MEETING = 1e-15
_MOST_TANGENTS = 400


@dataclass(frozen=True, eq=False)
class ScoreShift:
    """What may change in a row, and how much in all.

    Parameters
    ----------
    radius : float
        Mean cost an adversary can spend per row; at or above 0.
    prices : ndarray of shape (n_columns,)
        Price of flipping a 0/1 column, or of a unit of a numeric column; above 0, infinite if the column stays as it is.
    flips : ndarray of shape (n_columns,), bool
        Which columns are flipped; they hold 0 and 1 only. The others move.
    label_price : float, default=inf
        Price of changing the label; above 0, infinite if labels stay.
    """

    radius: float
    prices: FloatArray
    flips: NDArray[np.bool_]
    label_price: float = np.inf

    def __post_init__(self) -> None:
        object.__setattr__(self, "prices", np.ascontiguousarray(self.prices, dtype=np.float64))
        object.__setattr__(self, "flips", np.ascontiguousarray(self.flips, dtype=np.bool_))

    def check(self, columns: FloatArray) -> None:
        """Raise ``ValueError`` if the shift does not fit the table."""
        n_columns = columns.shape[1]
        if not (np.isfinite(self.radius) and self.radius >= 0):
            raise ValueError(f"radius = {self.radius} must be a finite number at or above 0.")
        if not self.label_price > 0:
            raise ValueError(f"label_price = {self.label_price} must be above 0; infinity keeps labels as they are.")
        for name in ("prices", "flips"):
            if getattr(self, name).shape != (n_columns,):
                raise ValueError(f"{name} has shape {getattr(self, name).shape}; the table has {n_columns} columns.")
        wrong = np.flatnonzero(~(self.prices > 0))
        if wrong.size:
            raise ValueError(
                f"prices[{wrong[0]}] = {self.prices[wrong[0]]}; prices are above 0, infinite for a column that stays."
            )
        flipped = columns[:, self.flips]
        odd = np.argwhere((flipped != 0.0) & (flipped != 1.0))
        if odd.size:
            row, at = odd[0]
            column = int(np.flatnonzero(self.flips)[at])
            raise ValueError(
                f"column {column} holds {columns[row, column]} in row {row}, so it cannot be flipped; columns that flip hold 0 "
                "and 1 only. Let it move instead, or binarize it."
            )

    def candidates(
        self, columns: FloatArray, labels: FloatArray, intercept: float, points: IntArray
    ) -> tuple[FloatArray, FloatArray]:
        """Loss and cost of every shift that can be a row's worst, both of shape (n_rows, n_candidates)."""
        used = np.flatnonzero(points)
        weights = points[used].astype(np.float64)
        scores = columns[:, used] @ weights + intercept
        moving = self.flips[used] & np.isfinite(self.prices[used])
        order = used[moving][np.argsort(-np.abs(weights[moving]) / self.prices[used[moving]], kind="stable")]
        values, costs = [], []
        for flipped in (False, True) if np.isfinite(self.label_price) else (False,):
            target = -labels if flipped else labels
            rises = -target[:, None] * points[order] * (1.0 - 2.0 * columns[:, order])
            helpful = rises > 0
            rises, prices = np.where(helpful, rises, 0.0), np.where(helpful, self.prices[order], 0.0)
            arguments = np.cumsum(np.column_stack([-target * scores, rises]), axis=1)
            values.append(np.logaddexp(0.0, arguments))
            first = np.full(labels.size, self.label_price if flipped else 0.0)
            costs.append(np.cumsum(np.column_stack([first, prices]), axis=1))
        return np.concatenate(values, axis=1), np.concatenate(costs, axis=1)

    def worst_loss(
        self, columns: FloatArray, labels: FloatArray, weights: FloatArray, intercept: float, points: IntArray
    ) -> tuple[float, float]:
        """The robust loss of a card and the lambda that has it."""
        values, costs = self.candidates(columns, labels, intercept, points)
        rows = np.arange(labels.size)

        def at(price: float) -> tuple[float, float]:
            worst = np.argmax(values - price * costs, axis=1)
            value, cost = weights @ values[rows, worst], weights @ costs[rows, worst]
            return float(price * (self.radius - cost) + value), float(self.radius - cost)

        moved = (points != 0) & ~self.flips
        low = float(np.max(np.abs(points[moved]) / self.prices[moved], initial=0.0))
        low_value, low_slope = at(low)
        if low_slope >= 0:
            return low_value, low
        # Beyond it no shift gains what it costs, so the slope is the radius.
        positive = costs > 0
        gains = values - values[:, :1]
        high = low + float(np.max(gains[positive] / costs[positive], initial=0.0)) + 1.0
        high_value, high_slope = at(high)
        if high_slope <= 0:
            # Only without a radius: the loss falls to that of the rows as they are.
            return high_value, high
        for k in range(_MOST_TANGENTS):
            meeting = (high_value - low_value + low_slope * low - high_slope * high) / (low_slope - high_slope)
            meeting = min(max(meeting, low), high)
            bound, best = low_value + low_slope * (meeting - low), min(low_value, high_value)
            if best - bound <= _MEETING * (1.0 + best) or high - low <= _MEETING * (1.0 + high):
                break
            price = 0.5 * (low + high) if k % 3 == 2 else meeting
            value, slope = at(price)
            if slope == 0:
                return value, price
            if slope < 0:
                low, low_value, low_slope = price, value, slope
            else:
                high, high_value, high_slope = price, value, slope
        return (low_value, low) if low_value <= high_value else (high_value, high)

    def spelled(self) -> tuple[object, ...]:
        """Everything that defines it, for a fingerprint."""
        return (self.radius, self.label_price, self.prices.tolist(), self.flips.tolist())
