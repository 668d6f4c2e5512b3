"""Tables of categories alone, of which there are few possible rows: every probability is known before anything shifts.

With k_l levels in column l there are K = prod_l k_l rows, and a shifted row is a place among them. So a model is a list of K
ranks, one per distinct probability, and a shifted table is n looked up numbers, which are sorted as (rank, label) in one word.

Let C_j be the positives among the first j rows in that order and [s, e) the rows of equal probability around place j. Equal
rows share their labels evenly, so a cut at j has C_s + (j - s) / (e - s) (C_e - C_s) positives before it, which is all that the
bins of the calibration error ask. The area under the curve counts pairs by the sum of the places of the positives, minus half
of the h (m - h) pairs of each m equal rows with h positives, which stand in favourable order here.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from surefoot.core.arrays import BoolArray, FloatArray, IntArray
from surefoot.shift.stress.metrics import bin_starts, log_losses, rounded_bits

# A rank and a label take 16 bits of a word; the number of the sorted list, of one model and one set, has 15 of the others.
MOST_ROWS = 1 << 15


class PossibleRows:
    """Metrics of several models on shifted tables.

    Parameters
    ----------
    scores : ndarray of shape (n_models, K)
        Log odds of every possible row; that of codes c_l stands at sum_l c_l prod_{k > l} n_levels_k.
    n_levels : sequence of int
    positive : ndarray of shape (n_rows,), bool
        The labels of the tables.
    metrics : sequence of names
    n_bins : int
    """

    def __init__(
        self, scores: FloatArray, n_levels: Sequence[int], positive: BoolArray, metrics: Sequence[str], n_bins: int
    ) -> None:
        self._metrics, self._positive, self._n_bins = tuple(metrics), positive, n_bins
        self._n_levels = tuple(n_levels)
        probability = expit(scores)
        distinct = [np.unique(bits, return_inverse=True) for bits in rounded_bits(probability)]
        self._keys = np.array([ranks << 1 for _, ranks in distinct], dtype=np.int32)
        # One list after the other, so that a rank and the number of its model say where a value stands.
        self._values: FloatArray = np.concatenate([bits for bits, _ in distinct]).view(np.float64)
        self._first = np.cumsum([0, *(bits.size for bits, _ in distinct[:-1])])
        self._means = {name: self._per_row(name, scores, probability) for name in metrics if name in ("log_loss", "accuracy")}

    def _per_row(self, name: str, scores: FloatArray, probability: FloatArray) -> FloatArray:
        """What one row adds to a mean, first as a negative and then as a positive."""
        both = [np.full(scores.shape[1], label) for label in (False, True)]
        if name == "log_loss":
            return np.concatenate([log_losses(scores, label) for label in both], axis=1)
        return np.concatenate([((probability > 0.5) == label).astype(np.float64) for label in both], axis=1)

    def measure(self, codes: IntArray) -> FloatArray:
        """Metrics of shifted tables.

        Parameters
        ----------
        codes : ndarray of shape (n_columns, n_sets, n_rows)

        Returns
        -------
        ndarray of shape (n_models, n_metrics, n_sets)
        """
        places: NDArray[np.intp] = np.zeros(codes.shape[1:], dtype=np.intp)
        for column, count in zip(codes, self._n_levels, strict=True):
            places *= count
            places += column
        found = np.empty((len(self._keys), len(self._metrics), len(places)))
        ordered = _Ordered(self._keys, places, self._positive) if {"auc", "ace"} & {*self._metrics} else None
        for at, name in enumerate(self._metrics):
            if name in self._means:
                labelled = places + self._positive * self._keys.shape[1]
                found[:, at] = self._means[name].take(labelled, axis=1).mean(axis=2)
            elif ordered is not None:
                found[:, at] = ordered.auc() if name == "auc" else ordered.ace(self._values, self._first, self._n_bins)
        return found


class _Ordered:
    """All rows of all sets and models: one list per model and set, sorted by rank and label, one list after the other."""

    def __init__(self, keys: IntArray, places: NDArray[np.intp], positive: BoolArray) -> None:
        self.shape = (len(keys), len(places))
        self.lists, self.rows = len(keys) * len(places), places.shape[1]
        sorted_keys = keys.take(places, axis=1)
        sorted_keys |= positive
        sorted_keys += (np.arange(self.lists, dtype=np.int32) << 16).reshape(*self.shape, 1)
        sorted_keys.sort(axis=2)
        self.keys = sorted_keys.reshape(-1)
        self.positives = int(positive.sum())
        self.before = np.zeros(self.keys.size + 1, dtype=np.int64)
        np.cumsum(self.keys & 1, out=self.before[1:])
        self.starts = np.arange(self.lists) * self.rows

    def auc(self) -> FloatArray:
        ends = np.flatnonzero((self.keys[1:] ^ self.keys[:-1]) > 1) + 1
        bounds = np.concatenate([[0], ends, [self.keys.size]])
        hits, sizes = np.diff(self.before[bounds]), np.diff(bounds)
        equal = np.add.reduceat(hits * (sizes - hits), np.searchsorted(bounds, self.starts))
        # sum_i y_i i = n P - sum_j C_j, places counted from 0.
        counted = self.before[1:].reshape(self.lists, self.rows).sum(axis=1) - self.rows * self.before[self.starts]
        positives, negatives = self.positives, self.rows - self.positives
        pairs = self.rows * positives - counted - positives * (positives - 1) // 2 - 0.5 * equal
        areas: FloatArray = (pairs / (positives * negatives)).reshape(self.shape)
        return areas

    def ace(self, values: FloatArray, first: NDArray[np.intp], n_bins: int) -> FloatArray:
        cuts = bin_starts(self.rows, n_bins)
        inside = self.starts[:, None] + cuts[1:]
        lowest = self.keys[inside] & ~np.int32(1)
        starts, ends = np.searchsorted(self.keys, lowest), np.searchsorted(self.keys, lowest + 2)
        shared = self.before[starts] + (inside - starts) / (ends - starts) * (self.before[ends] - self.before[starts])
        edges = [self.before[self.starts][:, None], shared, self.before[self.starts + self.rows][:, None]]
        ranks = ((self.keys & 0xFFFF) >> 1).reshape(*self.shape, self.rows)
        expected = np.add.reduceat(values.take(ranks + first[:, None, None]), cuts, axis=2).reshape(self.lists, -1)
        errors: FloatArray = np.abs(np.diff(np.hstack(edges), axis=1) - expected).sum(axis=1) / self.rows
        return errors.reshape(self.shape)
