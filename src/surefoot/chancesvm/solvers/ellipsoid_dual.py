"""A primal-dual interior-point method for the master problem: the SVM dual over a few directions of every ellipsoid.

Problem. Batch i has a weight a_i and coordinates g_i along its directions, v_i = (a_i, g_i):

    min over v of  phi(v) - sum_i a_i    subject to  ||g_i|| <= a_i <= C_i,   sum_i y_i a_i = 0,

    phi(v) = 1/2 max(0, sqrt(v' Q v) - R . v)^2,

with R = 0, that is phi = 1/2 v' Q v, unless the ellipsoids have radii (:mod:`surefoot.chancesvm.problem.problem`).

KKT conditions. With u_i in the second-order cone the multiplier of ||g_i|| <= a_i, x_i that of a_i <= C_i, t_i = C_i - a_i
its slack, and b that of the equality:

    grad phi(v) - 1 + b y + x - u = 0  (1, y, x on the weights),   v_i o u_i = 0,   t_i x_i = 0,   y' a = 0,   a + t = C.

Step. Mehrotra's predictor-corrector with Nesterov and Todd's scaling, W u = W^-1 v. In the i-th cone
W^2 = e^2 (2 w w' - J) with J = diag(1, -1, ..., -1), so that W^-2 = (2 (Jw)(Jw)' - J) / e^2.

1. Factorise the reduced KKT matrix  M = hessian of phi + B,  B = W^-2 + diag(x / t) on the weights  (du, dx, dt are
   eliminated, and db by a Schur complement of one row); see below.
2. Affine step: towards complementarity 0. Its step lengths predict the complementarity mu_aff.
3. Combined step: centring parameter sigma = (mu_aff / mu)^3, target sigma mu, second-order correction from the affine step.
4. Step lengths are a fraction of those to the boundary, primal and dual apart unless the dual residual dominates.

Termination. v . u + t . x, and what the dual residual can cost the w at hand, are at most tolerance * |objective|; or the
time is over, or rounding leaves a cone, ends the factorisation or the steps. The best iterate is then made feasible, so that
minus its objective is a lower bound in any case.

Factorisation. With some hundred unknowns, Cholesky's of M itself takes milliseconds. Where Q = F F' with more unknowns than
columns of F, the inverse of M is that of a matrix of as many rows as F has columns: with c = x / t, e the first coordinate of
each cone, q = W e and the root  P = (1 + c q q')^{-1/2} W  of B^-1 = P' P,

    M^-1 = P' (1 - Y (1 + Y' Y)^-1 Y') P,      Y = P F,

at a cost in proportion to the unknowns. A step of iterative refinement returns the digits that the difference loses.

References: Nesterov and Todd (1997); Mehrotra (1992); Andersen, Roos and Terlaky (2003) for conic quadratic programmes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
import scipy.linalg
import scipy.sparse

from surefoot.chancesvm.solvers.parameters import EllipsoidDualParameters
from surefoot.core.arrays import FloatArray, RowArray

# Divisors that underflow are replaced by this.
TINY = 1e-300
DEFAULT_PARAMETERS = EllipsoidDualParameters()


@dataclass(frozen=True)
class Cones:
    """Which unknown belongs to which batch: first the weights of all batches, then coordinates, each with its batch.

    Products are Jordan's: v o u = (v . u, v_0 u_1 + u_0 v_1) within each cone.
    """

    n_batches: int
    batch: RowArray

    def sums(self, values: FloatArray) -> FloatArray:
        """Sums of coordinates along the last axis, batch by batch."""
        if values.ndim == 1:
            return np.asarray(np.bincount(self.batch, values, self.n_batches), dtype=np.float64)
        return np.asarray(values @ self.members)

    @property
    def size(self) -> int:
        return self.n_batches + self.batch.size

    @cached_property
    def whole(self) -> RowArray:
        """The batch of each unknown."""
        return np.concatenate((np.arange(self.n_batches), self.batch))

    @cached_property
    def pairs(self) -> tuple[RowArray, RowArray]:
        """All pairs of unknowns of the same batch."""
        order = np.argsort(self.whole, kind="stable")
        counts = np.bincount(self.whole)
        first = np.cumsum(counts) - counts
        sizes = counts[self.whole[order]]
        rows = np.repeat(order, sizes)
        within = np.arange(rows.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        return rows, order[np.repeat(first[self.whole[order]], sizes) + within]

    @cached_property
    def members(self) -> scipy.sparse.csr_array:
        """A row for each coordinate, with a 1 at its batch."""
        places = np.arange(self.batch.size + 1)
        ones = np.ones(self.batch.size)
        return scipy.sparse.csr_array((ones, self.batch, places), shape=(self.batch.size, self.n_batches))

    def parts(self, v: FloatArray) -> tuple[FloatArray, FloatArray]:
        return v[..., : self.n_batches], v[..., self.n_batches :]

    def determinant(self, v: FloatArray) -> FloatArray:
        """a^2 - ||g||^2 of each cone."""
        head, tail = self.parts(v)
        length = np.sqrt(self.sums(tail * tail))
        return np.asarray((head - length) * (head + length))

    def product(self, v: FloatArray, u: FloatArray) -> FloatArray:
        (v0, v1), (u0, u1) = self.parts(v), self.parts(u)
        return np.concatenate((v0 * u0 + self.sums(v1 * u1), v0[self.batch] * u1 + u0[self.batch] * v1))

    def quotient(self, v: FloatArray, y: FloatArray) -> FloatArray:
        """The x with v o x = y."""
        (v0, v1), (y0, y1) = self.parts(v), self.parts(y)
        x0 = (v0 * y0 - self.sums(v1 * y1)) / self.determinant(v)
        return np.concatenate((x0, (y1 - x0[self.batch] * v1) / v0[self.batch]))

    def max_step(self, v: FloatArray, change: FloatArray) -> float:
        """The step length to the boundary of the first cone that is left."""
        (v0, v1), (d0, d1) = self.parts(v), self.parts(change)
        square, mixed, start = d0 * d0 - self.sums(d1 * d1), v0 * d0 - self.sums(v1 * d1), self.determinant(v)
        # The first positive root of square t^2 + 2 mixed t + start, in the form that does not cancel.
        root = np.sqrt(np.maximum(mixed * mixed - square * start, 0.0))
        with np.errstate(divide="ignore", invalid="ignore"):
            at = np.where(mixed < 0, start / (root - mixed), np.where(square < 0, (mixed + root) / -square, np.inf))
        return float(np.where((mixed >= 0) & (square >= 0), np.inf, np.maximum(at, 0.0)).min())


@dataclass(frozen=True)
class Scaling:
    """Nesterov and Todd's W of a pair (v, u): the scaling point w and the factor e of the module docstring."""

    cones: Cones
    w: FloatArray
    factor: FloatArray

    @classmethod
    def of(cls, cones: Cones, v: FloatArray, u: FloatArray) -> Scaling:
        v_det, u_det = np.maximum(cones.determinant(v), TINY), np.maximum(cones.determinant(u), TINY)
        whole = cones.whole
        v_unit, u_unit = v / np.sqrt(v_det)[whole], u / np.sqrt(u_det)[whole]
        (v0, v1), (u0, u1) = cones.parts(v_unit), cones.parts(u_unit)
        middle = np.sqrt(0.5 * (1.0 + v0 * u0 + cones.sums(v1 * u1)))
        w = np.concatenate((v0 + u0, v1 - u1)) / (2.0 * middle)[whole]
        return cls(cones, w, (v_det / u_det) ** 0.25)

    def times(self, x: FloatArray) -> FloatArray:
        """W x, along the last axis of x."""
        return self._apply(x, self.w, self.factor)

    def over(self, x: FloatArray) -> FloatArray:
        """W^-1 x, along the last axis of x."""
        head, tail = self.cones.parts(self.w)
        return self._apply(x, np.concatenate((head, -tail)), 1.0 / self.factor)

    def _apply(self, x: FloatArray, w: FloatArray, factor: FloatArray) -> FloatArray:
        cones = self.cones
        (x0, x1), (w0, w1) = cones.parts(x), cones.parts(w)
        dot = cones.sums(w1 * x1)
        tail = factor[cones.batch] * (x1 + w1 * (x0 + dot / (1.0 + w0))[..., cones.batch])
        return np.concatenate((factor * (w0 * x0 + dot), tail), axis=-1)


class DualObjective(Protocol):
    """phi of the module docstring."""

    @property
    def is_quadratic(self) -> bool:
        """Whether R = 0."""

    def at(self, v: FloatArray) -> tuple[float, FloatArray, float]:
        """phi, its gradient, and the fraction of w = sum of all points that the shortening leaves."""

    def diagonal(self) -> FloatArray:
        """The diagonal of Q."""

    def newton(self, v: FloatArray, barrier: Barrier) -> NewtonSystem | None:
        """M of the module docstring, factorised; None if rounding has made it indefinite."""


class NewtonSystem(Protocol):
    """M, factorised."""

    def solve(self, right: FloatArray) -> FloatArray:
        """The solutions for right-hand sides that are rows."""


@dataclass(frozen=True)
class Barrier:
    """B of the module docstring, what the cones and the ceilings add to the hessian: ``ceiling`` is c = x / t."""

    scaling: Scaling
    ceiling: FloatArray
    lifts: tuple[float, ...]

    def matrix_added_to(self, hessian: FloatArray) -> FloatArray:
        """The same array, with B added to it."""
        scaling, cones = self.scaling, self.scaling.cones
        rows, columns = cones.pairs
        reflected = np.concatenate((scaling.w[: cones.n_batches], -scaling.w[cones.n_batches :]))
        reflected = reflected / scaling.factor[cones.whole]
        hessian[rows, columns] += 2.0 * reflected[rows] * reflected[columns]
        inverse = 1.0 / (scaling.factor * scaling.factor)
        hessian.flat[:: cones.size + 1] += np.concatenate((self.ceiling - inverse, inverse[cones.batch]))
        return hessian

    def times(self, x: FloatArray) -> FloatArray:
        """B x."""
        found = self.scaling.over(self.scaling.over(x))
        found[..., : self.ceiling.size] += self.ceiling * x[..., : self.ceiling.size]
        return found

    @cached_property
    def _turn(self) -> tuple[FloatArray, FloatArray]:
        """q, and f with (1 + c q q')^{-1/2} = 1 - f q q'."""
        scaling, cones = self.scaling, self.scaling.cones
        q = scaling.factor[cones.whole] * scaling.w
        head, tail = cones.parts(q)
        square = head * head + cones.sums(tail * tail)
        growth = self.ceiling * square
        # 1 - 1 / sqrt(1 + g), without cancellation.
        root = np.sqrt(1.0 + growth)
        return q, self.ceiling / (root * (1.0 + root))

    def root(self, x: FloatArray) -> FloatArray:
        """P x."""
        return self._turned(self.scaling.times(x))

    def root_transposed(self, x: FloatArray) -> FloatArray:
        """P' x."""
        return self.scaling.times(self._turned(x))

    def _turned(self, x: FloatArray) -> FloatArray:
        cones, (q, fraction) = self.scaling.cones, self._turn
        (x0, x1), (q0, q1) = cones.parts(x), cones.parts(q)
        along = fraction * (q0 * x0 + cones.sums(q1 * x1))
        return x - q * along[..., cones.whole]


@dataclass(frozen=True)
class DenseObjective:
    """phi with Q itself, ``quadratic``; ``shortening`` is R or None."""

    quadratic: FloatArray
    shortening: FloatArray | None = None

    @property
    def is_quadratic(self) -> bool:
        return self.shortening is None

    def at(self, v: FloatArray) -> tuple[float, FloatArray, float]:
        along = self.quadratic @ v
        square = max(float(v @ along), 0.0)
        if self.shortening is None:
            return 0.5 * square, along, 1.0
        length = np.sqrt(square)
        left = max(length - float(self.shortening @ v), 0.0)
        if left == 0.0:
            return 0.0, np.zeros(v.size), 0.0
        return 0.5 * left * left, left * (along / length - self.shortening), left / length

    def diagonal(self) -> FloatArray:
        return np.diagonal(self.quadratic)

    def newton(self, v: FloatArray, barrier: Barrier) -> NewtonSystem | None:
        factor = _factorised(barrier.matrix_added_to(self._hessian(v)), barrier.lifts)
        return None if factor is None else _DenseNewton(factor)

    def _hessian(self, v: FloatArray) -> FloatArray:
        """A new array."""
        if self.shortening is None:
            return self.quadratic.copy()
        along = self.quadratic @ v
        length = np.sqrt(max(float(v @ along), TINY))
        left = max(length - float(self.shortening @ v), 0.0)
        unit = along / length
        tilt = unit - self.shortening
        matrix = (left / length) * (self.quadratic - np.outer(unit, unit))
        if left > 0:
            matrix += np.outer(tilt, tilt)
        return np.asarray(matrix)


@dataclass(frozen=True)
class _DenseNewton:
    factor: FloatArray

    def solve(self, right: FloatArray) -> FloatArray:
        return np.asarray(scipy.linalg.lapack.dpotrs(self.factor, right.T, lower=1)[0].T)


@dataclass(frozen=True)
class FactoredObjective:
    """phi without a shortening, by the transpose of F: one column for each unknown."""

    columns: FloatArray

    @property
    def is_quadratic(self) -> bool:
        return True

    def at(self, v: FloatArray) -> tuple[float, FloatArray, float]:
        point = self.columns @ v
        return 0.5 * float(point @ point), self.columns.T @ point, 1.0

    def diagonal(self) -> FloatArray:
        return np.asarray(np.einsum("ij,ij->j", self.columns, self.columns))

    def newton(self, v: FloatArray, barrier: Barrier) -> NewtonSystem | None:
        rooted = barrier.root(self.columns)
        small = rooted @ rooted.T
        small.flat[:: len(small) + 1] += 1.0
        factor = _factorised(small, barrier.lifts)
        return None if factor is None else _FactoredNewton(self.columns, barrier, rooted, factor)


@dataclass(frozen=True)
class _FactoredNewton:
    columns: FloatArray
    barrier: Barrier
    rooted: FloatArray
    factor: FloatArray

    def solve(self, right: FloatArray) -> FloatArray:
        found = self._once(right)
        left = right - (found @ self.columns.T) @ self.columns - self.barrier.times(found)
        return found + self._once(left)

    def _once(self, right: FloatArray) -> FloatArray:
        turned = self.barrier.root(right)
        along = scipy.linalg.lapack.dpotrs(self.factor, self.rooted @ turned.T, lower=1)[0]
        return self.barrier.root_transposed(turned - along.T @ self.rooted)


@dataclass(frozen=True)
class EllipsoidDualSolution:
    """Feasible weights and coordinates, the fraction of w that shortening leaves, and minus the objective: a lower bound."""

    v: FloatArray
    fraction: float
    bound: float


def solve_ellipsoid_dual(
    objective: DualObjective,
    labels: FloatArray,
    ceilings: FloatArray,
    batch: RowArray,
    tolerance: float,
    parameters: EllipsoidDualParameters = DEFAULT_PARAMETERS,
    is_over: Callable[[], bool] = lambda: False,
) -> EllipsoidDualSolution:
    """Minimise until the duality gap is at most the tolerance, relative to the optimum.

    Parameters
    ----------
    objective : DualObjective
        phi, over the weights of all batches and then the coordinates.
    labels, ceilings : ndarray of shape (n_batches,)
        y and C.
    batch : ndarray of shape (n_coordinates,)
        Batch of each coordinate.
    tolerance : float
    parameters : EllipsoidDualParameters
    is_over : callable
        Asked before every factorisation: whether to stop at the best iterate, since the time is over.
    """
    # An iterate that rounding has spoilt is recognised and left.
    with np.errstate(all="ignore"):
        return _interior_point(objective, labels, ceilings, batch, tolerance, parameters, is_over)


def _interior_point(
    objective: DualObjective,
    labels: FloatArray,
    ceilings: FloatArray,
    batch: RowArray,
    tolerance: float,
    parameters: EllipsoidDualParameters,
    is_over: Callable[[], bool],
) -> EllipsoidDualSolution:
    n_batches = labels.size
    cones = Cones(n_batches, batch)
    whole = cones.whole
    # The initial point has as much weight as single points would need, within half of the ceilings.
    typical = 1.0 / max(float(objective.diagonal()[:n_batches].mean()), TINY)
    v = np.concatenate((np.minimum(typical, 0.5 * ceilings), np.zeros(batch.size)))
    u = np.concatenate((np.ones(n_batches), np.zeros(batch.size)))
    t, x, b = ceilings - v[:n_batches], np.ones(n_batches), 0.0
    signs = np.concatenate((labels, np.zeros(batch.size)))
    ones = np.concatenate((np.ones(n_batches), np.zeros(batch.size)))
    best, least = v, np.inf
    for _ in range(parameters.max_iterations):
        value, gradient, _ = objective.at(v)
        dual_residual = gradient - ones + b * signs - u
        dual_residual[:n_batches] += x
        equality_residual, slack_residual = float(signs @ v), v[:n_batches] + t - ceilings
        complementarity = float(v @ u + t @ x)
        close = tolerance * abs(value - float(v[:n_batches].sum()))
        # What the dual residual may cost the w at hand: the loss of the margins it lowers, or a w that is longer by as much.
        total = float(v[:n_batches].sum())
        lowered = np.bincount(whole, np.abs(dual_residual))
        residual_cost = min(float(ceilings @ lowered), 2.0 * abs(total) * float(lowered.max()))
        merit = complementarity + residual_cost + abs(equality_residual) * float(1.0 + np.abs(b))
        # Rounding ends the method where a cone is left, or where a step goes nowhere: the best iterate is as good as it gets.
        if not (np.isfinite(merit) and cones.determinant(v).min() > 0 and cones.determinant(u).min() > 0 and t.min() > 0):
            break
        if merit < least:
            best, least = v, merit
        feasible = abs(equality_residual) <= parameters.equality_tolerance * total
        if (complementarity <= close and residual_cost <= close and feasible) or is_over():
            break
        scaling = Scaling.of(cones, v, u)
        newton = objective.newton(v, Barrier(scaling, x / t, parameters.diagonal_lifts))
        if newton is None:
            break
        kkt = _KKTSystem(cones, scaling, newton, v, u, t, x, dual_residual, equality_residual, slack_residual, signs)
        most = 1.0 / parameters.step_fraction
        dv, du, dt, dx, db = kkt.step(0.0, None)
        primal, dual = kkt.max_step(dv, dt, most, dual=False), kkt.max_step(du, dx, most, dual=True)
        predicted = float((v + primal * dv) @ (u + dual * du) + (t + primal * dt) @ (x + dual * dx))
        mu = complementarity / (2 * n_batches)
        target = mu * min(1.0, max(predicted, 0.0) / complementarity) ** 3
        dv, du, dt, dx, db = kkt.step(target, (dv, du, dt, dx))
        primal = parameters.step_fraction * kkt.max_step(dv, dt, most, dual=False)
        dual = parameters.step_fraction * kkt.max_step(du, dx, most, dual=True)
        # Unequal steps leave a residual in proportion to their difference.
        if residual_cost > complementarity or not objective.is_quadratic:
            primal = dual = min(primal, dual)
        if not max(primal, dual) > parameters.min_step:
            break
        v, t = v + primal * dv, t + primal * dt
        u, x, b = u + dual * du, x + dual * dx, b + dual * db
    v = _feasible(cones, best, labels, ceilings)
    value, _, fraction = objective.at(v)
    return EllipsoidDualSolution(v, fraction, float(v[:n_batches].sum()) - value)


def _factorised(matrix: FloatArray, lifts: tuple[float, ...]) -> FloatArray | None:
    """Cholesky's factor; where rounding has made the matrix indefinite, that of one with a regularised diagonal."""
    diagonal = np.diagonal(matrix).copy()
    for lift in lifts:
        matrix.flat[:: matrix.shape[0] + 1] = (1.0 + lift) * diagonal
        # LAPACK itself: on small systems SciPy's checks take longer than the work. The matrix equals its transpose, which is in
        # the order that LAPACK wants.
        factor, flaw = scipy.linalg.lapack.dpotrf(matrix.T, lower=1, clean=0)
        if flaw == 0:
            return np.asarray(factor)
    return None


@dataclass(frozen=True)
class _KKTSystem:
    """The KKT system at one iterate, factorised, and its affine and combined steps."""

    cones: Cones
    scaling: Scaling
    newton: NewtonSystem
    v: FloatArray
    u: FloatArray
    t: FloatArray
    x: FloatArray
    dual_residual: FloatArray
    equality_residual: float
    slack_residual: FloatArray
    signs: FloatArray

    def step(
        self, target: float, affine: tuple[FloatArray, FloatArray, FloatArray, FloatArray] | None
    ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, float]:
        """Towards complementarity ``target`` = sigma mu, with the second-order correction of an affine step."""
        cones, scaling, n = self.cones, self.scaling, self.cones.n_batches
        lam = scaling.times(self.u)
        cone_rhs = -cones.product(lam, lam)
        cone_rhs[:n] += target
        slack_rhs = target - self.t * self.x
        if affine is not None:
            dv, du, dt, dx = affine
            cone_rhs -= cones.product(scaling.over(dv), scaling.times(du))
            slack_rhs = slack_rhs - dt * dx
        scaled = scaling.over(cones.quotient(lam, cone_rhs))
        right = scaled - self.dual_residual
        right[:n] -= (slack_rhs + self.x * self.slack_residual) / self.t
        free, along = self.newton.solve(np.stack((right, self.signs)))
        # The Schur complement of the equality has one row. Where rounding leaves nothing of it, the step is none, and seen so.
        db = float(np.float64(self.signs @ free + self.equality_residual) / np.float64(self.signs @ along))
        dv = free - db * along
        dt = -self.slack_residual - dv[:n]
        du = scaled - scaling.over(scaling.over(dv))
        return dv, du, dt, (slack_rhs - self.x * dt) / self.t, db

    def max_step(self, change: FloatArray, bound_change: FloatArray, most: float, *, dual: bool) -> float:
        """The step length to the boundary, at most ``most``: of (v, t), or of the multipliers (u, x)."""
        cone, bound = (self.u, self.x) if dual else (self.v, self.t)
        falling = bound_change < 0
        ratio = float((bound[falling] / -bound_change[falling]).min()) if falling.any() else np.inf
        return min(most, ratio, self.cones.max_step(cone, change))


def _feasible(cones: Cones, v: FloatArray, labels: FloatArray, ceilings: FloatArray) -> FloatArray:
    """A feasible point near v, by scaling: into the boxes, into the cones, and the heavier class onto the equality."""
    head, tail = cones.parts(v)
    weights = np.clip(head, 0.0, ceilings)
    lengths = np.sqrt(cones.sums(tail * tail))
    tail = tail * np.minimum(1.0, weights / np.maximum(lengths, TINY))[cones.batch]
    positive, negative = float(weights[labels > 0].sum()), float(weights[labels < 0].sum())
    least = min(positive, negative)
    scale = np.where(labels > 0, least / max(positive, TINY), least / max(negative, TINY))
    return np.concatenate((weights * scale, tail * scale[cones.batch]))
