"""The robust loss of numeric rows with its hinges smoothed by the method of multipliers.

    R(b, lambda) = radius lambda + sum_i w_i (h(m_i) + max over s in [0, 1] of (s t_i - mu/2 (s - s_i)^2)),
    m_i = z_i . b,   t_i = m_i - kappa lambda,   h(m) = log(1 + exp(-m)).

The exact hinge max(t, 0) is the case mu = 0. The multiplier s_i is the fraction of the row's mass that flips its label; the s
that attains the maximum is the next one (proximal method of multipliers; Rockafellar 1976). R is smooth and convex and never
above the exact objective. Its gradient is that of a shift plan,

    sum_i w_i (s_i - q_i) z_i,     radius - kappa sum_i w_i s_i,     q_i = 1 / (1 + exp(m_i)),

and what smoothing hides shrinks with every update of the multipliers, whatever the width mu is. Its Hessian,

    sum_i w_i q_i (1 - q_i) z_i z_i' + (1 / mu) sum over 0 < s_i < 1 of w_i (z_i, -kappa) (z_i, -kappa)',

takes two products with the rows to apply.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from surefoot.core.arrays import FloatArray
from surefoot.robust.wide.wide_rows import WideRows


@dataclass(frozen=True)
class SmoothedPoint:
    """R at a point, and what its derivatives are made of: margins m, slopes q of the losses, flipped fractions s."""

    margins: FloatArray
    slopes: FloatArray
    flips: FloatArray
    value: float


@dataclass(frozen=True)
class LossHessian:
    """The Hessian as second derivatives per row: of the losses, and of the hinges that are being crossed."""

    rows: WideRows
    kappa: float
    losses: FloatArray
    hinges: FloatArray

    @property
    def diagonal(self) -> FloatArray:
        """The Hessian's diagonal, the price last."""
        return np.append((self.losses + self.hinges) @ self.rows.squares, self.kappa**2 * float(self.hinges.sum()))

    def quadratic_form(self, margin_change: FloatArray, price_change: float) -> float:
        """The second derivative along a direction with these changes of margins and price."""
        hinge_change = margin_change - self.kappa * price_change
        return float(self.losses @ np.square(margin_change)) + float(self.hinges @ np.square(hinge_change))

    def product(self, direction: FloatArray) -> FloatArray:
        """The Hessian times a direction, the price last."""
        margin_change = self.rows.rows @ direction[:-1]
        hinge_part = self.hinges * (margin_change - self.kappa * direction[-1])
        return np.append((self.losses * margin_change + hinge_part) @ self.rows.rows, -self.kappa * float(hinge_part.sum()))


class SmoothedLoss:
    """R; its multipliers ``flips`` and its width mu are state."""

    def __init__(self, rows: WideRows, width: float) -> None:
        self.rows = rows
        self.has_hinges = bool(np.isfinite(rows.kappa))
        self.kappa = rows.kappa if self.has_hinges else 0.0
        self.flips = np.zeros(rows.row_weights.size)
        self.width = width

    def at(self, price: float, margins: FloatArray) -> SmoothedPoint:
        losses = np.logaddexp(0.0, -margins)
        flips = self.flips
        if self.has_hinges:
            excess = margins - self.kappa * price
            flips = np.clip(self.flips + excess / self.width, 0.0, 1.0)
            losses += flips * excess - 0.5 * self.width * np.square(flips - self.flips)
        value = self.rows.radius * price + float(self.rows.row_weights @ losses)
        return SmoothedPoint(margins, expit(-margins), flips, value)

    def gradient(self, point: SmoothedPoint) -> FloatArray:
        """Coefficients first, the price last."""
        by_row = self.rows.row_weights * (point.flips - point.slopes)
        return np.append(by_row @ self.rows.rows, self._price_derivative(point))

    def slope(self, point: SmoothedPoint, margin_change: FloatArray, price_change: float) -> float:
        """The derivative along a direction with these changes of margins and price."""
        by_row = self.rows.row_weights * (point.flips - point.slopes)
        return float(by_row @ margin_change) + price_change * self._price_derivative(point)

    def _price_derivative(self, point: SmoothedPoint) -> float:
        return self.rows.radius - self.kappa * float(self.rows.row_weights @ point.flips)

    def hessian(self, point: SmoothedPoint) -> LossHessian:
        weights = self.rows.row_weights
        crossed = (point.flips > 0) & (point.flips < 1)
        hinges = weights * crossed / self.width if self.has_hinges else np.zeros_like(weights)
        return LossHessian(self.rows, self.kappa, weights * point.slopes * (1.0 - point.slopes), hinges)

    def update_multipliers(self, point: SmoothedPoint) -> float:
        """Take over the multipliers found at the point; the correction, in units of the objective."""
        change = np.square(point.flips - self.flips)
        correction = self.width * float(self.rows.row_weights @ change) if self.has_hinges else 0.0
        self.flips = point.flips
        return correction
