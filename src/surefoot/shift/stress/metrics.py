"""How well probabilities of a positive label did, for several models at once.

    AUC        share of pairs (positive, negative) in which the positive row has the greater probability; equal ones count half
    ACE        adaptive calibration error: rows sorted by probability fall into bins of equal size, and
               ACE = sum over bins of (share of rows) |mean label - mean probability| = (1/N) sum_bins |sum_i (y_i - p_i)|
    log loss   mean of -log(probability of what happened)
    accuracy   share of rows whose more likely class is what happened

ACE is that of Nixon et al. (2019) for the positive class, as Sun, Justin, Gomez and Vayanos (AISTATS 2025) compute it: where N
is no multiple of the number of bins the last bins have one row more. Rows of equal probability share their labels evenly, so
that the order of rows does not matter. Probabilities equal to 12 digits count as equal, because sums in another order differ
behind them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from surefoot.core.arrays import BoolArray, FloatArray

METRICS = ("auc", "ace", "log_loss", "accuracy")
# Greater is better for these, smaller for the others.
REWARDS = frozenset({"auc", "accuracy"})
# The number of bins of the paper's own program.
N_BINS = 10

# Bits of a probability that rounding may have touched: of 52 behind the point, the last 10.
_LOOSE_BITS = 10


def named_metrics(chosen: Any) -> tuple[str, ...]:
    """A tuple of metrics from a name or a list of names."""
    names = (chosen,) if isinstance(chosen, str) else tuple(chosen)
    unknown = [name for name in names if name not in METRICS]
    if unknown or not names or len(set(names)) < len(names):
        raise ValueError(f"metrics = {chosen!r} must be names among {', '.join(map(repr, METRICS))}, each once.")
    return names


def metrics_of_scores(scores: FloatArray, positive: BoolArray, metrics: Sequence[str], n_bins: int = N_BINS) -> FloatArray:
    """The same for log odds of the positive class."""
    losses = None
    if "log_loss" in metrics:
        losses = log_losses(scores, positive).mean(axis=1)
    return _metrics(expit(scores), positive, metrics, losses, n_bins)


def log_losses(scores: FloatArray, positive: BoolArray) -> FloatArray:
    """log(1 + exp(-m)) for the margin m of each row, in a form that neither over- nor underflows."""
    margins = np.where(positive, scores, -scores)
    losses: FloatArray = np.log1p(np.exp(-np.abs(margins))) - np.minimum(margins, 0.0)
    return losses


def metrics_of_probabilities(
    negative_class: FloatArray, positive_class: FloatArray, positive: BoolArray, metrics: Sequence[str], n_bins: int = N_BINS
) -> FloatArray:
    """Metrics of several models on one set.

    Parameters
    ----------
    negative_class, positive_class : ndarray of shape (n_models, n_rows)
        Probabilities of the two classes; that of the negative one has digits that 1 - p has not.
    positive : ndarray of shape (n_rows,), bool
        What happened.
    metrics : sequence of names
    n_bins : int

    Returns
    -------
    ndarray of shape (n_models, n_metrics)
    """
    losses = None
    if "log_loss" in metrics:
        happened = np.where(positive, positive_class, negative_class)
        # A probability of 0 for what did happen is no finite loss; it counts as the least number above 0.
        losses = -np.log(np.maximum(happened, np.finfo(np.float64).tiny)).mean(axis=1)
    return _metrics(positive_class, positive, metrics, losses, n_bins)


def _metrics(
    probability: FloatArray, positive: BoolArray, metrics: Sequence[str], losses: FloatArray | None, n_bins: int
) -> FloatArray:
    found = np.empty((len(probability), len(metrics)))
    for at, name in enumerate(metrics):
        if name == "log_loss":
            found[:, at] = losses
        elif name == "accuracy":
            found[:, at] = ((probability > 0.5) == positive).mean(axis=1)
    if "auc" in metrics or "ace" in metrics:
        values, labels = _sorted_rows(probability, positive)
        starting = np.ones(values.shape, dtype=bool)
        np.not_equal(values[:, 1:], values[:, :-1], out=starting[:, 1:])
        tied = np.flatnonzero(~starting.all(axis=1))
        if tied.size:
            starts = np.flatnonzero(starting[tied])
            counts = np.diff(starts, append=tied.size * values.shape[1])
            shared = np.add.reduceat(labels[tied].ravel(), starts) / counts
            labels[tied] = np.repeat(shared, counts).reshape(tied.size, -1)
        for at, name in enumerate(metrics):
            if name == "auc":
                found[:, at] = _auc(labels)
            elif name == "ace":
                found[:, at] = _ace(values, labels, n_bins)
    return found


def _sorted_rows(probability: FloatArray, positive: BoolArray) -> tuple[FloatArray, FloatArray]:
    """Probabilities in increasing order, and the labels that go with them, as 0.0 and 1.0.

    Bits of floats in [0, 1] have the order of the floats and leave the first two of 64 unused, so a label fits behind them, and
    sorting whole numbers takes a third of the time that sorting positions does.
    """
    keys = (rounded_bits(probability) << 1) | positive
    keys.sort(axis=1)
    labels = (keys & 1).astype(np.float64)
    return (keys >> 1).view(np.float64), labels


def rounded_bits(probability: FloatArray) -> NDArray[np.int64]:
    """The bits of probabilities, rounded so that those which only the order of a sum tells apart are equal."""
    bits = np.ascontiguousarray(probability + 0.0).view(np.int64)
    return (bits + (1 << (_LOOSE_BITS - 1))) & ~np.int64((1 << _LOOSE_BITS) - 1)


def _auc(labels: FloatArray) -> FloatArray:
    """From labels in the order of the probabilities, evenly shared among equal ones.

    The ranks of P positives sum up to P (P + 1) / 2 plus the pairs that are in order. Shared labels give every row of a group
    of equal ones the mean rank of the group, which counts its pairs half.
    """
    rows = labels.shape[1]
    positives = labels.sum(axis=1)
    pairs = labels @ np.arange(1.0, rows + 1.0) - 0.5 * positives * (positives + 1.0)
    areas: FloatArray = pairs / (positives * (rows - positives))
    return areas


def _ace(values: FloatArray, labels: FloatArray, n_bins: int) -> FloatArray:
    rows = values.shape[1]
    errors: FloatArray = np.abs(np.add.reduceat(labels - values, bin_starts(rows, n_bins), axis=1)).sum(axis=1) / rows
    return errors


def bin_starts(rows: int, n_bins: int) -> NDArray[np.intp]:
    """Where the bins of sorted rows begin."""
    bins = min(n_bins, rows)
    size, longer = divmod(rows, bins)
    at = np.arange(bins)
    return at * size + np.maximum(at - (bins - longer), 0)
