"""What it costs the adversary to move one row: the metric under the Wasserstein ball.

    cost = || (gamma_j (x_j - x'_j))_j ||  +  sum_l delta_l 1[z_l != z'_l]  +  kappa 1[y != y']

in the l1 norm (sum_j gamma_j |x_j - x'_j|), the l2 norm or the maximum norm (see :mod:`surefoot.robust.problem.numeric_norm`).
A weight of ``inf`` says that the column (or the label) never shifts.

A numeric column may have a range: a row moves along it between two finite ends, and beyond them at no price. A range without
width, like a weight of ``inf``, is a column that never shifts. Ranges belong to the l1 norm: only there does what one column
costs not depend on how far the others move, so that a worst case goes all the way to an end or stays.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from surefoot.core.arrays import BoolArray, FloatArray
from surefoot.robust.problem.numeric_norm import NumericNorm, coefficient_norm, gradient_norm, require_norm


@dataclass(frozen=True, eq=False)
class GroundCost:
    """Price of moving one row by one unit, per feature.

    Parameters
    ----------
    numeric_weights : ndarray of shape (n_numeric,)
        gamma: price per unit of each numeric column; positive, ``inf`` allowed.
    categorical_weights : ndarray of shape (n_categorical,)
        delta: price of changing each categorical column; positive, ``inf`` allowed.
    label_weight : float
        kappa: price of flipping the label; positive, ``inf`` (the default) forbids flips.
    numeric_norm : {"l1", "l2", "linf"}, default="l1"
        How the prices of the numeric columns combine when a row moves in several of them: their sum, the length of the
        vector of prices, or the largest.
    numeric_ranges : ndarray of shape (n_numeric, 2), optional
        The ends between which rows move along each column; -inf and inf for a column without a range. None: no column has one.
    """

    numeric_weights: FloatArray
    categorical_weights: FloatArray
    label_weight: float = np.inf
    numeric_norm: NumericNorm = "l1"
    numeric_ranges: FloatArray | None = field(default=None, metadata={"later": True})

    def __post_init__(self) -> None:
        for name in ("numeric_weights", "categorical_weights"):
            weights = np.ascontiguousarray(getattr(self, name), dtype=np.float64)
            if weights.ndim != 1:
                raise ValueError(f"{name} must be one-dimensional, got shape {weights.shape}.")
            wrong = np.flatnonzero(~(weights > 0))
            if wrong.size:
                at = int(wrong[0])
                raise ValueError(
                    f"{name}[{at}] = {weights[at]} is not positive. A weight is the price of a shift: "
                    "use a small positive number where shifts are likely and inf where they cannot happen."
                )
            object.__setattr__(self, name, weights)
        if not self.label_weight > 0:
            raise ValueError(
                f"label_weight = {self.label_weight} is not positive. It is the price of flipping a label; inf forbids flips."
            )
        require_norm("numeric_norm", self.numeric_norm)
        if self.numeric_ranges is not None:
            object.__setattr__(self, "numeric_ranges", self._sound_ranges(np.asarray(self.numeric_ranges, dtype=np.float64)))

    def _sound_ranges(self, ranges: FloatArray) -> FloatArray | None:
        """The ranges, or None if no column has one."""
        if ranges.shape != (self.numeric_weights.size, 2):
            raise ValueError(
                f"numeric_ranges has the shape {ranges.shape}, but {self.numeric_weights.size} numeric columns need two ends "
                "each."
            )
        low, high = ranges[:, 0], ranges[:, 1]
        endless = (low == -np.inf) & (high == np.inf)
        if endless.all():
            return None
        with np.errstate(over="ignore", invalid="ignore"):
            sound = np.isfinite(high - low) & (low <= high)
        for at in np.flatnonzero(~endless & ~sound)[:1]:
            raise ValueError(
                f"numeric_ranges[{at}] = ({low[at]}, {high[at]}) is no range: two finite ends, the lower one first, or "
                "(-inf, inf) for a column without a range."
            )
        if self.numeric_norm != "l1":
            raise ValueError(
                f"numeric_ranges need the norm 'l1', not {self.numeric_norm!r}: under another norm the price of a move along "
                "one column depends on the moves along the others, and worst cases end between the ends of ranges."
            )
        return np.ascontiguousarray(ranges)

    @property
    def ranged(self) -> BoolArray:
        """Which numeric columns move within a range, at a finite price."""
        if self.numeric_ranges is None:
            return np.zeros(self.numeric_weights.size, dtype=np.bool_)
        width = self.numeric_ranges[:, 1] > self.numeric_ranges[:, 0]
        ranged: BoolArray = np.isfinite(self.numeric_ranges[:, 0]) & width & np.isfinite(self.numeric_weights)
        return ranged

    @property
    def endless_weights(self) -> FloatArray:
        """gamma of the columns along which rows may move without end; ``inf`` where they have a range or never move."""
        if self.numeric_ranges is None:
            return self.numeric_weights
        endless: FloatArray = np.where(np.isfinite(self.numeric_ranges[:, 0]), np.inf, self.numeric_weights)
        return endless

    @property
    def immovable(self) -> BoolArray:
        """Which numeric columns never shift: a weight of ``inf``, or a range without width."""
        immovable: BoolArray = np.isinf(self.endless_weights) & ~self.ranged
        return immovable

    def admitting_price(self, coefficients: FloatArray) -> float:
        """The smallest lambda at which moving rows without end gains nothing: the dual norm of beta / gamma.

        Columns with a range do not count: whatever they gain is a part of the worst case.
        """
        return coefficient_norm(coefficients, self.endless_weights, self.numeric_norm)

    def numeric_price(self, shift: FloatArray) -> float:
        """|| (gamma_j v_j)_j || of a vector v over the numeric columns without a range; ``inf`` if another one moves."""
        return gradient_norm(shift, self.endless_weights, self.numeric_norm)
