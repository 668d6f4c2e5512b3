"""An upper bound on what any decision adds to a loss: max over x in X of <theta, phi(x_hat) - phi(x)> + weight d(x_hat, x).

Lists, and vectors of a few 0/1 unknowns, are gone through, more 0/1 unknowns are searched
(:mod:`surefoot.inverse.certificate.binary_bound`). Other sets need multipliers, which prove what they prove by weak duality,
whoever found them.

Linear sets {low <= A x <= high, lower <= x <= upper}, linear cost c. A distance is the largest of a few terms constant -
tilt . x + table[h(x)], h(x) = base + f . x being the number of 0/1 unknowns that differ from the response. For any
multipliers y and any number s,

    -c . x + table[h(x)]  <=  sum_r max(y_r low_r, y_r high_r) + max_h (table[h] - s h) + s base + (-c - A' y + s f) . x,

which is largest at ends of the box. A tree splits the box by x_j <= k or x_j >= k + 1 for whole x_j; its largest leaf counts.

Quadratic cost y' Q y + v . y of continuous unknowns. For multipliers lam >= 0 of the rows A y <= b, v becomes v + A' lam. For
any point y0 and any B, with s = 2 Q y0 + v and E = Q - B B',

    y' Q y + v . y   =   (y - y0)' Q (y - y0) + s . (y - y0) + s . y0 - y0' Q y0,

    (y - y0)' Q (y - y0)   >=   -||E|| ||y - y0||^2.

Ball ||y|| <= r, y' H y + 2 g . y with any H: the same with Q = H + mu I, v = 2 g and mu r^2 to be given away, for any mu >= 0.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from surefoot.core.arrays import BoolArray, FloatArray
from surefoot.core.enclosure import Enclosure, choose, enclose
from surefoot.inverse.certificate.binary_bound import binary_bound
from surefoot.inverse.certificate.observation import SLACK, distances, ellipsoid_slack, features_of, listed, row_slack, slopes

if TYPE_CHECKING:
    from surefoot.inverse.problem.decision_proof import LossProof
    from surefoot.inverse.problem.distance import Distance
    from surefoot.inverse.problem.problem import Example

# Values of the whole unknowns, each of which has multipliers of its own where the cost is quadratic.
MAX_VALUES = 4096
# 0/1 unknowns up to which going through all vectors is no slower than a search.
FEW_UNKNOWNS = 9


def decision_bound(
    example: Example,
    cost: Enclosure | FloatArray,
    distance: Distance,
    proof: LossProof | None = None,
    *,
    claimed: float = 0.0,
) -> float | None:
    """A bound that no decision exceeds; None where nothing is proven. Many 0/1 unknowns are searched above ``claimed``."""
    theta = enclose(cost)
    decisions: Any = example.instance.decisions
    features: Any = example.instance.features
    searched = _searched_bound(example, theta, distance, claimed)
    if searched is not None:
        return searched
    points = listed(decisions)
    if points is not None:
        # The response itself adds exactly 0.
        others = points[np.any(points != example.response, axis=1)]
        found = slopes(example, others) @ theta + distances(example, distance, others)
        return float(found.high.max(initial=0.0 if len(others) < len(points) else -np.inf))
    if hasattr(decisions, "solve") or proof is None:
        return None
    if hasattr(decisions, "form"):
        bound = _ball_bound(example, theta, distance, proof)
    elif hasattr(features, "inner"):
        bound = _quadratic_bound(example, theta, distance, proof)
    elif isinstance(proof, np.ndarray) or not hasattr(features, "matrix"):
        return None
    else:
        bound = _tree_bound(example, theta, distance, proof)
    return bound if np.isfinite(bound) else None


def _searched_bound(example: Example, theta: Enclosure, distance: Distance, claimed: float) -> float | None:
    """The bound of a search over more 0/1 unknowns than are listed at ease; None for other sets and distances."""
    decisions: Any = example.instance.decisions
    features: Any = example.instance.features
    response = example.response
    if hasattr(decisions, "solve") or not (hasattr(decisions, "lower") and hasattr(features, "matrix")):
        return None
    binary = decisions.whole & (decisions.lower == 0) & (decisions.upper == 1)
    if response.size <= FEW_UNKNOWNS or not binary.all() or not np.isin(response, (0.0, 1.0)).all():
        return None
    counts = np.arange(response.size + 1, dtype=np.float64)
    tables = {"l1": enclose(counts), "squared-l2": enclose(counts), "l2": enclose(counts).sqrt(), "none": enclose(0.0 * counts)}
    table = tables.get(distance.integer, enclose(np.minimum(counts, 1.0)))
    rows, sides = _inequalities(decisions)
    return binary_bound(rows, sides, response, theta @ enclose(features.matrix), table, claimed)


def _terms(decisions: Any, response: FloatArray, distance: Distance) -> list[tuple[Enclosure, Enclosure, Enclosure | None]]:
    """Tilt, constant and table of every term; none if a distance has no such terms."""
    whole, n = decisions.whole, response.size
    binary = whole & (decisions.lower == 0) & (decisions.upper == 1)
    tilt, constant, table, spread = enclose(np.zeros(n)), enclose(0.0), None, np.zeros(n, dtype=np.bool_)
    name = distance.integer if whole.any() else "none"
    if name in ("l1", "squared-l2") and binary[whole].all():
        zero, one = abs(enclose(response)), abs(enclose(response) - 1.0)
        zero, one = (zero, one) if name == "l1" else (zero * zero, one * one)
        tilt, constant = choose(whole, zero - one, 0.0), choose(whole, zero, 0.0).sum()
    elif name == "linf" and not binary[whole].all():
        spread = whole
    elif name != "none":
        if not (binary[whole].all() and np.isin(response[whole], (0.0, 1.0)).all()):
            return []
        counts = np.arange(int(whole.sum()) + 1, dtype=np.float64)
        table = enclose(counts).sqrt() if name == "l2" else enclose(np.minimum(counts, 1.0))
    if not whole.all() and distance.continuous != "none":
        if distance.continuous != "linf" or spread.any():
            return []
        spread = ~whole
    units = [sign * np.eye(n)[j] for j in np.flatnonzero(spread) for sign in (1.0, -1.0)]
    return [(tilt + unit, constant + float(unit @ response), table) for unit in units or [np.zeros(n)]]


def _tree_bound(example: Example, theta: Enclosure, distance: Distance, trees: Any) -> float:
    """The bound that trees of multipliers prove, one for every term of the distance."""
    decisions: Any = example.instance.decisions
    cost = theta @ example.instance.features.matrix  # type: ignore[union-attr]
    terms = _terms(decisions, example.response, distance)
    if not terms or len(terms) != len(trees):
        return np.inf
    room = np.where(decisions.whole, 0.0, SLACK)
    largest = -np.inf
    for (tilt, constant, table), tree in zip(terms, trees, strict=True):
        open_ = [(tree, decisions.lower - room, decisions.upper + room)]
        while open_:
            node, lower, upper = open_.pop()
            if hasattr(node, "multipliers"):
                bound = _leaf_bound(decisions, node, cost + tilt, table, example.response, lower, upper)
                largest = max(largest, float((bound + constant + cost @ example.response).high))
                continue
            j, at = node.column, node.at
            if not decisions.whole[j] or at != np.floor(at):
                return np.inf
            # A part with no whole value inside holds no decision.
            if at >= lower[j]:
                open_.append((node.below, lower, np.where(np.arange(upper.size) == j, np.minimum(at, upper), upper)))
            if at + 1.0 <= upper[j]:
                open_.append((node.above, np.where(np.arange(upper.size) == j, np.maximum(at + 1.0, lower), lower), upper))
    return largest


def _leaf_bound(
    decisions: Any,
    leaf: Any,
    cost: Enclosure,
    table: Enclosure | None,
    response: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
) -> Enclosure:
    y, slack = leaf.multipliers, row_slack(decisions.matrix)
    if y.shape != decisions.high.shape or not (np.isfinite(y).all() and np.isfinite(leaf.slope)):
        return enclose(np.inf)
    used = y != 0
    sides = np.where(y > 0, decisions.high + slack, decisions.low - slack)[used]
    total = (enclose(y[used]) * sides).sum() if np.isfinite(sides).all() else enclose(np.inf)
    slope = -cost - enclose(y) @ decisions.matrix
    if table is not None:
        total = (
            total
            + (table - leaf.slope * enclose(np.arange(table.shape[0]))).max()
            + leaf.slope * response[decisions.whole].sum()
        )
        slope = slope + leaf.slope * enclose(np.where(decisions.whole, 1.0 - 2.0 * response, 0.0))
    return total + _at_ends(slope, lower, upper)


def _at_ends(slope: Enclosure, lower: FloatArray, upper: FloatArray) -> Enclosure:
    """The largest slope . x over a box; infinite ends count unless the slope keeps away from them for certain."""
    away = np.where(slope.high <= 0, lower, np.where(slope.low >= 0, upper, 0.0))
    if not np.isfinite(away).all() or np.any((slope.low < 0) & (slope.high > 0) & ~(np.isfinite(lower) & np.isfinite(upper))):
        return enclose(np.inf)
    low, high = (np.where(np.isfinite(end), end, away) for end in (lower, upper))
    return (slope * low).maximum(slope * high).sum()


def _least_eigenvalue(form: Enclosure) -> float:
    """At or below the eigenvalues of a symmetric matrix, or 0: V' form V is nearly diagonal for its axes V (Gershgorin)."""
    axes = np.linalg.eigh(form.mid)[1]
    turned, near = (enclose(axes.T) @ part @ enclose(axes) for part in (form, enclose(np.eye(len(axes)))))
    diagonal = np.arange(len(axes))
    least = (2.0 * turned[diagonal, diagonal] - abs(turned).sum(axis=1)).low.min(initial=np.inf)
    # x' form x = w' turned w with x = V w, and ||x||^2 <= ||w||^2 times the largest row sum of V' V.
    return float((enclose(least) / abs(near).sum(axis=1).max()).low) if 0 < least < np.inf else 0.0


def _quadratic_minimum(form: Enclosure, tilt: Enclosure, reach: FloatArray) -> Enclosure:
    """No y with |y| <= reach has a smaller y' form y + tilt . y: the identity of the module docstring."""
    start = np.linalg.lstsq(2.0 * form.mid, -tilt.mid, rcond=None)[0]
    residual = 2.0 * (form @ start) + tilt
    bound = residual @ start - (form @ start) @ enclose(start)
    if np.isfinite(reach).all():
        values, axes = np.linalg.eigh(form.mid)
        root = enclose(axes * np.sqrt(np.maximum(values, 0.0)))
        rest, away = form - root @ root.transposed, enclose(reach) + np.abs(start)
        short: Enclosure = (rest * rest).sum().sqrt() * (away * away).sum() + (abs(residual) * away).sum()
        return bound - short
    least = _least_eigenvalue(form)
    return bound - (residual * residual).sum() / (4.0 * enclose(least)) if least > 0 else enclose(-np.inf)


def _ball_bound(example: Example, theta: Enclosure, distance: Distance, proof: Any) -> float:
    """The multiplier mu of x' F x + 2 f . x + c <= slack: the Lagrangian is a quadratic function of x without conditions."""
    decisions: Any = example.instance.decisions
    n, mu = decisions.shift.size, float(proof[0]) if isinstance(proof, np.ndarray) and proof.shape == (1,) else -1.0
    if not 0 <= mu < np.inf or distance.continuous not in ("none", "squared-l2"):
        return np.inf
    measured = float(distance.continuous == "squared-l2")
    square = theta[: n * n][np.arange(n * n).reshape(n, n)]
    response, slack = enclose(example.response), ellipsoid_slack(decisions)
    form = (square + square.transposed) * 0.5 - measured * np.eye(n) + mu * enclose(decisions.form)
    tilt = 2.0 * (theta[n * n :] + measured * response + mu * enclose(decisions.shift))
    least, room = _least_eigenvalue(enclose(decisions.form)), enclose(slack) - decisions.constant
    shift = (enclose(decisions.shift) * decisions.shift).sum()
    reach = (shift.sqrt() + (shift + least * room).maximum(0.0).sqrt()) / least if least > 0 else enclose(np.inf)
    lowest = _quadratic_minimum(form, tilt, np.full(n, float(reach.high))) - mu * room
    own = (features_of(example, example.response[None, :]) @ theta)[0]
    return float((own + measured * (response * response).sum() - lowest).high)


def _quadratic_bound(example: Example, theta: Enclosure, distance: Distance, proof: Any) -> float:
    """For every value z of the whole unknowns and every direction of the distance, the bound of its multipliers."""
    decisions: Any = example.instance.decisions
    features: Any = example.instance.features
    whole, u, m = decisions.whole, features.n_continuous, features.n_inner
    spans = [np.arange(a, b + 1) for a, b in zip(decisions.lower[whole], decisions.upper[whole], strict=True)]
    if np.prod([span.size for span in spans], dtype=np.float64) > MAX_VALUES or distance.continuous == "squared-l2":
        return np.inf
    rows, sides = _inequalities(decisions)
    turns = np.zeros((1, u)) if distance.continuous == "none" else np.vstack((np.eye(u), -np.eye(u)))
    every = list(itertools.product(*spans))
    values = np.array(every, dtype=np.float64).reshape(len(every), len(spans))
    prices = proof if isinstance(proof, np.ndarray) else np.empty(0)
    if prices.shape != (len(values), len(turns), len(sides)) or not np.all((prices >= 0) & np.isfinite(prices)):
        return np.inf
    square = theta[: u * u][np.arange(u * u).reshape(u, u)]
    slope = theta[u * u : u * u + u * m][np.arange(u * m).reshape(m, u)]
    reach = _reach(rows, sides, whole)
    own = (features_of(example, example.response[None, :]) @ theta)[0]
    seen, bound = example.response[~whole], -np.inf
    for z, lam in zip(values, prices, strict=True):
        point = np.concatenate((seen, z))[None, :]
        base = own + distances(example, distance, point)[0] - np.asarray(features.outer(z)) @ theta[u * u + u * m :]
        linear = np.asarray(features.inner(z), dtype=np.float64) @ slope
        left = enclose(sides) - rows[:, whole] @ enclose(z)
        for turn, price in zip(turns, lam, strict=True):
            tilt = linear + turn + enclose(price) @ rows[:, ~whole]
            lowest = _quadratic_minimum((square + square.transposed) * 0.5, tilt, reach)
            bound = max(bound, float((base + enclose(turn) @ seen + enclose(price) @ left - lowest).high))
    return bound


def _inequalities(decisions: Any) -> tuple[FloatArray, FloatArray]:
    """Rows and bounds of the continuous unknowns as rows x <= sides, slack included."""
    slack, free, eye = row_slack(decisions.matrix), ~decisions.whole, np.eye(decisions.lower.size)
    rows = np.vstack((decisions.matrix, -decisions.matrix, eye[free], -eye[free]))
    ends = (decisions.high + slack, slack - decisions.low, decisions.upper[free] + SLACK, SLACK - decisions.lower[free])
    sides = np.concatenate(ends)
    return rows[np.isfinite(sides)], sides[np.isfinite(sides)]


def _reach(rows: FloatArray, sides: FloatArray, whole: BoolArray) -> FloatArray:
    """How large continuous unknowns can be, by rows with no other entry; infinite where nothing tells."""
    lower, upper = np.full(whole.size, -np.inf), np.full(whole.size, np.inf)
    for row, side in zip(rows, sides, strict=True):
        at = np.flatnonzero(row)
        if at.size == 1:
            end = enclose(side) / row[at[0]]
            lower[at] = np.maximum(lower[at], end.low) if row[at[0]] < 0 else lower[at]
            upper[at] = np.minimum(upper[at], end.high) if row[at[0]] > 0 else upper[at]
    return np.asarray(np.maximum(np.abs(lower), np.abs(upper))[~whole])
