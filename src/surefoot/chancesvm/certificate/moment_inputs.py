"""Inputs that were given by a mean M_i and a covariance S_i (linear kernel); the samples of the problem merely stand for them.

The covariance is T_i = S_i + d diag(S_i), with one number d for all inputs, the ``widening`` of the problem: covariances are
rounded to doubles, and many have an eigenvalue of -1e-17 times their largest. T_i must be positive semidefinite for certain.
The objective has w . M_i and w' T_i w in the place of the moments of samples. For the lower bound let z_i, the directions of
the mix, be vectors with tau_i^2 alpha_i^2 >= l_i^2 = z_i' T_i z_i. Since w . T_i z_i <= sqrt(w' T_i w) sqrt(z_i' T_i z_i) by
Cauchy's inequality, it is that of samples with

    g = sum_i y_i (alpha_i M_i + T_i z_i).

Where inputs are long in some directions, w is nearly orthogonal to these and z_i very long across: T_i w and T_i z_i are sums
of large numbers that cancel, and therefore taken exactly.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from surefoot.core.arrays import AnyArray, FloatArray
from surefoot.core.definite import least_of
from surefoot.core.enclosure import Enclosure, enclose, exact_dot, join
from surefoot.exceptions import CertificateError

MOMENTS = ("means", "covariances", "widening")


class MomentInputs:
    """Means, seen from the centre of the kernel, and covariances."""

    def __init__(self, problem: Any, centre: FloatArray) -> None:
        self.problem, self.centre, self.widening = problem, centre, problem.widening
        means, covariances, shape = problem.means, problem.covariances, (problem.labels.size, centre.size)
        sound = np.shape(means) == shape and np.shape(covariances) == (*shape, centre.size) and 0 <= self.widening < np.inf
        if not (sound and problem.kernel.name == "linear" and np.isfinite(means).all() and np.isfinite(covariances).all()):
            raise CertificateError("given moments are a finite mean and covariance for each input, and need the linear kernel.")
        self.means, self.variances = enclose(means) - centre, np.diagonal(covariances, axis1=1, axis2=2)
        if not all(_is_semidefinite(covariance, self.widening) for covariance in covariances):
            raise CertificateError("a covariance may have negative eigenvalues: variances are widened too little.")

    def evaluated(self, planes: FloatArray, points: Enclosure, _: AnyArray) -> tuple[Enclosure, Enclosure, Enclosure]:
        """w = sum_s c_s (x_s - m) and ||w||^2 of planes, one a column, and ||g||^2 of points g."""
        parts = [(column, np.full(column.size, -m)) for column, m in zip(self.problem.samples.T, self.centre, strict=True)]
        w = [exact_dot(np.concatenate(pair), np.tile(c, 2)).reshape(1, 1) for c in planes.T for pair in parts]
        found = join(w).reshape(planes.shape[1], -1).transposed
        return found, (found * found).sum(axis=0), (points * points).sum(axis=0)

    def moments(self, w: Enclosure) -> tuple[Enclosure, Enclosure]:
        """w . (M_i - m), and w' T_i w or more: what w is beside doubles adds at most sum_j |w_j| sqrt(T_i,jj) to its root."""
        beside = abs(w - w.mid) * (enclose(self.variances) * (1.0 + enclose(self.widening))).maximum(0.0).sqrt()
        spread = self.images(np.tile(w.mid, (len(self.variances), 1)))[1].sqrt() + beside.sum(axis=1)
        return self.means @ w, spread * spread

    def images(self, given: FloatArray | None) -> tuple[Enclosure, Enclosure]:
        """T_i v_i and v_i' T_i v_i, for one vector of doubles an input, or 0 for all."""
        vectors = np.zeros(self.means.shape) if given is None else given
        if np.shape(vectors) != self.means.shape:
            raise CertificateError(f"the mix needs a direction for each input, an array of shape {self.means.shape}.")
        rows = [
            exact_dot(np.concatenate(pair), np.tile(vector, 2)).reshape(1)
            for matrix, vector in zip(self.problem.covariances, vectors, strict=True)
            for pair in zip(matrix, matrix.T, strict=True)
        ]
        images = join(rows).reshape(*vectors.shape) * 0.5 + enclose(self.variances) * vectors * self.widening
        return images, (images * vectors).sum(axis=1).maximum(0.0)


def _is_semidefinite(covariance: FloatArray, widening: float) -> bool:
    """Whether S + d diag(S) certainly is: in units, powers of 2, that make variances about 1."""
    used = np.flatnonzero(covariance.any(axis=0) | covariance.any(axis=1))
    own = covariance[np.ix_(used, used)]
    units = np.exp2(-np.round(0.5 * np.log2(np.maximum(np.diagonal(own), np.finfo(np.float64).tiny))))
    symmetric = (enclose(own) + own.T) * 0.5 + np.diag(np.diagonal(own)) * enclose(widening)
    return used.size == 0 or least_of(symmetric * units[:, None] * units)[1] >= 0
