"""A lower bound from generalized self-concordance: the curvature of the loss around one point.

``weak_duality`` penalises residuals in first order, with limits that grow like 1 / radius and do not exist for radius 0 or
infinite weights. Near the optimum the curvature of the loss does better. Take the masses and level mixes of the plan, ignore
its slopes, and let (as there) a_k = -s (1, x_i - c, zbar_k) and P = sum_k mass_k price_k. For every model

    F(beta, lambda) >= lambda (radius - P) + G(beta),     G(beta) = sum_k mass_k softplus(a_k . beta).

Let h be any vector on the numeric columns with || (gamma_j h_j)_j || <= max(0, radius - P) in the norm of the ground cost (0 on
columns with gamma = inf, and h = 0 if radius = 0). The dual norm of (beta_j / gamma_j)_j is at most lambda, so by Hoelder's
inequality lambda max(0, radius - P) >= -h . beta, and with L a limit on lambda

    F(beta, lambda) >= G(beta) - h . beta - L max(0, P - radius).                                                 (1)

Now expand at any point b. Softplus is generalized self-concordant, |softplus'''| <= softplus'', hence (Bach 2010, Electronic
Journal of Statistics 4, Lemma 1) with q_k = 1 / (1 + exp(-a_k . b)) and S_k = |a_k . u|

    softplus(a_k . (b + u)) >= softplus(a_k . b) + q_k a_k . u + q_k (1 - q_k) (exp(-S_k) + S_k - 1).

The last term is at or above 0 and may be left out; it is for entries with hardly any curvature. Let H = sum_k mass_k q_k
(1 - q_k) a_k a_k^T over the others, and e = grad G(b) - h. As (exp(-S) + S - 1) / S^2 decreases in S, if all S_k <= S then

    G(b + u) - h . (b + u) >= G(b) - h . b + e . u + |u|_H^2 (exp(-S) + S - 1) / S^2.                             (2)

Let T be any nonsingular matrix (here T^T H T is nearly the identity), u = T w, r = T^T e, and mu_i the diagonal of T^T H T less
the absolute values of the other entries of its row, so that |u|_H^2 >= sum_i mu_i w_i^2 (Gershgorin). If all mu_i > 0, then S =
R |u|_H will do, with R^2 = max_k sum_i (a_k . T_i)^2 / mu_i. Minimising over |u|_H, with d^2 = sum_i r_i^2 / mu_i and R d < 1,
the residual costs at most ((1 - R d) log(1 - R d) + R d) / R^2 <= d^2 / (2 (1 - R d)).

Coordinates that no entry has (levels nobody has, constant columns) change nothing and are left out. Of coordinates that are
equal in all entries one stands for all: with equal h, (2) depends on the sum of their u alone. How b, h, T and the entries of H
are chosen does not matter for the truth of the bound, so plain doubles choose them: h = t (g - H (y, 0)) on the columns with a
price, where g = grad G(b), H_ff y = g_f on the coordinates f without one, and t <= 1 is as large as the limit on h admits; T
holds the eigenvectors of H scaled to a unit diagonal, each over the root of its eigenvalue, with scales that are powers of 2.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from surefoot.core.arrays import AnyArray, BoolArray, FloatArray, RowArray
from surefoot.core.enclosure import Enclosure, choose, enclose, join
from surefoot.robust.certificate.checked_plan import CheckedPlan, EntryBlock
from surefoot.robust.certificate.objective import centred_intercept
from surefoot.robust.certificate.posed_rows import Frame, Sums

# Mass below this fraction of its row's weight stays with the row: it proves nothing, and a direction that only it involves has
# almost no curvature. This costs at most that fraction of lambda * price.
NEGLIGIBLE_MASS = 1e-7
NEGLIGIBLE_CURVATURE = 1e-12
# Floating-point operations, and coordinates, above which this bound would take too long or too much memory.
MAX_OPERATIONS, MAX_COORDINATES = 4e11, 8000


def too_large(frame: Frame, n_entries: int) -> bool:
    """Whether this bound would take too long."""
    size = int(frame.setting.fit_intercept) + frame.centre.size + int(frame.setting.others.sum())
    return size > MAX_COORDINATES or 4.0 * n_entries * size**2 > MAX_OPERATIONS


def expansion_point(frame: Frame, model: Any) -> FloatArray:
    """The model in coordinates (centred intercept, numeric columns, non-reference levels), to the nearest doubles."""
    intercept = [float(centred_intercept(frame, model).mid)] * int(frame.setting.fit_intercept)
    return np.concatenate((intercept, model.numeric, np.asarray(model.levels, dtype=np.float64)[frame.setting.others]))


def _designs(plan: CheckedPlan) -> Iterator[tuple[EntryBlock, Enclosure]]:
    """Blocks of entries and their vectors a_k."""
    setting = plan.frame.setting
    places = [plan.place_matrix(l)[:, 1:] for l in range(setting.n_levels.size)]
    for block in plan.blocks():
        numeric = block.numeric if isinstance(block.numeric, Enclosure) else block.numeric.toarray()
        levels = [matrix[block.places[:, l]] for l, matrix in enumerate(places)]
        design = join([np.ones((block.sign.size, int(setting.fit_intercept))), numeric, *levels], axis=1)
        yield block, design * -block.sign[:, None]


def _marks(plan: CheckedPlan, row: RowArray, places: RowArray) -> AnyArray:
    """One text per coordinate: equal texts mean equal numbers in these entries. Levels that are mixed equal none."""
    setting, rows = plan.frame.setting, plan.part.numeric[row]
    numeric = zip((rows if isinstance(rows, np.ndarray) else rows.toarray()).T, plan.frame.centre, strict=True)
    texts = [f"column less {centre!r}: {_text(column)}" for column, centre in numeric]
    for l, count in enumerate(setting.n_levels):
        mixed = f" mixed in {l}" if (places[:, l] >= count).any() else ""
        texts += [f"level: {_text(places[:, l] == level)}{f'{mixed} {level}' if mixed else ''}" for level in range(1, count)]
    # A level that all entries have is the intercept once more.
    intercept = f"level: {_text(np.ones(row.size, dtype=np.bool_))}"
    return np.array([intercept] * int(setting.fit_intercept) + texts, dtype=object)


def _text(column: AnyArray) -> str:
    return hashlib.sha256(column.tobytes()).hexdigest()


def _slopes(argument: Enclosure) -> tuple[Enclosure, Enclosure]:
    """q = 1 / (1 + exp(-v)) and q (1 - q), from the exponential of -|v|, which cannot overflow."""
    rising = argument.mid > 0
    small = (-choose(rising, argument, -argument)).exp()
    return choose(rising, 1.0 / (small + 1.0), small / (small + 1.0)), small / (small + 1.0) / (small + 1.0)


def expansion_sums(plan: CheckedPlan, point: FloatArray) -> Sums:
    """Mass, G, grad G, H, P, how many entries shift, how many have each coordinate, and which coordinates are equal."""
    size, shifts = point.size, 0
    mass = value = price = enclose(0.0)
    gradient, hessian, touched = enclose(np.zeros(size)), enclose(np.zeros((size, size))), np.zeros(size, dtype=np.int64)
    marks = np.full(size, "", dtype=object)
    for block, design in _designs(plan):
        argument = design @ point
        slope, second = _slopes(argument)
        curved = second.mid > NEGLIGIBLE_CURVATURE
        mass = mass + block.mass.sum()
        value = value + (block.mass * argument.softplus()).sum()
        gradient = gradient + design.transposed @ (block.mass * slope)
        hessian = hessian + design[curved].transposed @ (design[curved] * (block.mass * second)[curved][:, None])
        price = price + (block.mass * block.price).sum()
        shifts += int(np.count_nonzero(block.price.mid))
        touched = touched + (design.mid != 0).sum(axis=0)
        marks = marks + _marks(plan, block.row, block.places)
    return Sums((mass, value, gradient, hessian, price, shifts, touched, marks))


def longest_entry(plan: CheckedPlan, point: FloatArray, axes: FloatArray, curvatures: FloatArray) -> float:
    """R^2 = max_k sum_i (a_k . T_i)^2 / mu_i over the entries in H; the largest of all parts is that of the table."""
    longest = 0.0
    for _, design in _designs(plan):
        along = design[_slopes(design @ point)[1].mid > NEGLIGIBLE_CURVATURE] @ axes
        longest = max(longest, float((along * along / curvatures).sum(axis=1).high.max(initial=0.0)))
    return longest


def curvature_bound(
    frame: Frame, sums: Sums, point: FloatArray, price_limit: float, longest: Callable[[FloatArray, FloatArray], float]
) -> float:
    """The bound from the sums over all entries, of which ``longest`` gives ``longest_entry``; ``-inf`` if a condition fails."""
    _, value, gradient, hessian, price, shifts, touched, marks = sums
    setting, numeric = (
        frame.setting,
        slice(int(frame.setting.fit_intercept), int(frame.setting.fit_intercept) + frame.live.size),
    )
    kept: BoolArray = touched > 0
    kept[numeric] &= frame.live
    _, first, group = np.unique(marks.astype(str), return_index=True, return_inverse=True)
    twin = first[group]
    kept &= twin == np.arange(twin.size)
    free = np.ones(kept.size)
    free[numeric] = np.isinf(setting.gamma) if setting.radius > 0 else 1.0
    priced: BoolArray = np.bincount(twin, weights=free, minlength=free.size)[kept] == 0
    slopes, curved = gradient[kept], hessian[kept][:, kept]
    if not (np.isfinite(curved.size).all() and np.isfinite(slopes.size).all()):
        return -np.inf
    scale = _power_of_two(np.sqrt(np.maximum(np.diag(curved.mid), 1e-290)))
    scaled = curved.mid / scale[:, None] / scale
    values, vectors = np.linalg.eigh(scaled)
    axes = np.zeros((kept.size, values.size))
    axes[kept] = vectors / scale[:, None] / _power_of_two(np.sqrt(np.maximum(values, 1e-15)))
    table, unit = enclose(axes[kept]).transposed @ (curved @ axes[kept]), np.eye(values.size)
    curvatures = (enclose(table.low * unit) - enclose(table.size * (1.0 - unit))).sum(axis=1).low
    # V is nonsingular if V^T V differs from the identity by less than 1 in the maximum norm.
    skew = abs(enclose(vectors).transposed @ vectors - unit).sum(axis=1).high
    if not ((curvatures > 0).all() and (skew < 1).all()):
        return -np.inf
    budget, part = float((setting.radius - price).low), np.zeros(kept.size)
    if priced.any() and budget > 0:
        inverse = np.linalg.pinv(scaled[np.ix_(~priced, ~priced)], rcond=1e-11, hermitian=True)
        step = scaled[np.ix_(priced, ~priced)] @ (inverse @ (slopes.mid / scale)[~priced])
        wanted = slopes.mid[priced] - step * scale[priced]
        # Hardly anything, in the units of its curvature: it costs less as a residual than as a part of the budget.
        wanted[np.square(wanted / scale[priced]) < NEGLIGIBLE_CURVATURE * value.mid] = 0.0
        part[np.flatnonzero(kept)[priced]] = wanted
        part = part[twin]
        used = float(setting.shift_price(enclose(part[numeric])).high)
        part *= min(1.0, budget / used * (1.0 - 1e-12)) if used > 0 else 1.0
        if not setting.shift_price(enclose(part[numeric])).high <= budget:
            part = np.zeros(kept.size)
    residual = enclose(axes[kept]).transposed @ (slopes - part[kept])
    square = (residual * residual / curvatures).sum()
    room = 1.0 - (square * longest(axes, curvatures)).sqrt()
    lower = value - (enclose(part) * point).sum() - square / (room * 2.0)
    excess = price - setting.radius
    lower = lower - excess.maximum(0.0) * price_limit if shifts and excess.high > 0 else lower
    return float(lower.low) if room.low > 0 else -np.inf


def _power_of_two(sizes: FloatArray) -> FloatArray:
    found: FloatArray = np.exp2(np.round(np.log2(sizes)))
    return found
