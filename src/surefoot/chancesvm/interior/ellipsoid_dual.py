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
   Where systems are solved roughly, the target is no less than a share of what the dual residual costs.
4. Step lengths are a fraction of those to the boundary, primal and dual apart unless the dual residual dominates.

Termination. v . u + t . x, and what the dual residual can cost the w at hand, are at most tolerance * |objective|; or the
time is over, or rounding leaves a cone, ends the factorisation or the steps. The best iterate is then made feasible, so that
minus its objective is a lower bound in any case.

Factorisations are those of :mod:`surefoot.chancesvm.interior.dual_objective`.

References: Nesterov and Todd (1997); Mehrotra (1992); Andersen, Roos and Terlaky (2003) for conic quadratic programmes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from surefoot.chancesvm.interior.cone_barrier import Barrier
from surefoot.chancesvm.interior.cone_scaling import TINY, Scaling
from surefoot.chancesvm.interior.dual_objective import DualObjective, NewtonSystem
from surefoot.chancesvm.interior.ellipsoid_cones import Cones
from surefoot.chancesvm.solvers.parameters import EllipsoidDualParameters
from surefoot.core.arrays import FloatArray, RowArray

DEFAULT_PARAMETERS = EllipsoidDualParameters()


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
        if not objective.is_exact:
            # Complementarity must not run ahead of a residual that steps leave behind: iterates would end at the boundary.
            target = max(target, mu * min(1.0, parameters.residual_share * residual_cost / complementarity))
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
        free, along = self.newton.solve(right[None])[0], self.along
        # The Schur complement of the equality has one row. Where rounding leaves nothing of it, the step is none, and seen so.
        db = float(np.float64(self.signs @ free + self.equality_residual) / np.float64(self.signs @ along))
        dv = free - db * along
        dt = -self.slack_residual - dv[:n]
        du = scaled - scaling.over(scaling.over(dv))
        return dv, du, dt, (slack_rhs - self.x * dt) / self.t, db

    @cached_property
    def along(self) -> FloatArray:
        """M^-1 y, which both steps need."""
        return np.asarray(self.newton.solve(self.signs[None])[0])

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
