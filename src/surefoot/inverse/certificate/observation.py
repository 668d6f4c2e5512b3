"""One observation, read from its arrays: decisions, slopes and distances, all as enclosures of real numbers.

A decision x has the slope g(x) = phi(x_hat) - phi(x), x_hat being the response, and the distance d(x_hat, x): the loss of a
cost vector theta is the largest g(x) . theta + d(x_hat, x). phi is M x + m, (y (x) y, inner(z) (x) y, outer(z)) for continuous
unknowns y and whole ones z, or a function of the decision; the values that a caller's functions return are part of the problem.

Decisions of a list are its points. Those of a linear set are the x with low <= matrix x <= high, lower <= x <= upper and x_j
whole where ``whole``; to the one row of an ellipsoid x' form x is added. These conditions are to be met to within ``SLACK``,
per unit of a row's largest entry: programmes over doubles are met no better. Rows of whole unknowns alone, and an ellipsoid,
are met to within ``ROUND_SLACK``: 0.1 + 0.2 is at most 0.3. Claims say so. Upper bounds hold for all of these points, and lower
bounds use no other. Whole unknowns are whole exactly. Responses are data: one that misses a condition by no more than rounding
to 6 digits (``ROUNDED``) is a decision too, and what ``inside`` says is believed of a caller's own set alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np

from surefoot.core.arrays import BoolArray, FloatArray
from surefoot.core.enclosure import Enclosure, between, choose, enclose, join

if TYPE_CHECKING:
    from surefoot.inverse.problem.distance import Distance
    from surefoot.inverse.problem.problem import Example

# By how much a condition of a decision set may be violated, per unit of the row's largest entry; HiGHS attains 1e-9.
SLACK = 2e-9
# The same where points are whole, or computed by a formula: rounding alone.
ROUND_SLACK = 1e-12
# By how much a response may miss a row or a bound of continuous unknowns, per unit of the row's terms, or of its largest entry.
ROUNDED = 1e-6
# Rows of zeros have a slack too: enclosures of 0 need one.
TINY_ROW = 1e-200
# 0/1 unknowns up to which all vectors are listed.
MAX_LISTED = 16


def row_slack(decisions: Any) -> FloatArray:
    """By how much rows may be violated."""
    if hasattr(decisions, "form"):
        return np.asarray(ROUND_SLACK * np.maximum(max(1.0, float(np.abs(decisions.form).max())), np.abs(decisions.high)))
    largest = np.abs(decisions.matrix).max(axis=1, initial=0.0)
    mixed = decisions.matrix[:, ~decisions.whole].any(axis=1)
    return np.asarray(np.where(mixed, SLACK * np.maximum(1.0, largest), ROUND_SLACK * np.maximum(largest, TINY_ROW)))


def whole_unknowns(example: Example) -> BoolArray:
    """Which unknowns belong to the integer part of a distance: all of a list's, none of an ellipsoid's."""
    decisions: Any = example.instance.decisions
    return decisions.whole if hasattr(decisions, "matrix") else np.ones(example.response.size, dtype=np.bool_)


def cuts(pairs: Iterable[tuple[Example, FloatArray]], distance: Distance) -> tuple[Enclosure, Enclosure]:
    """Slopes and distances of the rows of each observation's points, one observation behind the other."""
    found: list[tuple[Enclosure, Enclosure]] = []
    for _, alike in groupby(pairs, key=lambda pair: _likeness(pair[0])):
        examples, blocks = zip(*alike, strict=True)
        features, whole, points = examples[0].instance.features, whole_unknowns(examples[0]), np.vstack(blocks)
        responses = np.repeat([each.response for each in examples], [len(block) for block in blocks], axis=0)
        apart = enclose(responses) - points
        if hasattr(features, "matrix"):
            steep = apart @ enclose(features.matrix.T)
        else:
            steep = features_of(features, responses[:1]) - features_of(features, points)
        name, of = distance.integer, steep if distance.integer == "features" else apart[:, whole]
        given = [_given(each, block) for each, block in zip(examples, blocks, strict=True) if name == "given"]
        lengths = enclose(np.concatenate(given)) if given else measured(name, of)
        found.append((steep, lengths if whole.all() else lengths + measured(distance.continuous, apart[:, ~whole])))
    return join([pair[0] for pair in found]), join([pair[1] for pair in found])


def _given(example: Any, points: FloatArray) -> FloatArray:
    """The distances that the problem has of points of its list; minus infinity, which proves nothing, of others.

    The response itself adds exactly 0, whatever is said of it.
    """
    every = example.instance.decisions.points
    lengths = np.where((every == example.response).all(axis=1), 0.0, example.lengths)
    return lengths if points is every else np.array([lengths[(every == x).all(axis=1)].max(initial=-np.inf) for x in points])


def _likeness(example: Example) -> object:
    """Observations with the same linear features, and the same whole unknowns, are computed together."""
    features: Any = example.instance.features
    if not hasattr(features, "matrix"):
        return id(example)
    return features.matrix.shape, features.matrix.tobytes(), whole_unknowns(example).tobytes()


def features_of(features: Any, points: FloatArray) -> Enclosure:
    """phi(x), for the rows x of ``points``."""
    if hasattr(features, "matrix"):
        return enclose(points) @ enclose(features.matrix.T) + enclose(features.offset)
    if hasattr(features, "function"):
        rows = [np.asarray(features.function(point), dtype=np.float64).ravel() for point in points]
        return enclose(np.array(rows).reshape(len(points), features.n_features))
    y, z = points[:, : features.n_continuous], points[:, features.n_continuous :]
    inner, outer = (features_of(part, z) for part in (features.inner, features.outer))
    return join([_products(enclose(y), y), _products(inner, y), outer], axis=1)


def exact_product(first: Any, second: Any) -> Fraction:
    """An inner product without rounding."""
    return sum((Fraction(a) * Fraction(b) for a, b in zip(first, second, strict=True) if a), Fraction(0))


def exact_slope(example: Example, point: FloatArray, at: Any) -> list[Fraction]:
    """phi(response) - phi(x) in rational numbers, at some coordinates."""
    features: Any = example.instance.features
    if not hasattr(features, "matrix"):
        own, other = (features_of(features, part[None, :]).mid[0] for part in (example.response, point))
        return [Fraction(float(own[j])) - Fraction(float(other[j])) for j in at]
    apart = [Fraction(float(a)) - Fraction(float(b)) for a, b in zip(example.response, point, strict=True)]
    moved = [k for k, value in enumerate(apart) if value]
    return [exact_product(features.matrix[j, moved], [apart[k] for k in moved]) for j in at]


def exact_loss(example: Example, point: FloatArray, theta: Any) -> Fraction:
    """<theta, phi(response) - phi(x)> in rational numbers."""
    return exact_product(exact_slope(example, point, range(len(theta))), theta)


def _products(left: Enclosure, right: FloatArray) -> Enclosure:
    """Rows of all products of an entry of the left row and one of the right row, the left one's entries outermost."""
    a, b = left.shape[1], right.shape[1]
    return left[:, np.repeat(np.arange(a), b)] * right[:, np.tile(np.arange(b), a)]


def measured(name: str, apart: Enclosure) -> Enclosure:
    """The distance of rows of differences, of decisions or of features."""
    if name == "none" or apart.shape[1] == 0:
        return enclose(np.zeros(apart.shape[0]))
    if name == "zero-one":
        # Where a difference overflows, nothing is known of it.
        known = np.isfinite(apart.high) & np.isfinite(apart.low)
        differs, unknown = ((apart.mid != 0) & known).any(axis=1), (~known).any(axis=1)
        return choose(unknown & ~differs, between(0.0, 1.0), differs.astype(np.float64))
    if name in ("l1", "linf"):
        return abs(apart).sum(axis=1) if name == "l1" else abs(apart).max(axis=1)
    squares = (apart * apart).sum(axis=1)
    return squares if name == "squared-l2" else squares.sqrt()


def is_decision(example: Example) -> bool:
    """Whether the response is a decision but for rounding; of a set that is a caller's function, what the example says."""
    decisions: Any = example.instance.decisions
    if not hasattr(decisions, "points") and not hasattr(decisions, "matrix"):
        return example.inside
    return bool(are_decisions(decisions, example.response[None, :], rounded=ROUNDED)[0])


def are_decisions(decisions: Any, points: FloatArray, *, proven: bool = True, rounded: float = 0.0) -> BoolArray:
    """Which rows are decisions for certain, or, unless it is to be ``proven``, which may be; if need be, but for rounding."""
    if hasattr(decisions, "points"):
        known = {(row + 0.0).tobytes() for row in decisions.points}
        return np.array([(row + 0.0).tobytes() in known for row in points], dtype=np.bool_)
    if not hasattr(decisions, "matrix"):
        return np.ones(len(points), dtype=np.bool_)
    whole, slack, sides = decisions.whole, row_slack(decisions), enclose(points) @ decisions.matrix.T
    size, mixed = enclose(np.abs(points)), decisions.matrix[:, ~whole].any(axis=1) | hasattr(decisions, "form")
    terms = size @ np.abs(decisions.matrix.T)
    if hasattr(decisions, "form"):
        sides = sides + ((enclose(points) @ decisions.form) * points).sum(axis=1)[:, None]
        terms = terms + ((size @ np.abs(decisions.form)) * size).sum(axis=1)[:, None]
    slack = slack + np.where(mixed, rounded * terms.low, 0.0)
    most, least = (sides.high, sides.low) if proven else (sides.low, sides.high)
    rows = np.all((most <= decisions.high + slack) & (least >= decisions.low - slack), axis=1)
    room = np.where(whole, 0.0, SLACK + rounded * size.mid.max(axis=1, initial=0.0)[:, None])
    box = np.all((points >= decisions.lower - room) & (points <= decisions.upper + room), axis=1)
    return np.asarray(rows & box & np.all(points[:, whole] == np.rint(points[:, whole]), axis=1))


def stated(examples: Iterable[Example]) -> str:
    """What decisions meet, and how closely, in words: those of ``row_slack`` and ``are_decisions``; nothing for lists."""
    sets: list[Any] = [each.instance.decisions for each in examples if hasattr(each.instance.decisions, "matrix")]
    linear = [each for each in sets if not hasattr(each, "form")]
    mixed = np.array([row.any() for each in linear for row in each.matrix[:, ~each.whole]], dtype=np.bool_)
    ends = [end for each in linear for end in (*each.lower[~each.whole], *each.upper[~each.whole])]
    one = f"within {SLACK:g} times their largest entry, or {SLACK:g} where no entry reaches 1"
    kinds = (
        (f"rows of whole unknowns alone to within {ROUND_SLACK:g} times their largest entry", not mixed.all()),
        (f"rows with continuous unknowns to {one}", mixed.any()),
        (f"bounds of continuous unknowns to within {SLACK:g}", np.isfinite(ends).any()),
        ("bounds of whole unknowns exactly, in whole numbers", any(each.whole.any() for each in sets)),
        (f"ellipsoids to within {ROUND_SLACK:g} times the largest of 1, |c| and the entries of |A|", len(linear) < len(sets)),
    )
    return ", and ".join(text for text, occurs in kinds if occurs)


def listed(decisions: Any, *, proven: bool = False) -> FloatArray | None:
    """All points that may be decisions, or that are so for certain, of a list or of few 0/1 unknowns; None for other sets."""
    if hasattr(decisions, "points"):
        return np.asarray(decisions.points)
    n = decisions.lower.size if hasattr(decisions, "matrix") else MAX_LISTED + 1
    if n > MAX_LISTED or not np.all(decisions.whole & (decisions.lower == 0) & (decisions.upper == 1)):
        return None
    points = ((np.arange(2**n)[:, None] >> np.arange(n)) & 1).astype(np.float64)
    return points[are_decisions(decisions, points, proven=proven)]
