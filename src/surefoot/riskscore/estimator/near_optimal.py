"""All score cards that are nearly as good as the best, by column name."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from surefoot.design.write.output_frame import build_frame
from surefoot.riskscore.search.near_cards import NearOptimalCards


class NearOptimalCard(NamedTuple):
    """One card: its points by column, for the columns that have any, its intercept, objective and multiplier."""

    points: dict[str, int]
    intercept: int
    objective: float
    multiplier: float = 1.0


@dataclass(frozen=True, repr=False)
class NearOptimalSet:
    """Every card whose objective is within a tolerance of the best, the best ones first.

    Attributes
    ----------
    cards : NearOptimalCards
        The same as arrays, with columns by number; ``n_found`` counts all cards, of which the best ``len(self)`` are here, and
        ``complete`` says whether the search went through all of them.
    names : tuple of str
        Names of the columns.
    library : str or None
        The data frame library in which :meth:`table` answers.
    """

    cards: NearOptimalCards
    names: tuple[str, ...] = field(repr=False)
    library: Any = field(default=None, repr=False)

    @property
    def n_found(self) -> int:
        """How many cards there are, here or not."""
        return self.cards.n_found

    @property
    def complete(self) -> bool:
        """Whether there are no others; False if the search was stopped."""
        return self.cards.complete

    def __len__(self) -> int:
        return len(self.cards)

    def __getitem__(self, at: int) -> NearOptimalCard:
        points = self.cards.points[at]
        return NearOptimalCard(
            {self.names[j]: int(points[j]) for j in np.flatnonzero(points)},
            int(self.cards.intercepts[at]),
            float(self.cards.objectives[at]),
            float(self.cards.multipliers[at]),
        )

    def __iter__(self) -> Iterator[NearOptimalCard]:
        return (self[at] for at in range(len(self)))

    def table(self) -> Any:
        """A data frame with a row for every card: ``objective``, ``intercept``, and the points of every column that is used.

        At a free scale there is a column ``multiplier``, too.
        """
        used = np.flatnonzero(np.any(self.cards.points != 0, axis=0))
        content: dict[str, Any] = {"objective": self.cards.objectives, "intercept": self.cards.intercepts}
        if np.any(self.cards.multipliers != 1.0):
            content["multiplier"] = self.cards.multipliers
        for j in used:
            name = self.names[j]
            content[f"{name} (points)" if name in content else name] = self.cards.points[:, j]
        return build_frame(content, self.library)

    def to_frame(self) -> Any:
        """The same as ``table()``."""
        return self.table()

    def __repr__(self) -> str:
        cards = "score card" if self.n_found == 1 else "score cards"
        count = f"{self.n_found} {cards}" if self.complete else f"at least {self.n_found} {cards}"
        stored = "" if len(self) == self.n_found else f" (the best {len(self)} are kept)"
        return f"{count} within {self.cards.tolerance:.3%} of the best{stored}"
