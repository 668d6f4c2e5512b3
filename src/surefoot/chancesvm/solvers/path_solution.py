"""What one solve of a price path leaves to the next: a plane and a dual point, and what they are worth in another problem."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from surefoot.chancesvm.problem.problem import EllipsoidMix
from surefoot.chancesvm.solvers.plane_run import PlaneRun
from surefoot.core.arrays import FloatArray


@dataclass(frozen=True, eq=False)
class PathSolution:
    """The w of a solved master with its values at the samples, and its dual point with bound and ellipsoids (tau)."""

    coefficients: FloatArray
    values: FloatArray
    squared_norm: float
    mix: FloatArray
    weights: FloatArray
    bound: float
    tau: FloatArray

    def warm_start(self, run: PlaneRun) -> None:
        """Offer incumbent and bound to the solve of another problem."""
        run.improve_along(self.coefficients, self.values, self.squared_norm, wide=True)
        total = float(self.weights.sum())
        if total <= 0.0 or np.any(self.tau > run.problem.tau):
            return
        used = self.weights > 0
        quadratic = 2.0 * (total - self.bound)
        most = float((run.problem.costs[used] / self.weights[used]).min())
        scale = most if most * quadratic <= total else total / quadratic
        run.tighten(scale * total - 0.5 * scale * scale * quadratic, EllipsoidMix(scale * self.mix))
