"""Columns that are too dear to move: solved again as columns that never do.

A weight gamma_j far above the others is a constraint, |beta_j| <= gamma_j lambda for the l1 norm, that no optimum comes near,
yet it stands in every Hessian and every residual with its size. Without it the problem is a relaxation:

- its lower bounds are lower bounds of the problem, and its plans are plans of the problem;
- its model is one of the problem at the price max(lambda, || (beta_j / gamma_j)_j ||_*), which costs at most the difference of
  the prices times the radius, because no worst case grows with the price.

So where these columns kept a solve from its end, the relaxation is solved too, and the better model and plan are taken.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from surefoot.core.arrays import BoolArray
from surefoot.core.solve_options import SolveOptions
from surefoot.exceptions import SeparableDataError
from surefoot.robust.problem.problem import RobustCoefficients, RobustLogisticProblem
from surefoot.robust.registry import RobustOutcome
from surefoot.robust.scaling.standard_rows import StandardRows
from surefoot.robust.second_attempts import Attempt, Solve

# Columns whose weight, in standard units, is this many times the smallest weight of all are taken for immovable: first many,
# then fewer. Not tuned: a wrong guess costs a solve whose answer is not used.
DEAR = (1e2, 1e5, 1e8)


def relaxed_attempts(solve: Solve, problem: RobustLogisticProblem, options: SolveOptions) -> list[Attempt]:
    """``solve`` on relaxations, from many immovable columns to few."""
    tried: set[bytes] = set()
    return [partial(_attempt, solve, problem, options, factor, tried) for factor in DEAR] if problem.radius > 0 else []


def _attempt(
    solve: Solve,
    problem: RobustLogisticProblem,
    options: SolveOptions,
    factor: float,
    tried: set[bytes],
    _best: RobustCoefficients,
) -> RobustOutcome | None:
    """The answer of a relaxation as one of the problem; None if there are no such columns, or they were tried before."""
    dear = _dear_columns(problem, factor)
    if not dear.any() or dear.tobytes() in tried:
        return None
    tried.add(dear.tobytes())
    weights = np.where(dear, np.inf, problem.cost.numeric_weights)
    relaxed = problem.priced(replace(problem.cost, numeric_weights=weights), problem.radius)
    try:
        other = solve(relaxed, options, None)
    except SeparableDataError:
        return None
    price = max(other.primal.price, problem.cost.admitting_price(other.primal.numeric) * (1.0 + 2.0**-48))
    upper = other.upper_bound + (price - other.primal.price) * problem.radius
    return replace(other, primal=replace(other.primal, price=price), upper_bound=upper)


def _dear_columns(problem: RobustLogisticProblem, factor: float) -> BoolArray:
    """Numeric columns with a finite weight that is so many times the smallest of all weights, in standard units."""
    cost = StandardRows.of(problem).problem.cost
    least = min(cost.label_weight, cost.numeric_weights.min(initial=np.inf), cost.categorical_weights.min(initial=np.inf))
    dear: BoolArray = np.isfinite(cost.endless_weights) & (cost.numeric_weights > factor * least)
    return dear
