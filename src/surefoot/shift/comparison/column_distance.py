"""How far a column moved, exactly, and how far chance alone moves it.

Numbers: the Wasserstein distance of the two samples times the price of a unit, the least that any matching of the rows pays,

    price * integral |F_a(t) - F_b(t)| dt,

plus the price of a gap times the change of their share. Categories: the price of a change times the total variation
1/2 sum_k |p_k - q_k|. If both tables are draws from one population, their rows are exchangeable: exchanging rows between the
tables at random says what chance does, all columns with the same exchange, so that their dependence counts.

From these exchanges follow p values by the largest standardised distance (Westfall and Young 1993, single step): if nothing has
shifted, one column or more is called shifted with at most the level's probability, however many columns there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from surefoot.core.arrays import BoolArray, FloatArray, RowArray
from surefoot.shift.comparison.column_pairs import CategoricalPair, ColumnPair, NumericPair


@dataclass(frozen=True, eq=False)
class PooledColumn:
    """A column of both tables as counts per distinct value.

    Attributes
    ----------
    codes : ndarray of shape (n_a + n_b,)
        Place of each row's value among the distinct ones, in their order.
    steps : ndarray or None
        Price of going from one distinct value to the next; None for categories.
    price : float
        Of a change of level.
    gaps : ndarray of bool or None
    """

    codes: RowArray
    n_values: int
    steps: FloatArray | None
    price: float
    gaps: BoolArray | None = None
    gap_price: float = 0.0

    def distance(self, chosen: RowArray) -> float:
        """The price of turning the rows that are not chosen into those that are, or back."""
        counts = np.bincount(self.codes[chosen], minlength=self.n_values)
        inside = 0 if self.gaps is None else int(np.count_nonzero(self.gaps[chosen]))
        return self._price(counts, self._counts - counts, (inside, self._n_gaps - inside))

    def apart(self, first: RowArray, second: RowArray) -> float:
        """The price of turning some rows into others, each as often as it is named."""
        counts = [np.bincount(self.codes[rows], minlength=self.n_values) for rows in (first, second)]
        gaps = [0 if self.gaps is None else int(np.count_nonzero(self.gaps[rows])) for rows in (first, second)]
        return self._price(counts[0], counts[1], (gaps[0], gaps[1]))

    def _price(self, first: RowArray, second: RowArray, gaps: tuple[int, int]) -> float:
        sizes = int(first.sum()), int(second.sum())
        pairs = float(sizes[0]) * float(sizes[1])
        # Whole numbers until the last step: small differences of long tables keep all their digits.
        if self.steps is None:
            return self.price * 0.5 * float(np.abs(first * sizes[1] - second * sizes[0]).sum()) / pairs
        apart = np.abs(np.cumsum(first)[:-1] * sizes[1] - np.cumsum(second)[:-1] * sizes[0]) / pairs
        return float(apart @ self.steps) + self.gap_price * abs(gaps[0] / sizes[0] - gaps[1] / sizes[1])

    @cached_property
    def _n_gaps(self) -> int:
        return 0 if self.gaps is None else int(np.count_nonzero(self.gaps))

    @cached_property
    def _counts(self) -> RowArray:
        counts: RowArray = np.bincount(self.codes, minlength=self.n_values)
        return counts


def pooled_column(column: ColumnPair, rows: tuple[RowArray, RowArray] | None = None) -> PooledColumn:
    """Both tables' values of a column in one, those of the first table first; ``rows`` chooses some of each."""
    if isinstance(column, CategoricalPair):
        codes = _joined(column.codes, rows)
        return PooledColumn(codes, len(column.levels), None, column.price)
    return _pooled_numbers(column, rows)


def _pooled_numbers(column: NumericPair, rows: tuple[RowArray, RowArray] | None) -> PooledColumn:
    values, codes = np.unique(_joined(column.values, rows), return_inverse=True)
    gaps = _joined(column.gaps, rows)
    return PooledColumn(
        codes.reshape(-1),
        values.size,
        np.diff(values) * column.scaled_price,
        column.price,
        gaps if gaps.any() else None,
        column.gap_price,
    )


def _joined(pair: tuple[FloatArray | RowArray | BoolArray, ...], rows: tuple[RowArray, RowArray] | None) -> Any:
    parts = pair if rows is None else [values[own] for values, own in zip(pair, rows, strict=True)]
    return np.concatenate(parts)


@dataclass(frozen=True, eq=False)
class ColumnChance:
    """Distances of all columns, and what chance does to them.

    Attributes
    ----------
    distance : ndarray of shape (n_columns,)
        Of all rows.
    mean, high : ndarray of shape (n_columns,)
        The mean distance of tables from one population of this size, and its 95 % quantile.
    spread : ndarray of shape (n_columns,)
        The root of the mean square of that distance.
    p_value : ndarray of shape (n_columns,)
        For all columns together: the chance that any column looks so shifted if none is.
    n_rows : pair of int
        Rows that were exchanged.
    """

    distance: FloatArray
    mean: FloatArray
    high: FloatArray
    spread: FloatArray
    p_value: FloatArray
    n_rows: tuple[int, int]

    @property
    def shift(self) -> FloatArray:
        """Distances without what chance adds to their squares: 0 where they are no more than chance.

        Chance adds to a shift as noise adds to a length, E (shift + noise)^2 = shift^2 + E noise^2, so a large shift hardly
        loses anything.
        """
        return without_chance(self.distance, self.spread)


def without_chance(distance: FloatArray, spread: FloatArray) -> FloatArray:
    """The root of distance^2 - spread^2, or 0."""
    found: FloatArray = np.sqrt(np.maximum(np.square(distance) - np.square(spread), 0.0))
    return found


def column_chance(
    columns: Sequence[ColumnPair], n_rows: tuple[int, int], *, n_permutations: int, most_rows: int, rng: np.random.Generator
) -> ColumnChance:
    """Exact distances of all rows, and chance from exchanges of up to ``most_rows`` rows of each table."""
    whole = np.array([pooled_column(column).distance(np.arange(n_rows[0])) for column in columns])
    few = min(n_rows[0], most_rows), min(n_rows[1], most_rows)
    rows = None if few == n_rows else (_some_rows(n_rows[0], few[0], rng), _some_rows(n_rows[1], few[1], rng))
    pooled = [pooled_column(column, rows) for column in columns]
    drawn = np.empty((n_permutations + 1, len(columns)))
    for at in range(n_permutations + 1):
        order = np.arange(few[0]) if at == 0 else _some_rows(sum(few), few[0], rng)
        drawn[at] = [column.distance(order) for column in pooled]
    # Chance falls like the root of 1/n_a + 1/n_b: from the rows exchanged to all rows.
    scale = float(np.sqrt((1 / n_rows[0] + 1 / n_rows[1]) / (1 / few[0] + 1 / few[1])))
    chance = drawn[1:] * scale
    return ColumnChance(
        distance=whole,
        mean=chance.mean(axis=0),
        high=np.quantile(chance, 0.95, axis=0),
        spread=np.sqrt(np.square(chance).mean(axis=0)),
        p_value=largest_deviation_p_values(drawn),
        n_rows=few,
    )


def _some_rows(count: int, chosen: int, rng: np.random.Generator) -> RowArray:
    """Distinct rows in their order."""
    taken = np.zeros(count, dtype=bool)
    taken[rng.permutation(count)[:chosen]] = True
    rows: RowArray = np.flatnonzero(taken)
    return rows


def largest_deviation_p_values(drawn: FloatArray) -> FloatArray:
    """P values of the first row among all rows, by the largest standardised entry of each.

    Means and spreads are those of all rows, the first one included: then all rows are exchangeable if nothing shifted, and the
    level holds for any number of exchanges.
    """
    spread = drawn.std(axis=0)
    # A column without spread says nothing.
    standard = (drawn - drawn.mean(axis=0)) / np.where(spread > 0, spread, np.inf)
    largest = standard.max(axis=1)
    # Distances that are equal but for rounding are equal.
    reached = largest[1:, None] >= standard[None, 0] - 1e-9
    p_values: FloatArray = (1 + reached.sum(axis=0)) / drawn.shape[0]
    return p_values


def resampled_shifts(
    columns: Sequence[ColumnPair],
    n_rows: tuple[int, int],
    spread: FloatArray,
    *,
    n_resamples: int,
    most_rows: int,
    rng: np.random.Generator,
) -> FloatArray:
    """Shifts of the columns between bootstrap samples of both tables, without chance: shape (n_resamples, n_columns).

    ``spread`` is that of :class:`ColumnChance`. Drawing rows again adds as much chance as drawing them did; both are taken off.
    """
    few = min(n_rows[0], most_rows), min(n_rows[1], most_rows)
    rows = None if few == n_rows else (_some_rows(n_rows[0], few[0], rng), _some_rows(n_rows[1], few[1], rng))
    pooled = [pooled_column(column, rows) for column in columns]
    found = np.empty((n_resamples, len(columns)))
    for at in range(n_resamples):
        first = np.sort(rng.integers(0, few[0], few[0]))
        second = np.sort(rng.integers(few[0], sum(few), few[1]))
        found[at] = [column.apart(first, second) for column in pooled]
    added = (1 / few[0] + 1 / few[1]) / (1 / n_rows[0] + 1 / n_rows[1])
    return without_chance(found, spread * np.sqrt(2 * added))
