"""A fitted robust model as a comparison needs it: its columns, its prices and its radius."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from surefoot.design.encode.schema import ColumnSchema, Schema
from surefoot.robust.problem.ground_cost import GroundCost


@dataclass(frozen=True, eq=False)
class PricedModel:
    """What moves cost, says a fitted model.

    Attributes
    ----------
    name : str
    schema : Schema
    cost : GroundCost
    radius : float
    automatic : bool
        Whether nobody named the radius: it stands for the sampling error of the coefficients alone.
    """

    name: str
    schema: Schema
    cost: GroundCost
    radius: float
    automatic: bool = False

    def column(self, name: str) -> tuple[ColumnSchema, float]:
        """What a column is, and what one unit or one change of it costs."""
        at = self.schema.names.index(name)
        column = self.schema.columns[at]
        if column.kind == "numeric":
            return column, float(self.cost.numeric_weights[self.schema.numeric_positions.index(at)])
        return column, float(self.cost.categorical_weights[self.schema.categorical_positions.index(at)])

    def ends(self, name: str) -> tuple[float, float]:
        """The ends of the range within which the model was told that a numeric column moves."""
        ranges = getattr(self.cost, "numeric_ranges", None)
        if ranges is None:
            return -np.inf, np.inf
        at = self.schema.numeric_positions.index(self.schema.names.index(name))
        return float(ranges[at][0]), float(ranges[at][1])


def priced_model(model: Any) -> PricedModel | None:
    """The prices of a fitted robust model; None for models of other kinds."""
    cost = getattr(model, "ground_cost_", None)
    if not isinstance(cost, GroundCost):
        return None
    automatic = getattr(model, "sampling_error_", None) is not None
    return PricedModel(type(model).__name__, model.schema_, cost, float(model.radius_), automatic)
