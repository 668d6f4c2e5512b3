"""Random models and random shift plans: feasible, but otherwise as wild as the dimensions allow."""

from __future__ import annotations

import numpy as np

from reference.worst_case import needed_price
from surefoot.robust.problem.problem import RobustCoefficients, RobustLogisticProblem, ShiftPlan


def random_model(problem: RobustLogisticProblem, draw: np.random.Generator, size: float = 1.0) -> RobustCoefficients:
    """Coefficients of about the given size with a price that admits them, sometimes the smallest one."""
    numeric = size * draw.normal(size=problem.n_numeric)
    levels = size * draw.normal(size=int(problem.level_offsets[-1]))
    levels[problem.level_offsets[:-1]] = 0.0
    if draw.random() < 0.3:
        # Equal coefficients make ties between levels and between features.
        levels = size * np.round(levels / size)
    needed = needed_price(problem, numeric) * (1 + 1e-12)
    extra = size * draw.exponential() if draw.random() < 0.7 else 0.0
    intercept = size * float(draw.normal()) if problem.fit_intercept else 0.0
    return RobustCoefficients(intercept=intercept, numeric=numeric, levels=levels, price=needed + extra)


def random_plan(problem: RobustLogisticProblem, draw: np.random.Generator, entries_per_row: int = 3) -> ShiftPlan:
    """A valid plan: each row's weight is split at random over random moves, with random slopes and level mixes."""
    rows = np.repeat(np.arange(problem.n_rows), entries_per_row)
    draw.shuffle(rows)
    shares = draw.exponential(size=rows.size) * (draw.random(rows.size) < 0.8)
    totals = np.bincount(rows, weights=shares, minlength=problem.n_rows)
    shares[totals[rows] == 0] = 1.0
    totals = np.bincount(rows, weights=shares, minlength=problem.n_rows)
    busy = draw.random()
    movable = np.isfinite(problem.cost.categorical_weights)
    moved = (draw.random((rows.size, problem.n_categorical)) < busy) & movable
    if problem.cost.ranged.any():  # stay, low or high
        end = draw.integers(0, 3, size=(rows.size, int(problem.cost.ranged.sum())))
        ends = np.stack((end == 1, end == 2), axis=2).reshape(rows.size, -1)
        moved = np.hstack((moved, ends & (draw.random(ends.shape) < busy)))
    mixes = []
    for _ in range(2):
        mix = draw.exponential(size=int(problem.level_offsets[-1])) ** 3
        if problem.n_categorical:
            mix /= np.repeat(np.add.reduceat(mix, problem.level_offsets[:-1]), problem.n_levels)
        mixes.append(mix)
    return ShiftPlan(
        row=rows.astype(np.int64),
        moved=moved,
        flipped=(draw.random(rows.size) < busy) & np.isfinite(problem.cost.label_weight),
        mass=problem.weights[rows] * shares / totals[rows],
        slope=np.clip(draw.normal(0.5, 0.4, size=rows.size), 0.0, 1.0),
        lowest=mixes[0],
        highest=mixes[1],
    )
