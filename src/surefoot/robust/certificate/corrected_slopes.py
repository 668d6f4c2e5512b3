"""A lower bound that needs no limits on coefficients: slopes corrected until the residual vanishes, as real numbers.

``weak_duality`` pays for residuals with limits that grow like 1 / radius and do not exist for radius 0 or infinite weights.
Here the slopes q_k of the plan are changed instead. Let g = sum_k mass_k q_k a_k on some coordinates. With the slopes

    q_k + D_k (a_k . v),     D_k = q_k (1 - q_k), or 0 for entries that are left alone,     H = sum_k mass_k D_k a_k a_k^T,

the gradient is g + H v: exactly 0 for the v that solves H v = -g. It exists if H is nonsingular, and only its length nu = |v|_H
matters. Let T be any matrix for which T^T H T is nearly the identity and mu > 0 at or below the eigenvalues of that
(Gershgorin: diagonal less the absolute values of the rest of a row), so that T and H are nonsingular. Then

    nu^2 = g^T H^-1 g = (T^T g)^T (T^T H T)^-1 (T^T g) <= |T^T g|^2 / mu.                                         (1)

As mass_k D_k (a_k . v)^2 <= nu^2 for each entry, s_k = |a_k . v| <= 1/2 if 4 nu^2 <= mass_k D_k for every entry used. Then the
slopes remain between 0 and 1, q (1 - q) is at least D_k / 2 all the way from the old to the new one, and Taylor's formula for
-f*, with derivative -t_k = -log(q_k / (1 - q_k)) at q_k and second derivative -1 / (q (1 - q)), says what an entry loses: at
most mass_k D_k (|t_k| s_k + s_k^2). By Cauchy and Schwarz all of them lose at most

    nu sqrt(sum_k mass_k D_k t_k^2) + nu^2,                                                                       (2)

and g_j of any other coordinate changes by at most nu sqrt(H_jj). These others are numeric columns that are not too dear: they
may spend radius - P, and beyond it the limit on lambda is paid, as in ``weak_duality``.

Coordinates that no flow mass_k q_k > 0 involves have no residual and are left out. So is a coordinate that depends on others in
all flows, a_j + sum_i z_i a_i + constant = 0 (the constant with an intercept only): what holds for all flows holds for their
sum, and where the others vanish so does this one. Such dependences are checked in fractions. How the entries and coordinates
of H, and T, are chosen does not matter for the truth of the bound, so plain doubles choose them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from surefoot.core.arrays import FloatArray, RowArray
from surefoot.core.enclosure import Enclosure, choose, enclose, join
from surefoot.robust.certificate.checked_plan import CheckedPlan, EntryBlock
from surefoot.robust.certificate.posed_rows import Frame, Sums

# Curvature mass_k D_k from which on an entry is used: (2) asks for nu below half its root, and doubles have 16 digits.
LEAST_CURVATURE = 1e-16
# Eigenvalues of H, scaled to a unit diagonal: below the first, coordinates may depend on others; below the second, which is
# relative to the largest, a sum of doubles says nothing about them.
DEPENDENT, LOST_DIGITS = 1e-11, 1e-15
# Numeric columns are too dear if gamma_j sqrt(H_jj) is this many times the radius: then any part of the budget that they could
# spend is a small residual, and a small change of theirs is a large part of the budget.
TOO_DEAR = 1e7
# Dependences are looked for among those with coefficients on this grid.
GRID = 2.0**20
# Floating-point operations, and coordinates, above which this bound would take too long.
MAX_OPERATIONS, MAX_COORDINATES = 4e11, 8000


def too_large(frame: Frame, n_entries: int) -> bool:
    """Whether this bound would take too long."""
    size = int(frame.setting.fit_intercept) + frame.centre.size + int(frame.setting.others.sum())
    return size > MAX_COORDINATES or 4.0 * n_entries * size**2 > MAX_OPERATIONS


def _designs(plan: CheckedPlan) -> Iterator[tuple[EntryBlock, Enclosure]]:
    """Blocks of entries and their vectors a_k."""
    setting = plan.frame.setting
    places = [plan.place_matrix(l)[:, 1:] for l in range(setting.n_levels.size)]
    for block in plan.blocks():
        numeric = block.numeric if isinstance(block.numeric, Enclosure) else block.numeric.toarray()
        levels = [matrix[block.places[:, l]] for l, matrix in enumerate(places)]
        design = join([np.ones((block.sign.size, int(setting.fit_intercept))), numeric, *levels], axis=1)
        yield block, design * -block.sign[:, None]


def curvature_sums(plan: CheckedPlan) -> Sums:
    """H, sum_k mass_k D_k t_k^2, the least mass_k D_k in use, and how many flows involve each coordinate."""
    hessian: Any = 0.0
    spread, least, flows = enclose(0.0), np.inf, np.int64(0)
    for block, design in _designs(plan):
        slope = enclose(block.slope)
        weight = block.mass * slope * (1.0 - slope)
        used = weight.low >= LEAST_CURVATURE
        weight, slope, vectors = weight[used], slope[used], design[used]
        odds = (slope / (1.0 - slope)).log()
        hessian = vectors.transposed @ (vectors * weight[:, None]) + hessian
        spread = spread + (weight * odds * odds).sum()
        least = min(least, weight.low.min(initial=np.inf))
        flows = flows + (design.mid[block.slope > 0] != 0).sum(axis=0)
    return Sums((hessian, spread, [least], flows))


def relation_sums(plan: CheckedPlan, relations: FloatArray) -> Sums:
    """Per relation, what the z_i a_i of numeric columns and levels add up to in all flows, exactly: one number, if it holds."""
    setting, n_numeric = plan.frame.setting, plan.frame.centre.size
    found: list[set[Fraction]] = [set() for _ in relations.T]
    for block in plan.blocks():
        numeric = plan.part.numeric[block.row]
        cells = np.column_stack((numeric.toarray() if plan.part.is_sparse else numeric, block.places))[block.slope > 0]
        for sums, z in zip(found, relations.T, strict=True):
            values = np.zeros(setting.features.size)
            values[setting.others] = z[n_numeric:]
            columns, features = np.flatnonzero(z[:n_numeric]), np.unique(setting.features[values != 0])
            tables = [plan.place_values(l, values) for l in features]
            for row in np.unique(cells[:, [*columns, *(n_numeric + features)]], axis=0).tolist():
                numbers, places = row[: columns.size], row[columns.size :]
                terms = [Fraction(x) * Fraction(z[j]) for j, x in zip(columns, numbers, strict=True)]
                sums.add(sum(terms + [table[int(place)] for table, place in zip(tables, places, strict=True)], Fraction(0)))
    return Sums(map(list, found))


def corrected_bound(frame: Frame, plan: Sums, price_limit: float, gather: Callable[..., Any]) -> float:
    """The bound from the sums of ``weak_duality.plan_sums``; ``-inf`` if a condition fails.

    ``gather(work, *arguments)`` adds up what ``work`` says about the parts of the table.
    """
    setting, (entropy, price, intercept, numeric, levels, shifts, _) = frame.setting, plan
    first = int(setting.fit_intercept)
    columns = slice(first, first + frame.centre.size)
    gradient = join([intercept.reshape(1)[:first], numeric, levels[setting.others]])
    hessian, spread, curvatures, flows = gather(curvature_sums)
    sizes = hessian[np.arange(flows.size), np.arange(flows.size)].sqrt()
    scale = np.exp2(np.round(np.log2(np.maximum(sizes.mid, 1e-145))))
    loose = np.zeros(flows.size, dtype=np.bool_)
    loose[columns] = setting.gamma * sizes.high[columns] <= TOO_DEAR * setting.radius
    kept = np.flatnonzero((flows > 0) & ~loose)
    dependent, relations = _dependences(hessian.mid / scale[:, None] / scale, scale, kept, columns)
    if dependent.size:
        constants = [set(sums) for sums in gather(relation_sums, relations[first:])]
        hold = [len(sums) == 1 and (first == 1 or sums == {0}) for sums in constants]
        kept = np.setdiff1d(kept, dependent[hold])
    square = _squared_length(hessian[kept][:, kept] / (scale[kept][:, None] * scale[kept]), gradient[kept] / scale[kept])
    if not 4.0 * square.high <= min(curvatures):
        return -np.inf
    lower = entropy - (square * spread).sqrt() - square
    spent = choose(loose, abs(gradient) + sizes * square.sqrt(), 0.0)[columns]
    excess = setting.shift_price(spent) + price - setting.radius
    if excess.high > 0 and (shifts or loose.any()):
        lower = lower - excess.maximum(0.0) * price_limit
    return float(lower.low)


def _dependences(scaled: FloatArray, scale: FloatArray, kept: RowArray, columns: slice) -> tuple[RowArray, FloatArray]:
    """Coordinates that seem to depend on others, and the z of each, one column per coordinate; from doubles."""
    rest = within = scaled[np.ix_(kept, kept)]
    basis: list[int] = []
    others: list[int] = []
    if kept.size and np.linalg.eigvalsh(within)[0] <= DEPENDENT:
        for at in range(kept.size):  # Cholesky's method, without the coordinates that it cannot go on with
            (basis if rest[at, at] > DEPENDENT else others).append(at)
            rest = rest - np.outer(rest[:, at], rest[at]) / rest[at, at] if rest[at, at] > DEPENDENT else rest
    found = np.linalg.solve(within[basis][:, basis], within[basis][:, others])
    relations = np.zeros((scale.size, len(others)))
    relations[kept[basis]] = -np.round(found / scale[kept[basis]][:, None] * scale[kept[others]] * GRID) / GRID
    relations[kept[others], np.arange(len(others))] = 1.0
    relations[: columns.start] = 0.0
    proper = kept[others] >= columns.start  # not the intercept
    return kept[others][proper], relations[:, proper]


def _squared_length(matrix: Enclosure, residual: Enclosure) -> Enclosure:
    """At or above nu^2, by (1); nothing is known where the matrix has no digits left."""
    values, vectors = np.linalg.eigh(matrix.mid)
    axes = enclose(vectors / np.sqrt(np.maximum(values, LOST_DIGITS * values.max(initial=1e-290))))
    table, unit = axes.transposed @ (matrix @ axes), np.eye(values.size)
    least = (enclose(table.low * unit) - enclose(table.size * (1.0 - unit))).sum(axis=1).low.min(initial=1.0)
    along = axes.transposed @ residual
    return (along * along).sum() / float(max(least, 0.0))
