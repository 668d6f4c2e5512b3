"""Can a hyperplane put some rows strictly on their side and no row on the wrong one?

    max sum_i y_i a_i . beta    subject to    0 <= y_i a_i . beta <= 1

is positive exactly if plain logistic regression has no minimiser (Albert and Anderson 1984): along such a beta the loss falls
for ever.
"""

from __future__ import annotations

import numpy as np
import scipy.optimize
import scipy.sparse

from surefoot.problems.robust_logistic import RobustLogisticProblem


def quasi_separated(problem: RobustLogisticProblem) -> bool:
    """Whether complete or quasi-complete separation holds, by linear programming."""
    parts = [scipy.sparse.csr_array(problem.numeric)]
    if problem.fit_intercept:
        parts.append(scipy.sparse.csr_array(np.ones((problem.n_rows, 1))))
    rows = np.arange(problem.n_rows)
    for l, count in enumerate(problem.n_levels):
        if count > 1:
            held = problem.codes[:, l] > 0
            entries = (np.ones(int(held.sum())), (rows[held], problem.codes[held, l] - 1))
            parts.append(scipy.sparse.csr_array(entries, shape=(problem.n_rows, int(count) - 1)))
    signed = scipy.sparse.csr_array(problem.labels[:, None] * scipy.sparse.hstack(parts))
    limits = scipy.optimize.LinearConstraint(signed, 0.0, 1.0)
    result = scipy.optimize.milp(-np.asarray(signed.sum(axis=0)).ravel(), constraints=limits, bounds=scipy.optimize.Bounds())
    return result.x is not None and -result.fun > 1e-6
