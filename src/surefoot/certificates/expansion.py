"""The loss of a plan's masses, expanded around one model.

    G(beta) = sum_k mass_k softplus(a_k . beta),     a_k = -s_k (1, x_row(k) - centre, zbar_k),

in the coordinates (intercept, numeric columns, non-reference levels). With an intercept, shifting the columns by a centre is a
change of variables; without one the centre must be 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from surefoot.certificates.checked_plan import CheckedPlan
from surefoot.problems.arrays import FloatArray
from surefoot.problems.numeric_columns import as_dense
from surefoot.problems.row_blocks import UNIT_ROUNDOFF, summation_error


@dataclass(frozen=True)
class Expansion:
    """G at one point: value, gradient and Hessian, and what rounding can have done to the first two.

    ``price`` is P = sum_k mass_k price_k, rounded up. ``largest_move`` is max_k sum_j |a_kj| box_j over the given box.
    """

    value: float
    value_error: float
    gradient: FloatArray
    gradient_error: FloatArray
    hessian: FloatArray
    price: float
    largest_move: float


def n_coordinates(plan: CheckedPlan) -> int:
    """Number of coefficients: intercept, numeric columns, levels other than the reference."""
    problem = plan.problem
    return int(problem.fit_intercept) + problem.n_numeric + int((problem.n_levels - 1).sum())


def design_blocks(plan: CheckedPlan, centre: FloatArray) -> Iterator[tuple[FloatArray, FloatArray, float]]:
    """The vectors a_k in coordinates (intercept, numeric, non-reference levels), their masses, and their part of P."""
    problem = plan.problem
    intercept = int(problem.fit_intercept)
    places = [plan.place_matrix(l)[:, 1:] for l in range(problem.n_categorical)]
    for block in plan.blocks(centre):
        design = np.empty((len(block.mass), n_coordinates(plan)))
        design[:, :intercept] = 1.0
        at = intercept + problem.n_numeric
        design[:, intercept:at] = as_dense(block.numeric)
        for l, matrix in enumerate(places):
            design[:, at : at + matrix.shape[1]] = matrix[block.places[:, l]]
            at += matrix.shape[1]
        design *= -block.sign[:, None]
        yield design, block.mass, float(block.mass @ block.price)


def curvature(design: FloatArray, point: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Softplus, its slope and its second derivative at a_k . point."""
    argument = design @ point
    value = np.logaddexp(0.0, argument)
    slope = np.exp(argument - value)
    return value, slope, slope * np.exp(-value)


def expand(plan: CheckedPlan, centre: FloatArray, point: FloatArray, box: FloatArray) -> Expansion:
    """One pass over the entries of the plan."""
    size = len(point)
    value = value_size = price = largest_move = 0.0
    gradient, gradient_size, argument_part = np.zeros(size), np.zeros(size), np.zeros(size)
    hessian = np.zeros((size, size))
    for design, mass, block_price in design_blocks(plan, centre):
        softplus, slope, second = curvature(design, point)
        absolute = np.abs(design)
        terms = absolute @ np.abs(point)
        value += float(mass @ softplus)
        value_size += float((mass * slope) @ terms)
        gradient += (mass * slope) @ design
        gradient_size += (mass * slope) @ absolute
        argument_part += (mass * second * terms) @ absolute
        hessian += (design * (mass * second)[:, None]).T @ design
        price += block_price
        largest_move = max(largest_move, float((absolute @ box).max(initial=0.0)))
    error = summation_error(plan.n_entries)
    # a_k . point is a dot product of ``size`` terms, so it is off by at most (size + 4) roundings of its absolute terms.
    argument_error = (size + 4) * UNIT_ROUNDOFF
    return Expansion(
        value=value,
        value_error=error * value + 2 * argument_error * value_size,
        gradient=gradient,
        gradient_error=error * gradient_size + 2 * argument_error * argument_part,
        hessian=hessian,
        price=price * (1.0 + error),
        largest_move=largest_move,
    )
