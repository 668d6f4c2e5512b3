"""The best cuts of a column along which the share of positive rows only rises, or only falls.

A step function of k cuts that rises has k + 1 intervals whose shares ascend. The best one comes from dynamic programming with
the last interval as its state: with stations 0 < ... < n between values, costs(i, j) and shares r(i, j) of intervals, ::

    V_1(0, j) = costs(0, j),      V_(m+1)(i, j) = costs(i, j) + min { V_m(h, i) : h < i, r(h, i) <= r(i, j) }.

The inner minimum is one over a prefix of the h in the order of r(h, i), so a step over all pairs takes n sorts and lookups.
Nothing is approximated: the path that comes out is the best of all that obey.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def best_monotone_path(costs: Floats, shares: Floats, most: int, price: float) -> tuple[float, list[int]] | None:
    """Value and inner stations of the cheapest way from the first to the last station whose shares never fall.

    Parameters
    ----------
    costs : ndarray of shape (n, n)
        Infinite where there is no interval.
    shares : ndarray of shape (n, n)
    most : int
        Most inner stations; at least one is taken.
    price : float
        Of each inner station.
    """
    n = len(costs)
    value = np.full((n, n), math.inf)
    value[0] = costs[0]
    steps: list[NDArray[np.intp]] = []
    found: list[tuple[float, int, int]] = []
    for inner in range(1, most + 1):
        value, came = _next_interval(value, costs, shares)
        steps.append(came)
        last = int(np.argmin(value[:, -1]))
        found.append((float(value[last, -1]) + inner * price, inner, last))
    best, inner, station = min(found)
    if best == math.inf:
        return None
    path, after = [station], n - 1
    for came in reversed(steps[1:inner]):
        station, after = int(came[station, after]), station
        path.append(station)
    return best, path[::-1]


def _next_interval(value: Floats, costs: Floats, shares: Floats) -> tuple[Floats, NDArray[np.intp]]:
    """Best values with one interval more, by its ends, and where the interval before it begins."""
    n = len(costs)
    following, came = np.full((n, n), math.inf), np.zeros((n, n), dtype=np.intp)
    for i in range(1, n - 1):
        held = np.flatnonzero(value[:i, i] < math.inf)
        ends = i + 1 + np.flatnonzero(costs[i, i + 1 :] < math.inf)
        if not (held.size and ends.size):
            continue
        held = held[np.argsort(shares[held, i], kind="stable")]
        own = value[held, i]
        least = np.minimum.accumulate(own)
        first = np.maximum.accumulate(np.where(own < np.append(math.inf, least[:-1]), np.arange(own.size), 0))
        count = np.searchsorted(shares[held, i], shares[i, ends], side="right")
        ends, count = ends[count > 0], count[count > 0] - 1
        following[i, ends] = least[count] + costs[i, ends]
        came[i, ends] = held[first[count]]
    return following, came
