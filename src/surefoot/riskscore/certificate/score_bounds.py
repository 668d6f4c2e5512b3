"""Lower bounds on the objective of score cards: the smallest value of a plane below the loss over a set of cards.

With a plane c + g . q (``score_planes``) and coordinates of q in a box [l, u], at unit scale

    L(q) >= c + sum_j min(g_j l_j, g_j u_j).

At a free scale q = t * points with t = 1 / multiplier in a range, so the sum is multiplied by t, and the smaller of both ends
counts. Under a shift the plane also slopes along lambda, and a column that may move needs |q_j| <= price_j lambda: for a given
lambda every q_j has an interval, the sum is piecewise linear in lambda, and it is smallest where a limit is met, or at an end
of what lambda can be. With both, lambda = t mu: limits of mu are those of lambda for the points themselves, and all that is
added to the constant is t times a sum that depends on mu alone. A further column adds -gain_j = min(g_j l_j, g_j u_j); where it
could move, forgetting so leaves the bound valid.
"""

from __future__ import annotations

import numpy as np

from surefoot.core.arrays import FloatArray, IntArray
from surefoot.riskscore.certificate.score_claims import BoxClaim, Claim, NodeClaim
from surefoot.riskscore.certificate.score_planes import UNIT, Plane, Planes
from surefoot.riskscore.problem.problem import RiskScore, RiskScoreProblem
from surefoot.riskscore.problem.score_shift import WorstLoss

# Halvings of an interval of scales: more than a double has digits. Any point gives a valid bound.
_HALVINGS = 80
# Relative to 1 plus the value: bounds the distance between a worst case and the meeting of the tangents that found it.
_MEETING_GAP = 4e-15


class ScoreBounds:
    """Bounds for one problem; nodes bound cards with intercepts in a range, which is all there are unless it is given."""

    def __init__(self, problem: RiskScoreProblem, intercepts: tuple[int, int] | None = None) -> None:
        self.problem = problem
        self.intercepts = (problem.intercept_lower, problem.intercept_upper) if intercepts is None else intercepts
        self.planes = Planes(problem)
        self.lower, self.upper = self.planes.lower, self.planes.upper
        self.size = self.planes.size

    def slack(self, support: tuple[int, ...], point: FloatArray) -> float:
        """What rounding may add to a bound at a point, over cards with ``support`` and any further columns."""
        return self.planes.slack(support, point, 0 if self.planes.shift is None else 2 ** (len(support) + 1))

    def least(
        self, plane: Plane, support: tuple[int, ...], lower: FloatArray, upper: FloatArray, further: float = 0.0
    ) -> float:
        """Smallest value of a plane over cards with points in a box, where columns beyond it add ``further``."""
        gradient = plane.gradient
        ends = np.minimum(gradient * lower, gradient * upper)
        shift = self.planes.shift
        if shift is None:
            return self._scaled(plane, float(np.sum(ends)) + further)
        chosen = list(support)
        prices = np.append(np.inf, np.where(shift.flips[chosen], np.inf, shift.prices[chosen]))
        moves = np.isfinite(prices)
        least = np.max(np.maximum(np.maximum(lower, -upper), 0.0)[moves] / prices[moves], initial=0.0)
        most = max(self.planes.most_price / self.planes.scales[1], float(least))
        meets = np.concatenate([np.abs(lower[moves]), np.abs(upper[moves])]) / np.tile(prices[moves], 2)
        tried = np.clip(np.concatenate([[least, most], meets]), least, most)[:, None]
        most_points = prices[moves] * tried
        low = np.minimum(np.maximum(lower[moves], -most_points), upper[moves])
        high = np.maximum(np.minimum(upper[moves], most_points), lower[moves])
        inner = np.minimum(gradient[moves] * low, gradient[moves] * high).sum(axis=1)
        value = float(np.min(plane.price_slope * tried[:, 0] + inner))
        return self._scaled(plane, float(np.sum(ends[~moves])) + value + further)

    def _scaled(self, plane: Plane, total: float) -> float:
        """The smallest value of a plane where all that it adds to its constant grows with the scale."""
        return plane.constant + min(t * total for t in self.planes.scales) - plane.slack

    def everywhere(self, point: FloatArray) -> float:
        """Bound on the objective of every card from a point with an entry for the intercept and for every column."""
        used = tuple(np.flatnonzero(point[1:]).tolist())
        chosen = np.append(point[0], point[1:][list(used)])
        plane = self.planes.plain(used, chosen)
        ends = plane.gradient[0] * np.array([self.problem.intercept_lower, self.problem.intercept_upper])
        may = tuple(np.flatnonzero(np.isfinite(self.lower)).tolist())
        gains = self.gains(plane.residuals, may)
        totals = []
        for t in self.planes.scales:
            best = np.sort(np.maximum(t * gains - self.problem.penalty, 0.0))[::-1][: self.size].sum()
            totals.append(t * float(ends.min()) - float(best))
        return plane.constant + min(totals) - plane.slack

    def gains(self, residuals: FloatArray, columns: tuple[int, ...]) -> FloatArray:
        """What points of each column can take off the plane, at a scale of 1."""
        chosen = list(columns)
        slopes = self.planes.slopes(residuals, columns)
        return -np.minimum(slopes * self.lower[chosen], slopes * self.upper[chosen])

    def of(self, claim: Claim) -> float:
        """The bound that a claim proves; NaN or -inf for one that proves nothing."""
        with np.errstate(over="ignore", invalid="ignore"):
            return self._of_node(claim) if isinstance(claim, NodeClaim) else self._of_box(claim)

    def _plane(self, support: tuple[int, ...], point: FloatArray) -> Plane:
        n = len(support) + 1
        price, smoothing = point[n:] if point.size > n else (0.0, 1.0)
        return self.planes.at(support, point[:n], float(price), float(smoothing))

    def _of_box(self, claim: BoxClaim) -> float:
        lower, upper = np.array(claim.lower, dtype=np.float64), np.array(claim.upper, dtype=np.float64)
        if claim.point is not None:
            plane = self._plane(claim.support, claim.point)
            return self.least(plane, claim.support, lower, upper) + self.problem.penalty * len(claim.support)
        points = np.zeros(self.problem.n_columns, dtype=np.int32)
        points[list(claim.support)] = claim.lower[1:]
        if self.problem.scale == "free":
            return self._of_scaled(claim.lower[0], points, claim.support, lower)
        card = RiskScore(claim.lower[0], points)
        if not self.problem.admits(card):
            return np.inf
        value = self.problem.objective(card)
        return value - self.slack(claim.support, lower) - (0.0 if self.planes.shift is None else _MEETING_GAP * (1.0 + value))

    def _of_scaled(self, intercept: int, points: IntArray, support: tuple[int, ...], point: FloatArray) -> float:
        """Bound on the objective of a card at every scale that its rules allow, from a plane at the best one of them."""
        problem = self.problem
        low, high = problem.scales(intercept, points)
        if not low <= high or not problem.admits(RiskScore(intercept, points, 1.0 / low)):
            return np.inf
        if self.planes.shift is not None:
            bound = self._worst_scaled(intercept, points, low, high)
            return bound - self.slack(support, high * point) + problem.penalty * len(support)
        scale = self._best_scale(intercept, points, low, high)
        plane = self.planes.plain(support, scale * point)
        total = float(np.sum(plane.gradient * point))
        return plane.constant + min(low * total, high * total) - plane.slack + problem.penalty * len(support)

    def _worst_scaled(self, intercept: int, points: IntArray, low: float, high: float) -> float:
        """Bound on the worst loss of a card between two scales: where tangents on both sides of the best scale meet.

        They begin at the given scales and close in while that helps. The one on the left falls and the one on the right rises,
        so where they meet is no higher than the loss at any scale.
        """
        first, last = (_Line(t, self.problem.worst_loss(intercept, points, t)) for t in (low, high))
        if first.slope >= 0 or last.slope <= 0:
            return first.bound if first.slope >= 0 else last.bound
        best = -np.inf
        for k in range(_HALVINGS):
            best = max(best, first.meets(last))
            tried = (0.5 * (first.scale + last.scale), first.meeting(last), first.level(last))[k % 3]
            if not first.scale < tried < last.scale:
                tried = 0.5 * (first.scale + last.scale)
            value = self.problem.worst_loss(intercept, points, tried)
            if value.value - best <= _MEETING_GAP * (1.0 + value.value) or not first.scale < tried < last.scale:
                break
            first, last = (_Line(tried, value), last) if value.slope < 0 else (first, _Line(tried, value))
        # Tangents along the price meet to this much, and those along the scale are drawn from there.
        return max(best, first.meets(last)) - _MEETING_GAP * (1.0 + best) - self._price_rounding()

    def _price_rounding(self) -> float:
        """What rounding of a level slope along lambda may cost: it is off by as many units as the radius has terms, twice."""
        shift = self.planes.shift
        assert shift is not None
        terms = 32.0 + np.log2(self.problem.n_rows) + 8
        return float(2 * UNIT * terms * self.planes.most_price * 2 * shift.radius)

    def _best_scale(self, intercept: int, points: IntArray, low: float, high: float) -> float:
        """Where the loss of a card, convex in the scale, is least between two scales."""
        margins = self.problem.labels * self.problem.scores(RiskScore(intercept, points))
        weighted = self.problem.weights * margins
        for _ in range(_HALVINGS):
            middle = 0.5 * (low + high)
            slope = -float(np.sum(weighted * np.exp(-np.logaddexp(0.0, middle * margins))))
            low, high = (low, middle) if slope > 0 else (middle, high)
        return 0.5 * (low + high)

    def _of_node(self, claim: NodeClaim) -> float:
        chosen = list(claim.prefix)
        lower, upper = np.append(self.intercepts[0], self.lower[chosen]), np.append(self.intercepts[1], self.upper[chosen])
        plane = self._plane(claim.prefix, claim.point)
        gain = dict(zip(claim.candidates, self.gains(plane.residuals, claim.candidates).tolist(), strict=True))
        budget = self.size - len(claim.prefix) - 1
        gained = [
            gain[out] + _largest([gain[c] for c in claim.candidates if c != out], budget)
            for out in set(claim.candidates) - set(claim.remaining)
        ]
        gained += [
            gain[out] + _largest([gain[c] for c in claim.remaining[at + 1 :]], budget)
            for at, out in enumerate(claim.remaining)
            if out not in claim.open
        ]
        if not gained:
            return np.inf
        # One that is not a number proves nothing, and must not hide behind others.
        bound = self.least(plane, claim.prefix, lower, upper, -float(np.max(gained)))
        return bound + self.problem.penalty * (len(claim.prefix) + 1)


class _Line:
    """A line below the loss of a card along the scale."""

    def __init__(self, scale: float, worst: WorstLoss) -> None:
        self.scale, self.bound, self.slope = scale, worst.bound, worst.slope

    def meeting(self, right: _Line) -> float:
        """Where it meets a line that rises."""
        rise = right.bound - self.bound + self.slope * self.scale - right.slope * right.scale
        return min(max(rise / (self.slope - right.slope), self.scale), right.scale)

    def meets(self, right: _Line) -> float:
        """The value of both there; where rounding has moved the end of one of them below the other, the lower one."""
        return min(self.bound + self.slope * (self.meeting(right) - self.scale), right.bound)

    def level(self, right: _Line) -> float:
        """Where the slope would be 0 if it changed evenly in between."""
        return self.scale - self.slope / (right.slope - self.slope) * (right.scale - self.scale)


def _largest(gains: list[float], count: int) -> float:
    """Sum of the largest few of the gains that are gains at all."""
    return sum(sorted((gain for gain in gains if not gain <= 0), reverse=True)[:count])
