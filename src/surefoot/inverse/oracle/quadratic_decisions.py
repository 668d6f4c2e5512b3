"""Forward problems that are quadratic in continuous unknowns, for every value of the whole ones.

    max over y of   -y' Q y - (c + h) . y    subject to    A y <= c - B z

for every z and, where the distance measures y, every signed unit vector h: small convex programmes.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg
import scipy.sparse

from surefoot.core.arrays import FloatArray
from surefoot.core.backends.clarabel import CLOSE, Cone, ConeProgramme
from surefoot.core.outcome import Status
from surefoot.core.row_blocks import summation_error
from surefoot.core.solve_options import SolveOptions
from surefoot.exceptions import ForwardSolveError
from surefoot.inverse.problem.decision_set import LinearSet
from surefoot.inverse.problem.distance import Distance
from surefoot.inverse.problem.hypothesis import QuadraticFeatures
from surefoot.inverse.problem.problem import Example, Instance
from surefoot.inverse.problem.quadratic_terms import continuous_rows, curved_axes, directions, largest_left, whole_values

# What missing a row by 1 costs, per unit of cost, where no decision keeps to all of them.
DEAR = 1e4
# Prices of less than this share of the largest are an interior point's, and not of a row that holds the decision.
HOLDING = 1e-7


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

    def prices(self, example: Example, theta: FloatArray, distance: Distance) -> FloatArray | None:
        """Prices that prove the largest value: see :mod:`surefoot.inverse.problem.quadratic_terms`."""
        axes = curved_axes(self.features, theta)
        if axes is None:
            return None
        turns = directions(self.features.n_continuous, distance)
        found = np.zeros((len(self.values), len(turns), self.sides.size))
        for j, z in enumerate(self.values):
            curve, slope, _ = self.features.quadratic_cost(theta, z)
            sides = self.sides - self.mixed @ z
            for k, turn in enumerate(turns):
                price = self._row_prices(curve, slope + turn, sides)
                given = np.array(
                    [
                        price,
                        self._settled(curve, slope + turn, sides, price),
                        self._flattened(axes[1], slope + turn, price),
                    ]
                )
                # All of them are proofs; the best one is kept.
                found[j, k] = given[int(np.argmin(self._proven(axes, slope + turn, sides, given)))]
        return found

    def _proven(
        self, axes: tuple[FloatArray, FloatArray], slope: FloatArray, sides: FloatArray, prices: FloatArray
    ) -> FloatArray:
        whole = self.decisions.whole
        size = np.linalg.norm(np.abs(slope) + prices @ np.abs(self.rows), axis=1)
        noise = summation_error(sides.size + slope.size) * size
        ends = self.decisions.lower[~whole], self.decisions.upper[~whole]
        return prices @ sides + largest_left(axes, *ends, slope + prices @ self.rows, noise)

    def _settled(self, curve: FloatArray, slope: FloatArray, sides: FloatArray, price: FloatArray) -> FloatArray:
        """Prices that solve the equations of the rows that hold the decision, to the last digit."""
        holding = np.flatnonzero(price > HOLDING * max(float(price.max(initial=0.0)), 1e-300))
        u, m = slope.size, holding.size
        if u == 0 or m == 0:
            return np.zeros_like(price)
        system = np.zeros((u + m, u + m))
        system[:u, :u], system[:u, u:], system[u:, :u] = 2 * curve, self.rows[holding].T, self.rows[holding]
        solved = np.linalg.lstsq(system, np.concatenate((-slope, sides[holding])), rcond=None)[0]
        settled = np.zeros_like(price)
        settled[holding] = np.maximum(solved[u:], 0.0)
        return settled

    def _flattened(self, along: FloatArray, slope: FloatArray, price: FloatArray) -> FloatArray:
        """Prices that leave nothing to be paid where the cost does not curve."""
        flat = scipy.linalg.null_space(along.T) if along.size else np.eye(slope.size)
        holding = np.flatnonzero(price > HOLDING * max(float(price.max(initial=0.0)), 1e-300))
        if flat.size == 0 or holding.size == 0:
            return price
        left = (slope + price @ self.rows) @ flat
        moved = price.copy()
        moved[holding] -= np.linalg.lstsq((self.rows[holding] @ flat).T, left, rcond=None)[0]
        return np.maximum(moved, 0.0)

    def _row_prices(self, curve: FloatArray, slope: FloatArray, sides: FloatArray) -> FloatArray:
        """Multipliers of the rows at the best y; where there is none, of the programme in which rows may be missed."""
        u, options = slope.size, SolveOptions()
        dear = DEAR * (1.0 + float(np.abs(slope).sum() + np.abs(curve).sum()))
        if u == 0:
            return np.where(sides < -1e-9, dear / np.minimum(sides, -1e-9), 0.0) * -1.0
        cones = (Cone("nonnegative", sides.size),)
        rows = scipy.sparse.csc_matrix(self.rows)
        solved = ConeProgramme(slope, rows, sides, cones, scipy.sparse.csc_matrix(2 * curve)).solve(options, CLOSE)
        if solved.ended is Status.OPTIMAL:
            return np.maximum(solved.multipliers, 0.0)
        missing = scipy.sparse.csc_matrix(np.vstack((np.column_stack((self.rows, -np.ones(sides.size))), -np.eye(1, u + 1, u))))
        bent = scipy.sparse.csc_matrix(np.pad(2 * curve, (0, 1)))
        cones = (Cone("nonnegative", sides.size + 1),)
        elastic = ConeProgramme(np.append(slope, dear), missing, np.append(sides, 0.0), cones, bent).solve(options, CLOSE)
        return np.maximum(elastic.multipliers[:-1], 0.0)

    def _quadratic(self, curve: FloatArray, slope: FloatArray, sides: FloatArray) -> FloatArray | None:
        """min y' curve y + slope . y subject to rows y <= sides; None if nothing is allowed."""
        u = slope.size
        if u == 0:
            return np.empty(0) if np.all(sides >= -1e-9) else None
        if u == 1:
            return self._on_a_line(float(curve[0, 0]), float(slope[0]), sides)
        cones = (Cone("nonnegative", sides.size),)
        rows, matrix = scipy.sparse.csc_matrix(self.rows), scipy.sparse.csc_matrix(2 * curve)
        solved = ConeProgramme(slope, rows, sides, cones, matrix).solve(SolveOptions(), CLOSE)
        if solved.ended is Status.OPTIMAL:
            return solved.x
        level = ConeProgramme(np.zeros(u), rows, sides, cones).solve(SolveOptions(), CLOSE)
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
