"""An upper bound on what any decision adds to a loss: max over x in X of <theta, phi(x_hat) - phi(x)> + d(x_hat, x).

Lists, and vectors of a few 0/1 unknowns, are gone through. Other sets need multipliers, which prove what they prove by weak
duality, whoever found them.

Linear sets {low <= A x <= high, lower <= x <= upper}, linear cost c. A distance is the largest of a few terms constant -
tilt . x + table[h(x)], h(x) = base + f . x being the number of 0/1 unknowns that differ from the response. For any
multipliers y and any number s,

    -c . x + table[h(x)]  <=  sum_r max(y_r low_r, y_r high_r) + max_h (table[h] - s h) + s base + (-c - A' y + s f) . x,

which is largest at ends of the box. A tree splits the box by x_j <= k or x_j >= k + 1 for whole x_j; its largest leaf counts.

Quadratic cost y' Q y + v . y of continuous unknowns. For multipliers lam >= 0 of the rows A y <= b, v becomes v + A' lam. For
any point y0 and any B, with s = 2 Q y0 + v and E = Q - B B',

    y' Q y + v . y   =   (y - y0)' Q (y - y0) + s . (y - y0) + s . y0 - y0' Q y0,

    (y - y0)' Q (y - y0)   >=   -||E|| ||y - y0||^2.

Ellipsoid x' F x + 2 f . x + c <= 0: the same with the multiplier mu >= 0 of this one condition.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.core.definite import least_of, length, square_near
from surefoot.core.enclosure import Enclosure, choose, enclose
from surefoot.inverse.certificate.observation import SLACK, cuts, ellipsoid_slack, features_of, listed, row_slack

if TYPE_CHECKING:
    from surefoot.inverse.problem.decision_proof import LossProof
    from surefoot.inverse.problem.distance import Distance
    from surefoot.inverse.problem.problem import Example

# Values of the whole unknowns, each of which has multipliers of its own where the cost is quadratic.
MAX_VALUES = 4096
# Observations whose lists are gone through at once.
BATCH = 256
# Beyond this, doubles do not tell a whole number from the next one.
LARGEST_WHOLE = 2.0**52


def decision_bounds(
    examples: Sequence[Example],
    cost: Enclosure | FloatArray,
    distance: Distance,
    proofs: Sequence[LossProof | None] | None = None,
) -> list[float | None]:
    """Bounds that no decision of an observation exceeds; None where nothing is proven."""
    theta = enclose(cost)
    given = [None] * len(examples) if proofs is None else proofs
    bounds = [_proven_bound(example, theta, distance, proof) for example, proof in zip(examples, given, strict=True)]
    left = [(i, listed(examples[i].instance.decisions)) for i, bound in enumerate(bounds) if bound is None]
    lists = [(i, points) for i, points in left if points is not None]
    for first in range(0, len(lists), BATCH):
        pairs = [(examples[i], points) for i, points in lists[first : first + BATCH]]
        steep, apart = cuts(pairs, distance)
        # The response itself adds exactly 0.
        own = np.concatenate([np.all(points == example.response, axis=1) for example, points in pairs])
        values = np.where(own, 0.0, (steep @ theta + apart).high)
        blocks = np.split(values, np.cumsum([len(points) for _, points in pairs])[:-1])
        for (i, _), block in zip(lists[first : first + BATCH], blocks, strict=True):
            bounds[i] = float(block.max(initial=-np.inf))
    return bounds


def _proven_bound(example: Example, theta: Enclosure, distance: Distance, proof: Any) -> float | None:
    """What multipliers prove; None where that is nothing."""
    decisions, features = example.instance.decisions, example.instance.features
    bound = np.inf
    if isinstance(proof, np.ndarray) and hasattr(decisions, "form"):
        bound = _ellipsoid_bound(example, theta, distance, proof)
    elif isinstance(proof, np.ndarray) and hasattr(features, "inner"):
        bound = _quadratic_bound(example, theta, distance, proof)
    elif hasattr(proof, "multipliers") and hasattr(decisions, "lower") and hasattr(features, "matrix"):
        bound = _tree_bound(example, theta, distance, proof)
    return bound if np.isfinite(bound) else None


def _terms(decisions: Any, response: FloatArray, distance: Distance) -> tuple[Enclosure, Enclosure, Enclosure | None] | None:
    """Tilts and constants of all terms, one row each, and their table; None if a distance has no such terms."""
    whole, n = decisions.whole, response.size
    binary = bool(np.all((decisions.lower == 0) & (decisions.upper == 1) | ~whole))
    tilt, constant, table, spread = enclose(np.zeros(n)), enclose(0.0), None, np.zeros(n, dtype=np.bool_)
    name = distance.integer if whole.any() else "none"
    if name in ("l1", "squared-l2") and binary:
        zero, one = abs(enclose(response)), abs(enclose(response) - 1.0)
        zero, one = (zero, one) if name == "l1" else (zero * zero, one * one)
        tilt, constant = choose(whole, zero - one, 0.0), choose(whole, zero, 0.0).sum()
    elif name == "linf" and not binary:
        spread = whole
    elif name != "none":
        if not (binary and np.isin(response[whole], (0.0, 1.0)).all()):
            return None
        counts = np.arange(int(whole.sum()) + 1, dtype=np.float64)
        table = enclose(counts).sqrt() if name == "l2" else enclose(np.minimum(counts, 1.0))
    if not whole.all() and distance.continuous != "none":
        if distance.continuous != "linf" or spread.any():
            return None
        spread = ~whole
    turns = np.kron(np.eye(n)[spread], [[1.0], [-1.0]]) if spread.any() else np.zeros((1, n))
    return tilt + turns, constant + enclose(turns) @ response, table


def _tree_bound(example: Example, theta: Enclosure, distance: Distance, tree: Any) -> float:
    """The bound of trees in preorder, one for every term of the distance."""
    decisions: Any = example.instance.decisions
    response, whole, slack = example.response, decisions.whole, row_slack(decisions)
    terms = _terms(decisions, response, distance)
    leaves = None if terms is None else _leaves(decisions, terms[0].shape[0], tree)
    if terms is None or leaves is None:
        return np.inf
    term, lower, upper = leaves
    y, s = tree.multipliers, enclose(tree.slope)
    sides = np.where(y > 0, decisions.high + slack, np.where(y < 0, decisions.low - slack, 0.0))
    if not np.isfinite(sides).all():
        return np.inf
    cost = theta @ example.instance.features.matrix  # type: ignore[union-attr]
    total = (enclose(y) * sides).sum(axis=1) + terms[1][term] + cost @ response
    steep = -(terms[0][term] + cost) - enclose(y) @ decisions.matrix
    if terms[2] is not None:
        counts = np.arange(terms[2].shape[0], dtype=np.float64)
        total = total + (terms[2][None, :] - s[:, None] * counts).max(axis=1) + s * response[whole].sum()
        steep = steep + s[:, None] * np.where(whole, 1.0 - 2.0 * response, 0.0)
    if np.any((steep.low < 0) & np.isinf(lower)) or np.any((steep.high > 0) & np.isinf(upper)):
        return np.inf
    # The slope keeps away from an infinite end: the other one counts, or none.
    ends = (np.where(np.isfinite(a), a, np.where(np.isfinite(b), b, 0.0)) for a, b in ((lower, upper), (upper, lower)))
    return float((total + (steep * next(ends)).maximum(steep * next(ends)).sum(axis=1)).high.max())


def _leaves(decisions: Any, n_terms: int, tree: Any) -> tuple[Any, FloatArray, FloatArray] | None:
    """Term and box of every leaf; None if this is no tree. A split is followed by its lower part, then by its upper one."""
    room = np.where(decisions.whole, 0.0, SLACK)
    open_ = [(term, decisions.lower - room, decisions.upper + room) for term in reversed(range(n_terms))]
    leaves = []
    for j, at in zip(tree.column.tolist(), tree.at.tolist(), strict=True):
        if not open_:
            return None
        term, lower, upper = open_.pop()
        if j < 0:
            leaves.append((term, lower, upper))
            continue
        if j >= lower.size or not (decisions.whole[j] and at == np.floor(at) and abs(at) < LARGEST_WHOLE):
            return None
        raised, lowered = lower.copy(), upper.copy()
        raised[j], lowered[j] = max(lower[j], at + 1.0), min(upper[j], at)
        open_ += [(term, raised, upper), (term, lower, lowered)]
    numbers = np.append(tree.multipliers.ravel(), tree.slope)
    fits = tree.multipliers.shape == (len(leaves), decisions.high.size) and tree.slope.shape == (len(leaves),)
    if open_ or not leaves or not fits or not np.isfinite(numbers).all():
        return None
    terms, lowers, uppers = (np.array(part) for part in zip(*leaves, strict=True))
    return terms, lowers, uppers


def _quadratic_minimum(form: Enclosure, tilt: Enclosure, reach: FloatArray) -> Enclosure:
    """No y with |y| <= reach has a smaller y' form y + tilt . y: the identity of the module docstring."""
    start = np.linalg.lstsq(2.0 * form.mid, -tilt.mid, rcond=None)[0]
    residual = 2.0 * (form @ start) + tilt
    bound = residual @ start - (form @ start) @ enclose(start)
    if np.isfinite(reach).all():
        rest, away = length(form - square_near(form.mid)), enclose(reach) + np.abs(start)
        short: Enclosure = rest * (away * away).sum() + (abs(residual) * away).sum()
        return bound - short
    least = least_of(form)[1]
    return bound - (residual * residual).sum() / (4.0 * enclose(least)) if least > 0 else enclose(-np.inf)


def _ellipsoid_bound(example: Example, theta: Enclosure, distance: Distance, proof: FloatArray) -> float:
    """The multiplier mu of x' F x + 2 f . x + c <= slack: the Lagrangian is a quadratic function of x without conditions."""
    decisions: Any = example.instance.decisions
    n, mu = decisions.shift.size, float(proof[0]) if proof.shape == (1,) else -1.0
    if not 0 <= mu < np.inf or distance.continuous not in ("none", "squared-l2"):
        return np.inf
    measured = float(distance.continuous == "squared-l2")
    square = theta[: n * n].reshape(n, n)
    response, room = enclose(example.response), enclose(ellipsoid_slack(decisions)) - decisions.constant
    form = (square + square.transposed) * 0.5 - measured * np.eye(n) + mu * enclose(decisions.form)
    tilt = 2.0 * (theta[n * n :] + measured * response + mu * enclose(decisions.shift))
    least, shift = least_of(enclose(decisions.form))[1], (enclose(decisions.shift) * decisions.shift).sum()
    reach = (shift.sqrt() + (shift + least * room).maximum(0.0).sqrt()) / least if least > 0 else enclose(np.inf)
    lowest = _quadratic_minimum(form, tilt, np.full(n, float(reach.high))) - mu * room
    own = (features_of(example, example.response[None, :]) @ theta)[0]
    return float((own + measured * (response * response).sum() - lowest).high)


def _quadratic_bound(example: Example, theta: Enclosure, distance: Distance, prices: FloatArray) -> float:
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
    if prices.shape != (len(values), len(turns), len(sides)) or not np.all((prices >= 0) & np.isfinite(prices)):
        return np.inf
    square, slope = theta[: u * u].reshape(u, u), theta[u * u : u * u + u * m].reshape(m, u)
    seen, reach = example.response[~whole], (np.maximum(-decisions.lower, decisions.upper) + SLACK)[~whole]
    # Distances of the whole part alone: the continuous one is that of the response.
    apart = cuts([(example, np.column_stack((np.tile(seen, (len(values), 1)), values)))], distance)[1]
    own = (features_of(example, example.response[None, :]) @ theta)[0]
    bound = -np.inf
    for z, far, lam in zip(values, range(len(values)), prices, strict=True):
        base = own + apart[far] - np.asarray(features.outer(z)) @ theta[u * u + u * m :]
        linear = np.asarray(features.inner(z), dtype=np.float64) @ slope
        left = enclose(sides) - rows[:, whole] @ enclose(z)
        for turn, price in zip(turns, lam, strict=True):
            tilt = linear + turn + enclose(price) @ rows[:, ~whole]
            lowest = _quadratic_minimum((square + square.transposed) * 0.5, tilt, reach)
            bound = max(bound, float((base + enclose(turn) @ seen + enclose(price) @ left - lowest).high))
    return bound


def _inequalities(decisions: Any) -> tuple[FloatArray, FloatArray]:
    """Rows and bounds of the continuous unknowns as rows x <= sides, slack included."""
    slack, free, eye = row_slack(decisions), ~decisions.whole, np.eye(decisions.lower.size)
    rows = np.vstack((decisions.matrix, -decisions.matrix, eye[free], -eye[free]))
    ends = (decisions.high + slack, slack - decisions.low, decisions.upper[free] + SLACK, SLACK - decisions.lower[free])
    sides = np.concatenate(ends)
    return rows[np.isfinite(sides)], sides[np.isfinite(sides)]
