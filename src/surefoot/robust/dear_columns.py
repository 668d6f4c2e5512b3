"""Columns that are too dear to move: solved again as columns that never do.

A weight gamma_j far above the others is a constraint, |beta_j| <= gamma_j lambda for the l1 norm, that no optimum comes near,
yet it stands in every Hessian and every residual with its size. Without it the problem is a relaxation:

- its lower bounds are lower bounds of the problem, and its plans are plans of the problem;
- its model is one of the problem at the price max(lambda, || (beta_j / gamma_j)_j ||_*), which costs at most the difference of
  the prices times the radius, because no worst case grows with the price.

So where these columns kept a solve from its end, the relaxation is solved too, and the better model and plan are taken.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from surefoot.core.arrays import BoolArray
from surefoot.core.solve_options import SolveOptions
from surefoot.exceptions import SeparableDataError
from surefoot.robust.problem.problem import RobustLogisticProblem
from surefoot.robust.registry import RobustOutcome
from surefoot.robust.scaling.standard_rows import StandardRows
from surefoot.robust.second_solvers import UNFINISHED, combined

# Columns whose weight, in standard units, is this many times the smallest weight of all are taken for immovable: first many,
# then fewer. Not tuned: a wrong guess costs a solve whose answer is not used.
DEAR = (1e2, 1e5, 1e8)


def finish_without_dear_columns(
    solve: Callable[[RobustLogisticProblem, SolveOptions], RobustOutcome],
    problem: RobustLogisticProblem,
    options: SolveOptions,
    outcome: RobustOutcome,
) -> RobustOutcome:
    """The outcome as it is, or with the model and the plan of relaxations where they are better.

    Parameters
    ----------
    solve : callable
        Solves a problem with the given options.
    problem : RobustLogisticProblem
    options : SolveOptions
    outcome : SolveOutcome
        What ``solve`` made of the problem.
    """
    if options.max_iter is not None or problem.radius == 0:
        return outcome
    tried = set()
    for factor in DEAR:
        left = None if options.time_limit is None else options.time_limit - outcome.seconds
        if outcome.status not in UNFINISHED or (left is not None and left <= 0):
            break
        dear = _dear_columns(problem, factor)
        if dear.any() and dear.tobytes() not in tried:
            tried.add(dear.tobytes())
            outcome = _better(solve, problem, dear, replace(options, time_limit=left), outcome)
    return outcome


def _better(
    solve: Callable[[RobustLogisticProblem, SolveOptions], RobustOutcome],
    problem: RobustLogisticProblem,
    dear: BoolArray,
    options: SolveOptions,
    outcome: RobustOutcome,
) -> RobustOutcome:
    weights = np.where(dear, np.inf, problem.cost.numeric_weights)
    relaxed = problem.priced(replace(problem.cost, numeric_weights=weights), problem.radius)
    try:
        other = solve(relaxed, options)
    except SeparableDataError:
        return outcome
    price = max(other.primal.price, problem.cost.admitting_price(other.primal.numeric) * (1.0 + 2.0**-48))
    upper = other.upper_bound + (price - other.primal.price) * problem.radius
    return combined(outcome, replace(other, primal=replace(other.primal, price=price), upper_bound=upper), options.tolerance)


def _dear_columns(problem: RobustLogisticProblem, factor: float) -> BoolArray:
    """Numeric columns with a finite weight that is so many times the smallest of all weights, in standard units."""
    cost = StandardRows.of(problem).problem.cost
    least = min(cost.label_weight, cost.numeric_weights.min(initial=np.inf), cost.categorical_weights.min(initial=np.inf))
    dear: BoolArray = np.isfinite(cost.numeric_weights) & (cost.numeric_weights > factor * least)
    return dear
