"""The robust score card: a Wasserstein ball around the rows, with prices of changes, and the worst loss of a card over it.

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

At a free scale the score is t (b + p . x) with t = 1 / multiplier, and the loss is convex in t and lambda together: a maximum
of convex functions of t less straight lines in lambda, with t |p_j| <= price_j lambda. Both tangents above are planes in lambda
and t. Mixed such that they are level along lambda they make a line below the least loss at every scale, which touches it at the
scale they were found at: a tangent along the scale. At the smallest lambda, which grows with t, the plane is restricted to it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from surefoot.core.arrays import FloatArray, IntArray

# Relative to 1 + the value: distance of the tangents' meeting from the best value at which it is the minimum.
_MEETING_GAP = 1e-15
# Tangents in the minimisation along lambda; it ends long before.
_MAX_TANGENTS = 400


class WorstLoss(NamedTuple):
    """The robust loss of a card at a scale t, and a line below its least loss at every other scale.

    Attributes
    ----------
    value : float
    price : float
        The lambda that has it.
    bound, slope : float
        At scale t' it is at least bound + slope (t' - t).
    """

    value: float
    price: float
    bound: float
    slope: float


class _Tangent(NamedTuple):
    """A plane below the loss at a price: its value there, slope along the price, and along a factor that stretches the card."""

    price: float
    value: float
    slope: float
    stretch: float


@dataclass(frozen=True, eq=False)
class ScoreShift:
    """What may change in a row, and how much in all.

    Parameters
    ----------
    radius : float
        Largest mean cost of a shift per row; at or above 0.
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
        self, columns: FloatArray, labels: FloatArray, intercept: float, coefficients: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Loss argument and cost of every shift that can be a row's worst, both of shape (n_rows, n_candidates)."""
        used = np.flatnonzero(coefficients)
        weights = coefficients[used]
        scores = columns[:, used] @ weights + intercept
        moving = self.flips[used] & np.isfinite(self.prices[used])
        order = used[moving][np.argsort(-np.abs(weights[moving]) / self.prices[used[moving]], kind="stable")]
        arguments, costs = [], []
        for flipped in (False, True) if np.isfinite(self.label_price) else (False,):
            target = -labels if flipped else labels
            rises = -target[:, None] * coefficients[order] * (1.0 - 2.0 * columns[:, order])
            helpful = rises > 0
            rises, prices = np.where(helpful, rises, 0.0), np.where(helpful, self.prices[order], 0.0)
            arguments.append(np.cumsum(np.column_stack([-target * scores, rises]), axis=1))
            first = np.full(labels.size, self.label_price if flipped else 0.0)
            costs.append(np.cumsum(np.column_stack([first, prices]), axis=1))
        return np.concatenate(arguments, axis=1), np.concatenate(costs, axis=1)

    def worst_loss(
        self,
        columns: FloatArray,
        labels: FloatArray,
        weights: FloatArray,
        intercept: float,
        points: IntArray,
        scale: float = 1.0,
    ) -> WorstLoss:
        """The robust loss of a card at a scale, 1 / multiplier, and the lambda that has it."""
        coefficients = scale * points.astype(np.float64)
        arguments, costs = self.candidates(columns, labels, scale * float(intercept), coefficients)
        values = np.logaddexp(0.0, arguments)
        rows = np.arange(labels.size)

        def at(price: float) -> _Tangent:
            worst = np.argmax(values - price * costs, axis=1)
            loss, cost, argument = values[rows, worst], costs[rows, worst], arguments[rows, worst]
            slope = self.radius - float(np.sum(weights * cost))
            stretch = float(np.sum(weights * argument * np.exp(-np.logaddexp(0.0, -argument))))
            return _Tangent(price, price * slope + float(np.sum(weights * loss)), slope, stretch)

        moved = (points != 0) & ~self.flips
        low = at(float(np.max(np.abs(coefficients[moved]) / self.prices[moved], initial=0.0)))
        if low.slope >= 0:
            return WorstLoss(low.value, low.price, low.value, (low.stretch + low.slope * low.price) / scale)
        # Beyond it no shift gains what it costs, so the slope is the radius.
        positive = costs > 0
        gains = values - values[:, :1]
        high = at(low.price + float(np.max(gains[positive] / costs[positive], initial=0.0)) + 1.0)
        if high.slope <= 0:
            # Only without a radius: the loss falls to that of the rows as they are.
            return WorstLoss(high.value, high.price, high.value, high.stretch / scale)
        for k in range(_MAX_TANGENTS):
            rise = high.value - low.value + low.slope * low.price - high.slope * high.price
            meeting = min(max(rise / (low.slope - high.slope), low.price), high.price)
            bound, best = low.value + low.slope * (meeting - low.price), min(low.value, high.value)
            if best - bound <= _MEETING_GAP * (1.0 + best) or high.price - low.price <= _MEETING_GAP * (1.0 + high.price):
                break
            middle = at(0.5 * (low.price + high.price) if k % 3 == 2 else meeting)
            if middle.slope == 0:
                return WorstLoss(middle.value, middle.price, middle.value, middle.stretch / scale)
            low, high = (middle, high) if middle.slope < 0 else (low, middle)
        mix = high.slope / (high.slope - low.slope)
        end = low if low.value <= high.value else high
        slope = (high.stretch + mix * (low.stretch - high.stretch)) / scale
        return WorstLoss(end.value, end.price, min(bound, end.value), slope)
