"""What robust certificates and solvers both compute, once more: loops, exact fractions, and maxima over written-out sets."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np

from surefoot.robust.problem.problem import RobustCoefficients, RobustLogisticProblem

Exact = Fraction | float  # a float only where it is infinite


def exact_root(square: Fraction) -> Fraction:
    """The square root to 60 digits."""
    with localcontext() as context:
        context.prec = 80
        return Fraction((Decimal(square.numerator) / Decimal(square.denominator)).sqrt())


def price_of_shift(shift: Sequence[float], weights: Sequence[float], norm: str) -> Exact:
    """|| (gamma_j v_j)_j ||, term by term; infinite if a column moves that cannot."""
    terms = []
    for value, gamma in zip(shift, weights, strict=True):
        if value != 0 and math.isinf(gamma):
            return math.inf
        terms.append(Fraction(0) if value == 0 else abs(Fraction(float(value)) * Fraction(float(gamma))))
    if norm == "l1":
        return sum(terms, Fraction(0))
    if norm == "linf":
        return max(terms, default=Fraction(0))
    return exact_root(sum((term * term for term in terms), Fraction(0)))


def largest_gain(coefficients: Sequence[float], weights: Sequence[float], norm: str) -> Fraction:
    """max of beta . v over shifts v that cost 1: the price at which moving gains nothing, from its definition.

    The unit ball of l1 has a corner on every axis, that of linf one for every choice of signs; in l2 the best shift lies along
    (beta_j / gamma_j^2)_j, by Cauchy and Schwarz, and is scaled to cost 1.
    """
    pairs = [
        (Fraction(float(slope)), Fraction(float(gamma)))
        for slope, gamma in zip(coefficients, weights, strict=True)
        if math.isfinite(gamma)
    ]
    if norm == "l1":
        return max((sign * slope / gamma for slope, gamma in pairs for sign in (1, -1)), default=Fraction(0))
    if norm == "linf":
        corners = itertools.product((1, -1), repeat=len(pairs))
        return max(sum((s * b / g for s, (b, g) in zip(signs, pairs, strict=True)), Fraction(0)) for signs in corners)
    shift = [slope / gamma**2 for slope, gamma in pairs]
    cost = exact_root(sum(((g * v) ** 2 for (_, g), v in zip(pairs, shift, strict=True)), Fraction(0)))
    gain = sum((b * v for (b, _), v in zip(pairs, shift, strict=True)), Fraction(0))
    return gain / cost if cost else Fraction(0)


def is_ground_cost(numeric: Any, categorical: Any, label: float, norm: Any) -> bool:
    """Whether prices are lists of positive numbers and the norm is one of three."""
    for weights in (numeric, categorical):
        if np.ndim(weights) != 1 or any(not (float(weight) > 0) for weight in weights):
            return False
    return bool(label > 0) and norm in ("l1", "l2", "linf")


def entries(numeric: Any) -> list[list[float]]:
    """The numeric columns as lists of rows; entries of sparse ones that are written twice add up."""
    rows, columns = numeric.shape
    table = [[0.0] * columns for _ in range(rows)]
    if hasattr(numeric, "tocoo"):
        written = numeric.tocoo()
        for i, j, value in zip(written.row, written.col, written.data, strict=True):
            table[int(i)][int(j)] += float(value)
        return table
    return [[float(numeric[i, j]) for j in range(columns)] for i in range(rows)]


def canonical_arrays(numeric: Any) -> tuple[list[int], list[int], list[float]]:
    """Where each row begins, and the columns and values of all that is not 0, from left to right and from top to bottom."""
    starts, columns, values = [0], [], []
    for row in entries(numeric):
        columns += [j for j, value in enumerate(row) if value != 0]
        values += [value for value in row if value != 0]
        starts.append(len(values))
    return starts, columns, values


def held_sparsely(numeric: Any) -> bool:
    """Whether the columns are kept as lists of entries: plain arrays are no others."""
    return not isinstance(numeric, np.ndarray)


def largest_entries(numeric: Any) -> list[float]:
    return [max((abs(row[j]) for row in entries(numeric)), default=0.0) for j in range(numeric.shape[1])]


def weighted_mean(problem: RobustLogisticProblem) -> list[Fraction]:
    """Of every numeric column; 0 without an intercept, and for sparse columns."""
    n = problem.numeric.shape[1]
    if not problem.fit_intercept or held_sparsely(problem.numeric):
        return [Fraction(0)] * n
    table, weights = entries(problem.numeric), [Fraction(float(weight)) for weight in problem.weights]
    total = sum(weights, Fraction(0))
    return [sum((w * Fraction(row[j]) for w, row in zip(weights, table, strict=True)), Fraction(0)) / total for j in range(n)]


@dataclass(frozen=True)
class ExactSums:
    """Weight and weighted column sums of the rows of a label, and what the same terms sum to without their signs."""

    weight: Fraction
    columns: list[Fraction]
    sizes: list[Fraction]


def exact_label_sums(rows: Any, centre: Sequence[float], label: float) -> ExactSums:
    """Over the rows of one label, one after the other."""
    table, middle = entries(rows.numeric), [Fraction(float(value)) for value in centre]
    weight, columns, sizes = Fraction(0), [Fraction(0)] * len(middle), [Fraction(0)] * len(middle)
    for row, own, share in zip(table, rows.labels, rows.weights, strict=True):
        if own == label:
            w = Fraction(float(share))
            weight += w
            for j, value in enumerate(row):
                columns[j] += w * (Fraction(value) - middle[j])
                sizes[j] += w * (abs(Fraction(value)) + abs(middle[j]))
    return ExactSums(weight, columns, sizes)


@dataclass(frozen=True)
class Sizes:
    """Price, |intercept at the centre| and sum of the largest |level coefficient| per feature."""

    price: Exact
    intercept: Exact
    levels: Exact


def proven_sizes(problem: RobustLogisticProblem, upper_bound: float, centre: Sequence[float]) -> Sizes:
    """The bounds on models at or below a value, by writing out every forced shift at both ends of the range of lambda.

    Rows of one label that all move to the lowest (highest) levels and end with label +1 (-1) say

        -A <= (U - lambda radius) / W + lambda price   (B likewise),

    and any such pair bounds B - A. These are straight lines in lambda, which lies between 0 and U / radius.
    """
    cost, radius, top = problem.cost, Fraction(float(problem.radius)), Fraction(float(upper_bound))
    if radius == 0:
        return Sizes(math.inf, math.inf if problem.fit_intercept else Fraction(0), math.inf)
    moving = [float(cost.categorical_weights[l]) for l in range(problem.codes.shape[1]) if int(problem.n_levels[l]) > 1]
    limit = top / radius
    if any(math.isinf(weight) for weight in (*moving, *cost.numeric_weights.tolist())):
        return Sizes(limit, math.inf if problem.fit_intercept else Fraction(0), math.inf)
    delta = sum((Fraction(weight) for weight in moving), Fraction(0))
    forced: dict[float, list[tuple[Fraction, list[Fraction], Fraction]]] = {1.0: [], -1.0: []}
    for own, final in itertools.product((1.0, -1.0), repeat=2):
        sums = exact_label_sums(problem, centre, own)
        flip = 0.0 if own == final else float(cost.label_weight)
        if sums.weight > 0 and math.isfinite(flip):
            forced[final].append((sums.weight, [part / sums.weight for part in sums.columns], delta + Fraction(flip)))

    def length(shift: Sequence[Fraction]) -> Fraction:
        terms = [abs(Fraction(float(g)) * v) for g, v in zip(cost.numeric_weights, shift, strict=True)]
        if cost.numeric_norm == "l2":
            return exact_root(sum((term * term for term in terms), Fraction(0)))
        return sum(terms, Fraction(0)) if cost.numeric_norm == "l1" else max(terms, default=Fraction(0))

    def most(share: Fraction, price: Fraction) -> Fraction:
        return max((top - lam * radius) * share + lam * price for lam in (Fraction(0), limit))

    ends = [min((most(1 / w, p + length(mean)) for w, mean, p in forced[final]), default=math.inf) for final in (1.0, -1.0)]
    spans = [
        most(1 / w + 1 / v, p + q + length([a - b for a, b in zip(mean, other, strict=True)]))
        for w, mean, p in forced[1.0]
        for v, other, q in forced[-1.0]
    ]
    return Sizes(limit, max(ends) if problem.fit_intercept else Fraction(0), min(spans, default=math.inf))


def sizes_of_model(problem: RobustLogisticProblem, model: RobustCoefficients, centre: Sequence[float]) -> Sizes:
    """The three numbers of one model."""
    middle = float(model.intercept) + math.fsum(float(b) * float(c) for b, c in zip(model.numeric, centre, strict=True))
    levels, at = 0.0, 0
    for count in problem.n_levels.tolist():
        levels += max(abs(float(value)) for value in model.levels[at : at + count])
        at += count
    return Sizes(float(model.price), abs(middle), levels)


def counted_shape(rows: Any, n_levels: Sequence[int]) -> dict[str, object]:
    """Rows, columns and the place of every feature's levels, counted."""
    places = [0]
    for count in n_levels:
        places.append(places[-1] + int(count))
    return {
        "n_rows": sum(1 for _ in rows.labels),
        "n_numeric": len(entries(rows.numeric)[0]) if rows.numeric.shape[0] else rows.numeric.shape[1],
        "n_categorical": sum(1 for _ in n_levels),
        "level_offsets": places,
        "is_sparse": held_sparsely(rows.numeric),
    }


def is_sound(numeric: Any, codes: Any, labels: Any, weights: Any, n_levels: Any = None) -> bool:
    """Whether these are rows of a table, by looking at every entry."""
    if np.ndim(codes) != 2 or np.ndim(labels) != 1 or np.ndim(weights) != 1 or len(numeric.shape) != 2:
        return False
    if not numeric.shape[0] == len(codes) == len(labels) == len(weights):
        return False
    values = [value for row in entries(numeric) for value in row]
    if not all(math.isfinite(value) for value in values) or not all(label in (-1.0, 1.0) for label in labels):
        return False
    if not all(math.isfinite(weight) and weight >= 0 for weight in weights):
        return False
    if not all(float(code) == int(code) and -(2**31) <= code < 2**31 for row in codes for code in row):
        return False
    if n_levels is None:
        return True
    if len(n_levels) != np.shape(codes)[1] or any(count < 1 for count in n_levels):
        return False
    return all(0 <= code < count for row in codes for code, count in zip(row, n_levels, strict=True))


def is_problem(
    numeric: Any, codes: Any, n_levels: Any, labels: Any, weights: Any, prices: tuple[int, int], radius: float
) -> bool:
    """Whether these rows, with so many prices of columns and this radius, make up a problem."""
    if np.ndim(n_levels) != 1 or not is_sound(numeric, codes, labels, weights, n_levels):
        return False
    if prices != (numeric.shape[1], len(n_levels)) or not (math.isfinite(radius) and radius >= 0):
        return False
    return abs(math.fsum(weights) - 1.0) <= 1e-6


def picked_rows(rows: Any, places: Sequence[int]) -> list[tuple[object, ...]]:
    """Rows by their place: numeric values, codes, label, weight."""
    table = entries(rows.numeric)
    return [
        (tuple(table[i]), tuple(int(code) for code in rows.codes[i]), float(rows.labels[i]), float(rows.weights[i]))
        for i in places
    ]


def terms_told(terms: Any) -> Iterator[object]:
    """All that a problem is made of beside its rows."""
    yield [int(count) for count in terms.n_levels]
    yield [float(weight) for weight in terms.cost.numeric_weights]
    yield [float(weight) for weight in terms.cost.categorical_weights]
    yield from (float(terms.cost.label_weight), terms.cost.numeric_norm, float(terms.radius), bool(terms.fit_intercept))
