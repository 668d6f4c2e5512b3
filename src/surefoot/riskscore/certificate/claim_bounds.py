"""What every claim of a proof proves, in batches of claims of one size: nodes, boxes of points, single cards.

A node with prefix P prunes candidates: the plane at its point, least over the points of P, less the gains of the columns that a
support may add (``largest_gains``). Where whole counts decide, ``counted_claims`` comes first, and what it leaves below the
threshold is done once more in enclosures.

A single card is a box with one point. At a free scale its plane touches at the best scale. Under a shift its loss is convex in
scale and lambda, and it is bounded by a mixture of up to four planes around the best ones; whatever the mixture, it holds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.core.enclosure import Enclosure, enclose, join
from surefoot.riskscore.certificate.card_table import EDGE, Integers
from surefoot.riskscore.certificate.largest_gains import largest_gains
from surefoot.riskscore.certificate.loss_planes import LossPlanes, scores_of, smaller, tangents
from surefoot.riskscore.certificate.proof_reader import BoxClaims, NodeClaims

# Numbers in a batch, which should stay in the cache.
BATCH = 400_000
# Halvings of an interval: more than a double has digits.
HALVINGS = 60


def bounds_of(claims: NodeClaims | BoxClaims, planes: LossPlanes, intercepts: tuple[int, int], threshold: float) -> FloatArray:
    """A number at or below the objective of every card that a claim is about, claim by claim; inf if there is none."""
    single = isinstance(claims, BoxClaims) and claims.points is None
    if planes.counted is not None and not single and type(enclose(0.0)) is Enclosure:
        found = planes.counted.bounds(claims, intercepts, threshold)
        rest = np.flatnonzero(~(found >= threshold))
    else:
        found, rest = np.full(len(claims), -np.inf), np.arange(len(claims))
    kinds = planes.kinds(claims.support[rest])
    n_sets = 2 ** (claims.support.shape[1] + 1) if planes.shifted else 1
    wide = 1 + (len(claims.candidates) // len(claims) if isinstance(claims, NodeClaims) else claims.support.shape[1])
    step = max(BATCH // (planes.rows.work * n_sets * wide), 1)
    for kind in np.unique(kinds):
        own = rest[kinds == kind]
        for begin in range(0, own.size, step):
            at = own[begin : begin + step]
            part = claims.take(at)
            if isinstance(part, NodeClaims):
                found[at] = _nodes(part, planes, intercepts)
            elif part.points is not None:
                found[at] = _boxes(part, planes, part.points).low
            else:
                found[at] = _cards(part, planes, threshold)
    return found


def _boxes(part: BoxClaims, planes: LossPlanes, points: FloatArray) -> Enclosure:
    least: Enclosure = planes.least(planes.at(part.support, points), part.support, part.lower, part.upper)
    return least + enclose(planes.table.penalty) * float(part.support.shape[1])


def _nodes(part: NodeClaims, planes: LossPlanes, intercepts: tuple[int, int]) -> FloatArray:
    table, support = planes.table, part.support
    found = planes.at(support, part.points)
    of = np.repeat(np.arange(len(part)), np.diff(part.starts))
    slopes = planes.rows.slopes(support, of, part.candidates, found.negative, found.positive)
    gains = -smaller(slopes * table.lower[part.candidates], slopes * table.upper[part.candidates])
    gained = largest_gains(gains.high, part.marks, part.starts, table.size - support.shape[1] - 1)
    ends = [np.full((len(part), 1), float(end)) for end in intercepts]
    lower, upper = (np.column_stack([end, limit[support]]) for end, limit in zip(ends, (table.lower, table.upper), strict=True))
    bounds = np.full(len(part), np.inf)
    for also, gain, size in ((part.own, 0.0, support.shape[1]), (gained > -np.inf, gained, support.shape[1] + 1)):
        least = planes.least(found, support, lower, upper, -enclose(np.where(also, gain, 0.0)))
        bounds = np.where(also, np.minimum(bounds, (least + enclose(table.penalty) * size).low), bounds)
    return bounds


def _cards(part: BoxClaims, planes: LossPlanes, threshold: float) -> FloatArray:
    """Bounds on single cards; those below the threshold may still break a rule, or keep them at fewer scales."""
    table = planes.table
    bounds = card_bounds(part.support, part.lower, np.tile(np.array(table.scales), (len(part), 1)), planes)
    below = np.flatnonzero(~(bounds >= threshold))
    if not table.rules or not below.size:
        return bounds
    low, high = table.scales_of(part.support[below], part.lower[below], sure=False)
    kept = low <= high * (1 + 4 * EDGE)
    bounds[below[~kept]] = np.inf
    rest, ends = below[kept], np.column_stack([low * (1 - 2 * EDGE), high * (1 + 2 * EDGE)])[kept]
    if table.free and rest.size:
        bounds[rest] = card_bounds(part.support[rest], part.lower[rest], ends, planes)
    return bounds


def card_bounds(support: Integers, cards: FloatArray, ends: FloatArray, planes: LossPlanes) -> FloatArray:
    """Bounds on the objective of single cards at scales between two ends."""
    table = planes.table
    penalty = enclose(table.penalty) * support.shape[1]
    if planes.shifted:
        return np.array(
            [float((WorstCard(s, c, planes).bound(*e) + penalty).low) for s, c, e in zip(support, cards, ends, strict=True)]
        )
    scale = ends.mean(axis=1, keepdims=True)
    if table.free:
        values, negative, positive = (part if isinstance(part, np.ndarray) else part.mid for part in planes.rows.cells(support))
        scores, (low, high) = scores_of(values, cards), ends.T[:, :, None]
        for _ in range(HALVINGS):
            scale = 0.5 * (low + high)
            share = 0.5 + 0.5 * np.tanh(0.5 * scale * scores)
            falls = ((negative * share - positive * (1.0 - share)) * scores).sum(axis=1, keepdims=True) < 0
            low, high = np.where(falls, scale, low), np.where(falls, high, scale)
    found = planes.at(support, scale * cards)
    total = (found.gradient * cards).sum(axis=1)
    return np.asarray((found.constant + smaller(total * ends[:, 0], total * ends[:, 1]) + penalty).low)


class WorstCard:
    """One card under all shifts: its worst loss at a scale and a price lambda, from above and from below."""

    def __init__(self, support: Integers, card: FloatArray, planes: LossPlanes) -> None:
        values, negative, positive = planes.rows.cells(support[None, :])
        turned, costs = planes.shifts(support[None, :], values if values.ndim == 2 else values[0])
        table = planes.table
        self.table = table
        # Loss arguments of negative and positive rows; the last axis runs over flips, then over flips with a new label.
        scores = (enclose(turned) @ card).reshape(-1, costs.shape[1])
        labels = np.isfinite(table.label_price)
        self.costs = enclose(costs[0]) if not labels else join([costs[0], enclose(costs[0]) + table.label_price])
        self.arguments = [
            join([scores, -scores] if labels else [scores], 1),
            join([-scores, scores] if labels else [-scores], 1),
        ]
        self.weights = [negative[0], positive[0]]
        moves = np.isfinite(table.prices[support]) & ~table.flips[support]
        self.least_price = enclose(np.append(0.0, np.abs(card[1:][moves]))) / np.append(1.0, table.prices[support[moves]])
        self.least_price = self.least_price.max()
        self.most_price = max(planes.most_price, float(self.least_price.high))

    def objective(self, scale: Enclosure) -> Enclosure:
        """The worst loss at a scale, or a little more."""
        sides = self._near(float(scale.mid))
        price = enclose(min((side for side, _ in sides), key=lambda side: side["value"])["price"]).maximum(
            self.least_price * scale
        )
        total = price * self.table.radius
        for weights, arguments in zip(self.weights, self.arguments, strict=True):
            total = total + (weights * ((arguments * scale).softplus() - price * self.costs).max(axis=1)).sum()
        return total

    def bound(self, low: float, high: float) -> Enclosure:
        """At or below the worst loss at every scale between two."""
        sides = [(side, share * part) for group, share in self._sides(self._line, low, high) for side, part in group["sides"]]
        total, constant, slope, price_slope = (enclose(0.0) for _ in range(4))
        for side, share in sides:
            found = self._plane(side)
            total = total + share
            constant, slope, price_slope = (a + share * b for a, b in zip((constant, slope, price_slope), found, strict=True))
        ends = [slope + price_slope * price for price in (self.least_price, self.most_price)]
        least = smaller(smaller(ends[0] * low, ends[0] * high), smaller(ends[1] * low, ends[1] * high))
        return (constant + least) / total

    def _plane(self, side: dict[str, Any]) -> tuple[Enclosure, Enclosure, Enclosure]:
        """Constant, slope along the scale and slope along lambda of the plane that the shifts of a side make."""
        constant, slope, paid = (enclose(0.0) for _ in range(3))
        for weights, arguments, worst in zip(self.weights, self.arguments, side["worst"], strict=True):
            chosen = arguments[np.arange(len(worst)), worst]
            up, _, height = tangents(side["scale"] * chosen.mid)
            constant, slope = constant + (weights * height).sum(), slope + (weights * (up * chosen)).sum()
            paid = paid + (weights * self.costs[worst]).sum()
        return constant, slope, self.table.radius - paid

    def _near(self, scale: float) -> list[tuple[dict[str, Any], float]]:
        return self._sides(lambda price: self._at(scale, price), scale * float(self.least_price.high), scale * self.most_price)

    def _at(self, scale: float, price: float) -> dict[str, Any]:
        """The worst shift of every row at a price; all in doubles, as any choice will do."""
        value, slope, stretch, picks = 0.0, self.table.radius, 0.0, []
        for weights, arguments in zip(self.weights, self.arguments, strict=True):
            losses = np.logaddexp(0.0, scale * arguments.mid)
            worst = np.argmax(losses - price * self.costs.mid, axis=1)
            at = np.arange(len(worst)), worst
            value += float(weights.mid @ losses[at])
            slope -= float(weights.mid @ self.costs.mid[worst])
            stretch += float(weights.mid @ (arguments.mid[at] * (0.5 + 0.5 * np.tanh(0.5 * scale * arguments.mid[at]))))
            picks.append(worst)
        value += price * slope
        return {"at": price, "value": value, "slope": slope, "stretch": stretch, "worst": picks, "scale": scale, "price": price}

    def _line(self, scale: float) -> dict[str, Any]:
        """The worst loss at a scale and its slope there, from the planes on both sides of the best lambda."""
        sides = self._near(scale)
        value = min(side["value"] for side, _ in sides)
        slope = sum(
            share * (side["stretch"] + (side["slope"] * side["price"] / scale if len(sides) == 1 else 0.0))
            for side, share in sides
        )
        return {"at": scale, "value": value, "slope": slope, "sides": sides}

    @staticmethod
    def _sides(at: Callable[[float], dict[str, Any]], low: float, high: float) -> list[tuple[dict[str, Any], float]]:
        """Tangents of a convex function on both sides of its minimum, mixed to be level; or one at an end of the interval."""
        left, right = at(low), at(high)
        if left["slope"] >= 0 or high <= low:
            return [(left, 1.0)]
        if right["slope"] <= 0:
            return [(right, 1.0)]
        for k in range(2 * HALVINGS):
            rise = right["value"] - left["value"] + left["slope"] * left["at"] - right["slope"] * right["at"]
            meeting = rise / (left["slope"] - right["slope"])
            least = left["value"] + left["slope"] * (meeting - left["at"])
            middle = 0.5 * (left["at"] + right["at"])
            tried = meeting if k % 3 < 2 and left["at"] < meeting < right["at"] else middle
            if min(left["value"], right["value"]) - least <= 1e-14 or not left["at"] < tried < right["at"]:
                break
            found = at(tried)
            if found["slope"] == 0:
                return [(found, 1.0)]
            left, right = (found, right) if found["slope"] < 0 else (left, found)
        share = right["slope"] / (right["slope"] - left["slope"])
        return [(left, share), (right, 1.0 - share)]
