"""What acting on a model is worth: net benefit over thresholds, beside acting on everybody and on nobody.

Whoever acts from a risk of t on counts a false alarm as t / (1 - t) of a case that was found. Per row,

    net benefit(t) = (true positives - false positives * t / (1 - t)) / rows,

0 for acting on nobody. Vickers and Elkin, "Decision curve analysis" (Medical Decision Making, 2006).
"""

from __future__ import annotations

import numpy as np

from surefoot.core.arrays import BoolArray, FloatArray

# Thresholds of the curve. Beyond these a false alarm counts more than 99 times, or less than a 99th of, a case that is found.
THRESHOLDS: FloatArray = np.arange(1, 100) / 100


def net_benefit(
    probability: FloatArray,
    positive: BoolArray,
    thresholds: FloatArray = THRESHOLDS,
    weights: FloatArray | None = None,
) -> FloatArray:
    """Net benefit of acting on rows whose probability is at or above each threshold; weights count rows."""
    own = np.ones(probability.size) if weights is None else weights
    order = np.argsort(probability, kind="stable")
    first = np.searchsorted(probability[order], thresholds, side="left")
    found, flagged = (np.append(np.cumsum(counted[order][::-1])[::-1], 0.0)[first] for counted in (own * positive, own))
    worth: FloatArray = (found - (flagged - found) * thresholds / (1 - thresholds)) / own.sum()
    return worth


def benefit_for_all(positive: BoolArray, thresholds: FloatArray = THRESHOLDS, weights: FloatArray | None = None) -> FloatArray:
    """Net benefit of acting on everybody."""
    share = float(np.average(positive, weights=weights))
    worth: FloatArray = share - (1 - share) * thresholds / (1 - thresholds)
    return worth


def useful_range(probability: FloatArray, positive: BoolArray) -> tuple[float, float] | None:
    """The longest run of thresholds at which the model is worth more than acting on everybody or on nobody; None if none."""
    better = net_benefit(probability, positive) > np.maximum(benefit_for_all(positive), 0.0) + 1e-12
    edges = np.flatnonzero(np.diff(np.concatenate(([0], better.astype(np.int8), [0]))))
    if edges.size == 0:
        return None
    starts, ends = edges[::2], edges[1::2]
    longest = int(np.argmax(ends - starts))
    return float(THRESHOLDS[starts[longest]]), float(THRESHOLDS[ends[longest] - 1])
