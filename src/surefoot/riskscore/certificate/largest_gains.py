"""The most that columns beyond a node's prefix can gain.

An excluded candidate e comes with the largest gains of any others, one that is not the first with those of the remaining ones
after it, at most max_features - |P| - 1 of them.
"""

from __future__ import annotations

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.core.enclosure import enclose
from surefoot.riskscore.certificate.card_table import Integers
from surefoot.riskscore.certificate.proof_reader import EXCLUDED, NOT_FIRST


def largest_gains(gains: FloatArray, marks: Integers, starts: Integers, budget: int) -> FloatArray:
    """For every node the most that a support with a pruned candidate can gain; -inf for nodes that prune none.

    Gains of which nothing is known are infinite.
    """
    gains = np.where(np.isnan(gains), np.inf, gains)
    if budget == 0:
        found: FloatArray = np.maximum.reduceat(np.where(marks == EXCLUDED, gains, -np.inf), starts[:-1])
        return found
    counts = np.diff(starts)
    inside = np.arange(counts.max()) < counts[:, None]
    wide: FloatArray = np.full(inside.shape, -np.inf)
    mark: Integers = np.full(inside.shape, -1)
    wide[inside], mark[inside] = gains, marks
    # The largest others of an excluded column: the first of all in falling order, itself left out.
    falling = -np.sort(-np.maximum(wide, 0.0), axis=1)
    next_one = falling[:, budget] if budget < counts.max() else np.zeros(len(wide))
    excluded = np.where(mark == EXCLUDED, np.minimum(wide, next_one[:, None]), -np.inf).max(axis=1)
    most = _added(falling[:, :budget], excluded)
    after = np.zeros((len(wide), budget))
    for k in range(counts.max() - 1, -1, -1):
        most = np.maximum(most, _added(after, np.where(mark[:, k] == NOT_FIRST, wide[:, k], -np.inf)))
        remains = (mark[:, k] != EXCLUDED) & (wide[:, k] > after[:, 0])
        after[remains, 0] = wide[remains, k]
        after.sort(axis=1)
    return most


def _added(others: FloatArray, own: FloatArray) -> FloatArray:
    finite = np.isfinite(own)
    total = (enclose(others).sum(axis=1) + np.where(finite, own, 0.0)).high
    return np.where(finite, total, own)
