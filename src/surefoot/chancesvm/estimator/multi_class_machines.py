"""Several classes by machines of two: which machines there are, and what their answers say together.

One against one ("ovo"): a machine for each pair of classes, on the inputs of these two. Every machine votes for a class, and
sums of scores, pressed into less than half a vote, decide between equal votes. Probabilities r_ij of class i among the classes
i and j are coupled to those of all classes: p minimises sum over i < j of (r_ji p_i - r_ij p_j)^2 among probabilities that add
up to 1 (Wu, Lin and Weng, Probability estimates for multi-class classification by pairwise coupling, 2004, their second method,
as in LIBSVM). With Q_ii = sum over j of r_ji^2 and Q_ij = -r_ji r_ij its optimality conditions are  Q p + b e = 0,  e . p = 1.

One against the rest ("ovr"): a machine for each class, on all inputs. The class with the largest score wins, and probabilities
are divided by their sum.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from surefoot.core.arrays import FloatArray

# Probabilities of pairs are kept away from 0 and 1 by so much, as in LIBSVM: the coupling of certainties may contradict itself.
LEAST_PROBABILITY = 1e-7


def require_multi_class(multi_class: Any) -> str:
    """The name of a known scheme."""
    if not (isinstance(multi_class, str) and multi_class in ("ovo", "ovr")):
        raise ValueError(f"multi_class = {multi_class!r} must be 'ovo' (one against one) or 'ovr' (one against the rest).")
    return multi_class


def machine_classes(multi_class: str, n_classes: int) -> list[tuple[int | None, int]]:
    """The negative and the positive class of each machine by their places; None for all others."""
    if multi_class == "ovo":
        return list(itertools.combinations(range(n_classes), 2))
    return [(None, at) for at in range(n_classes)]


def class_scores(multi_class: str, scores: FloatArray, n_classes: int) -> FloatArray:
    """Scores of all classes, of which the largest wins.

    Parameters
    ----------
    multi_class : {"ovo", "ovr"}
    scores : ndarray of shape (n_rows, n_machines)
        Positive for the positive class of a machine.
    n_classes : int

    Returns
    -------
    ndarray of shape (n_rows, n_classes)
    """
    if multi_class == "ovr":
        return scores
    votes, sums = np.zeros((len(scores), n_classes)), np.zeros((len(scores), n_classes))
    for column, (first, second) in zip(scores.T, itertools.combinations(range(n_classes), 2), strict=True):
        votes[:, first] += column <= 0
        votes[:, second] += column > 0
        sums[:, first] -= column
        sums[:, second] += column
    # Below a third of a vote in size, and growing with the sum.
    return np.asarray(votes + sums / (3.0 * (np.abs(sums) + 1.0)))


def class_probabilities(multi_class: str, positive: FloatArray, n_classes: int) -> FloatArray:
    """Probabilities of all classes from those of the machines' positive ones; rows add up to 1."""
    if multi_class == "ovr":
        total = positive.sum(axis=1, keepdims=True)
        return np.asarray(np.where(total > 0, positive, 1.0) / np.where(total > 0, total, n_classes))
    pairs = np.clip(positive, LEAST_PROBABILITY, 1.0 - LEAST_PROBABILITY)
    won = np.zeros((len(positive), n_classes, n_classes))
    for at, (first, second) in enumerate(itertools.combinations(range(n_classes), 2)):
        won[:, second, first] = pairs[:, at]
        won[:, first, second] = 1.0 - pairs[:, at]
    conditions = np.zeros((len(positive), n_classes + 1, n_classes + 1))
    conditions[:, :n_classes, :n_classes] = -won * won.transpose(0, 2, 1)
    every = np.arange(n_classes)
    conditions[:, every, every] = np.sum(won * won, axis=1)
    conditions[:, :n_classes, n_classes] = conditions[:, n_classes, :n_classes] = 1.0
    right = np.zeros((n_classes + 1, 1))
    right[-1] = 1.0
    found = np.maximum(np.linalg.solve(conditions, np.broadcast_to(right, (len(positive), *right.shape)))[:, :-1, 0], 0.0)
    return np.asarray(found / found.sum(axis=1, keepdims=True))
