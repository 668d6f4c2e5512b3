"""Inputs that were measured a few times only: what their repeats say of the next one, with deviations borrowed from others.

A new measurement of an input with m independent repeats of mean x and covariance S deviates from x by a covariance of about
(1 + 1/m) m/(m-1) S: the mean itself is off by 1/m of it, and deviations from an estimated mean are too short by (m-1)/m. With
few repeats and many columns S is a poor estimate besides: it has no spread at all in most directions, and a plane that is
fitted to such inputs finds these. So each input borrows deviations of the other ones until it has about ten:

    scale     c_i, the root mean square deviation of input i over that of all inputs together, drawn towards 1 by
              SCALE_PRIOR degrees of freedom: inputs may be noisier or calmer than others
    pool      all deviations sqrt(m/(m-1)) (x_s - x), divided by the scales of their inputs
    samples   x + sqrt(1 + 1/m) sqrt(m/(m-1)) (x_s - x)  of weight (1 - share) p_s, and
              x +- sqrt(1 + 1/m) c_i d  of equal weights for some d of the pool,  share = OWN_PRIOR / (OWN_PRIOR + m - 1).

The mean stays where it is, and the covariance is (1 + 1/m) ((1 - share) own + share pooled). Everything is done to the rows
that a kernel compares, so whatever solves and proves batches of samples solves and proves these.

The constants were chosen on drawn inputs of two classes whose means are 4 apart in 10 and 30 columns, normal and exponential
noise, 3, 5 and 8 repeats, and confirmed on other laws, sizes and distances: ``benchmarks/run.py chance_promises``.

Which deviations an input borrows is no accident and no choice: they are taken from the pool at multiples of the golden ratio,
inputs and deviations in the order of their distance from the middle, so that neither names nor the order of rows matter. An
input to come borrows more of them, always the same: what is said of it does not hang on who comes with it.

A curved plane has as many bends as there are samples: it can give all samples of an input the same score, borrowed ones
included, and be anything beside them. So what is promised is also held against deviations that the plane has not seen.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from surefoot.core.arrays import FloatArray, RowArray

# So many samples are enough for a covariance along one direction.
ENOUGH = 10
# What is borrowed counts as much as so many repeats beyond the first, and that all inputs are alike as much as these.
OWN_PRIOR, SCALE_PRIOR = 4.0, 4.0
# Deviations that a model keeps for inputs to come, and pairs that each of these borrows if it borrows at all.
KEPT, PAIRS_TO_COME = 64, 16
# Bounds deviations over the largest entry of a column that are taken for rounding.
ROUNDING = 2.0**-46
GOLDEN = 0.6180339887498949


@dataclass(frozen=True, eq=False)
class RepeatPool:
    """What inputs to come may borrow.

    Attributes
    ----------
    deviations : ndarray of shape (n_deviations, n_columns)
        At scale 1, each as likely as the others.
    variance : float
        Mean square of the inputs' deviations, over repeats and columns.
    directions : float
        How many directions deviations have, effectively: (sum of variances)^2 / (sum of their squares). A whole number.
    same : bool
        Whether all inputs are taken to have one covariance.
    """

    deviations: FloatArray
    variance: float
    directions: float
    same: bool


@dataclass(frozen=True, eq=False)
class RepeatSamples:
    """Samples, those of input i from ``starts[i]`` to ``starts[i + 1]``, with weights that add up to 1 for each input."""

    samples: FloatArray
    starts: RowArray
    weights: FloatArray

    @property
    def covariances(self) -> FloatArray:
        """One matrix for each input."""
        sizes = np.diff(self.starts)
        means = np.add.reduceat(self.weights[:, None] * self.samples, self.starts[:-1], axis=0)
        beside = self.samples - np.repeat(means, sizes, axis=0)
        squares = self.weights[:, None, None] * beside[:, :, None] * beside[:, None, :]
        return np.asarray(np.add.reduceat(squares, self.starts[:-1], axis=0))


@dataclass(frozen=True, eq=False)
class Repeats:
    """Rows of inputs, those of one input together, and how many measurements each input counts as."""

    rows: FloatArray
    starts: RowArray
    weights: FloatArray
    counts: FloatArray

    @classmethod
    def of(cls, rows: FloatArray, starts: RowArray, weights: FloatArray, counts: FloatArray) -> Repeats:
        """The repeats of inputs whose rows have these weights, summing to 1 for each, and were seen so many times."""
        seen = np.add.reduceat(counts, starts[:-1])
        # Weights that count nothing still say how evenly the rows share them.
        return cls(rows, starts, weights, np.maximum(seen, 1.0 / np.add.reduceat(weights * weights, starts[:-1])))

    @property
    def sizes(self) -> RowArray:
        return np.diff(self.starts)

    @cached_property
    def means(self) -> FloatArray:
        return np.asarray(np.add.reduceat(self.weights[:, None] * self.rows, self.starts[:-1], axis=0))

    @cached_property
    def spread(self) -> tuple[FloatArray, FloatArray]:
        """Deviations of the rows as long as those from a known mean, and their mean square over repeats and columns."""
        several = self.counts > 1.0
        longer = np.sqrt(np.where(several, self.counts / np.where(several, self.counts - 1.0, 1.0), 0.0))
        beside = self.rows - np.repeat(self.means, self.sizes, axis=0)
        # Means are rounded: rows that repeat each other deviate by nothing.
        beside = np.where(np.abs(beside) > ROUNDING * np.abs(self.rows).max(axis=0, initial=0.0), beside, 0.0)
        beside *= np.repeat(longer, self.sizes)[:, None]
        squares = np.add.reduceat(self.weights * np.square(beside).mean(axis=1), self.starts[:-1])
        return beside, squares

    def pool(self, *, same: bool) -> tuple[RepeatPool, RowArray] | None:
        """All deviations in the order of their values, and the row that each is of; None if nothing deviates."""
        beside, squares = self.spread
        freedom = np.where(squares > 0, np.maximum(self.counts - 1.0, 0.0), 0.0)
        if not freedom.any() or not np.isfinite(squares).all():
            return None
        variance = float(freedom @ squares / freedom.sum())
        shares = np.repeat(freedom / freedom.sum(), self.sizes) * self.weights
        scatter = (shares[:, None] * beside).T @ beside
        # Rounded, since another machine may sum in another order.
        directions = max(1.0, float(np.round(np.trace(scatter) ** 2 / np.square(scatter).sum())))
        found = RepeatPool(np.empty((0, self.rows.shape[1])), variance, directions, same)
        of_input = np.repeat(np.arange(self.counts.size), self.sizes)
        used = np.flatnonzero(freedom[of_input] > 0)
        if same:
            return RepeatPool(_axes(shares, beside), variance, directions, same), used
        # By length, so that nothing hangs on names, the order of rows or the signs of columns; then by value.
        lengths = np.square(beside[used]).sum(axis=1)
        order = used[np.lexsort((*_told_apart(beside[used]), _rounded(lengths), self._ranks[of_input[used]]))]
        scaled = beside[order] / self.scales(found)[of_input[order], None]
        return RepeatPool(scaled, variance, directions, same), order

    @cached_property
    def _ranks(self) -> RowArray:
        """The rank of each input by the distance of its mean from 0, which is the middle in standard units."""
        means = self.means
        lengths = np.square(means).sum(axis=1)
        return np.argsort(np.lexsort((*_told_apart(means), _rounded(self.spread[1]), _rounded(lengths))))

    def scales(self, pool: RepeatPool) -> FloatArray:
        """c_i."""
        if pool.same:
            return np.ones(self.counts.size)
        freedom = pool.directions * np.maximum(self.counts - 1.0, 0.0)
        return np.asarray(np.sqrt((SCALE_PRIOR + freedom * (self.spread[1] / pool.variance)) / (SCALE_PRIOR + freedom)))

    def unseen(self, pool: RepeatPool) -> RepeatSamples:
        """Samples around the means that are made of deviations of others alone, most of which no plane was fitted to."""
        pairs = np.full(self.counts.size, len(pool.deviations) if pool.same else PAIRS_TO_COME)
        return self._made(pool, _alike(pool), pairs, np.ones(self.counts.size), to_come=True)

    def to_come(self, pool: RepeatPool) -> RepeatSamples:
        """The samples of inputs to come."""
        return self.with_borrowed(pool, _alike(pool), to_come=True)

    def with_borrowed(self, pool: RepeatPool, chances: FloatArray, *, to_come: bool = False) -> RepeatSamples:
        """The samples of the module docstring; ``chances`` are those of the deviations to be borrowed, summing to 1.

        Inputs ``to_come`` do not share the deviations between them.
        """
        n_inputs = self.counts.size
        share = np.ones(n_inputs) if pool.same else OWN_PRIOR / (OWN_PRIOR + np.maximum(self.counts - 1.0, 0.0))
        pairs = np.ceil(np.maximum(ENOUGH - self.counts, 0.0) / 2.0).astype(np.int64)
        if pool.same:
            pairs = np.full(n_inputs, len(pool.deviations))
        elif to_come:
            pairs = np.where(pairs > 0, PAIRS_TO_COME, 0)
        return self._made(pool, chances, pairs, np.where(pairs > 0, share, 0.0), to_come=to_come)

    def _made(
        self, pool: RepeatPool, chances: FloatArray, pairs: RowArray, share: FloatArray, *, to_come: bool
    ) -> RepeatSamples:
        """Samples with so many pairs of borrowed deviations for each input, which have this share of its weight."""
        n_inputs, sizes, means = self.counts.size, self.sizes, self.means
        longer = np.sqrt(1.0 + 1.0 / self.counts)
        of_row = np.repeat(np.arange(n_inputs), sizes)
        own = means[of_row] + longer[of_row, None] * self.spread[0]
        kept = np.flatnonzero(share[of_row] < 1.0)
        of_pair = np.repeat(np.arange(n_inputs), pairs)
        places = (np.arange(of_pair.size) + np.repeat(self._first_places(pairs, to_come=to_come), pairs)) * GOLDEN % 1.0
        ends = np.cumsum(chances)
        chosen = np.minimum(np.searchsorted(ends, places * ends[-1], side="right"), chances.size - 1)
        if pool.same:
            # All of them, once.
            chosen = np.tile(np.arange(len(pool.deviations)), n_inputs)
        moved = (longer * self.scales(pool))[of_pair, None] * pool.deviations[chosen]
        of_sample = np.concatenate((of_row[kept], of_pair, of_pair))
        samples = np.concatenate((own[kept], means[of_pair] + moved, means[of_pair] - moved))
        half = (share / np.maximum(2 * pairs, 1))[of_pair]
        weights = np.concatenate(((1.0 - share)[of_row[kept]] * self.weights[kept], half, half))
        order = np.argsort(of_sample, kind="stable")
        starts = np.concatenate(([0], np.cumsum(np.bincount(of_sample, minlength=n_inputs)))).astype(np.int64)
        return RepeatSamples(np.ascontiguousarray(samples[order]), starts, weights[order])

    def _first_places(self, pairs: RowArray, *, to_come: bool) -> RowArray:
        """What to add to the number of a pair: each input begins where the one of the rank before has ended, or anew."""
        begins = np.cumsum(pairs) - pairs
        if to_come:
            return -begins
        ranks = self._ranks
        order = np.argsort(ranks)
        by_rank = np.cumsum(pairs[order]) - pairs[order]
        return np.asarray(by_rank[ranks] - begins)


def _rounded(values: FloatArray) -> FloatArray:
    """Values in steps of a billionth of the largest: what is equal but for rounding is equal."""
    return np.asarray(np.round(values * (2.0**30 / max(float(np.abs(values).max(initial=0.0)), np.finfo(np.float64).tiny))))


def _told_apart(vectors: FloatArray) -> FloatArray:
    """Keys, the last one first, that order vectors of equal length: their entries, up to the sign of the whole vector."""
    entries = _rounded(vectors)
    first = np.take_along_axis(entries, np.argmax(entries != 0, axis=1)[:, None], axis=1)
    return np.asarray((entries * np.where(first < 0, -1.0, 1.0)).T[::-1])


def _axes(shares: FloatArray, beside: FloatArray) -> FloatArray:
    """Deviations that have, all as likely as each other, the covariance of all deviations with these shares.

    Columns of Cholesky's factor, by sums that are the same on every machine: proofs are about the samples to the last digit.
    """
    covariance = np.stack([np.add.reduce((shares * column)[:, None] * beside, axis=0) for column in beside.T])
    variances, axes = np.diagonal(covariance).copy(), list[FloatArray]()
    left = covariance.copy()
    for at in range(len(left)):
        if left[at, at] > ROUNDING * variances[at]:
            axis = left[at] / np.sqrt(left[at, at])
            axis[:at] = 0.0
            left = left - axis[:, None] * axis[None, :]
            axes.append(axis)
    return np.asarray(np.stack(axes) * np.sqrt(len(axes)))


def _alike(pool: RepeatPool) -> FloatArray:
    return np.full(len(pool.deviations), 1.0 / len(pool.deviations))


def borrowed_samples(repeats: Repeats, seen: FloatArray, *, same: bool) -> tuple[RepeatSamples, RepeatPool] | None:
    """Samples of inputs that borrow from each other, and what inputs to come may borrow; None if nothing deviates.

    Parameters
    ----------
    repeats : Repeats
    seen : ndarray of shape (n_rows,)
        How often each row was seen.
    same : bool
        Whether all inputs are taken to have one covariance.
    """
    found = repeats.pool(same=same)
    if found is None:
        return None
    pool, order = found
    if same:
        return repeats.with_borrowed(pool, _alike(pool)), pool
    chances = seen[order] / seen[order].sum()
    samples = repeats.with_borrowed(pool, chances)
    # Spread over all of them, each as likely as the others.
    ends = np.cumsum(chances)
    at = (np.arange(min(KEPT, chances.size)) + 0.5) / min(KEPT, chances.size)
    kept = np.minimum(np.searchsorted(ends, at * ends[-1]), chances.size - 1)
    return samples, RepeatPool(pool.deviations[kept], pool.variance, pool.directions, same)
