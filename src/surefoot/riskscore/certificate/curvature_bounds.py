"""What the curvature of the loss proves of nodes with room for one or two columns: whole counts, plain doubles.

Let p be the point of a node on the columns P, and a row with score s there have risk r = 1 / (1 + exp(-s)) and curvature
c = r (1 - r). For further columns A take the plane (``counted_planes``) with u = r + c t for every row, t = X d with any step d
on P and A. Its slopes are g + H d, with g and H gradient and Hessian at p; with KL(u, r) = u log(u / r) + (1 - u) log((1 - u) /
(1 - r)) it is, at any coefficients q,

    loss(p) + (g + H d) . (q - p) - sum_i w_i KL(u_i, r_i).

From (1 - x) log(1 - x) + x <= x^2 (1/2 + x/6 + x^2/3) for 0 <= x <= 1, and (1 + x) log(1 + x) - x <= x^2 / 2, for t > 0

    KL(r + c t, r) <= c t^2 (1/2 + r (x/6 + x^2/3)),  x = r t <= 1,

and for t < 0 the same with 1 - r for r and -t for t. So with d = -H^-1 g every card on P and A has at least

    loss(p) - (1/2 + z (x/6 + x^2/3)) d . H d,        z the largest r or 1 - r, x the largest of all rows,

whatever its points. With h_f the part of H that belongs to P and column f, v_f = -H_PP^-1 h_f and v_0 = -H_PP^-1 g_P,

    S_ef = H_ef + h_e . v_f,   a_f = g_f + h_f . v_0,   d . H d = a' S^-1 a - g_P . v_0,   d_P = v_0 + sum_f d_f v_f.

t is the sum of d_f (x_f + the prediction of f by v_f), which lies between two ends, and of the prediction by v_0: x is at most
the sum of d_f ``forward_f`` or -d_f ``backward_f``. H_ef is a sum over the parts T of P of alternating sums of c, times the
weight of the rows with a 1 in T, e and f. Where this is not tabled it lies between 0 and the least of what is; so S_ef lies
between two ends, and the worst of them counts.

A candidate is done with if this bounds every pair of it and another, and itself alone, or if slopes do (``largest_gains``).

Errors, in units of 2^-53. g and H are sums over at most 2^k parts of P, k = |P|, right to (2^k + 8) 3^k (``counted_planes``).
The entries of v add up to 16 at most, so S and a are right to 32 times that, ``error``; they are at most 1, so first-order
terms of the error add up to at most 9 in the numerator of a' S^-1 a and 3 in those of d. v solves its system to 2^-44 and r and
1 - r count as a quarter at least in x, so |d| adds up to at most 8, and the slopes g + H d to at most 2^-36: for each unit of
q - p and d, and with the rounding of sums of terms of that size, that is below ``MARGIN``.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.core.enclosure import UNIT_ROUNDOFF
from surefoot.riskscore.certificate.card_table import Integers
from surefoot.riskscore.certificate.counted_planes import LARGEST_SCORE, CountedPlanes
from surefoot.riskscore.certificate.proof_reader import EXCLUDED, NOT_FIRST, Claims, boxes_of
from surefoot.riskscore.certificate.row_cells import patterns

MOST_ADDED = 2
LARGEST_PREDICTION, LARGEST_SLOPE, LEAST_SHARE, LEVEL, MARGIN = 16.0, 1.0, 0.25, 2.0**-44, 2.0**-34
# Makes any H invertible; what that changes is corrected.
RIDGE = 1e-9
# Pairs in a batch, which should stay in the cache.
BATCH = 60_000


def curvature_bounds(claims: Claims, planes: CountedPlanes, threshold: float, until: float = np.inf) -> FloatArray:
    """At or below the objective of the supports that nodes prune, up to the threshold; -inf where nothing is known.

    No batch of nodes is begun after ``until``, a moment of the clock.
    """
    found = np.full(len(claims), -np.inf)
    if planes.table.size - claims.support.shape[1] > MOST_ADDED:
        return found
    rest = ~(_by_slopes(claims, planes) >= threshold)
    node = np.repeat(np.arange(len(claims)), np.diff(claims.starts))[rest]
    starts = np.searchsorted(node, np.arange(len(claims) + 1))
    found[starts[1:] == starts[:-1]] = threshold
    left = replace(claims, starts=starts, candidates=claims.candidates[rest], marks=claims.marks[rest])
    for at in _batches(np.diff(starts)):
        if time.monotonic() > until:
            break
        found[at] = np.minimum(_bounds(left.take(at), planes), threshold)
    return found


def _batches(counts: Integers) -> Iterator[Integers]:
    """Nodes with about as many candidates."""
    order = np.argsort(counts, kind="stable")[np.count_nonzero(counts == 0) :]
    edges = np.flatnonzero(np.diff(np.cumsum(counts[order] * (counts[order] + 1) // 2) // BATCH)) + 1
    yield from (at for at in np.split(order, edges) if at.size)


def _bounds(part: Claims, planes: CountedPlanes) -> FloatArray:
    """Candidates stand side by side, one list a row, the shorter ones with their last again; behind all of them stands none."""
    table, (n, k), counts = planes.table, part.support.shape, np.diff(part.starts)
    m, points, cells = int(counts.max()), part.points, patterns(k)
    place = np.minimum(part.starts[:-1, None] + np.arange(m + 1), part.starts[1:, None] - 1)
    inside = np.arange(m + 1) < counts[:, None]
    # Pairs of places; the last stands for none.
    one, two = np.triu_indices(m + 1, 1) if table.size - k > 1 else (np.arange(m), np.full(m, m))
    constant, gradient, shares = planes.at(part)
    weights = planes.counts.weighted(planes.counts.cells(planes.counts.position[part.support])).sum(axis=0)
    curves, live = shares * (1.0 - shares), (weights > 0).T[:, :, None]
    hessian = ((weights * curves).T @ (cells[:, :, None] * cells[:, None, :]).reshape(2**k, -1)).reshape(n, k + 1, k + 1)
    shared, slope, mid, wide = _sums_over_rows(part, place, planes, (shares, curves), (one, two))
    # The node's own slopes take the place of none.
    shared[:, :, m] = gradient.T
    inverse = np.linalg.inv(hessian + RIDGE * np.eye(k + 1))
    solved = np.zeros(shared.shape)
    for _ in range(3):
        solved -= inverse @ (shared + hessian @ solved)
    level = (np.abs(shared + hessian @ solved).max(axis=1) <= LEVEL) & (np.abs(solved).sum(axis=1) <= LARGEST_PREDICTION)
    scored = np.abs(points @ cells.T).max(axis=1) <= LARGEST_SCORE
    predicted = cells @ solved
    up, down = np.where(live, predicted, -np.inf).max(axis=1), -np.where(live, predicted, np.inf).min(axis=1)
    up[:, :m] += 1.0
    np.maximum(up, 0.0, out=up)
    np.maximum(down, 0.0, out=down)
    risk, safety = (np.where(live[:, :, 0], side.T, 0.0).max(axis=1) for side in (shares, 1.0 - shares))
    share, also = (np.maximum(side, LEAST_SHARE)[:, None] for side in (risk, safety))
    forward, backward = np.maximum(share * up, also * down), np.maximum(share * down, also * up)
    slope += (shared * solved[:, :, m:]).sum(axis=1)
    full = shared[:, 0] + (shared * solved).sum(axis=1)
    rest, change, fits = (
        -(gradient.T * solved[:, :, m]).sum(axis=1),
        forward[:, m].copy(),
        level & (np.abs(slope) <= LARGEST_SLOPE),
    )
    fits[:, m], slope[:, m], full[:, m], forward[:, m], backward[:, m] = level[:, m] & scored, 0.0, 1.0, 0.0, 0.0
    mid += np.where(two < m, (np.swapaxes(shared, 1, 2) @ solved).reshape(n, -1)[:, one * (m + 1) + two], 0.0)
    a, b, r, s = slope[:, one], slope[:, two], full[:, one], full[:, two]
    error = 32.0 * (2**k + 8) * 3**k * UNIT_ROUNDOFF
    determinant = (r - error) * (s - error) - (np.abs(mid) + wide + error) ** 2
    first, second = b * mid - a * s, a * mid - b * r
    gain = (2.0 * np.abs(a * b) * wide + 9.0 * error - a * first - b * second) / determinant + rest[:, None]
    moved = np.zeros(mid.shape)
    for step, other, at in ((first, b, one), (second, a, two)):
        ahead, back = forward[:, at], backward[:, at]
        moved += np.abs(step) * np.where(step > 0, ahead, back)
        moved += (np.abs(other) * wide + 3.0 * error) * np.maximum(ahead, back)
    furthest = change[:, None] + moved / determinant
    factor = 0.5 + np.maximum(risk, safety)[:, None] * (furthest / 6.0 + furthest * furthest / 3.0)
    largest = np.maximum(np.abs(table.lower), np.abs(table.upper))[part.candidates][place].max(axis=1)
    reach = np.maximum(np.abs(part.lower), np.abs(part.upper)).sum(axis=1) + 2.0 * largest
    reach = 8.0 + table.scales[1] * reach + np.abs(points).sum(axis=1)
    start = constant + (gradient * points.T).sum(axis=0) - MARGIN * reach
    known = (determinant > 0) & (r > error) & (furthest <= 1.0) & fits[:, one] & (fits[:, two] & fits[:, m:])
    bounds = np.where(known, start[:, None] - factor * gain, -np.inf)
    marks = np.where(inside, part.marks[place], -1)
    ruled = (marks[:, one] == EXCLUDED) | (marks[:, one] == NOT_FIRST) | (marks[:, two] == EXCLUDED)
    counted = ruled & inside[:, one] & (inside[:, two] | (two == m))
    pruned: FloatArray = np.where(counted, bounds, np.inf).min(axis=1, initial=np.inf) + table.penalty * (k + 1)
    return pruned


def _sums_over_rows(
    part: Claims, place: Integers, planes: CountedPlanes, sides: tuple[FloatArray, FloatArray], pairs: tuple[Integers, Integers]
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """h_f and g_f of candidates; the middle and half the width of H_ef for pairs of them, 0 for those with none."""
    counts, sets = planes.counts, planes.counts.position[part.support]
    further, (n, k), (one, two) = counts.position[part.candidates][place], sets.shape, pairs
    alternating, bent = sides[0].copy(), sides[1].copy()
    for factors in (alternating, bent):
        for j in range(k):
            split = factors.reshape(2 ** (k - 1 - j), 2, 2**j, n)
            split[:, 1] -= split[:, 0]
    shared, slope = np.zeros((n, k + 1, place.shape[1])), -planes.positive[further]
    mid, wide, real, fewest = np.zeros((n, one.size)), np.zeros((n, one.size)), two < place.shape[1] - 1, {}
    for bits, (places, rank) in enumerate(counts.ranks(sets)):
        size = len(places) + 1
        if size <= counts.tabled:
            weight = planes.weights[size][rank[:, None] + counts.choices[size][further]]
        else:
            whole = np.column_stack([np.repeat(sets[:, places], place.shape[1], axis=0), further.reshape(-1)])
            weight = counts.weighted(counts.count(whole)).sum(axis=0).reshape(further.shape)
        slope += alternating[bits][:, None] * weight
        shared[:, 0] += bent[bits][:, None] * weight
        for j in places:
            shared[:, j + 1] += (bent[bits] + bent[bits ^ 1 << j])[:, None] * weight
        if not real.any():
            continue
        if size < counts.tabled:
            # Pairs with none, and places that repeat a column, are no sets; they are not counted.
            ranks = (rank[:, None] + counts.choices[size][further])[:, one] + counts.choices[size + 1][further][:, two]
            fewest[bits] = np.where(real, planes.weights[size + 1].take(ranks, mode="clip"), 0.0)
            mid += bent[bits][:, None] * fewest[bits]
        else:
            half = 0.5 * bent[bits][:, None] * np.minimum.reduce([of for other, of in fewest.items() if other & bits == other])
            mid += half
            wide += np.abs(half)
    return shared, slope, mid, wide


def _by_slopes(claims: Claims, planes: CountedPlanes) -> FloatArray:
    """The least of the plane of a node for every candidate, with the best other one where there is room for it."""
    sums, firsts, table, k = planes.at(claims), claims.starts[:-1], planes.table, claims.support.shape[1]
    gains = planes.gains(sums, claims)
    node = np.repeat(np.arange(len(claims)), np.diff(claims.starts))
    useful = np.maximum(gains, 0.0) if table.size - k > 1 else np.zeros(gains.shape)
    best = np.maximum.reduceat(useful, firsts)
    is_best = useful == best[node]
    second = np.maximum.reduceat(np.where(is_best, 0.0, useful), firsts)
    second = np.where(np.add.reduceat(is_best.astype(np.int64), firsts) > 1, best, second)
    gains += np.where(is_best, second[node], best[node])
    boxes = boxes_of(claims.support[node], claims.lower[node], claims.upper[node], claims.points[node])
    own = sums[0][node], sums[1][:, node], sums[2][:, :0]
    least: FloatArray = planes.least(own, boxes, gains, table.scales) + table.penalty * (k + 1)
    return least
