"""What a score card must look like besides fitting well, in terms of column numbers.

Three kinds of rules express the operational constraints of Table 1 of Ustun and Rudin (JMLR 2019):

- :class:`GroupRule`: at least a and at most b columns of a group have points (model size, either-or, at most k thresholds);
- :class:`ImplicationRule`: if one of these columns has points, one of those has (logical structure);
- :class:`LinearRule`: a <= c_0 intercept + sum_j c_j points_j <= b (the risk predicted for a described person).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from surefoot.problems.arrays import FloatArray, IntArray

# How far a linear rule may be missed by rounding, relative to the size of its terms.
ROUNDING = 1e-9


@dataclass(frozen=True)
class GroupRule:
    """Between ``least`` and ``most`` of the columns have points."""

    columns: tuple[int, ...]
    least: int = 0
    most: int = 2**31 - 1

    def allows(self, points: IntArray) -> bool:
        return self.least <= int(np.count_nonzero(points[list(self.columns)])) <= self.most


@dataclass(frozen=True)
class ImplicationRule:
    """If any column of ``cause`` has points, at least one of ``effect`` has."""

    cause: tuple[int, ...]
    effect: tuple[int, ...]

    def allows(self, points: IntArray) -> bool:
        return not points[list(self.cause)].any() or bool(points[list(self.effect)].any())


@dataclass(frozen=True, eq=False)
class LinearRule:
    """lower <= intercept_coefficient * intercept + coefficients . points <= upper."""

    coefficients: FloatArray
    intercept_coefficient: float = 1.0
    lower: float = -np.inf
    upper: float = np.inf

    def allows(self, intercept: int, points: IntArray) -> bool:
        terms = np.append(self.coefficients * points, self.intercept_coefficient * intercept)
        margin = ROUNDING * (1.0 + float(np.abs(terms).sum()))
        return self.lower - margin <= float(terms.sum()) <= self.upper + margin
