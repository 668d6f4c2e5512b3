"""How far one table is from another, column by column: the least shift that turns the one into the other.

Numeric column: b = mean |move|, in pairs, or along the monotone matching of the two samples, which is their Wasserstein
distance W1. As Laplace noise of scale b a shift keeps within u with probability 1 - exp(-u / b), and b is also its estimate of
greatest likelihood. Categorical column: the fraction of rows that keep their level, in pairs, or 1 - total variation =
sum_k min(p_k, q_k), the largest fraction that any matching of the two samples keeps.

That fraction may be at or below chance, where a change has no positive price and the paper's formulas end: two tables can
differ more than a column drawn anew would. The nearest that a robust model can express is a change that costs next to nothing,
so the certainty is raised to where its price is LEAST_PRICE, with a warning. Chance is that of the table with fewer levels:
calibration may see either of them alone.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass

import numpy as np
from scipy.stats import wasserstein_distance

from surefoot.core.arrays import FloatArray
from surefoot.design.write.rewritable_table import RewritableTable
from surefoot.exceptions import BelowChanceWarning, InvalidTableError
from surefoot.shift.prices import LEAST_PRICE, certainty_at_price
from surefoot.shift.shifting_columns import CategoricalShift, NumericShift, ShiftingColumns


@dataclass(frozen=True)
class Estimates:
    """Certainties and intervals by column name."""

    numeric_certainty: dict[str, float]
    numeric_interval: dict[str, float]
    categorical_certainty: dict[str, float]


def estimate_shift(table: RewritableTable, columns: ShiftingColumns, *, paired: bool) -> Estimates:
    """Certainties from a table and its reference, the later one."""
    certainty, interval = {}, {}
    for column in columns.numeric:
        size = _mean_move(table, column, paired=paired)
        certainty[column.name] = -math.expm1(-column.interval / size) if size > 0 else 1.0
        if column.interval == 0:
            # A constant column has no width of its own; that of its moves gives the same price.
            certainty[column.name] = -math.expm1(-1.0) if size > 0 else 1.0
        interval[column.name] = column.interval or size or 1.0
    unchanged = {column.name: _raised(column, _unchanged_fraction(column, paired=paired)) for column in columns.categorical}
    return Estimates(certainty, interval, unchanged)


def _raised(column: CategoricalShift, unchanged: float) -> float:
    """The certainty itself, or the least that has a price."""
    counts = [np.unique(codes).size for codes in (column.levels.codes, column.levels.reference_codes)]
    fewest = min((count for count in counts if count > 1), default=column.n_levels)
    least = certainty_at_price(LEAST_PRICE, fewest)
    if fewest < 2 or unchanged >= least:
        return unchanged
    warnings.warn(
        f"column {column.name!r}: a share of {unchanged:.4g} of its values stays the same between the two tables, but one that "
        f"is drawn anew among {fewest} levels stays the same with probability {1 / fewest:.4g}. So its certainty is set to "
        f"{least:.4g}, just above chance, and a robust model will hardly use the column. Drop it if it should not be used at "
        "all, or give it a certainty of your own if the next table will not differ as much as these two do.",
        BelowChanceWarning,
        stacklevel=4,
    )
    return least


def _mean_move(table: RewritableTable, column: NumericShift, *, paired: bool) -> float:
    before: FloatArray = table.numbers(column.position)
    after: FloatArray = table.reference_table.columns[column.position].numbers()
    if paired:
        moves = np.abs(after - before)
        moves = moves[~np.isnan(moves)]
        if moves.size == 0:
            raise InvalidTableError(f"column {column.name!r} has no row with a value both before and after.")
        return float(moves.mean())
    before, after = before[~np.isnan(before)], after[~np.isnan(after)]
    if before.size == 0 or after.size == 0:
        raise InvalidTableError(f"column {column.name!r} holds no value {'before' if before.size == 0 else 'after'}.")
    return float(wasserstein_distance(before, after))


def _unchanged_fraction(column: CategoricalShift, *, paired: bool) -> float:
    before, after, count = column.levels.codes, column.levels.reference_codes, column.n_levels
    if paired:
        return float(np.mean(before == after))
    frequencies = [np.bincount(codes, minlength=count) / codes.size for codes in (before, after)]
    return min(float(np.minimum(*frequencies).sum()), 1.0)
