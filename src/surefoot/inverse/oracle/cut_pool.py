"""The cut pool of an inverse problem: the decisions found so far, each once."""

from __future__ import annotations

import copy

import numpy as np

from surefoot.core.arrays import FloatArray, RowArray
from surefoot.inverse.problem.problem import Cuts, InverseProblem


class CutPool:
    """Cuts of an inverse problem, in the order they were found."""

    def __init__(self, problem: InverseProblem) -> None:
        self.problem = problem
        self._seen: set[tuple[int, bytes]] = set()
        self.owners: list[int] = []
        self.points: list[FloatArray] = []
        # Blocks of rows: decisions come one by one, or one of every observation at once.
        self._slopes: list[FloatArray] = [np.empty((0, problem.n_features))]
        self._offsets: list[FloatArray] = [np.empty(0)]

    def add(self, owner: int, point: FloatArray, slope: FloatArray | None = None, distance: float | None = None) -> bool:
        """Add a decision; whether it is a new one. Slope and distance are computed where they are not known."""
        if not self._is_new(owner, point, (point + 0.0).tobytes()):
            return False
        example = self.problem.examples[owner]
        self._slopes.append(example.slopes(point[None, :]) if slope is None else slope[None, :])
        offset = example.distances(self.problem.distance, point[None, :])[0] if distance is None else distance
        self._offsets.append(np.array([float(offset)]))
        return True

    def add_all(self, owners: RowArray, points: FloatArray, slopes: FloatArray, distances: FloatArray) -> None:
        """Add the decisions among rows of ``points`` that are new."""
        written = (points + 0.0).tobytes()
        size = points.shape[1] * points.itemsize
        places = enumerate(owners.tolist())
        new = [k for k, owner in places if self._is_new(owner, points[k], written[k * size : (k + 1) * size])]
        if new:
            self._slopes.append(slopes[new])
            self._offsets.append(distances[new])

    def _is_new(self, owner: int, point: FloatArray, written: bytes) -> bool:
        """Add owner and point unless they are known; ``written`` are the point's bytes, with zeros of one sign."""
        if (owner, written) in self._seen:
            return False
        self._seen.add((owner, written))
        self.owners.append(owner)
        self.points.append(point)
        return True

    def over(self, problem: InverseProblem) -> CutPool:
        """The same decisions, in the same memory, for a problem that differs only in its prior set or in how losses count."""
        other = copy.copy(self)
        other.problem = problem
        return other

    def cuts(self) -> Cuts:
        # In place: pools over other problems refer to the same blocks.
        self._slopes[:] = [np.concatenate(self._slopes)]
        self._offsets[:] = [np.concatenate(self._offsets)]
        return Cuts(np.asarray(self.owners, dtype=np.int32), tuple(self.points), self._slopes[0], self._offsets[0])
