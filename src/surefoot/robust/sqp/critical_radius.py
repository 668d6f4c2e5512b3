"""The radius above which only the intercept survives, in closed form; what lambda_max is to the lasso.

Take the model without features: beta = 0, price 0, intercept b = log(W_+ / W_-), where W_y is the weight of the rows with
label y and W = W_+ + W_-. The loss of its rows has the slopes

    tau_+ = W_- / W   for label +1,     tau_- = W_+ / W   for label -1,     tau* = max(tau_+, tau_-), that of label y*.

Let A_y(c) = sum of w_i tau_y over the rows with label y at level c of feature l. Since W_+ tau_+ = W_- tau_-, both labels carry
the same total over the levels of a feature, and

    E_l = sum_c max(0, A_+(c) - A_-(c)) = sum_c max(0, A_-(c) - A_+(c)),     g_j = - sum_i w_i tau_(y_i) y_i x_ij.

Claim. If labels never flip (kappa = inf), the model without features is optimal if and only if

    radius >= critical = sum_l delta_l E_l / tau* + || (gamma_j g_j)_j ||.                                             (1)

The norm is that of the ground cost (:mod:`surefoot.robust.problem.numeric_norm`).

At or above it. Let y* = +1 (the other case mirrors it). Rows with label +1 at a level c with A_+(c) > A_-(c) move the fraction

    f(c) = (A_+(c) - A_-(c)) / A_+(c)

of their mass to the levels that lack it, in proportion to A_-(c) - A_+(c): this is the ``lowest`` mix of a plan. Afterwards
both labels weigh the same at every level, so with slopes tau_y the gradient of :class:`ShiftPlan` vanishes on the intercept and
on all levels; on the numeric columns it is g, because moves do not touch these. Moving the feature costs delta_l times the
moved mass, E_l / tau*. A row must move each of its features with the right fraction, but whatever the fractions, it can move
them in a chain: with its features sorted such that f_1 >= f_2 >= ... >= f_m, the mass w (1 - f_1) stays, w (f_1 - f_2) moves
the first feature, w (f_2 - f_3) the first two, and so on, and w f_m moves all. The plan spends (1), and what it proves,

    - sum_i w_i f*(tau_(y_i)) = - W_+ log(W_+ / W) - W_- log(W_- / W),

is the loss of the model.

Below it. Move away from the model along a ray: for t > 0, price lambda = t, numeric coefficients -t gamma_j u_j, where u
has dual norm 1 and u . (gamma_j g_j)_j = || (gamma_j g_j)_j ||, the level coefficient t delta_l / tau* wherever A_+(c) > A_-(c)
and 0 elsewhere (subtracting the reference level's from all levels and adding it to the intercept changes no score). A shift of
feature l raises the argument of a row's loss by at most t delta_l / tau*, and the loss by that times a slope of at most tau* +
O(t): by no more than its price t delta_l, up to O(t^2). So shifts gain nothing in first order, not even several at once, and
the objective is

    loss of the model + t radius - t sum_l (delta_l / tau*) sum_c max(0, A_+(c) - A_-(c)) - t || (gamma_j g_j)_j || + O(t^2)
    = loss of the model + t (radius - critical) + O(t^2),

less than the model's for small t. A column with an infinite weight may take any step along its ray, so (1) is infinite if
such a column has E_l > 0 or g_j != 0, and otherwise the column does not count.

Rounding
--------
Numeric columns are centred: sum_i w_i tau_(y_i) y_i = 0, so a shift of the column does not change g, but it would drown it. A
difference A_+(c) - A_-(c), or a sum g_j, that is within the error of its own summation counts as 0; otherwise a balanced
column of infinite weight would make (1) infinite, and a balanced one of finite weight would move negligible masses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from surefoot.core.arrays import BoolArray, FloatArray, RowArray
from surefoot.core.row_blocks import row_blocks, summation_error
from surefoot.robust.problem.coefficient_bounds import numeric_centre
from surefoot.robust.problem.column_moments import BatchSums
from surefoot.robust.problem.problem import RobustCoefficients, RobustLogisticProblem, ShiftPlan
from surefoot.robust.problem.row_batch import PosedRows
from surefoot.robust.problem.terms import Terms


@dataclass(frozen=True)
class CriticalRadiusParameters:
    """How the plan above the critical radius is laid out; not tuned."""

    chain_rows: int = 65536  # rows whose chains are laid out at a time: with ten features, scratch arrays of some 50 megabytes
    # Fractions that agree in theory (features that mirror each other) differ in the last digits; on this grid they agree again
    # and the chain needs no entry between them. Its step is below the rounding that certificates charge for sums of masses.
    fraction_grid: float = 2.0**46


PARAMETERS = CriticalRadiusParameters()


@dataclass(frozen=True)
class _Imbalance:
    """What cancelling the gradient of the model without features takes.

    Attributes
    ----------
    positive, negative : float
        W_+ and W_-.
    tau_positive, tau_negative : float
    moving_label : float
        y*, the label with the larger slope, that is the rarer one.
    excess : ndarray of shape (sum(n_levels),)
        A_+(c) - A_-(c) for y* = +1, A_-(c) - A_+(c) for y* = -1; 0 within a feature that is balanced.
    held : ndarray of shape (sum(n_levels),)
        A_(y*)(c).
    to_move : ndarray of shape (n_categorical,)
        E_l.
    gradient : ndarray of shape (n_numeric,)
        g.
    """

    positive: float
    negative: float
    tau_positive: float
    tau_negative: float
    moving_label: float
    excess: FloatArray
    held: FloatArray
    to_move: FloatArray
    gradient: FloatArray

    def spending(self, problem: PosedRows | Terms) -> float:
        """The right-hand side of (1)."""
        steepest = max(self.tau_positive, self.tau_negative)
        # Not a plain product: inf * 0 is a column that need not move.
        needed = self.to_move > 0
        moves = float(np.sum(problem.cost.categorical_weights[needed] * self.to_move[needed])) / steepest
        return moves + problem.cost.numeric_price(self.gradient)


def _imbalance(problem: RobustLogisticProblem) -> _Imbalance | None:
    """One pass over the rows; None where the closed form does not apply or the numbers overflow."""
    above = problem.labels > 0
    positive, negative = float(problem.weights[above].sum()), float(problem.weights[~above].sum())
    if not _applies(problem.terms, positive, negative):
        return None
    tau_positive, tau_negative = negative / (positive + negative), positive / (positive + negative)
    centre = numeric_centre(problem)
    level_sums = [np.zeros(2 * int(count)) for count in problem.n_levels]
    gradient, size = np.zeros(problem.n_numeric), np.zeros(problem.n_numeric)
    for rows in row_blocks(problem.n_rows):
        below = ~above[rows]
        slope_mass = problem.weights[rows] * np.where(below, tau_negative, tau_positive)
        for l, count in enumerate(problem.n_levels):
            level_sums[l] += np.bincount(problem.codes[rows, l] + count * below, weights=slope_mass, minlength=2 * int(count))
        # The centre of sparse columns is 0: centred they would be dense.
        centred = problem.numeric[rows] if problem.is_sparse else problem.numeric[rows] - centre
        gradient += np.where(below, slope_mass, -slope_mass) @ centred
        size += slope_mass @ abs(centred)
    pairs = [slope_mass.reshape(2, -1) for slope_mass in level_sums]
    return _from_sums(problem.terms, positive, negative, pairs, gradient, size, summation_error(problem.n_rows))


def _applies(terms: Terms, positive: float, negative: float) -> bool:
    """Whether there is a closed form."""
    if not terms.fit_intercept or np.isfinite(terms.cost.label_weight) or terms.cost.ranged.any():
        return False
    return positive > 0 and negative > 0


def _from_sums(
    terms: Terms,
    positive: float,
    negative: float,
    level_sums: Sequence[FloatArray],
    gradient: FloatArray,
    size: FloatArray,
    error: float,
) -> _Imbalance | None:
    """The imbalance behind sums over all rows: per feature A_+ and A_-, g, and what the rounding of g is relative to."""
    if not (np.isfinite(gradient).all() and np.isfinite(size).all()):
        return None
    tau_positive, tau_negative = negative / (positive + negative), positive / (positive + negative)
    gradient = np.where(np.abs(gradient) <= error * size, 0.0, gradient)
    moving_label = 1.0 if tau_positive >= tau_negative else -1.0
    excess, held = (np.zeros(int(terms.level_offsets[-1])) for _ in range(2))
    to_move = np.zeros(terms.n_categorical)
    for l, slope_mass in enumerate(level_sums):
        levels = slice(terms.level_offsets[l], terms.level_offsets[l + 1])
        own, other = slope_mass[:: int(moving_label)]
        surplus = np.where(np.abs(own - other) <= error * (own + other), 0.0, own - other)
        held[levels] = own
        # Next to the threshold, rounding can leave a surplus without a place to go to, or the reverse.
        if surplus.max() > 0 > surplus.min():
            excess[levels] = surplus
            to_move[l] = surplus[surplus > 0].sum()
    return _Imbalance(positive, negative, tau_positive, tau_negative, moving_label, excess, held, to_move, gradient)


def critical_radius(problem: RobustLogisticProblem) -> float | None:
    """The smallest radius at which the model without features is optimal.

        sum_l delta_l E_l / max(tau_+, tau_-) + || (gamma_j g_j)_j ||

    Parameters
    ----------
    problem : RobustLogisticProblem
        Its own radius does not matter.

    Returns
    -------
    float or None
        ``inf`` if a column that never shifts tells the labels apart. None where there is no such closed form: without an
        intercept, with a finite label price, with a numeric column that has a range, with rows of one label only, or where
        columns are too large for double precision.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        imbalance = _imbalance(problem)
        return None if imbalance is None else imbalance.spending(problem)


def intercept_only(problem: RobustLogisticProblem) -> tuple[RobustCoefficients, ShiftPlan] | None:
    """The model without features and the plan that proves it optimal, or None below the critical radius.

    Parameters
    ----------
    problem : RobustLogisticProblem

    Returns
    -------
    (RobustCoefficients, ShiftPlan) or None
        Entries of the plan are in the order of the rows; rows without weight have none.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        imbalance = _imbalance(problem)
        if imbalance is None or not problem.radius >= imbalance.spending(problem):
            return None
    return _featureless(problem.terms, imbalance), _balancing_plan(problem, imbalance)


def _featureless(terms: Terms, imbalance: _Imbalance) -> RobustCoefficients:
    return RobustCoefficients(
        intercept=float(np.log(imbalance.positive) - np.log(imbalance.negative)),
        numeric=np.zeros(terms.n_numeric),
        levels=np.zeros(int(terms.level_offsets[-1])),
        price=0.0,
    )


@dataclass(frozen=True)
class InterceptOnly:
    """The model without features, optimal for a table that is read in parts, and the plan of each part."""

    coefficients: RobustCoefficients
    imbalance: _Imbalance

    def plan(self, part: PosedRows) -> ShiftPlan:
        """The plan of some rows; the balance holds over all of them."""
        return _balancing_plan(part, self.imbalance)


def intercept_only_from_sums(terms: Terms, sums: BatchSums) -> InterceptOnly | None:
    """The same for a table of which only the sums are at hand, weights and columns in the units of the terms."""
    with np.errstate(over="ignore", invalid="ignore"):
        imbalance = _imbalance_of_sums(terms, sums)
        if imbalance is None or not terms.radius >= imbalance.spending(terms):
            return None
    return InterceptOnly(_featureless(terms, imbalance), imbalance)


def critical_radius_from_sums(terms: Terms, sums: BatchSums) -> float | None:
    """:func:`critical_radius` of a table of which only the sums are at hand, columns in the units of the terms."""
    with np.errstate(over="ignore", invalid="ignore"):
        imbalance = _imbalance_of_sums(terms, sums)
        return None if imbalance is None else imbalance.spending(terms)


def _imbalance_of_sums(terms: Terms, sums: BatchSums) -> _Imbalance | None:
    if not _applies(terms, sums.positive.weight, sums.negative.weight):
        return None
    total = sums.positive.weight + sums.negative.weight
    positive, negative = sums.positive.weight / total, sums.negative.weight / total
    centre = np.zeros(terms.n_numeric) if sums.is_sparse else sums.all_rows.mean
    # W_+ tau_+ = W_- tau_- = W_+ W_-, and mean sizes are at most their root mean squares.
    gradient = positive * negative * (sums.negative.mean_from(centre) - sums.positive.mean_from(centre))
    size = positive * negative * (sums.positive.size_about(centre) + sums.negative.size_about(centre))
    level_sums = [
        np.vstack(
            (
                sums.positive_levels[start:stop] / total * negative,
                sums.negative_levels[start:stop] / total * positive,
            )
        )
        for start, stop in pairwise(terms.level_offsets)
    ]
    return _from_sums(terms, positive, negative, level_sums, gradient, size, summation_error(sums.n_rows))


def _balancing_plan(problem: PosedRows, imbalance: _Imbalance) -> ShiftPlan:
    """The plan of the module docstring."""
    surplus = np.maximum(imbalance.excess, 0.0)
    fractions = np.divide(surplus, imbalance.held, out=np.zeros_like(surplus), where=surplus > 0)
    fractions = np.rint(fractions * PARAMETERS.fraction_grid) / PARAMETERS.fraction_grid
    row, moved, mass = _chains(problem, fractions, imbalance.moving_label)
    onto = _proportions(problem, np.maximum(-imbalance.excess, 0.0))
    unused = _proportions(problem, np.zeros_like(surplus))
    to_lowest = imbalance.moving_label > 0
    return ShiftPlan(
        row=row,
        moved=moved,
        flipped=np.zeros(row.size, dtype=np.bool_),
        mass=mass,
        slope=np.where(problem.labels[row] > 0, imbalance.tau_positive, imbalance.tau_negative),
        lowest=onto if to_lowest else unused,
        highest=unused if to_lowest else onto,
    )


def _proportions(problem: PosedRows, amounts: FloatArray) -> FloatArray:
    """Amounts per level as probabilities within each feature; the reference level where there are none."""
    feature = np.repeat(np.arange(problem.n_categorical), problem.n_levels)
    total = np.bincount(feature, weights=amounts, minlength=problem.n_categorical)
    mix: FloatArray = amounts / np.where(total > 0, total, 1.0)[feature]
    mix[problem.level_offsets[:-1][total <= 0]] = 1.0
    return mix


def _chains(problem: PosedRows, fractions: FloatArray, moving_label: float) -> tuple[RowArray, BoolArray, FloatArray]:
    """Rows, moved features and masses of entries that move each feature of each row with the fraction of its level."""
    offsets = problem.level_offsets
    busy = np.flatnonzero([bool(fractions[offsets[l] : offsets[l + 1]].any()) for l in range(problem.n_categorical)])
    row: list[RowArray] = []
    moved: list[BoolArray] = []
    mass: list[FloatArray] = []
    for start in range(0, problem.n_rows, PARAMETERS.chain_rows):
        rows = slice(start, min(start + PARAMETERS.chain_rows, problem.n_rows))
        wanted = fractions[problem.codes[rows][:, busy] + offsets[busy]]
        wanted[problem.labels[rows] != moving_label] = 0.0
        order = np.argsort(-wanted, axis=1, kind="stable")
        # Place of each feature in its row's chain: a link of depth k moves the features at places 0 to k - 1.
        place = np.empty(order.shape, dtype=np.int32)
        np.put_along_axis(place, order, np.arange(busy.size, dtype=np.int32)[None, :], axis=1)
        falling = np.take_along_axis(wanted, order, axis=1)
        links = -np.diff(falling, axis=1, prepend=1.0, append=0.0) * problem.weights[rows, None]
        at, depth = np.nonzero(links)
        moves = np.zeros((at.size, problem.n_categorical), dtype=np.bool_)
        moves[:, busy] = place[at] < depth[:, None]
        row.append(at + start)
        moved.append(moves)
        mass.append(links[at, depth])
    if not row:  # a part of a table may be empty
        return np.empty(0, np.int64), np.empty((0, problem.n_categorical), np.bool_), np.empty(0)
    return np.concatenate(row), np.concatenate(moved), np.concatenate(mass)
