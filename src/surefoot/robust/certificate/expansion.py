"""Second-order expansion of the loss of a plan's masses around one model.

    G(beta) = sum_k mass_k softplus(a_k . beta),     a_k = -s_k (1, x_row(k) - centre, zbar_k),

in the coordinates (intercept, numeric columns, non-reference levels). With an intercept, shifting the columns by a centre is a
change of variables; without one the centre must be 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.core.row_blocks import UNIT_ROUNDOFF, summation_error
from surefoot.robust.certificate.checked_plan import CheckedPlan
from surefoot.robust.problem.numeric_columns import as_dense
from surefoot.robust.problem.terms import Terms


@dataclass(frozen=True)
class Expansion:
    """G at one point: value, gradient and Hessian, and what rounding can have done to the first two.

    ``price`` is P = sum_k mass_k price_k, rounded up. ``largest_move`` is max_k sum_j |a_kj| box_j over the given box.
    ``rounding`` is the largest error of a sum over the entries, relative to the absolute values of its terms.
    """

    value: float
    value_error: float
    gradient: FloatArray
    gradient_error: FloatArray
    hessian: FloatArray
    price: float
    largest_move: float
    rounding: float


@dataclass(frozen=True)
class ExpansionSums:
    """The sums behind an expansion over some entries; those of the parts of a table add up to those of the table.

    ``value_size``, ``gradient_size`` and ``argument_part`` are what rounding is relative to; ``mass`` is that of all entries.
    """

    mass: float
    value: float
    value_size: float
    gradient: FloatArray
    gradient_size: FloatArray
    argument_part: FloatArray
    hessian: FloatArray
    price: float
    largest_move: float
    n_entries: int
    n_parts: int = 1

    def __add__(self, other: ExpansionSums) -> ExpansionSums:
        return ExpansionSums(
            self.mass + other.mass,
            self.value + other.value,
            self.value_size + other.value_size,
            self.gradient + other.gradient,
            self.gradient_size + other.gradient_size,
            self.argument_part + other.argument_part,
            self.hessian + other.hessian,
            self.price + other.price,
            max(self.largest_move, other.largest_move),
            self.n_entries + other.n_entries,
            self.n_parts + other.n_parts,
        )


def n_coordinates(terms: Terms) -> int:
    """Number of coefficients: intercept, numeric columns, levels other than the reference."""
    return int(terms.fit_intercept) + terms.n_numeric + int((terms.n_levels - 1).sum())


def design_blocks(plan: CheckedPlan, centre: FloatArray) -> Iterator[tuple[FloatArray, FloatArray, float]]:
    """The vectors a_k in coordinates (intercept, numeric, non-reference levels), their masses, and their part of P."""
    problem = plan.problem
    intercept = int(problem.fit_intercept)
    places = [plan.place_matrix(l)[:, 1:] for l in range(problem.n_categorical)]
    for block in plan.blocks(centre):
        design = np.empty((len(block.mass), n_coordinates(problem.terms)))
        design[:, :intercept] = 1.0
        at = intercept + problem.n_numeric
        design[:, intercept:at] = as_dense(block.numeric)
        for l, matrix in enumerate(places):
            design[:, at : at + matrix.shape[1]] = matrix[block.places[:, l]]
            at += matrix.shape[1]
        design *= -block.sign[:, None]
        yield design, block.mass, float(block.mass @ block.price)


def softplus_derivatives(design: FloatArray, point: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Softplus, its slope and its second derivative at a_k . point."""
    argument = design @ point
    value = np.logaddexp(0.0, argument)
    slope = np.exp(argument - value)
    return value, slope, slope * np.exp(-value)


def expansion_sums(plan: CheckedPlan, centre: FloatArray, point: FloatArray, box: FloatArray) -> ExpansionSums:
    """One pass over the entries of the plan."""
    size = len(point)
    total = value = value_size = price = largest_move = 0.0
    gradient, gradient_size, argument_part = np.zeros(size), np.zeros(size), np.zeros(size)
    hessian = np.zeros((size, size))
    for design, mass, block_price in design_blocks(plan, centre):
        softplus, slope, second = softplus_derivatives(design, point)
        absolute = np.abs(design)
        terms = absolute @ np.abs(point)
        total += float(mass.sum())
        value += float(mass @ softplus)
        value_size += float((mass * slope) @ terms)
        gradient += (mass * slope) @ design
        gradient_size += (mass * slope) @ absolute
        argument_part += (mass * second * terms) @ absolute
        hessian += (design * (mass * second)[:, None]).T @ design
        price += block_price
        largest_move = max(largest_move, float((absolute @ box).max(initial=0.0)))
    return ExpansionSums(
        total, value, value_size, gradient, gradient_size, argument_part, hessian, price, largest_move, plan.n_entries
    )


def expansion_from_sums(sums: ExpansionSums) -> Expansion:
    """The expansion over all entries, with what rounding can have done to it."""
    error = summation_error(sums.n_entries, sums.n_parts)
    # a_k . point is a dot product of ``size`` terms, so it is off by at most (size + 4) roundings of its absolute terms.
    argument_error = (len(sums.gradient) + 4) * UNIT_ROUNDOFF
    return Expansion(
        value=sums.value,
        value_error=error * sums.value + 2 * argument_error * sums.value_size,
        gradient=sums.gradient,
        gradient_error=error * sums.gradient_size + 2 * argument_error * sums.argument_part,
        hessian=sums.hessian,
        price=sums.price * (1.0 + error),
        largest_move=sums.largest_move,
        rounding=error,
    )


def longest_entry(plan: CheckedPlan, centre: FloatArray, point: FloatArray, whitening: FloatArray) -> float:
    """max_k |a_k whitening|^2 over the entries with curvature; the largest of all parts is that of the table."""
    longest = 0.0
    for design, _, _ in design_blocks(plan, centre):
        _, _, second = softplus_derivatives(design, point)
        # An entry whose curvature underflows contributes none; its linearisation is a sufficient bound.
        lengths = np.square(design[second > 0] @ whitening).sum(axis=1)
        longest = max(longest, float(lengths.max(initial=0.0)))
    return longest
