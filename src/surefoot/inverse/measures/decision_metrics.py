"""How well a learned cost explains an expert: four measures, all 0 where nothing is left to learn.

    cost angle                  angle between the learned and the true cost, which only matter up to their length
    decision error              mean distance between the expert's decisions and ours
    relative cost difference    by how much our decisions cost more, in the expert's own cost:
                                (sum_i <cost, phi_i> - sum_i <cost, phi'_i>) / |sum_i <cost, phi'_i>|
    unpredicted share           share of the expert's decisions that ours do not repeat

The first three are those of Section 6 of Zattoni Scroccaro et al. (2024); its "difference between costs" is the
chord 2 sin(angle / 2) of the cost angle, which :func:`cost_difference` gives.
"""

from __future__ import annotations

import numpy as np

from surefoot.core.arrays import AnyArray, FloatArray
from surefoot.exceptions import InvalidTableError

_NORMS = {"l1": 1, "l2": 2, "linf": np.inf}


def cost_angle(true_cost: AnyArray, learned_cost: AnyArray) -> float:
    """Angle between two costs, in radians.

    Parameters
    ----------
    true_cost, learned_cost : array-like of shape (n_features,)
        Neither is all zero.

    Returns
    -------
    float
        Between 0 and pi; exact for small angles too, where the arc cosine is not.
    """
    first, second = _directions(true_cost, learned_cost)
    # Kahan's formula: both arguments are computed without cancellation where they matter.
    return float(2.0 * np.arctan2(np.linalg.norm(first - second), np.linalg.norm(first + second)))


def cost_difference(true_cost: AnyArray, learned_cost: AnyArray) -> float:
    """Distance between two costs of length 1.

    Parameters
    ----------
    true_cost, learned_cost : array-like of shape (n_features,)
        Neither is all zero; they are scaled to length 1.

    Returns
    -------
    float
        Between 0 and 2.
    """
    first, second = _directions(true_cost, learned_cost)
    return float(np.linalg.norm(first - second))


def decision_error(true_responses: AnyArray, responses: AnyArray, *, norm: str = "l2") -> float:
    """Mean distance between decisions.

    Parameters
    ----------
    true_responses, responses : array-like of shape (n_examples, n_variables)
    norm : {"l1", "l2", "linf"}, default="l2"

    Returns
    -------
    float
    """
    if norm not in _NORMS:
        raise ValueError(f"norm={norm!r} is not known. Choose one of {', '.join(map(repr, _NORMS))}.")
    truth, ours = _decisions(true_responses, responses)
    return float(np.mean(np.linalg.norm(truth - ours, ord=_NORMS[norm], axis=1)))


def relative_cost_difference(true_cost: AnyArray, true_features: AnyArray, features: AnyArray) -> float:
    """By how much our decisions cost more than the expert's, in the true cost.

    Parameters
    ----------
    true_cost : array-like of shape (n_features,)
    true_features, features : array-like of shape (n_examples, n_features)
        Features of the expert's decisions and of ours; for a cost that is linear in the decisions these are the decisions.

    Returns
    -------
    float
        Not negative where the expert's decisions are optimal.
    """
    cost = np.asarray(true_cost, dtype=np.float64)
    truth, ours = _decisions(true_features, features)
    if cost.shape != truth.shape[1:]:
        raise InvalidTableError(f"the cost has shape {cost.shape}, but examples have {truth.shape[1]} features.")
    paid = float(np.sum(truth @ cost))
    if paid == 0.0:
        raise InvalidTableError("the expert's decisions cost 0 in total, so there is no relative difference.")
    return float(np.sum((ours - truth) @ cost)) / abs(paid)


def unpredicted_share(true_responses: AnyArray, responses: AnyArray, *, tolerance: float = 1e-6) -> float:
    """Share of the expert's decisions that ours do not repeat.

    Parameters
    ----------
    true_responses, responses : array-like of shape (n_examples, n_variables)
    tolerance : float, default=1e-6
        Decisions are the same if no variable differs by more.

    Returns
    -------
    float
        Between 0 and 1.
    """
    truth, ours = _decisions(true_responses, responses)
    return float(np.mean(np.max(np.abs(truth - ours), axis=1) > tolerance))


def _directions(true_cost: AnyArray, learned_cost: AnyArray) -> tuple[FloatArray, FloatArray]:
    first, second = (np.asarray(cost, dtype=np.float64) for cost in (true_cost, learned_cost))
    if first.ndim != 1 or first.shape != second.shape:
        raise InvalidTableError(f"costs of shapes {first.shape} and {second.shape} cannot be compared.")
    for name, cost in (("true", first), ("learned", second)):
        if not np.all(np.isfinite(cost)) or not np.any(cost):
            raise InvalidTableError(f"the {name} cost {cost.tolist()} has no direction: it must be finite and not all zero.")
    # Scaled by the largest entry first, so that the squares of tiny and of huge costs neither vanish nor overflow.
    first, second = first / np.max(np.abs(first)), second / np.max(np.abs(second))
    return first / np.linalg.norm(first), second / np.linalg.norm(second)


def _decisions(true_responses: AnyArray, responses: AnyArray) -> tuple[FloatArray, FloatArray]:
    truth, ours = (np.asarray(rows, dtype=np.float64) for rows in (true_responses, responses))
    if truth.ndim != 2 or truth.shape != ours.shape or truth.size == 0:
        raise InvalidTableError(
            f"decisions of shapes {truth.shape} and {ours.shape} cannot be compared: give one row per example, in both."
        )
    return truth, ours
