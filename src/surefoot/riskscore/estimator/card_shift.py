"""What may shift in the rows of a score card, from what the user, or a shift model, said about columns."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surefoot.core.arrays import FloatArray
from surefoot.design.encode.mixed_design import MixedDesign
from surefoot.riskscore.problem.score_shift import ScoreShift
from surefoot.robust.estimator.weights import ground_cost
from surefoot.sklearn_api.parameter_checks import require_radius


def score_shift(
    design: MixedDesign, weights: FloatArray, binary: NDArray[np.bool_], *, radius: Any, model: Any, table: Any
) -> ScoreShift | None:
    """The shift to be safe against, or None for a radius of 0.

    Columns of 0 and 1 are flipped, all others move. Without a shift model a flip costs 1 and a move of one standard deviation
    costs 1. With one, ``model.calibrate(table)`` names radius and prices; columns it leaves out keep these defaults.

    Parameters
    ----------
    design : MixedDesign
        The training rows, all columns numeric.
    weights : ndarray of shape (n_rows,)
    binary : ndarray of shape (n_columns,), bool
    radius, model, table
        The parameters ``radius`` and ``shift`` of the estimator, and the table as it came.
    """
    budget, prices = score_prices(design, weights, binary, radius=radius, model=model, table=table)
    return ScoreShift(budget, prices, binary) if budget > 0 else None


def score_prices(
    design: MixedDesign, weights: FloatArray, binary: NDArray[np.bool_], *, radius: Any, model: Any, table: Any
) -> tuple[float, FloatArray]:
    """Radius and prices of that shift, a radius of 0 among them.

    Ranges of a shift model are left out: a card is safe against moves beyond them too.
    """
    prices: dict[Any, Any] = {}
    budget = require_radius(radius)
    if model is not None:
        if not hasattr(model, "calibrate"):
            raise ValueError(f"shift = {model!r} must be None or a shift model with a method calibrate(X).")
        ambiguity = model.calibrate(table)
        budget = require_radius(ambiguity.radius, "radius from shift")
        for named in (ambiguity.numeric_weights, ambiguity.categorical_weights):
            if not isinstance(named, Mapping):
                raise ValueError(f"shift names the prices {named!r}; a score card needs a mapping from columns to prices.")
            prices.update(named)
    defaults: dict[Any, float] = {name: 1.0 for name, flipped in zip(design.schema.names, binary, strict=True) if flipped}
    cost = ground_cost(design, weights, numeric={**defaults, **prices}, categorical=None, label=math.inf)
    return budget, cost.numeric_weights
