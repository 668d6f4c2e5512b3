"""Logistic regression against a Wasserstein ball whose ground cost differs per feature.

    min over beta, lambda >= 0 of   lambda * radius + sum_i w_i r_i(beta, lambda)
    subject to   |beta_j| <= gamma_j lambda   for every numeric column j,

    r_i = max over labels y' and category vectors z' of
          log(1 + exp(-y' (beta_0 + beta_x . x_i + beta_z(z'))))
          - lambda sum_l delta_l 1[z'_l != z_il] - lambda kappa 1[y' != y_i].

This is Theorem 1 of Sun, Justin, Gomez and Vayanos (AISTATS 2025), with row weights and a label price. With ``radius = 0`` the
multiplier lambda costs nothing, every shift can be priced out, and what remains is plain logistic regression.

Conventions (all rooms)
-----------------------
- ``numeric`` is (N, n) float64, ``codes`` (N, m) int32 with 0 <= codes[:, l] < n_levels[l], both C-contiguous.
- ``labels`` is (N,) float64 with values -1.0 and +1.0; ``weights`` is (N,) float64, non-negative, summing to 1.
- Coefficients of categories are kept for ALL levels, feature after feature, in one vector ``levels`` of length
  ``sum(n_levels)``; feature l owns the slice ``level_offsets[l]:level_offsets[l + 1]``. The coefficient of the reference
  level, code 0, is exactly 0.0 in every solution.
- Objectives are weighted means, never sums.

Why the worst level is shared
-----------------------------
For a target label +1 the adversary lowers the score: whatever the row, feature l moves to the level with the smallest
coefficient; for a target label -1, to the one with the largest. Staying at the own level for a price is never better than
staying for free, so "own level excluded" needs no bookkeeping. A shift is hence described by the SET of features that moved
and by whether the label flipped; see :class:`ShiftPlan`.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np

from surefoot.problems.arrays import BoolArray, FloatArray, IntArray, RowArray
from surefoot.problems.ground_cost import GroundCost


@dataclass(frozen=True)
class RobustLogisticProblem:
    """One instance of the robust logistic regression problem; see the module docstring for the objective."""

    numeric: FloatArray
    codes: IntArray
    n_levels: IntArray
    labels: FloatArray
    weights: FloatArray
    cost: GroundCost
    radius: float
    fit_intercept: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "numeric", np.ascontiguousarray(self.numeric, dtype=np.float64))
        object.__setattr__(self, "codes", np.ascontiguousarray(self.codes, dtype=np.int32))
        object.__setattr__(self, "n_levels", np.ascontiguousarray(self.n_levels, dtype=np.int32))
        object.__setattr__(self, "labels", np.ascontiguousarray(self.labels, dtype=np.float64))
        object.__setattr__(self, "weights", np.ascontiguousarray(self.weights, dtype=np.float64))
        rows = self.labels.shape[0]
        if self.numeric.ndim != 2 or self.codes.ndim != 2 or {len(self.numeric), len(self.codes), len(self.weights)} != {rows}:
            raise ValueError("numeric, codes, labels and weights must have the same number of rows.")
        if self.n_levels.shape != (self.codes.shape[1],):
            raise ValueError("n_levels needs one entry per categorical column.")
        if self.cost.numeric_weights.shape != (self.n_numeric,) or self.cost.categorical_weights.shape != (self.n_categorical,):
            raise ValueError("the ground cost needs one weight per column.")
        if not (np.isfinite(self.radius) and self.radius >= 0):
            raise ValueError(f"radius = {self.radius} must be a finite number at or above 0.")

    @property
    def n_rows(self) -> int:
        return int(self.labels.shape[0])

    @property
    def n_numeric(self) -> int:
        return int(self.numeric.shape[1])

    @property
    def n_categorical(self) -> int:
        return int(self.codes.shape[1])

    @property
    def level_offsets(self) -> IntArray:
        """Start of each feature's slice in the level vector, and its total length last."""
        return np.concatenate(([0], np.cumsum(self.n_levels))).astype(np.int32)

    def digest(self) -> str:
        """Fingerprint of everything that defines the optimum: data, weights, radius."""
        mark = hashlib.sha256()
        for part in (
            self.numeric,
            self.codes,
            self.n_levels,
            self.labels,
            self.weights,
            self.cost.numeric_weights,
            self.cost.categorical_weights,
            np.array([self.cost.label_weight, self.radius, float(self.fit_intercept)]),
        ):
            mark.update(str(part.shape).encode())
            mark.update(part.data if part.size else b"")
        return mark.hexdigest()


@dataclass(frozen=True)
class RobustCoefficients:
    """A primal point: the model and the price lambda of a unit of shift.

    Attributes
    ----------
    intercept : float
    numeric : ndarray of shape (n_numeric,)
    levels : ndarray of shape (sum(n_levels),)
        Coefficient of every level; reference levels hold 0.0.
    price : float
        lambda, how much the worst-case loss grows per unit of radius.
    """

    intercept: float
    numeric: FloatArray
    levels: FloatArray
    price: float


@dataclass(frozen=True)
class ShiftPlan:
    """A dual point: the adversary's plan, which mass of which row moves where.

    Entry k takes ``mass[k]`` of row ``row[k]``, moves the categorical features ``moved[k]``, flips the label if ``flipped[k]``
    and leaves the rest. ``slope[k]`` in [0, 1] is the slope of the loss there. Moved features go to level c with probability
    ``lowest[c]`` if the (possibly flipped) label is +1 and ``highest[c]`` if it is -1; both vectors run over all levels of all
    features and sum to 1 within each feature. The masses of a row sum to its weight.

    For ANY such plan weak duality gives a lower bound on the optimum: with s_k the final label, zbar_k the one-hot vector of
    the row's own levels (features that stayed) and of the mixed levels (features that moved), price_k the ground cost of the
    categorical moves and the flip, f*(q) = q log q + (1 - q) log(1 - q), and

        g = sum_k mass_k slope_k (-s_k) (1, x_row(k), zbar_k),

        optimum >= - sum_k mass_k f*(slope_k)
        if g vanishes on the intercept and on all non-reference levels and
        sum_j gamma_j |g_j| <= radius - sum_k mass_k price_k  over the numeric columns j.
    """

    row: RowArray
    moved: BoolArray
    flipped: BoolArray
    mass: FloatArray
    slope: FloatArray
    lowest: FloatArray
    highest: FloatArray
