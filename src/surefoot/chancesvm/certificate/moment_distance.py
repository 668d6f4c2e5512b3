"""How far samples are from the mean and the covariance that they stand for, as enclosures.

Inputs may be given by a mean M_i and a covariance S_i (linear kernel). Their objective has these, with max(0, w' S_i w) for the
variance, and samples with moments mu_i and Sigma_i merely stand for them. With  ||mu_i - M_i|| <= m_i,
||Sigma_i - S_i|| <= s_i and lam_i, which is 0 or positive and at or below the eigenvalues of S_i, every w has
|w . mu_i - w . M_i| <= m_i ||w||  and

    max(0, w' S_i w) <= w' Sigma_i w + s_i ||w||^2,      sqrt(max(0, w' S_i w)) >= sqrt(w' Sigma_i w) - h_i ||w||,
    h_i = sqrt(lam_i + s_i) - sqrt(lam_i) = s_i / (sqrt(lam_i + s_i) + sqrt(lam_i)),

since sqrt(a + s) - sqrt(a) falls in a. So the upper bound has the radii r_i + m_i and v_i + s_i in the place of r_i and v_i,
and the lower one R - sum_i alpha_i (tau_i h_i + m_i) in the place of R.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.core.definite import least_of, length
from surefoot.core.enclosure import Enclosure, enclose
from surefoot.exceptions import CertificateError

MOMENTS = ("means", "covariances")


@dataclass(frozen=True)
class MomentDistance:
    """m_i, s_i and lam_i of each batch; below 0 is what an eigenvalue of S_i may be."""

    mean: FloatArray
    covariance: FloatArray
    least: FloatArray

    def shortfall(self) -> Enclosure:
        """h_i."""
        wider, least = enclose(self.covariance), enclose(np.maximum(self.least, 0.0))
        return wider / ((least + wider).sqrt() + least.sqrt()).maximum(np.finfo(np.float64).tiny)


def moment_distance(problem: Any, weights: Enclosure) -> MomentDistance | None:
    """The distances of samples with these weights, or None if nobody gave moments; earlier files have no place for them."""
    means: Any = getattr(problem, "means", None)
    covariances: Any = getattr(problem, "covariances", None)
    if means is None and covariances is None:
        return None
    count, columns = problem.labels.size, problem.samples.shape[1]
    kernel = problem.kernel.base if problem.kernel.name == "landmarks" else problem.kernel
    sound = np.shape(means) == (count, columns) and np.shape(covariances) == (count, columns, columns)
    if not (sound and kernel.name == "linear" and np.isfinite(means).all() and np.isfinite(covariances).all()):
        raise CertificateError("given moments are a finite mean and covariance for each input, and need the linear kernel.")
    batches = [slice(*ends) for ends in zip(problem.starts[:-1], problem.starts[1:], strict=True)]
    found = [_distance(problem.samples[at], weights[at], *own) for at, *own in zip(batches, means, covariances, strict=True)]
    return MomentDistance(*np.array(found).T)


def _distance(samples: FloatArray, weights: Enclosure, mean: FloatArray, covariance: FloatArray) -> list[float]:
    """m, s and lam of one input."""
    beside = enclose(samples) - mean
    weighted = beside * weights[:, None]
    off = weighted.sum(axis=0)
    # Columns without spread, given or in samples, are part of neither covariance: both are 0 there.
    spread = np.flatnonzero((samples != samples[0]).any(axis=0) | covariance.any(axis=0) | covariance.any(axis=1))
    square = np.ix_(spread, spread)
    given = (enclose(covariance[square]) + covariance[square].T) * 0.5
    wrong = (weighted.transposed @ beside - off[:, None] * off)[square] - given
    return [length(off), length(wrong), least_of(given)[1] if spread.size else 0.0]
