"""The solution pool of a search: every score card within a tolerance of the best."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from surefoot.core.arrays import FloatArray, IntArray
from surefoot.riskscore.problem.problem import RiskScore


@dataclass(frozen=True, eq=False)
class NearOptimalCards:
    """The admissible cards with an objective up to ``ceiling`` = (1 + tolerance) * best objective, and up to rounding.

    At a free scale every card comes with the multiplier that suits it best under the rules. A card and its multiples
    (intercept, points and multiplier times a whole number) predict the same; the one with the smallest points that limits and
    lists of points allow stands for all of them. A multiple is a card of its own only if the smaller ones cannot match it,
    since their multipliers would have to be below the smallest there is.

    Attributes
    ----------
    tolerance : float
        Relative distance from the best.
    ceiling : float
        Their largest admissible objective; NaN if the best card was not known when the search was stopped.
    objectives : ndarray of shape (n_stored,)
        Sorted; rounded to 13 decimals, so that cards that differ by rounding alone compare equal.
    intercepts : ndarray of shape (n_stored,)
    points : ndarray of shape (n_stored, n_columns)
        Cards of equal objective stand in the order of their points.
    multipliers : ndarray of shape (n_stored,)
        All 1 at unit scale.
    n_found : int
        All cards found, stored or not.
    complete : bool
        Whether there are no others.
    """

    tolerance: float
    ceiling: float
    objectives: FloatArray
    intercepts: IntArray
    points: IntArray
    multipliers: FloatArray
    n_found: int
    complete: bool

    def __len__(self) -> int:
        return int(self.objectives.size)

    def __iter__(self) -> Iterator[RiskScore]:
        """The stored cards, best first."""
        for intercept, points, multiplier in zip(self.intercepts, self.points, self.multipliers, strict=True):
            yield RiskScore(int(intercept), points, float(multiplier))
