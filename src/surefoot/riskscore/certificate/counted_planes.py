"""Planes below the loss of cards on 0/1 columns from whole counts: the common case, fast.

Plain doubles, with one bound for all of their errors.

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

from collections.abc import Iterator

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.core.enclosure import UNIT_ROUNDOFF
from surefoot.riskscore.certificate.card_table import CardTable, Integers, Scales
from surefoot.riskscore.certificate.proof_reader import Claims
from surefoot.riskscore.certificate.subset_counts import SubsetCounts

Sums = tuple[FloatArray, FloatArray, FloatArray]
LARGEST_SCORE = 30.0
ERROR = 400 * UNIT_ROUNDOFF
SLOPE_ERROR = 2**16 * UNIT_ROUNDOFF
# Numbers in a batch, which should stay in the cache.
BATCH = 48_000


class CountedPlanes:
    """Planes of one table; the same methods as those of ``LossPlanes``, with claims along the last axis.

    Unless they are ``exact``, slopes that take counts beyond the tables are known between two ends.
    """

    def __init__(self, table: CardTable, counts: SubsetCounts, *, exact: bool) -> None:
        self.table, self.counts, self.exact = table, counts, exact
        self.weights = [counts.weighted(found).sum(axis=0) for found in counts.tables]
        self.positive = counts.weighted(counts.tables[1])[1]

    def batches(self, claims: Claims, rest: Integers) -> Iterator[Integers]:
        """Claims that are looked at together."""
        step = max(BATCH // 2 ** claims.support.shape[1], 1)
        return (rest[begin : begin + step] for begin in range(0, rest.size, step))

    def at(self, claims: Claims) -> Sums:
        """Constants, gradients and u by cell of the planes of claims."""
        sets, points = self.counts.position[claims.support], claims.points
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

    def gains(self, planes: Sums, claims: Claims) -> FloatArray:
        """The most that every candidate can gain."""
        least, most = self.table.lower[claims.candidates], self.table.upper[claims.candidates]
        gains: FloatArray = np.full(least.shape, -np.inf)
        for slopes in self._slopes(claims, planes[2]):
            gains = np.maximum(gains, np.maximum(-slopes * least, -slopes * most))
        return gains + SLOPE_ERROR * np.maximum(np.abs(least), np.abs(most))

    def least(self, planes: Sums, claims: Claims, gained: FloatArray, scales: Scales) -> FloatArray:
        """At or below the least of every plane over its box, less what further columns gain."""
        (constant, gradient, _), (low, high) = planes, scales
        total = np.minimum(gradient * claims.lower.T, gradient * claims.upper.T).sum(axis=0) - gained
        sizes = np.maximum(np.abs(claims.lower), np.abs(claims.upper)).sum(axis=1) + np.abs(gained)
        error = ERROR * (1.0 + high * sizes + np.abs(constant))
        found: FloatArray = constant + np.minimum(low * total, high * total) - error
        return found

    def _slopes(self, claims: Claims, shares: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Ends of g_f for every candidate; a single set too large for a table has between no rows and the fewest of others."""
        sets, further = self.counts.position[claims.support], self.counts.position[claims.candidates]
        (n, k), counts, alternating = sets.shape, np.diff(claims.starts), shares.copy()
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
            elif self.exact or k > self.counts.tabled:
                whole = np.column_stack([np.repeat(sets[:, places], counts, axis=0), further])
                weight = self.counts.weighted(self.counts.count(whole)).sum(axis=0)
            else:  # all of the support, which comes last
                term *= fewest
                return total + np.minimum(term, 0.0), total + np.maximum(term, 0.0)
            term *= weight
            total += term
        return total, total
