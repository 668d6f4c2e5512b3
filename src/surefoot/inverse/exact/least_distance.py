"""The cost nearest to a centre that keeps to linear rows: the master of the incenter, by an active-set method.

    min ||x||_2   subject to   rows x >= sides

is least squares without signs (Lawson and Hanson, Chapter 23): with u >= 0 minimising ||(rows, sides)' u - (0, ..., 0, 1)'||
and r the residual, x_j = -r_j / r_last, and u over -r_last are the multipliers; if the residual vanishes, nothing keeps to all
rows.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.optimize

from surefoot.core.arrays import FloatArray
from surefoot.core.outcome import Status
from surefoot.inverse.exact.cost_master import MasterPoint, PriorRows
from surefoot.inverse.problem.problem import Cuts, InverseProblem

# A residual this small, of a right-hand side of length 1, has vanished: costs would have to be longer than its inverse.
VANISHED = 1e-9
# How far the nearest cost may miss a decision it was found without, per unit of its own terms: rounding.
MISSED = 1e-12


class LeastDistance:
    """The master for cuts that only grow in number.

    At most as many cuts hold the nearest cost as it has entries. So the next one is found from those and the new ones, and all
    others are looked at once it is known; cuts that it misses come back.
    """

    def __init__(self, problem: InverseProblem) -> None:
        self.problem = problem
        self._prior = PriorRows.of(problem.prior)
        self._held = np.empty(0, dtype=np.bool_)

    def solve(self, cuts: Cuts) -> MasterPoint:
        """The master with these cuts, of which the earlier ones are the same as last time."""
        working = np.ones(cuts.size, dtype=np.bool_)
        working[: self._held.size] = self._held
        while True:
            found = _solve(self.problem, self._prior, cuts.slopes[working], cuts.offsets[working])
            if found.ended is not Status.OPTIMAL:
                return found
            gains = cuts.slopes @ found.theta
            missed = gains + cuts.offsets > MISSED * (np.abs(gains) + cuts.offsets)
            if not np.any(missed & ~working):
                break
            working |= missed
        weights = np.zeros(cuts.size)
        weights[working] = found.weights
        self._held = weights > 0
        return replace(found, weights=weights)


def solve_least_distance(problem: InverseProblem, cuts: Cuts) -> MasterPoint:
    """The master with losses that must not be above 0 and a Euclidean regularizer."""
    return _solve(problem, PriorRows.of(problem.prior), cuts.slopes, cuts.offsets)


def _solve(problem: InverseProblem, known: PriorRows, slopes: FloatArray, offsets: FloatArray) -> MasterPoint:
    prior, center = problem.prior, problem.regularizer.center
    total = known.equal[:1] if prior.total is not None else known.equal[:0]
    value = known.equal_sides[: len(total)]
    rows = np.concatenate((-slopes, -known.rows, total, -total))
    sides = np.concatenate((offsets, -known.sides, value, -value)) - rows @ center
    answer = nearest(rows, sides)
    m, n = offsets.size, prior.matrix.shape[0]
    if answer is None:
        return MasterPoint(center.copy(), np.zeros(m), np.zeros(n), 0.0, None, Status.STALLED)
    away, multipliers = answer
    multipliers = problem.kappa * multipliers
    price = float(multipliers[-1] - multipliers[-2]) if prior.total is not None else 0.0
    return MasterPoint(center + away, multipliers[:m], multipliers[m : m + n], price, None, Status.OPTIMAL)


def nearest(rows: FloatArray, sides: FloatArray) -> tuple[FloatArray, FloatArray] | None:
    """The shortest x with rows x >= sides, and the multipliers; None if there is none."""
    p = rows.shape[1]
    matrix = np.vstack((rows.T, sides))
    wanted = np.append(np.zeros(p), 1.0)
    try:
        weights, _ = scipy.optimize.nnls(matrix, wanted, maxiter=50 * max(matrix.shape))
    except RuntimeError:  # too many changes of the active set: ties, which an interior point does not mind
        return None
    residual = matrix @ weights - wanted
    if np.linalg.norm(residual) <= VANISHED:
        return None
    return np.asarray(residual[:p] / -residual[p]), np.asarray(weights / -residual[p])


def nearest_to_zero(points: FloatArray) -> FloatArray:
    """Weights of the point nearest to 0 in the convex hull of points.

    Least squares without signs, of sum_k w_k p_k = 0 and sum_k w_k = 1, has the same active points: at its optimum the products
    of the sum with the active points are equal, and smaller with none. An active-set method finds it exactly.
    """
    rows = np.vstack((points.T, np.ones(len(points))))
    weights, _ = scipy.optimize.nnls(rows, np.append(np.zeros(points.shape[1]), 1.0))
    return np.asarray(weights / weights.sum(), dtype=np.float64)
