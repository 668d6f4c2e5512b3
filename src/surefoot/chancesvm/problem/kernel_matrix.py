"""Kernel matrices that are given: by a user, or by a user's function for all pairs of samples.

Rounding leaves most of them slightly indefinite, or so close to it that nobody can tell, and then no feature space has these
inner products. So a small number is added to the diagonal, which makes the matrix positive semidefinite for certain. It is part
of the problem: solvers see it, and the claim of the certificate names it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from surefoot.chancesvm.problem.problem import (
    INDEFINITE_SLACK,
    ChanceSVMProblem,
    require_inner_products,
    require_symmetry,
)
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
    plain = replace(problem.kernel, added=0.0)
    matrix = replace(problem, kernel=plain).kernel_matrix() if problem.gram is None else problem.gram
    name = "precomputed kernel" if plain.name == "precomputed" else "matrix of the kernel function"
    added = least_addition(matrix, name)
    return replace(problem, gram=matrix, kernel=replace(plain, added=added))


def least_addition(matrix: FloatArray, name: str) -> float:
    """About the least number that, added to the diagonal, lets Cholesky's method succeed by more than its rounding."""
    require_symmetry(matrix, name)
    count = matrix.shape[0]
    symmetric, at = 0.5 * matrix + 0.5 * matrix.T, np.arange(count)
    diagonal = symmetric[at, at]
    # A little more than the certificate takes the rounding for; a matrix of zeros has none.
    step = max(3 * (count + 4) * 2.0**-53 * float(np.abs(diagonal).sum()), _LEAST)
    added = 0.0
    while True:
        symmetric[at, at] = diagonal + (added - step)
        try:
            np.linalg.cholesky(symmetric)
        except np.linalg.LinAlgError:
            if added > INDEFINITE_SLACK * float(np.abs(matrix).max()):
                require_inner_products(matrix, name)
            added = 4 * added + 1.1 * step
        else:
            return added
