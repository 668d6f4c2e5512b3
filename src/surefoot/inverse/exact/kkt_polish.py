"""The last digits of a quadratic master: the KKT equations of what is active, as one linear system.

An interior point ends some digits short of what doubles hold, which shows where slopes are large. With A the cuts that have
weights, P the observations whose weights add up to 1/N, F the coordinates away from their bounds and R the active rows of the
prior set, the solution has

    kappa (theta_j - center_j) + sum_A w_k g_kj + sum_R mu_r M_rj + nu = 0      for j in F
    g_k . theta + d_k = beta_i(k)        for k in A, where beta_i = 0 unless i is in P
    sum of w_k over the cuts of i = 1/N  for i in P
    M_r theta = ceiling_r for r in R,    sum(theta) = total if one is given.

The system is equilibrated and solved by least squares, then refined with residuals in extended precision. Whether A, P, F and R
were guessed rightly is for the bounds to say.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.core.outcome import Status
from surefoot.inverse.exact.balanced_units import BalancedUnits
from surefoot.inverse.exact.cost_master import MasterPoint
from surefoot.inverse.exact.parameters import KktPolishParameters
from surefoot.inverse.problem.problem import Cuts, InverseProblem

PARAMETERS = KktPolishParameters()


def polished(
    problem: InverseProblem, cuts: Cuts, master: MasterPoint, active: float, units: BalancedUnits | None = None
) -> MasterPoint:
    """The solution of the KKT equations of what is active at a master's point: weights above a fraction of the largest."""
    prior, n, p = problem.prior, problem.n_examples, problem.n_features
    at = np.flatnonzero(master.weights > active * max(float(master.weights.max(initial=0.0)), 1e-300))
    sums = np.bincount(cuts.owners[at], weights=master.weights[at], minlength=n) * n
    full = np.flatnonzero((sums > 1.0 - PARAMETERS.full) & (not problem.hard))
    theta = np.clip(master.theta, prior.lower, prior.upper)
    sizes = np.ones(p) if units is None else units.cost
    reach = PARAMETERS.touching * max(1.0, float(np.abs(theta / sizes).max())) * sizes
    free = np.flatnonzero((theta - prior.lower > reach) & (prior.upper - theta > reach))
    theta = np.where(theta - prior.lower <= reach, prior.lower, np.where(prior.upper - theta <= reach, prior.upper, theta))
    rows = np.flatnonzero(master.row_multipliers > active * max(float(master.row_multipliers.max(initial=0.0)), 1e-300))
    matrix = np.vstack((cuts.slopes[at], prior.matrix[rows], np.ones((int(prior.total is not None), p))))
    sides = np.concatenate((-cuts.offsets[at], prior.ceiling[rows], [] if prior.total is None else [prior.total]))
    a, b, m = free.size, full.size, len(matrix)
    system = np.zeros((a + b + m, a + b + m))
    system[np.arange(a), np.arange(a)] = problem.kappa
    system[:a, a + b :] = matrix[:, free].T
    system[a + b :, :a] = matrix[:, free]
    for place, owner in enumerate(full.tolist()):
        mine = np.flatnonzero(cuts.owners[at] == owner)
        system[a + place, a + b + mine] = 1.0
        system[a + b + mine, a + place] = -1.0
    fixed = np.where(np.isin(np.arange(p), free), 0.0, theta)
    right = np.concatenate((problem.kappa * problem.regularizer.center[free], np.full(b, 1.0 / n), sides - matrix @ fixed))
    try:
        found = _refined(system, right)
    except np.linalg.LinAlgError:  # nothing that a system of such sizes could add
        return replace(master, status=Status.NUMERICAL_ERROR)
    theta = theta.copy()
    theta[free] = found[:a]
    weights, prices = np.zeros(cuts.size), np.zeros(len(prior.matrix))
    weights[at] = np.maximum(found[a + b : a + b + at.size], 0.0)
    prices[rows] = np.maximum(found[a + b + at.size : a + b + at.size + rows.size], 0.0)
    total = float(found[-1]) if prior.total is not None else 0.0
    return replace(master, theta=theta, weights=weights, row_multipliers=prices, total_multiplier=total, status=Status.OPTIMAL)


def _refined(system: FloatArray, right: FloatArray) -> FloatArray:
    """Least squares of an equilibrated system, with a few steps of refinement."""
    rows, columns = np.ones(len(system)), np.ones(len(system))
    for _ in range(PARAMETERS.equilibrations):
        # Rows of zeros, as of a copy of the response, stay as they are.
        largest = (np.abs(system) * rows[:, None] * columns).max(axis=1, initial=0.0)
        rows /= np.sqrt(np.where(largest > 0, largest, 1.0))
        largest = (np.abs(system) * rows[:, None] * columns).max(axis=0, initial=0.0)
        columns /= np.sqrt(np.where(largest > 0, largest, 1.0))
    inverse = np.linalg.pinv(system * rows[:, None] * columns, rcond=PARAMETERS.rank)
    exact, found = system.astype(np.longdouble), np.zeros(len(system), dtype=np.longdouble)
    for _ in range(PARAMETERS.refinements):
        residual = (right - exact @ found) * rows
        found = found + columns * (inverse @ residual.astype(np.float64))
    return np.asarray(found, dtype=np.float64)
