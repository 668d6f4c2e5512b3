"""The same plane by the shortest coefficients: for kernels with fewer features than samples.

At an optimum with slack coefficients are as large as the costs, whatever w is. Where samples are long, w = sum_s c_s phi(x_s)
is then a small difference of large numbers, of which doubles leave little. Of all coefficients with the same w those of least
length have terms no larger than w needs.
"""

from __future__ import annotations

import math

import numpy as np

from surefoot.chancesvm.problem.problem import ChanceSVMProblem
from surefoot.core.arrays import FloatArray


def short_coefficients(problem: ChanceSVMProblem, coefficients: FloatArray) -> FloatArray | None:
    """Coefficients of the same samples and nearly the same w; None where there are no explicit features, or too many."""
    used, width = np.flatnonzero(coefficients), problem.kernel.n_features(problem.samples.shape[1])
    if width is None or width >= used.size or problem.kernel.name == "landmarks":
        return None
    features = problem.kernel.features(problem.samples[used])
    units = np.abs(features).max(axis=0)
    features = features[:, units > 0] / units[units > 0]
    found = np.zeros(problem.n_samples)
    found[used] = np.linalg.lstsq(features.T, features.T @ coefficients[used], rcond=None)[0]
    if problem.kernel.centre is not None:
        found[used] = summing_to_0(found[used], features)
    return found


def summing_to_0(coefficients: FloatArray, features: FloatArray) -> FloatArray:
    """Nearly the same w by coefficients that add up to 0: the same plane, then, seen from any centre."""
    wide = np.column_stack((features, np.ones(len(features))))
    # Of all changes by which the sum falls by 1, the one that moves w least.
    change = np.linalg.lstsq(wide.T, np.concatenate((np.zeros(features.shape[1]), [1.0])), rcond=None)[0]
    return np.asarray(coefficients - coefficients.sum() / change.sum() * change)


def adding_up_to_0(coefficients: FloatArray) -> FloatArray:
    """Coefficients that add up to 0 exactly, if they nearly do; otherwise as they are.

    They become multiples of a power of 2, so that their sums have no rounding; the largest one takes what is left.
    """
    largest = float(np.abs(coefficients).max(initial=0.0))
    if not np.finfo(np.float64).tiny < largest < np.inf:
        return coefficients
    unit = math.ldexp(1.0, math.frexp(largest)[1] - 51)
    whole = np.round(coefficients / unit)
    left = math.fsum(whole.tolist())
    if abs(left) * unit > 1e-9 * float(np.abs(coefficients).sum()):
        return coefficients
    whole[int(np.abs(whole).argmax())] -= left
    return np.asarray(whole * unit)
