"""The predictability loss, distances of the best decisions of a cost from the observed ones: equation (28) of the paper."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.inverse.problem.decision_set import ListedSet
from surefoot.inverse.problem.hypothesis import LinearFeatures
from surefoot.inverse.problem.problem import InverseProblem

# Decisions whose cost exceeds the smallest by no more than this are best decisions too, for a cost whose largest entry is 1 and
# whose largest product with a feature is 1 or more; smaller products make it smaller. Certificates allow as much.
TIED = 1e-7


def tied_costs(problem: InverseProblem, theta: FloatArray) -> FloatArray:
    """By how much the cost of a best decision may exceed the smallest one, for every observation."""
    found = np.empty(problem.n_examples)
    size = np.abs(theta)
    for i, example in enumerate(problem.examples):
        decisions, features = example.instance.decisions, example.instance.features
        if isinstance(decisions, ListedSet):
            steep = np.abs(example.slopes(decisions.points)).max(axis=0, initial=0.0)
        elif isinstance(features, LinearFeatures):
            steep = np.abs(features.matrix).max(axis=1, initial=0.0)
        else:
            steep = np.abs(example.own)
        found[i] = TIED * min(float(size.max()), float((steep * size).max()))
    return found


def predicted_distances(problem: InverseProblem, theta: FloatArray, points: Sequence[FloatArray]) -> FloatArray:
    """For every observation, the smallest distance of one of the best among listed decisions."""
    losses, tied = np.empty(problem.n_examples), tied_costs(problem, theta)
    for i, (example, listed) in enumerate(zip(problem.examples, points, strict=True)):
        gains = example.slopes(listed) @ theta
        losses[i] = example.distances(problem.distance, listed[gains >= gains.max() - tied[i]]).min()
    return losses
