"""Lower bounds: what a shift plan proves about ALL models, by weak duality.

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

A column j with a range is like a feature here: an entry has x_ij or an end of the range in a_k, price_k contains gamma_j times
the way there, and nothing limits |beta_j| by lambda, so g_j must vanish or be paid for by a limit of its own.

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

A column j with a range [lo_j, hi_j] counts among the features, each row going to the end that hurts: low_j and high_j are the
smaller and the larger one of beta_j (lo_j - c_j) and beta_j (hi_j - c_j), Delta contains gamma_j (hi_j - lo_j), the most that a
row pays for it, and beta_x . (x_i - c), xbar - c and xbar - xbar' leave the column out. low_j <= 0 <= high_j holds if c_j lies
in the range; without an intercept c = 0 need not, but then b0 = 0 is known. As high_j - low_j = |beta_j| (hi_j - lo_j),

    sum_l max_c |beta_lc| + sum_j |beta_j| (hi_j - lo_j) <= B - A,    and residuals cost at most this limit times
    max(max_l (sum_c |g_lc|), max_j |g_j| / (hi_j - lo_j)).

Where a weight is infinite, or a label has no rows, nothing holds and the bounds are ``inf``.

Corrected slopes
----------------
These limits grow like 1 / radius, and do not exist for radius 0 or infinite weights. A second bound needs none for coordinates
whose residual vanishes as a real number. Let g = sum_k mass_k q_k a_k on some coordinates, and change the slopes of the plan to

    q_k + D_k (a_k . v),     D_k = q_k (1 - q_k), or 0 for entries that are left alone,     H = sum_k mass_k D_k a_k a_k^T.

The gradient is g + H v: exactly 0 for the v that solves H v = -g. It exists if H is positive definite, and only its length nu
matters, nu^2 = v^T H v = g^T H^-1 g (``inverse_form``).

As mass_k D_k (a_k . v)^2 <= nu^2 for each entry, s_k = |a_k . v| <= 1/2 if 4 nu^2 <= mass_k D_k for every entry used. Then the
slopes remain between 0 and 1, q (1 - q) is at least D_k / 2 all the way from the old to the new one, and Taylor's formula for
-f*, with derivative -t_k = -log(q_k / (1 - q_k)) at q_k and second derivative -1 / (q (1 - q)), says what an entry loses: at
most mass_k D_k (|t_k| s_k + s_k^2). By Cauchy and Schwarz all of them lose at most

    nu sqrt(sum_k mass_k D_k t_k^2) + nu^2,                                                                       (3)

and g_j of any other coordinate changes by at most nu sqrt(H_jj). These others are numeric columns that are not too dear: they
may spend radius - P, and beyond it the limit on lambda is paid, as above.

A coordinate is left out of H if it depends on others in all flows mass_k q_k > 0, z_j a_j + sum_i z_i a_i + constant = 0 (the
constant with an intercept only): what holds for all flows holds for their sum, and where the others vanish so does this one.
Such relations are checked in fractions. Or it is left out because few points flow. Take the intercept, some numeric columns and
all levels of some features, and tell flows apart by these alone: they start at P points, and g of these coordinates is a sum
over the points, sum_p f_p a_p. If H is positive definite on P of the coordinates, their a_p are independent, so where these g
vanish all f_p do, and with them g of the other ones (tables with no more rows than columns that never shift).

How relations, and the entries and coordinates of H, are chosen does not matter for the truth of the bound, so plain doubles
choose them.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from surefoot.core.arrays import BoolArray, FloatArray, RowArray
from surefoot.core.definite import inverse_form
from surefoot.core.enclosure import Enclosure, between, choose, enclose, join
from surefoot.robust.certificate.checked_plan import CheckedPlan
from surefoot.robust.certificate.posed_rows import Setting, Sums, blocks, turned

# Curvature mass_k D_k from which on an entry is used: (3) asks for nu below half its root, and doubles have 16 digits.
LEAST_CURVATURE = 1e-16
# Numeric columns are too dear if gamma_j sqrt(H_jj) is this many times the radius: then any part of the budget that they could
# spend is a small residual, and a small change of theirs is a large part of the budget.
TOO_DEAR = 1e7
# Relations are looked for among eigenvectors of H, scaled to a unit diagonal, with eigenvalues up to this; their coefficients
# are rounded to multiples of 1 / DENOMINATOR: halves, thirds, decimals.
DEPENDENT, DENOMINATOR = 1e-11, 2**7 * 3**2 * 5**3 * 7
# Floating-point operations, and coordinates, above which the second bound would take too long; and operations where it cannot
# prove enough, as no bound of a plan is above its entropy: after a time limit nobody waits half a minute for a worse proof.
MAX_OPERATIONS, MAX_COORDINATES, FEW_OPERATIONS = 4e11, 8000, 1e9


def plan_sums(plan: CheckedPlan) -> Sums:
    """- sum_k mass_k f*(slope_k), P, g by intercept, numeric columns, all levels; how many entries shift, and are there."""
    flow, counts = plan.mass * plan.slope * -plan.sign, plan.part.setting.n_levels
    entropy = (plan.mass * enclose(np.minimum(plan.slope, 1.0 - plan.slope)).entropy()).sum()
    numeric, places = enclose(np.zeros(plan.part.setting.gamma.size)), [enclose(np.zeros(count + 2)) for count in counts]
    for at in blocks(plan.row.size):
        numeric = numeric + turned(plan.columns(np.arange(plan.row.size)[at])) @ flow[at]
        places = [sums + flow[at].sums_by_place(plan.places[at, l], counts[l] + 2) for l, sums in enumerate(places)]
    levels = join([np.zeros(0), *(sums[:-2] + plan.mixed(l).transposed @ sums[-2:] for l, sums in enumerate(places))])
    shifts = int((plan.price.mid > 0).sum())
    return Sums((entropy, (plan.mass * plan.price).sum(), flow.sum(), numeric, levels, shifts, plan.row.size))


def coefficient_limits(setting: Setting, weights: Enclosure, columns: Enclosure, upper: float) -> tuple[Enclosure, ...]:
    """Limits on lambda, |b0| and the sum over features and ranges (see above) of models with an objective up to ``upper``.

    ``weights`` and ``columns`` are W and the weighted sums of the centred numeric columns, over the rows of label +1 and -1.
    """
    price, moving = enclose(upper) / setting.radius, setting.delta[setting.n_levels > 1]
    if not (setting.radius > 0 and setting.all_move and np.isfinite(moving).all()):
        return price, between(0.0, np.inf), between(0.0, np.inf)
    shares, means, delta = upper / weights, columns / weights, enclose(moving).sum()
    delta = delta + (setting.widths * setting.ranges[:, 3]).sum()
    charges = [delta + setting.shift_price(means[:, label]) for label in (0, 1)]
    intercept = shares.max().maximum(price * charges[0].maximum(charges[1]))
    levels = shares.sum().maximum(price * (delta + delta + setting.shift_price(means[:, 0] - means[:, 1])))
    return price, intercept, levels


def weak_duality_bound(setting: Setting, sums: Sums, limits: tuple[Enclosure, ...]) -> float:
    """The lower bound of (1) less the residual penalty; ``-inf`` if a residual has no limit."""
    entropy, price, intercept, numeric, levels, *_ = sums
    if not setting.all_move:
        return -np.inf
    excess = setting.shift_price(numeric) + price - setting.radius
    lower = entropy - excess.maximum(0.0) * limits[0] if excess.high > 0 else entropy
    if setting.fit_intercept:
        lower = lower - abs(intercept) * limits[1]
    if setting.others.any() or setting.ranges.size:
        sizes = abs(levels[setting.others]).sums_by_place(setting.features[setting.others], setting.n_levels.size)
        lower = lower - join([sizes, abs(numeric[setting.ranged]) / setting.widths]).max() * limits[2]
    return float(lower.low)


def plan_bound(setting: Setting, plan: Sums, limits: tuple[Enclosure, ...], enough: float, gather: Callable[..., Any]) -> float:
    """The larger of both bounds; the second, which costs a dense Hessian, only where the first leaves something to prove.

    ``gather(work, *arguments)`` adds up what ``work`` says about the checked plans of all parts of the table.
    """
    lower = weak_duality_bound(setting, plan, limits)
    size = int(setting.fit_intercept) + setting.gamma.size + int(setting.others.sum())
    most = FEW_OPERATIONS if plan[0].high < enough and lower > -np.inf else MAX_OPERATIONS
    settled = lower >= enough or size > MAX_COORDINATES or 4.0 * plan[-1] * size**2 > most
    return lower if settled else max(lower, corrected_bound(setting, plan, limits[0], gather))


def curvature_sums(plan: CheckedPlan) -> Sums:
    """H, sum_k mass_k D_k t_k^2, and the least mass_k D_k in use."""
    setting, slope = plan.part.setting, enclose(plan.slope)
    weight = plan.mass * slope * (1.0 - slope)
    used = weight.low >= LEAST_CURVATURE
    odds = (slope[used] / (1.0 - slope[used])).log()
    hessian: Any = 0.0
    for at in blocks(plan.row.size):
        entries = np.arange(plan.row.size)[at][used[at]]
        numeric = enclose(plan.dense(entries)) - plan.part.centre
        moves = (plan.level_vectors(l, entries)[:, 1:] for l in range(setting.n_levels.size))
        vectors = join([np.ones((entries.size, int(setting.fit_intercept))), numeric, *moves], axis=1)
        hessian = vectors.transposed @ (vectors * weight[entries][:, None]) + hessian
    return Sums((hessian, (weight[used] * odds * odds).sum(), [weight.low[used].min(initial=np.inf)]))


def relation_sums(plan: CheckedPlan, relations: FloatArray) -> Sums:
    """Per relation, what the z_i a_i of numeric columns and levels add up to in all flows, exactly: one number, if it holds.

    And how many points there are, told apart by the numeric columns and features in the relation.
    """
    return Sums([_exact_sums(plan, z) for z in relations])


def _exact_sums(plan: CheckedPlan, z: FloatArray) -> Sums:
    setting, flows, values = plan.part.setting, plan.slope > 0, np.zeros(plan.part.setting.features.size)
    values[setting.others] = z[setting.gamma.size :]
    columns, features = np.flatnonzero(z[: setting.gamma.size]), np.unique(setting.features[values != 0])
    numeric = [plan.dense(np.flatnonzero(flows)[at])[:, columns] for at in blocks(int(flows.sum()))]
    cells = np.column_stack((np.concatenate([np.zeros((0, columns.size)), *numeric]), plan.places[flows][:, features]))
    # What each cell adds, by what it holds: a number, or a place.
    terms = [{x: Fraction(x) * Fraction(z[j]) for x in np.unique(cells[:, k]).tolist()} for k, j in enumerate(columns)]
    terms += [dict(enumerate(plan.place_values(l, values))) for l in features]
    points = np.unique(cells, axis=0).tolist()
    sums = {sum((by[cell] for by, cell in zip(terms, point, strict=True)), Fraction(0)) for point in points}
    return Sums((list(sums), len(points)))


def corrected_bound(setting: Setting, plan: Sums, price_limit: Enclosure, gather: Callable[..., Any]) -> float:
    """The bound from corrected slopes; ``-inf`` if a condition fails."""
    entropy, price, intercept, numeric, levels, shifts, _ = plan
    first = int(setting.fit_intercept)
    columns = slice(first, first + setting.gamma.size)
    gradient = join([intercept.reshape(1)[:first], numeric, levels[setting.others]])
    hessian, spread, curvatures = gather(curvature_sums)
    sizes = hessian[np.arange(hessian.shape[0]), np.arange(hessian.shape[0])].sqrt()
    scale = np.exp2(np.round(np.log2(np.maximum(sizes.mid, 1e-145))))
    loose = np.zeros(scale.size, dtype=np.bool_)
    loose[columns] = setting.gamma * sizes.high[columns] <= TOO_DEAR * setting.radius
    kept = np.flatnonzero(~loose)
    dependent, relations = _relations(hessian.mid / scale[:, None] / scale, scale, kept, first)
    if dependent.size:
        basis, found = np.setdiff1d(kept, dependent), gather(relation_sums, relations)
        constant = [len(set(sums)) <= 1 if setting.fit_intercept else set(sums) <= {0} for sums, _ in found]
        spanned = [points <= _related(setting, z)[basis].sum() for z, (_, points) in zip(relations, found, strict=True)]
        # Of a relation without the coordinate itself nothing follows for it.
        own = relations[np.arange(dependent.size), dependent - first] != 0
        kept = np.setdiff1d(kept, dependent[np.logical_or(constant, spanned) & own])
    scaled, residual = hessian[kept][:, kept] / (scale[kept][:, None] * scale[kept]), gradient[kept] / scale[kept]
    square = inverse_form(scaled, residual[:, None])[0] if kept.size else enclose(0.0)
    if not 4.0 * square.high <= min(curvatures):
        return -np.inf
    lower = entropy - (square * spread).sqrt() - square
    spent = choose(loose, abs(gradient) + sizes * square.sqrt(), 0.0)[columns]
    excess = setting.shift_price(spent) + price - setting.radius
    if excess.high > 0 and (shifts or loose.any()):
        lower = lower - excess.maximum(0.0) * price_limit
    return float(lower.low)


def _related(setting: Setting, z: FloatArray) -> BoolArray:
    """The intercept, the numeric columns of a relation, and all levels of its features."""
    features = setting.features[setting.others]
    levels = np.isin(features, features[z[setting.gamma.size :] != 0])
    return np.concatenate((np.ones(int(setting.fit_intercept), dtype=np.bool_), z[: setting.gamma.size] != 0, levels))


def _relations(scaled: FloatArray, scale: FloatArray, kept: RowArray, first: int) -> tuple[RowArray, FloatArray]:
    """Coordinates that seem to depend on others; per coordinate a row z, which is 0 at all the other ones. From doubles."""
    scaled = scaled if np.isfinite(scaled).all() else np.eye(scale.size)
    left, factor, basis = np.zeros(scale.size), np.zeros(scaled.shape), kept[:0]
    left[kept] = np.diag(scaled)[kept]
    for step in range(kept.size):  # Cholesky's method; after the intercept, the coordinate of which most is left
        at = np.argmax(left) if step >= first else 0
        if not left[at] > DEPENDENT:
            break
        factor[:, step] = (scaled[at] - factor[:, :step] @ factor[at, :step]) / np.sqrt(left[at])
        left, basis = left - factor[:, step] ** 2, np.append(basis, at)
        left[basis] = 0.0
    dependent = np.setdiff1d(kept[kept >= first], basis)
    relations = np.zeros((dependent.size, scale.size))
    relations[:, basis] = -np.linalg.solve(scaled[basis][:, basis], scaled[basis][:, dependent]).T
    relations[np.arange(dependent.size), dependent] = 1.0
    return dependent, np.nan_to_num(np.round(relations / scale * scale[dependent][:, None] * DENOMINATOR))[:, first:]
