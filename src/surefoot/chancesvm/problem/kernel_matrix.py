"""Kernel matrices that are given: by a user, or by a user's function for all pairs of samples.

Rounding leaves most of them slightly indefinite, or so close to it that nobody can tell, and then no feature space has these
inner products. So a small number is added to the diagonal, which makes the matrix positive semidefinite for certain. It is part
of the problem: solvers see it, and the claim of the certificate names it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from surefoot.chancesvm.problem.problem import ChanceSVMProblem, require_inner_products
from surefoot.core.arrays import FloatArray

_LEAST = 1e-290


def mended(problem: ChanceSVMProblem) -> ChanceSVMProblem:
    """The problem with a number added to the diagonal of its kernel matrix, if that is given and needs it.

    Raises
    ------
    ValueError
        If the matrix is further from positive semidefinite than rounding explains.
    """
    if problem.kernel.name not in ("callable", "precomputed"):
        return problem
    matrix = problem.kernel_matrix()
    if problem.kernel.name == "callable":
        require_inner_products(matrix, "matrix of the kernel function")
        problem = replace(problem, gram=matrix)
    added = least_addition(matrix)
    return problem if added == 0 else replace(problem, kernel=replace(problem.kernel, added=added))


def least_addition(matrix: FloatArray) -> float:
    """About the least number that, added to the diagonal, lets Cholesky's method succeed by more than its rounding."""
    count = matrix.shape[0]
    symmetric, at = 0.5 * matrix + 0.5 * matrix.T, np.arange(count)
    diagonal = symmetric[at, at]
    # Twice what the certificate takes the rounding for; a matrix of zeros has none.
    step = max(8 * (count + 2) * np.finfo(np.float64).epsneg * float(np.abs(diagonal).sum()), _LEAST)
    added = 0.0
    while True:
        symmetric[at, at] = diagonal + (added - step)
        try:
            np.linalg.cholesky(symmetric)
        except np.linalg.LinAlgError:
            added = 4 * added + 2 * step
        else:
            return added
