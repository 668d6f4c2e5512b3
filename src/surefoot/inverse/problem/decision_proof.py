"""Why no decision of a linear set exceeds a value: multipliers of its rows, leaf by leaf of a tree over its whole unknowns.

    max over x of   -cost . x + table[h(x)]   subject to   low <= matrix x <= high,  lower <= x <= upper,  marked x_j whole

(see :mod:`surefoot.inverse.problem.augmented_terms`). For any multipliers y of the rows and any number s, with h(x) = base +
f . x,

    -cost . x + table[h(x)]  <=  sum_r max(y_r low_r, y_r high_r) + K(s) + s base + (-cost - matrix' y + s f) . x,

K(s) = max over h of table[h] - s h; the right-hand side is largest at ends of [lower, upper]. A tree splits the box by
x_j <= k or x_j >= k + 1 for whole x_j, so that its leaves hold every decision, and the largest bound of a leaf bounds all of
them. An unknown without a bound must have no slope towards that side, and nothing is proven where it has; a slope within the
error of its own summation counts as 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from surefoot.core.arrays import FloatArray, IntArray
from surefoot.core.row_blocks import summation_error
from surefoot.inverse.problem.decision_set import LinearSet


@dataclass(frozen=True, eq=False)
class Leaf:
    """Multipliers of the rows, the slope that stands for the table, and a point where the cost is quadratic."""

    multipliers: FloatArray
    slope: float = 0.0
    point: FloatArray | None = None


@dataclass(frozen=True, eq=False)
class Split:
    """x_column <= at in one part, x_column >= at + 1 in the other."""

    column: int
    at: float
    below: Tree
    above: Tree


Tree: TypeAlias = Leaf | Split


@dataclass(frozen=True, eq=False, repr=False)
class DecisionTrees:
    """Trees for all terms of a distance, one behind the other, as arrays: a split, its lower part, its upper part.

    Attributes
    ----------
    column : ndarray of shape (nodes,)
        The unknown that is split; -1 for a leaf.
    at : ndarray of shape (nodes,)
    multipliers : ndarray of shape (leaves, rows)
    slope : ndarray of shape (leaves,)
    points : ndarray of shape (leaves, unknowns)
        Where the cost is quadratic it is replaced by its tangent plane at this point; of linear costs there are none.
    """

    column: IntArray
    at: FloatArray
    multipliers: FloatArray
    slope: FloatArray
    points: FloatArray = field(default_factory=lambda: np.empty((0, 0)))

    @classmethod
    def of(cls, trees: Sequence[Tree]) -> DecisionTrees:
        """Nested trees as arrays."""
        column, at, leaves = [], [], []
        open_ = list(reversed(trees))
        while open_:
            node = open_.pop()
            if isinstance(node, Leaf):
                leaves.append(node)
            else:
                open_ += [node.above, node.below]
            column.append(-1 if isinstance(node, Leaf) else node.column)
            at.append(0.0 if isinstance(node, Leaf) else node.at)
        return cls(
            np.array(column, dtype=np.int32),
            np.array(at),
            np.array([leaf.multipliers for leaf in leaves]),
            np.array([leaf.slope for leaf in leaves]),
            np.array([leaf.point for leaf in leaves if leaf.point is not None], ndmin=2),
        )


# What proves a loss: a tree for every term of the distance. A number is what a loss is said not to exceed, without a proof.
LossProof: TypeAlias = DecisionTrees | float


@dataclass(frozen=True, eq=False)
class TermBound:
    """What is to be bounded: -cost . x + table[h(x)] over a set, h counting the 0/1 unknowns that differ from a response."""

    decisions: LinearSet
    cost: FloatArray
    table: FloatArray | None
    response: FloatArray

    @property
    def count_slope(self) -> FloatArray:
        """f of the module docstring, the slope of h."""
        return np.where(self.decisions.whole, 1.0 - 2.0 * np.rint(self.response), 0.0)

    def leaf(self, leaf: Leaf, lower: FloatArray, upper: FloatArray) -> float:
        """The bound of a leaf over its box."""
        decisions, multipliers = self.decisions, leaf.multipliers
        if multipliers.shape != decisions.high.shape or not np.isfinite(multipliers).all():
            return np.inf
        with np.errstate(invalid="ignore"):
            sides = np.where(multipliers > 0, multipliers * decisions.high, multipliers * decisions.low)
        total = float(np.where(multipliers == 0, 0.0, sides).sum())
        slope = -self.cost - decisions.matrix.T @ multipliers
        size = np.abs(self.cost) + np.abs(decisions.matrix).T @ np.abs(multipliers)
        if self.table is not None:
            steps = np.arange(self.table.size)
            base = float(np.rint(self.response)[decisions.whole].sum())
            total += float(np.max(self.table - leaf.slope * steps)) + leaf.slope * base
            slope = slope + leaf.slope * self.count_slope
            size = size + abs(leaf.slope)
        end = np.where(slope > 0, upper, lower)
        noise = np.abs(slope) <= summation_error(multipliers.size + 2) * size
        # What is left is infinite times a slope: no bound.
        still = (slope == 0) | (noise & ~np.isfinite(end))
        return total + float(np.sum(slope[~still] * end[~still]))

    def tree(self, tree: Tree) -> float:
        """The largest bound of all leaves, over boxes that hold every decision."""
        largest, open_ = -np.inf, [(tree, self.decisions.lower, self.decisions.upper)]
        while open_:
            node, lower, upper = open_.pop()
            if isinstance(node, Leaf):
                largest = max(largest, self.leaf(node, lower, upper))
                continue
            if not self.decisions.whole[node.column] or node.at != np.floor(node.at):
                return np.inf
            most, least = upper.copy(), lower.copy()
            most[node.column], least[node.column] = node.at, node.at + 1.0
            # A part with no whole value inside holds no decision.
            if node.at >= lower[node.column]:
                open_.append((node.below, lower, np.minimum(most, upper)))
            if node.at + 1.0 <= upper[node.column]:
                open_.append((node.above, np.maximum(least, lower), upper))
        return largest
