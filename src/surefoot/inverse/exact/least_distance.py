"""The cost nearest to a centre under linear rows: the master of the incenter, by an active-set method.

    min ||x||_2   subject to   rows x >= sides

is nonnegative least squares (Lawson and Hanson, Chapter 23): with u >= 0 minimising ||(rows, sides)' u - (0, ..., 0, 1)'|| and
r the residual, x_j = -r_j / r_last, and u over -r_last are the multipliers; if the residual vanishes, the rows are infeasible.

Cuts are added as they are violated: the programme is solved over a working set of cuts, those that are violated by its solution
join the set, until there are none.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.optimize

from surefoot.core.arrays import FloatArray
from surefoot.core.outcome import Status
from surefoot.inverse.exact.cost_master import MasterPoint, PriorRows
from surefoot.inverse.exact.parameters import LeastDistanceParameters
from surefoot.inverse.problem.problem import Cuts, InverseProblem

PARAMETERS = LeastDistanceParameters()


class LeastDistance:
    """The master for cuts that only grow in number.

    At most as many cuts are active at the nearest cost as it has entries. So the next one is found from those and the new ones;
    others come back if it violates them.
    """

    def __init__(self, problem: InverseProblem) -> None:
        self.problem = problem
        self._prior = PriorRows.of(problem.prior)
        self._active = np.empty(0, dtype=np.bool_)

    def solve(self, cuts: Cuts) -> MasterPoint:
        """The master with these cuts, of which the earlier ones are the same as last time."""
        working = np.ones(cuts.size, dtype=np.bool_)
        working[: self._active.size] = self._active
        while True:
            found = _solve(self.problem, self._prior, cuts.slopes[working], cuts.offsets[working])
            if found.status is not Status.OPTIMAL:
                return found
            gains = cuts.slopes @ found.theta
            violated = gains + cuts.offsets > PARAMETERS.violation * (np.abs(gains) + cuts.offsets)
            if not np.any(violated & ~working):
                break
            working |= violated
        weights = np.zeros(cuts.size)
        weights[working] = found.weights
        self._active = weights > 0
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
    answer = shortest(rows, sides)
    m, n = offsets.size, prior.matrix.shape[0]
    if isinstance(answer, Status):
        return MasterPoint(center.copy(), np.zeros(m), np.zeros(n), 0.0, None, answer)
    away, multipliers = answer
    multipliers = problem.kappa * multipliers
    total_multiplier = float(multipliers[-1] - multipliers[-2]) if prior.total is not None else 0.0
    return MasterPoint(center + away, multipliers[:m], multipliers[m : m + n], total_multiplier, None, Status.OPTIMAL)


def shortest(rows: FloatArray, sides: FloatArray) -> tuple[FloatArray, FloatArray] | Status:
    """The shortest x with rows x >= sides, and the multipliers; why there is none, otherwise."""
    p = rows.shape[1]
    if len(rows) == 0:  # SciPy's nnls crashes on a matrix without columns
        return np.zeros(p), np.zeros(0)
    # Units of the data are none of the algorithm's business: rows of length 1, and x in units of their largest side.
    length = np.linalg.norm(rows, axis=1)
    length = np.where(length > 0, length, 1.0)
    unit = float(np.max(np.abs(sides / length), initial=0.0)) or 1.0
    matrix = np.vstack((rows.T / length, sides / length / unit))
    target = np.append(np.zeros(p), 1.0)
    try:
        weights, _ = scipy.optimize.nnls(matrix, target, maxiter=50 * max(matrix.shape))
    except RuntimeError:  # too many changes of the active set: degenerate rows, which an interior point does not mind
        return Status.ITERATION_LIMIT
    residual = matrix @ weights - target
    if np.linalg.norm(residual) <= PARAMETERS.residual:
        return Status.INFEASIBLE
    return np.asarray(residual[:p] / -residual[p] * unit), np.asarray(weights / -residual[p] * unit / length)


def nearest_to_zero(points: FloatArray) -> FloatArray:
    """Weights of the point nearest to 0 in the convex hull of points.

    Nonnegative least squares, of sum_k w_k p_k = 0 and sum_k w_k = 1, has the same active points: at its optimum the products
    of the sum with the active points are equal, and smaller with none. An active-set method finds it exactly.
    """
    rows = np.vstack((points.T, np.ones(len(points))))
    weights, _ = scipy.optimize.nnls(rows, np.append(np.zeros(points.shape[1]), 1.0))
    return np.asarray(weights / weights.sum(), dtype=np.float64)
