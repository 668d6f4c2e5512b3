"""An upper bound on what any decision adds to a loss, from the raw arrays alone.

    max over x in X of   <theta, phi(x_hat) - phi(x)> + weight d(x_hat, x)

Lists, and the vectors of a few 0/1 unknowns, are evaluated one by one. Other sets of 0/1 unknowns are searched by branch and
bound, breadth first, all nodes of a level at once: a node is pruned if some row cannot be satisfied any more, or if its
Lagrangian bound does not exceed the value to be proven; the rest is split. The multipliers only decide how many nodes there
are, never whether the bound is right.

Everything else needs multipliers from the solver, which prove what they prove by weak duality, whoever made them: a tree for
linear sets with continuous or larger whole unknowns (:mod:`surefoot.inverse.problem.decision_proof`), those of the rows for
quadratic costs (:mod:`surefoot.inverse.problem.quadratic_terms`), and that of the ball for ellipsoids
(:mod:`surefoot.inverse.problem.trust_region_dual`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from surefoot.core.arrays import FloatArray, RowArray
from surefoot.inverse.certificate.listed_decisions import zero_one_vectors
from surefoot.inverse.certificate.parameters import DecisionBoundParameters
from surefoot.inverse.problem.augmented_terms import distance_terms
from surefoot.inverse.problem.decision_proof import LossProof, TermBound, Tree
from surefoot.inverse.problem.decision_set import EllipsoidSet, LinearSet, ListedSet
from surefoot.inverse.problem.distance import Distance
from surefoot.inverse.problem.ellipsoid_decisions import EllipsoidDecisions
from surefoot.inverse.problem.hypothesis import LinearFeatures, QuadraticFeatures
from surefoot.inverse.problem.problem import Example
from surefoot.inverse.problem.quadratic_terms import quadratic_bound

PARAMETERS = DecisionBoundParameters()


def decision_bound(
    example: Example,
    theta: FloatArray,
    distance: Distance,
    claimed: float,
    *,
    weight: float = 1.0,
    proof: LossProof | None = None,
) -> float | None:
    """A bound that no decision exceeds, near ``claimed`` if that is the largest value; None where there is no way to tell."""
    decisions, features = example.instance.decisions, example.instance.features
    if isinstance(decisions, ListedSet):
        points = decisions.points
        return float((example.slopes(points) @ theta + weight * example.distances(distance, points)).max(initial=-np.inf))
    if isinstance(decisions, EllipsoidSet):
        return _ellipsoid_bound(example, theta, distance, weight, proof)
    if isinstance(decisions, LinearSet) and isinstance(features, QuadraticFeatures):
        return quadratic_bound(example, theta, distance, proof) if isinstance(proof, np.ndarray) and weight == 1.0 else None
    if not (isinstance(decisions, LinearSet) and isinstance(features, LinearFeatures)):
        return None
    if not decisions.binary.all():
        if proof is None or isinstance(proof, np.ndarray) or weight != 1.0:
            return None
        return _tree_bound(example, theta, distance, proof)
    response = example.response
    rounded = np.rint(response)
    near = bool(np.all(np.abs(response - rounded) <= PARAMETERS.binary_rounding))
    binary = near and bool(np.isin(rounded, (0.0, 1.0)).all())
    cost = features.linear_cost(theta)
    n = cost.size
    counts = np.arange(n + 1, dtype=np.float64)
    if binary:
        tables = {"l1": counts, "squared-l2": counts, "l2": np.sqrt(counts), "none": 0 * counts}
        table = weight * tables.get(distance.integer, np.minimum(counts, 1.0))
        gain, start, base = -cost * (1.0 - 2.0 * rounded), rounded, 0.0
    elif distance.integer in ("l1", "squared-l2", "none"):
        power = {"l1": 1, "squared-l2": 2, "none": 0}[distance.integer]
        apart = [np.abs(response - value) ** power if power else np.zeros(n) for value in (0.0, 1.0)]
        gain, start = -cost + weight * (apart[1] - apart[0]), np.zeros(n)
        table, base = np.zeros(n + 1), float(cost @ response + weight * apart[0].sum())
    else:
        return None
    return _searched(decisions, gain, table, start, claimed + PARAMETERS.value_rounding - base, base)


def _ellipsoid_bound(
    example: Example, theta: FloatArray, distance: Distance, weight: float, proof: LossProof | None
) -> float | None:
    """The weak-duality bound of the multiplier that a proof holds, or None."""
    if not (isinstance(proof, np.ndarray) and proof.shape == (1,)):
        return None
    bound = EllipsoidDecisions(example.instance).programme(example, theta, distance, weight).bound(float(proof[0]))
    return bound if bound < np.inf else None


def _tree_bound(example: Example, theta: FloatArray, distance: Distance, trees: Sequence[Tree]) -> float | None:
    """The bound that trees of multipliers prove, one for every term of the distance."""
    decisions, features = example.instance.decisions, example.instance.features
    assert isinstance(decisions, LinearSet) and isinstance(features, LinearFeatures)
    cost = features.linear_cost(theta)
    own = float(cost @ example.response)
    terms = distance_terms(decisions, example.response, distance)
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
    rows, sides = decisions.inequalities()
    right = sides - rows @ start + PARAMETERS.row_rounding * np.maximum(1.0, np.abs(rows).max(axis=1, initial=0.0))
    rows = rows * (1.0 - 2.0 * start)
    if gain.size <= PARAMETERS.max_enumerated:
        flips, count = _flips(gain.size)
        values = flips @ gain + table[count]
        over = values > goal
        allowed = np.all(flips[over] @ rows.T <= right, axis=1)
        return float(np.max(values[over][allowed], initial=goal)) + base
    multipliers = _multipliers(rows, right, gain, table, goal)
    reduced = gain - multipliers @ rows
    order = np.argsort(-np.abs(reduced), kind="stable")
    rows, gain, reduced = rows[:, order], gain[order], reduced[order]
    completion, plain_completion = _completions(reduced, table), _completions(gain, table)
    rest = np.cumsum(np.minimum(rows, 0.0)[:, ::-1], axis=1)[:, ::-1]
    sums, lagrangian, count = np.zeros(1), np.full(1, float(multipliers @ right)), np.zeros(1, dtype=np.int64)
    side = np.zeros((1, rows.shape[0]))
    exceeded = -np.inf
    for j in range(gain.size + 1):
        least = side + (rest[:, j] if j < gain.size else 0.0)
        keep = np.all(least <= right, axis=1)
        keep &= (lagrangian + completion[j, count] > goal) & (sums + plain_completion[j, count] > goal)
        sums, lagrangian, count, side = sums[keep], lagrangian[keep], count[keep], side[keep]
        if sums.size == 0 or j == gain.size:
            break
        if 2 * sums.size > PARAMETERS.max_nodes:
            return None
        side = np.vstack((side, side + rows[:, j]))
        sums = np.concatenate((sums, sums + gain[j]))
        lagrangian = np.concatenate((lagrangian, lagrangian + reduced[j]))
        count = np.concatenate((count, count + 1))
    if sums.size:
        exceeded = float((sums + table[count]).max())
    return max(goal, exceeded) + base


@lru_cache(maxsize=PARAMETERS.max_enumerated + 1)
def _flips(n: int) -> tuple[FloatArray, RowArray]:
    """All vectors of zeros and ones, and how many ones they have."""
    flips = zero_one_vectors(n)
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


def _multipliers(rows: FloatArray, right: FloatArray, gain: FloatArray, table: FloatArray, goal: float) -> FloatArray:
    """Multipliers of the rows with a small Lagrangian bound at the root, by Polyak's subgradient steps towards the goal."""
    best = multipliers = np.zeros(right.size)
    lowest, step = np.inf, 1.0
    for _ in range(PARAMETERS.subgradient_steps):
        reduced = gain - multipliers @ rows
        order = np.argsort(-reduced)
        totals = np.concatenate(([0.0], np.cumsum(reduced[order]))) + table
        flips = int(np.argmax(totals))
        bound = float(totals[flips] + multipliers @ right)
        if bound < lowest:
            lowest, best = bound, multipliers
        else:
            step *= PARAMETERS.step_decay
        excess = rows[:, order[:flips]].sum(axis=1) - right
        norm = float(np.sum(np.where((multipliers > 0) | (excess > 0), excess, 0.0) ** 2))
        if norm == 0 or bound <= goal:
            break
        multipliers = np.maximum(0.0, multipliers + step * (bound - goal) / norm * excess)
    return best
