"""The rows of a wide problem with their kinks smoothed, and the Hessian of that as a product.

    R(b, lambda) = radius lambda + sum_i w_i (h(m_i) + max over s in [0, 1] of (s t_i - mu/2 (s - s_i)^2)),
    m_i = z_i . b,   t_i = m_i - kappa lambda,   h(m) = log(1 + exp(-m)).

The exact kink max(t, 0) is the case mu = 0. The multiplier s_i is the share of the row's mass that is known to flip its label;
the s that attains the maximum is the next one (method of multipliers; Rockafellar 1976). R is smooth and convex and never
above the exact objective, its gradient is that of a shift plan,

    sum_i w_i (s_i - q_i) z_i,     radius - kappa sum_i w_i s_i,     q_i = sigmoid(-m_i),

and what smoothing hides shrinks with every update of the multipliers, whatever mu is. Its Hessian,

    sum_i w_i q_i (1 - q_i) z_i z_i' + (1 / mu) sum over 0 < s_i < 1 of w_i (z_i, -kappa) (z_i, -kappa)',

takes two products with the rows to apply.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from surefoot.core.arrays import FloatArray
from surefoot.robust.wide.wide_rows import WideRows

# Products for one Newton step: beyond this a new linearisation is worth more.
MOST_PRODUCTS = 150
# The line search ends where the slope has fallen to this share, after so many trials, or this far out.
FLAT, LINE_STEPS, LONGEST = 0.2, 25, 8.0
# Curvature added to the diagonal, relative to it: directions that no row sees must not run away.
RIDGE = 1e-9


@dataclass(frozen=True)
class Smoothed:
    """R at a point, with everything that its derivatives are made of."""

    margins: FloatArray
    slopes: FloatArray
    flips: FloatArray
    value: float


@dataclass(frozen=True)
class Curvature:
    """Second derivatives per row: of the losses, and of the kinks that are being crossed."""

    rows: WideRows
    kappa: float
    smooth: FloatArray
    kinks: FloatArray

    @property
    def diagonal(self) -> FloatArray:
        """The Hessian's diagonal, the price last."""
        return np.append((self.smooth + self.kinks) @ self.rows.squares, self.kappa**2 * float(self.kinks.sum()))

    def along(self, moved: FloatArray, rise: float) -> float:
        """The second derivative along a direction that moves the margins so, and the price by ``rise``."""
        return float(self.smooth @ np.square(moved)) + float(self.kinks @ np.square(moved - self.kappa * rise))

    def apply(self, direction: FloatArray) -> FloatArray:
        """The Hessian times a direction, the price last."""
        moved = self.rows.rows @ direction[:-1]
        pressed = self.kinks * (moved - self.kappa * direction[-1])
        return np.append((self.smooth * moved + pressed) @ self.rows.rows, -self.kappa * float(pressed.sum()))


class SmoothedRows:
    """R; its multipliers and its width mu are state."""

    def __init__(self, rows: WideRows, width: float) -> None:
        self.rows = rows
        self.has_kinks = bool(np.isfinite(rows.kappa))
        self.kappa = rows.kappa if self.has_kinks else 0.0
        self.flips = np.zeros(rows.shares.size)
        self.width = width

    def at(self, price: float, margins: FloatArray) -> Smoothed:
        losses = np.logaddexp(0.0, -margins)
        flips = self.flips
        if self.has_kinks:
            excess = margins - self.kappa * price
            flips = np.clip(self.flips + excess / self.width, 0.0, 1.0)
            losses += flips * excess - 0.5 * self.width * np.square(flips - self.flips)
        value = self.rows.radius * price + float(self.rows.shares @ losses)
        return Smoothed(margins, expit(-margins), flips, value)

    def gradient(self, point: Smoothed) -> FloatArray:
        """Coefficients first, the price last."""
        return np.append((self.rows.shares * (point.flips - point.slopes)) @ self.rows.rows, self._rise(point))

    def slope(self, point: Smoothed, moved: FloatArray, rise: float) -> float:
        """The derivative along a direction that moves the margins so, and the price by ``rise``."""
        return float((self.rows.shares * (point.flips - point.slopes)) @ moved) + rise * self._rise(point)

    def _rise(self, point: Smoothed) -> float:
        return self.rows.radius - self.kappa * float(self.rows.shares @ point.flips)

    def curvature(self, point: Smoothed) -> Curvature:
        shares = self.rows.shares
        crossed = shares * ((point.flips > 0) & (point.flips < 1)) / self.width if self.has_kinks else np.zeros_like(shares)
        return Curvature(self.rows, self.kappa, shares * point.slopes * (1.0 - point.slopes), crossed)

    def update(self, point: Smoothed) -> float:
        """Take over the multipliers found at the point; by how much they were off, in units of the objective."""
        off = self.width * float(self.rows.shares @ np.square(point.flips - self.flips)) if self.has_kinks else 0.0
        self.flips = point.flips
        return off


@dataclass(frozen=True)
class NewtonStep:
    """A step, and the lengths of the gradient before it and of what the step leaves of it, measured by the diagonal."""

    step: FloatArray
    before: float
    left: float


def newton_step(
    apply: Callable[[FloatArray], FloatArray],
    gradient: FloatArray,
    diagonal: FloatArray,
    accuracy: float,
    out_of_time: Callable[[], bool],
) -> NewtonStep:
    """Conjugate gradients, preconditioned by the diagonal, until they leave this share of the gradient."""
    step = np.zeros_like(gradient)
    residual = -gradient
    towards = residual / diagonal
    direction = towards
    size = start = float(residual @ towards)
    for _ in range(MOST_PRODUCTS):
        if size <= accuracy**2 * start or out_of_time():
            break
        bent = apply(direction)
        curvature = float(direction @ bent)
        if not curvature > 0:
            break
        length = size / curvature
        step += length * direction
        residual = residual - length * bent
        towards = residual / diagonal
        new = float(residual @ towards)
        direction = towards + (new / size) * direction
        size = new
    return NewtonStep(step, float(np.sqrt(start)), float(np.sqrt(size)))


def flat_length(slope: Callable[[float], float], start: float) -> tuple[float, float]:
    """Where along a direction of descent the slope has nearly vanished, and a shorter length at which it was still falling.

    The function is convex along the direction, and evaluating it costs no product with the rows, so its minimum is worth
    finding: where a step crosses kinks, halving it would stop far short of that.
    """
    low, high, length, slope_low = 0.0, np.inf, 1.0, start
    for _ in range(LINE_STEPS):
        at = slope(length)
        if abs(at) <= FLAT * abs(start) or (at < 0 and length >= LONGEST):
            break
        if at < 0:
            low, slope_low = length, at
            length = 2.0 * length if np.isinf(high) else 0.5 * (low + high)
        else:
            high = length
            # The secant, kept away from the ends.
            length = low + (high - low) * min(max(slope_low / (slope_low - at), 0.1), 0.9)
    return length, low
