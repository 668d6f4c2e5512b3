"""Kernels, moments, hinge losses and dual points of the chance-constrained SVM, once more: in exact fractions, one by one."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np

from surefoot.chancesvm.problem.problem import ChanceSVMProblem

Vector = list[Fraction]


def exact(values: Any) -> Vector:
    return [Fraction(float(value)) for value in values]


def root(square: Fraction) -> Fraction:
    """The square root to 60 digits."""
    with localcontext() as context:
        context.prec = 80
        return Fraction((Decimal(square.numerator) / Decimal(square.denominator)).sqrt())


def exponential(power: Fraction) -> Fraction:
    """e to a power, to 50 digits."""
    with localcontext() as context:
        context.prec = 60
        return Fraction((Decimal(power.numerator) / Decimal(power.denominator)).exp())


def inner_product(kernel: Any, x: Any, z: Any) -> Fraction:
    """k(x, z) from its definition."""
    left, right = exact(x), exact(z)
    dot = sum((a * b for a, b in zip(left, right, strict=True)), Fraction(0))
    if kernel.name == "linear":
        return dot
    if kernel.name == "poly":
        return (Fraction(float(kernel.gamma)) * dot + Fraction(float(kernel.coef0))) ** int(kernel.degree)
    if kernel.name == "rbf":
        apart = sum(((a - b) ** 2 for a, b in zip(left, right, strict=True)), Fraction(0))
        return exponential(-Fraction(float(kernel.gamma)) * apart)
    assert kernel.name == "callable"
    return Fraction(float(np.asarray(kernel.function(np.array([x]), np.array([z])))[0, 0]))


def solved(matrix: list[Vector], side: Vector) -> Vector:
    """A linear system by Gauss's method."""
    rows = [[*row, value] for row, value in zip(matrix, side, strict=True)]
    n = len(rows)
    for k in range(n):
        at = next(i for i in range(k, n) if rows[i][k] != 0)
        rows[k], rows[at] = rows[at], rows[k]
        for i in range(n):
            if i != k and rows[i][k] != 0:
                factor = rows[i][k] / rows[k][k]
                rows[i] = [a - factor * b for a, b in zip(rows[i], rows[k], strict=True)]
    return [rows[k][n] / rows[k][k] for k in range(n)]


def projected_product(base: Any, landmarks: Any, x: Any, z: Any) -> Fraction:
    """k(x, S) K_SS^-1 k(S, z)."""
    square = [[inner_product(base, s, t) for t in landmarks] for s in landmarks]
    mixed = solved(square, [inner_product(base, s, z) for s in landmarks])
    return sum((inner_product(base, x, s) * c for s, c in zip(landmarks, mixed, strict=True)), Fraction(0))


def monomials(n_columns: int, degree: int, with_lower: bool) -> int:
    """Products of at most (exactly, without lower ones) ``degree`` columns, counted."""
    exponents = itertools.product(range(degree + 1), repeat=n_columns)
    return sum(1 for powers in exponents if sum(powers) == degree or (with_lower and sum(powers) < degree))


def batches(problem: ChanceSVMProblem) -> list[range]:
    """The samples of every batch."""
    starts = [int(start) for start in problem.starts]
    return [range(starts[i], starts[i + 1]) for i in range(len(starts) - 1)]


def counted(problem: ChanceSVMProblem) -> dict[str, object]:
    """Batches, samples, sizes, and the batch of every sample."""
    found = batches(problem)
    return {
        "n_batches": len(found),
        "n_samples": len(problem.samples),
        "sizes": [len(batch) for batch in found],
        "batch": [i for i, batch in enumerate(found) for _ in batch],
        "has_radii": any(value > 0 for value in (*problem.mean_radius, *problem.covariance_radius)),
    }


def tail_factor(violation: float) -> Fraction:
    """tau with tau^2 = (1 - eps) / eps."""
    eps = Fraction(float(violation))
    return root((1 - eps) / eps)


def batch_sums(problem: ChanceSVMProblem, values: Any) -> Vector:
    numbers = exact(values)
    return [sum((numbers[s] for s in batch), Fraction(0)) for batch in batches(problem)]


def batch_moments(problem: ChanceSVMProblem, values: Any) -> list[tuple[Fraction, Fraction]]:
    """Mean and standard deviation of the values of every batch."""
    numbers, weights, found = exact(values), exact(problem.weights), []
    for batch in batches(problem):
        mean = sum((weights[s] * numbers[s] for s in batch), Fraction(0))
        # Weights that sum to 1 up to rounding only: deviations are from this mean, as in the definition.
        variance = sum((weights[s] * (numbers[s] - mean) ** 2 for s in batch), Fraction(0))
        found.append((mean, root(variance)))
    return found


def needed_margins(problem: ChanceSVMProblem, values: Any, squared_length: float) -> Vector:
    """What y_i b must reach for no slack, batch by batch."""
    square, found = Fraction(float(squared_length)), []
    for i, (mean, deviation) in enumerate(batch_moments(problem, values)):
        widened = root(deviation**2 + Fraction(float(problem.covariance_radius[i])) * square)
        guard = Fraction(float(problem.mean_radius[i])) * root(square)
        found.append(1 - Fraction(float(problem.labels[i])) * mean + tail_factor(problem.violation[i]) * widened + guard)
    return found


def hinge_loss(problem: ChanceSVMProblem, demands: Sequence[Fraction], intercept: Fraction) -> Fraction:
    terms = zip(problem.costs, problem.labels, demands, strict=True)
    return sum((Fraction(float(c)) * max(d - Fraction(float(y)) * intercept, Fraction(0)) for c, y, d in terms), Fraction(0))


def best_intercepts(problem: ChanceSVMProblem, demands: Sequence[Fraction]) -> tuple[Fraction, Fraction, Fraction]:
    """Least hinge loss, and the first and last breakpoint that have it: a convex piecewise linear loss has it at some."""
    points = sorted({Fraction(float(y)) * d for y, d in zip(problem.labels, demands, strict=True)})
    losses = [(hinge_loss(problem, demands, point), point) for point in points]
    least = min(loss for loss, _ in losses)
    at = [point for loss, point in losses if loss == least]
    return least, min(at), max(at)


def gram(problem: ChanceSVMProblem) -> list[Vector]:
    if problem.kernel.name == "precomputed":
        return [exact(row) for row in problem.samples]
    return [[inner_product(problem.kernel, x, z) for z in problem.samples] for x in problem.samples]


def sample_values(matrix: list[Vector], coefficients: Any) -> Vector:
    """sum_t c_t k(x_s, x_t) of every sample."""
    numbers = exact(coefficients)
    return [sum((k * c for k, c in zip(row, numbers, strict=True)), Fraction(0)) for row in matrix]


def constraint_excess(problem: ChanceSVMProblem, coefficients: Any) -> Fraction:
    """By how much the worst constraint of the dual is broken, relative to the cost of its batch (all costs, for the sum)."""
    c, p = exact(coefficients), exact(problem.weights)
    costs = exact(problem.costs)
    worst = abs(sum(c, Fraction(0))) / sum(costs, Fraction(0))
    for i, batch in enumerate(batches(problem)):
        alpha = Fraction(float(problem.labels[i])) * sum((c[s] for s in batch), Fraction(0))
        length = root(sum((c[s] ** 2 / p[s] for s in batch), Fraction(0)))
        allowed = abs(alpha) * root(1 / Fraction(float(problem.violation[i])))
        worst = max(worst, -alpha / costs[i], alpha / costs[i] - 1, (length - allowed) / costs[i])
    return worst


def dual_value(problem: ChanceSVMProblem, coefficients: Any, matrix: list[Vector]) -> Fraction:
    """sum_i alpha_i - 1/2 max(0, sqrt(c' K c) - R)^2, from the coefficients alone."""
    c, p = exact(coefficients), exact(problem.weights)
    total, reserve = Fraction(0), Fraction(0)
    for i, batch in enumerate(batches(problem)):
        label, tau = Fraction(float(problem.labels[i])), tail_factor(problem.violation[i])
        alpha = label * sum((c[s] for s in batch), Fraction(0))
        # y c_s = alpha p_s + tau sqrt(p_s) g_s, so ||g||^2 = sum_s (y c_s - alpha p_s)^2 / (tau^2 p_s).
        square = sum(((label * c[s] - alpha * p[s]) ** 2 / p[s] for s in batch), Fraction(0)) / tau**2
        spare = root(max(alpha**2 - square, Fraction(0)))
        reserve += tau * root(Fraction(float(problem.covariance_radius[i]))) * spare
        reserve += Fraction(float(problem.mean_radius[i])) * alpha
        total += alpha
    values = sample_values(matrix, coefficients)
    length = root(max(sum((a * b for a, b in zip(c, values, strict=True)), Fraction(0)), Fraction(0)))
    return total - max(Fraction(0), length - reserve) ** 2 / 2


def primal_value(problem: ChanceSVMProblem, coefficients: Any, intercept: float, matrix: list[Vector]) -> Fraction:
    """1/2 ||w||^2 plus the hinge losses of w = sum_s c_s phi(x_s)."""
    c, values = exact(coefficients), sample_values(matrix, coefficients)
    square = max(sum((a * b for a, b in zip(c, values, strict=True)), Fraction(0)), Fraction(0))
    demands = needed_margins(problem, [float(value) for value in values], float(square))
    return square / 2 + hinge_loss(problem, demands, Fraction(float(intercept)))


def least_eigenvalue_sign(matrix: Sequence[Sequence[float]], shift: float) -> int:
    """1, 0 or -1 as the matrix plus ``shift`` times the identity is positive definite, singular or indefinite.

    Gauss's method without exchanges: all pivots are above 0 exactly for positive definite matrices.
    """
    rows = [exact(row) for row in matrix]
    for k, row in enumerate(rows):
        row[k] += Fraction(float(shift))
    for k in range(len(rows)):
        if rows[k][k] <= 0:
            return 0 if rows[k][k] == 0 and not any(rows[i][k] for i in range(k, len(rows))) else -1
        for i in range(k + 1, len(rows)):
            factor = rows[i][k] / rows[k][k]
            rows[i] = [a - factor * b for a, b in zip(rows[i], rows[k], strict=True)]
    return 1


def are_inner_products(matrix: np.ndarray, slack: float = 1e-8) -> bool | None:
    """Whether a matrix is square, symmetric and positive semidefinite; None where it is so up to about the slack only."""
    if matrix.shape[0] != matrix.shape[1]:
        return False
    largest = max((abs(float(value)) for row in matrix for value in row), default=0.0)
    skew = max((abs(float(matrix[i, j]) - float(matrix[j, i])) for i in range(len(matrix)) for j in range(i)), default=0.0)
    if skew > 2 * slack * largest:
        return False
    if skew > 0.5 * slack * largest:
        return None
    symmetric = [[(float(matrix[i, j]) + float(matrix[j, i])) / 2 for j in range(len(matrix))] for i in range(len(matrix))]
    if least_eigenvalue_sign(symmetric, 0.5 * slack * largest + 1e-310) >= 0:
        return True
    return False if least_eigenvalue_sign(symmetric, 2 * slack * largest) < 0 else None


def is_svm_problem(parts: dict[str, Any]) -> bool:
    """Whether these parts make up a problem, by looking at every entry."""
    samples, starts, labels = (np.asarray(parts[name], dtype=float) for name in ("samples", "starts", "labels"))
    if samples.ndim != 2 or starts.ndim != 1 or len(starts) < 3 or starts[0] != 0 or starts[-1] != len(samples):
        return False
    sizes = [int(starts[i + 1] - starts[i]) for i in range(len(starts) - 1)]
    if any(size < 1 for size in sizes):
        return False
    weights = parts.get("weights")
    weights = [1.0 / size for size in sizes for _ in range(size)] if weights is None else weights
    inside: dict[str, Callable[[float], bool]] = {
        "labels": lambda value: value in (-1.0, 1.0),
        "costs": lambda value: math.isfinite(value) and value > 0,
        "violation": lambda value: 0 < value < 1,
        "mean_radius": lambda value: math.isfinite(value) and value >= 0,
        "covariance_radius": lambda value: math.isfinite(value) and value >= 0,
    }
    for name, sound in inside.items():
        values = parts.get(name)
        values = [0.0] * len(sizes) if values is None else values
        if np.ndim(values) != 1 or len(values) != len(sizes) or not all(sound(float(value)) for value in values):
            return False
    if np.ndim(weights) != 1 or len(weights) != len(samples):
        return False
    if not all(math.isfinite(weight) and weight > 0 for weight in weights):
        return False
    if not all(math.isfinite(value) for row in samples for value in row):
        return False
    at = 0
    for size in sizes:
        if abs(math.fsum(weights[at : at + size]) - 1.0) > 1e-9:
            return False
        at += size
    return {1.0, -1.0} == set(labels.tolist())
