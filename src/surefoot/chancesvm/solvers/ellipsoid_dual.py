"""The small cone programme behind worst points: the SVM dual over a few directions of every ellipsoid.

Every batch i has a weight a_i and coordinates g_i along its directions, v_i = (a_i, g_i), and the programme is

    min over v of  phi(v) - sum_i a_i    subject to  ||g_i|| <= a_i <= C_i,   sum_i y_i a_i = 0,

    phi(v) = 1/2 max(0, sqrt(v' Q v) - R . v)^2,

with R = 0, that is phi = 1/2 v' Q v, unless the ellipsoids have radii (:mod:`surefoot.chancesvm.problem.problem`).

A primal-dual interior point with Nesterov and Todd's scaling and Mehrotra's predictor and corrector. With u_i the multiplier of
the i-th cone, x_i that of a_i <= C_i, t_i = C_i - a_i and b that of the equality, every step solves

    (hessian of phi + W^-2 + diag(x / t) on the weights) dv + (y db on the weights) = r,      y' da = -y' a,

where W u = W^-1 v. In the i-th cone, W^2 = e^2 (2 w w' - J) with J = diag(1, -1, ..., -1), so that
W^-2 = (2 (Jw)(Jw)' - J) / e^2.
Programmes have some hundred unknowns: a dense factorisation takes milliseconds.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg

from surefoot.core.arrays import FloatArray, RowArray

MAX_ITERATIONS = 60
# The share of the way to the boundary that a step takes.
STEP_SHARE = 0.99
TINY = 1e-300
# Shares by which a diagonal is made larger until a factorisation succeeds.
LIFTS = (0.0, 1e-14, 1e-12, 1e-10)


@dataclass(frozen=True)
class Cones:
    """Which unknown belongs to which batch: first the weights of all batches, then coordinates, each with its batch.

    Products are Jordan's: v o u = (v . u, v_0 u_1 + u_0 v_1) within each cone.
    """

    n_batches: int
    batch: RowArray

    def sums(self, values: FloatArray) -> FloatArray:
        """Sums of coordinates, batch by batch."""
        return np.asarray(np.bincount(self.batch, values, self.n_batches), dtype=np.float64)

    def parts(self, v: FloatArray) -> tuple[FloatArray, FloatArray]:
        return v[: self.n_batches], v[self.n_batches :]

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

    def reach(self, v: FloatArray, change: FloatArray) -> float:
        """How far one can go before a cone is left."""
        (v0, v1), (d0, d1) = self.parts(v), self.parts(change)
        square, mixed, start = d0 * d0 - self.sums(d1 * d1), v0 * d0 - self.sums(v1 * d1), self.determinant(v)
        # The first positive root of square t^2 + 2 mixed t + start, in the form that does not cancel.
        root = np.sqrt(np.maximum(mixed * mixed - square * start, 0.0))
        with np.errstate(divide="ignore", invalid="ignore"):
            at = np.where(mixed < 0, start / (root - mixed), np.where(square < 0, (mixed + root) / -square, np.inf))
        return float(np.where((mixed >= 0) & (square >= 0), np.inf, np.maximum(at, 0.0)).min())


@dataclass(frozen=True)
class Scaling:
    """Nesterov and Todd's W of a pair (v, u), and lam = W u = W^-1 v."""

    cones: Cones
    w: FloatArray
    size: FloatArray

    @classmethod
    def of(cls, cones: Cones, v: FloatArray, u: FloatArray) -> Scaling:
        v_det, u_det = np.maximum(cones.determinant(v), TINY), np.maximum(cones.determinant(u), TINY)
        whole = np.concatenate((np.arange(cones.n_batches), cones.batch))
        v_unit, u_unit = v / np.sqrt(v_det)[whole], u / np.sqrt(u_det)[whole]
        (v0, v1), (u0, u1) = cones.parts(v_unit), cones.parts(u_unit)
        middle = np.sqrt(0.5 * (1.0 + v0 * u0 + cones.sums(v1 * u1)))
        w = np.concatenate((v0 + u0, v1 - u1)) / (2.0 * middle)[whole]
        return cls(cones, w, (v_det / u_det) ** 0.25)

    def times(self, x: FloatArray) -> FloatArray:
        """W x."""
        return self._apply(x, self.w, self.size)

    def over(self, x: FloatArray) -> FloatArray:
        """W^-1 x."""
        head, tail = self.cones.parts(self.w)
        return self._apply(x, np.concatenate((head, -tail)), 1.0 / self.size)

    def _apply(self, x: FloatArray, w: FloatArray, size: FloatArray) -> FloatArray:
        cones = self.cones
        (x0, x1), (w0, w1) = cones.parts(x), cones.parts(w)
        dot = cones.sums(w1 * x1)
        return np.concatenate((size * (w0 * x0 + dot), size[cones.batch] * (x1 + w1 * (x0 + dot / (1.0 + w0))[cones.batch])))


@dataclass(frozen=True)
class Objective:
    """phi of the module docstring."""

    quadratic: FloatArray
    shortening: FloatArray | None = None

    def at(self, v: FloatArray) -> tuple[float, FloatArray, float]:
        """phi, its gradient, and the share of w = sum of all points that the shortening leaves."""
        along = self.quadratic @ v
        square = max(float(v @ along), 0.0)
        if self.shortening is None:
            return 0.5 * square, along, 1.0
        length = np.sqrt(square)
        left = max(length - float(self.shortening @ v), 0.0)
        if left == 0.0:
            return 0.0, np.zeros(v.size), 0.0
        return 0.5 * left * left, left * (along / length - self.shortening), left / length

    def hessian(self, v: FloatArray) -> FloatArray:
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
class DualMix:
    """Feasible weights and coordinates, the objective's share of w that is left, and minus the objective: a lower bound."""

    v: FloatArray
    share: float
    bound: float


def ellipsoid_mix(objective: Objective, labels: FloatArray, ceilings: FloatArray, batch: RowArray, tolerance: float) -> DualMix:
    """Minimise until the gap between primal and dual is at most the tolerance, relative to the optimum.

    Parameters
    ----------
    objective : Objective
        phi, over the weights of all batches and then the coordinates.
    labels, ceilings : ndarray of shape (n_batches,)
        y and C.
    batch : ndarray of shape (n_coordinates,)
        Batch of each coordinate.
    tolerance : float
    """
    # An iterate that rounding has spoilt is recognised and left.
    with np.errstate(all="ignore"):
        return _walk(objective, labels, ceilings, batch, tolerance)


def _walk(objective: Objective, labels: FloatArray, ceilings: FloatArray, batch: RowArray, tolerance: float) -> DualMix:
    n_batches = labels.size
    cones = Cones(n_batches, batch)
    size = n_batches + batch.size
    whole = np.concatenate((np.arange(n_batches), batch))
    rows, columns = _same_batch(whole)
    # As much weight as single points would need, within half of the ceilings.
    typical = 1.0 / max(float(np.diagonal(objective.quadratic)[:n_batches].mean()), TINY)
    v = np.concatenate((np.minimum(typical, 0.5 * ceilings), np.zeros(batch.size)))
    u = np.concatenate((np.ones(n_batches), np.zeros(batch.size)))
    t, x, b = ceilings - v[:n_batches], np.ones(n_batches), 0.0
    signs = np.concatenate((labels, np.zeros(batch.size)))
    ones = np.concatenate((np.ones(n_batches), np.zeros(batch.size)))
    best, least = v, np.inf
    for _ in range(MAX_ITERATIONS):
        value, gradient, _ = objective.at(v)
        dual = gradient - ones + b * signs - u
        dual[:n_batches] += x
        equality, over = float(signs @ v), v[:n_batches] + t - ceilings
        slackness = float(v @ u + t @ x)
        close = tolerance * abs(value - float(v[:n_batches].sum()))
        # What the residual may cost the w at hand: the loss of the margins it lowers, or a w that is longer by as much.
        total = float(v[:n_batches].sum())
        lowered = np.bincount(whole, np.abs(dual))
        residual = min(float(ceilings @ lowered), 2.0 * abs(total) * float(lowered.max()))
        left = slackness + residual + abs(equality) * float(1.0 + np.abs(b))
        # Rounding ends the walk where a cone is left, or where a step goes nowhere: the best iterate is as good as it gets.
        if not (np.isfinite(left) and cones.determinant(v).min() > 0 and cones.determinant(u).min() > 0 and t.min() > 0):
            break
        if left < least:
            best, least = v, left
        if slackness <= close and residual <= close and abs(equality) <= 1e-9 * total:
            break
        scaling = Scaling.of(cones, v, u)
        matrix = objective.hessian(v)
        reflected = np.concatenate((scaling.w[:n_batches], -scaling.w[n_batches:])) / scaling.size[whole]
        matrix[rows, columns] += 2.0 * reflected[rows] * reflected[columns]
        inverse = 1.0 / (scaling.size * scaling.size)
        matrix.flat[:: size + 1] += np.concatenate((x / t - inverse, inverse[batch]))
        factor = _factorised(matrix)
        if factor is None:
            break
        newton = _Newton(cones, scaling, factor, v, u, t, x, dual, equality, over, signs)
        dv, du, dt, dx, db = newton.step(0.0, None)
        primal, second = newton.reach(dv, dt, u=False), newton.reach(du, dx, u=True)
        ahead = float((v + primal * dv) @ (u + second * du) + (t + primal * dt) @ (x + second * dx))
        mu = slackness / (2 * n_batches)
        aim = mu * min(1.0, max(ahead, 0.0) / slackness) ** 3
        dv, du, dt, dx, db = newton.step(aim, (dv, du, dt, dx))
        primal, second = STEP_SHARE * newton.reach(dv, dt, u=False), STEP_SHARE * newton.reach(du, dx, u=True)
        # Unequal steps leave a residual in proportion to their difference.
        if objective.shortening is not None or residual > slackness:
            primal = second = min(primal, second)
        if not max(primal, second) > 1e-12:
            break
        v, t = v + primal * dv, t + primal * dt
        u, x, b = u + second * du, x + second * dx, b + second * db
    v = _feasible(cones, best, labels, ceilings)
    value, _, share = objective.at(v)
    return DualMix(v, share, float(v[:n_batches].sum()) - value)


def _factorised(matrix: FloatArray) -> FloatArray | None:
    """Cholesky's factor; where rounding has made the matrix indefinite, of one with a slightly larger diagonal."""
    diagonal = np.diagonal(matrix).copy()
    for lift in LIFTS:
        matrix.flat[:: matrix.shape[0] + 1] = (1.0 + lift) * diagonal
        # LAPACK itself: on small systems SciPy's checks take longer than the work. The matrix equals its transpose, which is in
        # the order that LAPACK wants.
        factor, flaw = scipy.linalg.lapack.dpotrf(matrix.T, lower=1, clean=0)
        if flaw == 0:
            return np.asarray(factor)
    return None


def _same_batch(whole: RowArray) -> tuple[RowArray, RowArray]:
    """All pairs of unknowns of the same batch."""
    order = np.argsort(whole, kind="stable")
    counts = np.bincount(whole)
    first = np.cumsum(counts) - counts
    sizes = counts[whole[order]]
    rows = np.repeat(order, sizes)
    within = np.arange(rows.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return rows, order[np.repeat(first[whole[order]], sizes) + within]


@dataclass(frozen=True)
class _Newton:
    """Newton's steps from one iterate."""

    cones: Cones
    scaling: Scaling
    factor: FloatArray
    v: FloatArray
    u: FloatArray
    t: FloatArray
    x: FloatArray
    dual: FloatArray
    equality: float
    over: FloatArray
    signs: FloatArray

    def step(
        self, aim: float, previous: tuple[FloatArray, FloatArray, FloatArray, FloatArray] | None
    ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, float]:
        """Towards complementary products of ``aim``, corrected by the products of a previous step."""
        cones, scaling, n = self.cones, self.scaling, self.cones.n_batches
        lam = scaling.times(self.u)
        target = -cones.product(lam, lam)
        target[:n] += aim
        ceiling = aim - self.t * self.x
        if previous is not None:
            dv, du, dt, dx = previous
            target -= cones.product(scaling.over(dv), scaling.times(du))
            ceiling = ceiling - dt * dx
        pull = scaling.over(cones.quotient(lam, target))
        right = pull - self.dual
        right[:n] -= (ceiling + self.x * self.over) / self.t
        free, along = scipy.linalg.lapack.dpotrs(self.factor, np.stack((right, self.signs)).T, lower=1)[0].T
        db = (float(self.signs @ free) + self.equality) / float(self.signs @ along)
        dv = free - db * along
        dt = -self.over - dv[:n]
        # W^-2 dv, the change of the multipliers that keeps W^-1 dv + W du on target.
        return dv, pull - scaling.over(scaling.over(dv)), dt, (ceiling - self.x * dt) / self.t, db

    def reach(self, change: FloatArray, ceiling_change: FloatArray, *, u: bool) -> float:
        """How far the step can go, at most 1 / STEP_SHARE."""
        inside, ceiling = (self.u, self.x) if u else (self.v, self.t)
        falling = ceiling_change < 0
        most = float((ceiling[falling] / -ceiling_change[falling]).min()) if falling.any() else np.inf
        return min(1.0 / STEP_SHARE, most, self.cones.reach(inside, change))


def _feasible(cones: Cones, v: FloatArray, labels: FloatArray, ceilings: FloatArray) -> FloatArray:
    """The mix, with what rounding and unfinished steps left over cut away."""
    head, tail = cones.parts(v)
    weights = np.clip(head, 0.0, ceilings)
    lengths = np.sqrt(cones.sums(tail * tail))
    tail = tail * np.minimum(1.0, weights / np.maximum(lengths, TINY))[cones.batch]
    positive, negative = float(weights[labels > 0].sum()), float(weights[labels < 0].sum())
    least = min(positive, negative)
    share = np.where(labels > 0, least / max(positive, TINY), least / max(negative, TINY))
    return np.concatenate((weights * share, tail * share[cones.batch]))
