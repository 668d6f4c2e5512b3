"""Planes below the loss of score cards, and the least that they are over a set of cards.

The loss of a row of label y with score s is log(1 + exp(v)), v = -y s. For every u in [0, 1] (Fenchel)

    log(1 + exp(v)) >= u v + H(u),      H(u) = -u log u - (1 - u) log(1 - u),

with equality for u = 1 / (1 + exp(-v)). A point of a proof only serves to choose u for every row: whatever it is, the sum over
the rows is a plane c + g . q below the loss of cards with coefficients q, c = sum w H(u) and g_j = sum -y w u x_j. No rounding
on the way to u matters.

Over points in a box [l, u] the plane is at least c + sum_j min(g_j l_j, g_j u_j). A further column adds -gain_j = min(g_j l_j,
g_j u_j). At a free scale q = t points: all but c is multiplied by t, and the smaller of both ends of t counts.

Under a shift (``riskscore/problem/score_shift.py``) the loss is min over lambda of lambda radius + sum_i w_i max_S (V_iS -
lambda cost_S), with t |p_j| <= price_j lambda for the columns that move. For weights m_iS >= 0 that sum to 1 over the shifts S
of a row it is at least the minimum over lambda of

    lambda h + sum_i w_i sum_S m_iS V_iS,        h = radius - sum_i w_i sum_S m_iS cost_S,

and every V_iS has its plane as above. S runs over all sets of flips of the support's columns and both labels; the weights are a
softmax of (V_iS - lambda cost_S) / smoothing. With lambda = t mu, each points_j has |points_j| <= price_j mu, so what is
multiplied by t is a convex function of mu, straight between the mu at which a limit is met: the least of its values there. No
mu above ``most_price`` is needed: there no shift gains what it costs. Further columns are not shifted, which makes the loss no
larger.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.core.enclosure import Enclosure, choose, enclose, join
from surefoot.riskscore.certificate.card_table import CardTable, Integers
from surefoot.riskscore.certificate.counted_claims import CountedClaims
from surefoot.riskscore.certificate.row_cells import RowCells, patterns

# Smallest u: any does, and its logarithm is finite.
LEAST_SHARE = 1e-290
LEAST_SMOOTHING = 1e-12


@dataclass(frozen=True, eq=False)
class Planes:
    """``constant + gradient . q + price_slope lambda`` for every claim; residuals by cell for rows of either label."""

    constant: Enclosure
    gradient: Enclosure
    price_slope: Enclosure
    negative: Enclosure
    positive: Enclosure


class LossPlanes:
    """Planes of one problem and the least that they are over sets of cards."""

    def __init__(self, table: CardTable, cells: RowCells) -> None:
        self.table, self.rows, self.shifted = table, cells, table.radius > 0
        self.counted = None if cells.counts is None or self.shifted else CountedClaims(table, cells.counts)
        # A flip gains at most its points; a new label at most the score, where flipped columns are 0 or 1.
        points = np.where(table.usable, np.maximum(np.abs(table.lower), np.abs(table.upper)), 0.0)
        sizes = np.where(table.flips, 1.0, np.abs(table.columns).max(axis=0, initial=0.0))
        largest = np.sort((enclose(points) * sizes).high)[::-1][: table.size]
        score = enclose(largest).sum() + float(np.max(np.abs(table.intercepts)))
        prices = (enclose(points) / np.where(np.isfinite(table.prices), table.prices, 1.0)).high[np.isfinite(table.prices)]
        labels = float((score / table.label_price).high) if np.isfinite(table.label_price) else 0.0
        self.most_price = float(np.max(prices, initial=labels))

    def kinds(self, support: Integers) -> Integers:
        """Supports with the same number here make one batch: their columns are 0/1, flip and move at the same places."""
        binary: Integers = np.all(self.table.binary[support], axis=1).astype(np.int64)
        if not self.shifted:
            return binary
        flags = np.column_stack([binary, np.isfinite(self.table.prices[support]), self.table.flips[support]])
        return np.unique(flags, axis=0, return_inverse=True)[1].reshape(-1)

    def at(self, support: Integers, points: FloatArray) -> Planes:
        """Planes that touch the loss at points, one a row; under a shift each is followed by a price and a smoothing."""
        if not self.shifted:
            return self.plain(support, points)
        n = support.shape[1] + 1
        return self._shifted(support, *self.rows.cells(support), points[:, :n], points[:, n:])

    def plain(self, support: Integers, points: FloatArray) -> Planes:
        """The same without any shift, below every loss with shifts."""
        values, negative, positive = self.rows.cells(support)
        up, down, height = tangents(scores_of(values, points))
        constant = ((negative + positive) * height).sum(axis=1)
        return Planes(constant, gradient_of(negative * up - positive * down, values), enclose(np.zeros(len(points))), up, -down)

    def shifts(self, support: Integers, values: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Values of every cell after every set of flips, cell by cell, and what the sets cost."""
        flips = np.flatnonzero(self.table.flips[support[0]] & np.isfinite(self.table.prices[support[0]]))
        sets = patterns(flips.size)[:, 1:]
        turned = np.repeat(values[..., :, None, :], len(sets), axis=-2)
        turned[..., 1 + flips] += sets * (1.0 - 2.0 * turned[..., 1 + flips])
        shape = (*values.shape[:-2], values.shape[-2] * len(sets), values.shape[-1])
        return turned.reshape(shape), self.table.prices[support[:, flips]] @ sets.T

    def _shifted(
        self,
        support: Integers,
        values: FloatArray,
        negative: Enclosure,
        positive: Enclosure,
        points: FloatArray,
        extra: FloatArray,
    ) -> Planes:
        turned, flip_costs = self.shifts(support, values)
        n_claims, n_sets = flip_costs.shape
        scores, negative, positive = scores_of(turned, points), negative[:, :, None], positive[:, :, None]
        up, down, height = (part.reshape(n_claims, -1, n_sets) for part in tangents(scores))
        scores = scores.reshape(n_claims, -1, n_sets)
        price, smoothing = extra[:, 0, None, None], np.maximum(extra[:, 1, None, None], LEAST_SMOOTHING)
        costs = flip_costs[:, None, :]
        keep, change, paid = [], [], []
        for own, sign in ((negative, 1.0), (positive, -1.0)):
            gains = [np.logaddexp(0.0, sign * scores) - price * costs]
            if np.isfinite(self.table.label_price):
                gains.append(np.logaddexp(0.0, -sign * scores) - price * (costs + self.table.label_price))
            mixture = np.concatenate(gains, axis=2) / smoothing
            raw = enclose(np.exp(mixture - mixture.max(axis=2, keepdims=True)))
            mixture_ = raw / raw.sum(axis=2)[:, :, None]
            keep.append(mixture_[:, :, :n_sets])
            change.append(mixture_[:, :, n_sets:] if len(gains) == 2 else keep[-1] * 0.0)
            label_price = self.table.label_price if len(gains) == 2 else 0.0
            paid.append((own * (keep[-1] * costs + change[-1] * (costs + label_price)).sum(axis=2)[:, :, None])[:, :, 0])
        as_negative, as_positive = negative * keep[0] + positive * change[1], positive * keep[1] + negative * change[0]
        constant = ((as_negative + as_positive) * height).sum(axis=2).sum(axis=1)
        gradient = gradient_of((as_negative * up - as_positive * down).reshape(n_claims, -1), turned)
        slope = self.table.radius - (paid[0] + paid[1]).sum(axis=1)
        return Planes(
            constant,
            gradient,
            slope,
            (keep[0] * up - change[0] * down).sum(axis=2),
            (change[1] * up - keep[1] * down).sum(axis=2),
        )

    def least(
        self, planes: Planes, support: Integers, lower: FloatArray, upper: FloatArray, further: Enclosure | float = 0.0
    ) -> Enclosure:
        """The least of every plane over cards with points in a box, where columns beyond it add ``further``."""
        ends = smaller(planes.gradient * lower, planes.gradient * upper)
        total = (self._least_price(planes, support, lower, upper, ends) if self.shifted else ends.sum(axis=1)) + further
        low, high = self.table.scales
        return planes.constant + smaller(total * low, total * high)

    def _least_price(
        self, planes: Planes, support: Integers, lower: FloatArray, upper: FloatArray, ends: Enclosure
    ) -> Enclosure:
        moves = np.append(False, np.isfinite(self.table.prices[support[0]]) & ~self.table.flips[support[0]])
        prices = self.table.prices[support[:, moves[1:]]]
        low, high, slope = lower[:, moves], upper[:, moves], planes.gradient[:, moves][:, None, :]
        nothing = np.zeros((len(support), 1))
        met = [
            enclose(np.maximum(np.maximum(low, -high), 0.0)) / prices,
            enclose(np.abs(low)) / prices,
            enclose(np.abs(high)) / prices,
        ]
        least = join([nothing, met[0]], axis=1).max(axis=1)[:, None]
        most = enclose(np.maximum(self.most_price, least.high))
        tried = smaller(join([nothing, most, *met[1:]], axis=1).maximum(least), most)
        reach = tried[:, :, None] * prices[:, None, :]
        first = smaller((-reach).maximum(low[:, None, :]), high[:, None, :])
        last = smaller(reach, high[:, None, :]).maximum(low[:, None, :])
        values = planes.price_slope[:, None] * tried + smaller(slope * first, slope * last).sum(axis=2)
        return ends[:, ~moves].sum(axis=1) - (-values).max(axis=1)


def scores_of(values: FloatArray, points: FloatArray) -> FloatArray:
    """Scores of every cell at every point, in doubles."""
    return points @ values.T if values.ndim == 2 else np.matmul(values, points[:, :, None])[:, :, 0]


def tangents(scores: FloatArray) -> tuple[Enclosure, Enclosure, Enclosure]:
    """u of negative rows, u of positive ones (their sum is 1), and H of both, at scores that need not be exact."""
    tail = np.exp(-np.abs(scores))
    small = enclose(np.maximum(tail / (1.0 + tail), LEAST_SHARE))
    large, rises = 1.0 - small, scores > 0
    return choose(rises, large, small), choose(rises, small, large), small.entropy()


def gradient_of(slopes: Enclosure, values: FloatArray) -> Enclosure:
    """Sums over the cells of slopes times values."""
    return slopes @ values if values.ndim == 2 else (slopes[:, :, None] * values).sum(axis=1)


def smaller(first: Enclosure, second: Enclosure | FloatArray) -> Enclosure:
    """The smaller one, place by place."""
    return -(-first).maximum(-second)
