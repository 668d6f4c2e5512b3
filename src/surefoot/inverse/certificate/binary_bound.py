"""An upper bound on the loss of a set of many 0/1 unknowns, by branch and bound.

    max over x in {0, 1}^n, rows x <= sides, of   gain . f + table[number of flips],     f the unknowns that differ from x_hat

Breadth first, all nodes of a level at once: a node is pruned if some row cannot be satisfied any more, or if its Lagrangian
bound does not exceed the value to be proven; the rest is split. Multipliers decide how many nodes there are, never whether the
bound is right. Nodes are evaluated in doubles. Each value is a sum of a few terms per unknown, whose error is bounded once for
all of them and added to the result; rows are checked with their slack and the error of their sums.
"""

from __future__ import annotations

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.core.enclosure import Enclosure, sum_error

MAX_NODES = 400_000
# Steps on the Lagrangian dual at the root, and the factor on their length after one that did not lower it. Not tuned.
SUBGRADIENT_STEPS = 60
STEP_DECAY = 0.8


def binary_bound(
    rows: FloatArray, sides: FloatArray, response: FloatArray, cost: Enclosure, table: Enclosure, claimed: float
) -> float | None:
    """No decision exceeds this, near ``claimed`` if that is the largest value; None if there are too many nodes."""
    n, turn = response.size, 1.0 - 2.0 * response
    error = 4.0 * sum_error(n + len(sides) + 8)
    right = sides - rows @ response
    right = right + error * (np.abs(rows).sum(axis=1) + np.abs(sides))
    rows, gain, steps = rows * turn, -cost.mid * turn, table.mid
    goal = claimed + 1e-10 * max(1.0, abs(claimed))
    multipliers = _multipliers(rows, right, gain, steps, goal)
    size = cost.size.sum() + table.size.max() + multipliers @ (np.abs(rows).sum(axis=1) + np.abs(right)) + abs(goal)
    doubt = float((cost.high - cost.low).sum() + (table.high - table.low).max() + error * size)
    found = _search(rows, right, gain, steps, multipliers, goal)
    return None if found is None else float(np.nextafter(found + doubt, np.inf))


def _search(
    rows: FloatArray, right: FloatArray, gain: FloatArray, table: FloatArray, multipliers: FloatArray, goal: float
) -> float | None:
    reduced = gain - multipliers @ rows
    order = np.argsort(-np.abs(reduced), kind="stable")
    rows, gain, reduced = rows[:, order], gain[order], reduced[order]
    completion, plain_completion = _completions(reduced, table), _completions(gain, table)
    rest = np.cumsum(np.minimum(rows, 0.0)[:, ::-1], axis=1)[:, ::-1]
    sums, lagrangian, count = np.zeros(1), np.full(1, float(multipliers @ right)), np.zeros(1, dtype=np.int64)
    side = np.zeros((1, rows.shape[0]))
    for j in range(gain.size + 1):
        least = side + (rest[:, j] if j < gain.size else 0.0)
        keep = np.all(least <= right, axis=1)
        keep &= (lagrangian + completion[j, count] > goal) & (sums + plain_completion[j, count] > goal)
        sums, lagrangian, count, side = sums[keep], lagrangian[keep], count[keep], side[keep]
        if sums.size == 0 or j == gain.size:
            break
        if 2 * sums.size > MAX_NODES:
            return None
        side = np.vstack((side, side + rows[:, j]))
        sums = np.concatenate((sums, sums + gain[j]))
        lagrangian = np.concatenate((lagrangian, lagrangian + reduced[j]))
        count = np.concatenate((count, count + 1))
    return max(goal, float((sums + table[count]).max(initial=-np.inf)))


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
    for _ in range(SUBGRADIENT_STEPS):
        reduced = gain - multipliers @ rows
        order = np.argsort(-reduced)
        totals = np.concatenate(([0.0], np.cumsum(reduced[order]))) + table
        flips = int(np.argmax(totals))
        bound = float(totals[flips] + multipliers @ right)
        if bound < lowest:
            lowest, best = bound, multipliers
        else:
            step *= STEP_DECAY
        excess = rows[:, order[:flips]].sum(axis=1) - right
        norm = float(np.sum(np.where((multipliers > 0) | (excess > 0), excess, 0.0) ** 2))
        if norm == 0 or bound <= goal:
            break
        multipliers = np.maximum(0.0, multipliers + step * (bound - goal) / norm * excess)
    return best
