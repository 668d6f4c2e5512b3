"""The cheapest way to turn the rows of one table into those of another, all columns at once.

    min over plans P >= 0 with equal row sums 1/n_a and equal column sums 1/n_b   of   sum_ij P_ij c(row i of a, row j of b)

with the cost of a robust model, || (price_j |x_j - x'_j|)_j || + sum_l price_l 1[z_l != z'_l]. As many rows of each table make
it an assignment problem. Both bounds below are facts about the two tables, whoever found the plan: the cost of a plan that is
one bounds the optimum from above, and potentials with u_i + v_j <= c_ij bound it from below by mean(u) + mean(v).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

from surefoot.core.arrays import FloatArray, RowArray
from surefoot.robust.problem.numeric_norm import NumericNorm
from surefoot.shift.comparison.column_pairs import CategoricalPair, ColumnPair, row_count

_METRICS: dict[NumericNorm, str] = {"l1": "cityblock", "l2": "euclidean", "linf": "chebyshev"}
# Passes over the cost matrix in search of potentials; those found by then prove what they prove.
_MOST_PASSES = 300


@dataclass(frozen=True, eq=False)
class PricedRows:
    """Rows of a table as points whose distance is a price.

    Attributes
    ----------
    numbers : ndarray of shape (n_rows, n_numeric)
        Times their prices.
    codes : ndarray of shape (n_rows, n_changes)
        Levels, and whether a number is missing.
    """

    numbers: FloatArray
    codes: RowArray

    def __getitem__(self, rows: RowArray) -> PricedRows:
        return PricedRows(self.numbers[rows], self.codes[rows])


@dataclass(frozen=True, eq=False)
class JointCost:
    """The price of turning one row into another.

    Attributes
    ----------
    prices : ndarray of shape (n_changes,)
    norm : {"l1", "l2", "linf"}
    number_columns, change_columns : ndarray
        The column that each number and each change belongs to.
    n_columns : int
    """

    prices: FloatArray
    norm: NumericNorm
    number_columns: RowArray
    change_columns: RowArray
    n_columns: int

    def matrix(self, first: PricedRows, second: PricedRows) -> FloatArray:
        """The price of every pair of rows."""
        costs: FloatArray = np.zeros((len(first.codes), len(second.codes)))
        if first.numbers.shape[1]:
            costs += cdist(first.numbers, second.numbers, _METRICS[self.norm])
        for at, price in enumerate(self.prices):
            costs += price * (first.codes[:, at, None] != second.codes[None, :, at])
        return costs

    def parts(self, first: PricedRows, second: PricedRows) -> FloatArray:
        """What each column pays where row k of the one becomes row k of the other: shape (n_rows, n_columns), sums the prices.

        Norms other than l1 are shared out by v_j d||v|| / dv_j, which adds up to ||v||.
        """
        moves = np.abs(first.numbers - second.numbers)
        if self.norm == "l2":
            length = np.sqrt(np.square(moves).sum(axis=1, keepdims=True))
            moves = np.square(moves) / np.where(length > 0, length, 1.0)
        elif self.norm == "linf" and moves.shape[1]:
            largest = moves == moves.max(axis=1, keepdims=True)
            moves = moves * largest / largest.sum(axis=1, keepdims=True)
        changes = (first.codes != second.codes) * self.prices
        found = np.zeros((len(moves), self.n_columns))
        for at, column in enumerate(self.number_columns):
            found[:, column] += moves[:, at]
        for at, column in enumerate(self.change_columns):
            found[:, column] += changes[:, at]
        return found


def priced_rows(columns: Sequence[ColumnPair], norm: NumericNorm) -> tuple[JointCost, PricedRows, PricedRows]:
    """Both tables as points; columns that are not counted take no part."""
    numbers: list[tuple[int, tuple[FloatArray, FloatArray]]] = []
    changes: list[tuple[int, float, tuple[RowArray, RowArray]]] = []
    for at, column in enumerate(columns):
        if not column.counted:
            continue
        if isinstance(column, CategoricalPair):
            changes.append((at, column.price, column.codes))
            continue
        first, second = column.values
        numbers.append((at, (first * column.scaled_price, second * column.scaled_price)))
        if column.gap_price > 0 and (column.gaps[0].any() or column.gaps[1].any()):
            changes.append((at, column.gap_price, (column.gaps[0].astype(np.intp), column.gaps[1].astype(np.intp))))
    tables = []
    for which in (0, 1):
        n_rows = row_count(columns[0], which)
        block = np.column_stack([pair[which] for _, pair in numbers]) if numbers else np.zeros((n_rows, 0))
        codes = np.column_stack([pair[which] for _, _, pair in changes]) if changes else np.zeros((n_rows, 0), dtype=np.intp)
        tables.append(PricedRows(block, codes))
    cost = JointCost(
        prices=np.array([price for _, price, _ in changes], dtype=np.float64),
        norm=norm,
        number_columns=np.array([at for at, _ in numbers], dtype=np.intp),
        change_columns=np.array([at for at, _, _ in changes], dtype=np.intp),
        n_columns=len(columns),
    )
    return cost, tables[0], tables[1]


def cheapest_matching(costs: FloatArray) -> tuple[RowArray, float]:
    """For every row of as many rows its partner, and the mean price."""
    rows, partners = linear_sum_assignment(costs)
    return partners, float(costs[rows, partners].mean())


@dataclass(frozen=True)
class TransportBounds:
    """Lower and upper bound of the cost of the cheapest plan between two tables, rounding included."""

    lower: float
    upper: float


def transport_bounds(cost: JointCost, first: PricedRows, second: PricedRows) -> TransportBounds:
    """Bounds for all rows of both tables, from a plan and from potentials.

    The rows of the smaller table are repeated until both are about as long, and matched; what is left of rows goes where it is
    cheapest.
    """
    costs = cost.matrix(first, second)
    if costs.shape[0] > costs.shape[1]:
        costs = costs.T
    n_few, n_many = costs.shape
    repeats = max(1, round(n_many / n_few))
    slots = np.repeat(np.arange(n_few), repeats)
    rows, partners = linear_sum_assignment(costs[slots])
    # In whole units: a row of the few holds n_many * repeats of them, one of the many n_few * repeats, a match moves the least.
    unit = min(n_many, n_few * repeats)
    total = n_few * n_many * repeats
    left, room = np.full(n_few, n_many * repeats), np.full(n_many, n_few * repeats)
    np.subtract.at(left, slots[rows], unit)
    np.subtract.at(room, partners, unit)
    paid = unit / total * float(costs[slots[rows], partners].sum()) + _rest(costs, left, room) / total
    lower = _potential_bound(costs, slots[rows], partners)
    # Prices are sums of a few rounded terms; a hundred roundings of the largest number cover both bounds.
    largest = float(np.abs(costs).max(initial=0.0)) + sum(
        float(np.abs(table.numbers).max(initial=0.0)) for table in (first, second)
    )
    width = (100 + first.numbers.shape[1] + first.codes.shape[1]) * np.finfo(np.float64).eps * largest
    return TransportBounds(max(lower - width, 0.0), float(paid + width))


def exchanged(first: PricedRows, second: PricedRows, rng: np.random.Generator) -> tuple[PricedRows, PricedRows]:
    """Both tables after a random exchange of rows: tables of this size that differ by chance alone."""
    pool = PricedRows(np.concatenate([first.numbers, second.numbers]), np.concatenate([first.codes, second.codes]))
    order: RowArray = rng.permutation(len(pool.numbers))
    return pool[order[: len(first.numbers)]], pool[order[len(first.numbers) :]]


def _rest(costs: FloatArray, left: RowArray, room: RowArray) -> float:
    """The price of what the matching has not moved, row by row to the cheapest places with room; fills ``room``."""
    paid = 0.0
    for row in np.flatnonzero(left > 0):
        for place in np.argsort(costs[row], kind="stable"):
            moved = min(int(left[row]), int(room[place]))
            if moved == 0:
                continue
            paid += moved * float(costs[row, place])
            left[row] -= moved
            room[place] -= moved
            if left[row] == 0:
                break
    return paid


def _potential_bound(costs: FloatArray, rows: RowArray, partners: RowArray) -> float:
    """Potentials from the matching by shortest paths (Bellman and Ford), made feasible for all rows, whatever they are."""
    # u_i + v_j <= c_ij with equality on matches is v_j <= v_p(i) + c_ij - c_ip(i).
    matched = costs[np.ix_(rows, partners)]
    room = matched - np.diagonal(matched)[:, None]
    known = np.zeros(partners.size)
    for _ in range(_MOST_PASSES):
        better = np.minimum((room + known[:, None]).min(axis=0), known)
        if np.array_equal(better, known):
            break
        known = better
    of_rows = (costs[:, partners] - known[None, :]).min(axis=1)
    of_columns = (costs - of_rows[:, None]).min(axis=0)
    return float(of_rows.mean() + of_columns.mean())
