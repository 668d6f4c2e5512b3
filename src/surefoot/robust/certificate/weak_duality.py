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
``coefficient_limits``, which hold for every model that could be better than the one at hand, and sum_lc |g_lc| |beta_lc| <=
max_l (sum_c |g_lc|) * sum_l max_c |beta_lc|. A residual without a limit proves nothing. The parts of a table may mix their
levels differently: (1) looks at one entry at a time.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from surefoot.core.enclosure import choose, enclose, join
from surefoot.robust.certificate.checked_plan import CheckedPlan
from surefoot.robust.certificate.posed_rows import Frame, Sums, turned


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


def weak_duality_bound(frame: Frame, sums: Sums, limits: Any) -> float:
    """The lower bound of (1) less the residual penalty; ``-inf`` if a residual has no limit."""
    setting, (entropy, price, intercept, numeric, levels, *_) = frame.setting, sums
    if np.isinf(setting.gamma[frame.live]).any():
        return -np.inf
    excess = setting.shift_price(choose(frame.live, numeric, 0.0)) + price - setting.radius
    lower = entropy - excess.maximum(0.0) * limits.price if excess.high > 0 else entropy
    if setting.fit_intercept:
        lower = lower - abs(intercept) * limits.intercept
    if setting.others.any():
        sizes = abs(levels[setting.others])
        lower = lower - sizes.sums_by_place(setting.features[setting.others], setting.n_levels.size).max() * limits.levels
    return float(lower.low)
