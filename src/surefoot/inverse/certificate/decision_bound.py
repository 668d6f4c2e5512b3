"""An upper bound on what any decision adds to a loss, from the raw arrays alone.

    max over x in X of   <theta, phi(x_hat) - phi(x)> + weight d(x_hat, x)

Over an ellipsoid a multiplier proves the bound (:mod:`surefoot.inverse.problem.trust_region`). Lists, and the vectors of a few
0/1 unknowns, are priced one by one. Other sets of 0/1 unknowns are searched breadth first, all nodes of a level at once: a node
leaves a row beyond repair, or, with rows paid for by multipliers, cannot exceed the value to be proven; the rest is split. The
multipliers only decide how many nodes there are, never whether the bound is right. Linear sets with continuous or larger whole
unknowns need a tree of multipliers from the solver (:mod:`surefoot.inverse.problem.decision_proof`), and quadratic costs prices
(:mod:`surefoot.inverse.problem.quadratic_terms`); both prove what they prove, whoever made them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from surefoot.core.arrays import FloatArray, RowArray
from surefoot.inverse.certificate.listed_decisions import ROW_ROUNDING
from surefoot.inverse.problem.augmented_terms import Term, distance_terms
from surefoot.inverse.problem.decision_proof import LossProof, TermBound, Tree
from surefoot.inverse.problem.decision_set import EllipsoidSet, LinearSet, ListedSet
from surefoot.inverse.problem.distance import Distance
from surefoot.inverse.problem.ellipsoid_decisions import EllipsoidDecisions
from surefoot.inverse.problem.hypothesis import LinearFeatures, QuadraticFeatures
from surefoot.inverse.problem.problem import Example
from surefoot.inverse.problem.quadratic_terms import curved_bound

# Levels with more nodes than this are too much for memory.
MOST_NODES = 400_000
# A bound is that much above what was claimed: sums in another order.
ROUNDING = 1e-10
# Up to so many 0/1 unknowns listing all vectors is no slower than a search.
MOST_LISTED = 12
SUBGRADIENT_STEPS = 60


def decision_bound(
    example: Example,
    theta: FloatArray,
    distance: Distance,
    claimed: float,
    *,
    weight: float = 1.0,
    trees: LossProof | None = None,
) -> float | None:
    """A bound that no decision exceeds, near ``claimed`` if that is the largest value; None where there is no way to tell."""
    decisions, features = example.instance.decisions, example.instance.features
    if isinstance(decisions, ListedSet):
        points = decisions.points
        return float((example.slopes(points) @ theta + weight * example.distances(distance, points)).max(initial=-np.inf))
    if isinstance(decisions, EllipsoidSet):
        return EllipsoidDecisions(example.instance).best(example, theta, distance, weight)[1]
    if isinstance(decisions, LinearSet) and isinstance(features, QuadraticFeatures):
        return curved_bound(example, theta, distance, trees) if isinstance(trees, np.ndarray) and weight == 1.0 else None
    if not (isinstance(decisions, LinearSet) and isinstance(features, LinearFeatures)):
        return None
    if not decisions.binary.all():
        if trees is None or isinstance(trees, np.ndarray) or weight != 1.0:
            return None
        return _by_trees(example, theta, distance, trees)
    response = example.response
    settled = np.rint(response)
    binary = bool(np.all(np.abs(response - settled) <= 1e-6) and np.isin(settled, (0.0, 1.0)).all())
    cost = features.linear_cost(theta)
    n = cost.size
    counts = np.arange(n + 1, dtype=np.float64)
    if binary:
        tables = {"l1": counts, "squared-l2": counts, "l2": np.sqrt(counts), "none": 0 * counts}
        table = weight * tables.get(distance.integer, np.minimum(counts, 1.0))
        gain, start, base = -cost * (1.0 - 2.0 * settled), settled, 0.0
    elif distance.integer in ("l1", "squared-l2", "none"):
        power = {"l1": 1, "squared-l2": 2, "none": 0}[distance.integer]
        far = [np.abs(response - value) ** power if power else np.zeros(n) for value in (0.0, 1.0)]
        gain, start = -cost + weight * (far[1] - far[0]), np.zeros(n)
        table, base = np.zeros(n + 1), float(cost @ response + weight * far[0].sum())
    else:
        return None
    return _searched(decisions, gain, table, start, claimed + ROUNDING - base, base)


def _by_trees(example: Example, theta: FloatArray, distance: Distance, trees: Sequence[Tree]) -> float | None:
    """The bound that trees of multipliers prove, one for every term of the distance."""
    decisions, features = example.instance.decisions, example.instance.features
    assert isinstance(decisions, LinearSet) and isinstance(features, LinearFeatures)
    cost = features.linear_cost(theta)
    own = float(cost @ example.response)
    plain = [Term(np.zeros(cost.size), 0.0)]
    terms = plain if distance.absent else distance_terms(decisions, example.response, distance)
    if len(terms) != len(trees):
        return None
    bounds = [
        own + term.constant + TermBound(decisions, cost + term.tilt, term.table, example.response).tree(tree)
        for term, tree in zip(terms, trees, strict=True)
    ]
    return max(bounds)


def _searched(
    decisions: LinearSet, gain: FloatArray, table: FloatArray, start: FloatArray, goal: float, base: float
) -> float | None:
    """Whether no flips from ``start`` exceed the goal; the bound that was proven, or the largest value if it is exceeded."""
    above, below = np.isfinite(decisions.high), np.isfinite(decisions.low)
    rows = np.vstack((decisions.matrix[above], -decisions.matrix[below]))
    sides = np.concatenate((decisions.high[above], -decisions.low[below]))
    room = sides - rows @ start + ROW_ROUNDING * np.maximum(1.0, np.abs(rows).max(axis=1, initial=0.0))
    rows = rows * (1.0 - 2.0 * start)
    if gain.size <= MOST_LISTED:
        flips, count = _flips(gain.size)
        values = flips @ gain + table[count]
        over = values > goal
        allowed = np.all(flips[over] @ rows.T <= room, axis=1)
        return float(np.max(values[over][allowed], initial=goal)) + base
    prices = _prices(rows, room, gain, table, goal)
    priced = gain - prices @ rows
    order = np.argsort(-np.abs(priced), kind="stable")
    rows, gain, priced = rows[:, order], gain[order], priced[order]
    completion, plain_completion = _completions(priced, table), _completions(gain, table)
    rest = np.cumsum(np.minimum(rows, 0.0)[:, ::-1], axis=1)[:, ::-1]
    sums, dear, count = np.zeros(1), np.full(1, float(prices @ room)), np.zeros(1, dtype=np.int64)
    side = np.zeros((1, rows.shape[0]))
    exceeded = -np.inf
    for j in range(gain.size + 1):
        least = side + (rest[:, j] if j < gain.size else 0.0)
        keep = np.all(least <= room, axis=1)
        keep &= (dear + completion[j, count] > goal) & (sums + plain_completion[j, count] > goal)
        sums, dear, count, side = sums[keep], dear[keep], count[keep], side[keep]
        if sums.size == 0 or j == gain.size:
            break
        if 2 * sums.size > MOST_NODES:
            return None
        side = np.vstack((side, side + rows[:, j]))
        sums, dear = np.concatenate((sums, sums + gain[j])), np.concatenate((dear, dear + priced[j]))
        count = np.concatenate((count, count + 1))
    if sums.size:
        exceeded = float((sums + table[count]).max())
    return max(goal, exceeded) + base


@lru_cache(maxsize=MOST_LISTED + 1)
def _flips(n: int) -> tuple[FloatArray, RowArray]:
    """All vectors of zeros and ones, and how many ones they have."""
    flips = np.asarray((np.arange(2**n)[:, None] >> np.arange(n)) & 1, dtype=np.float64)
    return flips, flips.sum(axis=1).astype(np.int64)


def _completions(gain: FloatArray, table: FloatArray) -> FloatArray:
    """[j, h]: the most that coordinates from j on, and the table, can add after h flips."""
    n = gain.size
    found = np.full((n + 1, n + 1), -np.inf)
    for j in range(n + 1):
        best = np.concatenate(([0.0], np.cumsum(np.sort(gain[j:])[::-1])))
        for h in range(j + 1):
            found[j, h] = np.max(best + table[h : h + best.size])
    return found


def _prices(rows: FloatArray, room: FloatArray, gain: FloatArray, table: FloatArray, goal: float) -> FloatArray:
    """Multipliers of the rows for which the bound at the root is small, by subgradient steps towards the goal."""
    best = prices = np.zeros(room.size)
    lowest, step = np.inf, 1.0
    for _ in range(SUBGRADIENT_STEPS):
        priced = gain - prices @ rows
        order = np.argsort(-priced)
        totals = np.concatenate(([0.0], np.cumsum(priced[order]))) + table
        flips = int(np.argmax(totals))
        bound = float(totals[flips] + prices @ room)
        if bound < lowest:
            lowest, best = bound, prices
        else:
            step *= 0.8
        excess = rows[:, order[:flips]].sum(axis=1) - room
        norm = float(np.sum(np.where((prices > 0) | (excess > 0), excess, 0.0) ** 2))
        if norm == 0 or bound <= goal:
            break
        prices = np.maximum(0.0, prices + step * (bound - goal) / norm * excess)
    return best
