"""The decisions found so far, each once."""

from __future__ import annotations

import copy

import numpy as np

from surefoot.problems.arrays import FloatArray
from surefoot.problems.inverse import Cuts, InverseProblem


class CutPool:
    """Cuts of an inverse problem, in the order they were found."""

    def __init__(self, problem: InverseProblem) -> None:
        self.problem = problem
        self._seen: set[tuple[int, bytes]] = set()
        self.owners: list[int] = []
        self.points: list[FloatArray] = []
        self._slopes: list[FloatArray] = []
        self._offsets: list[float] = []

    def add(self, owner: int, point: FloatArray, slope: FloatArray | None = None, distance: float | None = None) -> bool:
        """Keep a decision; whether it is a new one. Slope and distance are computed where they are not known."""
        mark = (owner, (point + 0.0).tobytes())
        if mark in self._seen:
            return False
        self._seen.add(mark)
        example = self.problem.examples[owner]
        self.owners.append(owner)
        self.points.append(point)
        self._slopes.append(example.slopes(point[None, :])[0] if slope is None else slope)
        far = example.distances(self.problem.distance, point[None, :])[0] if distance is None else distance
        self._offsets.append(float(far))
        return True

    def over(self, problem: InverseProblem) -> CutPool:
        """The same decisions, shared, for a problem that differs only in its prior set or in how losses count."""
        other = copy.copy(self)
        other.problem = problem
        return other

    def cuts(self) -> Cuts:
        slopes = np.array(self._slopes).reshape(len(self._slopes), self.problem.n_features)
        return Cuts(np.asarray(self.owners, dtype=np.int32), tuple(self.points), slopes, np.array(self._offsets))
