"""Proofs that no 0/1 vector exceeds a value, from the log of the native search.

A node of the search is pruned by a Lagrangian bound, with the multipliers of its root or with none, or by a row that cannot be
satisfied any more. All of these are leaves of :mod:`surefoot.inverse.problem.decision_proof`: the first with the multipliers
and a slope of the table where the number of flips is best, the last with a multiplier of that row as large as need be.
"""

from __future__ import annotations

import numpy as np

from surefoot import _native
from surefoot.core.arrays import BoolArray, FloatArray, IntArray
from surefoot.inverse.oracle.parameters import BinaryTreeParameters
from surefoot.inverse.problem.augmented_terms import distance_terms
from surefoot.inverse.problem.decision_proof import DecisionTrees
from surefoot.inverse.problem.decision_set import LinearSet
from surefoot.inverse.problem.distance import Distance
from surefoot.inverse.problem.hypothesis import LinearFeatures
from surefoot.inverse.problem.problem import Example

PARAMETERS = BinaryTreeParameters()
# Entries of the log; see cpp/include/surefoot/inverse/binary_search.hpp.
BRANCHED, LAGRANGIAN = -1, -2


def prove_binary_loss(example: Example, theta: FloatArray, distance: Distance, claimed: float) -> DecisionTrees | None:
    """A tree over 0/1 unknowns that shows that the loss is ``claimed`` at most; None if none was found."""
    decisions, features, response = example.instance.decisions, example.instance.features, example.response
    assert isinstance(decisions, LinearSet) and isinstance(features, LinearFeatures)
    terms = distance_terms(decisions, response, distance)
    if len(terms) != 1 or not np.isin(response, (0.0, 1.0)).all():
        return None
    term, n = terms[0], response.size
    above, below = np.isfinite(decisions.high), np.isfinite(decisions.low)
    rows, sides = decisions.inequalities()
    sign = 1.0 - 2.0 * response
    cost = features.linear_cost(theta)
    table = np.zeros(n + 1) if term.table is None else term.table
    gain = -(cost + term.tilt) * sign
    # The search prunes to tolerances of its own, which are for gains of size 1.
    unit = max(float(np.abs(gain).max(initial=0.0)), float(np.abs(table).max())) or 1.0
    gain, table = gain / unit, table / unit
    flipped = np.ascontiguousarray(rows * sign)
    slack = PARAMETERS.row_slack * np.abs(rows).max(axis=1, initial=0.0)
    right = sides - rows @ response
    # In terms of flips: cost . response is part of what no flip at all adds.
    goal = (claimed + float(term.tilt @ response) - term.constant) / unit + PARAMETERS.claim_tolerance
    found = _native.search_binary(
        rows=flipped,
        right=right,
        row_tolerance=slack,
        gain=np.ascontiguousarray(gain),
        table=np.ascontiguousarray(table),
        cutoff=goal,
        max_nodes=PARAMETERS.max_nodes,
        start=np.ascontiguousarray(response),
    )
    if not found.complete or found.found:
        return None
    log, order, mu = found.log, found.order, found.multipliers
    fixed, flips = _boxes(log, order, response)
    leaf = log[log != BRANCHED]
    column = np.full(log.size, -1, dtype=np.int32)
    column[log == BRANCHED] = order[fixed[log == BRANCHED].sum(axis=1)]
    fixed, flips = fixed[log != BRANCHED], flips[log != BRANCHED]
    multipliers = np.where(leaf[:, None] == LAGRANGIAN, mu, 0.0)
    reduced = gain - multipliers @ flipped
    slope = _table_slopes(reduced, fixed, flips, table)
    # What a row lacks, and what it has to be worth.
    at = np.flatnonzero(leaf >= 0)
    lacking = (
        np.where(fixed[at], flipped[leaf[at]] * flips[at], np.minimum(flipped[leaf[at]], 0.0)).sum(axis=1) - right[leaf[at]]
    )
    excess = np.where(fixed[at], gain * flips[at], np.maximum(gain, 0.0)).sum(axis=1) + float(table.max()) - goal
    multipliers[at, leaf[at]] = np.maximum(excess, 1e-9) / (lacking - slack[leaf[at]]) * PARAMETERS.spare
    slope[at] = 0.0
    multipliers_by_row = np.zeros((leaf.size, decisions.high.size))
    multipliers_by_row[:, above] += multipliers[:, : int(above.sum())]
    multipliers_by_row[:, below] -= multipliers[:, int(above.sum()) :]
    if not np.isfinite(multipliers_by_row).all():
        return None
    return DecisionTrees(column, np.zeros(log.size), unit * multipliers_by_row, unit * slope)


def _boxes(log: IntArray, order: IntArray, response: FloatArray) -> tuple[BoolArray, FloatArray]:
    """Which unknowns are fixed at every node, and which of them are flipped."""
    depths, flips, open_ = [], [], [(0, np.zeros(response.size))]
    places, lower_flips = order.tolist(), response.tolist()
    for entry in log.tolist():
        depth, flip = open_.pop()
        depths.append(depth)
        flips.append(flip)
        if entry == BRANCHED:
            j = places[depth]
            lower, upper = flip.copy(), flip.copy()
            lower[j], upper[j] = lower_flips[j], 1.0 - lower_flips[j]
            open_ += [(depth + 1, upper), (depth + 1, lower)]
    return np.argsort(order)[None, :] < np.array(depths)[:, None], np.array(flips)


def _table_slopes(gain: FloatArray, fixed: BoolArray, flips: FloatArray, table: FloatArray) -> FloatArray:
    """Slopes of a concave table at the best number of flips of every leaf: as good as the table itself there."""
    if not np.any(table):
        return np.zeros(len(gain))
    leaves, n = gain.shape
    least = flips.sum(axis=1).astype(np.int64)
    best = -np.sort(-np.where(fixed, -np.inf, gain), axis=1)
    sums = np.concatenate((np.zeros((leaves, 1)), np.cumsum(best, axis=1)), axis=1)
    counts = np.minimum(least[:, None] + np.arange(n + 1), n)
    more = np.argmax(np.where(np.isfinite(sums), sums + table[counts], -np.inf), axis=1)
    at = least + more
    steps = np.diff(table)
    low, high = np.append(steps, -np.inf)[at], np.append(np.inf, steps)[at]
    last = np.where(more > 0, -best[np.arange(leaves), np.maximum(more - 1, 0)], -np.inf)
    slope = np.maximum(low, last)
    return np.where(np.isfinite(slope), slope, np.where(np.isfinite(high), high, 0.0))
