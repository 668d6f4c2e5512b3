"""Forward problems that are quadratic in continuous unknowns, for every value of the whole ones.

    max over y of   -y' Q y - (c + h) . y    subject to    A y <= c - B z

for every z and, where the distance measures y, every signed unit vector h (Theorem 4.5 of Zattoni Scroccaro, Atasoy and
Mohajerin Esfahani, 2024): small convex programmes, each by an interior point, or in closed form for one unknown.

The multipliers that prove the largest value come from the same interior point and are polished: by the KKT equations of the
active rows, and by making the gradient of the Lagrangian vanish where Q has no curvature. The best of the three is taken.
"""

from __future__ import annotations

import math
import time

import numpy as np
import scipy.linalg
import scipy.sparse

from surefoot.core.arrays import FloatArray, RowArray
from surefoot.core.backends.clarabel import CLOSE, Cone, ConeProgramme
from surefoot.core.outcome import Status
from surefoot.core.row_blocks import summation_error
from surefoot.core.solve_options import SolveOptions
from surefoot.exceptions import ForwardSolveError
from surefoot.inverse.oracle.parameters import QuadraticOracleParameters
from surefoot.inverse.problem.decision_proof import DecisionTrees, Leaf, Split, Tree
from surefoot.inverse.problem.decision_set import LinearSet
from surefoot.inverse.problem.distance import Distance
from surefoot.inverse.problem.hypothesis import QuadraticFeatures
from surefoot.inverse.problem.problem import Example, Instance
from surefoot.inverse.problem.quadratic_terms import continuous_rows, curvature_axes, directions, lagrangian_bound, whole_values


class QuadraticDecisions:
    """The forward problem at one signal."""

    def __init__(self, instance: Instance, parameters: QuadraticOracleParameters | None = None) -> None:
        assert isinstance(instance.decisions, LinearSet) and isinstance(instance.features, QuadraticFeatures)
        self.instance, self.features, self.decisions = instance, instance.features, instance.decisions
        self.parameters = QuadraticOracleParameters() if parameters is None else parameters
        self.values = whole_values(instance)
        self.rows, self.mixed, self.sides = continuous_rows(instance.decisions)

    def best(
        self, example: Example, theta: FloatArray, distance: Distance, weight: float, seconds: float = math.inf
    ) -> tuple[FloatArray, bool]:
        """The decision of largest value, and whether all were looked at; after ``seconds`` the best one until then."""
        until = time.perf_counter() + seconds
        u = self.features.n_continuous
        turns = directions(u, distance) if weight > 0 else np.zeros((1, u))
        found, value = None, -np.inf
        for z in self.values:
            curve, slope, _ = self.features.quadratic_cost(theta, z)
            for turn in turns:
                if time.perf_counter() >= until:
                    return self._until_then(example, found, weight), False
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
        return found, True

    def _until_then(self, example: Example, found: FloatArray | None, weight: float) -> FloatArray:
        """What a search that was cut short has: its best decision, or the response if that is one."""
        if found is None and weight > 0 and example.inside:
            return example.response
        if found is None:
            raise ForwardSolveError(f"observation {self.instance.index}: no decision was found in time.")
        return found

    def proof(self, example: Example, theta: FloatArray, distance: Distance, seconds: float = math.inf) -> DecisionTrees | None:
        """Why no decision exceeds the largest value: a leaf for every value of the whole unknowns and every vector h.

        None if the cost bends the wrong way, or after ``seconds``.
        """
        axes = curvature_axes(self.features, theta)
        if axes is None:
            return None
        turns = directions(self.features.n_continuous, distance)
        self._until = time.perf_counter() + seconds
        try:
            return DecisionTrees.of([self._tree(axes, theta, turn, ()) for turn in turns])
        except TimeoutError:
            return None

    def _tree(self, axes: tuple[FloatArray, FloatArray], theta: FloatArray, turn: FloatArray, fixed: tuple[float, ...]) -> Tree:
        """The tree below given values of the first whole unknowns."""
        columns = np.flatnonzero(self.decisions.whole).tolist()
        if len(fixed) == len(columns):
            return self._leaf(axes, theta, turn, np.array(fixed))
        j = columns[len(fixed)]
        values = np.arange(self.decisions.lower[j], self.decisions.upper[j] + 1).tolist()
        parts = [self._tree(axes, theta, turn, (*fixed, value)) for value in values]
        tree = parts.pop()
        for value, part in zip(reversed(values[:-1]), reversed(parts), strict=True):
            tree = Split(j, value, part, tree)
        return tree

    def _leaf(self, axes: tuple[FloatArray, FloatArray], theta: FloatArray, turn: FloatArray, z: FloatArray) -> Leaf:
        """Multipliers of the rows, and the point where the Lagrangian is least; bounds of y speak for themselves there."""
        if time.perf_counter() >= self._until:
            raise TimeoutError
        curve, slope, _ = self.features.quadratic_cost(theta, z)
        tilt, sides = slope + turn, self.sides - self.mixed @ z
        first = self._interior_multipliers(curve, tilt, sides)
        given = np.array(
            [first, self._active_set_polish(curve, tilt, sides, first), self._null_space_polish(axes[1], tilt, first)]
        )
        # All of them are proofs; the tightest one is taken.
        best = given[int(np.argmin(self._proven(axes, tilt, sides, given)))]
        y = np.linalg.lstsq(2 * curve, -(tilt + best @ self.rows), rcond=None)[0] if tilt.size else np.empty(0)
        above, below = np.isfinite(self.decisions.high), np.isfinite(self.decisions.low)
        multipliers = np.zeros(above.size)
        multipliers[above] += best[: int(above.sum())]
        multipliers[below] -= best[int(above.sum()) : int(above.sum() + below.sum())]
        return Leaf(multipliers, point=np.concatenate((y, z)))

    def _proven(
        self, axes: tuple[FloatArray, FloatArray], slope: FloatArray, sides: FloatArray, multipliers: FloatArray
    ) -> FloatArray:
        whole = self.decisions.whole
        size = np.linalg.norm(np.abs(slope) + multipliers @ np.abs(self.rows), axis=1)
        noise = summation_error(sides.size + slope.size) * size
        ends = self.decisions.lower[~whole], self.decisions.upper[~whole]
        return multipliers @ sides + lagrangian_bound(axes, *ends, slope + multipliers @ self.rows, noise)

    def _active(self, multipliers: FloatArray) -> RowArray:
        """The rows that are active, as far as the multipliers of an interior point tell."""
        return np.flatnonzero(multipliers > self.parameters.active_fraction * max(float(multipliers.max(initial=0.0)), 1e-300))

    def _active_set_polish(
        self, curve: FloatArray, slope: FloatArray, sides: FloatArray, multipliers: FloatArray
    ) -> FloatArray:
        """Multipliers that solve the KKT equations of the active rows, to the last digit."""
        active = self._active(multipliers)
        u, m = slope.size, active.size
        if u == 0 or m == 0:
            return np.zeros_like(multipliers)
        system = np.zeros((u + m, u + m))
        system[:u, :u], system[:u, u:], system[u:, :u] = 2 * curve, self.rows[active].T, self.rows[active]
        solved = np.linalg.lstsq(system, np.concatenate((-slope, sides[active])), rcond=None)[0]
        polished = np.zeros_like(multipliers)
        polished[active] = np.maximum(solved[u:], 0.0)
        return polished

    def _null_space_polish(self, axes: FloatArray, slope: FloatArray, multipliers: FloatArray) -> FloatArray:
        """Multipliers that make the gradient of the Lagrangian vanish where Q has no curvature."""
        null = scipy.linalg.null_space(axes.T) if axes.size else np.eye(slope.size)
        active = self._active(multipliers)
        if null.size == 0 or active.size == 0:
            return multipliers
        residual = (slope + multipliers @ self.rows) @ null
        polished = multipliers.copy()
        polished[active] -= np.linalg.lstsq((self.rows[active] @ null).T, residual, rcond=None)[0]
        return np.maximum(polished, 0.0)

    def _interior_multipliers(self, curve: FloatArray, slope: FloatArray, sides: FloatArray) -> FloatArray:
        """Multipliers of the rows at the best y, or of the elastic programme, where rows may be violated, if there is none."""
        u, options = slope.size, SolveOptions()
        penalty = self.parameters.row_penalty * (1.0 + float(np.abs(slope).sum() + np.abs(curve).sum()))
        if u == 0:
            least = -self.parameters.row_tolerance
            return np.where(sides < least, penalty / np.minimum(sides, least), 0.0) * -1.0
        cones = (Cone("nonnegative", sides.size),)
        rows = scipy.sparse.csc_matrix(self.rows)
        solved = ConeProgramme(slope, rows, sides, cones, scipy.sparse.csc_matrix(2 * curve)).solve(options, CLOSE)
        if solved.ended is Status.OPTIMAL:
            return np.maximum(solved.multipliers, 0.0)
        matrix = scipy.sparse.csc_matrix(np.vstack((np.column_stack((self.rows, -np.ones(sides.size))), -np.eye(1, u + 1, u))))
        padded = scipy.sparse.csc_matrix(np.pad(2 * curve, (0, 1)))
        cones = (Cone("nonnegative", sides.size + 1),)
        elastic = ConeProgramme(np.append(slope, penalty), matrix, np.append(sides, 0.0), cones, padded).solve(options, CLOSE)
        return np.maximum(elastic.multipliers[:-1], 0.0)

    def _quadratic(self, curve: FloatArray, slope: FloatArray, sides: FloatArray) -> FloatArray | None:
        """min y' curve y + slope . y subject to rows y <= sides; None if nothing is allowed."""
        u = slope.size
        if u == 0:
            return np.empty(0) if np.all(sides >= -self.parameters.row_tolerance) else None
        if u == 1:
            return self._one_unknown(float(curve[0, 0]), float(slope[0]), sides)
        cones = (Cone("nonnegative", sides.size),)
        rows, matrix = scipy.sparse.csc_matrix(self.rows), scipy.sparse.csc_matrix(2 * curve)
        solved = ConeProgramme(slope, rows, sides, cones, matrix).solve(SolveOptions(), CLOSE)
        if solved.ended is Status.OPTIMAL:
            return solved.x
        level = ConeProgramme(np.zeros(u), rows, sides, cones).solve(SolveOptions(), CLOSE)
        if level.ended is Status.OPTIMAL:
            self._unbounded()
        return None

    def _one_unknown(self, curve: float, slope: float, sides: FloatArray) -> FloatArray | None:
        row = self.rows[:, 0]
        with np.errstate(divide="ignore", invalid="ignore"):
            ends = sides / row
        low = float(np.max(ends[row < 0], initial=-np.inf))
        high = float(np.min(ends[row > 0], initial=np.inf))
        tolerance = self.parameters.row_tolerance
        if low > high + tolerance or np.any(sides[row == 0] < -tolerance):
            return None
        if curve > self.parameters.least_curvature:
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
