"""How far a cost vector may turn before a decision changes.

At the best decision b of a signal another one x is as cheap as soon as <theta, g> = 0, g = phi(x) - phi(b). The angle from
theta to that plane is arcsin(<theta, g> / (|theta| |g|)), and the smallest over all x with g != 0 is how far theta may turn, in
any direction whatever the prior set says. Decisions with the features of b are never told from it and do not count.

Listed decisions and few 0/1 unknowns are gone through. At a vertex of a linear programme with as many active rows as unknowns
the smallest angle is that to one of its edges. With more 0/1 unknowns the smallest ratio <theta, g> / |x - b| is found by
Dinkelbach's method, one integer programme a step: no decision has a smaller one than the last programme bounds, and |g| is at
most the largest singular value of the features' matrix times |x - b|. Other decisions are not judged.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.exceptions import SurefootError
from surefoot.inverse.oracle.binary_vectors import few_decisions
from surefoot.inverse.oracle.forward_oracle import ForwardOracle
from surefoot.inverse.problem.decision_set import LinearSet, ListedSet
from surefoot.inverse.problem.distance import Distance
from surefoot.inverse.problem.hypothesis import LinearFeatures
from surefoot.inverse.problem.problem import Example, Instance

# Differences of features of this part of the features themselves are rounding: such decisions look alike.
ALIKE = 1e-12
# Rows that are met this closely, per unit of their terms, are active.
ACTIVE = 1e-8
# Steps of Dinkelbach's method, which needs three or four.
STEPS = 20


@dataclass(frozen=True)
class Turn:
    """Degrees that a cost may turn at one signal: the decision stays below ``least``, and changes at ``most`` or before.

    NaN where that is not known. 180 stands for a decision that no cost changes.
    """

    least: float
    most: float


UNKNOWN = Turn(np.nan, np.nan)


def decision_turn(oracle: ForwardOracle, instance: Instance, theta: FloatArray) -> Turn:
    """How far a cost may turn before the decision at a signal changes."""
    length = float(np.linalg.norm(theta))
    if length == 0:
        return Turn(0.0, 0.0)
    unit, decisions = theta / length, instance.decisions
    points = decisions.points if isinstance(decisions, ListedSet) else None
    if isinstance(decisions, LinearSet) and isinstance(instance.features, LinearFeatures):
        points = few_decisions(decisions)
        if points is None and decisions.binary.all():
            return _by_programmes(oracle, instance, unit)
        if points is None and not decisions.whole.any():
            return _at_vertex(oracle, instance, unit)
    if points is None:
        return UNKNOWN
    phi = instance.features.of(points)
    priced = phi @ unit
    away = phi - phi[int(np.argmin(priced))]
    size = np.linalg.norm(away, axis=1)
    apart = size > ALIKE * np.abs(phi).max(initial=0.0)
    if not apart.any():
        return Turn(180.0, 180.0)
    angle = _least_angle(away[apart], unit)
    return Turn(angle, angle)


def _least_angle(away: FloatArray, unit: FloatArray) -> float:
    """Degrees from a cost of length 1 to the nearest of the planes at which decisions are as cheap.

    By two lengths: where a cost is nearly along a difference its sine is 1, whatever the last half of the digits are.
    """
    dearer = np.maximum(away @ unit, 0.0)
    beside = np.linalg.norm(away - dearer[:, None] * unit, axis=1)
    return float(np.degrees(np.arctan2(dearer, beside).min()))


def _degrees(sine: float) -> float:
    return float(np.degrees(np.arcsin(np.clip(sine, 0.0, 1.0))))


def _by_programmes(oracle: ForwardOracle, instance: Instance, unit: FloatArray) -> Turn:
    features = instance.features
    assert isinstance(features, LinearFeatures)
    largest = float(np.linalg.norm(features.matrix, 2))
    l2, most = Distance("l2", "none"), 180.0
    try:
        example = Example(instance, oracle.decide(instance, unit).point)
        # No ratio is larger: |g| is at most this times |x - b|.
        ratio, found = largest, oracle.augmented(example, unit, l2, weight=largest)
        for _ in range(STEPS):
            saved = -float(found.slope @ unit)
            if not found.distance > 0 or not saved < ratio * found.distance:
                break
            steep = float(np.linalg.norm(found.slope))
            most = min(most, _degrees(saved / steep)) if steep > 0 else most
            ratio = max(saved / found.distance, 0.0)
            found = oracle.augmented(example, unit, l2, weight=ratio)
    except SurefootError:
        return UNKNOWN
    if largest == 0:
        return Turn(180.0, 180.0)
    # Different vectors of zeros and ones are at least 1 apart.
    return Turn(min(_degrees((ratio - max(found.bound, 0.0)) / largest), most), most)


def _at_vertex(oracle: ForwardOracle, instance: Instance, unit: FloatArray) -> Turn:
    decisions, features = instance.decisions, instance.features
    assert isinstance(decisions, LinearSet) and isinstance(features, LinearFeatures)
    try:
        best = oracle.decide(instance, unit).point
    except SurefootError:
        return UNKNOWN
    rows, sides = decisions.inequalities()
    eye, upper, lower = np.eye(best.size), np.isfinite(decisions.upper), np.isfinite(decisions.lower)
    rows = np.vstack((rows, eye[upper], -eye[lower]))
    sides = np.concatenate((sides, decisions.upper[upper], -decisions.lower[lower]))
    size = np.abs(rows) @ np.abs(best) + np.abs(sides) + np.abs(rows).max(axis=1, initial=0.0)
    active = rows[np.abs(sides - rows @ best) <= ACTIVE * size]
    if active.shape[0] != best.size or np.linalg.matrix_rank(active) < best.size:
        return UNKNOWN  # edges of a degenerate vertex are not read off its rows
    edges = -np.linalg.inv(active).T @ features.matrix.T
    length = np.linalg.norm(edges, axis=1)
    apart = length > ALIKE * length.max(initial=0.0)
    if not apart.any():
        return Turn(180.0, 180.0)
    angle = _least_angle(edges[apart], unit)
    return Turn(angle, angle)
