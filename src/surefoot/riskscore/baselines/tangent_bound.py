"""A lower bound on all cards from one gradient of the loss.

The loss L is convex. With g its gradient at any point p, every card with intercept b, points q and at most k columns has

    L(b, q) + penalty * #columns >= L(p) - g . p + min(g_0 b_low, g_0 b_high)
                                    - (sum of the k largest of max(0, -min(g_j low_j, g_j high_j) - penalty)).

Rules can only raise the left side. The bound is best where p minimises the loss over the relaxation in which k columns are used
by fractions; the l1 path passes near that point.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.riskscore.problem.problem import RiskScoreProblem

# Bounds the rounding error of a tangent's sums over rows and columns, relative to the size of what is added.
TANGENT_ERROR = 1e-13


@dataclass(frozen=True, eq=False)
class TangentProof:
    """The point (intercept first) at which the tangent of the loss proves a lower bound."""

    point: FloatArray


def tangent_bound(problem: RiskScoreProblem, point: FloatArray, loss: float, gradient: FloatArray) -> float:
    """The bound of the module docstring."""
    ends = gradient[0] * np.array([problem.intercept_lower, problem.intercept_upper], dtype=np.float64)
    lowest = np.minimum(gradient[1:] * problem.lower, gradient[1:] * problem.upper)
    gains = np.sort(np.maximum(-lowest - problem.penalty, 0.0))[::-1][: problem.max_features]
    size = abs(loss) + float(np.abs(gradient * point).sum() + np.abs(ends).max() + gains.sum())
    return float(loss - gradient @ point + ends.min() - gains.sum() - TANGENT_ERROR * size)
