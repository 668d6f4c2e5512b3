"""What defines a robust problem beside its rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from surefoot.core.arrays import IntArray
from surefoot.robust.problem.ground_cost import GroundCost


@dataclass(frozen=True)
class Terms:
    """A robust problem without its rows; see :class:`~surefoot.robust.problem.problem.RobustLogisticProblem`."""

    n_levels: IntArray
    cost: GroundCost
    radius: float
    fit_intercept: bool

    @property
    def n_numeric(self) -> int:
        return int(self.cost.numeric_weights.size)

    @property
    def n_categorical(self) -> int:
        return int(self.n_levels.size)

    @property
    def n_moves(self) -> int:
        """How many moves a shift chooses from: one per categorical column, two per numeric column with a range."""
        return self.n_categorical + 2 * int(np.count_nonzero(self.cost.ranged))

    @cached_property
    def level_offsets(self) -> IntArray:
        """Start of each feature's slice in the level vector, and its total length last."""
        return np.concatenate(([0], np.cumsum(self.n_levels))).astype(np.int32)
