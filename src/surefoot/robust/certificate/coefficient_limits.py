"""How large the coefficients of a good model can be, before any model is known.

Let (beta, lambda) be any point with F(beta, lambda) <= U. Every r_i >= 0 (staying costs nothing and the loss is positive), so
with radius > 0

    sum_{i in I} w_i r_i <= U - lambda radius   for every set I of rows,  and  lambda <= U / radius =: L.        (1)

Suppose all weights gamma, delta are finite. Write low_l, high_l for the smallest and largest coefficient of feature l (the
reference level is 0, so low_l <= 0 <= high_l), Delta = sum_l delta_l over features with at least two levels (a single one
cannot move), c for any fixed centre of the numeric columns, b0 = beta_0 + beta_x . c, and

    A = b0 + sum_l low_l <= b0 <= B = b0 + sum_l high_l.

Moving ALL features of a row to their lowest levels with final label +1 is one of the shifts in r_i, and softplus(v) >= v:

    r_i >= -(A + beta_x . (x_i - c)) - lambda Delta      for a row with label +1.

Average this over the rows of that label with their weights (W their total, xbar their mean), use (1), and write |v| for the
price || (gamma_j v_j)_j || of a shift v. By Hoelder's inequality |beta_x . v| <= lambda |v|, so

    -A <= (U - lambda radius) / W + lambda (Delta + |xbar - c|),

and the rows of the other label (W', xbar') bound B. The right-hand side is linear in lambda, so over 0 <= lambda <= L

    |b0| <= max(-A, B)   with each side at most   max(U / W, L (Delta + |xbar - c|)).

Adding the two sides before bounding lets beta_0 and c cancel:

    sum_l max_c |beta_lc| <= sum_l (high_l - low_l) = B - A <= max(U (1/W + 1/W'), L (2 Delta + |xbar - xbar'|)).

Where a weight is infinite, or a label has no rows, nothing holds and the bounds are ``inf``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from surefoot.core.enclosure import Enclosure, enclose
from surefoot.robust.certificate.posed_rows import Frame, Part, Sums, blocks, turned


@dataclass(frozen=True)
class CoefficientLimits:
    """Limits on lambda, on |b0| (0 without an intercept), and on the sum over features of the largest |beta_lc|."""

    price: float
    intercept: float
    levels: float


def label_sums(part: Part, frame: Frame) -> Sums:
    """Weight, and weighted sum of each centred numeric column, over the rows of label +1 and of label -1; weights as shares."""
    weights, columns = enclose(np.zeros(2)), enclose(np.zeros((frame.centre.size, 2)))
    for rows in blocks(part.labels.size):
        own = part.labels[rows][:, None] == np.array([1.0, -1.0])
        shares = enclose(np.where(own, part.weights[rows][:, None], 0.0)) / frame.total
        weights = weights + shares.sum(axis=0)
        columns = columns + turned(part.columns(rows, frame.centre)) @ shares
    return Sums((weights, columns))


def coefficient_limits(frame: Frame, sums: Sums, upper: float) -> CoefficientLimits:
    """Limits of every model with an objective at or below ``upper``."""
    setting, intercept, levels = frame.setting, np.inf, np.inf
    price = enclose(upper) / setting.radius
    moving = setting.delta[setting.n_levels > 1]
    if setting.radius > 0 and np.isfinite(setting.gamma[frame.live]).all() and np.isfinite(moving).all():
        inverses, means, delta = 1.0 / sums[0], sums[1] / sums[0], enclose(moving).sum()

        def limit(inverse: Enclosure, shift: Enclosure, charge: Enclosure) -> float:
            return float((inverse * upper).maximum(price * (charge + setting.shift_price(shift))).high)

        intercept = max(limit(inverses[label], means[:, label], delta) for label in (0, 1))
        levels = limit(inverses.sum(), means[:, 0] - means[:, 1], delta + delta)
    return CoefficientLimits(float(price.high), intercept if setting.fit_intercept else 0.0, levels)
