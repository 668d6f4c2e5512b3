"""What it costs the adversary to move one row: the metric under the Wasserstein ball.

    cost = || (gamma_j (x_j - x'_j))_j ||  +  sum_l delta_l 1[z_l != z'_l]  +  kappa 1[y != y']

in the l1 norm (sum_j gamma_j |x_j - x'_j|), the l2 norm or the maximum norm (see :mod:`surefoot.robust.problem.numeric_norm`).
A weight of ``inf`` says that the column (or the label) never shifts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from surefoot.core.arrays import FloatArray
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
    """

    numeric_weights: FloatArray
    categorical_weights: FloatArray
    label_weight: float = np.inf
    numeric_norm: NumericNorm = "l1"

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

    def admitting_price(self, coefficients: FloatArray) -> float:
        """The smallest lambda at which moving rows along the numeric columns gains nothing: the dual norm of beta / gamma."""
        return coefficient_norm(coefficients, self.numeric_weights, self.numeric_norm)

    def numeric_price(self, shift: FloatArray) -> float:
        """|| (gamma_j v_j)_j || of a vector v over the numeric columns; ``inf`` if it moves a column that cannot."""
        return gradient_norm(shift, self.numeric_weights, self.numeric_norm)
