"""Symmetric matrices as enclosures: numbers below their eigenvalues, forms of their inverses, semidefinite neighbours."""

from __future__ import annotations

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.core.enclosure import UNIT_ROUNDOFF, Enclosure, between, enclose, sum_error
from surefoot.exceptions import CertificateError


def length(entries: Enclosure) -> float:
    """At or above the root of the sum of squares, which no norm of a matrix exceeds."""
    return float((entries * entries).sum().maximum(0.0).sqrt().high)


def least_eigenvalue(matrix: FloatArray, shift: float) -> float:
    """A number that no eigenvalue of a symmetric matrix of doubles lies below: near the shift, or -inf if one may lie there.

    If Cholesky's method runs to its end on A = matrix - shift I, the factors' product differs from A by at most g trace(A) in
    norm, g = g_{n+1} / (1 - g_{n+1}), in whatever order sums are taken (Rump, BIT 46, 2006): no eigenvalue of A is below that.
    """
    moved, places = matrix.copy(), np.arange(matrix.shape[0])
    moved[places, places] -= shift
    try:
        factor = np.linalg.cholesky(moved)
    except np.linalg.LinAlgError:
        return -np.inf
    if not np.isfinite(factor).all():  # after an overflow LAPACK may go on with NaN, which is not below 0
        return -np.inf
    diagonal = enclose(np.abs(np.diagonal(moved)))
    error = diagonal.sum() * (2 * sum_error(matrix.shape[0] + 2)) + diagonal.max() * (4 * UNIT_ROUNDOFF)
    return float((shift - error).low)


def least_of(matrix: Enclosure) -> tuple[FloatArray, float]:
    """A symmetric matrix near those enclosed, and what no eigenvalue of these lies below: about half the least one, or -inf."""
    middle = 0.5 * matrix.mid + 0.5 * matrix.mid.T
    least = least_eigenvalue(middle, 0.5 * float(np.linalg.eigvalsh(middle)[0]))
    return middle, float((enclose(least) - length(matrix - middle)).low)


def inverse_form(matrix: Enclosure, sides: Enclosure) -> Enclosure:
    """f' M^-1 f and a little more, for each column f of the sides; infinite where M may not be positive definite.

    For any z and d = f - M z it is z' (f + d) + d' M^-1 d, and the last term is at most ||d||^2 over the least eigenvalue.
    """
    middle, least = least_of(matrix)
    if not least > 0:
        return between(np.zeros(sides.shape[1]), np.inf)
    solved = np.linalg.solve(middle, sides.mid)
    left = sides - matrix @ solved
    return ((sides + left) * solved).sum(axis=0) + between(0.0, (left * left).sum(axis=0).high) / least


def square_near(matrix: FloatArray) -> Enclosure:
    """B B' for a matrix B of doubles: positive semidefinite, and near a symmetric matrix that is so but for rounding."""
    if matrix.ndim != 2:
        raise CertificateError(f"a square matrix is needed, not an array of shape {matrix.shape}.")
    values, axes = np.linalg.eigh(0.5 * matrix + 0.5 * matrix.T)
    root = enclose(axes * np.sqrt(np.maximum(values, 0.0)))
    return root @ root.transposed
