"""The predictability loss, distances of the best decisions of a cost from the observed ones: equation (28) of the paper."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.inverse.problem.problem import InverseProblem

# Decisions whose cost exceeds the smallest by no more than this, relative to the cost vector, are best decisions too.
TIED = 1e-7


def predicted_distances(problem: InverseProblem, theta: FloatArray, points: Sequence[FloatArray]) -> FloatArray:
    """For every observation, the smallest distance of one of the best among listed decisions."""
    losses = np.empty(problem.n_examples)
    for i, (example, listed) in enumerate(zip(problem.examples, points, strict=True)):
        prices = example.instance.features.of(listed) @ theta
        tied = prices <= prices.min() + TIED * max(float(np.abs(theta).max()), 1e-300)
        losses[i] = example.distances(problem.distance, listed[tied]).min()
    return losses
