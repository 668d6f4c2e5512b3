"""Rounding real coordinates to integers, in three ways (Sections 4.1.2 and 6.1 of Ustun and Rudin, JMLR 2019).

- nearest: every coordinate to the nearest integer within its limits;
- rescaled: first all coordinates are multiplied until one of them is at its limit, so that small ones do not vanish;
- sequential (Algorithm 4): one coordinate at a time, up or down, always the change after which the objective is least. By
  convexity the tangent bounds the loss after each of them from below, so most need not be evaluated.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from surefoot.core.arrays import FloatArray, IntArray
from surefoot.riskscore.baselines.merged_rows import INTERCEPT, ScoreRows, card_of
from surefoot.riskscore.baselines.parameters import ROUNDING_PARAMETERS
from surefoot.riskscore.problem.problem import RiskScore, RiskScoreProblem


def nearest(problem: RiskScoreProblem, point: FloatArray) -> RiskScore:
    """Every coordinate rounded on its own."""
    points = np.clip(np.rint(point[1:]), problem.lower, problem.upper).astype(np.int32)
    return RiskScore(int(np.clip(np.rint(point[0]), problem.intercept_lower, problem.intercept_upper)), points)


def rescaled(problem: RiskScoreProblem, point: FloatArray) -> RiskScore:
    """All coordinates multiplied until the first column is at its limit, then rounded."""
    limits = np.where(point[1:] > 0, problem.upper, -problem.lower).astype(np.float64)
    sizes = np.abs(point[1:])
    used = sizes > ROUNDING_PARAMETERS.integrality
    if not used.any():
        return nearest(problem, point)
    return nearest(problem, float((limits[used] / sizes[used]).min()) * point)


def sequential(
    problem: RiskScoreProblem,
    rows: ScoreRows,
    point: FloatArray,
    most: int | None = None,
    stopped: Callable[[], bool] = lambda: False,
) -> RiskScore | None:
    """One coordinate after another, whichever costs least; None once more than ``most`` columns are sure to have points.

    Coordinates that are left when ``stopped`` says so are rounded to the nearest integers.
    """
    low = np.append(problem.intercept_lower, problem.lower).astype(np.float64)
    high = np.append(problem.intercept_upper, problem.upper).astype(np.float64)
    x = np.clip(point, low, high)
    x = np.where(np.abs(x - np.rint(x)) <= ROUNDING_PARAMETERS.integrality, np.rint(x), x)
    scores = rows.scores(x)
    value = rows.loss(scores)
    left = np.flatnonzero(x != np.rint(x)).astype(np.int32)
    while left.size:
        # Rounding takes points of one and more to points of one and more.
        if most is not None and np.count_nonzero(np.abs(x[1:]) >= 1.0) > most:
            return None
        if stopped():
            x[left] = np.rint(x[left])
            break
        at, step, value = _cheapest(problem, rows, x, scores, value, left)
        x[at] = np.rint(x[at] + step)
        scores += step * (rows.ones if at == 0 else rows.columns[at - 1])
        left = np.compress(left != at, left)
    return card_of(x)


def _cheapest(
    problem: RiskScoreProblem, rows: ScoreRows, x: FloatArray, scores: FloatArray, loss: float, left: IntArray
) -> tuple[int, float, float]:
    """Coordinate, change and loss of the next rounding."""
    steps = np.concatenate([np.floor(x[left]) - x[left], np.ceil(x[left]) - x[left]])
    where = np.tile(left, 2)
    # A column that is rounded to 0 leaves the penalty.
    prices = np.where((where > 0) & (np.rint(x[where] + steps) == 0), -problem.penalty, 0.0)
    bounds = loss + np.tile(rows.gradient(scores, left), 2) * steps + prices
    best, least = (int(where[0]), float(steps[0]), np.inf), np.inf
    for k in np.argsort(bounds, kind="stable"):
        if bounds[k] >= least:
            break
        column = int(where[k]) - 1 if where[k] > 0 else INTERCEPT
        found = float(rows.losses_along(scores, column, steps[k : k + 1])[0])
        if found + prices[k] < least:
            least = found + prices[k]
            best = (int(where[k]), float(steps[k]), found)
    return best
