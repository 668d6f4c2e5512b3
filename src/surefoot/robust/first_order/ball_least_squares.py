"""Least squares over a norm ball: the coefficient step of :mod:`surefoot.robust.first_order.admm_splitting`, solved exactly.

    min over b of   1/2 b' G b - c . b      subject to   || (b_j / gamma_j)_j ||_* <= radius  over the priced coordinates,

with the same G for thousands of right-hand sides c. Coordinates with gamma_j = inf (the intercept among them) are free and are
eliminated once: with f the free and p the priced coordinates, the Schur complement S = G_pp - G_pf G_ff^-1 G_fp takes the place
of G, and b_f = G_ff^-1 (c_f - G_fp b_p) is recovered last. What is left depends on the norm of the ground cost:

- l1, a box |b_j| <= radius gamma_j. The active coordinates are at their bound; the others solve S_FF b_F = c_F - S_FA
  b_A, or, where fewer are active than not, the multipliers nu_A solve (S^-1)_AA nu_A = (S^-1 c)_A - b_A with the one
  factorisation of S. Coordinates that leave the box become active, those with a multiplier of the wrong sign
  inactive (the primal-dual active set method of Hintermueller, Ito and Kunisch 2002). The active set of the last call is the
  warm start, and as a rule the right one.
- l2, an ellipsoid. With v = b / gamma and the eigenvalues of Gamma S Gamma, ||v(t)|| = ||(Gamma S Gamma + t)^-1 Gamma c|| =
  radius is the secular equation of a trust-region subproblem; Newton's method on 1 / ||v(t)|| rises to its root without
  overshooting (More and Sorensen 1983).
- linf, a diamond sum_j |v_j| <= radius. On the face with support A and signs s, v_A = H_AA^-1 (Gamma c - t s)_A with the t that
  puts v on the face; entries of the wrong sign leave the support, and those whose gradient exceeds t join it.

Neither active set method is sure to end. After a fixed number of changes, accelerated projected gradient steps (Beck and
Teboulle 2009), which are sure to converge, take over; they also end in a feasible point.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import scipy.linalg

from surefoot.core.arrays import AnyArray, FloatArray
from surefoot.robust.problem.numeric_norm import NumericNorm


@dataclass(frozen=True)
class BallParameters:
    """Constants of this module; not tuned."""

    # Changes of the active set. Count: the right one is found after a few or not at all.
    max_active_sets: int = 30
    # Accelerated projected gradient steps where it was not. Count.
    max_gradient_steps: int = 300
    # Newton steps on the secular equation of the l2 ball. Count: it converges quadratically.
    max_secular_steps: int = 100
    # Rounding of gradients, bounds and iterates, relative to their size.
    rounding: float = 1e-12


PARAMETERS = BallParameters()

Factor: TypeAlias = tuple[AnyArray, bool]
Projection: TypeAlias = Callable[[FloatArray], FloatArray]


class BallLeastSquares:
    """The minimiser for any right-hand side and any radius; see the module docstring.

    Parameters
    ----------
    gram : ndarray of shape (p, p)
        G, positive definite.
    weights : ndarray of shape (p,)
        gamma; ``inf`` marks free coordinates.
    norm : {"l1", "l2", "linf"}
        The norm of the ground cost; the ball is that of its dual.
    """

    def __init__(self, gram: FloatArray, weights: FloatArray, norm: NumericNorm) -> None:
        self.norm = norm
        self.free = np.flatnonzero(np.isinf(weights))
        self.priced = np.flatnonzero(np.isfinite(weights))
        self.gamma = weights[self.priced]
        self.free_factor = _factor(gram[np.ix_(self.free, self.free)])
        crossed = gram[np.ix_(self.free, self.priced)]
        self.elimination = _solve(self.free_factor, crossed)
        self.matrix = gram[np.ix_(self.priced, self.priced)] - crossed.T @ self.elimination
        if norm != "l1":
            self.matrix = self.matrix * np.outer(self.gamma, self.gamma)
        self.face = np.zeros(self.priced.size)
        if norm == "l2":
            self.eigenvalues, self.axes = scipy.linalg.eigh(self.matrix, check_finite=False)
            return
        self.factor = _factor(self.matrix)
        self.solved_face: FloatArray | None = None

    def solve(self, right: FloatArray, radius: float) -> FloatArray:
        """The minimiser for the right-hand side c; feasible to the last digit in a box, to a rounding in the other balls."""
        reduced = right[self.priced] - self.elimination.T @ right[self.free]
        if radius == 0:
            inner = np.zeros(self.priced.size)
        elif self.norm == "l1":
            inner = self._box(reduced, radius * self.gamma)
        elif self.norm == "l2":
            inner = self.gamma * self._ellipsoid(self.gamma * reduced, radius)
        else:
            inner = self.gamma * self._diamond(self.gamma * reduced, radius)
        solution = np.empty(right.size)
        solution[self.priced] = inner
        solution[self.free] = _solve(self.free_factor, right[self.free]) - self.elimination @ inner
        return solution

    def _box(self, right: FloatArray, limit: FloatArray) -> FloatArray:
        """Primal-dual active sets; ``face`` holds the sign of each active coordinate, 0 for the others."""
        centre = _solve(self.factor, right)
        slack = PARAMETERS.rounding * (1.0 + float(np.abs(right).max(initial=0.0)))
        for _ in range(PARAMETERS.max_active_sets):
            point = self._on_face(right, centre, limit)
            multiplier = right - self.matrix @ point
            outside = np.where(np.abs(point) > limit * (1.0 + PARAMETERS.rounding), np.sign(point), 0.0)
            retained = np.where(self.face * multiplier >= -slack, self.face, 0.0)
            face = np.where(self.face == 0, outside, retained)
            if np.array_equal(face, self.face):
                return np.clip(point, -limit, limit)
            self.face = face
        point = self._projected_gradient(np.clip(point, -limit, limit), right, lambda v: np.clip(v, -limit, limit))
        self.face = np.where(np.abs(point) >= limit, np.sign(point), 0.0)
        return point

    def _on_face(self, right: FloatArray, centre: FloatArray, limit: FloatArray) -> FloatArray:
        """The minimiser among points whose active coordinates are at their bounds; factors are reused with the active set."""
        bound = self.face != 0
        fixed = self.face[bound] * limit[bound]
        if not bound.any():
            return centre
        few = 2 * np.count_nonzero(bound) <= bound.size
        if self.solved_face is None or not np.array_equal(self.solved_face != 0, bound):
            if few:
                units = np.zeros((bound.size, int(bound.sum())))
                units[bound] = np.eye(units.shape[1])
                self.columns = _solve(self.factor, units)
                self.part = _factor(self.columns[bound])
            else:
                self.part = _factor(self.matrix[np.ix_(~bound, ~bound)])
            self.solved_face = self.face
        if few:
            point: FloatArray = centre - self.columns @ _solve(self.part, centre[bound] - fixed)
        else:
            point = np.empty(bound.size)
            point[~bound] = _solve(self.part, right[~bound] - self.matrix[np.ix_(~bound, bound)] @ fixed)
        point[bound] = fixed
        return point

    def _ellipsoid(self, right: FloatArray, radius: float) -> FloatArray:
        along = self.axes.T @ right
        shift = 0.0
        scaled = along / self.eigenvalues
        for _ in range(PARAMETERS.max_secular_steps):
            length = float(np.linalg.norm(scaled))
            if length <= radius * (1.0 + PARAMETERS.rounding):
                break
            # Newton on 1 / ||v||, which is concave in t: every step stays at or below the root.
            shift += (length / radius - 1.0) * length**2 / float(scaled @ (scaled / (self.eigenvalues + shift)))
            scaled = along / (self.eigenvalues + shift)
        inner: FloatArray = self.axes @ scaled
        return inner * min(1.0, radius / max(float(np.linalg.norm(inner)), 1e-300))

    def _diamond(self, right: FloatArray, radius: float) -> FloatArray:
        """Active sets over supports; ``face`` holds the sign of each coordinate in the support, 0 for the others."""
        inside = _solve(self.factor, right)
        if float(np.abs(inside).sum()) <= radius:
            return inside
        if not self.face.any():
            self.face = np.sign(_onto_diamond(inside, radius))
        slack = PARAMETERS.rounding * (1.0 + float(np.abs(right).max(initial=0.0)))
        for _ in range(PARAMETERS.max_active_sets):
            held = np.flatnonzero(self.face)
            if not held.size:
                break
            signs = self.face[held]
            both = np.column_stack((right[held], signs))
            base, drift = _solve(_factor(self.matrix[np.ix_(held, held)]), both).T
            level = (float(signs @ base) - radius) / float(signs @ drift)
            point = np.zeros(right.size)
            point[held] = base - level * drift
            gradient = right - self.matrix @ point
            face = np.where(self.face * point < 0, 0.0, self.face)
            face = np.where((self.face == 0) & (np.abs(gradient) > level + slack), np.sign(gradient), face)
            if np.array_equal(face, self.face) and level >= 0:
                return point * min(1.0, radius / max(float(np.abs(point).sum()), 1e-300))
            self.face = face
        point = self._projected_gradient(_onto_diamond(inside, radius), right, lambda v: _onto_diamond(v, radius))
        self.face = np.sign(point)
        return point

    def _projected_gradient(self, point: FloatArray, right: FloatArray, project: Projection) -> FloatArray:
        """Accelerated projected gradient steps, restarted where momentum points uphill (an adaptive restart)."""
        lipschitz = float(np.abs(self.matrix).sum(axis=1).max())
        ahead, momentum = point, 1.0
        for _ in range(PARAMETERS.max_gradient_steps):
            new = project(ahead - (self.matrix @ ahead - right) / lipschitz)
            if float((ahead - new) @ (new - point)) > 0:
                ahead, momentum = point, 1.0
                continue
            if np.abs(new - point).max() <= PARAMETERS.rounding * np.abs(new).max():
                return new
            grown = 0.5 + np.sqrt(0.25 + momentum**2)
            ahead = new + (momentum - 1.0) / grown * (new - point)
            point, momentum = new, grown
        return point


def _factor(matrix: FloatArray) -> Factor:
    factor: Factor = scipy.linalg.cho_factor(matrix, lower=True, check_finite=False)
    return factor


def _solve(factor: Factor, right: FloatArray) -> FloatArray:
    solution: FloatArray = scipy.linalg.cho_solve(factor, right, check_finite=False)
    return solution


def _onto_diamond(point: FloatArray, radius: float) -> FloatArray:
    """The projection onto sum |v_j| <= radius: soft thresholding by one amount."""
    sizes = np.sort(np.abs(point))[::-1]
    excess = np.cumsum(sizes) - radius
    if point.size == 0 or excess[-1] <= 0:
        return point
    count = np.arange(1, sizes.size + 1)
    last = np.flatnonzero(sizes * count >= excess)[-1]  # the largest entry always, even where it hides the radius
    nearest: FloatArray = np.sign(point) * np.maximum(np.abs(point) - excess[last] / count[last], 0.0)
    return nearest * min(1.0, radius / max(float(np.abs(nearest).sum()), 1e-300))
