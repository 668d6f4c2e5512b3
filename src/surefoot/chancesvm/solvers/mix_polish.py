"""Polish of a dual point: the same weights but for the last digits, and a point of feature space that is w to all digits.

Where samples are long and overlap, slack is all that counts: weights alpha_i are as large as the costs C_i, and the points that
they mix cancel but for w. An error of 1e-9 in the weights is one of 1e-9 C_i ||mu_i|| in g = sum_s c_s phi(x_s), and the bound
has its square. So the mix first gives up a small fraction rho of all weights, and a second one of what lies beside the means;
then coefficients are corrected to  F' c = w, 1' c = 0  with F the coordinates of the samples, by the shortest change d in the
units of what batches have to spare,

    min sum_s (d_s / D_s)^2   subject to   F' (c + d) = w,  1' (c + d) = 0,     D_s = p_s min(alpha_i, C_i - alpha_i).
"""

from __future__ import annotations

import numpy as np

from surefoot.chancesvm.problem.feasible_mix import feasible_mix
from surefoot.chancesvm.problem.problem import ChanceSVMProblem, EllipsoidMix
from surefoot.chancesvm.solvers.short_coefficients import adding_up_to_0
from surefoot.core.arrays import FloatArray

# Coordinates beyond which nothing is polished: a dense least-squares problem of as many columns.
MOST_COORDINATES = 1000
# Bounds eigenvalues of the Gram matrix over the largest: those below are rounding and leave the coordinates.
RANK_TOLERANCE = 1e-15
CORRECTIONS = 3


def polished_mix(
    problem: ChanceSVMProblem, mix: EllipsoidMix, plane: FloatArray, fraction: float
) -> tuple[EllipsoidMix, float] | None:
    """A mix near the given one whose point is the w of a plane, given by its coefficients, and about its bound.

    ``fraction`` is rho: by how much the bound is lower. None for too many coordinates.
    """
    coordinates = _coordinates(problem)
    if coordinates is None:
        return None
    features, lengths = coordinates
    feasible, signs = feasible_mix(problem, mix.coefficients), np.repeat(problem.labels, problem.sizes)
    weights = np.repeat(feasible.weights, problem.sizes)
    mean = signs * weights * problem.weights
    found = (1.0 - fraction) * (mean + (1.0 - fraction) * (feasible.coefficients - mean))
    spare = np.minimum(weights, np.repeat(problem.costs, problem.sizes) - (1.0 - fraction) * weights)
    units = problem.weights * np.maximum(spare, 0.0)
    system = np.column_stack((features, np.ones(len(features))))
    target = np.append(features.T @ plane, 0.0)
    for _ in range(CORRECTIONS):
        change = np.linalg.lstsq((units[:, None] * system).T, target - system.T @ found, rcond=None)[0]
        found = found + units * change
    if not np.isfinite(found).all():
        return None
    found = adding_up_to_0(found)
    point = lengths * (features.T @ found)
    return EllipsoidMix(found), float(signs @ found - 0.5 * (point @ point))


def _coordinates(problem: ChanceSVMProblem) -> tuple[FloatArray, FloatArray] | None:
    """Coordinates of the samples, each over its largest, and these; None if there are too many."""
    count = problem.kernel.n_features(problem.samples.shape[1])
    if min(problem.n_samples, problem.n_samples if count is None else count) > MOST_COORDINATES:
        return None
    if count is not None and count <= MOST_COORDINATES:
        features = problem.kernel.features(problem.samples)
    else:
        values, vectors = np.linalg.eigh(problem.kernel_matrix())
        positive = values > RANK_TOLERANCE * values[-1]
        features = vectors[:, positive] * np.sqrt(values[positive])
    largest = np.abs(features).max(axis=0, initial=0.0)
    return features[:, largest > 0] / largest[largest > 0], largest[largest > 0]
