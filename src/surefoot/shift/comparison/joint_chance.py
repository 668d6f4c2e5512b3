"""What the cheapest plan between samples of two tables costs, column by column, and what it costs if nothing shifted.

Even two samples of one population are far apart row by row, and the further the more columns there are, so the cost of a plan
says little by itself. Exchanging rows between the samples at random shows what of it is chance, and whether the two differ in
how columns go together, which no column shows alone.

The p value is that of numbers in standard deviations of both samples together. Prices may be those of the first table alone,
and then exchanged samples would not be treated as the two themselves were: where values are far now and then, tables that do
not differ would be said to twice as often as the level allows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from surefoot.core.arrays import FloatArray, RowArray
from surefoot.robust.problem.numeric_norm import NumericNorm
from surefoot.shift.comparison.column_pairs import CategoricalPair, ColumnPair, chosen_rows, row_count
from surefoot.shift.comparison.transport import PricedRows, cheapest_matching, priced_rows


@dataclass(frozen=True, eq=False)
class JointChance:
    """The cost of the cheapest plan between as many rows of both tables.

    Attributes
    ----------
    cost, by_chance : float
        The cost, and its mean over exchanges of rows.
    reach : float
        The greatest cost of these exchanges.
    p_value : float
        The share of exchanges with as great a cost in standard deviations of both samples, the samples as they are among them.
    parts, parts_by_chance : ndarray of shape (n_columns,)
        What each column pays of it, in the mean per row.
    n_rows : int
        Rows of each table.
    """

    cost: float
    by_chance: float
    reach: float
    p_value: float
    parts: FloatArray
    parts_by_chance: FloatArray
    n_rows: int

    @property
    def excess(self) -> float:
        """What is left of the cost without chance; 0 where chance reaches as far."""
        return self.cost - self.by_chance if self.cost > self.reach else 0.0


def joint_chance(
    columns: Sequence[ColumnPair],
    norm: NumericNorm,
    *,
    n_rows: int,
    n_permutations: int,
    n_priced: int,
    rng: np.random.Generator,
) -> JointChance:
    """Match random samples of both tables, and the same rows exchanged at random.

    Parameters
    ----------
    columns : sequence of NumericPair and CategoricalPair
    norm : {"l1", "l2", "linf"}
        Of the prices.
    n_rows : int
        Rows of each sample, no more than either table has.
    n_permutations : int
        Exchanges behind the p value.
    n_priced : int
        Exchanges behind what is paid by chance.
    rng : Generator
    """
    rows = tuple(np.sort(rng.choice(row_count(columns[0], which), n_rows, replace=False)) for which in (0, 1))
    sampled = [chosen_rows(column, (rows[0], rows[1])) for column in columns]
    pool = _Pool(sampled, norm, n_rows)
    total, parts = np.empty(n_priced + 1), np.empty((n_priced + 1, len(columns)))
    for at in range(n_priced + 1):
        order: RowArray = np.arange(2 * n_rows) if at == 0 else rng.permutation(2 * n_rows)
        total[at], parts[at] = pool.match(order)
    standard = _Pool([_in_standard_units(column) for column in sampled], "l1", n_rows)
    found = standard.cost(np.arange(2 * n_rows))
    # Costs that are equal but for rounding are equal.
    reached = sum(standard.cost(rng.permutation(2 * n_rows)) >= found * (1 - 1e-9) for _ in range(n_permutations))
    return JointChance(
        cost=float(total[0]),
        by_chance=float(total[1:].mean()),
        reach=float(total[1:].max()),
        p_value=(1 + reached) / (1 + n_permutations),
        parts=parts[0],
        parts_by_chance=parts[1:].mean(axis=0),
        n_rows=n_rows,
    )


class _Pool:
    """The rows of both samples, those of the first before the others, and the price of every pair."""

    def __init__(self, columns: Sequence[ColumnPair], norm: NumericNorm, n_rows: int) -> None:
        self._n_rows = n_rows
        self._cost, first, second = priced_rows(columns, norm)
        self._rows = PricedRows(np.concatenate([first.numbers, second.numbers]), np.concatenate([first.codes, second.codes]))
        self._costs = self._cost.matrix(self._rows, self._rows)

    def cost(self, order: RowArray) -> float:
        """Of the cheapest matching of the first half of the rows in this order with the second half."""
        return cheapest_matching(self._costs[np.ix_(order[: self._n_rows], order[self._n_rows :])])[1]

    def match(self, order: RowArray) -> tuple[float, FloatArray]:
        """The same, and what each column pays of it."""
        one, other = order[: self._n_rows], order[self._n_rows :]
        partners, paid = cheapest_matching(self._costs[np.ix_(one, other)])
        return paid, self._cost.parts(self._rows[one], self._rows[other[partners]]).mean(axis=0)


def _in_standard_units(column: ColumnPair) -> ColumnPair:
    """The column at a price that does not change if rows are exchanged."""
    if isinstance(column, CategoricalPair):
        return column
    spread = float(np.concatenate(column.values).std())
    return replace(column, unit=1.0, price=1.0 / spread if spread > 0 else 1.0)
