"""The augmented Lagrangian of a wide problem, and Newton's method for it without a matrix.

    min over x = (b, lambda) of   radius lambda + sum_i w_i (h(m_i) + max(m_i - kappa lambda, 0))   subject to   x in C,

with m_i = z_i . b, h(m) = log(1 + exp(-m)) and C the cone of :mod:`surefoot.solvers.wide_cones` (the intercept is not part of
it). Two things are not smooth, and both get a multiplier: the cone y, in its polar, and each kink s_i, in [0, 1], the share of
the row's mass that flips its label. With penalties rho and 1 / mu,

    L(x) = radius lambda + sum_i w_i h(m_i) + sum_i w_i max over s in [0, 1] of (s t_i - mu/2 (s - s_i)^2)
           + rho/2 dist(x + y / rho, C)^2,      t_i = m_i - kappa lambda,

is smooth and convex. The s that attains the maximum, and rho times the polar part of x + y / rho, are the next multipliers
(method of multipliers; Rockafellar 1976). At a minimiser of L the gradient vanishes, which reads

    sum_i w_i (s_i - q_i) z_i + y = 0,     radius - kappa sum_i w_i s_i + y_lambda = 0,     q_i = sigmoid(-m_i):

the new y lies in the polar cone, so q and s are a shift plan within its budget, whatever rho and mu are. The gap is then only
what x misses C by and what the kinks are smoothed by, and both shrink by a factor with every update of the multipliers.

Newton. The gradient is piecewise smooth. Its derivative,

    sum_i w_i q_i (1 - q_i) z_i z_i' + (1 / mu) sum over 0 < s_i < 1 of w_i (z_i, -kappa) (z_i, -kappa)' + rho D,

D the derivative of the polar part, takes two products with the rows to apply; conjugate gradients with its diagonal as
preconditioner solve for the step, and a line search on L guards it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from surefoot.problems.arrays import FloatArray
from surefoot.solvers.wide_cones import PolarPart, polar_part
from surefoot.solvers.wide_rows import WideRows

# Steps of conjugate gradients for one Newton step: beyond this a new linearisation is worth more.
MOST_PRODUCTS = 150
# The line search ends where the slope has fallen to this share, after so many trials, or this far out.
FLAT, LINE_STEPS, LONGEST = 0.2, 25, 8.0
# Curvature added to the diagonal, relative to it: directions that no row sees must not run away.
RIDGE = 1e-9


@dataclass(frozen=True)
class Point:
    """L at a point, with everything that its derivatives are made of."""

    x: FloatArray
    margins: FloatArray
    slopes: FloatArray
    flips: FloatArray
    polar: PolarPart
    value: float


class Lagrangian:
    """L and its minimisation; the multipliers and penalties are its state."""

    def __init__(self, rows: WideRows, out_of_time: Callable[[], bool]) -> None:
        self.rows = rows
        self.out_of_time = out_of_time
        self.norm = rows.problem.cost.numeric_norm
        self.weights = rows.weights[rows.first :]
        self.kappa = rows.kappa if np.isfinite(rows.kappa) else 0.0
        self.has_kinks = bool(np.isfinite(rows.kappa))
        self.cone_force = np.zeros(rows.weights.size + 1 - rows.first)
        self.flips = np.zeros(rows.shares.size)
        self.penalty = 1.0
        self.width = 1.0

    def at(self, x: FloatArray, margins: FloatArray) -> Point:
        """L at x, whose margins are known."""
        rows = self.rows
        price = float(x[-1])
        losses = np.logaddexp(0.0, -margins)
        flips = self.flips
        if self.has_kinks:
            excess = margins - self.kappa * price
            flips = np.clip(self.flips + excess / self.width, 0.0, 1.0)
            losses += flips * excess - 0.5 * self.width * np.square(flips - self.flips)
        polar = polar_part(x[rows.first :] + self.cone_force / self.penalty, self.weights, self.norm)
        value = rows.radius * price + float(rows.shares @ losses) + 0.5 * self.penalty * float(polar.point @ polar.point)
        return Point(x, margins, expit(-margins), flips, polar, value)

    def gradient(self, point: Point) -> FloatArray:
        rows = self.rows
        force = rows.shares * (point.flips - point.slopes)
        gradient = np.append(force @ rows.rows, rows.radius - self.kappa * float(rows.shares @ point.flips))
        gradient[rows.first :] += self.penalty * point.polar.point
        return gradient

    def newton_step(self, point: Point, gradient: FloatArray, accuracy: float) -> tuple[FloatArray, FloatArray]:
        """A step and the change of the margins along it."""
        rows = self.rows
        smooth = rows.shares * point.slopes * (1.0 - point.slopes)
        kinks = rows.shares * ((point.flips > 0) & (point.flips < 1)) / self.width if self.has_kinks else np.zeros(0)
        bends = smooth + kinks if self.has_kinks else smooth
        diagonal = np.append(bends @ rows.squares, self.kappa**2 * float(kinks.sum()))
        diagonal[rows.first :] += self.penalty * point.polar.diagonal
        ridge = RIDGE * (diagonal + float(diagonal.mean()))
        if diagonal[-1] == 0:
            # Inside the cone and away from kinks the price has a slope and no curvature; this keeps its step in bounds.
            ridge[-1] += self.penalty
        diagonal += ridge

        def apply(d: FloatArray) -> tuple[FloatArray, FloatArray]:
            along = rows.rows @ d[:-1]
            pull = bends * along
            pressed = 0.0
            if self.has_kinks:
                pull -= kinks * (self.kappa * d[-1])
                pressed = -self.kappa * float(kinks @ (along - self.kappa * d[-1]))
            result = np.append(pull @ rows.rows, pressed)
            result[rows.first :] += self.penalty * point.polar.derivative(d[rows.first :])
            return result + ridge * d, along

        return self._conjugate_gradients(apply, gradient, diagonal, accuracy)

    def _conjugate_gradients(
        self,
        apply: Callable[[FloatArray], tuple[FloatArray, FloatArray]],
        gradient: FloatArray,
        diagonal: FloatArray,
        accuracy: float,
    ) -> tuple[FloatArray, FloatArray]:
        step, along = np.zeros_like(gradient), np.zeros(self.rows.shares.size)
        residual = -gradient
        towards = residual / diagonal
        direction = towards
        size = start = float(residual @ towards)
        for _ in range(MOST_PRODUCTS):
            if size <= accuracy**2 * start or self.out_of_time():
                break
            bent, moved = apply(direction)
            curvature = float(direction @ bent)
            if curvature <= 0:
                break
            length = size / curvature
            step += length * direction
            along += length * moved
            residual = residual - length * bent
            towards = residual / diagonal
            new = float(residual @ towards)
            direction = towards + (new / size) * direction
            size = new
        return step, along

    def descend(self, point: Point, gradient: FloatArray, accuracy: float) -> tuple[Point, bool]:
        """One Newton step with a line search, and whether the whole step did: then L was as quadratic as the step assumed."""
        step, along = self.newton_step(point, gradient, accuracy)
        # L along the step costs no product with the rows, so its minimum is worth finding; where the step crosses kinks,
        # halving it stops far short of that.
        start = float(gradient @ step)
        low, high, length = 0.0, np.inf, 1.0
        slope_low = start
        for _ in range(LINE_STEPS):
            new = self.at(point.x + length * step, point.margins + length * along)
            slope = self._slope(new, step, along)
            if abs(slope) <= FLAT * abs(start) or (slope < 0 and length >= LONGEST):
                break
            if slope < 0:
                low, slope_low = length, slope
                length = 2.0 * length if np.isinf(high) else 0.5 * (low + high)
            else:
                high = length
                # The secant, kept away from the ends.
                length = low + (high - low) * min(max(slope_low / (slope_low - slope), 0.1), 0.9)
        if new.value <= point.value:
            return new, length == 1.0
        return self.at(point.x + low * step, point.margins + low * along), False

    def _slope(self, point: Point, step: FloatArray, along: FloatArray) -> float:
        """The derivative of L along a step that changes the margins by ``along``."""
        rows = self.rows
        slope = float((rows.shares * (point.flips - point.slopes)) @ along)
        slope += self.penalty * float(point.polar.point @ step[rows.first :])
        return slope + float(step[-1]) * (rows.radius - self.kappa * float(rows.shares @ point.flips))

    def update(self, point: Point) -> tuple[float, float]:
        """Take over the multipliers found at the point; what cone and kinks were off by, in units of the objective."""
        y = self.penalty * point.polar.point
        missed = float(np.square(y - self.cone_force).sum()) / self.penalty
        smoothed = self.width * float(self.rows.shares @ np.square(point.flips - self.flips)) if self.has_kinks else 0.0
        self.cone_force, self.flips = y, point.flips
        return missed, smoothed
