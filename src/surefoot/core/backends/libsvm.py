"""The dual of the plain support vector machine by LIBSVM, as scikit-learn carries it; imported when one is solved.

    max over c of  sum_s |c_s| - 1/2 c' K c    subject to  0 <= y_s c_s <= C_s,   sum_s c_s = 0.

Kernels are kept in single precision, and nobody looks at a clock: steps are all that can be limited.
"""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass

import numpy as np

from surefoot.core.arrays import FloatArray


@dataclass(frozen=True, eq=False)
class PointDual:
    """The dual of labelled points.

    Attributes
    ----------
    rows : ndarray
        The points of an RBF kernel of width ``gamma``; without one, the kernels of all pairs of points.
    labels, costs : ndarray of shape (n_points,)
        y and C.
    gamma : float or None
    tolerance : float
        Bounds what is missing to optimality conditions, in units of the margin.
    cache_megabytes : float
        Of kernel rows that are kept.
    """

    rows: FloatArray
    labels: FloatArray
    costs: FloatArray
    gamma: float | None
    tolerance: float
    cache_megabytes: float

    def solve(self, most_steps: int) -> FloatArray:
        """c after so many steps, or at the tolerance."""
        from sklearn.svm import SVC

        kernel = {"kernel": "precomputed"} if self.gamma is None else {"kernel": "rbf", "gamma": self.gamma}
        machine = SVC(**kernel, tol=self.tolerance, cache_size=self.cache_megabytes, max_iter=most_steps)
        with warnings.catch_warnings():
            # That it ended early is seen in the gap.
            warnings.simplefilter("ignore")
            machine.fit(self.rows, self.labels, sample_weight=self.costs)
        found = np.zeros(self.labels.size)
        found[machine.support_] = machine.dual_coef_[0]
        return found

    def seconds_a_step(self, steps: int) -> float:
        """About, from the first ones."""
        started = time.perf_counter()
        self.solve(steps)
        return (time.perf_counter() - started) / steps
