"""Coefficients as they are printed: what is rounding noise beside the largest effect is 0.

Where a coefficient is 0 at the optimum, solvers leave a rest of, say, 8e-31. Effects are compared, since coefficients have the
units of their columns: that of a number is its coefficient times the standard deviation of its column, that of a level its
coefficient. Nothing that predicts or proves reads these numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from surefoot.core.arrays import FloatArray

# Effects that are smaller, relative to the largest one, are far below the gap of any solve.
_NOISE = 1e-12


def shown_coefficients(model: Any) -> tuple[FloatArray, FloatArray]:
    """Coefficients of the numeric columns and of the levels, noise as 0; all as they are where prices hide the deviations."""
    numeric, levels = (np.array(part, dtype=np.float64) for part in model.schema_.split_coefficients(model.coef_[0]))
    if model.numeric_weights is not None or model.shift is not None:
        return numeric, levels
    effects = np.abs(numeric) / model.ground_cost_.numeric_weights  # default prices are one over the deviations
    least = _NOISE * max(float(effects.max(initial=0.0)), float(np.abs(levels).max(initial=0.0)))
    numeric[effects <= least] = 0.0
    levels[np.abs(levels) <= least] = 0.0
    return numeric, levels
