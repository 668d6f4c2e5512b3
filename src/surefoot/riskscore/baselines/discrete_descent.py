"""Discrete coordinate descent (Algorithm 3 of Ustun and Rudin, JMLR 2019): polishing a card by its best single change.

Problem: lower L(b, p) + penalty * #{j: p_j != 0} from an admissible card, L convex. One iteration:

1. With g the gradient at the card, a change of coordinate j by t ends no lower than the tangent, L + g_j t.
2. Take the coordinates in the order of these bounds and compute their losses, until no bound is below the best change found.
   One pass over the rows for g spares most of the others.
3. Make the best change that is admissible.

It ends at a card at which no change of one coordinate to another admissible value lowers the objective by more than rounding
errors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from surefoot.core.arrays import FloatArray, IntArray
from surefoot.riskscore.baselines.merged_rows import INTERCEPT, ScoreRows, card_of, coordinates
from surefoot.riskscore.baselines.parameters import ROUNDING_PARAMETERS
from surefoot.riskscore.problem.problem import RiskScore, RiskScoreProblem


def polished(
    problem: RiskScoreProblem,
    rows: ScoreRows,
    card: RiskScore,
    columns: Sequence[int] | None = None,
    stopped: Callable[[], bool] = lambda: False,
) -> RiskScore:
    """Where coordinate descent ends from an admissible card, over the intercept and ``columns`` (default: all)."""
    movable = np.arange(rows.n_columns, dtype=np.int32) if columns is None else np.asarray(columns, dtype=np.int32)
    x = coordinates(card)
    value = rows.loss(rows.scores(x)) + problem.penalty * card.size
    while not stopped():
        found = _best_change(problem, rows, x, movable, value)
        if found is None:
            break
        column, step, value = found
        x[column + 1] += step
    return card_of(x)


def _best_change(
    problem: RiskScoreProblem, rows: ScoreRows, x: FloatArray, movable: IntArray, value: float
) -> tuple[int, int, float] | None:
    """Column, step and objective of the best admissible change of one coordinate, or None if none helps."""
    scores = rows.scores(x)
    gradient = rows.gradient(scores)
    size = int(np.count_nonzero(x[1:]))
    cutoff = value - ROUNDING_PARAMETERS.least_decrease
    choices = []
    for column in (INTERCEPT, *movable.tolist()):
        steps = _steps(problem, x, column, full=size >= problem.max_features)
        if steps.size == 0:
            continue
        prices = problem.penalty * _sizes(x, column, steps, size)
        # No step can end below the tangent.
        bounds = value - problem.penalty * size + gradient[column + 1] * steps + prices
        promising = bounds < cutoff
        choices.append((float(bounds.min()), column, steps[promising], prices[promising]))
    choices.sort(key=lambda choice: choice[:2])
    best: tuple[int, int, float] | None = None
    for bound, column, steps, prices in choices:
        if bound >= cutoff:
            break
        values = rows.card_losses_along(scores, column, steps) + prices
        for at in np.argsort(values, kind="stable"):
            if values[at] >= cutoff:
                break
            changed = x.copy()
            changed[column + 1] += steps[at]
            if problem.admits(card_of(changed)):
                best, cutoff = (column, int(steps[at]), float(values[at])), float(values[at])
                break
    return best


def _steps(problem: RiskScoreProblem, x: FloatArray, column: int, *, full: bool) -> IntArray:
    """Changes that stay within the limits; a full card takes no further column."""
    now = int(x[column + 1])
    if column == INTERCEPT:
        low, high = problem.intercept_lower, problem.intercept_upper
    elif full and now == 0:
        return np.empty(0, dtype=np.int32)
    else:
        low, high = int(problem.lower[column]), int(problem.upper[column])
    steps = np.arange(low - now, high - now + 1, dtype=np.int32)
    return np.compress(steps != 0, steps)


def _sizes(x: FloatArray, column: int, steps: IntArray, size: int) -> IntArray:
    """Number of columns with points after each step."""
    if column == INTERCEPT:
        return np.full(steps.size, size, dtype=np.int32)
    now = int(x[column + 1])
    return np.asarray(size - (now != 0) + (now + steps != 0), dtype=np.int32)
