"""The units in which a solver works (scaling), and the way there and back; rows in memory and in partitions use the same.

    beta_j = beta'_j / scale_j        beta_0 = beta'_0 - sum_j beta_j centre_j        lambda = lambda' / unit

    gamma'_j = gamma_j scale_j / unit      delta'_l = delta_l / unit      kappa' = kappa / unit      radius' = radius / unit

The unit is a power of 2 near the typical weight, so that a ground cost in any currency leads to the same digits.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from fractions import Fraction

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.robust.problem.ground_cost import GroundCost
from surefoot.robust.problem.problem import RobustCoefficients

# The least share of the weight that a row has in a solver: products of smaller ones would underflow. To a plan for these shares
# such a row is one of almost no weight.
LEAST_SHARE = 1e-295
# Last digit of an intercept above which neighbours of a coefficient are tried, how many; from which on more, and how many then.
COARSE, NEIGHBOURS, LARGE, MOST_NEIGHBOURS = 2.0**-40, 2**16, 2.0**-12, 2**22


class StandardUnits:
    """Models in both units, for those who know centre, scale and unit."""

    centre: FloatArray
    scale: FloatArray
    unit: float

    @property
    @abstractmethod
    def cost(self) -> GroundCost:
        """The ground cost in standard units."""

    def standardize(self, coefficients: RobustCoefficients) -> RobustCoefficients:
        """A model in the units of the table as one in standard units."""
        return replace(
            coefficients,
            intercept=coefficients.intercept + float(coefficients.numeric @ self.centre),
            numeric=coefficients.numeric * self.scale,
            price=coefficients.price * self.unit,
        )

    def restore(self, coefficients: RobustCoefficients) -> RobustCoefficients:
        """A model in standard units as one in the units of the table."""
        intercept, numeric = _restored(coefficients.intercept, coefficients.numeric / self.scale, self.centre, self.scale)
        # A hair above the least price that admits the coefficients: other units round each of them differently.
        least = self.cost.admitting_price(coefficients.numeric) * (1.0 + 2.0**-48)
        price = max(coefficients.price, least) / self.unit
        # A shift that is just too dear must remain so where an intercept has lost digits: a row may have little else to lose.
        last = float(np.spacing(abs(intercept)))
        spare = max(2.0**-40, min(last, 1.0) / MOST_NEIGHBOURS) if last > COARSE else 0.0
        return replace(coefficients, intercept=intercept, numeric=numeric, price=price * (1.0 + spare))


def _restored(centred: float, numeric: FloatArray, centre: FloatArray, scale: FloatArray) -> tuple[float, FloatArray]:
    """Intercept and coefficients whose sum beta_0 + beta . centre is ``centred``, to more digits than the intercept has.

    Beside a column of time stamps (1.7e9) the last digit of an intercept changes every score by 1e-7, which some losses feel.
    A coefficient that is k units in its last place nearer to 0, which the price admits too, leaves another remainder. The k for
    which the remainder and what the coefficient itself changes in a typical row are smallest is taken.
    """
    intercept = centred - float(numeric @ centre)
    last = np.spacing(abs(intercept))
    if not np.isfinite(intercept) or last <= COARSE or numeric.size == 0:
        return intercept, numeric
    at = int(np.argmax(np.abs(numeric * centre)))
    step = np.spacing(numeric[at])
    exact = Fraction(centred) - sum(Fraction(b) * Fraction(c) for b, c in zip(numeric.tolist(), centre.tolist(), strict=True))
    change = Fraction(float(step)) * Fraction(float(centre[at]))
    # In units of the intercept's last place; whole ones do not matter.
    first, each = (float(part / Fraction(float(last)) % 1) for part in (exact, change))
    k = np.arange(NEIGHBOURS if last <= LARGE else MOST_NEIGHBOURS)
    remainder = np.abs((first + k * each + 0.5) % 1.0 - 0.5) * last
    best = int(np.argmin(remainder + k * abs(step) * scale[at]))
    nearer = np.where(np.arange(numeric.size) == at, numeric - best * step, numeric)
    return float(exact + best * change), nearer


def standard_cost(cost: GroundCost, centre: FloatArray, scale: FloatArray) -> tuple[GroundCost, float]:
    """The cost of moving in centred and scaled columns, in a unit near its typical weight; and that unit."""
    gamma, delta, kappa = cost.numeric_weights * scale, cost.categorical_weights, cost.label_weight
    unit = _typical(np.concatenate((gamma, delta, [kappa])))
    with np.errstate(over="ignore"):
        lost = np.flatnonzero(~(gamma / unit > 0) | np.isinf(1.0 / scale))
    if lost.size:
        raise ValueError(
            f"numeric column {lost[0]}, counting numeric columns from 0, has a spread of {scale[lost[0]]}, which is too small: "
            "its coefficient, or what its shifts cost, is beyond double precision. Measure the column in a smaller unit, so "
            "that its numbers are larger, or leave it out."
        )
    # Computed as the values of the columns are: rounding keeps the order, so none of them leaves its range.
    ranges = None if cost.numeric_ranges is None else (cost.numeric_ranges - centre[:, None]) / scale[:, None]
    standard = replace(
        cost,
        numeric_weights=gamma / unit,
        categorical_weights=delta / unit,
        label_weight=kappa / unit,
        numeric_ranges=ranges,
    )
    return standard, unit


def _typical(weights: FloatArray) -> float:
    """A power of 2 near the median of the finite weights, half way by their digits: dividing by it rounds nothing."""
    finite = weights[np.isfinite(weights) & (weights > 0)]  # in scaled columns one may have vanished
    return float(2.0 ** np.clip(np.round(np.median(np.log2(finite))), -1022, 1023)) if finite.size else 1.0
