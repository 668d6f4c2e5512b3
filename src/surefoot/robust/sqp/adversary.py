"""What the adversary does to a given model.

Row by row, at a given price lambda, the worst shift is exact (see cpp/include/surefoot/robust/worst_case.hpp):

    loss_i = max over shifts of  softplus(-y' score')  -  lambda (ground cost of the shift).

Over the whole table, within a radius, the worst distribution has the expected loss

    sup over Q in the ball of E_Q loss  =  min over lambda >= || (beta_j / gamma_j)_j ||_*  of  lambda radius + sum_i w_i
    loss_i(lambda).

A given model sees the numeric columns through one number, their part beta . x of the score. By Hoelder's inequality (see
:mod:`surefoot.robust.problem.numeric_norm`) the cheapest way to change it by t costs |t| / || (beta_j / gamma_j)_j ||_*,
whatever the norm. So the adversary of a given model needs no more than a table with the single numeric column beta . x, with
coefficient 1 and weight 1 / || (beta_j / gamma_j)_j ||_*, be the original dense or sparse; :func:`steepest_move` says which
columns move. Columns with a range stand beside it as they are: what they gain differs by row.

For a fixed model the right-hand side is convex and piecewise linear in lambda. Two tangents, one falling and one rising, meet
at a new lambda; the search ends when the function meets their crossing, which is then the exact minimum. The worst rows behind
the two tangents are both optimal there, and the mixture of them that spends the radius is a worst-case distribution.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from surefoot.core.arrays import BoolArray, FloatArray, RowArray
from surefoot.robust.problem.ground_cost import GroundCost
from surefoot.robust.problem.numeric_norm import norm_rounding
from surefoot.robust.problem.problem import RobustCoefficients, RobustLogisticProblem
from surefoot.robust.sqp.row_sums import TableRows


@dataclass(frozen=True)
class WorstCaseRows:
    """The worst shift of every row at a given price.

    Attributes
    ----------
    loss : ndarray of shape (n_rows,)
        Worst-case loss, the adversary's price subtracted.
    moved : ndarray of shape (n_rows, n_moves)
        Which moves are made. First which features move: to the level with the lowest coefficient if the final label is +1, the
        highest if it is -1. Then, for each numeric column with a range, whether it goes to the low end and to the high end.
    flipped : ndarray of shape (n_rows,)
        Whether the label flips.
    cost : ndarray of shape (n_rows,)
        Ground cost of the shift.
    """

    loss: FloatArray
    moved: BoolArray
    flipped: BoolArray
    cost: FloatArray


@dataclass(frozen=True)
class WorstCaseDistribution:
    """The adversary's best distribution within the radius, for one model.

    Entry k puts ``mass[k]`` on row ``row[k]`` with the moves ``moved[k]`` made and the label flipped if ``flipped[k]``.

    Attributes
    ----------
    price : float
        lambda, the growth of the worst-case loss per unit of radius.
    expected_loss : float
        Expected loss under the distribution.
    row, moved, flipped, mass
    numeric_budget : float
        The part of the radius spent on numeric columns without a range. The adversary spends it by moving ever less mass ever
        farther along :func:`steepest_move`; it adds ``price * numeric_budget`` to the expected loss in the limit.
    """

    price: float
    expected_loss: float
    row: RowArray
    moved: BoolArray
    flipped: BoolArray
    mass: FloatArray
    numeric_budget: float


def steepest_move(cost: GroundCost, coefficients: FloatArray) -> FloatArray:
    """The move v along the numeric columns that costs 1 and changes the score most: beta . v = || (beta_j / gamma_j)_j ||_*.

    With r_j = |beta_j| / gamma_j, Hoelder's inequality is tight for ::

        l1      v_j = sign(beta_j) / gamma_j for the column with the largest r_j, 0 for all others
        l2      v_j = sign(beta_j) / gamma_j * r_j / || r ||_2
        linf    v_j = sign(beta_j) / gamma_j for every column with a coefficient

    Columns of infinite weight, and those with a range, stay; without a movable coefficient v is 0.

    Parameters
    ----------
    cost : GroundCost
    coefficients : ndarray of shape (n_numeric,)
        beta.
    """
    ratios = np.abs(coefficients) / cost.endless_weights
    largest = float(ratios.max(initial=0.0))
    if largest == 0:
        return np.zeros(ratios.size)
    if cost.numeric_norm == "l1":
        fraction = (np.arange(ratios.size) == np.argmax(ratios)).astype(np.float64)
    elif cost.numeric_norm == "l2":
        fraction = ratios / cost.admitting_price(coefficients)
    else:
        fraction = (ratios > 0).astype(np.float64)
    move: FloatArray = np.sign(coefficients) * fraction / cost.numeric_weights
    return move


def _seen_by(
    problem: RobustLogisticProblem, coefficients: RobustCoefficients, n_threads: int
) -> tuple[TableRows, RobustCoefficients]:
    """The table as the model sees it, with beta . x for a numeric column; see the module docstring."""
    slope = problem.cost.admitting_price(coefficients.numeric)
    weight, ranged = 1.0 / slope if slope > 0 else np.inf, problem.cost.ranged
    cost = replace(problem.cost, numeric_weights=np.array([weight]), numeric_norm="l1", numeric_ranges=None)
    numeric, own = (problem.numeric @ np.where(ranged, 0.0, coefficients.numeric))[:, None], np.ones(1)
    if ranged.any() and problem.cost.numeric_ranges is not None:
        weights = np.append(cost.numeric_weights, problem.cost.numeric_weights[ranged])
        ranges = np.vstack(([-np.inf, np.inf], problem.cost.numeric_ranges[ranged]))
        cost = replace(cost, numeric_weights=weights, numeric_ranges=ranges)
        numeric, own = np.column_stack((numeric, problem.numeric[:, ranged])), np.append(own, coefficients.numeric[ranged])
    return TableRows(replace(problem, numeric=numeric, cost=cost), n_threads), replace(coefficients, numeric=own)


def worst_case_rows(problem: RobustLogisticProblem, coefficients: RobustCoefficients, *, n_threads: int = 1) -> WorstCaseRows:
    """Worst-case loss and worst-case row for every row, at the price in ``coefficients``.

    Parameters
    ----------
    problem : RobustLogisticProblem
        Its radius plays no role here.
    coefficients : RobustCoefficients
        The model, and the price of a unit of shift. Numeric columns stay in place: at a price of at least
        ``|| (beta_j / gamma_j)_j ||_*`` moving them never gains, below it the worst case is unbounded. The norm is the dual of
        the one in the ground cost; for l1 it is ``max_j |beta_j| / gamma_j``.
    n_threads : int

    Returns
    -------
    WorstCaseRows

    Examples
    --------
    >>> import numpy as np
    >>> from surefoot import GroundCost, RobustCoefficients, RobustLogisticProblem, worst_case_rows
    >>> problem = RobustLogisticProblem(
    ...     numeric=np.empty((2, 0)), codes=np.array([[0], [1]]), n_levels=np.array([2]), labels=np.array([-1.0, 1.0]),
    ...     weights=np.array([0.5, 0.5]), cost=GroundCost(np.empty(0), np.array([1.0])), radius=0.1)
    >>> model = RobustCoefficients(intercept=-1.0, numeric=np.empty(0), levels=np.array([0.0, 2.0]), price=0.25)
    >>> worst = worst_case_rows(problem, model)
    >>> worst.moved.ravel().tolist()
    [True, True]
    >>> [round(value, 4) for value in worst.loss.tolist()]
    [1.0633, 1.0633]
    """
    least = problem.cost.admitting_price(coefficients.numeric)
    # A price that was set to the norm by somebody who adds in another order is not too low.
    if least > coefficients.price * (1.0 + norm_rounding(problem.n_numeric)):
        norm = "max_j |beta_j| / gamma_j" if problem.cost.numeric_norm == "l1" else "|| (beta_j / gamma_j)_j ||_*"
        raise ValueError(
            f"price = {coefficients.price} is below {norm} = {least}: moving a numeric column for ever pays at that price, "
            "and the worst case is infinite."
        )
    rows, model = _seen_by(problem, coefficients, n_threads)
    return _worst_rows(rows, rows.lift(model))


def _worst_rows(rows: TableRows, x: FloatArray) -> WorstCaseRows:
    worst = rows.native.worst_case_rows(x, rows.n_threads)
    shape = (rows.problem.n_rows, rows.terms.n_moves)
    return WorstCaseRows(worst.loss, worst.moved.view(np.bool_).reshape(shape), worst.flipped.view(np.bool_), worst.cost)


# Above every price of a table in ordinary units.
_FIRST_PRICE = 1e9
# A dozen are enough; more are rounding.
_MOST_CROSSINGS = 1000


@dataclass(frozen=True)
class _Tangent:
    """lambda -> value + slope (lambda - price), touching the worst-case loss at ``price``."""

    price: float
    value: float
    slope: float
    rows: WorstCaseRows


def worst_case_distribution(
    problem: RobustLogisticProblem, coefficients: RobustCoefficients, *, n_threads: int = 1
) -> WorstCaseDistribution:
    """The distribution within the radius that hurts the model most; the price in ``coefficients`` is not used."""
    rows, model = _seen_by(problem, coefficients, n_threads)
    x = rows.lift(replace(model, price=0.0))
    weights = problem.weights

    def tangent(price: float) -> _Tangent:
        x[rows.price_slot] = price
        worst = _worst_rows(rows, x)
        value = price * problem.radius + float(weights @ worst.loss)
        return _Tangent(price, value, problem.radius - float(weights @ worst.cost), worst)

    least = rows.least_price(x)
    deterring = min(rows.deterring_price(x), rows.PROHIBITIVE)  # shifts that cost next to nothing are deterred by none
    if problem.radius == 0:
        return _mixture(problem, tangent(deterring), tangent(deterring), 0.0, deterring)
    left = tangent(least)
    if left.slope >= 0:
        # The price cannot fall further; what the categories leave of the radius goes to the numeric columns.
        return _mixture(problem, left, left, left.slope if least > 0 else 0.0, least)
    # Any price at which the radius is not used up will do, and numbers far beyond those of the losses drown them.
    right = tangent(min(deterring, max(least, _FIRST_PRICE)))
    while right.slope < 0 and right.price < deterring:
        right = tangent(min(1e3 * right.price, deterring))
    if right.slope < 0:  # no price deters shifts that cost next to nothing, and there is hardly a radius
        return _mixture(problem, right, right, 0.0, right.price)
    crossing = right.price
    for _ in range(_MOST_CROSSINGS):
        crossing = (right.value - left.value + left.slope * left.price - right.slope * right.price) / (left.slope - right.slope)
        crossing = min(max(crossing, left.price), right.price)
        new = tangent(crossing)
        lower = left.value + left.slope * (crossing - left.price)
        if new.value <= lower + 1e-13 * abs(lower) or crossing in (left.price, right.price):
            return _mixture(problem, left, right, 0.0, crossing)
        if new.slope < 0:
            left = new
        else:
            right = new
    return _mixture(problem, left, right, 0.0, crossing)


def _mixture(
    problem: RobustLogisticProblem, left: _Tangent, right: _Tangent, numeric_budget: float, price: float
) -> WorstCaseDistribution:
    """The mixture of two tangents' rows whose slopes cancel; rows that both shift alike stay one entry."""
    fraction = right.slope / (right.slope - left.slope) if right.slope > left.slope else 1.0
    same = (left.rows.moved == right.rows.moved).all(axis=1) & (left.rows.flipped == right.rows.flipped)
    everyone = np.arange(problem.n_rows)
    row = np.concatenate((everyone, everyone[~same]))
    order = np.argsort(row, kind="stable")
    mass = np.concatenate((problem.weights * np.where(same, 1.0, fraction), problem.weights[~same] * (1.0 - fraction)))
    value = left.value + left.slope * (price - left.price)
    return WorstCaseDistribution(
        price=price,
        expected_loss=value,
        row=row[order],
        moved=np.concatenate((left.rows.moved, right.rows.moved[~same]))[order],
        flipped=np.concatenate((left.rows.flipped, right.rows.flipped[~same]))[order],
        mass=mass[order],
        numeric_budget=numeric_budget,
    )
