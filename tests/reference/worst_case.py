"""The worst case of one row by trying everything: every category vector, every end of a range and both labels."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from surefoot.robust.problem.problem import RobustCoefficients, RobustLogisticProblem


@dataclass(frozen=True)
class Shift:
    """Where one row can go: new category vector, new numbers, new label, and the ground cost of getting there."""

    codes: tuple[int, ...]
    numeric: tuple[float, ...]
    label: float
    cost: float


# Where on the way to an end of its range a number may stop, besides staying and going there: nothing is ever gained by it.
STOPS = (0.0, 1.0)


def numbers_within_reach(problem: RobustLogisticProblem, row: int, stops: tuple[float, ...]) -> list[list[tuple[float, float]]]:
    """For every numeric column the numbers to try, and the ground cost of each; columns without a range stay where they are."""
    reach = []
    for column, own in enumerate(dense_numeric(problem)[row].tolist()):
        ends = (own, own) if problem.cost.numeric_ranges is None else problem.cost.numeric_ranges[column].tolist()
        gamma = float(problem.cost.numeric_weights[column])
        moves = math.isfinite(gamma) and all(map(math.isfinite, ends))
        numbers = {own} | {end if part == 1 else own + (end - own) * part for end in ends for part in stops} if moves else {own}
        reach.append([(number, 0.0 if number == own else gamma * abs(number - own)) for number in sorted(numbers)])
    return reach


def all_shifts(problem: RobustLogisticProblem, row: int, stops: tuple[float, ...] = STOPS) -> Iterator[Shift]:
    """Every shift of finite ground cost, the one that changes nothing included."""
    reach = [list(options) for options in itertools.product(*numbers_within_reach(problem, row, stops))]
    own = tuple(int(code) for code in problem.codes[row])
    for codes in itertools.product(*(range(int(count)) for count in problem.n_levels)):
        moves = sum(
            float(delta) for delta, code, old in zip(problem.cost.categorical_weights, codes, own, strict=True) if code != old
        )
        for label in (-1.0, 1.0):
            cost = moves + (float(problem.cost.label_weight) if label != problem.labels[row] else 0.0)
            for numbers in reach:
                way = math.fsum(price for _, price in numbers)
                if math.isfinite(cost + way):
                    yield Shift(codes=codes, numeric=tuple(x for x, _ in numbers), label=label, cost=cost + way)


def dense_numeric(problem: RobustLogisticProblem) -> np.ndarray:
    """The numeric columns as a plain array."""
    return problem.numeric.toarray() if problem.is_sparse else problem.numeric


def needed_price(problem: RobustLogisticProblem, numeric: np.ndarray) -> float:
    """The dual norm of beta / gamma, spelled out for each norm; columns that never move, or have a range, do not count."""
    ranges = problem.cost.numeric_ranges
    ratios = [
        abs(float(slope)) / float(gamma)
        for column, (slope, gamma) in enumerate(zip(numeric, problem.cost.numeric_weights, strict=True))
        if math.isfinite(gamma) and (ranges is None or math.isinf(ranges[column, 0]))
    ]
    if problem.cost.numeric_norm == "l1":
        return max(ratios, default=0.0)
    if problem.cost.numeric_norm == "l2":
        return math.hypot(*ratios)
    return math.fsum(ratios)


def score(
    problem: RobustLogisticProblem,
    coefficients: RobustCoefficients,
    row: int,
    codes: tuple[int, ...],
    numeric: tuple[float, ...] | None = None,
) -> float:
    """Score of a row with the given category vector, and with the given numbers or its own."""
    total = float(coefficients.intercept)
    for value, slope in zip(dense_numeric(problem)[row] if numeric is None else numeric, coefficients.numeric, strict=True):
        total += float(value) * float(slope)
    for l, code in enumerate(codes):
        total += float(coefficients.levels[int(problem.level_offsets[l]) + code])
    return total


def softplus(value: float) -> float:
    """log(1 + exp(value)) without overflow."""
    return max(value, 0.0) + math.log1p(math.exp(-abs(value)))


def worst_case_loss(
    problem: RobustLogisticProblem,
    coefficients: RobustCoefficients,
    row: int,
    price: float,
    stops: tuple[float, ...] = STOPS,
) -> float:
    """Largest loss minus price * ground cost over all shifts of the row."""
    return max(
        softplus(-shift.label * score(problem, coefficients, row, shift.codes, shift.numeric)) - price * shift.cost
        for shift in all_shifts(problem, row, stops)
    )


def objective(problem: RobustLogisticProblem, coefficients: RobustCoefficients) -> float:
    """Objective of the model: inf where its price is too low for its numeric coefficients, the plain loss for radius 0."""
    if problem.radius == 0:
        return math.fsum(
            float(weight)
            * softplus(-float(label) * score(problem, coefficients, row, tuple(int(code) for code in problem.codes[row])))
            for row, (weight, label) in enumerate(zip(problem.weights, problem.labels, strict=True))
        )
    if needed_price(problem, coefficients.numeric) > coefficients.price:
        return math.inf
    losses = (
        float(weight) * worst_case_loss(problem, coefficients, row, float(coefficients.price))
        for row, weight in enumerate(problem.weights)
    )
    return float(coefficients.price) * problem.radius + math.fsum(losses)
