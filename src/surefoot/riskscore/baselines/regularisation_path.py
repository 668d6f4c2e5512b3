"""Penalised logistic regression with points in their boxes, over a grid of penalties.

    min over x in the box of   loss(x) + reg * sum_j (alpha s_j |x_j| + (1 - alpha) s_j^2 x_j^2 / 2),

s_j the standard deviation of column j, the intercept free of penalty. The grid is that of Section 6.1 of Ustun and Rudin (JMLR
2019): eleven mixtures alpha from 0 to 1, and for each a hundred values of reg, falling from the smallest that leaves every
column out (for alpha = 0, which has none, that of alpha = 0.001) to a ten-thousandth of it, or until the loss falls no more.

Each fit starts from the one before and takes Newton steps on a quadratic model with the penalty kept whole
(cpp/include/surefoot/elastic_step.hpp). The gradient is that of all rows. The curvature is that of a sample of rows, raised to
the full diagonal: it only steers the steps, and a line search answers for them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from surefoot import _native
from surefoot.core.arrays import FloatArray, IntArray
from surefoot.riskscore.baselines.merged_rows import ScoreRows
from surefoot.riskscore.problem.problem import RiskScoreProblem

MIXTURES = tuple(np.linspace(0.0, 1.0, 11))
PENALTIES = 100
SMALLEST = 1e-4
# A mixture without l1 has no penalty that leaves all columns out.
LEAST_MIXTURE = 1e-3
CURVATURE_ROWS = 2048
STEPS = 12
# Points are rounded to whole numbers afterwards; a fit need not be closer than this share of the loss.
CLOSE = 1e-6
# A path whose loss hardly falls any more has reached the fit without penalty.
FLAT = 1e-5


@dataclass(frozen=True, eq=False)
class PathModel:
    """A real-valued fit: coordinates (intercept first), its loss and its gradient over the rows."""

    point: FloatArray
    loss: float
    gradient: FloatArray


def regularisation_path(
    rows: ScoreRows, problem: RiskScoreProblem, mixtures: tuple[float, ...] = MIXTURES, n_penalties: int = PENALTIES
) -> Iterator[PathModel]:
    """Fits of the whole grid, mixture by mixture, from the largest penalty to the smallest."""
    fitter = PenalisedFit(rows, problem)
    start = fitter.empty()
    yield start
    shrunk = np.abs(start.gradient[1:]) / np.where(fitter.deviation > 0, fitter.deviation, np.inf)
    largest = float(shrunk.max(initial=0.0))
    if largest <= 0.0:
        return
    for mixture in mixtures:
        model = start
        for reg in largest / max(mixture, LEAST_MIXTURE) * np.geomspace(1.0, SMALLEST, n_penalties):
            before = model.loss
            model = fitter.fit(model, reg, mixture)
            yield model
            if mixture >= LEAST_MIXTURE and 0 <= before - model.loss <= FLAT * before and model.loss < (1 - 1e-3) * start.loss:
                break


class PenalisedFit:
    """Newton steps for one problem."""

    def __init__(self, rows: ScoreRows, problem: RiskScoreProblem) -> None:
        self.rows, self.sample = rows, rows.sample(CURVATURE_ROWS)
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
        share = float(np.clip(self.rows.positive.sum() / self.rows.total.sum(), 1e-12, 1 - 1e-12))
        point = np.zeros(self.rows.n_columns + 1)
        point[0] = np.clip(np.log(share / (1 - share)), self.lower[0], self.upper[0])
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

        value = model.loss + penalty(model.point)
        for _ in range(STEPS):
            goal: FloatArray = _native.elastic_step(
                self._curvature(model.point), model.gradient, model.point, lower, upper, l1, l2, 0.01 * CLOSE * value, 200
            )
            share, next_model, next_value = 1.0, model, np.inf
            while share > 1e-4:
                next_model = self.at(model.point + share * (goal - model.point))
                next_value = next_model.loss + penalty(next_model.point)
                if next_value < value:
                    break
                share *= 0.5
            if next_value >= value:
                break
            gained, model, value = value - next_value, next_model, next_value
            if gained <= CLOSE * value:
                break
        return model

    def _curvature(self, point: FloatArray) -> FloatArray:
        sample = self.sample
        bend = _bend(sample, sample.scores(point))
        bent = sample.columns * bend
        H = np.empty((self.rows.n_columns + 1,) * 2)
        H[0, 0] = bend.sum()
        H[0, 1:] = H[1:, 0] = bent.sum(axis=1)
        H[1:, 1:] = bent @ sample.columns.T
        if sample is not self.rows:
            own = self.squares @ _bend(self.rows, self.rows.scores(point))
            inner = H[1:, 1:]
            inner[np.diag_indices_from(inner)] = np.maximum(inner.diagonal(), own)
        return H


def _bend(rows: ScoreRows, scores: FloatArray) -> FloatArray:
    slope = expit(scores)
    return np.asarray(rows.total * slope * (1.0 - slope))
