"""A lower bound that needs no limits on coefficients: slopes corrected until the residual vanishes, as real numbers.

``weak_duality`` pays for residuals with limits that grow like 1 / radius and do not exist for radius 0 or infinite weights.
Here the slopes q_k of the plan are changed instead. Let g = sum_k mass_k q_k a_k, h a target for g, and e = g - h. With slopes

    q_k + D_k (a_k . v),     D_k = q_k (1 - q_k), or 0 for entries that are left alone,     H = sum_k mass_k D_k a_k a_k^T,

the gradient is g + H v, which is exactly h for the v that solves H v = -e. Such a v exists if H is nonsingular, and only its
length nu = |v|_H is needed, nu^2 = e^T H^-1 e. Let T be any nonsingular matrix (here T^T H T is nearly the identity) and mu at
or below its eigenvalues (Gershgorin: diagonal less the absolute values of the rest of a row). Then

    nu^2 = (T^T e)^T (T^T H T)^-1 (T^T e) <= |T^T e|^2 / mu.                                                      (1)

As mass_k D_k (a_k . v)^2 <= nu^2 for each entry, s_k = |a_k . v| <= 1/2 if 4 nu^2 <= mass_k D_k for every entry used. Then the
slopes remain between 0 and 1, D is at least half as large anywhere between the old and the new one, and Taylor's formula for
-f*, whose derivative at q_k is -t_k = -log(q_k / (1 - q_k)) and whose second is -1 / (q (1 - q)), says what an entry loses: at
most mass_k D_k (|t_k| s_k + s_k^2). By Cauchy and Schwarz all of them lose at most

    nu sqrt(sum_k mass_k D_k t_k^2) + nu^2.                                                                       (2)

The corrected plan has the residual h: 0 on the intercept, on levels and on columns with gamma = inf, while others may spend
radius - P of the budget; what they spend beyond it is paid for with the limit on lambda, as in ``weak_duality``.

Coordinates that no flow mass_k q_k > 0 involves have no residual and are left out. So is a coordinate that depends on others in
all such entries, a_j + sum_i z_i a_i = 0, z_i in {-1, 0, 1} but for the intercept's, any double: the same holds for h then. That
is checked in exact sums (``dependences``). How h, T, and the entries used are chosen does not matter for the truth of the bound,
so plain doubles choose them. If T^T H T is not near the identity because H has lost too many digits, it is summed once more in
the coordinates T.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import fsum
from typing import Any

import numpy as np

from surefoot.core.arrays import FloatArray, RowArray
from surefoot.core.enclosure import Enclosure, enclose, join
from surefoot.robust.certificate.checked_plan import CheckedPlan, EntryBlock
from surefoot.robust.certificate.posed_rows import Frame, Sums

# Curvature mass_k D_k from which on an entry is used; below it (2) would ask for a smaller residual than doubles have.
LEAST_CURVATURE = 1e-16
# Eigenvalue of H, scaled to a unit diagonal, below which coordinates may depend on each other.
DEPENDENT = 1e-11
# Eigenvalue relative to the largest below which a sum of doubles says nothing about it.
LOST_DIGITS = 1e-15
GRID = 2.0**20
NEGLIGIBLE_RESIDUAL = 1e-11
# Floating-point operations, and coordinates, above which this bound would take too long or too much memory.
MAX_OPERATIONS, MAX_COORDINATES = 4e11, 8000
PASSES = 3


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


def curvature_sums(plan: CheckedPlan, axes: FloatArray | None) -> Sums:
    """T^T H T, sum_k mass_k D_k t_k^2, the least mass_k D_k in use, and how many flows involve each coordinate."""
    matrix: Any = 0.0
    spread, least, flows = enclose(0.0), np.inf, np.int64(0)
    for block, design in _designs(plan):
        slope = enclose(block.slope)
        weight = block.mass * slope * (1.0 - slope)
        used = weight.low >= LEAST_CURVATURE
        weight, slope, along = weight[used], slope[used], design[used] if axes is None else design[used] @ axes
        odds = (slope / (1.0 - slope)).log()
        matrix = along.transposed @ (along * weight[:, None]) + matrix
        spread = spread + (weight * odds * odds).sum()
        least = min(least, weight.low.min(initial=np.inf))
        flows = flows + (design.mid[block.slope > 0] != 0).sum(axis=0)
    return Sums((matrix, spread, [least], flows))


def dependences(plan: CheckedPlan, relations: FloatArray) -> Sums:
    """Per relation, what the z_i a_i of numeric columns and levels add up to in all flows: one number, if it always holds."""
    setting, n_numeric = plan.frame.setting, plan.frame.centre.size
    values = np.zeros((setting.features.size, relations.shape[1]))
    values[setting.others] = relations[n_numeric:]
    found: list[set[float]] = [set() for _ in relations.T]
    for block in plan.blocks():
        flows = block.slope > 0
        numeric = plan.part.numeric[block.row[flows]]
        numeric = numeric.toarray() if plan.part.is_sparse else numeric
        for sums, z, value in zip(found, relations[:n_numeric].T, values.T, strict=True):
            features = np.unique(setting.features[value != 0])
            terms = [plan.place_values(l, value)[block.places[flows, l]] for l in features]
            for row in np.unique(np.column_stack([numeric[:, z != 0] * z[z != 0], *terms]), axis=0).tolist():
                # fsum rounds once, at the end: it is 0 only if the sum is.
                total = fsum(row)
                sums.add(total if fsum([*row, -total]) == 0.0 else np.nan)
    return Sums(map(list, found))


def corrected_bound(frame: Frame, plan: Sums, price_limit: float, gather: Callable[..., Any]) -> float:
    """The bound from the sums of ``weak_duality.plan_sums``; ``-inf`` if a condition fails.

    ``gather(work, *arguments)`` adds up what ``work`` says about the parts of the table.
    """
    setting, (entropy, price, intercept, numeric, levels, shifts, _) = frame.setting, plan
    first = int(setting.fit_intercept)
    columns = slice(first, first + frame.centre.size)
    gradient = join([intercept.reshape(1)[:first], numeric, levels[setting.others]])
    hessian, spread, curvatures, flows = gather(curvature_sums, None)
    scale = np.exp2(np.round(0.5 * np.log2(np.maximum(np.diag(hessian.mid), 1e-290))))
    priced = np.zeros(scale.size, dtype=np.bool_)
    priced[columns] = np.isfinite(setting.gamma) & (setting.radius > 0)
    # What costs hardly anything as a residual uses nothing of the budget.
    spends = priced & (np.abs(gradient.mid) > NEGLIGIBLE_RESIDUAL * entropy.mid * scale)
    kept, implied = np.flatnonzero(flows), np.eye(scale.size)
    dependent, relations = _dependent(hessian.mid / scale[:, None] / scale, scale, kept, columns)
    if dependent.size:
        constants = [set(sums) for sums in gather(dependences, relations[first:])]
        hold = np.array([len(sums) == 1 and (np.isfinite(sum(sums)) if first else sums == {0.0}) for sums in constants])
        implied[dependent[hold]] -= relations[:, hold].T
        kept = np.setdiff1d(kept, dependent[hold])
    if implied[np.ix_(~priced, spends)].any():
        return -np.inf
    target = enclose(implied) @ np.where(spends, gradient.mid, 0.0)
    axes = np.diag(1.0 / scale)[:, kept]
    square = _squared_length(enclose(axes).transposed @ (hessian @ axes), gradient - target, axes, gather)
    if not 4.0 * square.high <= min(curvatures):
        return -np.inf
    lower = entropy - (square * spread).sqrt() - square
    excess = setting.shift_price(target[columns]) + price - setting.radius
    if excess.high > 0 and (shifts or spends.any()):
        lower = lower - excess.maximum(0.0) * price_limit
    return float(lower.low)


def _dependent(scaled: FloatArray, scale: FloatArray, kept: RowArray, columns: slice) -> tuple[RowArray, FloatArray]:
    """Coordinates that seem to depend on others, and the z of each, one column per coordinate; from doubles."""
    rest = within = scaled[np.ix_(kept, kept)]
    if kept.size == 0 or np.linalg.eigvalsh(within)[0] > DEPENDENT:
        return np.empty(0, dtype=np.int64), np.empty((scale.size, 0))
    basis: list[int] = []
    while rest.diagonal().max() > DEPENDENT:  # Cholesky's method with pivots
        basis.append(int(rest.diagonal().argmax()))
        rest = rest - np.outer(rest[:, basis[-1]], rest[basis[-1]]) / rest[basis[-1], basis[-1]]
        rest[basis[-1]] = rest[:, basis[-1]] = 0.0
    others = np.setdiff1d(np.arange(kept.size), basis)
    found = np.linalg.solve(within[np.ix_(basis, basis)], within[np.ix_(basis, others)])
    relations = np.zeros((scale.size, others.size))
    # Doubles with few digits, of which the products with numeric columns are exact.
    relations[kept[basis]] = -np.round(found / scale[kept[basis]][:, None] * scale[kept[others]] * GRID) / GRID
    relations[kept[others], np.arange(others.size)] = 1.0
    relations[: columns.start] = 0.0
    simple = np.isin(relations[columns], (-1.0, 0.0, 1.0)).all(axis=0)
    return kept[others[simple]], relations[:, simple]


def _squared_length(matrix: Enclosure, residual: Enclosure, axes: FloatArray, gather: Callable[..., Any]) -> Enclosure:
    """At or above nu^2, by (1), from H in the coordinates of the axes; nothing is known if its digits are lost."""
    for _ in range(PASSES):
        values, vectors = np.linalg.eigh(matrix.mid)
        turn = vectors / np.sqrt(np.maximum(values, LOST_DIGITS * values.max(initial=1e-290)))
        table, unit = enclose(turn).transposed @ (matrix @ turn), np.eye(values.size)
        least = (enclose(table.low * unit) - enclose(table.size * (1.0 - unit))).sum(axis=1).low.min(initial=1.0)
        if least > 0:
            along = enclose(turn).transposed @ (enclose(axes).transposed @ residual)
            return (along * along).sum() / least
        axes = axes @ turn
        matrix = gather(curvature_sums, axes)[0]
    return enclose(np.inf)
