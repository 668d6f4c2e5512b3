"""A calibrated ambiguity set: what a shift costs, column by column, and how much may be spent."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from surefoot.design.write.output_frame import build_frame
from surefoot.design.write.shown_table import shown_table


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

    def to_frame(self, library: str | None = None) -> Any:
        """A line for every column: ``column``, ``kind``, ``price`` (inf: it does not shift), ``low`` and ``high`` of its range.

        Parameters
        ----------
        library : str, optional
            The data frame library, such as "polars"; by default pandas, if there is one.
        """
        kinds = [(self.numeric_weights, "numeric"), (self.categorical_weights, "categorical")]
        named: list[Any] = [(name, kind, weight) for weights, kind in kinds for name, weight in weights.items()]
        ends = [(self.numeric_ranges or {}).get(name, (-math.inf, math.inf)) for name, _, _ in named]
        content = {"column": [one[0] for one in named], "kind": [one[1] for one in named]}
        numbers = {"price": [one[2] for one in named], "low": [low for low, _ in ends], "high": [high for _, high in ends]}
        return build_frame({**content, **{key: np.array(values, dtype=np.float64) for key, values in numbers.items()}}, library)

    def _repr_html_(self) -> str:
        heading, *lines = str(self).split("\n")
        return shown_table(heading, ("column", "price"), [line.strip().split(": ", 1) for line in lines])

    def _within(self, name: str) -> str:
        ends = (self.numeric_ranges or {}).get(name)
        return "" if ends is None else f", from {ends[0]:g} to {ends[1]:g}"
