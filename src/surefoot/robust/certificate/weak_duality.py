"""Weak duality with a residual penalty: what a shift plan proves about ALL models.

Take any model (beta, lambda) and any plan (see ``ShiftPlan``). For entry k of row i with final label s, let a_k = -s (1,
x_i, zbar_k), where zbar_k mixes the levels of the features that moved. Each level vector in that mix is a shift the
adversary of row i may choose, at a ground cost of at most price_k, so r_i is at least the average over the mix, and by
Jensen

    r_i >= softplus(a_k . beta) - lambda price_k >= slope_k (a_k . beta) - f*(slope_k) - lambda price_k,

with f*(q) = q log q + (1 - q) log(1 - q), because softplus(v) = max_q q v - f*(q). This holds for flipped entries too
(their price contains kappa). The masses of a row sum to its weight, so weighting with them and adding lambda * radius,

    F(beta, lambda) >= - sum_k mass_k f*(slope_k) + g . beta + lambda (radius - P),                               (1)
    g = sum_k mass_k slope_k a_k,     P = sum_k mass_k price_k.

With b0 = beta_0 + beta_x . c for any centre c, g . beta = g_0 b0 + sum_j (g_j - g_0 c_j) beta_j + sum_lc g_lc beta_lc, and
g_j - g_0 c_j is what the same sums give for columns shifted by c. The dual norm of (beta_j / gamma_j)_j is at most lambda, so
by Hoelder's inequality

    F >= - sum_k mass_k f*(slope_k) - |g_0| |b0| - sum_lc |g_lc| |beta_lc| - lambda max(0, excess),
    excess = || (gamma_j (g_j - g_0 c_j))_j || + P - radius      in the norm of the ground cost.

For a dual feasible plan the three negative terms vanish. Otherwise they are the residual penalty: residuals times the bounds of
``coefficient_bounds``, which hold for every model that could be better than the one at hand. A residual on a coordinate without
a bound makes the result ``-inf``. Residuals are first enlarged by what rounding may have hidden
(``row_blocks.summation_error``).

All of these are sums over entries, so the plan of a table in parts is judged by the sums of its parts
(:func:`bound_from_sums`). The parts may even mix their levels differently: (1) looks at one entry at a time.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.core.row_blocks import summation_error
from surefoot.robust.certificate.checked_plan import CheckedPlan
from surefoot.robust.problem.coefficient_bounds import CoefficientBounds
from surefoot.robust.problem.numeric_norm import norm_rounding
from surefoot.robust.problem.terms import Terms


@dataclass(frozen=True)
class PlanSums:
    """The sums of (1); ``sizes`` of a sum is the same sum over absolute terms.

    Attributes
    ----------
    entropy : float
        - sum_k mass_k f*(slope_k), at or above 0.
    price : float
        P.
    intercept, numeric, levels
        g for columns shifted by the centre; entries of reference levels are 0, as is the intercept of a model without one.
    intercept_size, numeric_sizes, level_sizes
    n_entries, n_parts : int
        How many entries were summed, and from how many parts of a table.
    """

    entropy: float
    price: float
    intercept: float
    intercept_size: float
    numeric: FloatArray
    numeric_sizes: FloatArray
    levels: FloatArray
    level_sizes: FloatArray
    n_entries: int
    n_parts: int = 1

    def __add__(self, other: PlanSums) -> PlanSums:
        return PlanSums(*(getattr(self, part.name) + getattr(other, part.name) for part in fields(self)))

    @property
    def error(self) -> float:
        """What rounding can have done to a sum, relative to its size."""
        return summation_error(self.n_entries, self.n_parts)


def plan_sums(plan: CheckedPlan, centre: FloatArray) -> PlanSums:
    """One pass over the entries of the plan."""
    problem = plan.problem
    offsets = problem.level_offsets
    entropy = price = 0.0
    intercept = np.zeros(2)
    numeric = np.zeros((2, problem.n_numeric))
    places = [np.zeros((2, count + 2)) for count in problem.n_levels]
    for block in plan.blocks(centre):
        slope, stay = block.slope, 1.0 - block.slope
        # 0 log 0 = 0: the logarithm is only taken where its factor is positive.
        terms = slope * np.log(slope, where=slope > 0, out=np.zeros_like(slope))
        terms += stay * np.log1p(-slope, where=stay > 0, out=np.zeros_like(slope))
        entropy -= float(block.mass @ terms)
        price += float(block.mass @ block.price)
        flow = block.mass * slope
        signed_flow = -block.sign * flow
        intercept += (signed_flow.sum(), flow.sum())
        numeric[0] += signed_flow @ block.numeric
        numeric[1] += flow @ abs(block.numeric)
        for l, sums in enumerate(places):
            sums[0] += np.bincount(block.places[:, l], weights=signed_flow, minlength=sums.shape[1])
            sums[1] += np.bincount(block.places[:, l], weights=flow, minlength=sums.shape[1])
    levels = np.zeros((2, int(offsets[-1])))
    for l, sums in enumerate(places):
        for kind in (0, 1):
            levels[kind, offsets[l] : offsets[l + 1]] = plan.fold(l, sums[kind])
    levels[:, offsets[:-1]] = 0.0
    if not problem.fit_intercept:
        intercept[:] = 0.0
    return PlanSums(
        entropy, price, float(intercept[0]), float(intercept[1]), numeric[0], numeric[1], levels[0], levels[1], plan.n_entries
    )


def _penalty(residual: float, bound: float) -> float:
    """Residual * bound, where a bound of inf matters only if there is a residual."""
    return residual * bound if residual > 0 else 0.0


def weak_duality_bound(plan: CheckedPlan, centre: FloatArray, bounds: CoefficientBounds) -> float:
    """The lower bound of (1) less the residual penalty; ``-inf`` if a residual has no bound."""
    return bound_from_sums(plan.problem.terms, plan_sums(plan, centre), bounds)


def bound_from_sums(terms: Terms, sums: PlanSums, bounds: CoefficientBounds) -> float:
    """The same for a plan of which only the sums are at hand."""
    error = sums.error
    numeric = np.abs(sums.numeric) + error * sums.numeric_sizes
    # With radius 0 nothing bounds the price, so a gradient on any column has an infinite penalty.
    spent = terms.cost.numeric_price(numeric) if terms.radius > 0 or not numeric.any() else np.inf
    if not np.isfinite(spent):
        return -np.inf
    excess = spent * (1.0 + norm_rounding(terms.n_numeric)) + sums.price * (1.0 + error) - terms.radius
    penalty = _penalty(excess * (1.0 + error), bounds.price)
    penalty += _penalty(abs(sums.intercept) + error * sums.intercept_size, bounds.intercept)
    if terms.n_categorical:
        levels = np.abs(sums.levels) + error * sums.level_sizes
        # sum_lc |g_lc| |beta_lc| <= max_l (sum_c |g_lc|) * sum_l max_c |beta_lc|, and the last sum is what the bound is on.
        penalty += _penalty(float(np.add.reduceat(levels, terms.level_offsets[:-1]).max()), bounds.levels)
    return sums.entropy * (1.0 - error) - penalty
