"""Penalised logistic regression with points in their boxes, over a grid of penalties.

Problem, for each penalty reg and mixture alpha:

    min over x in the box of   L(x) + reg * sum_j (alpha s_j |x_j| + (1 - alpha) s_j^2 x_j^2 / 2),

s_j the standard deviation of column j, the intercept free of penalty. The grid is that of Section 6.1 of Ustun and Rudin (JMLR
2019): eleven mixtures alpha from 0 to 1, and for each a hundred values of reg, falling from the smallest that leaves every
column out (for alpha = 0, which has none, that of alpha = 0.001) to a ten-thousandth of it, or until the loss falls no more.

Each fit starts from the one before (warm start) and takes proximal Newton steps (Lee, Sun and Saunders, SIAM Journal on
Optimization 2014):

1. Gradient of L over all rows; Hessian over a sample of rows, its diagonal raised to that of all rows. It only shapes the step.
2. Minimise the quadratic model plus penalty over the box by coordinate descent (elastic_step.hpp).
3. Line search: halve the step until the objective falls.

A fit ends when a step lowers its objective by less than the tolerance, or none does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from surefoot import _native
from surefoot.core.arrays import FloatArray, IntArray
from surefoot.riskscore.baselines.merged_rows import ScoreRows
from surefoot.riskscore.baselines.parameters import PathParameters
from surefoot.riskscore.problem.problem import RiskScoreProblem


@dataclass(frozen=True, eq=False)
class PathModel:
    """A real-valued fit: coordinates (intercept first), its loss and its gradient over the rows."""

    point: FloatArray
    loss: float
    gradient: FloatArray


def never() -> bool:
    """For what nobody stops."""
    return False


def regularisation_path(
    rows: ScoreRows,
    problem: RiskScoreProblem,
    parameters: PathParameters | None = None,
    stopped: Callable[[], bool] = never,
) -> Iterator[PathModel]:
    """Fits of the whole grid, mixture by mixture, from the largest penalty to the smallest; ``stopped`` as for a single one."""
    fitter = PenalisedFit(rows, problem, parameters, stopped)
    grid = fitter.parameters
    start = fitter.empty()
    yield start
    shrunk = np.abs(start.gradient[1:]) / np.where(fitter.deviation > 0, fitter.deviation, np.inf)
    largest = float(shrunk.max(initial=0.0))
    if largest <= 0.0:
        return
    for mixture in grid.mixtures:
        model = start
        penalties = largest / max(mixture, grid.least_mixture) * np.geomspace(1.0, grid.smallest_ratio, grid.n_penalties)
        for reg in penalties:
            before = model.loss
            model = fitter.fit(model, reg, mixture)
            yield model
            flat = 0 <= before - model.loss <= grid.flat_decrease * before
            if mixture >= grid.least_mixture and flat and model.loss < (1 - grid.least_gain) * start.loss:
                break


class PenalisedFit:
    """Proximal Newton steps for one problem; once ``stopped`` says so no further one is taken, and a fit is where it is."""

    def __init__(
        self,
        rows: ScoreRows,
        problem: RiskScoreProblem,
        parameters: PathParameters | None = None,
        stopped: Callable[[], bool] = never,
    ) -> None:
        self.stopped = stopped
        self.parameters = PathParameters() if parameters is None else parameters
        self.rows, self.sample = rows, rows.sample(self.parameters.curvature_rows)
        self.lower = np.append(float(problem.intercept_lower), problem.lower.astype(np.float64))
        self.upper = np.append(float(problem.intercept_upper), problem.upper.astype(np.float64))
        weight = rows.total / rows.total.sum()
        mean = rows.columns @ weight
        self.squares = rows.columns**2
        variance = self.squares @ weight - mean**2
        # A column of one value is a second intercept; it is left out, as it is when rounding alone makes it vary.
        self.deviation = np.sqrt(np.where(variance > 1e-12 * (1 + mean**2), variance, 0.0))

    def empty(self) -> PathModel:
        """The fit without columns."""
        rate = float(np.clip(self.rows.positive.sum() / self.rows.total.sum(), 1e-12, 1 - 1e-12))
        point = np.zeros(self.rows.n_columns + 1)
        point[0] = np.clip(np.log(rate / (1 - rate)), self.lower[0], self.upper[0])
        return self.at(point)

    def at(self, point: FloatArray) -> PathModel:
        """Loss and gradient at a point."""
        scores = self.rows.scores(point)
        return PathModel(point, self.rows.loss(scores), self.rows.gradient(scores))

    def fit(self, model: PathModel, reg: float = 0.0, mixture: float = 1.0, columns: IntArray | None = None) -> PathModel:
        """The fit for one penalty, from that for another; over some columns only if ``columns`` are given."""
        l1 = np.append(0.0, reg * mixture * self.deviation)
        l2 = np.append(0.0, reg * (1.0 - mixture) * self.deviation**2)
        closed = np.append(False, self.deviation == 0)
        if columns is not None:
            closed[1:] |= ~np.isin(np.arange(self.deviation.size), columns)
            model = self.at(np.where(closed, 0.0, model.point))
        lower, upper = np.where(closed, 0.0, self.lower), np.where(closed, 0.0, self.upper)

        def penalty(point: FloatArray) -> float:
            return float(l1 @ np.abs(point) + l2 @ point**2 / 2)

        tolerance, least_step = self.parameters.tolerance, self.parameters.least_step
        value = model.loss + penalty(model.point)
        for _ in range(self.parameters.max_steps):
            if self.stopped():
                break
            minimiser: FloatArray = _native.elastic_step(
                self._hessian(model.point),
                model.gradient,
                model.point,
                lower,
                upper,
                l1,
                l2,
                self.parameters.model_tolerance * tolerance * value,
                self.parameters.model_sweeps,
            )
            step, next_model, next_value = 1.0, model, np.inf
            while step > least_step:
                next_model = self.at(model.point + step * (minimiser - model.point))
                next_value = next_model.loss + penalty(next_model.point)
                if next_value < value:
                    break
                step *= 0.5
            if next_value >= value:
                break
            decrease, model, value = value - next_value, next_model, next_value
            if decrease <= tolerance * value:
                break
        return model

    def _hessian(self, point: FloatArray) -> FloatArray:
        sample = self.sample
        curvature = _curvature(sample, sample.scores(point))
        weighted = sample.columns * curvature
        H = np.empty((self.rows.n_columns + 1,) * 2)
        H[0, 0] = curvature.sum()
        H[0, 1:] = H[1:, 0] = weighted.sum(axis=1)
        H[1:, 1:] = weighted @ sample.columns.T
        if sample is not self.rows:
            diagonal = self.squares @ _curvature(self.rows, self.rows.scores(point))
            inner = H[1:, 1:]
            inner[np.diag_indices_from(inner)] = np.maximum(inner.diagonal(), diagonal)
        return H


def _curvature(rows: ScoreRows, scores: FloatArray) -> FloatArray:
    """Second derivative of the loss by the score of every row."""
    risk = expit(scores)
    return np.asarray(rows.total * risk * (1.0 - risk))
