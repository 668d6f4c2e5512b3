"""Inputs that are known by mean and covariance alone, as samples with these moments.

With the eigenvectors v_k of a covariance of rank r and its eigenvalues l_k, the 2 r points mean +- sqrt(r l_k) v_k, all of the
same weight, have this mean and this covariance. An input without spread is one point. So whatever solves batches of samples
solves given moments too, and nothing is estimated. Eigenvectors and sums are rounded: the certificate is about the moments as
they were given, and counts what samples of doubles leave of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from surefoot.core.arrays import FloatArray, RowArray
from surefoot.exceptions import InvalidTableError

# Bounds eigenvalues over the largest, for each column: those below are rounding.
_RANK_TOLERANCE = 2.0**-53
# Bounds what rounding may make of a matrix, asymmetry or a negative eigenvalue, over its largest entry.
_COVARIANCE_TOLERANCE = 1e-8


@dataclass(frozen=True, eq=False)
class MomentSamples:
    """Samples of equal weight with the given moments, those of one input together, from ``starts[i]`` to ``starts[i + 1]``."""

    samples: FloatArray
    starts: RowArray
    means: FloatArray
    covariances: FloatArray


def moment_samples(means: FloatArray, covariances: Any) -> MomentSamples:
    """Samples with the given moments.

    Parameters
    ----------
    means : ndarray of shape (n_inputs, n_columns)
        Finite.
    covariances : array-like
        Of shape (n_inputs, n_columns, n_columns); or (n_inputs, n_columns) for the diagonals of diagonal ones.

    Raises
    ------
    InvalidTableError
        If the shape is another one, or a matrix is not finite, symmetric and positive semidefinite; the message names it.
    """
    count, columns = means.shape
    matrices = np.asarray(covariances, dtype=np.float64)
    if matrices.shape == (count, columns):
        spread = np.zeros((count, columns, columns))
        spread[:, np.arange(columns), np.arange(columns)] = matrices
        matrices = spread
    if matrices.shape != (count, columns, columns):
        raise InvalidTableError(
            f"covariances has shape {matrices.shape}, but {count} means of {columns} columns need {(count, columns, columns)}, "
            f"or {(count, columns)} for diagonal ones."
        )
    _require_covariances(matrices)
    values, vectors = np.linalg.eigh((matrices + matrices.transpose(0, 2, 1)) / 2)
    # A column without variance has none along any axis.
    vectors = np.where(np.diagonal(matrices, axis1=1, axis2=2)[:, :, None] > 0, vectors, 0.0)
    positive = values > columns * _RANK_TOLERANCE * np.maximum(values[:, -1:], 0.0)
    ranks = positive.sum(axis=1)
    axes = vectors.transpose(0, 2, 1)[positive] * np.sqrt(np.repeat(ranks, ranks) * values[positive])[:, None]
    starts = np.concatenate([[0], np.cumsum(np.maximum(2 * ranks, 1))]).astype(np.int64)
    samples = np.repeat(means, np.diff(starts), axis=0)
    # The axes of an input fill its first half with plus and its second with minus.
    first = np.repeat(starts[:-1], ranks) + np.arange(ranks.sum()) - np.repeat(np.cumsum(ranks) - ranks, ranks)
    samples[first] += axes
    samples[first + np.repeat(ranks, ranks)] -= axes
    return MomentSamples(samples, starts, np.array(means, dtype=np.float64), matrices)


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
