"""What bounds the objective of inverse optimization from below, for every cost vector of the prior set at once.

Take decisions k with owners i(k) and weights w_k >= 0 whose sum per observation is at most 1/N (1/N exactly for an observation
whose loss may be negative; any sum if losses must not be above 0). With slopes g_k, distances d_k, and multipliers mu >= 0 of
the rows of Theta, nu of its sum and a positive semidefinite S of its block,

    objective(theta)  >=  kappa R(theta) + (sum_k w_k g_k + matrix' mu + nu 1 - vec S) . theta
                          + sum_k w_k d_k - mu . ceiling - nu total

for every theta in Theta: weak duality. The right-hand side is a sum over coordinates, each smallest at an end of its bounds or
where its slope is 0. Where nothing else bounds a coordinate its slope s must be 0 to the last digit, or |s| <= kappa with an l1
regularizer. Weights of doubles do not achieve that, so they are corrected in rational arithmetic: as many of them as there are
such coordinates solve these equations exactly.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from surefoot.core.arrays import BoolArray, FloatArray, IntArray, RowArray
from surefoot.core.enclosure import Enclosure, between, choose, enclose, join
from surefoot.inverse.certificate.observation import are_decisions, distances, features_of, slopes

if TYPE_CHECKING:
    from surefoot.inverse.problem.problem import Example, InverseProblem

# Slopes this small, relative to their terms, are tried to be made 0 exactly; of so many coordinates at most.
NEARLY_ZERO = 1e-7
MAX_EXACT = 64
# Prices of an l1 regularizer are met with equality; all multipliers are scaled down by this much, which keeps them valid.
SCALED_DOWN = 1.0 - 2.0**-40


def decisions_flaw(problem: InverseProblem, owners: IntArray, points: Any) -> str:
    """What is wrong with the decisions of a proof, or nothing."""
    if len(owners) != len(points):
        return "the proof is refused because owners and decisions differ in number"
    for owner in np.unique(owners).tolist():
        if not 0 <= owner < len(problem.examples):
            return f"the proof is refused because observation {owner} does not exist"
        example = problem.examples[owner]
        own = [np.asarray(points[k], dtype=np.float64) for k in np.flatnonzero(owners == owner)]
        if any(point.shape != example.response.shape for point in own) or not (
            are_decisions(example.instance.decisions, np.array(own)).all()
        ):
            return f"the proof is refused because it uses a point that is no decision of observation {example.instance.index}"
    return ""


def cuts(problem: InverseProblem, owners: IntArray, points: Any) -> tuple[Enclosure, Enclosure]:
    """Slopes and distances of decisions, sorted by owner as ``np.argsort(owners, kind="stable")`` does."""
    found = [(enclose(np.empty((0, problem.prior.lower.size))), enclose(np.empty(0)))]
    for owner in np.unique(owners).tolist():
        example, block = (
            problem.examples[owner],
            np.array([points[k] for k in np.flatnonzero(owners == owner)], dtype=np.float64),
        )
        found.append((slopes(example, block), distances(example, problem.distance, block)))
    return join([pair[0] for pair in found]), join([pair[1] for pair in found])


def proof_flaw(problem: InverseProblem, proof: Any) -> str:
    """What is wrong with a proof, or nothing."""
    if len(proof.owners) != len(proof.weights):
        return "the proof is refused because owners and weights differ in number"
    if proof.row_prices.shape != problem.prior.ceiling.shape:
        return "the proof is refused because its prices are not those of the prior set's rows"
    if not (np.isfinite(proof.weights).all() and np.isfinite(proof.row_prices).all() and np.isfinite(proof.total_price)):
        return "the proof is refused because its weights are not finite"
    return decisions_flaw(problem, proof.owners, proof.points)


def cost_bound(problem: InverseProblem, proof: Any) -> float:
    """The bound of the module docstring for a proof without flaw; -inf if it proves nothing."""
    prior, kappa, n = problem.prior, problem.kappa, len(problem.examples)
    order = np.argsort(proof.owners, kind="stable")
    owners, weights = proof.owners[order], enclose(np.maximum(proof.weights[order], 0.0))
    steep, apart = cuts(problem, proof.owners, proof.points)
    rows, prices = [steep, enclose(prior.matrix)], enclose(np.maximum(proof.row_prices, 0.0))
    sides = [apart, -enclose(prior.ceiling)]
    total = enclose(np.empty(0))
    if prior.total is not None:
        rows.append(enclose(np.ones((1, prior.lower.size))))
        sides.append(enclose(np.array([-prior.total])))
        total = enclose(np.array([float(proof.total_price)]))
    if not problem.hard:
        sums = weights.sums_by_place(owners, n) if len(owners) else enclose(np.zeros(n))
        free = np.array([example.inside or problem.clamp for example in problem.examples])
        if np.any((sums.low <= 0) & ~free):
            return -np.inf
        # Real numbers: weights over their own sum have the sum 1 exactly.
        full = (sums.high * n >= 1.0) | ~free
        weights = choose(full[owners], weights / (sums[owners] * n), weights)
    columns, constants, multipliers = join(rows), join(sides), join([weights, prices, total])
    if prior.psd and proof.block_price is not None:
        values, axes = np.linalg.eigh((proof.block_price + proof.block_price.T) / 2)
        root = enclose(axes * np.sqrt(np.maximum(values, 0.0)))
        block = root @ root.transposed
        at = np.arange(prior.psd**2)
        extra = join([-block[at // prior.psd, at % prior.psd], enclose(np.zeros(prior.lower.size - at.size))])
    else:
        extra = enclose(np.zeros(prior.lower.size))
    if problem.regularizer.kind == "l1" and kappa > 0:
        multipliers, extra = multipliers * SCALED_DOWN, extra * SCALED_DOWN
    slope, flat = multipliers @ columns + extra, np.zeros(prior.lower.size, dtype=np.bool_)
    if (kappa == 0 or problem.regularizer.kind == "l1") and not prior.psd:
        exact = _balanced(problem, proof, order, slope)
        if exact is not None:
            multipliers, flat, wanted = exact
            slope = choose(flat, wanted, multipliers @ columns)
    return float((multipliers @ constants + _separable_minimum(problem, slope, flat)).low)


def _separable_minimum(problem: InverseProblem, slope: Enclosure, flat: BoolArray) -> Enclosure:
    """The least kappa R(theta) + slope . theta within lower <= theta <= upper; slopes are exactly 0 where ``flat``."""
    center, kappa, lower, upper = problem.regularizer.center, problem.kappa, problem.prior.lower, problem.prior.upper
    if problem.regularizer.kind == "l2" and kappa > 0:
        at = np.clip(center - slope.mid / kappa, lower, upper)
        away, tilt = enclose(at) - center, kappa * (enclose(at) - center) + slope
        # kappa/2 (t - at)^2 + tilt (t - at) is what other t add; at an end only one sign of t - at is possible.
        rise = np.where(at == lower, np.maximum(-tilt.low, 0.0), np.where(at == upper, np.maximum(tilt.high, 0.0), tilt.size))
        fall = enclose(np.where(lower == upper, 0.0, rise))
        return (kappa * 0.5 * (away * away) + slope * at - fall * fall / (2.0 * kappa)).sum()
    # Piecewise linear: smallest at an end or at the centre; towards an infinite end it must not fall.
    if np.any(~flat & ((np.isinf(lower) & (slope.high > kappa)) | (np.isinf(upper) & (slope.low < -kappa)))):
        return enclose(-np.inf)
    inner = np.clip(center, lower, upper)
    ends = [np.where(np.isfinite(end), end, inner) for end in (lower, upper, inner)]
    values = join([(kappa * abs(enclose(end) - center) + slope * end)[None, :] for end in ends])
    return (-((-values).max(axis=0))).sum()


def _balanced(
    problem: InverseProblem, proof: Any, order: RowArray, slope: Enclosure
) -> tuple[Enclosure, BoolArray, Enclosure] | None:
    """Multipliers near those of a proof whose slopes are exactly 0, or kappa, where nothing bounds a coordinate.

    With these coordinates, and their slopes.
    """
    prior, n = problem.prior, len(problem.examples)
    falling = (np.isinf(prior.lower) & (slope.high > problem.kappa)) | (np.isinf(prior.upper) & (slope.low < -problem.kappa))
    wanted = np.sign(slope.mid) * problem.kappa * SCALED_DOWN
    at = np.flatnonzero(falling).tolist()
    if not 0 < len(at) <= MAX_EXACT:
        return None
    owners = proof.owners[order].tolist()
    free = prior.total is not None
    given = [*np.maximum(proof.weights[order], 0.0), *np.maximum(proof.row_prices, 0.0), *([proof.total_price] if free else [])]
    values = [Fraction(float(value)) for value in given]
    columns = [exact_slope(problem.examples[i], proof.points[k], at) for i, k in zip(owners, order, strict=True)]
    columns += [[Fraction(float(row[j])) for j in at] for row in prior.matrix] + ([[Fraction(1)] * len(at)] if free else [])
    used = [k for k, value in enumerate(values) if value]
    matrix = np.array([[float(columns[k][j]) * float(values[k]) for k in used] for j in range(len(at))])
    rows, picked = _pivots(matrix)
    goal = [Fraction(float(wanted[j])) for j in at]
    short = [goal[j] - sum((values[k] * columns[k][j] for k in used), Fraction(0)) for j in range(len(at))]
    change = _solved([[columns[used[k]][j] for k in picked] + [short[j]] for j in rows])
    if change is None:
        return None
    for k, step in zip(picked, change, strict=True):
        values[used[k]] += step
    left = [sum((values[k] * columns[k][j] for k in used), Fraction(0)) for j in range(len(at))]
    if left != goal or min(values[: len(values) - free], default=Fraction(0)) < 0:
        return None
    if not problem.hard:
        sums_by = [Fraction(0)] * n
        for owner, value in zip(owners, values, strict=False):
            sums_by[owner] += value
        if not all(example.inside or problem.clamp for example in problem.examples):
            return None
        most = max(*sums_by, Fraction(1, n)) * n
        values, wanted = [value / most for value in values], wanted / float(most)
    return _around([float(value) for value in values]), np.asarray(falling), choose(wanted == 0, 0.0, _around(wanted))


def _around(near: Any) -> Enclosure:
    """Numbers within two units in the last place of these."""
    return between(np.asarray(near) - 4e-16 * np.abs(near), np.asarray(near) + 4e-16 * np.abs(near))


def exact_slope(example: Example, point: FloatArray, at: list[int]) -> list[Fraction]:
    """phi(response) - phi(x) in rational numbers, at some coordinates."""
    features: Any = example.instance.features
    if hasattr(features, "matrix"):
        apart = [
            (k, Fraction(float(a)) - Fraction(float(b))) for k, (a, b) in enumerate(zip(example.response, point, strict=True))
        ]
        moved = [(k, value) for k, value in apart if value]
        return [sum((Fraction(float(features.matrix[j, k])) * value for k, value in moved), Fraction(0)) for j in at]
    own, other = (features_of(example, part[None, :]).mid[0] for part in (example.response, point))
    return [Fraction(float(own[j])) - Fraction(float(other[j])) for j in at]


def _pivots(matrix: FloatArray) -> tuple[list[int], list[int]]:
    """Rows and columns of a well-conditioned block, as large as the rank seems to be: elimination with complete pivoting."""
    left, rows, columns = matrix / np.abs(matrix).max(axis=1, initial=1e-300)[:, None], [], []
    for _ in range(min(matrix.shape)):
        row, column = np.unravel_index(int(np.argmax(np.abs(left))), left.shape)
        if abs(left[row, column]) <= NEARLY_ZERO:
            break
        rows.append(int(row))
        columns.append(int(column))
        left = left - np.outer(left[:, column], left[row]) / left[row, column]
    return rows, columns


def _solved(rows: list[list[Fraction]]) -> list[Fraction] | None:
    """The solution of a square system, right-hand sides last; None if it is singular."""
    n = len(rows)
    for k in range(n):
        pivot = next((r for r in range(k, n) if rows[r][k]), None)
        if pivot is None:
            return None
        rows[k], rows[pivot] = rows[pivot], rows[k]
        rows[k] = [value / rows[k][k] for value in rows[k]]
        for r in range(n):
            if r != k and rows[r][k]:
                rows[r] = [a - rows[r][k] * b for a, b in zip(rows[r], rows[k], strict=True)]
    return [row[-1] for row in rows]
