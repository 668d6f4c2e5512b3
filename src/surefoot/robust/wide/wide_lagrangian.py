"""The augmented Lagrangian of a wide problem in the l2 and linf metrics, and Newton's method for it without a matrix.

    min over x = (b, lambda) of   R(x)   subject to   x in C,

with R the rows of :mod:`surefoot.robust.wide.wide_smoothing`, their kinks smoothed, and C the cone of
:mod:`surefoot.robust.wide.wide_cones` (the intercept is not part of it). The cone gets a multiplier y, in its polar, and a
penalty:

    L(x) = R(x) + rho/2 dist(x + y / rho, C)^2

is smooth and convex. rho times the polar part of x + y / rho is the next multiplier. At a minimiser of L the gradient vanishes,
which reads

    sum_i w_i (s_i - q_i) z_i + y = 0,     radius - kappa sum_i w_i s_i + y_lambda = 0:

the new y lies in the polar cone, so q and s are a shift plan within its budget, whatever rho and mu are. The gap is then only
what x misses C by and what the kinks are smoothed by, and both shrink by a factor with every update of the multipliers.

Newton. The gradient is piecewise smooth; its derivative is that of R plus rho D, D the derivative of the polar part.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.robust.wide.wide_cones import PolarPart, polar_part
from surefoot.robust.wide.wide_rows import WideRows
from surefoot.robust.wide.wide_smoothing import RIDGE, Smoothed, SmoothedRows, flat_length, newton_step


@dataclass(frozen=True)
class Point:
    """L at a point, with everything that its derivatives are made of."""

    x: FloatArray
    smoothed: Smoothed
    polar: PolarPart
    value: float


class Lagrangian:
    """L and its minimisation; the multipliers and penalties are its state."""

    def __init__(self, rows: WideRows, width: float, out_of_time: Callable[[], bool]) -> None:
        self.rows = rows
        self.out_of_time = out_of_time
        self.norm = rows.problem.cost.numeric_norm
        self.weights = rows.weights[rows.first :]
        self.smoothing = SmoothedRows(rows, width)
        self.cone_force = np.zeros(rows.weights.size + 1 - rows.first)
        self.penalty = 1.0

    def start(self, x: FloatArray, margins: FloatArray) -> Point:
        """Penalty and multipliers for a first point, and L there."""
        smoothed = self.smoothing.at(float(x[-1]), margins)
        # The cone pushes as hard as the loss bends along a typical column. Not on average: in the units of their prices a few
        # columns may bend more than all others together, and a penalty that suits them freezes the others.
        bends = (self.smoothing.curvature(smoothed).smooth @ self.rows.squares)[self.rows.first :]
        bends = bends[bends > 0]
        self.penalty = float(np.median(bends)) if bends.size else 1.0
        pull = self.smoothing.gradient(smoothed)[self.rows.first :]
        force = polar_part(-pull, self.weights, self.norm).point
        # No plan has more than the radius to spend: a first force beyond it takes many updates to wear off.
        spent = -float(force[-1])
        self.cone_force = force if spent <= self.rows.radius else force * (self.rows.radius / spent)
        return self.at(x, margins)

    def at(self, x: FloatArray, margins: FloatArray) -> Point:
        """L at x, whose margins are known."""
        smoothed = self.smoothing.at(float(x[-1]), margins)
        polar = polar_part(x[self.rows.first :] + self.cone_force / self.penalty, self.weights, self.norm)
        return Point(x, smoothed, polar, smoothed.value + 0.5 * self.penalty * float(polar.point @ polar.point))

    def gradient(self, point: Point) -> FloatArray:
        gradient = self.smoothing.gradient(point.smoothed)
        gradient[self.rows.first :] += self.penalty * point.polar.point
        return gradient

    def admitted(self, point: Point) -> FloatArray:
        """The nearest point in the cone."""
        admitted = point.x.copy()
        # In this order: where the polar part is all of an entry, what is left of it is exactly 0.
        admitted[self.rows.first :] += self.cone_force / self.penalty
        admitted[self.rows.first :] -= point.polar.point
        return admitted

    def descend(self, point: Point, gradient: FloatArray, accuracy: float) -> tuple[Point, bool]:
        """One Newton step with a line search, and whether the whole step did: then L was as quadratic as the step assumed."""
        step = self._newton_step(point, gradient, accuracy)
        moved = self.rows.rows @ step[:-1]

        def at(length: float) -> Point:
            return self.at(point.x + length * step, point.smoothed.margins + length * moved)

        length, low = flat_length(lambda length: self._slope(at(length), step, moved), float(gradient @ step))
        new = at(length)
        return (new, length == 1.0) if new.value <= point.value else (at(low), False)

    def _newton_step(self, point: Point, gradient: FloatArray, accuracy: float) -> FloatArray:
        first = self.rows.first
        curvature = self.smoothing.curvature(point.smoothed)
        diagonal = curvature.diagonal
        diagonal[first:] += self.penalty * point.polar.diagonal
        ridge = RIDGE * (diagonal + float(diagonal.mean()))
        if diagonal[-1] == 0:
            # Inside the cone and away from kinks the price has a slope and no curvature; this keeps its step in bounds.
            ridge[-1] += self.penalty

        def apply(direction: FloatArray) -> FloatArray:
            bent = curvature.apply(direction) + ridge * direction
            bent[first:] += self.penalty * point.polar.derivative(direction[first:])
            return bent

        return newton_step(apply, gradient, diagonal + ridge, accuracy, self.out_of_time).step

    def _slope(self, point: Point, step: FloatArray, moved: FloatArray) -> float:
        """The derivative of L along a step that changes the margins by ``moved``."""
        push = self.penalty * float(point.polar.point @ step[self.rows.first :])
        return self.smoothing.slope(point.smoothed, moved, float(step[-1])) + push

    def update(self, point: Point) -> tuple[float, float]:
        """Take over the multipliers found at the point; what cone and kinks were off by, in units of the objective."""
        force = self.penalty * point.polar.point
        missed = float(np.square(force - self.cone_force).sum()) / self.penalty
        self.cone_force = force
        return missed, self.smoothing.update(point.smoothed)
