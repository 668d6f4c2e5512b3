"""Inputs that are known by mean and covariance alone, as samples with these moments.

If the covariance is the sum of a_k a_k' over r axes a_k, the 2 r points mean +- sqrt(r) a_k, all of the same weight, have this
mean and this covariance. An input without spread is one point. So whatever solves batches of samples solves given moments too,
and nothing is estimated. Axes are rounded: the certificate is about the moments as they were given.

Covariances are rounded as well, so that one of rank below its size may have a negative eigenvalue, or nobody can tell. Then no
distribution has it, and the problem is not convex. So all variances are multiplied by 1 + d, with about the least d that makes
every covariance positive semidefinite for certain. It is part of the problem, and the claim of the certificate names it.

Axes are eigenvectors. Where d is needed the smallest eigenvalues are as small as d, and double precision would leave nothing of
them: there they are columns of Cholesky's factor, with pivots, in extended precision.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from surefoot.chancesvm.problem.problem import ChanceSVMProblem, EllipsoidMix
from surefoot.core.arrays import FloatArray, RowArray
from surefoot.exceptions import InvalidTableError

# Bounds eigenvalues over the largest, for each column: those below are rounding.
_RANK_TOLERANCE = 2.0**-53
# What the certificate takes the rounding of Cholesky's method for, over the squared number of columns, and twice as much.
_CHOLESKY_ROUNDING = 2.0**-50
# Bounds what rounding may make of a matrix, asymmetry or a negative eigenvalue, over its largest entry.
_COVARIANCE_TOLERANCE = 1e-8


@dataclass(frozen=True, eq=False)
class MomentSamples:
    """Samples of equal weight with the given moments, those of one input together, from ``starts[i]`` to ``starts[i + 1]``."""

    samples: FloatArray
    starts: RowArray
    means: FloatArray
    covariances: FloatArray
    widening: float


def read_covariances(means: FloatArray, covariances: Any, shared: Any = None) -> FloatArray:
    """One matrix for each input.

    Two dimensions are variances, one row for each input, and nothing else: where there are as many inputs as columns, a shared
    covariance would have the same shape. A symmetric table of that shape is refused, since it may be meant as one.

    Parameters
    ----------
    means : ndarray of shape (n_inputs, n_columns)
        Finite.
    covariances : array-like
        Of shape (n_inputs, n_columns, n_columns); or (n_inputs, n_columns) for the diagonals of diagonal ones.
    shared : array-like, optional
        In their place, for all inputs: of shape (n_columns, n_columns), or (n_columns,) for the diagonal of a diagonal one.

    Raises
    ------
    InvalidTableError
        If the shape is another one, or a matrix is not finite, symmetric and positive semidefinite; the message names it.
    """
    count, columns = means.shape
    if shared is not None:
        if covariances is not None:
            raise ValueError("covariances and shared_covariance say the same: pass one of them, and None for the other.")
        one = np.asarray(shared, dtype=np.float64)
        if one.shape not in ((columns,), (columns, columns)):
            raise InvalidTableError(
                f"shared_covariance has shape {one.shape}, but means of {columns} columns need {(columns, columns)}, or "
                f"{(columns,)} for variances alone."
            )
        covariances = np.array(np.broadcast_to(one if one.ndim == 2 else np.diag(one), (count, columns, columns)))
    if covariances is None:
        raise ValueError("covariances are missing: pass one for each input, or shared_covariance for all.")
    matrices = np.asarray(covariances, dtype=np.float64)
    _require_unambiguous(matrices, count, columns)
    if matrices.shape == (count, columns):
        spread = np.zeros((count, columns, columns))
        spread[:, np.arange(columns), np.arange(columns)] = matrices
        matrices = spread
    if matrices.shape != (count, columns, columns):
        raise InvalidTableError(
            f"covariances has shape {matrices.shape}, but {count} means of {columns} columns need {(count, columns, columns)}, "
            f"or {(count, columns)} for diagonal ones. One for all inputs is shared_covariance."
        )
    _require_covariances(matrices)
    return matrices


def moment_samples(means: FloatArray, matrices: FloatArray) -> MomentSamples:
    """Samples with the given moments, one mean and one covariance for each input."""
    widening = _widening(matrices)
    axes = [_eigen_axes(matrix) if widening == 0 else _cholesky_axes(matrix, widening) for matrix in matrices]
    starts = np.cumsum([0, *(max(2 * len(own), 1) for own in axes)]).astype(np.int64)
    samples = np.repeat(means, np.diff(starts), axis=0)
    for first, own in zip(starts, axes, strict=False):
        # The axes of an input fill its first half with plus and its second with minus.
        samples[first : first + len(own)] += own
        samples[first + len(own) : first + 2 * len(own)] -= own
    return MomentSamples(samples, starts, np.array(means, dtype=np.float64), matrices, widening)


def with_directions(problem: ChanceSVMProblem, mix: EllipsoidMix) -> EllipsoidMix:
    """The mix with z_i that leave about its coefficients to the samples: A_i z_i = (y_i c_s - alpha_i p_s) / sqrt(p_s)."""
    assert problem.means is not None and problem.covariances is not None
    signed, roots = np.repeat(problem.labels, problem.sizes) * mix.coefficients, np.sqrt(problem.weights)
    beside = signed - np.repeat(problem.sums(signed), problem.sizes) * problem.weights
    away = roots[:, None] * (problem.samples - np.repeat(problem.means, problem.sizes, axis=0))
    found = np.zeros(problem.means.shape)
    for i, (first, end) in enumerate(itertools.pairwise(problem.starts.tolist())):
        units = np.abs(away[first:end]).max(axis=0)
        used = units > 0
        columns = away[first:end, used] / units[used]
        found[i, used] = np.linalg.lstsq(columns, beside[first:end] / roots[first:end], rcond=None)[0] / units[used]
    return replace(mix, directions=found)


def _widening(matrices: FloatArray) -> float:
    """d of the module docstring, a power of 2; in units of the standard deviations, so that units of columns do not matter."""
    symmetric = 0.5 * matrices + 0.5 * matrices.transpose(0, 2, 1)
    variances = np.diagonal(symmetric, axis1=1, axis2=2)
    roots = np.sqrt(np.where(variances > 0, variances, 1.0))
    scaled = symmetric / roots[:, :, None] / roots[:, None, :] + (variances <= 0)[:, :, None] * np.eye(variances.shape[1])
    least = float(np.linalg.eigvalsh(scaled)[:, 0].min()) if scaled.size else 1.0
    needed = _CHOLESKY_ROUNDING * (variances.shape[1] + 2) ** 2
    return 0.0 if least > 2 * needed else float(np.exp2(np.ceil(np.log2(needed + max(0.0, -least)))))


def _eigen_axes(matrix: FloatArray) -> FloatArray:
    """sqrt(r) a_k, the rows."""
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    # A column without variance has none along any axis.
    vectors = np.where(np.diagonal(matrix)[:, None] > 0, vectors, 0.0)
    positive = values > values.size * _RANK_TOLERANCE * max(values[-1], 0.0) if values.size else values > 0
    return np.asarray(vectors.T[positive] * np.sqrt(positive.sum() * values[positive])[:, None])


def _cholesky_axes(matrix: FloatArray, widening: float) -> FloatArray:
    """The same of the matrix with widened variances."""
    left = 0.5 * matrix.astype(np.longdouble) + 0.5 * matrix.T.astype(np.longdouble)
    own = np.diagonal(left) * (1 + np.longdouble(widening))
    left[np.diag_indices_from(left)] = own
    used, axes = own > 0, list[FloatArray]()
    while used.any():
        at = int(np.argmax(np.where(used, np.diagonal(left) / np.where(own > 0, own, 1), -np.inf)))
        used[at] = False
        if left[at, at] > 0:
            axis = left[at] / np.sqrt(left[at, at])
            left = left - np.outer(axis, axis)
            axes.append(axis)
    rows = np.array(axes, dtype=np.longdouble).reshape(len(axes), len(own)) * np.sqrt(np.longdouble(len(axes)))
    return np.asarray(rows, dtype=np.float64)


def _require_unambiguous(matrices: FloatArray, count: int, columns: int) -> None:
    """Raise for what may be variances of as many inputs as columns, or one covariance; equal numbers are no covariance."""
    square = matrices.shape == (count, columns) == (columns, count) and columns > 1
    if square and np.array_equal(matrices, matrices.T) and np.ptp(matrices) > 0:
        raise InvalidTableError(
            f"covariances has shape {matrices.shape}, is symmetric, and there are {count} inputs of {columns} columns: it may "
            "be the variances of each input, or one covariance for all. Pass shared_covariance= for one, and matrices for each "
            "input, np.stack([np.diag(row) for row in covariances]), for variances."
        )


def _require_covariances(matrices: FloatArray) -> None:
    wrong = np.argwhere(~np.isfinite(matrices))
    if wrong.size:
        at, row, column = wrong[0]
        raise InvalidTableError(
            f"the covariance of input {at} holds {matrices[at, row, column]} at ({row}, {column}). Covariances are finite."
        )
    largest = np.abs(matrices).max(axis=(1, 2))
    skew = np.abs(matrices - matrices.transpose(0, 2, 1))
    wrong = np.argwhere(skew > _COVARIANCE_TOLERANCE * largest[:, None, None])
    if wrong.size:
        at, row, column = wrong[0]
        raise InvalidTableError(
            f"the covariance of input {at} is not symmetric: it holds {matrices[at, row, column]} at ({row}, {column}), but "
            f"{matrices[at, column, row]} at ({column}, {row}). Symmetrise it, if that is rounding."
        )
    least = np.linalg.eigvalsh(matrices)[:, 0]
    negative = np.flatnonzero(least < -_COVARIANCE_TOLERANCE * largest)
    if negative.size:
        at = negative[0]
        raise InvalidTableError(
            f"the covariance of input {at} is not positive semidefinite: its smallest eigenvalue is {least[at]:.3g}. No "
            "distribution has such a covariance; check how it was estimated."
        )
    # However little below 0: no widening makes a variance of it, and no root.
    wrong = np.argwhere(np.diagonal(matrices, axis1=1, axis2=2) < 0)
    if wrong.size:
        at, column = wrong[0]
        raise InvalidTableError(
            f"the covariance of input {at} holds {matrices[at, column, column]} at ({column}, {column}). Variances are not "
            "negative: put 0 there, and in its row and column, if that is rounding."
        )
