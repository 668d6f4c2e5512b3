"""Planes below the loss of score cards, and the least that they are over a set of cards.

The loss of a row of label y with score s is log(1 + exp(v)), v = -y s. For every u in [0, 1] (Fenchel)

    log(1 + exp(v)) >= u v + H(u),      H(u) = -u log u - (1 - u) log(1 - u),

with equality for u = 1 / (1 + exp(-v)). A point of a proof only serves to choose u for every row: whatever it is, the sum over
the rows is a plane c + g . q below the loss of cards with coefficients q, c = sum w H(u) and g_j = sum -y w u x_j. No rounding
on the way to u matters.

Over points in a box [l, u] the plane is at least c + sum_j min(g_j l_j, g_j u_j). A further column adds -gain_j = min(g_j l_j,
g_j u_j). At a free scale q = t points: all but c is multiplied by t, and the smaller of both ends of t counts. In columns of
whole numbers the score of the card l is exact, and g . l is the sum of -y w u times it: what large columns share cancels before
anything is rounded. Then the plane is at least c + g . l + sum_j min(0, g_j (u_j - l_j)).

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

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.core.enclosure import Enclosure, choose, enclose, join
from surefoot.riskscore.certificate.card_table import CardTable, Integers, Scales
from surefoot.riskscore.certificate.proof_reader import Claims
from surefoot.riskscore.certificate.row_cells import RowCells, patterns

# Smallest u: any does, and its logarithm is finite.
LEAST_SHARE = 1e-290
LEAST_SMOOTHING = 1e-12
# Numbers in a batch, which should stay in the cache.
BATCH = 400_000


@dataclass(frozen=True, eq=False)
class Planes:
    """``constant + gradient . q + price_slope lambda`` for every claim; residuals by cell for rows of either label.

    ``first`` is gradient . l for the card l of the lower ends, where scores are exact and nothing shifts.
    """

    constant: Enclosure
    gradient: Enclosure
    first: Enclosure
    price_slope: Enclosure
    negative: Enclosure
    positive: Enclosure


class LossPlanes:
    """Planes of one problem and the least that they are over sets of cards."""

    def __init__(self, table: CardTable) -> None:
        self.table, self.rows, self.shifted = table, RowCells(table), table.radius > 0
        self.label_prices = np.array([0.0, table.label_price] if np.isfinite(table.label_price) else [0.0])
        # A flip gains at most its points; a new label at most the score, where flipped columns are 0 or 1.
        points = np.where(table.usable, np.maximum(np.abs(table.lower), np.abs(table.upper)), 0.0)
        sizes = np.where(table.flips, 1.0, np.abs(table.columns).max(axis=0, initial=0.0))
        largest = np.sort((enclose(points) * sizes).high)[::-1][: table.size]
        score = enclose(largest).sum() + float(np.max(np.abs(table.intercepts)))
        prices = (enclose(points) / np.where(np.isfinite(table.prices), table.prices, 1.0)).high[np.isfinite(table.prices)]
        labels = float((score / table.label_price).high) if np.isfinite(table.label_price) else 0.0
        self.most_price = float(np.max(prices, initial=labels))

    def batches(self, claims: Claims, rest: Integers) -> Iterator[Integers]:
        """Claims that are looked at together: the columns of their supports are 0/1, flip and move at the same places."""
        n, width = claims.support.shape
        flags = [self.table.binary[claims.support[rest]].all(axis=1, keepdims=True)]
        if self.shifted:
            flags += [np.isfinite(self.table.prices)[claims.support[rest]], self.table.flips[claims.support[rest]]]
        kinds = np.unique(np.hstack(flags), axis=0, return_inverse=True)[1].reshape(-1)
        n_sets = 2 ** (width + 1) if self.shifted else 1
        step = max(BATCH // (len(self.rows.rows) * n_sets * (1 + max(width, len(claims.candidates) // max(n, 1)))), 1)
        for own in (rest[kinds == kind] for kind in np.unique(kinds)):
            yield from (own[begin : begin + step] for begin in range(0, own.size, step))

    def plain(self, support: Integers, points: FloatArray, cards: FloatArray) -> Planes:
        """Planes that touch the loss without any shift, which no shift makes smaller, at points; cards are one a row too."""
        values, negative, positive = self.rows.cells(support)
        up, down, height = tangents(scores_of(values, points))
        constant = ((negative + positive) * height).sum(axis=1)
        slopes = negative * up - positive * down
        first = (slopes * scores_of(values, cards)).sum(axis=1)
        return Planes(constant, gradient_of(slopes, values), first, enclose(np.zeros(len(points))), up, -down)

    def shifts(self, support: Integers, values: FloatArray) -> tuple[FloatArray, Enclosure]:
        """Values of every cell after every set of flips, cell by cell, and what the sets cost."""
        flips = np.flatnonzero(self.table.flips[support[0]] & np.isfinite(self.table.prices[support[0]]))
        sets = patterns(flips.size)[:, 1:]
        turned = np.repeat(values[..., :, None, :], len(sets), axis=-2)
        turned[..., 1 + flips] += sets * (1.0 - 2.0 * turned[..., 1 + flips])
        shape = (*values.shape[:-2], values.shape[-2] * len(sets), values.shape[-1])
        return turned.reshape(shape), enclose(self.table.prices[support[:, flips]]) @ sets.T

    def at(self, claims: Claims) -> Planes:
        """The planes of claims: at their points, or mixtures of four that are level along lambda and then along the scale."""
        if not self.shifted:
            return self.plain(claims.support, claims.points, claims.lower)
        points = np.split(claims.points, claims.points.shape[1] // (claims.support.shape[1] + 3), axis=1)
        found = [self._touching(claims.support, own) for own in points]
        if len(found) == 1:
            return found[0]
        low, high = (mixed(one, two, one.price_slope, two.price_slope) for one, two in (found[:2], found[2:]))
        return mixed(low, high, self._slope(low, claims), self._slope(high, claims))

    def _touching(self, support: Integers, points: FloatArray) -> Planes:
        """Planes that touch the loss at points, each of which is followed by a price and a smoothing."""
        values, *weights = self.rows.cells(support)
        turned, flip_costs = self.shifts(support, values)
        shape = len(support), -1, flip_costs.shape[1]
        flat = scores_of(turned, points[:, :-2])
        up, down, height = (part.reshape(*shape) for part in tangents(flat))
        scores, slopes = flat.reshape(shape), (up, -down)
        price, smoothing = points[:, -2, None, None], np.maximum(points[:, -1, None, None], LEAST_SMOOTHING)
        costs = [flip_costs[:, None, :] + change for change in self.label_prices.tolist()]
        # Rows that end up with either label, what that costs, and slopes along the scores of those that began with either.
        ending, paid, residuals = [enclose(0.0), enclose(0.0)], enclose(0.0), []
        for own, sign in enumerate((1.0, -1.0)):
            gains = [np.logaddexp(0.0, s * scores) - price * cost.mid for s, cost in zip((sign, -sign), costs, strict=False)]
            worst = np.max([gain.max(axis=2, keepdims=True) for gain in gains], axis=0)
            raw = [enclose(np.exp((gain - worst) / smoothing)) for gain in gains]
            total, residual = join(raw, axis=2).sum(axis=2)[:, :, None], enclose(0.0)
            for target, part, cost in zip((own, 1 - own), raw, costs, strict=False):
                mass = weights[own][:, :, None] * (part / total)
                ending[target], paid = ending[target] + mass, paid + (mass * cost).sum(axis=2).sum(axis=1)
                residual = residual + (part / total * slopes[target]).sum(axis=2)
            residuals.append(residual)
        constant = ((ending[0] + ending[1]) * height).sum(axis=2).sum(axis=1)
        gradient = gradient_of((ending[0] * up - ending[1] * down).reshape(len(support), -1), turned)
        return Planes(constant, gradient, enclose(0.0), self.table.radius - paid, residuals[0], residuals[1])

    def worst_loss(self, support: Integers, card: FloatArray, scale: Enclosure, price: float) -> Enclosure:
        """At or above the loss of a card at a scale, under a shift that of its dual at a price lambda, whatever that is."""
        values, *weights = self.rows.cells(support[None, :])
        turned, costs = self.shifts(support[None, :], values if values.ndim == 2 else values[0])
        scores = enclose(turned @ card) if self.table.whole else enclose(turned) @ card
        scores = scores.reshape(-1, costs.shape[1]) * scale
        moves = np.isfinite(self.table.prices[support]) & ~self.table.flips[support]
        reached = enclose(np.append(0.0, np.abs(card[1:][moves]))) / np.append(1.0, self.table.prices[support[moves]])
        paid = (reached.max() * scale).maximum(price)
        total = paid * self.table.radius
        for own, sign in zip(weights, (1.0, -1.0), strict=True):
            signs = zip((sign, -sign), self.label_prices.tolist(), strict=False)
            losses = [(scores * s).softplus() - paid * (enclose(costs) + change) for s, change in signs]
            total = total + (own.reshape(-1) * join(losses, axis=1).max(axis=1)).sum()
        return total

    def gains(self, planes: Planes, claims: Claims) -> FloatArray:
        """The most that every candidate can gain."""
        of, names = np.repeat(np.arange(len(claims)), np.diff(claims.starts)), claims.candidates
        slopes = self.rows.slopes(claims.support, of, names, planes.negative, planes.positive)
        return np.asarray((-smaller(slopes * self.table.lower[names], slopes * self.table.upper[names])).high)

    def least(self, planes: Planes, claims: Claims, gained: FloatArray, scales: Scales) -> FloatArray:
        """At or below the least of every plane over its box, less what further columns gain."""
        total = self._slope(planes, claims) - gained
        return np.asarray((planes.constant + smaller(total * scales[0], total * scales[1])).low)

    def _slope(self, planes: Planes, claims: Claims) -> Enclosure:
        """The least of what is multiplied by the scale, over the points of a box."""
        ends = smaller(planes.gradient * claims.lower, planes.gradient * claims.upper)
        if self.shifted:
            return self._least_price(planes, claims, ends)
        rest = smaller(planes.gradient * (claims.upper - claims.lower), np.zeros(claims.lower.shape))
        return planes.first + rest.sum(axis=1) if self.table.whole else ends.sum(axis=1)

    def _least_price(self, planes: Planes, claims: Claims, ends: Enclosure) -> Enclosure:
        support, lower, upper = claims.support, claims.lower, claims.upper
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


@np.errstate(divide="ignore", invalid="ignore")
def mixed(first: Planes, second: Planes, slope: Enclosure, other: Enclosure) -> Planes:
    """Mixtures of planes that are level where their slopes rise through 0; otherwise the one that is closer to it."""
    # A little above 0: what rounding lets fall would be multiplied by the largest price there is.
    falling, rising = (2.0 * each.low - each.mid for each in (slope, other))
    share = np.clip(np.nan_to_num(rising / (rising - falling), nan=1.0), 0.0, 1.0)

    def mix(one: Enclosure, two: Enclosure) -> Enclosure:
        part = enclose(share.reshape(-1, *[1] * (len(one.shape) - 1)))
        return one * part + two * (1.0 - part)

    return Planes(*(mix(one, two) for one, two in zip(vars(first).values(), vars(second).values(), strict=True)))


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
