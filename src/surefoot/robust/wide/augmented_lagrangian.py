"""A wide problem in the l2 and linf metrics: the method of multipliers with matrix-free Newton steps.

    min over x = (b, lambda) of   R(x)   subject to   x in C,

with R the loss of :mod:`surefoot.robust.wide.smoothed_loss`, its hinges smoothed, and C the cone of
:mod:`surefoot.robust.wide.cone_projection` (the intercept is not part of it). With a multiplier y in the polar of C and a
penalty rho, the augmented Lagrangian

    L(x) = R(x) + rho/2 dist(x + y / rho, C)^2

is smooth and convex. One outer iteration minimises L approximately by truncated Newton steps with an exact line search, then
sets y to rho times the polar part of x + y / rho (Rockafellar 1976). The gradient of L is piecewise smooth; its (generalised)
Hessian is that of R plus rho D, D the derivative of the projection onto the polar.

At a minimiser of L the gradient vanishes, which reads

    sum_i w_i (s_i - q_i) z_i + y = 0,     radius - kappa sum_i w_i s_i + y_lambda = 0:

the new y lies in the polar cone, so q and s are a shift plan within its budget, whatever rho and mu are. The gap is then only
the distance of x from C and what the hinges are smoothed by, and both shrink by a factor with every multiplier update.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.robust.wide.cone_projection import PolarProjection, project_onto_polar
from surefoot.robust.wide.parameters import WideParameters
from surefoot.robust.wide.smoothed_loss import SmoothedLoss, SmoothedPoint
from surefoot.robust.wide.truncated_newton import exact_line_search, truncated_newton_step
from surefoot.robust.wide.wide_rows import WideRows


@dataclass(frozen=True)
class LagrangianPoint:
    """L at a point, with everything that its derivatives are made of."""

    x: FloatArray
    smoothed: SmoothedPoint
    polar: PolarProjection
    value: float


class AugmentedLagrangian:
    """L and its minimisation; the multipliers and penalties are its state."""

    def __init__(self, rows: WideRows, parameters: WideParameters, out_of_time: Callable[[], bool]) -> None:
        self.rows = rows
        self.parameters = parameters
        self.out_of_time = out_of_time
        self.norm = rows.problem.cost.numeric_norm
        self.gamma = rows.gamma[rows.first :]
        self.loss = SmoothedLoss(rows, parameters.initial_width)
        self.cone_multiplier = np.zeros(rows.gamma.size + 1 - rows.first)
        self.penalty = 1.0

    def initialise(self, x: FloatArray, margins: FloatArray) -> LagrangianPoint:
        """Penalty and multipliers for an initial point, and L there."""
        smoothed = self.loss.at(float(x[-1]), margins)
        # The penalty is the curvature of the loss along a typical column. Not on average: in the units of their prices a few
        # columns may have more curvature than all others together, and a penalty that suits them freezes the others.
        curvatures = (self.loss.hessian(smoothed).losses @ self.rows.squares)[self.rows.first :]
        curvatures = curvatures[curvatures > 0]
        self.penalty = float(np.median(curvatures)) if curvatures.size else 1.0
        gradient = self.loss.gradient(smoothed)[self.rows.first :]
        multiplier = project_onto_polar(-gradient, self.gamma, self.norm).point
        # No plan has more than the radius to spend: a first multiplier beyond it takes many updates to wear off.
        spent = -float(multiplier[-1])
        self.cone_multiplier = multiplier if spent <= self.rows.radius else multiplier * (self.rows.radius / spent)
        return self.at(x, margins)

    def at(self, x: FloatArray, margins: FloatArray) -> LagrangianPoint:
        """L at x, whose margins are known."""
        smoothed = self.loss.at(float(x[-1]), margins)
        polar = project_onto_polar(x[self.rows.first :] + self.cone_multiplier / self.penalty, self.gamma, self.norm)
        value = smoothed.value + 0.5 * self.penalty * float(polar.point @ polar.point)
        return LagrangianPoint(x, smoothed, polar, value)

    def gradient(self, point: LagrangianPoint) -> FloatArray:
        gradient = self.loss.gradient(point.smoothed)
        gradient[self.rows.first :] += self.penalty * point.polar.point
        return gradient

    def nearest_feasible(self, point: LagrangianPoint) -> FloatArray:
        """The projection of the shifted point x + y / rho onto the cone."""
        feasible = point.x.copy()
        # In this order: where the polar part is all of an entry, what is left of it is exactly 0.
        feasible[self.rows.first :] += self.cone_multiplier / self.penalty
        feasible[self.rows.first :] -= point.polar.point
        return feasible

    def step(self, point: LagrangianPoint, gradient: FloatArray, forcing_term: float) -> tuple[LagrangianPoint, bool]:
        """One Newton step with a line search, and whether the full step did: then L was as quadratic as the step assumed."""
        step = self._newton_step(point, gradient, forcing_term)
        margin_change = self.rows.rows @ step[:-1]

        def at(length: float) -> LagrangianPoint:
            return self.at(point.x + length * step, point.smoothed.margins + length * margin_change)

        length, low = exact_line_search(
            lambda length: self._slope(at(length), step, margin_change), float(gradient @ step), self.parameters
        )
        new = at(length)
        return (new, length == 1.0) if new.value <= point.value else (at(low), False)

    def _newton_step(self, point: LagrangianPoint, gradient: FloatArray, forcing_term: float) -> FloatArray:
        first = self.rows.first
        hessian = self.loss.hessian(point.smoothed)
        diagonal = hessian.diagonal
        diagonal[first:] += self.penalty * point.polar.diagonal
        ridge = self.parameters.ridge * (diagonal + float(diagonal.mean()))
        if diagonal[-1] == 0:
            # Inside the cone and away from hinges the price has a slope and no curvature; this keeps its step in bounds.
            ridge[-1] += self.penalty

        def product(direction: FloatArray) -> FloatArray:
            result = hessian.product(direction) + ridge * direction
            result[first:] += self.penalty * point.polar.derivative(direction[first:])
            return result

        return truncated_newton_step(product, gradient, diagonal + ridge, forcing_term, self.out_of_time, self.parameters).step

    def _slope(self, point: LagrangianPoint, step: FloatArray, margin_change: FloatArray) -> float:
        """The derivative of L along a step with this change of the margins."""
        penalty_slope = self.penalty * float(point.polar.point @ step[self.rows.first :])
        return self.loss.slope(point.smoothed, margin_change, float(step[-1])) + penalty_slope

    def update_multipliers(self, point: LagrangianPoint) -> tuple[float, float]:
        """Take over the multipliers found at the point; the corrections for cone and hinges, in units of the objective."""
        multiplier = self.penalty * point.polar.point
        correction = float(np.square(multiplier - self.cone_multiplier).sum()) / self.penalty
        self.cone_multiplier = multiplier
        return correction, self.loss.update_multipliers(point.smoothed)
