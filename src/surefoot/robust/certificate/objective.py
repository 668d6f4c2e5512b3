"""Enclosure of the objective of a robust logistic model, recomputed from the raw arrays.

    F(beta, lambda) = lambda * radius + sum_i w_i r_i,

    r_i = max over a target label s, over sets S of categorical features of
          log(1 + exp(v_s + sum_{l in S} u_sl)) - lambda sum_{l in S} delta_l - lambda kappa 1[s != y_i],

where v_s = -s * score of row i, and u_sl >= 0 is what feature l adds when it moves from the row's own level to the worst
level for label s: own - smallest coefficient for s = +1, largest - own for s = -1. Features with delta = inf never move,
and labels with kappa = inf never flip.

Why prefixes suffice
--------------------
softplus(v) = log(1 + exp(v)) is the maximum over q in [0, 1] of q v - f*(q) with f*(q) = q log q + (1 - q) log(1 - q). Exchange
the two maxima:

    max_S softplus(v + sum_S u_l) - lambda sum_S delta_l  =  max_q  q v - f*(q) + sum_l max(0, q u_l - lambda delta_l).

At the best q the set is {l : u_l / delta_l > lambda / q}: the first few features in the order of u_l / delta_l. Evaluating
all m + 1 prefixes of that order is thus exact for any positive real weights (features tied in u_l / delta_l at the
threshold add nothing).

A price that is too low
-----------------------
The model needs || (beta_j / gamma_j)_j ||_* <= lambda over the numeric columns, in the dual of the norm of the ground cost. Any
price gives an upper bound on the optimum, so a price that violates this by rounding or by tampering is raised to the smallest
admissible one, and the objective is that of the raised price.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.core.row_blocks import UNIT_ROUNDOFF, row_blocks, summation_error
from surefoot.robust.problem.numeric_columns import most_terms
from surefoot.robust.problem.numeric_norm import norm_rounding
from surefoot.robust.problem.problem import RobustCoefficients
from surefoot.robust.problem.row_batch import PosedRows
from surefoot.robust.problem.terms import Terms


@dataclass(frozen=True)
class WorstCaseObjective:
    """An objective value and a bound on its rounding error: an enclosure of the exact objective.

    Attributes
    ----------
    value : float
        F at ``price``; ``inf`` where the scores overflow.
    rounding : float
        Bound on the distance between ``value`` and F in exact arithmetic.
    price : float
        The price F was taken at: the given one, or the smallest admissible one if that is larger.
    """

    value: float
    rounding: float
    price: float


@dataclass(frozen=True)
class LossSums:
    """Sums over rows behind an objective; those of the parts of a table add up to those of the table.

    Attributes
    ----------
    weight : float
        Sum of the row weights.
    losses : float
        Weighted sum of the worst-case losses r_i.
    sizes : float
        Weighted sum of the absolute terms of the scores, which rounding is relative to.
    n_rows, n_parts : int
    longest : int
        Most numbers that one score adds up.
    """

    weight: float
    losses: float
    sizes: float
    n_rows: int
    longest: int
    n_parts: int = 1

    def __add__(self, other: LossSums) -> LossSums:
        return LossSums(
            self.weight + other.weight,
            self.losses + other.losses,
            self.sizes + other.sizes,
            self.n_rows + other.n_rows,
            max(self.longest, other.longest),
            self.n_parts + other.n_parts,
        )


def admissible_price(problem: PosedRows | Terms, coefficients: RobustCoefficients) -> float:
    """The smallest lambda at or above the given one that admits the numeric coefficients."""
    return max(float(coefficients.price), problem.cost.admitting_price(coefficients.numeric))


def row_scores(problem: PosedRows, coefficients: RobustCoefficients, rows: slice) -> tuple[FloatArray, FloatArray]:
    """Scores of some rows and the sum of the absolute terms of each score, which bounds its rounding error."""
    numeric = problem.numeric[rows]
    offsets = problem.level_offsets
    scores = coefficients.intercept + numeric @ coefficients.numeric
    sizes = abs(coefficients.intercept) + abs(numeric) @ np.abs(coefficients.numeric)
    for l in range(problem.n_categorical):
        own = coefficients.levels[offsets[l] + problem.codes[rows, l]]
        scores += own
        sizes += np.abs(own)
    return scores, sizes


def _largest_over_prefixes(start: FloatArray, gains: FloatArray, charges: FloatArray) -> FloatArray:
    """Max over sets S of softplus(start + sum_S gains) - sum_S charges, row by row; charges are the same for all rows."""
    best: FloatArray = np.logaddexp(0.0, start)
    if gains.shape[1] == 0:
        return best
    if not charges.any():
        free: FloatArray = np.logaddexp(0.0, start + gains.sum(axis=1))
        return free
    order = np.argsort(-gains / charges, axis=1)
    arguments = np.cumsum(np.take_along_axis(gains, order, axis=1), axis=1)
    arguments += start[:, None]
    values = np.logaddexp(0.0, arguments)
    values -= np.cumsum(charges[order], axis=1)
    np.maximum(best, values.max(axis=1), out=best)
    return best


def worst_case_losses(
    problem: PosedRows, coefficients: RobustCoefficients, price: float, rows: slice, scores: FloatArray
) -> FloatArray:
    """r_i of some rows whose scores are known, at the given price."""
    offsets = problem.level_offsets
    movable = np.flatnonzero(np.isfinite(problem.cost.categorical_weights))
    charges = price * problem.cost.categorical_weights[movable]
    kappa = problem.cost.label_weight
    labels = problem.labels[rows]
    own = np.empty((len(scores), movable.size))
    lowest, highest = np.empty(movable.size), np.empty(movable.size)
    for at, l in enumerate(movable):
        levels = coefficients.levels[offsets[l] : offsets[l + 1]]
        lowest[at], highest[at] = levels.min(), levels.max()
        own[:, at] = levels[problem.codes[rows, l]]

    def toward(targets: FloatArray) -> FloatArray:
        gains = np.where(targets[:, None] > 0, own - lowest, highest - own)
        return _largest_over_prefixes(-targets * scores, gains, charges)

    losses = toward(labels)
    if np.isfinite(kappa):
        losses = np.maximum(losses, toward(-labels) - price * kappa)
    return losses


def price_of(terms: PosedRows | Terms, coefficients: RobustCoefficients) -> float:
    """The price at which the objective of a model is taken; with radius 0 any price is free and the given one stays."""
    # Coefficients past the largest double become inf and the objective with them; the caller reads that off the value.
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        return float(coefficients.price) if terms.radius == 0 else admissible_price(terms, coefficients)


def loss_sums(problem: PosedRows, coefficients: RobustCoefficients) -> LossSums:
    """One pass over the rows, or over a part of them; the weights are taken as they are."""
    plain = problem.radius == 0
    losses, sizes = 0.0, 0.0
    price = price_of(problem, coefficients)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        level_size = 0.0 if plain else float(np.abs(coefficients.levels).max(initial=0.0)) * 2 * problem.n_categorical
        for rows in row_blocks(problem.n_rows):
            scores, terms = row_scores(problem, coefficients, rows)
            if plain:
                worst = np.logaddexp(0.0, -problem.labels[rows] * scores)
            else:
                worst = worst_case_losses(problem, coefficients, price, rows, scores)
            losses += float(problem.weights[rows] @ worst)
            sizes += float(problem.weights[rows] @ (terms + level_size))
    longest = most_terms(problem.numeric) + 2 * problem.n_categorical
    return LossSums(float(problem.weights.sum()), losses, sizes, problem.n_rows, longest)


def objective_from_sums(terms: Terms, sums: LossSums, price: float) -> WorstCaseObjective:
    """The objective of a model at a price, from the sums over all rows, whose weights sum to 1."""
    plain = terms.radius == 0
    with np.errstate(over="ignore", invalid="ignore"):
        value = sums.losses if plain else sums.losses + price * terms.radius
    if not (np.isfinite(value) and np.isfinite(sums.sizes)):
        return WorstCaseObjective(value=np.inf, rounding=np.inf, price=price)
    rounding = summation_error(sums.n_rows, sums.n_parts) * value + (2 * sums.longest + 8) * UNIT_ROUNDOFF * sums.sizes
    if not plain:
        # A price raised to the norm of the coefficients is as exact as that norm.
        rounding += norm_rounding(terms.n_numeric) * price * terms.radius
    return WorstCaseObjective(value=value, rounding=rounding, price=price)


def worst_case_objective(problem: PosedRows, coefficients: RobustCoefficients) -> WorstCaseObjective:
    """Objective of the model; with radius 0 the price costs nothing, prices out every shift, and the plain loss remains.

    Parameters
    ----------
    problem : RobustLogisticProblem
    coefficients : RobustCoefficients
        Of the right shapes, finite, with a price at or above 0.
    """
    return objective_from_sums(problem.terms, loss_sums(problem, coefficients), price_of(problem, coefficients))
