"""What radius the observed shift amounts to, and whether the radius of a model covers it.

A population cannot be nearer than its columns are one by one, and a plan between samples is in the mean dearer than one between
populations, by what chance adds. So the estimate is the greater of two: the shifts of the columns beyond chance, added up as
the cost adds them, and what the joint plan costs more than after random exchanges of rows, if that is beyond chance. Smaller
shifts of many columns, none of which is beyond chance, are not counted.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.robust.problem.numeric_norm import NumericNorm, gradient_norm
from surefoot.shift.comparison.column_pairs import ColumnPair, NumericPair, price_text


@dataclass(frozen=True)
class ObservedRadius:
    """How far apart two tables are, as a mean price per row; ``float(radius)`` is the estimate.

    Attributes
    ----------
    estimate : float
        What the shift amounts to, chance taken off; 0 if it is no more than chance. inf if a column shifted that never shifts.
    low, high : float
        Bootstrap interval of the part of the columns at these prices, nowhere below the part of the joint plan, which has no
        interval of its own.
    p_value : float
        The chance of looking so shifted if nothing is: all columns, and how they go together.
    level : float
        The p value from which on a shift is called one, and 1 - the coverage of intervals.
    lower, upper : float
        Proven: no plan turns the one table into the other for less than ``lower``, and one does it for ``upper``, chance
        included. ``upper`` is NaN where the tables are too long to be matched as a whole, or a column never shifts or was not
        compared. Labels without a price take no part.
    by_chance : float
        About what ``lower`` is for two samples of one population of this size.
    columns : float
        The part of the columns one by one.
    joint : float
        What the joint plan of a sample costs more than chance.
    model_radius : float or None
        That of a robust model.
    automatic : bool
        Whether that radius is automatic, for the sampling error of the coefficients: nobody meant it to cover shifts.
    unpriced : tuple of str
        Columns beyond chance of which the model says that they never shift.
    outside : tuple of str
        Columns with values beyond the range that the model was told.
    uncompared : tuple of str
        Columns of the model that a table lacks, or whose type changed.
    """

    estimate: float
    low: float
    high: float
    p_value: float
    level: float
    lower: float
    upper: float
    by_chance: float
    columns: float
    joint: float
    model_radius: float | None = None
    automatic: bool = False
    unpriced: tuple[str, ...] = ()
    outside: tuple[str, ...] = ()
    uncompared: tuple[str, ...] = ()

    def __float__(self) -> float:
        return self.estimate

    @property
    def beyond_chance(self) -> bool:
        return self.p_value <= self.level

    @property
    def covered(self) -> bool | None:
        """Whether the model's radius covers the shift.

        None without a model, for an automatic radius, which is not about shifts, if a column of the model could not be
        compared, or if the rows are too few to tell.
        """
        if self.model_radius is None:
            return None
        if self.outside:
            return False
        if self.automatic:
            return False if self.unpriced and self.beyond_chance else None
        if self.uncompared:
            return False if self.beyond_chance and self.low > self.model_radius else None
        if self.upper <= self.model_radius or not self.beyond_chance or self.high <= self.model_radius:
            return True
        return False if self.low > self.model_radius else None

    def __str__(self) -> str:
        return f"{self._amount()} {self._verdict()}".strip()

    @property
    def proven(self) -> str:
        """The proven bounds in a sentence, beside what chance alone does."""
        most = "" if math.isnan(self.upper) else f" and at most {price_text(self.upper)}"
        return (
            f"Proven: turning the one table into the other costs at least {price_text(self.lower)}{most} per row; by chance "
            f"alone two samples of one population of this size cost at least about {price_text(self.by_chance)}."
        )

    def _amount(self) -> str:
        if not self.beyond_chance:
            return f"No shift beyond chance (p = {self.p_value:.2g}): two samples of one population differ as much."
        if self.unpriced:
            return ""
        interval = "" if self.low == self.high else f" ({price_text(self.low)} to {price_text(self.high)})"
        return f"The shift amounts to a radius of about {price_text(self.estimate)}{interval}, chance taken off."

    def _verdict(self) -> str:
        if self.model_radius is None:
            return ""
        own = price_text(self.model_radius)
        if self.outside:
            named = ", ".join(map(repr, self.outside))
            return f"No radius of this model covers the values of {named} beyond the range that it was told."
        if self.automatic:
            never = self.unpriced if self.beyond_chance else ()
            told = f"No radius covers a shift of {', '.join(map(repr, never))}, said to never shift. " if never else ""
            return (
                f"{told}The model's radius of {own} is automatic: it stands for the sampling error of its coefficients and was "
                "never meant to cover shifts. Name what may shift: radius or shift=."
            )
        if self.upper <= self.model_radius:
            return f"Proven: the rows of the second table lie within the model's radius of {own} around the first."
        if self.uncompared and self.covered is None:
            named = ", ".join(map(repr, self.uncompared))
            return f"Whether the model's radius of {own} covers that cannot be told without {named}."
        if not self.beyond_chance:
            return f"The model's radius of {own} stands."
        if self.unpriced:
            named = ", ".join(map(repr, self.unpriced))
            return f"No radius of this model covers the shift of {named}, of which it was told that it never shifts."
        if self.covered is None:
            return f"Whether the model's radius of {own} covers that cannot be told from so few rows."
        if self.covered:
            return f"The model's radius of {own} covers that."
        return f"The model's radius of {own} does not cover that: its worst-case loss says nothing about this table."


def combined(columns: tuple[ColumnPair, ...], amounts: FloatArray, norm: NumericNorm) -> float:
    """Amounts per column as the ground cost adds them; columns that are not counted are left out.

    For a plan P the mean of a norm is at least the norm of the means, so with the distances of the columns this is a lower
    bound of the cost of every plan.
    """
    numeric = np.array([column.kind == "numeric" and column.counted for column in columns], dtype=bool)
    changes = np.array([column.kind == "categorical" and column.counted for column in columns], dtype=bool)
    moved = amounts[numeric]
    return gradient_norm(moved, np.ones(moved.size), norm) + float(amounts[changes].sum())


def column_bound(columns: tuple[ColumnPair, ...], distances: FloatArray, norm: NumericNorm) -> float:
    """The lower bound of the columns one by one, with what rounding may have added to it taken off.

    Values are rounded to 2 ulp of their range, which moves a distance by no more, and sums of up to a million terms that are
    not negative lose less than a billionth.
    """
    ranges = sum(column.scaled_price for column in columns if isinstance(column, NumericPair) and column.counted)
    return max(combined(columns, distances, norm) * (1 - 1e-9) - 8 * float(np.finfo(np.float64).eps) * ranges, 0.0)
