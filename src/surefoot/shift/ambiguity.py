"""A calibrated ambiguity set: what a shift costs, column by column, and how much may be spent."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Ambiguity:
    """Prices and radius of the tables near a table; ``shift=`` of the estimators works with it.

    Attributes
    ----------
    numeric_weights : mapping of str to float
        gamma by column: the price of one unit; inf where the column does not shift.
    categorical_weights : mapping of str to float
        delta by column: the price of another level; inf where the column does not shift.
    radius : float
        Mean price per row that a shift may cost.
    label_weight : float
        kappa: the price of flipping a label; inf where labels do not flip.
    numeric_ranges : mapping of str to pairs of floats, optional
        The ends between which rows move along a column; columns that are left out have no range.
    """

    numeric_weights: Mapping[str, float]
    categorical_weights: Mapping[str, float]
    radius: float
    label_weight: float = math.inf
    numeric_ranges: Mapping[str, tuple[float, float]] | None = field(default=None, metadata={"later": True})

    def __str__(self) -> str:
        lines = [f"Ambiguity set: shifts at a mean price of up to {self.radius:.4g} per row"]
        for weights, per in ((self.numeric_weights, "unit"), (self.categorical_weights, "change")):
            lines += [
                f"  {name}: " + (f"{weight:.4g} per {per}{self._within(name)}" if weight < math.inf else "does not shift")
                for name, weight in weights.items()
            ]
        if self.label_weight < math.inf:
            lines.append(f"  labels: {self.label_weight:.4g} per flip")
        return "\n".join(lines)

    def _within(self, name: str) -> str:
        ends = (self.numeric_ranges or {}).get(name)
        return "" if ends is None else f", from {ends[0]:g} to {ends[1]:g}"
