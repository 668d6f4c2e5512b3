"""What any coefficients prove about a chance-constrained SVM.

The dual of :mod:`surefoot.chancesvm.problem.problem` bounds the optimum at every feasible point. Coefficients that are not
feasible are brought to a feasible point near them:

- a batch whose y_i sum_s c_s is not positive is left out; one above C_i is scaled down to it;
- deviations from the mean that are longer than the ellipsoid allows are shortened to it;
- the class with the larger sum is scaled down, so that all coefficients add up to 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from surefoot.chancesvm.problem.problem import ChanceSVMProblem
from surefoot.core.arrays import FloatArray


@dataclass(frozen=True, eq=False)
class FeasibleMix:
    """A feasible point of the dual.

    Attributes
    ----------
    coefficients : ndarray of shape (n_samples,)
        c_s.
    weights : ndarray of shape (n_batches,)
        alpha_i.
    reserve : float
        R, by how much radii let the mix shorten w.
    """

    coefficients: FloatArray
    weights: FloatArray
    reserve: float

    def bound(self, values: FloatArray) -> float:
        """The dual's objective, given the values sum_t c_t k(x_s, x_t): no plane has an objective below it."""
        length = np.sqrt(max(float(self.coefficients @ values), 0.0))
        return float(self.weights.sum()) - 0.5 * float(max(0.0, length - self.reserve)) ** 2


def feasible_mix(problem: ChanceSVMProblem, coefficients: FloatArray) -> FeasibleMix:
    """A feasible dual point near the coefficients."""
    signs = np.repeat(problem.labels, problem.sizes)
    given = problem.sums(signs * coefficients)
    weights = np.clip(given, 0.0, problem.costs)
    scale = np.where(given > 0, weights / np.where(given > 0, given, 1.0), 0.0)
    # tau_i sqrt(p_s) g_s of the module docstring of the problem: what is left beside the mean.
    beside = np.repeat(scale, problem.sizes) * signs * coefficients - np.repeat(weights, problem.sizes) * problem.weights
    lengths = np.sqrt(problem.sums(beside * beside / problem.weights))
    allowed = problem.tau * weights
    beside *= np.repeat(np.where(lengths > allowed, allowed / np.where(lengths > 0, lengths, 1.0), 1.0), problem.sizes)
    # Coordinates beside the mean add up to 0; rounding may have left something.
    beside -= np.repeat(problem.sums(beside), problem.sizes) * problem.weights
    positive, negative = float(weights[problem.labels > 0].sum()), float(weights[problem.labels < 0].sum())
    least, own = min(positive, negative), np.where(problem.labels > 0, positive, negative)
    balance = np.where(own > 0, least / np.where(own > 0, own, 1.0), 0.0)
    mixed = signs * np.repeat(balance, problem.sizes) * (np.repeat(weights, problem.sizes) * problem.weights + beside)
    weights = balance * weights
    coordinates = balance * np.minimum(lengths, allowed) / problem.tau
    spare = np.sqrt(np.maximum(weights * weights - coordinates * coordinates, 0.0))
    reserve = float(problem.tau * np.sqrt(problem.covariance_radius) @ spare + problem.mean_radius @ weights)
    return FeasibleMix(mixed, weights, reserve)
