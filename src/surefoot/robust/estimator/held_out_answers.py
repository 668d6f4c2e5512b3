"""What models say of rows of their own fit that were held out: the loss of rows that a model was fitted to is too low."""

from __future__ import annotations

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.core.solve_options import SolveOptions
from surefoot.robust.estimator.held_out_radius import dealt, signed_scores, sorted_rows, weighted_rows
from surefoot.robust.problem.problem import RobustCoefficients, RobustLogisticProblem
from surefoot.robust.registry import RobustLogisticSolver

# With nine tenths of the rows a model is hardly worse than with all of them. Not tuned.
FOLDS = 10
# The error of a solve beside that of losing a tenth of the rows.
TOLERANCE = 1e-5


def held_out_scores(
    problem: RobustLogisticProblem, model: RobustCoefficients, solver: RobustLogisticSolver, options: SolveOptions
) -> FloatArray | None:
    """The score of every row under a model fitted to the other folds, at the radius and the prices of the problem.

    Nothing is drawn, as in :mod:`~surefoot.robust.estimator.held_out_radius`.

    Parameters
    ----------
    problem : RobustLogisticProblem
        All rows.
    model : RobustCoefficients
        Its solution, from which each fold starts.
    solver : RobustLogisticSolver
    options : SolveOptions

    Returns
    -------
    ndarray of shape (n_rows,) or None
        None if a class has but one row, or time is over.
    """
    order = sorted_rows(problem)
    labels = problem.labels[order]
    if min(np.count_nonzero(labels == label) for label in (-1.0, 1.0)) < 2:
        return None
    parts = dealt(labels, np.ones(labels.size), FOLDS)
    scores = np.empty(labels.size)
    for part in parts:
        kept, held = order[part == 0], order[part > 0]
        if options.out_of_time:
            return None
        if held.size:
            training = weighted_rows(problem, kept, np.ones(kept.size))
            scores[held] = signed_scores(problem, held, solver.solve(training, options, warm_start=model).primal)
    return None if options.out_of_time else scores
