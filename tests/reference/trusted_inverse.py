"""What solvers and certificates of inverse optimization share, once more: loops, fractions, and every point written out."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from surefoot.inverse.problem.decision_proof import Leaf, Split, Tree
from surefoot.inverse.problem.decision_set import EllipsoidSet, LinearSet, ListedSet, OpaqueSet
from surefoot.inverse.problem.problem import InverseProblem

DISTANCES = ("l1", "l2", "linf", "squared-l2", "zero-one", "none")


def numbers(values: Any) -> list[float]:
    return [float(value) for value in values]


def dot(left: Any, right: Any) -> float:
    """Rounded once, at the end."""
    pairs = zip(numbers(left), numbers(right), strict=True)
    return float(sum((Fraction(a) * Fraction(b) for a, b in pairs if a != 0 and b != 0), Fraction(0)))


# Distances and features ------------------------------------------------------------------------------------------------------


def part_distance(name: str, apart: Sequence[float]) -> float:
    """The distance of one part of a decision from that of the response."""
    sizes = [abs(Fraction(value)) for value in apart]
    if not sizes or name == "none":
        return 0.0
    square = sum((size * size for size in sizes), Fraction(0))
    return {
        "l1": lambda: float(sum(sizes, Fraction(0))),
        "l2": lambda: math.sqrt(square),
        "squared-l2": lambda: float(square),
        "linf": lambda: float(max(sizes)),
        "zero-one": lambda: 1.0 if any(size > Fraction(1e-9) for size in sizes) else 0.0,
    }[name]()


def distance_between(integer: str, continuous: str, response: Any, point: Any, whole: Any) -> float:
    """Continuous-part distance plus integer-part distance."""
    apart = [b - a for a, b in zip(numbers(response), numbers(point), strict=True)]
    marked = [value for value, mark in zip(apart, whole, strict=True) if mark]
    others = [value for value, mark in zip(apart, whole, strict=True) if not mark]
    return part_distance(integer, marked) + part_distance(continuous, others)


def named_parts(given: Any) -> tuple[str, str] | None:
    """(integer, continuous) of a distance given by name or as the pair (continuous, integer); None if it is none."""
    if isinstance(given, str):
        pair = (given, given if given in ("none", "squared-l2") else "linf")
    elif isinstance(given, tuple) and len(given) == 2:
        pair = (given[1], given[0])
    else:
        return None
    return pair if pair[0] in DISTANCES and pair[1] in ("linf", "squared-l2", "none") else None


def linear_features(matrix: Any, offset: Any, point: Any) -> list[float]:
    return [dot([*row, 1.0], [*point, shift]) for row, shift in zip(matrix, offset, strict=True)]


def quadratic_features(n_continuous: int, inner: Callable, outer: Callable, point: Any) -> list[float]:
    """(y_i y_j, phi_1(z)_i y_j, phi_2(z)), j running fastest."""
    y, z = numbers(point)[:n_continuous], np.array(numbers(point)[n_continuous:])
    first = [a * b for a in y for b in y]
    return first + [a * b for a in numbers(inner(z)) for b in y] + numbers(outer(z))


def ellipsoid_features(point: Any) -> list[float]:
    x = numbers(point)
    return [a * b for a in x for b in x] + [2 * a for a in x]


def general_features(function: Callable, point: Any) -> list[float]:
    return numbers(np.ravel(function(point)))


# Decision sets ---------------------------------------------------------------------------------------------------------------


def counted_unknowns(decisions: Any) -> tuple[int, list[bool]]:
    """How many unknowns there are, and which are whole."""
    if isinstance(decisions, LinearSet):
        return len(numbers(decisions.lower)), [bool(mark) for mark in decisions.whole]
    if isinstance(decisions, ListedSet):
        n = len(decisions.points[0])
        return n, [True] * n
    if isinstance(decisions, EllipsoidSet):
        n = len(numbers(decisions.shift))
        return n, [False] * n
    assert isinstance(decisions, OpaqueSet)
    return decisions.n_unknowns, [True] * decisions.n_unknowns


def zero_or_one(decisions: LinearSet) -> list[bool]:
    ends = zip(decisions.whole, decisions.lower, decisions.upper, strict=True)
    return [bool(mark) and float(low) == 0.0 and float(high) == 1.0 for mark, low, high in ends]


def overshoot(decisions: Any, point: Any) -> float:
    """By how many times the slack for rounding a point misses the worst condition; 0 for decisions.

    A millionth of the row's terms, or of the point's largest entry for bounds, beside what programmes leave.
    """
    x = numbers(point)
    if isinstance(decisions, OpaqueSet):
        return 0.0 if decisions.contains is None or decisions.contains(np.array(x)) else math.inf
    if isinstance(decisions, ListedSet):
        return (
            min(max((abs(a - float(b)) for a, b in zip(x, row, strict=True)), default=0.0) for row in decisions.points) / 1e-6
        )
    if isinstance(decisions, EllipsoidSet):
        n = len(x)
        largest = max(1.0, abs(float(decisions.constant)), max(abs(float(value)) for row in decisions.form for value in row))
        terms = sum(abs(x[i] * float(decisions.form[i, j]) * x[j]) for i in range(n) for j in range(n))
        terms += sum(abs(2 * float(s) * value) for s, value in zip(decisions.shift, x, strict=True))
        square = sum(
            Fraction(x[i]) * Fraction(float(decisions.form[i, j])) * Fraction(x[j]) for i in range(n) for j in range(n)
        )
        side = float(square + 2 * Fraction(dot(decisions.shift, x)) + Fraction(float(decisions.constant)))
        return max(side, 0.0) / (1e-6 * terms + 1e-12 * largest)
    misses = [0.0]
    for row, low, high in zip(decisions.matrix, decisions.low, decisions.high, strict=True):
        largest = max((abs(float(value)) for value in row), default=0.0)
        terms = sum(abs(float(a) * value) for a, value in zip(row, x, strict=True))
        only_whole = all(whole or a == 0 for a, whole in zip(row, decisions.whole, strict=True))
        room = 1e-12 * largest + 1e-300 if only_whole else 1e-6 * terms + 2e-9 * max(1.0, largest)
        # Whole unknowns are rounded before they are judged.
        side = dot(row, [round(value) if whole else value for value, whole in zip(x, decisions.whole, strict=True)])
        misses.append(max(float(low) - side, side - float(high)) / room)
    for value, low, high, whole in zip(x, decisions.lower, decisions.upper, decisions.whole, strict=True):
        if whole:
            misses += [abs(value - round(value)) / 1e-6, max(float(low) - round(value), round(value) - float(high)) / 1e-6]
        else:
            misses.append(max(float(low) - value, value - float(high)) / (1e-6 * max(map(abs, x)) + 2e-9))
    return max(misses)


def one_sided_rows(decisions: LinearSet) -> list[tuple[list[float], float]]:
    """a and b of a . x <= b: the rows that have an upper side, then those that have a lower one, turned round."""
    above = [(numbers(row), float(high)) for row, high in zip(decisions.matrix, decisions.high, strict=True)]
    below = [
        ([-value for value in numbers(row)], -float(low)) for row, low in zip(decisions.matrix, decisions.low, strict=True)
    ]
    return [(row, side) for row, side in (*above, *below) if side != math.inf]


def points_of_box(lower: Any, upper: Any, whole: Any, steps: int = 4) -> Iterator[list[float]]:
    """Every whole value, and evenly spaced values of the others, ends included; infinite ends are 3 away."""
    spans = []
    for low, high, mark in zip(numbers(lower), numbers(upper), whole, strict=True):
        first = low if math.isfinite(low) else (high - 3 if math.isfinite(high) else -2.0)
        last = high if math.isfinite(high) else first + 4
        count = round(last - first) + 1 if mark else (steps + 1 if last > first else 1)
        spans.append([first + (last - first) * k / max(count - 1, 1) for k in range(count)])
    for point in itertools.product(*spans):
        yield list(point)


def decisions_of(decisions: LinearSet, steps: int = 4) -> list[list[float]]:
    """The points of its box that are decisions."""
    found = points_of_box(decisions.lower, decisions.upper, decisions.whole, steps)
    return [point for point in found if overshoot(decisions, point) == 0.0]


# Terms and trees -------------------------------------------------------------------------------------------------------------


def differing(response: Any, point: Any, whole: Any) -> int:
    """How many whole unknowns differ from the (rounded) response."""
    return sum(1 for a, b, mark in zip(response, point, whole, strict=True) if mark and round(float(a)) != round(float(b)))


def term_value(term: Any, response: Any, point: Any, whole: Any) -> float:
    """-tilt . x + constant + table[h(x)]."""
    value = -dot(term.tilt, point) + float(term.constant)
    return value if term.table is None else value + float(term.table[differing(response, point, whole)])


def largest_term(terms: Any, response: Any, point: Any, whole: Any) -> float:
    return max(term_value(term, response, point, whole) for term in terms)


def leaf_bound(bound: Any, leaf: Leaf, lower: Any, upper: Any) -> float:
    """The Lagrangian bound of a leaf, by trying every end of every row and every corner of the box.

    An end at infinity counts as a huge number, so that a slope towards it shows; slopes of rounding size are cut off first.
    """
    decisions: LinearSet = bound.decisions
    prices = numbers(leaf.multipliers)
    if len(prices) != len(decisions.high) or not all(map(math.isfinite, prices)):
        return math.inf
    total = 0.0
    for price, low, high in zip(prices, numbers(decisions.low), numbers(decisions.high), strict=True):
        total += max((price * side for side in (low, high)), default=0.0) if price != 0 else 0.0
    n = len(numbers(lower))
    slopes = []
    for j in range(n):
        parts = [-float(bound.cost[j]), *(-price * float(row[j]) for price, row in zip(prices, decisions.matrix, strict=True))]
        if bound.table is not None and decisions.whole[j]:
            parts.append(leaf.slope * (1.0 if round(float(bound.response[j])) == 0 else -1.0))
        slope = float(sum(map(Fraction, parts), Fraction(0)))
        slopes.append(0.0 if abs(slope) <= 1e-14 * sum(map(abs, parts)) else slope)
    if bound.table is not None:
        total += max(float(value) - leaf.slope * h for h, value in enumerate(bound.table))
        total += leaf.slope * sum(
            round(float(value)) for value, mark in zip(bound.response, decisions.whole, strict=True) if mark
        )
    best = -math.inf
    for corner in itertools.product(*zip(numbers(lower), numbers(upper), strict=True)):
        best = max(best, sum(slope * end for slope, end in zip(slopes, corner, strict=True) if slope != 0))
    return total + best


def tree_bound(bound: Any, tree: Tree, lower: Any = None, upper: Any = None) -> float:
    """The largest bound of the leaves, from the top of the tree down; a part whose box is empty has none."""
    low = numbers(bound.decisions.lower if lower is None else lower)
    high = numbers(bound.decisions.upper if upper is None else upper)
    if any(a > b for a, b in zip(low, high, strict=True)):
        return -math.inf
    if isinstance(tree, Leaf):
        return leaf_bound(bound, tree, low, high)
    assert isinstance(tree, Split)
    j, at = tree.column, float(tree.at)
    if not bound.decisions.whole[j] or at != int(at):
        return math.inf
    left, right = list(high), list(low)
    left[j], right[j] = min(high[j], at), max(low[j], at + 1)
    return max(tree_bound(bound, tree.below, low, left), tree_bound(bound, tree.above, right, high))


# Costs and their bounds ------------------------------------------------------------------------------------------------------


def regularization(kind: str, center: Any, theta: Any) -> float:
    away = [Fraction(a) - Fraction(b) for a, b in zip(numbers(theta), numbers(center), strict=True)]
    return float(sum((a * a / 2 if kind == "l2" else abs(a) for a in away), Fraction(0)))


def prior_excess(prior: Any, theta: Any) -> float:
    """By how much the worst condition is broken; the block, if there is one, is symmetric and has order 1 or 2."""
    x = numbers(theta)
    parts = [float(low) - value for low, value in zip(prior.lower, x, strict=True)]
    parts += [value - float(high) for high, value in zip(prior.upper, x, strict=True)]
    parts += [dot(row, x) - float(side) for row, side in zip(prior.matrix, prior.ceiling, strict=True)]
    if prior.total is not None:
        parts.append(abs(math.fsum(x) - float(prior.total)))
    if prior.psd:
        parts.append(-least_eigenvalue(symmetric_block(prior.psd, x)))
        parts += [abs(x[1] - x[2])] if prior.psd == 2 else []
    return max(parts)


def symmetric_block(order: int, theta: Any) -> list[list[float]]:
    return [[(float(theta[i * order + j]) + float(theta[j * order + i])) / 2 for j in range(order)] for i in range(order)]


def least_eigenvalue(square: Sequence[Sequence[float]]) -> float:
    """Of a symmetric matrix of order 1 or 2, from its characteristic polynomial."""
    if len(square) == 1:
        return square[0][0]
    (a, b), (_, d) = square
    return (a + d) / 2 - math.hypot((a - d) / 2, b)


def given_prior_allows(given: Any, theta: Any) -> bool:
    """Whether a cost vector is in the set that a user names."""
    x = numbers(theta)
    if given is None:
        return True
    if isinstance(given, str):
        return all(value >= 0 for value in x) and (given != "simplex" or abs(math.fsum(x) - 1) <= 1e-12)
    if isinstance(given, dict):
        inside = "bounds" not in given or given_prior_allows(given["bounds"], x)
        if "A" in given:
            rows, sides = np.atleast_2d(given["A"]), np.atleast_1d(given["b"])
            inside = inside and all(dot(row, x) <= float(side) + 1e-12 for row, side in zip(rows, sides, strict=True))
        return inside
    low, high = (numbers(np.broadcast_to(side, len(x))) for side in given)
    return all(a <= value <= b for a, value, b in zip(low, x, high, strict=True))


def is_prior(lower: Any, upper: Any, matrix: Any, ceiling: Any) -> bool:
    """Whether bounds leave something between them and rows are finite and of the right length."""
    if np.shape(matrix) != (len(ceiling), len(lower)):
        return False
    finite = all(math.isfinite(value) for value in (*np.ravel(matrix), *ceiling))
    return finite and all(low <= high for low, high in zip(lower, upper, strict=True))


def multiples_stay(prior: Any, members: Sequence[Any]) -> bool:
    """Whether multiples of the members, up to a million and down to 0, are members."""
    factors = (0.0, 1e-6, 0.5, 3.0, 1e6)
    return all(
        prior_excess(prior, [f * value for value in member]) <= 1e-9 * max(1.0, f) for member in members for f in factors
    )


def smallest_coordinate(kind: str, kappa: float, center: float, slope: float, lower: float, upper: float) -> float:
    """min of kappa R(t) + slope t over an interval: at an end, at the centre, or where the slope vanishes."""

    def value(t: float) -> float:
        away = Fraction(t) - Fraction(center)
        size = away * away / 2 if kind == "l2" else abs(away)
        return float(Fraction(kappa) * size + Fraction(slope) * Fraction(t))

    curved = kind == "l2" and kappa > 0
    if not curved:
        growth = kappa if kind == "l1" else 0.0
        if (math.isinf(lower) and growth - slope < 0) or (math.isinf(upper) and growth + slope < 0):
            return -math.inf
    tried = [lower, upper, min(max(center, lower), upper)]
    if curved:
        tried.append(min(max(center - slope / kappa, lower), upper))
    return min(value(t) for t in tried if math.isfinite(t))


def within_reach(problem: InverseProblem, reach: float) -> list[tuple[float, float]]:
    """The interval of every coordinate: the prior's bounds cut at ``reach`` of the centre, or the nearest bound beyond it."""
    found = []
    for low, high, center in zip(problem.prior.lower, problem.prior.upper, problem.regularizer.center, strict=True):
        a, b = max(float(low), float(center) - reach), min(float(high), float(center) + reach)
        if a > b:
            a = b = float(low) if float(low) > float(center) else float(high)
        found.append((a, b))
    return found


def separable_values(problem: InverseProblem, slope: Any, reach: float) -> list[float]:
    kind, kappa = problem.regularizer.kind, float(problem.kappa)
    spans = zip(numbers(problem.regularizer.center), numbers(slope), within_reach(problem, reach), strict=True)
    return [smallest_coordinate(kind, kappa, center, part, low, high) for center, part, (low, high) in spans]


def cut_of(problem: InverseProblem, owner: int, point: Any) -> tuple[list[float], float]:
    """phi(response) - phi(point) and the distance of the point, from one example alone."""
    example = problem.examples[owner]
    features = example.instance.features
    own, there = features.of(np.array([example.response]))[0], features.of(np.array([point], dtype=float))[0]
    _, whole = counted_unknowns(example.instance.decisions)
    apart = distance_between(problem.distance.integer, problem.distance.continuous, example.response, point, whole)
    return [float(a) - float(b) for a, b in zip(own, there, strict=True)], apart


def mean_cost(problem: InverseProblem, theta: Any, losses: Any) -> float:
    """kappa R(theta), plus the mean loss where losses are paid for."""
    size = float(problem.kappa) * regularization(problem.regularizer.kind, problem.regularizer.center, theta)
    return size if problem.hard else size + math.fsum(numbers(losses)) / len(numbers(losses))


def cost_over(problem: InverseProblem, theta: Any, listed: Sequence[Sequence[Any]]) -> float:
    """The objective with every decision of every example written out; infinite for a loss above 0 that must not be."""
    losses = []
    for i, points in enumerate(listed):
        cuts = [cut_of(problem, i, point) for point in points]
        loss = max(dot(slope, theta) + offset for slope, offset in cuts)
        losses.append(max(loss, 0.0) if problem.clamp else loss)
    if problem.hard and max(losses) > 1e-9:
        return math.inf
    return mean_cost(problem, theta, losses)


def tied_distance(problem: InverseProblem, theta: Any, listed: Sequence[Any]) -> list[float]:
    """Smallest distance of a cheapest decision, example by example; decisions within 1e-7 of the largest cost entry tie."""
    found = []
    for i, points in enumerate(listed):
        example = problem.examples[i]
        prices = [dot(theta, example.instance.features.of(np.array([point], dtype=float))[0]) for point in points]
        allowed = min(prices) + 1e-7 * max(abs(value) for value in numbers(theta))
        found.append(min(cut_of(problem, i, point)[1] for point, price in zip(points, prices, strict=True) if price <= allowed))
    return found


# Ellipsoids and rays ---------------------------------------------------------------------------------------------------------


def determinant(square: Any) -> Fraction:
    """Leibniz's sum over permutations."""
    n, total = len(square), Fraction(0)
    for order in itertools.permutations(range(n)):
        sign = (-1) ** sum(1 for i in range(n) for j in range(i) if order[j] > order[i])
        product = Fraction(sign)
        for i in range(n):
            product *= Fraction(float(square[i][order[i]]))
        total += product
    return total


def exact_rank(rows: Any) -> int:
    """By Gauss's method in fractions."""
    left = [[Fraction(float(value)) for value in row] for row in rows]
    rank = 0
    for column in range(len(left[0])):
        at = next((i for i in range(rank, len(left)) if left[i][column] != 0), None)
        if at is None:
            continue
        left[rank], left[at] = left[at], left[rank]
        for i in range(rank + 1, len(left)):
            factor = left[i][column] / left[rank][column]
            left[i] = [a - factor * b for a, b in zip(left[i], left[rank], strict=True)]
        rank += 1
    return rank


def room_objective(problem: InverseProblem, theta: Any, shape: np.ndarray, listed: Sequence[np.ndarray]) -> float:
    """-kappa log det A plus the mean of max over rows g of g . theta + ||A g||; infinite where it is not allowed."""
    losses = [max(dot(g, theta) + math.hypot(*numbers(shape @ g)) for g in slopes) for slopes in listed]
    volume = determinant(shape)
    if volume <= 0 or math.hypot(*numbers(theta)) > 1 + 1e-12 or prior_excess(problem.prior, theta) > 1e-12:
        return math.inf
    if problem.hard and max(losses) > 1e-12:
        return math.inf
    return log_room(problem, shape) + (0.0 if problem.hard else math.fsum(losses) / len(losses))


def log_room(problem: InverseProblem, shape: Any) -> float:
    """-kappa log det A."""
    volume = determinant(shape)
    return -float(problem.kappa) * (math.log(volume.numerator) - math.log(volume.denominator)) if volume > 0 else math.inf


def points_on_ellipse(form: np.ndarray, shift: np.ndarray, constant: float, count: int) -> Iterator[np.ndarray]:
    """Points of {x : x' F x + 2 s . x + c <= 0} in the plane: its edge by angle, and points inside it."""
    middle = -np.linalg.solve(form, shift)
    height = float(-(middle @ form @ middle + 2 * shift @ middle + constant))
    for k in range(count):
        turn = np.array([math.cos(2 * math.pi * k / count), math.sin(2 * math.pi * k / count)])
        edge = math.sqrt(height / float(turn @ form @ turn))
        for part in (1.0, 0.5 * (k % 3)):
            yield middle + min(part, 1.0) * edge * turn


def ellipse_side(form: Any, shift: Any, constant: float, point: Any) -> Fraction:
    """x' F x + 2 s . x + c, exactly: at most 0 for the points of the ellipsoid."""
    x, n = [Fraction(value) for value in numbers(point)], len(numbers(point))
    square = sum((x[i] * Fraction(float(form[i][j])) * x[j] for i in range(n) for j in range(n)), Fraction(0))
    return square + 2 * sum((Fraction(float(shift[i])) * x[i] for i in range(n)), Fraction(0)) + Fraction(float(constant))


def ball_value(ball: Any, y: Any) -> float:
    """constant - (y' H y + 2 g . y)."""
    return float(-ellipse_side(ball.form, ball.slope, -ball.constant, y))


def dual_value(form: Any, slope: Any, radius: float, multiplier: float) -> float:
    """inf over all y, in the ball or not, of y' H y + 2 g . y + mu (||y||^2 - r^2), exactly: one unknown after the other.

    a y_i^2 + 2 b y_i with a > 0 is -b^2 / a at best; b holds the other unknowns, so that these get new coefficients. With a = 0
    it has no least value unless b is 0 whatever the others are, and with a < 0 it has none.
    """
    if not multiplier >= 0 or math.isinf(multiplier):
        return -math.inf
    n, mu = len(slope), Fraction(float(multiplier))
    square = [
        [(Fraction(float(form[i][j])) + Fraction(float(form[j][i]))) / 2 + mu * (i == j) for j in range(n)] for i in range(n)
    ]
    linear, value = [Fraction(float(part)) for part in slope], -mu * Fraction(float(radius)) ** 2
    for i in range(n):
        a, others = square[i][i], range(i + 1, n)
        if a < 0 or (a == 0 and (linear[i] != 0 or any(square[i][j] != 0 for j in others))):
            return -math.inf
        if a == 0:
            continue
        value -= linear[i] ** 2 / a
        for j in others:
            linear[j] -= square[i][j] * linear[i] / a
            for k in others:
                square[j][k] -= square[i][j] * square[i][k] / a
    return float(value)


def quadratic_value(square: np.ndarray, slope: Any, point: Any) -> float:
    """-y' Q y - v . y."""
    n = len(numbers(point))
    curved = math.fsum(float(point[i]) * float(square[i, j]) * float(point[j]) for i in range(n) for j in range(n))
    return -curved - math.fsum(a * b for a, b in zip(numbers(slope), numbers(point), strict=True))


def row_holds(decisions: LinearSet, y: Sequence[float], z: Sequence[float]) -> bool:
    """Whether rows and the bounds of the continuous unknowns hold, the whole ones being z."""
    first, second = iter(y), iter(z)
    point = [next(second) if mark else next(first) for mark in decisions.whole]
    sides = [dot(row, point) for row in decisions.matrix]
    rows = all(low <= side <= high for low, side, high in zip(decisions.low, sides, decisions.high, strict=True))
    ends = zip(point, decisions.lower, decisions.upper, decisions.whole, strict=True)
    return rows and all(mark or low <= value <= high for value, low, high, mark in ends)


def every_whole_value(decisions: LinearSet) -> list[tuple[float, ...]]:
    """All values of the whole unknowns, the last running fastest."""
    found: list[tuple[float, ...]] = [()]
    for low, high, mark in zip(decisions.lower, decisions.upper, decisions.whole, strict=True):
        if mark:
            span, value = [], float(low)
            while value <= float(high):
                span.append(value)
                value += 1.0
            found = [(*head, value) for head in found for value in span]
    return found


def angle(left: Any, right: Any) -> float:
    """Between two vectors, by the half-angle formula of Kahan, which keeps small angles exact."""
    a, b = np.array(numbers(left)), np.array(numbers(right))
    a, b = a / math.hypot(*a), b / math.hypot(*b)
    return 2 * math.atan2(math.hypot(*(a - b)), math.hypot(*(a + b)))


def farthest_angle(theta: Any, rays: Any) -> float:
    return max(angle(theta, ray) for ray in rays)


def enclosing_volumes(ends: np.ndarray, rng: np.random.Generator, count: int) -> Iterator[float]:
    """Log volumes (over that of the ball) of random ellipsoids that hold all points, each as small as its shape allows."""
    n = ends.shape[1]
    for _ in range(count):
        root = rng.normal(size=(n, n))
        shape = root @ root.T + 1e-3 * np.eye(n)
        center = ends.mean(axis=0) + 0.3 * rng.normal(size=n) * np.ptp(ends, axis=0)
        needed = max(float((end - center) @ np.linalg.solve(shape, end - center)) for end in ends)
        yield 0.5 * (math.log(float(determinant(shape))) + n * math.log(needed))
