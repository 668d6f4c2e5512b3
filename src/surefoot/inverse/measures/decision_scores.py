"""How far decisions are from those that were made, one observation at a time: what scores are means of.

    decision error      || x - x' ||_2
    unpredicted share   1 where an unknown differs by more than a millionth of the largest one, or of 1 if that is less; else 0

Unlike :mod:`~surefoot.inverse.measures.decision_metrics` these take decisions of different sizes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from surefoot.core.arrays import FloatArray

# Decisions that differ by less, of their largest unknown or of 1, are the same.
SAME = 1e-6


def _distance(observed: FloatArray, decided: FloatArray) -> float:
    return float(np.linalg.norm(observed - decided))


def _differs(observed: FloatArray, decided: FloatArray) -> float:
    largest = max(float(np.abs(observed).max(initial=0.0)), float(np.abs(decided).max(initial=0.0)))
    return float(np.abs(observed - decided).max(initial=0.0) > SAME * min(1.0, largest))


METRICS: dict[str, Callable[[FloatArray, FloatArray], float]] = {"decision error": _distance, "unpredicted share": _differs}


def decision_measure(metric: Any) -> Callable[[FloatArray, FloatArray], float]:
    """The function of (observed decision, own decision) that a metric stands for."""
    if isinstance(metric, str) and metric in METRICS:
        return METRICS[metric]
    if callable(metric):

        def measured(observed: FloatArray, decided: FloatArray) -> float:
            found = float(metric(observed, decided))
            if not np.isfinite(found):
                raise ValueError(f"metric={metric!r} returned {found} for the decisions {observed} and {decided}.")
            return found

        return measured
    names = ", ".join(map(repr, METRICS))
    raise ValueError(f"metric={metric!r} must be one of {names}, or a function of the observed and the predicted decision.")
