"""Forward problems over an ellipsoid: the set is a ball in other coordinates, x = root y - A^-1 b with root root' = A^-1."""

from __future__ import annotations

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.exceptions import UnsupportedProblemError
from surefoot.inverse.problem.decision_set import EllipsoidSet
from surefoot.inverse.problem.distance import Distance
from surefoot.inverse.problem.hypothesis import EllipsoidFeatures
from surefoot.inverse.problem.problem import Example, Instance
from surefoot.inverse.problem.trust_region import smallest_in_ball


class EllipsoidDecisions:
    """The forward problem at one signal."""

    def __init__(self, instance: Instance) -> None:
        assert isinstance(instance.decisions, EllipsoidSet) and isinstance(instance.features, EllipsoidFeatures)
        decisions, self.features = instance.decisions, instance.features
        lower = np.linalg.cholesky(decisions.form)
        self.root = np.linalg.inv(lower).T
        self.middle = -np.linalg.solve(decisions.form, decisions.shift)
        self.radius = float(np.sqrt(decisions.shift @ np.linalg.solve(decisions.form, decisions.shift) - decisions.constant))

    def best(self, example: Example, theta: FloatArray, distance: Distance, weight: float) -> tuple[FloatArray, float]:
        """The decision of largest value, and a bound that no value exceeds."""
        square, slope = self.features.parts(theta)
        constant = float(example.own @ theta)
        if weight > 0 and not distance.absent:
            if distance.continuous != "squared-l2":
                raise UnsupportedProblemError(
                    f"distance={distance.continuous!r} is not possible over an ellipsoid; choose 'squared-l2' or 'none'."
                )
            square = square - weight * np.eye(slope.size)
            slope = slope + weight * example.response
            constant += weight * float(example.response @ example.response)
        # In x = middle + root y: y' H y + 2 g . y + what the middle costs.
        curved = self.root.T @ square @ self.root
        tilted = self.root.T @ (square @ self.middle + slope)
        base = float(self.middle @ square @ self.middle + 2 * slope @ self.middle)
        y, least = smallest_in_ball(curved, tilted, self.radius)
        return self.middle + self.root @ y, constant - base - least
