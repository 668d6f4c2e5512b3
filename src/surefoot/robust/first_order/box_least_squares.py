"""Least squares over a box by the three methods that the poster names: the published coefficient steps of LP-ADMM.

    min over b of   1/2 b' G b - c . b      subject to   |b_j| <= radius gamma_j,

the problem of :mod:`surefoot.robust.first_order.ball_least_squares` in the l1 norm, which is solved there to the last digit.
Here every method begins at its last answer and ends when a step changes b by less than a tolerance, so that its answers are as
good as that; coordinates with gamma_j = inf have no bound.

- "conjugate-gradient": conjugate gradients on the face of the coordinates that are not at their bound, cut off where the face
  ends; a coordinate at its bound is released when its gradient points inside (Polyak 1969).
- "projected-gradient": accelerated projected gradient steps of length 1 / (largest eigenvalue of G) with momentum
  (k - 1) / (k + 2) (Beck and Teboulle 2009).
- "coordinate": cyclic exact minimisation over one coordinate at a time; a step is a cycle.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg

from surefoot.core.arrays import FloatArray
from surefoot.robust.first_order.parameters import CoefficientStep


class BoxLeastSquares:
    """The minimiser for any right-hand side and any radius; see the module docstring.

    Parameters
    ----------
    gram : ndarray of shape (p, p)
        G, positive definite.
    weights : ndarray of shape (p,)
        gamma; ``inf`` marks free coordinates.
    method : {"conjugate-gradient", "projected-gradient", "coordinate"}
    tolerance : float
        Change of b, as the root of the sum of squares, that ends a call.
    max_steps : int
        Most steps of a call.
    """

    def __init__(
        self, gram: FloatArray, weights: FloatArray, method: CoefficientStep, *, tolerance: float, max_steps: int
    ) -> None:
        self.gram = gram
        self.weights = weights
        self.tolerance = tolerance
        self.max_steps = max_steps
        self.point = np.zeros(weights.size)
        self.steps = 0
        methods = {
            "conjugate-gradient": self._conjugate_gradients,
            "projected-gradient": self._projected_gradients,
            "coordinate": self._coordinates,
        }
        self._minimise = methods[method]
        self.curvature = float(scipy.linalg.eigvalsh(gram)[-1]) if gram.size else 1.0

    def solve(self, right: FloatArray, radius: float) -> FloatArray:
        """A point of the box near the minimiser for the right-hand side c."""
        limit = np.where(np.isinf(self.weights), np.inf, radius * np.where(np.isinf(self.weights), 0.0, self.weights))
        self.point = self._minimise(np.clip(self.point, -limit, limit), right, limit)
        return self.point

    def _conjugate_gradients(self, point: FloatArray, right: FloatArray, limit: FloatArray) -> FloatArray:
        gradient = self.gram @ point - right
        direction, residual, face_changed = np.zeros_like(point), gradient, True
        for _ in range(self.max_steps):
            held = (np.abs(point) >= limit) & (point * gradient <= 0)
            before, residual = residual, np.where(held, 0.0, -gradient)
            square = float(residual @ residual)
            if square == 0.0:
                break
            direction = residual if face_changed else residual + square / float(before @ before) * direction
            along = self.gram @ direction
            length = square / float(direction @ along)
            with np.errstate(divide="ignore", invalid="ignore"):
                room = np.where(direction != 0, (limit - np.sign(direction) * point) / np.abs(direction), np.inf)
            face_changed = float(room.min()) <= length
            length = min(length, float(room.min()))
            self.steps += 1
            # Where the face ends, the coordinate that ends it lies on its bound to the last digit.
            point = np.where(room <= length, np.copysign(limit, direction), point + length * direction)
            gradient = self.gram @ point - right if face_changed else gradient + length * along
            if length * float(np.linalg.norm(direction)) < self.tolerance and not face_changed:
                break
        return np.clip(point, -limit, limit)

    def _projected_gradients(self, point: FloatArray, right: FloatArray, limit: FloatArray) -> FloatArray:
        ahead = point
        for k in range(1, self.max_steps + 1):
            self.steps += 1
            new = np.clip(ahead - (self.gram @ ahead - right) / self.curvature, -limit, limit)
            if float(np.linalg.norm(new - ahead)) < self.tolerance:
                return new
            ahead, point = new + (k - 1) / (k + 2) * (new - point), new
        return point

    def _coordinates(self, point: FloatArray, right: FloatArray, limit: FloatArray) -> FloatArray:
        gradient = self.gram @ point - right
        for _ in range(self.max_steps):
            self.steps += 1
            before = point.copy()
            for j in range(point.size):
                new = min(max(point[j] - gradient[j] / self.gram[j, j], -limit[j]), limit[j])
                if new != point[j]:
                    gradient += (new - point[j]) * self.gram[j]
                    point[j] = new
            if float(np.linalg.norm(point - before)) < self.tolerance:
                break
        return point
