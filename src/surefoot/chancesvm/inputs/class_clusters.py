"""Batches for a table that names none: k-means inside each class, so that every batch has one label.

K clusters in all, divided between the classes in proportion to their distinct rows, at least one each. Rows count by their
weights, and equal rows as one row of their common weight, so repeating a row and doubling its weight give the same clusters.
For the same ``random_state`` the order of the rows does not matter.
"""

from __future__ import annotations

import math
import numbers
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from threadpoolctl import threadpool_limits

from surefoot.core.arrays import FloatArray


@dataclass(frozen=True)
class ClusterParameters:
    """How many clusters and how often k-means starts."""

    # K = min(8, 10 % of the rows), Section 4.3 of Lin, Fang, Fang and Gao.
    max_clusters: int = 8
    fraction_of_rows: float = 0.1
    # Starts of k-means for small tables, and the rows that all starts may see together: fewer where one takes seconds. Not
    # tuned; ten was scikit-learn's default.
    max_starts: int = 10
    started_rows: int = 50_000


PARAMETERS = ClusterParameters()


def require_batches(batches: Any) -> str | int:
    """The number of clusters, or one of the words "auto", "rows" and "clusters"."""
    if isinstance(batches, str) and batches in ("auto", "rows", "clusters"):
        return batches
    if isinstance(batches, numbers.Integral) and not isinstance(batches, bool) and int(batches) >= 2:
        return int(batches)
    raise ValueError(
        f"batches = {batches!r} must be 'auto', 'rows', 'clusters', or a whole number of at least 2: one batch per class is "
        "the least."
    )


def class_clusters(
    points: FloatArray, labels: FloatArray, weights: FloatArray, n_clusters: int | None, random_state: Any
) -> NDArray[np.intp]:
    """The cluster of each row, numbered from 0: first those of label -1, then those of +1.

    Parameters
    ----------
    points : ndarray of shape (n_rows, n_columns)
    labels : ndarray of shape (n_rows,)
        -1.0 and +1.0, both present.
    weights : ndarray of shape (n_rows,)
        Positive.
    n_clusters : int or None
        K; None for the paper's rule. A class gets no more clusters than it has distinct rows.
    random_state : int, RandomState or None
    """
    draw = check_random_state(random_state)
    sides = [np.flatnonzero(labels < 0), np.flatnonzero(labels > 0)]
    # k-means does not depend on the unit, but squares of huge values would overflow; a power of two rounds nothing.
    scaled = np.ldexp(points, -int(np.frexp(np.abs(points).max(initial=0.0))[1]))
    distinct = [np.unique(scaled[rows], axis=0, return_inverse=True) for rows in sides]
    counts = [len(values) for values, _ in distinct]
    codes = np.empty(len(labels), dtype=np.intp)
    first = 0
    for rows, (values, inverse), count in zip(sides, distinct, _divided(counts, n_clusters), strict=True):
        inverse = inverse.ravel()
        own = _clusters(values, np.bincount(inverse, weights=weights[rows]).astype(np.float64), count, draw)
        codes[rows] = first + own[inverse]
        first += int(own.max()) + 1
    return codes


def kernel_coordinates(gram: FloatArray, labels: FloatArray) -> FloatArray:
    """Rows of a Gram matrix as points whose distances inside each class are those of the feature space."""
    points = np.zeros_like(gram)
    for sign in (-1.0, 1.0):
        rows = np.flatnonzero(labels == sign)
        values, vectors = np.linalg.eigh(gram[np.ix_(rows, rows)])
        points[rows, : rows.size] = vectors * np.sqrt(np.maximum(values, 0.0))
    return points


def _divided(counts: list[int], n_clusters: int | None) -> tuple[int, int]:
    """Clusters of either class."""
    total = sum(counts)
    if n_clusters is None:
        n_clusters = max(2, min(PARAMETERS.max_clusters, math.floor(PARAMETERS.fraction_of_rows * total)))
    negative = min(max(round(n_clusters * counts[0] / total), 1), n_clusters - 1)
    return min(negative, counts[0]), min(n_clusters - negative, counts[1])


def _clusters(values: FloatArray, weights: FloatArray, count: int, draw: Any) -> NDArray[np.intp]:
    """Clusters of distinct rows, none of them empty."""
    if count == 1:
        return np.zeros(len(values), dtype=np.intp)
    starts = min(max(PARAMETERS.started_rows // len(values), 1), PARAMETERS.max_starts)
    means = KMeans(n_clusters=count, n_init=starts, random_state=draw.randint(np.iinfo(np.int32).max))
    # One thread: sums of several come in any order, and few rows gain nothing from several.
    with warnings.catch_warnings(), threadpool_limits(limits=1):
        # Rows that differ by rounding alone may fill fewer clusters; fewer are as good.
        warnings.simplefilter("ignore", ConvergenceWarning)
        labels = means.fit(values, sample_weight=weights / weights.max()).labels_
    found: NDArray[np.intp] = np.unique(labels, return_inverse=True)[1]
    return found
