"""Quadratic costs over an ellipsoid: Appendix B of Zattoni Scroccaro, Atasoy and Mohajerin Esfahani (2024).

    max over x of   <theta, phi(x_hat) - phi(x)> + weight ||x_hat - x||^2    subject to    x' A x + 2 b . x + c <= 0

With x = middle + root y, middle = -A^-1 b and root root' = A^-1, this is constant - min over ||y|| <= r of y' H y + 2 g . y, a
trust-region subproblem.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.exceptions import UnsupportedProblemError
from surefoot.inverse.problem.decision_set import EllipsoidSet
from surefoot.inverse.problem.distance import Distance
from surefoot.inverse.problem.hypothesis import QuadraticFeatures
from surefoot.inverse.problem.problem import Example, Instance
from surefoot.inverse.problem.trust_region_dual import trust_region_bound


@dataclass(frozen=True, eq=False)
class BallProgramme:
    """constant - (y' form y + 2 slope . y), to be maximised over ||y||_2 <= radius."""

    form: FloatArray
    slope: FloatArray
    radius: float
    constant: float

    def bound(self, multiplier: float) -> float:
        """No point of the ball exceeds this, for any multiplier of the ball; inf if it proves nothing."""
        return self.constant - trust_region_bound(self.form, self.slope, self.radius, multiplier)


class EllipsoidDecisions:
    """The change of coordinates at one signal."""

    def __init__(self, instance: Instance) -> None:
        assert isinstance(instance.decisions, EllipsoidSet) and isinstance(instance.features, QuadraticFeatures)
        decisions, self.features = instance.decisions, instance.features
        lower = np.linalg.cholesky(decisions.form)
        self.root = np.linalg.inv(lower).T
        self.middle = -np.linalg.solve(decisions.form, decisions.shift)
        self.radius = float(np.sqrt(decisions.shift @ np.linalg.solve(decisions.form, decisions.shift) - decisions.constant))

    def decision(self, y: FloatArray) -> FloatArray:
        """The decision of a point of the ball."""
        return np.asarray(self.middle + self.root @ y)

    def programme(self, example: Example, theta: FloatArray, distance: Distance, weight: float) -> BallProgramme:
        """The problem of the module docstring in coordinates of the ball."""
        square, doubled, _ = self.features.quadratic_cost(theta, np.empty(0))
        slope = doubled / 2
        constant = float(example.own @ theta)
        if weight > 0 and not distance.absent:
            if distance.continuous != "squared-l2":
                raise UnsupportedProblemError(
                    f"distance={distance.continuous!r} is not possible over an ellipsoid; choose 'squared-l2' or 'none'."
                )
            square = square - weight * np.eye(slope.size)
            slope = slope + weight * example.response
            constant += weight * float(example.response @ example.response)
        form = self.root.T @ square @ self.root
        tilted = self.root.T @ (square @ self.middle + slope)
        base = float(self.middle @ square @ self.middle + 2 * slope @ self.middle)
        return BallProgramme(form, tilted, self.radius, constant - base)
