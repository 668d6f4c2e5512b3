"""Scores of rows under a kernel classifier: sum over support samples of coefficient times kernel, plus an intercept."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from surefoot.chancesvm.problem.kernels import Kernel
from surefoot.chancesvm.problem.problem import ChanceSVMProblem, KernelPlane
from surefoot.core.arrays import FloatArray


@dataclass(frozen=True, eq=False)
class KernelScores:
    """What predictions need, and nothing else.

    Attributes
    ----------
    kernel : Kernel
    support : ndarray of shape (n_support,)
        Places of the support samples among the rows of training.
    samples : ndarray of shape (n_support, n_columns)
        The support samples; no columns for a precomputed kernel.
    coefficients : ndarray of shape (n_support,)
    intercept : float
    """

    kernel: Kernel
    support: NDArray[np.intp]
    samples: FloatArray
    coefficients: FloatArray
    intercept: float

    @classmethod
    def of_plane(cls, problem: ChanceSVMProblem, plane: KernelPlane, order: NDArray[np.intp]) -> KernelScores:
        """The classifier of a solution; ``order`` leads from the samples of the problem to the rows of training."""
        used = np.flatnonzero(plane.coefficients)
        used = used[np.argsort(order[used], kind="stable")]
        samples = problem.samples[used, :0] if problem.kernel.name == "precomputed" else problem.samples[used]
        return cls(problem.kernel, order[used], samples, plane.coefficients[used], float(plane.intercept))

    def __call__(self, rows: FloatArray) -> FloatArray:
        """Scores of rows; with a precomputed kernel the columns are the kernels with all rows of training."""
        if self.kernel.name == "precomputed":
            return np.asarray(rows[:, self.support] @ self.coefficients + self.intercept)
        return self.kernel.combined(rows, self.samples, self.coefficients) + self.intercept
