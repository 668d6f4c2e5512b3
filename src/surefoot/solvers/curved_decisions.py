"""Forward problems that are quadratic in continuous unknowns, for every value of the whole ones.

    max over y of   -y' Q y - (c + h) . y    subject to    A y <= c - B z

for every z and, where the distance measures y, every signed unit vector h: small convex programmes.
"""

from __future__ import annotations

import itertools

import numpy as np
import scipy.sparse

from surefoot.exceptions import ForwardSolveError, UnsupportedProblemError
from surefoot.problems.arrays import FloatArray
from surefoot.problems.decision_set import LinearSet
from surefoot.problems.distance import Distance
from surefoot.problems.hypothesis import QuadraticFeatures
from surefoot.problems.inverse import Example, Instance
from surefoot.solvers.conic import solve_cones
from surefoot.solvers.outcome import Status
from surefoot.solvers.registry import SolveOptions

# More values of the whole unknowns are not worth a programme each.
MOST_VALUES = 4096


def whole_values(instance: Instance) -> FloatArray:
    """Every value of the whole unknowns within their bounds."""
    decisions = instance.decisions
    assert isinstance(decisions, LinearSet)
    low, high = decisions.lower[decisions.whole], decisions.upper[decisions.whole]
    spans = [np.arange(a, b + 1) for a, b in zip(low, high, strict=True)]
    count = np.prod([span.size for span in spans], dtype=np.float64)
    if count > MOST_VALUES:
        raise UnsupportedProblemError(
            f"observation {instance.index}: whole unknowns have {count:.0f} values, more than the {MOST_VALUES} that a "
            "quadratic cost can be learned with."
        )
    return np.array(list(itertools.product(*spans)), dtype=np.float64).reshape(int(count), low.size)


def continuous_rows(decisions: LinearSet) -> tuple[FloatArray, FloatArray, FloatArray]:
    """A, B and c of A y + B z <= c, bounds of y included."""
    whole = decisions.whole
    u = int((~whole).sum())
    above, below = np.isfinite(decisions.high), np.isfinite(decisions.low)
    rows = np.vstack((decisions.matrix[above], -decisions.matrix[below]))
    sides = np.concatenate((decisions.high[above], -decisions.low[below]))
    lower, upper = decisions.lower[~whole], decisions.upper[~whole]
    eye = np.eye(u)
    most, least = np.isfinite(upper), np.isfinite(lower)
    first = np.vstack((rows[:, ~whole], eye[most], -eye[least]))
    second = np.vstack((rows[:, whole], np.zeros((int(most.sum() + least.sum()), int(whole.sum())))))
    return first, second, np.concatenate((sides, upper[most], -lower[least]))


def directions(n_continuous: int, distance: Distance) -> FloatArray:
    """The vectors h of Theorem 4.5: signed unit vectors, or 0 alone where continuous unknowns are not measured."""
    if distance.continuous == "squared-l2" and n_continuous:
        raise UnsupportedProblemError("distance='squared-l2' is exact over an ellipsoid only. Choose 'linf' or 'none' here.")
    if distance.continuous == "none" or n_continuous == 0:
        return np.zeros((1, n_continuous))
    return np.vstack((np.eye(n_continuous), -np.eye(n_continuous)))


class CurvedDecisions:
    """The forward problem at one signal."""

    def __init__(self, instance: Instance) -> None:
        assert isinstance(instance.decisions, LinearSet) and isinstance(instance.features, QuadraticFeatures)
        self.instance, self.features, self.decisions = instance, instance.features, instance.decisions
        self.values = whole_values(instance)
        self.rows, self.mixed, self.sides = continuous_rows(instance.decisions)

    def best(self, example: Example, theta: FloatArray, distance: Distance, weight: float) -> FloatArray:
        """The decision of largest value."""
        u = self.features.n_continuous
        turns = directions(u, distance) if weight > 0 else np.zeros((1, u))
        found, value = None, -np.inf
        for z in self.values:
            curve, slope, _ = self.features.quadratic_cost(theta, z)
            for turn in turns:
                y = self._quadratic(curve, slope + weight * turn, self.sides - self.mixed @ z)
                if y is None:
                    continue
                point = np.concatenate((y, z))
                gain = float(
                    example.slopes(point[None, :])[0] @ theta + weight * example.distances(distance, point[None, :])[0]
                )
                if gain > value:
                    found, value = point, gain
        if found is None:
            raise ForwardSolveError(f"observation {self.instance.index}: no decision is allowed at this signal.")
        return found

    def _quadratic(self, curve: FloatArray, slope: FloatArray, sides: FloatArray) -> FloatArray | None:
        """min y' curve y + slope . y subject to rows y <= sides; None if nothing is allowed."""
        u = slope.size
        if u == 0:
            return np.empty(0) if np.all(sides >= -1e-9) else None
        if u == 1:
            return self._on_a_line(float(curve[0, 0]), float(slope[0]), sides)
        cones = [("nonnegative", sides.size)]
        matrix = scipy.sparse.csc_matrix(2 * curve)
        solved = solve_cones(matrix, slope, scipy.sparse.csc_matrix(self.rows), sides, cones, SolveOptions())
        if solved.ended is Status.OPTIMAL:
            return solved.x
        level = solve_cones(None, np.zeros(u), scipy.sparse.csc_matrix(self.rows), sides, cones, SolveOptions())
        if level.ended is Status.OPTIMAL:
            self._unbounded()
        return None

    def _on_a_line(self, curve: float, slope: float, sides: FloatArray) -> FloatArray | None:
        row = self.rows[:, 0]
        with np.errstate(divide="ignore", invalid="ignore"):
            ends = sides / row
        low = float(np.max(ends[row < 0], initial=-np.inf))
        high = float(np.min(ends[row > 0], initial=np.inf))
        if low > high + 1e-9 or np.any(sides[row == 0] < -1e-9):
            return None
        if curve > 1e-14:
            at = float(np.clip(-slope / (2 * curve), low, max(low, high)))
        else:
            at = low if slope > 0 else high if slope < 0 else float(np.clip(0.0, low, max(low, high)))
        if not np.isfinite(at):
            self._unbounded()
        return np.array([at])

    def _unbounded(self) -> None:
        raise ForwardSolveError(
            f"observation {self.instance.index}: the forward problem has no smallest cost; bound its unknowns, or the "
            "cost vector with a prior."
        )
