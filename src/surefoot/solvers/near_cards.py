"""Every score card within a tolerance of the best."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from surefoot.problems.arrays import FloatArray, IntArray
from surefoot.problems.risk_score import RiskScore


@dataclass(frozen=True, eq=False)
class NearOptimalCards:
    """The admissible cards with an objective up to ``ceiling`` = (1 + tolerance) * best objective, and up to rounding.

    Attributes
    ----------
    tolerance : float
        Relative distance from the best.
    ceiling : float
        The objective up to which the cards reach; NaN if the best card was not known when the search was stopped.
    objectives : ndarray of shape (n_kept,)
        Sorted; rounded to 13 decimals, so that cards that differ by rounding alone compare equal.
    intercepts : ndarray of shape (n_kept,)
    points : ndarray of shape (n_kept, n_columns)
        Cards of equal objective stand in the order of their points.
    n_found : int
        All cards found, kept or not.
    complete : bool
        Whether there are no others.
    """

    tolerance: float
    ceiling: float
    objectives: FloatArray
    intercepts: IntArray
    points: IntArray
    n_found: int
    complete: bool

    def __len__(self) -> int:
        return int(self.objectives.size)

    def __iter__(self) -> Iterator[RiskScore]:
        """The kept cards, best first."""
        for intercept, points in zip(self.intercepts, self.points, strict=True):
            yield RiskScore(int(intercept), points)
