"""A wide problem in the l1 metric: projected Newton steps on the faces of a box that grows with the price.

    min over b, lambda of   R(b, lambda)   subject to   |b_j| <= gamma_j lambda   (the intercept is free),

with R the loss of :mod:`surefoot.robust.wide.smoothed_loss`. In terms of lambda and of the distances t_j = gamma_j lambda -
|b_j| of coefficients from their bounds the constraints are t_j >= 0 only, and projections are clips, so the box needs no
multipliers. One iteration (two-metric projection; Bertsekas 1982):

1. The active set holds the coefficients that are at a bound and whose gradient points out of the box. They move with the price,

       b_j = sign_j gamma_j lambda,      dR/dlambda along the face = dR/dlambda + sum over the face of sign_j gamma_j dR/db_j.

2. A truncated Newton step (:mod:`surefoot.robust.wide.truncated_newton`) in the inactive coefficients and the price.
3. The step is clipped to the box, and shortened until R falls by an Armijo fraction of the predicted decrease.

Thousands of coefficients find their bounds in a single step, where a penalty on the distance from the box must wait for each.
Where the reduced gradient vanishes, the gradient of R itself is a shift plan that spends exactly the radius, so every point
near such a minimum yields a dual bound.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from surefoot.core.arrays import BoolArray, FloatArray
from surefoot.robust.wide.parameters import WideParameters
from surefoot.robust.wide.smoothed_loss import SmoothedLoss, SmoothedPoint
from surefoot.robust.wide.truncated_newton import NewtonStep, exact_line_search, truncated_newton_step
from surefoot.robust.wide.wide_rows import WideRows


@dataclass(frozen=True)
class Face:
    """The active coefficients, and what they move by when the price rises by 1: their signed bounds, 0 for all others."""

    active: BoolArray
    signed_bounds: FloatArray

    def reduced(self, gradient: FloatArray) -> FloatArray:
        """A gradient in the coordinates of the face: 0 for active coefficients, their part added to the price's."""
        reduced = gradient.copy()
        reduced[:-1][self.active] = 0.0
        reduced[-1] += float(self.signed_bounds @ gradient[:-1])
        return reduced

    def extended(self, direction: FloatArray) -> FloatArray:
        """A direction in the coordinates of the face, as one of all coefficients and the price."""
        extended = direction.copy()
        extended[:-1] += self.signed_bounds * direction[-1]
        return extended


@dataclass(frozen=True)
class BoxPoint:
    """A point of the box, the smoothed loss there, the face that it is on, and the reduced gradient."""

    x: FloatArray
    smoothed: SmoothedPoint
    face: Face
    gradient: FloatArray

    @property
    def price(self) -> float:
        return float(self.x[-1])


class BoxNewton:
    """R over the box; its multipliers and width are the state of ``loss``."""

    def __init__(self, rows: WideRows, parameters: WideParameters, out_of_time: Callable[[], bool]) -> None:
        self.rows = rows
        self.parameters = parameters
        self.out_of_time = out_of_time
        self.loss = SmoothedLoss(rows, parameters.initial_width)
        # Per unit of the price; the intercept has no bound.
        self.bounds = np.where(rows.free, 0.0, rows.gamma)

    def at(self, x: FloatArray, smoothed: SmoothedPoint | None = None) -> BoxPoint:
        """The point x of the box."""
        if smoothed is None:
            smoothed = self.loss.at(float(x[-1]), self.rows.rows @ x[:-1])
        gradient = self.loss.gradient(smoothed)
        # At the price 0 both bounds are the same, and the one towards which R falls counts.
        signs = np.sign(x[:-1]) if x[-1] > 0 else -np.sign(gradient[:-1])
        at_bound = (np.abs(x[:-1]) >= self.bounds * x[-1]) & ~self.rows.free
        active = at_bound & (signs * gradient[:-1] <= 0)
        face = Face(active, np.where(active, signs * self.bounds, 0.0))
        return BoxPoint(x, smoothed, face, face.reduced(gradient))

    def project(self, coefficients: FloatArray, price: float) -> FloatArray:
        """The nearest coefficients that the price admits, and the price."""
        bounds = np.where(self.rows.free, np.inf, self.bounds * price)
        return np.append(np.clip(coefficients, -bounds, bounds), price)

    def bound_loss(self, point: BoxPoint) -> float:
        """What a dual bound made at the point loses, to first order, to a reduced gradient that should have vanished."""
        gradient = np.abs(point.gradient)
        free = self.rows.free
        # A plan is balanced on the intercept, which costs about what moving the intercept there would gain.
        balanced = float(gradient[:-1][free] @ (1.0 + np.abs(point.x[:-1][free])))
        return point.price * (float(self.bounds @ gradient[:-1]) + float(gradient[-1])) + balanced

    def step(self, point: BoxPoint, forcing_term: float) -> tuple[BoxPoint | None, NewtonStep, FloatArray]:
        """One projected Newton step, or None if R does not fall along it; its Newton system, and the diagonal of that."""
        settings, value = self.parameters, point.smoothed.value
        for ridge in settings.ridges:
            newton, diagonal = self._newton_step(point, forcing_term, ridge)
            step = newton.step
            predicted = float(point.gradient @ step)
            length = self._step_length(point, point.face.extended(step), predicted) if self.loss.has_hinges else 1.0
            if length >= settings.short_step:
                break
        rounding = settings.objective_rounding * abs(value)
        allowed = rounding if -predicted <= rounding else 0.0
        for _ in range(settings.max_backtracks):
            price = max(point.price + length * float(step[-1]), 0.0)
            coefficients = point.x[:-1] + length * step[:-1]
            # Active coefficients go to their new bounds exactly.
            coefficients = np.where(point.face.active, point.face.signed_bounds * price, coefficients)
            x = self.project(coefficients, price)
            smoothed = self.loss.at(price, self.rows.rows @ x[:-1])
            if smoothed.value < value + settings.armijo * length * predicted + allowed:
                return self.at(x, smoothed), newton, diagonal
            # The minimum of the parabola through both values with the predicted slope.
            excess = smoothed.value - value - length * predicted
            length *= min(max(-0.5 * length * predicted / excess, 0.1), 0.5) if excess > 0 else 0.5
        return None, newton, diagonal

    def _newton_step(self, point: BoxPoint, forcing_term: float, relative_ridge: float) -> tuple[NewtonStep, FloatArray]:
        face = point.face
        hessian = self.loss.hessian(point.smoothed)
        diagonal = hessian.diagonal
        diagonal[-1] = hessian.quadratic_form(self.rows.rows @ face.signed_bounds, 1.0)
        ridge = relative_ridge * (diagonal + float(diagonal.mean()))
        if diagonal[-1] == 0:
            # Nothing is active and no hinge is near: the price may fall freely, by half of itself at most.
            ridge[-1] += 2.0 * abs(float(point.gradient[-1])) / point.price if point.price > 0 else 1.0

        def product(direction: FloatArray) -> FloatArray:
            return face.reduced(hessian.product(face.extended(direction))) + ridge * direction

        diagonal = diagonal + ridge
        newton = truncated_newton_step(product, point.gradient, diagonal, forcing_term, self.out_of_time, self.parameters)
        return newton, diagonal

    def _step_length(self, point: BoxPoint, direction: FloatArray, predicted: float) -> float:
        """The length at which R is least along the straight line, whatever the box says."""
        margin_change = self.rows.rows @ direction[:-1]
        price_change = float(direction[-1])

        def slope(length: float) -> float:
            there = self.loss.at(point.price + length * price_change, point.smoothed.margins + length * margin_change)
            return self.loss.slope(there, margin_change, price_change)

        return exact_line_search(slope, predicted, self.parameters)[0]
