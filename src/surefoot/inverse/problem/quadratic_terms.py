"""Quadratic costs of continuous unknowns y, for every value of the whole ones z, and why no decision exceeds a value.

    max over y of   -y' Q y - (c + h) . y    subject to    A y <= b = side - B z,

for every z, with h a signed unit vector where the distance measures y, and 0 otherwise. Any multipliers lam >= 0 of the rows
bound it by weak duality: with v = c + h + A' lam,

    -y' Q y - (c + h) . y   <=   lam . b - y' Q y - v . y.

Along an eigenvector of Q with value w > 0 the last two terms are v_e^2 / (4 w) at most, v_e being the component of v. What
remains of v, where Q has no curvature, is largest at the ends of the bounds of y. An unknown without a bound must have no such
remainder, and nothing is proven where it has; one within the error of its own summation counts as 0. Where b allows no y,
large multipliers that A' carries to (almost) 0 say so by a bound much below all others.
"""

from __future__ import annotations

import itertools

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.core.row_blocks import summation_error
from surefoot.exceptions import UnsupportedProblemError
from surefoot.inverse.problem.decision_set import LinearSet
from surefoot.inverse.problem.distance import Distance
from surefoot.inverse.problem.hypothesis import QuadraticFeatures
from surefoot.inverse.problem.problem import Instance

# Values of the whole unknowns, each of which takes a programme of its own; a limit of the format, not of the method.
MAX_VALUES = 4096
# Eigenvalues below this fraction of the largest are left out, which only weakens the bound.
CURVATURE_FRACTION = 1e-10


def whole_values(instance: Instance) -> FloatArray:
    """Every value of the whole unknowns within their bounds."""
    decisions = instance.decisions
    assert isinstance(decisions, LinearSet)
    low, high = decisions.lower[decisions.whole], decisions.upper[decisions.whole]
    spans = [np.arange(a, b + 1) for a, b in zip(low, high, strict=True)]
    count = np.prod([span.size for span in spans], dtype=np.float64)
    if count > MAX_VALUES:
        raise UnsupportedProblemError(
            f"observation {instance.index}: whole unknowns have {count:.0f} values, more than the {MAX_VALUES} that a "
            "quadratic cost can be learned with."
        )
    return np.array(list(itertools.product(*spans)), dtype=np.float64).reshape(int(count), low.size)


def continuous_rows(decisions: LinearSet) -> tuple[FloatArray, FloatArray, FloatArray]:
    """A, B and c of A y + B z <= c, bounds of y included."""
    whole = decisions.whole
    u = int((~whole).sum())
    rows, sides = decisions.inequalities()
    lower, upper = decisions.lower[~whole], decisions.upper[~whole]
    eye = np.eye(u)
    most, least = np.isfinite(upper), np.isfinite(lower)
    first = np.vstack((rows[:, ~whole], eye[most], -eye[least]))
    second = np.vstack((rows[:, whole], np.zeros((int(most.sum() + least.sum()), int(whole.sum())))))
    return first, second, np.concatenate((sides, upper[most], -lower[least]))


def directions(n_continuous: int, distance: Distance) -> FloatArray:
    """The vectors h of Theorem 4.5: signed unit vectors, or 0 alone where continuous unknowns are not measured."""
    if distance.continuous == "squared-l2" and n_continuous:
        raise UnsupportedProblemError("distance='squared-l2' is exact over an ellipsoid only. Choose 'linf' or 'none' here.")
    if distance.continuous == "none" or n_continuous == 0:
        return np.zeros((1, n_continuous))
    return np.asarray(np.kron(np.eye(n_continuous), [[1.0], [-1.0]]), dtype=np.float64)


def curvature_axes(features: QuadraticFeatures, theta: FloatArray) -> tuple[FloatArray, FloatArray] | None:
    """Eigenvalues of Q that are above 0 and their eigenvectors, as columns; None if Q is not positive semidefinite."""
    square = features.parts(theta)[0]
    values, axes = np.linalg.eigh((square + square.T) / 2)
    largest = float(np.abs(values).max(initial=0.0))
    if float(values.min(initial=0.0)) < -summation_error(square.size) * largest:
        return None
    # Leaving out an eigenvalue only lowers y' Q y.
    used = values > CURVATURE_FRACTION * largest
    return values[used], axes[:, used]


def lagrangian_bound(
    axes: tuple[FloatArray, FloatArray], lower: FloatArray, upper: FloatArray, gradient: FloatArray, noise: FloatArray
) -> FloatArray:
    """No y within its bounds makes -y' Q y - v . y larger, for the rows v of ``gradient``; ``noise`` and less may
    count as 0.
    """
    curvature, along = axes
    part = gradient @ along
    rest = gradient - part @ along.T
    ends = np.where(rest > 0, lower, upper)
    still = (rest == 0) | ((np.abs(rest) <= noise[:, None]) & ~np.isfinite(ends))
    at_ends = np.where(still, 0.0, rest * np.where(still, 0.0, ends))
    return np.asarray((part**2 / (4 * curvature)).sum(axis=1) - at_ends.sum(axis=1))
