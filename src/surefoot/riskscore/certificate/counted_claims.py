"""Bounds of claims about 0/1 columns from whole counts, in plain doubles with one bound for all errors: the common case, fast.

Without a shift both labels share the u of a cell: with W the weight of all of its rows, P that of the positive ones, and s the
score of a card there, the Fenchel inequality of ``loss_planes`` adds up to

    loss >= sum over cells of W H(u) + (W u - P) s,       H(u) = log(1 + exp(z)) - u z,  z the score at the claim's point.

Columns beyond the support have slopes g_f = sum over cells of (W u - P)_f, where _f are the rows of the cell with a 1 in f. In
terms of sets T of the support's columns that is sum_T a_T W(T + f) - P(f), a_T the alternating sum of u over the parts of T.

Errors, in units of eta = 2^-53; the weights add up to about 1, scores z are cut off at +-30 (any z will do):
  H     exp is right to 8, so log(1 + exp(z)) is to 9 + 8 * 30.1; u z to 30; their difference to 1. The u that was computed
        is not quite the logistic function of z, which costs (10 eta)^2 / (u (1 - u)) < 1 (Kullback-Leibler below chi-square).
        Together below 300.
  W, P  counts are exact: 2. A sum over up to 2^7 cells of W times what is at most 1: below 2 + 2 + 128.
  least points times slopes, added up: at most 8 terms, so below 150 times R, the largest points of the box added up.
  g_f   a_T is right to |T| 2^|T|, and at most 2^|T|; all of a set of 6 columns added up (3^6 and 4 * 3^6), times a weight, in
        a sum of 64 terms: below (64 + 4 + 4) * 3^6 < 2^16.
``ERROR`` times 1 + t R, R with the points of what may be added, is more than all that at a scale up to t.
"""

from __future__ import annotations

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.core.enclosure import UNIT_ROUNDOFF
from surefoot.riskscore.certificate.card_table import CardTable, Integers
from surefoot.riskscore.certificate.largest_gains import largest_gains
from surefoot.riskscore.certificate.proof_reader import BoxClaims, NodeClaims
from surefoot.riskscore.certificate.subset_counts import SubsetCounts

LARGEST_SCORE = 30.0
ERROR = 400 * UNIT_ROUNDOFF
SLOPE_ERROR = 2**16 * UNIT_ROUNDOFF
# Numbers in a batch, which should stay in the cache.
BATCH = 48_000


class CountedClaims:
    """Bounds of nodes and boxes of one table."""

    def __init__(self, table: CardTable, counts: SubsetCounts) -> None:
        self.table, self.counts = table, counts
        self.weights = [counts.weighted(found).sum(axis=0) for found in counts.tables]
        self.positive = counts.weighted(counts.tables[1])[1]

    def bounds(self, claims: NodeClaims | BoxClaims, intercepts: tuple[int, int], threshold: float) -> FloatArray:
        """A number at or below the objective of every card of a claim, and a good one where it is above the threshold."""
        found = np.full(len(claims), -np.inf)
        step = max(BATCH // 2 ** claims.support.shape[1], 1)
        for begin in range(0, len(claims), step):
            at = np.arange(begin, min(begin + step, len(claims)))
            part = claims.take(at)
            if isinstance(part, BoxClaims):
                found[at] = self._boxes(part)
                continue
            found[at] = self._nodes(part, intercepts, exact=False)
            rest = np.flatnonzero(found[at] < threshold)
            if rest.size:
                found[at[rest]] = self._nodes(part.take(rest), intercepts, exact=True)
        return found

    def _planes(self, sets: Integers, points: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Constants, gradients and u by cell of the planes at these points; claims are along the last axis."""
        k = sets.shape[1]
        weights, positive = self.counts.weighted(self.counts.cells(sets))
        weights += positive
        scores = np.empty(weights.shape)
        scores[0] = points[:, 0]
        for j in range(k):
            np.add(scores[: 2**j], points[:, j + 1], out=scores[2**j : 2 ** (j + 1)])
        np.clip(scores, -LARGEST_SCORE, LARGEST_SCORE, out=scores)
        shares = np.exp(scores)
        heights = 1.0 + shares
        shares /= heights
        np.log(heights, out=heights)
        scores *= shares
        heights -= scores
        heights *= weights
        constant = heights.sum(axis=0)
        weights *= shares
        slopes = np.subtract(weights, positive, out=weights)
        gradient = np.empty((k + 1, len(sets)))
        # The last column halves the patterns; with both halves added up the one before does.
        for j in range(k, 0, -1):
            lower, upper = slopes[: 2 ** (j - 1)], slopes[2 ** (j - 1) :]
            gradient[j], slopes = upper.sum(axis=0), lower + upper
        gradient[0] = slopes[0]
        return constant, gradient, shares

    def _least(
        self, constant: FloatArray, gradient: FloatArray, lower: FloatArray, upper: FloatArray, gained: FloatArray
    ) -> FloatArray:
        """The least of every plane over a box, less what further columns gain, less all errors."""
        total = np.minimum(gradient * lower.T, gradient * upper.T).sum(axis=0) - gained
        low, high = self.table.scales
        sizes = np.maximum(np.abs(lower), np.abs(upper)).sum(axis=1) + np.abs(gained)
        error = ERROR * (1.0 + high * sizes + np.abs(constant))
        found: FloatArray = constant + np.minimum(low * total, high * total) - error
        return found

    def _boxes(self, part: BoxClaims) -> FloatArray:
        assert part.points is not None
        constant, gradient, _ = self._planes(self.counts.position[part.support], part.points)
        least = self._least(constant, gradient, part.lower, part.upper, np.zeros(len(part)))
        return np.asarray(least + self.table.penalty * part.support.shape[1] * (1.0 - ERROR))

    def _nodes(self, part: NodeClaims, intercepts: tuple[int, int], *, exact: bool) -> FloatArray:
        table, support = self.table, part.support
        sets = self.counts.position[support]
        constant, gradient, shares = self._planes(sets, part.points)
        low, high = self._slopes(sets, part, shares, exact=exact)
        least, most = table.lower[part.candidates], table.upper[part.candidates]
        gains = np.maximum(np.maximum(-low * least, -low * most), np.maximum(-high * least, -high * most))
        gains += SLOPE_ERROR * np.maximum(np.abs(least), np.abs(most))
        gained = largest_gains(gains, part.marks, part.starts, table.size - support.shape[1] - 1)
        lower, upper = (
            np.column_stack([np.full(len(part), float(end)), limit[support]])
            for end, limit in zip(intercepts, (table.lower, table.upper), strict=True)
        )
        bounds = np.full(len(part), np.inf)
        for also, gain, size in ((part.own, 0.0, support.shape[1]), (gained > -np.inf, gained, support.shape[1] + 1)):
            least = self._least(constant, gradient, lower, upper, np.where(also, gain, 0.0))
            bounds = np.where(also, np.minimum(bounds, least + table.penalty * size * (1.0 - ERROR)), bounds)
        return bounds

    def _slopes(self, sets: Integers, part: NodeClaims, shares: FloatArray, *, exact: bool) -> tuple[FloatArray, FloatArray]:
        """Ends of g_f for every candidate; a single set too large for a table has between no rows and the fewest of others."""
        (n, k), counts = sets.shape, np.diff(part.starts)
        alternating, further = shares.copy(), self.counts.position[part.candidates]
        for j in range(k):
            split = alternating.reshape(2 ** (k - 1 - j), 2, 2**j, n)
            split[:, 1] -= split[:, 0]
        offsets = [choices[further] for choices in self.counts.choices]
        total, fewest = -self.positive[further], self.weights[1][further]
        for factor, (places, rank) in zip(alternating, self.counts.ranks(sets), strict=True):
            term, size = np.repeat(factor, counts), len(places) + 1
            if size <= self.counts.tabled:
                weight = self.weights[size][np.repeat(rank, counts) + offsets[size]]
                fewest = np.minimum(fewest, weight)
            elif exact or k > self.counts.tabled:
                whole = np.column_stack([np.repeat(sets[:, places], counts, axis=0), further])
                weight = self.counts.weighted(self.counts.count(whole)).sum(axis=0)
            else:  # all of the support, which comes last
                term *= fewest
                return total + np.minimum(term, 0.0), total + np.maximum(term, 0.0)
            term *= weight
            total += term
        return total, total
