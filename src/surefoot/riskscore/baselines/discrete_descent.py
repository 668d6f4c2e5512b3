"""Discrete coordinate descent: the best single change of a card, again and again (Algorithm 3 of Ustun and Rudin, JMLR 2019).

A card comes out at which no change of one coordinate to another admissible value lowers the objective.

By convexity a change of coordinate j by t changes the loss by at least g_j t. Coordinates are looked at in the order of what
they could gain by that measure, until none can beat the best change found; the gradient, one pass over the rows, spares most
of the others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from surefoot.core.arrays import FloatArray, IntArray
from surefoot.riskscore.baselines.merged_rows import INTERCEPT, ScoreRows, coordinates
from surefoot.riskscore.problem.problem import RiskScore, RiskScoreProblem

# A change must gain more than rounding could feign.
LEAST_GAIN = 1e-13


def polished(
    problem: RiskScoreProblem,
    rows: ScoreRows,
    card: RiskScore,
    columns: Sequence[int] | None = None,
    stopped: Callable[[], bool] = lambda: False,
) -> RiskScore:
    """The end of the descent from an admissible card, over the intercept and ``columns`` (default: all)."""
    movable = np.arange(rows.n_columns, dtype=np.int32) if columns is None else np.asarray(columns, dtype=np.int32)
    x = coordinates(card)
    value = rows.loss(rows.scores(x)) + problem.penalty * card.size
    while not stopped():
        found = _best_change(problem, rows, x, movable, value)
        if found is None:
            break
        column, step, value = found
        x[column + 1] += step
    return RiskScore(int(x[0]), x[1:].astype(np.int32))


def _best_change(
    problem: RiskScoreProblem, rows: ScoreRows, x: FloatArray, movable: IntArray, value: float
) -> tuple[int, int, float] | None:
    """Column, step and objective of the best admissible change of one coordinate, or None if none helps."""
    scores = rows.scores(x)
    gradient = rows.gradient(scores)
    size = int(np.count_nonzero(x[1:]))
    choices = []
    for column in (INTERCEPT, *movable.tolist()):
        steps = _steps(problem, x, column, full=size >= problem.max_features)
        if steps.size == 0:
            continue
        prices = problem.penalty * _sizes(x, column, steps, size)
        # No step can end below the tangent.
        floors = value - problem.penalty * size + gradient[column + 1] * steps + prices
        choices.append((float(floors.min()), column, steps[floors < value - LEAST_GAIN], prices[floors < value - LEAST_GAIN]))
    choices.sort(key=lambda choice: choice[:2])
    best: tuple[int, int, float] | None = None
    least = value - LEAST_GAIN
    for floor, column, steps, prices in choices:
        if floor >= least:
            break
        values = rows.card_losses_along(scores, column, steps) + prices
        for at in np.argsort(values, kind="stable"):
            if values[at] >= least:
                break
            changed = x.copy()
            changed[column + 1] += steps[at]
            if problem.admits(RiskScore(int(changed[0]), changed[1:].astype(np.int32))):
                best, least = (column, int(steps[at]), float(values[at])), float(values[at])
                break
    return best


def _steps(problem: RiskScoreProblem, x: FloatArray, column: int, *, full: bool) -> IntArray:
    """Changes that stay within the limits; a card that is full takes no further column."""
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
