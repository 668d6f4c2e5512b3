"""Where to cut a numeric column: between which of its distinct values, and at which readable number.

A cut after position k parts the rows into those with value <= u_k and those with value >= u_(k+1), where u_1 < ... < u_m are
the distinct values of the column. Which cuts are taken depends on order and counts alone, so any strictly increasing
transformation of the column leaves the parts as they are.

Quantile cuts
-------------
For K cuts the targets are the shares j / (K + 1), j = 1, ..., K, of the weight of all rows; each target takes the cut whose
share of weight below is nearest to it.

Supervised cuts
---------------
A step function with k cuts fits the labels of its k + 1 intervals by their shares of positives, with negative log-likelihood ::

    L(cuts) = sum over intervals b of   - P_b log(P_b / W_b) - N_b log(N_b / W_b),

with P_b, N_b the weights of positive and negative rows and W_b their sum. L is a sum over intervals, so the best k cuts for
every k come from dynamic programming over candidate cuts: best_k(j) = min over i < j of best_(k-1)(i) + cost(i, j).

Every interval holds at least ``min_share`` of the weight. Without that, a pocket of a few rows that happen to agree wins by its
likelihood in any column of noise, because there are so many places for a pocket. If the values allow no such cut at all, as in
a column that is 0 in most rows, the best single cut is taken.

Up to ``most_values`` distinct values all cuts are candidates, and those taken are the best there are. Of a column with more,
the cuts nearest to ``max_candidates`` equally spaced shares of the weight are tried. The search is optimal among these; then
every cut is moved to its best place between the neighbouring candidates. How far that may be from the best is bounded in
:mod:`surefoot.design.binarize.cut_bound`.

With a direction the shares of the intervals only rise, or only fall (:mod:`surefoot.design.binarize.monotone_cuts`). There
may be no such cut; then none is made.

Number of cuts: a step function with k cuts has 2 k + 1 parameters, k + 1 shares and k places; the Bayesian information
criterion 2 L + (2 k + 1) log W, with W the weight of all rows, asks for the k with the least L + k log W. At least one cut is
made, so that no column that varies is lost: choosing columns is the business of the model that follows.

Readable thresholds
-------------------
Every threshold t with u_k < t <= u_(k+1) makes the same cut. The one with the fewest digits is taken; of several, one that ends
in 5, and then the one nearest to the middle of the gap.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from surefoot.design.binarize.monotone_cuts import best_monotone_path

Direction: TypeAlias = Literal["increasing", "decreasing", "either"]
# Signs of the directions that are tried; 0 is none.
_SIGNS: dict[str | None, tuple[int, ...]] = {None: (0,), "increasing": (1,), "decreasing": (-1,), "either": (1, -1)}


@dataclass(frozen=True)
class CutParameters:
    """The dynamic programme over cuts."""

    # Candidates of a column: 256 of them take 65,536 interval costs, and equally spaced they are never more than 0.4 % of the
    # rows away from any cut. Not tuned.
    max_candidates: int = 256
    # All cuts of a column with so many distinct values take a second under a direction, and a tenth of it without. Not tuned.
    most_values: int = 1500


PARAMETERS = CutParameters()


def quantile_cuts(weights: NDArray[np.float64], most: int) -> NDArray[np.intp]:
    """Positions k of at most ``most`` cuts that part the weight as evenly as the values allow.

    Parameters
    ----------
    weights : ndarray of shape (n_distinct,)
        Positive weight of each distinct value, in the order of the values.
    most : int

    Returns
    -------
    ndarray of int
        Ascending; a cut k stands between the values k and k + 1.
    """
    n_cuts = weights.size - 1
    if n_cuts <= most:
        return np.arange(n_cuts)
    # Shares times (most + 1) times the total: sums of whole weights stay exact, and repeating rows equals weighing them.
    below = np.cumsum(weights) * (most + 1)
    targets = np.arange(1, most + 1) * weights.sum()
    after = np.searchsorted(below[:-1], targets).clip(1, n_cuts - 1)
    nearer = np.abs(below[after] - targets) < np.abs(targets - below[after - 1])
    return np.unique(np.where(nearer, after, after - 1))


def supervised_cuts(
    positives: NDArray[np.float64],
    negatives: NDArray[np.float64],
    most: int,
    min_share: float = 0.0,
    direction: Direction | None = None,
) -> NDArray[np.intp]:
    """Positions of the cuts of the best step function, between 1 and ``most`` of them; see the module docstring.

    Parameters
    ----------
    positives, negatives : ndarray of shape (n_distinct,)
        Weight of the positive and of the negative rows of each distinct value, in the order of the values.
    most : int
    min_share : float, default=0.0
        Least share of the weight in each interval.
    direction : {"increasing", "decreasing", "either"}, optional
        Whether the share of positive rows only rises, only falls, or does one of the two from interval to interval.
    """
    candidates = np.arange(positives.size - 1)
    if positives.size > PARAMETERS.most_values:
        candidates = quantile_cuts(positives + negatives, PARAMETERS.max_candidates)
    if candidates.size == 0:
        return candidates
    up, down = (np.concatenate([[0.0], np.cumsum(own)]) for own in (positives, negatives))
    # Places of cuts in these sums: weights below a cut are those of all values before it.
    stations = np.concatenate([[0], candidates + 1, [positives.size]])
    found = best_stations(up[stations], down[stations], most, min_share, direction)
    if found is None:
        return np.zeros(0, dtype=np.intp)
    return _refined(found.inner, stations, up, down, found.least, found.sign) - 1


@dataclass(frozen=True)
class BestStations:
    """The best cuts between stations: their value, which counts cuts, and under which of the conditions they were found."""

    value: float
    inner: list[int]
    least: float
    sign: int


def best_stations(
    up: NDArray[np.float64], down: NDArray[np.float64], most: int, min_share: float, direction: Direction | None
) -> BestStations | None:
    """The best of all cuts where the cumulated weights are these; None where a direction leaves none."""
    total = float(up[-1] + down[-1])
    # Shares that are met up to rounding are met: sums of weights such as 0.1 are not exact.
    for least, count in (((min_share - 1e-12) * total, min(most, up.size - 2)), (0.0, 1)):
        costs, found = interval_costs(up, down, least), []
        for sign in _SIGNS[direction]:
            if sign == 0:
                path = _best_path(costs, count, cut_price(total))
            else:
                path = best_monotone_path(costs, sign * interval_shares(up, down), count, cut_price(total))
            if path is not None:
                found.append(BestStations(*path, least, sign))
        if found:
            return min(found, key=lambda best: best.value)
        # A pocket of a few rows is no way out where it is only the direction that larger intervals do not keep.
        below = (up + down)[1:-1]
        if np.any((below >= least) & (total - below >= least)):
            break
    return None


def cut_price(total: float) -> float:
    """What a cut costs where the rows have this weight, in units of the log-likelihood."""
    return math.log(max(total, 1.0))


def _refined(
    inner: list[int], stations: NDArray[np.intp], up: NDArray[np.float64], down: NDArray[np.float64], least: float, sign: int
) -> NDArray[np.intp]:
    """Each cut moved to its best place between the neighbouring candidates, one after the other."""
    places = stations[inner]
    ends = [0, *places.tolist(), int(stations[-1])]
    for k, at in enumerate(inner, 1):
        before, after = ends[k - 1], ends[k + 1]
        options = np.arange(max(before, stations[at - 1]) + 1, min(after, stations[at + 1]))
        below = up[options] - up[before], down[options] - down[before]
        above = up[after] - up[options], down[after] - down[options]
        cost = _entropy(*below) + _entropy(*above)
        cost[np.minimum(sum(below), sum(above)) < least] = np.inf
        if sign != 0:
            # Shares of this and of the next interval, between those of their neighbours.
            chain = [_share(*below), _share(*above)]
            if k > 1:
                chain.insert(0, _share(up[before] - up[ends[k - 2]], down[before] - down[ends[k - 2]]))
            if k < len(inner):
                chain.append(_share(up[ends[k + 2]] - up[after], down[ends[k + 2]] - down[after]))
            for one, other in pairwise(chain):
                cost[np.broadcast_to(sign * one > sign * other, cost.shape)] = np.inf
        if cost.min() < cost[ends[k] - options[0]]:
            ends[k] = int(options[np.argmin(cost)])
    return np.array(ends[1:-1], dtype=np.intp)


def _best_path(costs: NDArray[np.float64], most: int, price: float) -> tuple[float, list[int]] | None:
    """Value and inner stations of the cheapest way from the first to the last, with 1 to ``most`` of them at a price each."""
    best, steps = costs[0], []
    found: list[tuple[float, int]] = []
    for inner in range(1, most + 1):
        through = best[:, None] + costs
        steps.append(np.argmin(through, axis=0))
        best = np.min(through, axis=0)
        found.append((float(best[-1]) + inner * price, inner))
    value, inner = min(found)
    if value == math.inf:
        return None
    path = [costs.shape[0] - 1]
    for step in reversed(steps[:inner]):
        path.append(int(step[path[-1]]))
    return value, path[:0:-1]


def interval_costs(up: NDArray[np.float64], down: NDArray[np.float64], least: float) -> NDArray[np.float64]:
    """cost(i, j) of the interval between cumulated weights i and j; infinite unless i < j and it weighs enough."""
    p, n = np.maximum(up[None, :] - up[:, None], 0.0), np.maximum(down[None, :] - down[:, None], 0.0)
    cost = _entropy(p, n)
    cost[np.tri(up.size, dtype=bool) | (p + n < least)] = np.inf
    return cost


def interval_shares(up: NDArray[np.float64], down: NDArray[np.float64]) -> NDArray[np.float64]:
    """Share of positive weight in the interval between cumulated weights i and j."""
    return _share(up[None, :] - up[:, None], down[None, :] - down[:, None])


def _share(p: Any, n: Any) -> NDArray[np.float64]:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(p / (p + n), dtype=np.float64)


def _entropy(p: NDArray[np.float64], n: NDArray[np.float64]) -> NDArray[np.float64]:
    """- p log(p / (p + n)) - n log(n / (p + n))."""
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = [np.where(own > 0, -own * np.log(own / (p + n)), 0.0) for own in (p, n)]
    return np.asarray(parts[0] + parts[1], dtype=np.float64)


def readable_threshold(low: float, high: float) -> float:
    """The number with the fewest digits among those above ``low`` and at or below ``high``.

    Examples
    --------
    >>> readable_threshold(71.3, 78.0), readable_threshold(0.1234, 0.1239), readable_threshold(-3.0, 8.0)
    (75.0, 0.1235, 0.0)
    """
    if low < 0 <= high:
        return 0.0
    # Exact arithmetic: 0.3 is not three times 0.1 in floating point, and a threshold must not slip past a value.
    below, above = Fraction(low), Fraction(high)
    largest = max(abs(low), abs(high))
    for power in range(math.floor(math.log10(largest)) + 1, math.floor(math.log10(largest)) - 18, -1):
        unit = Fraction(10) ** power
        first, last = math.floor(below / unit) + 1, math.floor(above / unit)
        if first > last:
            continue
        middle = (below + above) / (2 * unit)
        # At most nine: with ten in the gap, the power before would have had one.
        multiples = sorted(range(first, last + 1), key=lambda k: (k % 5 != 0, abs(k - middle)))
        for multiple in multiples:
            threshold = float(Decimal(multiple).scaleb(power))
            if low < threshold <= high:
                return threshold
    return high


def spelled(number: float) -> str:
    """A number as people write it, exact: "75", "0.1", "1e-07"."""
    return str(int(number)) if number == int(number) and abs(number) < 1e15 else repr(float(number))
