"""A plane of another program, as the problem of a proof file wants it.

Programs such as scikit-learn's SVC write a plane as f(x) = sum_s c_s k(x_s, x) + b. The kernel of a problem may be seen from a
centre m, k_m(x, z) = k(x, z) - k(x, m) - k(m, z) + k(m, m). Coefficients that add up to 0, as those of every SVM with an
intercept do, give the same plane with another intercept:

    sum_s c_s k_m(x_s, x) + b_m  =  f(x)      for      b_m = b + sum_s c_s k(x_s, m).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from surefoot.core.arrays import AnyArray, FloatArray
from surefoot.exceptions import CertificateError

# Coefficients of other programs add up to 0 within this, over the largest.
SUM_SLACK = 1e-6


def plane_answer(problem: Any, support: AnyArray, dual_coef: AnyArray, intercept: Any) -> tuple[FloatArray, float]:
    """A coefficient for every sample, and the intercept as seen from the centre of the kernel.

    Parameters
    ----------
    problem : record of a ``ChanceSVMProblem``
    support : array-like of shape (n_support,)
        Places of the support vectors among the samples.
    dual_coef : array-like of shape (n_support,) or (1, n_support)
    intercept : float or array-like of one number
        By the kernel without a centre.
    """
    at, given = np.asarray(support), np.asarray(dual_coef, dtype=np.float64).ravel()
    constant = np.asarray(intercept, dtype=np.float64).ravel()
    count = problem.samples.shape[0]
    if at.dtype.kind not in "iu" or at.shape != given.shape or constant.size != 1:
        raise CertificateError(
            f"support and dual_coef are one place and one number for each support vector, but have shapes {at.shape} and "
            f"{np.shape(dual_coef)}; the intercept is one number, not {constant.size}: the plane of two classes is meant."
        )
    if np.unique(at).size != at.size or np.any((at < 0) | (at >= count)):
        raise CertificateError(f"support must name different ones of the {count} samples, from 0 on.")
    coefficients = np.zeros(count)
    coefficients[at] = given
    kernel = problem.kernel
    if getattr(kernel, "centre", None) is None:
        return coefficients, float(constant[0])
    if abs(given.sum()) > SUM_SLACK * np.abs(given).max(initial=0.0):
        raise CertificateError(
            f"the coefficients add up to {given.sum():.3g}, not to 0, as those of an SVM with an intercept do."
        )
    return coefficients, float(constant[0] + given @ _with_centre(kernel, problem.samples[at]))


def _with_centre(kernel: Any, rows: FloatArray) -> FloatArray:
    """k(x, m) of every row."""
    centre = np.asarray(kernel.centre, dtype=np.float64)
    if kernel.name == "rbf":
        return np.asarray(np.exp(-kernel.gamma * np.square(rows - centre).sum(axis=1)))
    products = np.asarray(rows @ centre)
    return products if kernel.name == "linear" else (kernel.gamma * products + kernel.coef0) ** int(kernel.degree)
