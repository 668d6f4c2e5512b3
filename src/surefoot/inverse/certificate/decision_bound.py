"""An upper bound on what any decision adds to a loss: max over x in X of <theta, phi(x_hat) - phi(x)> + d(x_hat, x).

Lists, and vectors of a few 0/1 unknowns, are gone through. Other sets need multipliers, which prove what they prove by weak
duality, whoever found them. Their costs are x' Q x + c . x + constant, over conditions low <= A x <= high, lower <= x <= upper;
an ellipsoid is one row with x' F x added. A distance is the largest of a few terms constant - tilt . x + table[h(x)], h(x) =
base + f . x being the number of 0/1 unknowns that differ from the response. For any multipliers y and any number s,

    -x' Q x - c . x + table[h(x)]  <=  sum_r max(y_r low_r, y_r high_r) + max_h (table[h] - s h) + s base
                                       - x' (Q + y F) x - (c + A' y - s f) . x.

A tree splits the box by x_j <= k or x_j >= k + 1 for whole x_j, and its largest leaf counts; each leaf has multipliers of its
own. Where the cost is quadratic the leaves fix the whole unknowns: Q, c and constant may depend on them, and so does their
distance. There each leaf names a point x_0 too. With G = Q + y F and s = 2 G x_0 + tilt,

    x' G x + tilt . x   =   s . x_0 - x_0' G x_0 + s . (x - x_0) + (x - x_0)' G (x - x_0),

and the last two terms are bounded coordinate by coordinate, by the least eigenvalue of G.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from surefoot.core.arrays import BoolArray, FloatArray
from surefoot.core.definite import least_of, length, square_near
from surefoot.core.enclosure import Enclosure, between, choose, enclose, join
from surefoot.inverse.certificate.observation import SLACK, cuts, exact_loss, features_of, listed, measured, row_slack

if TYPE_CHECKING:
    from surefoot.inverse.problem.decision_proof import LossProof
    from surefoot.inverse.problem.distance import Distance
    from surefoot.inverse.problem.problem import Example

# Observations whose lists are gone through at once.
BATCH = 256
# Rounding that is more than this part of a distance, as under costs of 1e9, is taken out of the losses that may be the largest.
SMALL = 1e-9
# Beyond this, doubles do not tell a whole number from the next one.
LARGEST_WHOLE = 2.0**52


def decision_bounds(
    examples: Sequence[Example],
    cost: Enclosure | FloatArray,
    distance: Distance,
    proofs: Sequence[LossProof | None] | None = None,
) -> list[float]:
    """Bounds that no decision of an observation exceeds; infinite where nothing is proven, or a number stands for a proof."""
    theta = enclose(cost)
    given = [None] * len(examples) if proofs is None else proofs
    bounds, blocks = [np.inf] * len(examples), dict[Any, list[int]]()
    for i, (example, tree) in enumerate(zip(examples, given, strict=True)):
        posed: Any = example.instance.decisions
        if hasattr(posed, "points") or not hasattr(posed, "matrix") or not hasattr(tree, "multipliers"):
            continue
        if hasattr(example.instance.features, "matrix") and not hasattr(posed, "form"):
            kind = (posed.whole.tobytes(), _is_binary(posed), _is_whole(posed, example.response), posed.high.size)
            blocks.setdefault(kind, []).append(i)
        else:
            bounds[i] = _curved_bound(example, theta, distance, tree)
    for block in blocks.values():
        for first in range(0, len(block), BATCH):
            part = block[first : first + BATCH]
            found = _linear_bounds([examples[i] for i in part], theta, distance, [given[i] for i in part])
            for i, bound in zip(part, found, strict=True):
                bounds[i] = bound
    left = [i for i, bound in enumerate(bounds) if bound == np.inf and not isinstance(given[i], float)]
    lists = [(i, points) for i in left if (points := listed(examples[i].instance.decisions)) is not None]
    for first in range(0, len(lists), BATCH):
        pairs = [(examples[i], points) for i, points in lists[first : first + BATCH]]
        steep, apart = cuts(pairs, distance)
        # The response itself adds exactly 0.
        own = np.concatenate([np.all(points == example.response, axis=1) for example, points in pairs])
        priced = steep @ theta + apart
        values, low = np.where(own, 0.0, priced.high), np.where(own, 0.0, priced.low)
        wide = (values - low > SMALL * apart.high) & (apart.high > 0) & np.isfinite(values) & isinstance(cost, np.ndarray)
        starts = np.cumsum([0, *(len(points) for _, points in pairs)]).tolist()
        for (i, points), start, end in zip(lists[first : first + BATCH], starts[:-1], starts[1:], strict=True):
            near = wide[start:end] & (values[start:end] >= low[start:end].max(initial=-np.inf))
            for k in [] if hasattr(examples[i].instance.features, "inner") else np.flatnonzero(near):
                exact = enclose(0.0).of_fraction(exact_loss(examples[i], points[k], cost))
                values[start + k] = (apart[start + k] + exact).high
            bounds[i] = float(values[start:end].max(initial=-np.inf))
    return bounds


def lowest(
    slope: Enclosure, at: FloatArray, lower: FloatArray, upper: FloatArray, least: float, flat: BoolArray | bool = False
) -> Enclosure:
    """What no x with lower <= x <= upper undercuts of slope (x - at) + least (x - at)^2, place by place.

    ``flat`` says where it is known to fall towards no infinite end.
    """
    endless = np.isinf(lower), np.isinf(upper)
    falls = ~np.asarray(flat) & ((endless[0] & (slope.high > 0)) | (endless[1] & (slope.low < 0)))
    falls |= (least < 0) & (endless[0] | endless[1])
    # Where it does not fall towards an infinite end the other one counts, or none.
    ends = (np.where(np.isfinite(a), a, np.where(np.isfinite(b), b, at)) for a, b in ((lower, upper), (upper, lower)))
    low, high = (enclose(end) - at for end in ends)
    found = -((-(slope * low)).maximum(-(slope * high)))
    if least > 0:
        curved = -(slope * slope / (4.0 * enclose(least)))
        return choose(falls, curved, found.maximum(curved))
    return choose(falls, between(-np.inf, np.inf), found + least * (low * low).maximum(high * high))


def _linear_bounds(examples: list[Example], theta: Enclosure, distance: Distance, trees: list[Any]) -> list[float]:
    """Bounds of trees in preorder, one for every term of the distance, where the cost is linear; sets are of one kind."""
    responses, whole = np.array([example.response for example in examples]), examples[0].instance.decisions.whole
    bounds, terms = [np.inf] * len(examples), _terms(examples[0].instance.decisions, responses, distance)
    if terms is None:
        return bounds
    tilts, constants, turns, table = terms
    rows, slopes, own, costs = [], [], [], dict[int, Enclosure]()
    for i, (example, tree) in enumerate(zip(examples, trees, strict=True)):
        posed: Any = example.instance.decisions
        matrix: Any = example.instance.features.matrix  # type: ignore[union-attr]
        leaves, y = _leaves(posed, len(turns), tree), tree.multipliers
        if leaves is not None and np.isfinite(sides := _sides(posed, y)).all():
            cost = costs[id(matrix)] = costs[id(matrix)] if id(matrix) in costs else theta @ matrix
            rows.append((np.full(len(y), i), *leaves, y, sides, tree.slope))
            slopes.append(enclose(y) @ posed.matrix + cost)
            own += [(cost @ example.response).reshape(1)] * len(y)
    if not rows:
        return bounds
    at, term, lower, upper, y, sides, level = (np.concatenate(part) for part in zip(*rows, strict=True))
    total = join(own) + (enclose(y) * sides).sum(axis=1) + constants[at] + (enclose(turns[term]) * responses[at]).sum(axis=1)
    tilt = join(slopes) + tilts[at] + turns[term]
    if table is not None:
        spread = (table[None, :] - enclose(level)[:, None] * np.arange(table.shape[0], dtype=np.float64)).max(axis=1)
        total = total + spread + enclose(level) * responses[at][:, whole].sum(axis=1)
        tilt = tilt - enclose(level)[:, None] * np.where(whole, 1.0 - 2.0 * responses[at], 0.0)
    values = (total - lowest(tilt, np.zeros_like(lower), lower, upper, 0.0).sum(axis=1)).high
    for i in np.unique(at).tolist():
        bounds[i] = float(values[at == i].max())
    return bounds


def _sides(posed: Any, y: FloatArray) -> FloatArray:
    """The sides of the rows that multipliers count; infinite where a row has no such side."""
    slack = row_slack(posed)
    return np.where(y > 0, posed.high + slack, np.where(y < 0, posed.low - slack, 0.0))


def _curved_bound(example: Example, theta: Enclosure, distance: Distance, tree: Any) -> float:
    """The same where the cost is quadratic: leaves fix the whole unknowns, and name points."""
    posed: Any = example.instance.decisions
    features: Any = example.instance.features
    response, ellipsoid = example.response, hasattr(posed, "form")
    if not (hasattr(features, "inner") and np.array_equal(posed.whole, np.arange(response.size) >= features.n_continuous)):
        return np.inf
    if ellipsoid and not (posed.high.shape == (1,) and posed.low[0] == -np.inf and posed.high[0] < np.inf):
        return np.inf
    squared = distance.continuous == "squared-l2"
    linear = replace(distance, integer="none", continuous="none" if squared else distance.continuous)
    terms = _terms(posed, response[None, :], linear)
    leaves = None if terms is None else _leaves(posed, len(terms[2]), tree)
    if terms is None or leaves is None:
        return np.inf
    whole, (term, lower, upper), y = posed.whole, leaves, tree.multipliers
    turns, sides = terms[2][term], _sides(posed, y)
    fixed = tree.points.shape == lower.shape and np.all(lower[:, whole] == upper[:, whole]) and np.isfinite(tree.points).all()
    # The row of an ellipsoid has one multiplier for all leaves, since they share the form that it is part of.
    if not np.isfinite(sides).all() or not fixed or (ellipsoid and np.any(y != y[0])):
        return np.inf
    form, cost, own = _priced(example, theta, lower[:, whole])
    total = own + (enclose(y) * sides).sum(axis=1) + (enclose(turns) * response).sum(axis=1)
    tilt = cost + turns + enclose(y) @ posed.matrix
    total = total + measured(distance.integer, enclose(response[whole]) - lower[:, whole])
    if ellipsoid:
        form = form + (enclose(posed.form) + posed.form.T) * (0.5 * y[0, 0])
    if squared:
        form, tilt = form - np.diag(1.0 * ~whole), tilt + 2.0 * np.where(whole, 0.0, response)
        total = total + (enclose(response[~whole]) * response[~whole]).sum()
    at, block, least = np.where(whole, lower, tree.points), form[np.ix_(~whole, ~whole)], 0.0
    if not whole.all():
        least = max(least_of(block)[1], -length(block - square_near(block.mid)))
    steep = 2.0 * (enclose(at) @ form) + tilt
    value = steep * at - (enclose(at) @ form) * at + lowest(steep, at, lower, upper, least)
    return float((total - value.sum(axis=1)).high.max())


def _priced(example: Example, theta: Enclosure, z: FloatArray) -> tuple[Enclosure, Enclosure, Enclosure]:
    """Q, c and the cost of the response without the constant, for rows z of whole unknowns."""
    features: Any = example.instance.features
    u, n = features.n_continuous, example.response.size
    inner, outer = (features_of(part, z) for part in (features.inner, features.outer))
    first, rest = u * u, u * u + u * inner.shape[1]
    square, slope = theta[:first].reshape(u, u), theta[first:rest].reshape(inner.shape[1], u)
    wide = join([(square + square.transposed) * 0.5, np.zeros((u, n - u))], axis=1)
    form, cost = join([wide, np.zeros((n - u, n))]), join([inner @ slope, np.zeros((len(z), n - u))], axis=1)
    return form, cost, (features_of(features, example.response[None, :]) @ theta)[0] - outer @ theta[rest:]


def _is_binary(posed: Any) -> bool:
    """Whether all whole unknowns are 0 or 1."""
    return bool(np.all((posed.lower == 0) & (posed.upper == 1) | ~posed.whole))


def _is_whole(posed: Any, responses: FloatArray) -> bool:
    """Whether responses are 0 or 1 there."""
    return bool(np.isin(responses[..., posed.whole], (0.0, 1.0)).all())


def _terms(
    posed: Any, response: FloatArray, distance: Distance
) -> tuple[Enclosure, Enclosure, FloatArray, Enclosure | None] | None:
    """Tilts and constants for rows of responses, tilts that all terms add, and the table; None if there are no such terms."""
    whole, (count, n), binary = posed.whole, response.shape, _is_binary(posed)
    tilt, constant, table, spread = enclose(np.zeros((count, n))), enclose(np.zeros(count)), None, np.zeros(n, dtype=np.bool_)
    name = distance.integer if whole.any() else "none"
    if name in ("l1", "squared-l2") and binary:
        zero, one = abs(enclose(response)), abs(enclose(response) - 1.0)
        zero, one = (zero, one) if name == "l1" else (zero * zero, one * one)
        tilt, constant = choose(whole, zero - one, 0.0), choose(whole, zero, 0.0).sum(axis=1)
    elif name == "linf" and not binary:
        spread = whole
    elif name != "none":
        if name not in ("l2", "linf", "zero-one") or not (binary and _is_whole(posed, response)):
            return None
        counts = np.arange(int(whole.sum()) + 1, dtype=np.float64)
        table = enclose(counts).sqrt() if name == "l2" else enclose(np.minimum(counts, 1.0))
    if not whole.all() and distance.continuous != "none":
        if distance.continuous != "linf" or spread.any():
            return None
        spread = ~whole
    turns = np.kron(np.eye(n)[spread], [[1.0], [-1.0]]) if spread.any() else np.zeros((1, n))
    return tilt, constant, np.asarray(turns, dtype=np.float64), table


def _leaves(posed: Any, n_terms: int, tree: Any) -> tuple[Any, FloatArray, FloatArray] | None:
    """Term and box of every leaf; None if this is no tree. A split is followed by its lower part, then by its upper one."""
    room = np.where(posed.whole, 0.0, SLACK)
    open_ = [(term, posed.lower - room, posed.upper + room) for term in reversed(range(n_terms))]
    leaves = []
    for j, at in zip(tree.column.tolist(), tree.at.tolist(), strict=True):
        if not open_:
            return None
        term, lower, upper = open_.pop()
        if j < 0:
            leaves.append((term, lower, upper))
            continue
        if j >= lower.size or not (posed.whole[j] and at == np.floor(at) and abs(at) < LARGEST_WHOLE):
            return None
        raised, lowered = lower.copy(), upper.copy()
        raised[j], lowered[j] = max(lower[j], at + 1.0), min(upper[j], at)
        open_ += [(term, raised, upper), (term, lower, lowered)]
    numbers = np.append(tree.multipliers.ravel(), tree.slope)
    fits = tree.multipliers.shape == (len(leaves), posed.high.size) and tree.slope.shape == (len(leaves),)
    if open_ or not leaves or not fits or not np.isfinite(numbers).all():
        return None
    terms, lowers, uppers = (np.array(part) for part in zip(*leaves, strict=True))
    return terms, lowers, uppers
