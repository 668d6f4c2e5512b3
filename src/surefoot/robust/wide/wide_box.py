"""A wide problem in the l1 metric: Newton's method on the faces of a box that grows with the price.

    min over b, lambda of   R(b, lambda)   subject to   |b_j| <= gamma_j lambda   (the intercept is free),

with R the rows of :mod:`surefoot.robust.wide.wide_smoothing`. In terms of lambda and of the distances t_j = gamma_j lambda -
|b_j| of coefficients from their ends of the box, the constraints are t_j >= 0 only, and projections are clips. So no
multipliers are needed: a step holds the coefficients that are at an end and would leave the box (the face), where they move
with the price,

    b_j = sign_j gamma_j lambda,      dR/dlambda along the face = dR/dlambda + sum over the face of sign_j gamma_j dR/db_j,

takes a Newton step in the rest and in the price by conjugate gradients, clips it to the box and, if R has not fallen, shortens
it (projected Newton; Bertsekas 1982). Thousands of coefficients find their ends in a single step, where a penalty on the
distance from the box must wait for each.

Where the gradient along the face vanishes, the gradient of R itself is a shift plan that spends exactly the radius, so every
point near such a minimum yields a bound.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from surefoot.core.arrays import BoolArray, FloatArray
from surefoot.robust.wide.wide_rows import WideRows
from surefoot.robust.wide.wide_smoothing import RIDGE, NewtonStep, Smoothed, SmoothedRows, flat_length, newton_step

# A step is taken if R falls by this share of what its gradient promises, and shortened at most so often.
PROMISED, SHORTENINGS = 1e-4, 30
# Ridges, relative to the curvature. Columns of few rows, all at the edge of their kinks, have no curvature where they are and
# much of it a little farther: their steps are long, and stop all others with them. A shorter step calls for the next ridge.
RIDGES = (RIDGE, 1e-6, 1e-3)
SHORT = 1e-3
# Relative to R: a smaller change is rounding, and R is no judge of a step that promises no more.
ROUNDING = 1e-14


@dataclass(frozen=True)
class Face:
    """The coefficients held at their ends, and what they move by when the price rises by 1."""

    held: BoolArray
    pulls: FloatArray

    def along(self, gradient: FloatArray) -> FloatArray:
        """A gradient in the coordinates of the face: 0 for what is held, its pull on the price added to that."""
        reduced = gradient.copy()
        reduced[:-1][self.held] = 0.0
        reduced[-1] += float(self.pulls @ gradient[:-1])
        return reduced

    def whole(self, direction: FloatArray) -> FloatArray:
        """A direction in the coordinates of the face, as one of all coefficients and the price."""
        whole = direction.copy()
        whole[:-1] += self.pulls * direction[-1]
        return whole


@dataclass(frozen=True)
class BoxPoint:
    """A point of the box, the smoothed rows there, the face that it is on, and the gradient along that."""

    x: FloatArray
    smoothed: Smoothed
    face: Face
    gradient: FloatArray

    @property
    def price(self) -> float:
        return float(self.x[-1])


class Box:
    """R over the box; its multipliers and width are the state of ``smoothing``."""

    def __init__(self, rows: WideRows, width: float, out_of_time: Callable[[], bool]) -> None:
        self.rows = rows
        self.out_of_time = out_of_time
        self.smoothing = SmoothedRows(rows, width)
        # The intercept has no end to be held at.
        self.ends = np.where(rows.free, 0.0, rows.weights)

    def at(self, x: FloatArray, smoothed: Smoothed | None = None) -> BoxPoint:
        """The point x of the box."""
        if smoothed is None:
            smoothed = self.smoothing.at(float(x[-1]), self.rows.rows @ x[:-1])
        gradient = self.smoothing.gradient(smoothed)
        # At the price 0 both ends are the same, and the one towards which R falls counts.
        signs = np.sign(x[:-1]) if x[-1] > 0 else -np.sign(gradient[:-1])
        at_end = (np.abs(x[:-1]) >= self.ends * x[-1]) & ~self.rows.free
        held = at_end & (signs * gradient[:-1] <= 0)
        face = Face(held, np.where(held, signs * self.ends, 0.0))
        return BoxPoint(x, smoothed, face, face.along(gradient))

    def clipped(self, coefficients: FloatArray, price: float) -> FloatArray:
        """The nearest coefficients that the price admits, and the price."""
        ends = np.where(self.rows.free, np.inf, self.ends * price)
        return np.append(np.clip(coefficients, -ends, ends), price)

    def loss(self, point: BoxPoint) -> float:
        """What a bound made at the point loses, to first order, to a gradient along the face that should have vanished."""
        gradient = np.abs(point.gradient)
        free = self.rows.free
        # A plan is balanced on the intercept, which costs about what moving the intercept there would gain.
        balanced = float(gradient[:-1][free] @ (1.0 + np.abs(point.x[:-1][free])))
        return point.price * (float(self.ends @ gradient[:-1]) + float(gradient[-1])) + balanced

    def descend(self, point: BoxPoint, accuracy: float) -> tuple[BoxPoint | None, NewtonStep, FloatArray]:
        """One projected Newton step, or None if R does not fall along it; how it was found, and in which diagonal."""
        for ridge in RIDGES:
            newton, diagonal = self._newton_step(point, accuracy, ridge)
            step = newton.step
            promised = float(point.gradient @ step)
            length = self._length(point, point.face.whole(step), promised) if self.smoothing.has_kinks else 1.0
            if length >= SHORT:
                break
        allowed = ROUNDING * abs(point.smoothed.value) if -promised <= ROUNDING * abs(point.smoothed.value) else 0.0
        for _ in range(SHORTENINGS):
            price = max(point.price + length * float(step[-1]), 0.0)
            coefficients = point.x[:-1] + length * step[:-1]
            # Held coefficients go to their new ends exactly.
            coefficients = np.where(point.face.held, point.face.pulls * price, coefficients)
            x = self.clipped(coefficients, price)
            smoothed = self.smoothing.at(price, self.rows.rows @ x[:-1])
            if smoothed.value < point.smoothed.value + PROMISED * length * promised + allowed:
                return self.at(x, smoothed), newton, diagonal
            # The minimum of the parabola through both values with the promised slope.
            bend = smoothed.value - point.smoothed.value - length * promised
            length *= min(max(-0.5 * length * promised / bend, 0.1), 0.5) if bend > 0 else 0.5
        return None, newton, diagonal

    def _newton_step(self, point: BoxPoint, accuracy: float, relative_ridge: float) -> tuple[NewtonStep, FloatArray]:
        face = point.face
        curvature = self.smoothing.curvature(point.smoothed)
        diagonal = curvature.diagonal
        diagonal[-1] = curvature.along(self.rows.rows @ face.pulls, 1.0)
        ridge = relative_ridge * (diagonal + float(diagonal.mean()))
        if diagonal[-1] == 0:
            # Nothing is held and no kink is near: the price may fall freely, by half of itself at most.
            ridge[-1] += 2.0 * abs(float(point.gradient[-1])) / point.price if point.price > 0 else 1.0

        def apply(direction: FloatArray) -> FloatArray:
            return face.along(curvature.apply(face.whole(direction))) + ridge * direction

        diagonal = diagonal + ridge
        return newton_step(apply, point.gradient, diagonal, accuracy, self.out_of_time), diagonal

    def _length(self, point: BoxPoint, whole: FloatArray, promised: float) -> float:
        """The length at which R is least along the straight line, whatever the box says."""
        moved = self.rows.rows @ whole[:-1]

        def slope(length: float) -> float:
            there = self.smoothing.at(point.price + length * float(whole[-1]), point.smoothed.margins + length * moved)
            return self.smoothing.slope(there, moved, float(whole[-1]))

        return flat_length(slope, promised)[0]
