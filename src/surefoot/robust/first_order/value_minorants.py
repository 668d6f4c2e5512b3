"""Dual bounds for numeric problems: affine minorants of the value function, from the slopes of the rows.

Let row i send the fraction s_i of its mass to the flipped label, with slope 1 - q_i there and slope q_i where it stays; its
total slope is d_i = s_i - q_i. With entropy(q) = -q log q - (1 - q) log(1 - q), g = sum_i w_i d_i z_i, and g = 0 on the free
coordinates (the intercept, columns of infinite weight), weak duality (:class:`ShiftPlan`) gives for EVERY price

    V(lambda) = min over b of F(b, lambda)  >=  E + lambda S,
    E = sum_i w_i entropy(q_i),     S = radius - kappa sum_i w_i s_i - |g|,

with |g| the norm of (gamma_j g_j)_j and F as in :mod:`surefoot.robust.first_order.signed_rows`. So each dual point (q, s) is an
affine minorant of the convex value function V that the price search minimises, a tangent if (q, s) is optimal at its own price;
one with S >= 0 (dual feasible) bounds the optimum by E. Two minorants, one falling and one rising, are combined: convex
combinations of masses and flows are another plan, with a slack S and an entropy at or above the combination of theirs (both are
concave). g and the flipped mass are linear in the combination, so the largest admissible weight of the falling one is found by
bisection without touching a row.

Slopes d that an algorithm proposes need not be any row's slopes. Each is clipped to [-1, 1]; the best s for the price at hand
is d + expit(-lambda kappa), clipped to [0, 1], because moving mass to the flip gains log((1 - q) / q) - lambda kappa per unit;
and q = s - d. To make g vanish on the free coordinates, q_i = expit(-t_i) moves to expit(-t_i - z_i . v), where v minimises the
convex sum_i w_i (softplus(-t_i - z_i . v) + s_i z_i . v): a few Newton steps. What rounding leaves of g is a residual, and the
residual penalty, |g_j| times a bound on |b_j|, is subtracted from E.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg
from scipy.special import entr, expit, logit

from surefoot.core.arrays import FloatArray
from surefoot.robust.first_order.signed_rows import SignedRows
from surefoot.robust.problem.problem import ShiftPlan


@dataclass(frozen=True)
class MinorantParameters:
    """Constants of this module; not tuned."""

    # Newton steps of the balancing problem. Count: it converges quadratically, in ten or so.
    max_newton_steps: int = 40
    # Bisection steps of a combination. Count: 60 halvings are below the spacing of double precision.
    max_bisections: int = 60
    # Minorants of either sign that are remembered to be combined with. Count: each takes three numbers a row.
    bundle_size: int = 4


PARAMETERS = MinorantParameters()


@dataclass(frozen=True)
class Minorant:
    """A dual point (q, s) and what it proves: F >= entropy + lambda * slack for every model and every price lambda.

    ``gradient`` and ``flipped`` are g and sum_i w_i s_i, of which ``slack`` is made. ``residual_penalty`` is what the entropy
    has lost to a residual on the free coordinates.
    """

    stay_slope: FloatArray
    flip_slope: FloatArray
    flip_fraction: FloatArray
    gradient: FloatArray
    flipped: float
    entropy: float
    slack: float
    residual_penalty: float

    def at(self, price: float) -> float:
        return self.entropy + price * self.slack


def _slack(rows: SignedRows, gradient: FloatArray, flipped: float) -> float:
    flips = rows.kappa * flipped if flipped > 0 else 0.0
    return rows.radius - flips - rows.gradient_price(gradient)


def zero_minorant(rows: SignedRows) -> Minorant:
    """No mass moves and all slopes are 0: proves no more than 0, but spends nothing."""
    nothing = np.zeros(rows.row_weights.size)
    return Minorant(nothing, nothing, nothing, np.zeros(rows.gamma.size), 0.0, 0.0, rows.radius, 0.0)


def minorant_of(rows: SignedRows, slopes: FloatArray, price: float, coefficients: FloatArray) -> Minorant:
    """The minorant of the plan whose rows have (nearly) these total slopes, best for prices near the given one."""
    flips = np.isfinite(rows.kappa)
    slopes = np.clip(slopes, -1.0, 1.0 if flips else 0.0)
    fraction = np.clip(slopes + expit(-price * rows.kappa), 0.0, 1.0) if flips else np.zeros_like(slopes)
    stay = np.clip(fraction - slopes, 0.0, 1.0)
    if rows.free.any():
        stay = _balanced(rows, stay, fraction)
    gradient: FloatArray = (rows.row_weights * (fraction - stay)) @ rows.rows
    # Where nothing bounds a free coefficient (infinite weights), ten times those at hand is a claim, not a proof: the
    # certificate proves such cases by curvature.
    assumed = 10.0 * (1.0 + float(np.abs(coefficients).max(initial=0.0)))
    bound = np.full(rows.gamma.size, assumed)
    if np.isfinite(rows.bounds.intercept):
        bound[: rows.first] = rows.bounds.intercept
    penalty = float(bound[rows.free] @ np.abs(gradient[rows.free]))
    flipped = float(rows.row_weights @ fraction)
    entropy = float(rows.row_weights @ (entr(stay) + entr(1.0 - stay))) - penalty
    return Minorant(stay, 1.0 - stay, fraction, gradient, flipped, entropy, _slack(rows, gradient, flipped), penalty)


def _balanced(rows: SignedRows, stay: FloatArray, fraction: FloatArray) -> FloatArray:
    """Slopes near the given ones whose gradient vanishes on the free coordinates, by a damped Newton method."""
    # Slopes of exactly 0 or 1 could not move; these are too small to change a bound.
    start = -logit(np.clip(stay, 1e-15, 1.0 - 1e-15))
    shift = np.zeros(rows.free_rows.shape[1])
    flip_gradient = (rows.row_weights * fraction) @ rows.free_rows

    def loss(v: FloatArray) -> float:
        return float(rows.row_weights @ np.logaddexp(0.0, -start - rows.free_rows @ v)) + float(flip_gradient @ v)

    value = loss(shift)
    for _ in range(PARAMETERS.max_newton_steps):
        stay = expit(-start - rows.free_rows @ shift)
        residual = flip_gradient - (rows.row_weights * stay) @ rows.free_rows
        if float(np.abs(residual).max()) <= 1e-16:
            break
        hessian = (rows.free_rows * (rows.row_weights * stay * (1.0 - stay))[:, None]).T @ rows.free_rows
        hessian[np.diag_indices_from(hessian)] += 1e-14 * np.trace(hessian) + 1e-300
        step = -scipy.linalg.solve(hessian, residual, assume_a="pos", check_finite=False)
        if -float(residual @ step) <= 1e-15 * value:
            # The predicted decrease is below the rounding of the loss; this close to the minimum a full step needs no test.
            shift = shift + step
            break
        length = 1.0
        while (moved := loss(shift + length * step)) > value * (1.0 + 1e-15) and length > 1e-4:
            length *= 0.5
        if moved > value * (1.0 + 1e-15):
            break
        shift, value = shift + length * step, moved
        if float(np.abs(step).max()) <= 1e-15 * (1.0 + float(np.abs(shift).max())):
            break
    balanced: FloatArray = expit(-start - rows.free_rows @ shift)
    return balanced


def combined(rows: SignedRows, falling: Minorant, rising: Minorant) -> Minorant:
    """The convex combination with the largest weight on ``falling`` (slack below 0) whose slack is not below 0."""
    low, high = 0.0, 1.0
    for _ in range(PARAMETERS.max_bisections):
        middle = 0.5 * (low + high)
        gradient = middle * falling.gradient + (1.0 - middle) * rising.gradient
        if _slack(rows, gradient, middle * falling.flipped + (1.0 - middle) * rising.flipped) >= 0:
            low = middle
        else:
            high = middle
    flip = low * falling.flip_fraction + (1.0 - low) * rising.flip_fraction
    stays = [low * (1.0 - falling.flip_fraction), (1.0 - low) * (1.0 - rising.flip_fraction)]
    moves = [low * falling.flip_fraction, (1.0 - low) * rising.flip_fraction]
    stay_slope = _average(stays, falling.stay_slope, rising.stay_slope)
    flip_slope = _average(moves, falling.flip_slope, rising.flip_slope)
    entropies = (1.0 - flip) * (entr(stay_slope) + entr(1.0 - stay_slope)) + flip * (entr(flip_slope) + entr(1.0 - flip_slope))
    gradient = low * falling.gradient + (1.0 - low) * rising.gradient
    flipped = low * falling.flipped + (1.0 - low) * rising.flipped
    penalty = low * falling.residual_penalty + (1.0 - low) * rising.residual_penalty
    entropy = float(rows.row_weights @ entropies) - penalty
    return Minorant(stay_slope, flip_slope, flip, gradient, flipped, entropy, _slack(rows, gradient, flipped), penalty)


def _average(weights: list[FloatArray], one: FloatArray, other: FloatArray) -> FloatArray:
    total = weights[0] + weights[1]
    mean = (weights[0] * one + weights[1] * other) / np.where(total > 0, total, 1.0)
    return np.clip(mean, 0.0, 1.0)


def shift_plan(rows: SignedRows, minorant: Minorant) -> ShiftPlan:
    """The minorant's plan, entries row after row, those without mass left out."""
    fraction = minorant.flip_fraction
    mass = np.column_stack((rows.row_weights * (1.0 - fraction), rows.row_weights * fraction)).ravel()
    slope = np.column_stack((minorant.stay_slope, minorant.flip_slope)).ravel()
    held = np.flatnonzero(mass > 0)
    nothing = np.zeros(0)
    return ShiftPlan(
        row=held // 2,
        moved=np.zeros((held.size, 0), dtype=np.bool_),
        flipped=held % 2 == 1,
        mass=mass[held],
        slope=slope[held],
        lowest=nothing,
        highest=nothing,
    )


class MinorantBundle:
    """The best dual feasible plan so far, and the latest minorants of either sign to combine new ones with.

    A combination spends the whole radius, and can hardly make up for another minorant that spends more. So the minorants
    themselves are remembered, and a new one is combined with the one that promises most.
    """

    def __init__(self, rows: SignedRows) -> None:
        self.rows = rows
        self.best = zero_minorant(rows)
        self.rising = [self.best]
        self.falling: list[Minorant] = []

    @property
    def lower_bound(self) -> float:
        """The entropy of the best plan whose slack is not negative; the loss is positive."""
        return max(self.best.entropy, 0.0)

    def add(self, minorant: Minorant) -> None:
        """Take a minorant into account, alone and combined."""
        if minorant.slack < 0:
            partner = max(self.rising, key=lambda other: _crossing(minorant, other))
            self._improve(combined(self.rows, minorant, partner))
            self.falling = [*self.falling, minorant][-PARAMETERS.bundle_size :]
            return
        self._improve(minorant)
        if self.falling:
            partner = max(self.falling, key=lambda other: _crossing(other, minorant))
            self._improve(combined(self.rows, partner, minorant))
        self.rising = [*self.rising, minorant][-PARAMETERS.bundle_size :]

    def _improve(self, minorant: Minorant) -> None:
        if minorant.slack >= 0 and minorant.entropy > self.best.entropy:
            self.best = minorant


def _crossing(falling: Minorant, rising: Minorant) -> float:
    """Where the two minorants cross: what their combination proves at least."""
    return (rising.entropy * -falling.slack + falling.entropy * rising.slack) / (rising.slack - falling.slack)
