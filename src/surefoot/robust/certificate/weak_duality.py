"""Weak duality with a residual penalty: what a shift plan proves about ALL models.

Take any model (beta, lambda) and any plan. For entry k of row i with final label s, let a_k = -s (1, x_i, zbar_k), where zbar_k
mixes the levels of the features that moved. Each level vector in that mix is a shift the adversary of row i may choose, at a
ground cost of at most price_k, so r_i is at least the average over the mix, and by Jensen

    r_i >= softplus(a_k . beta) - lambda price_k >= slope_k (a_k . beta) - f*(slope_k) - lambda price_k,

with f*(q) = q log q + (1 - q) log(1 - q), because softplus(v) = max_q q v - f*(q). This holds for flipped entries too (their
price contains kappa). The masses of a row sum to its weight, so weighting with them and adding lambda * radius,

    F(beta, lambda) >= - sum_k mass_k f*(slope_k) + g . beta + lambda (radius - P),                               (1)
    g = sum_k mass_k slope_k a_k,     P = sum_k mass_k price_k.

In coordinates centred at c (``posed_rows``) the dual norm of (beta_j / gamma_j)_j is still at most lambda, so by Hoelder

    F >= - sum_k mass_k f*(slope_k) - |g_0| |b0| - sum_lc |g_lc| |beta_lc| - lambda max(0, excess),
    excess = || (gamma_j g_j)_j || + P - radius      in the norm of the ground cost.

For a dual feasible plan the three negative terms vanish. Otherwise they are the residual penalty: residuals times the limits of
the next section, which hold for every model that could be better than the one at hand, and sum_lc |g_lc| |beta_lc| <=
max_l (sum_c |g_lc|) * sum_l max_c |beta_lc|. A residual without a limit proves nothing. The parts of a table may mix their
levels differently: (1) looks at one entry at a time.

Limits on coefficients
----------------------
Let (beta, lambda) be any point with F(beta, lambda) <= U. Every r_i >= 0 (staying costs nothing and the loss is positive), so
with radius > 0

    sum_{i in I} w_i r_i <= U - lambda radius   for every set I of rows,  and  lambda <= U / radius =: L.        (2)

Suppose all weights gamma, delta are finite. Write low_l, high_l for the smallest and largest coefficient of feature l (the
reference level is 0, so low_l <= 0 <= high_l), Delta = sum_l delta_l over features with at least two levels (a single one
cannot move), c for any fixed centre of the numeric columns, b0 = beta_0 + beta_x . c, and

    A = b0 + sum_l low_l <= b0 <= B = b0 + sum_l high_l.

Moving ALL features of a row to their lowest levels with final label +1 is one of the shifts in r_i, and softplus(v) >= v:

    r_i >= -(A + beta_x . (x_i - c)) - lambda Delta      for a row with label +1.

Average this over the rows of that label with their weights (W their total, xbar their mean), use (2), and write |v| for the
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
from typing import Any

import numpy as np

from surefoot.core.enclosure import Enclosure, enclose, join
from surefoot.robust.certificate.checked_plan import CheckedPlan
from surefoot.robust.certificate.posed_rows import Setting, Sums, turned


def plan_sums(plan: CheckedPlan) -> Sums:
    """- sum_k mass_k f*(slope_k), P, g by intercept, numeric columns, all levels; how many entries shift, and are there."""
    entropy = price = intercept = enclose(0.0)
    shifts = int((plan.moved.any(axis=1) | plan.flipped).sum())
    numeric, counts = enclose(np.zeros(plan.frame.centre.size)), plan.frame.setting.n_levels
    places = [enclose(np.zeros(count + 2)) for count in counts]
    for block in plan.blocks():
        flow = block.mass * block.slope * -block.sign
        entropy = entropy + (block.mass * enclose(np.minimum(block.slope, 1.0 - block.slope)).entropy()).sum()
        price = price + (block.mass * block.price).sum()
        intercept = intercept + flow.sum()
        numeric = numeric + turned(block.numeric) @ flow
        places = [sums + flow.sums_by_place(block.places[:, l], counts[l] + 2) for l, sums in enumerate(places)]
    levels = [np.zeros(0), *(plan.place_matrix(l).transposed @ sums for l, sums in enumerate(places))]
    return Sums((entropy, price, intercept, numeric, join(levels), shifts, plan.row.size))


@dataclass(frozen=True)
class CoefficientLimits:
    """Limits on lambda, on |b0| (0 without an intercept), and on the sum over features of the largest |beta_lc|."""

    price: float
    intercept: float
    levels: float


def coefficient_limits(setting: Setting, weights: Enclosure, columns: Enclosure, upper: float) -> CoefficientLimits:
    """Limits of every model with an objective at or below ``upper``.

    ``weights`` and ``columns`` are W and the weighted sums of the centred numeric columns, over the rows of label +1 and -1.
    """
    intercept, levels, price = np.inf, np.inf, enclose(upper) / setting.radius
    moving = setting.delta[setting.n_levels > 1]
    if setting.radius > 0 and np.isfinite(setting.gamma).all() and np.isfinite(moving).all():
        inverses, means, delta = 1.0 / weights, columns / weights, enclose(moving).sum()

        def limit(inverse: Enclosure, shift: Enclosure, charge: Enclosure) -> float:
            return float((inverse * upper).maximum(price * (charge + setting.shift_price(shift))).high)

        intercept = max(limit(inverses[label], means[:, label], delta) for label in (0, 1))
        levels = limit(inverses.sum(), means[:, 0] - means[:, 1], delta + delta)
    return CoefficientLimits(float(price.high), intercept if setting.fit_intercept else 0.0, levels)


def weak_duality_bound(setting: Setting, sums: Sums, limits: Any) -> float:
    """The lower bound of (1) less the residual penalty; ``-inf`` if a residual has no limit."""
    entropy, price, intercept, numeric, levels, *_ = sums
    if np.isinf(setting.gamma).any():
        return -np.inf
    excess = setting.shift_price(numeric) + price - setting.radius
    lower = entropy - excess.maximum(0.0) * limits.price if excess.high > 0 else entropy
    if setting.fit_intercept:
        lower = lower - abs(intercept) * limits.intercept
    if setting.others.any():
        sizes = abs(levels[setting.others])
        lower = lower - sizes.sums_by_place(setting.features[setting.others], setting.n_levels.size).max() * limits.levels
    return float(lower.low)
