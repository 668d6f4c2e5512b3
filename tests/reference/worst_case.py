"""The worst case of one row by trying everything: every category vector and both labels, one after the other."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from surefoot.robust.problem.problem import RobustCoefficients, RobustLogisticProblem


@dataclass(frozen=True)
class Shift:
    """Where one row can go: new category vector, new label, and the ground cost of getting there."""

    codes: tuple[int, ...]
    label: float
    cost: float


def all_shifts(problem: RobustLogisticProblem, row: int) -> Iterator[Shift]:
    """Every shift of finite ground cost, the one that changes nothing included."""
    own = tuple(int(code) for code in problem.codes[row])
    for codes in itertools.product(*(range(int(count)) for count in problem.n_levels)):
        moves = sum(
            float(delta) for delta, code, old in zip(problem.cost.categorical_weights, codes, own, strict=True) if code != old
        )
        for label in (-1.0, 1.0):
            cost = moves + (float(problem.cost.label_weight) if label != problem.labels[row] else 0.0)
            if math.isfinite(cost):
                yield Shift(codes=codes, label=label, cost=cost)


def dense_numeric(problem: RobustLogisticProblem) -> np.ndarray:
    """The numeric columns as a plain array."""
    return problem.numeric.toarray() if problem.is_sparse else problem.numeric


def needed_price(problem: RobustLogisticProblem, numeric: np.ndarray) -> float:
    """The dual norm of beta / gamma, spelled out for each norm; columns that never move do not count."""
    ratios = [
        abs(float(slope)) / float(gamma)
        for slope, gamma in zip(numeric, problem.cost.numeric_weights, strict=True)
        if math.isfinite(gamma)
    ]
    if problem.cost.numeric_norm == "l1":
        return max(ratios, default=0.0)
    if problem.cost.numeric_norm == "l2":
        return math.hypot(*ratios)
    return math.fsum(ratios)


def score(problem: RobustLogisticProblem, coefficients: RobustCoefficients, row: int, codes: tuple[int, ...]) -> float:
    """Score of a row's numeric part with the given category vector."""
    total = float(coefficients.intercept)
    for value, slope in zip(dense_numeric(problem)[row], coefficients.numeric, strict=True):
        total += float(value) * float(slope)
    for l, code in enumerate(codes):
        total += float(coefficients.levels[int(problem.level_offsets[l]) + code])
    return total


def softplus(value: float) -> float:
    """log(1 + exp(value)) without overflow."""
    return max(value, 0.0) + math.log1p(math.exp(-abs(value)))


def worst_case_loss(problem: RobustLogisticProblem, coefficients: RobustCoefficients, row: int, price: float) -> float:
    """Largest loss minus price * ground cost over all shifts of the row."""
    return max(
        softplus(-shift.label * score(problem, coefficients, row, shift.codes)) - price * shift.cost
        for shift in all_shifts(problem, row)
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
