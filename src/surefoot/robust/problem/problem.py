"""Logistic regression against a Wasserstein ball whose ground cost differs per feature.

    min over beta, lambda >= 0 of   lambda * radius + sum_i w_i r_i(beta, lambda)
    subject to   || (beta_j / gamma_j)_j ||_* <= lambda   over the numeric columns j,

    r_i = max over labels y' and category vectors z' of
          log(1 + exp(-y' (beta_0 + beta_x . x_i + beta_z(z'))))
          - lambda sum_l delta_l 1[z'_l != z_il] - lambda kappa 1[y' != y_i].

The norm is the dual of the one in the ground cost: for l1, the default, the constraint reads |beta_j| <= gamma_j lambda for
every numeric column j; for l2 it is an ellipsoid, for linf sum_j |beta_j| / gamma_j <= lambda. Columns with gamma_j = inf never
move and their coefficients are free.

A numeric column j may have a range [lo_j, hi_j]. It then takes part in r_i as a category does: the row stays, or goes to an end
at the price lambda gamma_j |end - x_ij|, and nothing limits its coefficient. That a row goes all the way follows from what
cpp/include/surefoot/robust/worst_case.hpp says. Under the l1 norm only; see :mod:`~surefoot.robust.problem.ground_cost`.

This is Theorem 1 of Sun, Justin, Gomez and Vayanos (AISTATS 2025), with row weights, a label price and other norms. With
``radius = 0`` the multiplier lambda costs nothing, every shift can be priced out, and what remains is plain logistic
regression.

Conventions (everywhere)
------------------------
- ``numeric`` is (N, n) float64, ``codes`` (N, m) int32 with 0 <= codes[:, l] < n_levels[l], both C-contiguous; or ``numeric``
  is a ``scipy.sparse.csr_array`` of float64 in canonical form (columns of a row ascending, none twice).
- ``labels`` is (N,) float64 with values -1.0 and +1.0; ``weights`` is (N,) float64, non-negative, summing to 1.
- Coefficients of categories are stored for ALL levels, feature after feature, in one vector ``levels`` of length
  ``sum(n_levels)``; feature l owns the slice ``level_offsets[l]:level_offsets[l + 1]``. The coefficient of the reference
  level, code 0, is exactly 0.0 in every solution.
- Objectives are weighted means, never sums.
- A problem that breaks these conventions cannot be made; its parts are frozen, but arrays can be written to, so
  :meth:`RobustLogisticProblem.check` can be called again.

Why the worst level is the same for all rows
--------------------------------------------
For a target label +1 the adversary lowers the score: whatever the row, feature l moves to the level with the smallest
coefficient; for a target label -1, to the one with the largest. Staying at the own level for a price is never better than
staying for free, so "own level excluded" needs no bookkeeping. A shift is hence described by the SET of features that moved
and by whether the label flipped; see :class:`ShiftPlan`.
"""

from __future__ import annotations

import hashlib
from copy import copy
from dataclasses import dataclass

import numpy as np

from surefoot.core.array_checks import WEIGHT_SLACK, require_dimensions, whole_numbers
from surefoot.core.arrays import BoolArray, FloatArray, IntArray, NumericArray, RowArray
from surefoot.robust.problem.ground_cost import GroundCost
from surefoot.robust.problem.numeric_columns import as_numeric_columns, fingerprint_parts, is_sparse
from surefoot.robust.problem.row_checks import require_sound_rows, require_terms
from surefoot.robust.problem.terms import Terms


@dataclass(frozen=True, eq=False, repr=False)
class RobustLogisticProblem:
    """One instance of the robust logistic regression problem.

    The minimum over models beta and prices lambda >= 0 of lambda * radius + the weighted mean of the worst-case losses of the
    rows, where a shift of a row costs lambda times its ground cost.

    Parameters
    ----------
    numeric : ndarray or scipy sparse array of shape (n_rows, n_numeric)
        Finite numbers. Sparse columns of any format become a canonical ``csr_array``; ``is_sparse`` says so.
    codes : ndarray of shape (n_rows, n_categorical)
        Level of each categorical column, counted from 0, the reference level.
    n_levels : ndarray of shape (n_categorical,)
        Number of levels of each categorical column, at least 1. Levels that no row holds are levels a shift can lead to.
    labels : ndarray of shape (n_rows,)
        -1.0 and +1.0.
    weights : ndarray of shape (n_rows,)
        Not negative, summing to 1.
    cost : GroundCost
        Price of a shift, one weight per column.
    radius : float
        Mean cost per row that the adversary may spend; 0 is plain logistic regression.
    fit_intercept : bool, default=True

    Raises
    ------
    ValueError
        If a part breaks these conventions; the message names column, row and value.
    """

    numeric: NumericArray
    codes: IntArray
    n_levels: IntArray
    labels: FloatArray
    weights: FloatArray
    cost: GroundCost
    radius: float
    fit_intercept: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "numeric", as_numeric_columns(self.numeric))
        for name in ("labels", "weights"):
            object.__setattr__(self, name, np.ascontiguousarray(getattr(self, name), dtype=np.float64))
        for name in ("codes", "n_levels"):
            object.__setattr__(self, name, whole_numbers(name, getattr(self, name)))
        self.check()

    def check(self) -> None:
        """Raise ``ValueError`` if the arrays, as they are now, break the conventions of the module docstring."""
        _check_shapes(self)
        _check_values(self)

    def priced(self, cost: GroundCost, radius: float) -> RobustLogisticProblem:
        """The same rows, which are sound and not looked at again, at another cost and radius."""
        posed = copy(self)
        object.__setattr__(posed, "cost", cost)
        object.__setattr__(posed, "radius", radius)
        _check_shapes(posed)
        if cost.numeric_ranges is not None:
            require_terms(posed, posed.terms)
        _check_radius(posed)
        return posed

    def __repr__(self) -> str:
        return (
            f"RobustLogisticProblem(rows={self.n_rows}, numeric={self.n_numeric}, categorical={self.n_categorical}, "
            f"radius={self.radius})"
        )

    @property
    def is_sparse(self) -> bool:
        """Whether the numeric columns are sparse."""
        return is_sparse(self.numeric)

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

    @property
    def terms(self) -> Terms:
        """The problem without its rows."""
        return Terms(self.n_levels, self.cost, self.radius, self.fit_intercept)

    def digest(self) -> str:
        """Fingerprint of everything that defines the optimum: data, weights, norm, radius."""
        mark = hashlib.sha256(f"{'sparse' if self.is_sparse else 'dense'}, {self.cost.numeric_norm}".encode())
        for part in (
            *fingerprint_parts(self.numeric),
            self.codes,
            self.n_levels,
            self.labels,
            self.weights,
            self.cost.numeric_weights,
            self.cost.categorical_weights,
            *(() if self.cost.numeric_ranges is None else (self.cost.numeric_ranges,)),
            np.array([self.cost.label_weight, self.radius, float(self.fit_intercept)]),
        ):
            mark.update(str(part.shape).encode())
            mark.update(part.data if part.size else b"")
        return mark.hexdigest()


def _check_shapes(problem: RobustLogisticProblem) -> None:
    require_dimensions(problem, (("numeric", 2), ("codes", 2), ("n_levels", 1)))
    for what, found, wanted in (
        ("n_levels", problem.n_levels.size, problem.n_categorical),
        ("cost.numeric_weights", problem.cost.numeric_weights.size, problem.n_numeric),
        ("cost.categorical_weights", problem.cost.categorical_weights.size, problem.n_categorical),
    ):
        if found != wanted:
            raise ValueError(f"{what} has {found} entries, but the table has {wanted} such columns.")


def _check_values(problem: RobustLogisticProblem) -> None:
    few = np.flatnonzero(problem.n_levels < 1)
    if few.size:
        raise ValueError(f"n_levels[{few[0]}] = {problem.n_levels[few[0]]}; every categorical column has at least 1 level.")
    require_sound_rows(problem, terms=problem.terms)
    total = float(problem.weights.sum())
    if not abs(total - 1.0) <= WEIGHT_SLACK:
        raise ValueError(f"weights sum to {total}; divide them by their sum, so that they sum to 1.")
    _check_radius(problem)


def _check_radius(problem: RobustLogisticProblem) -> None:
    if not (np.isfinite(problem.radius) and problem.radius >= 0):
        raise ValueError(f"radius = {problem.radius} must be a finite number at or above 0.")


@dataclass(frozen=True, eq=False, repr=False)
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

    def __repr__(self) -> str:
        def short(values: FloatArray) -> str:
            return np.array2string(np.asarray(values), threshold=10, precision=6, separator=", ")

        return (
            f"RobustCoefficients(intercept={self.intercept}, numeric={short(self.numeric)}, levels={short(self.levels)}, "
            f"price={self.price})"
        )


@dataclass(frozen=True, eq=False, repr=False)
class ShiftPlan:
    """A dual point: the adversary's plan, which mass of which row moves where.

    Entry k takes ``mass[k]`` of row ``row[k]``, makes the moves ``moved[k]``, flips the label if ``flipped[k]`` and leaves the
    rest. Moves are numbered: one per categorical feature, then, per numeric column with a range (``cost.ranged``), one to its
    low and one to its high end; the columns in their order. Both together take a number to its mirror image in the range.
    ``slope[k]`` in [0, 1] is the slope of the loss there. Moved features go to level c with probability ``lowest[c]`` if the
    (possibly flipped) label is +1 and ``highest[c]`` if it is -1; both vectors run over all levels of all features and sum to 1
    within each feature. The masses of a row sum to its weight.

    For ANY such plan weak duality gives a lower bound on the optimum: with s_k the final label, zbar_k the one-hot vector of
    the row's own levels (features that stayed) and of the mixed levels (features that moved), price_k the ground cost of the
    categorical moves and the flip, f*(q) = q log q + (1 - q) log(1 - q), and

        g = sum_k mass_k slope_k (-s_k) (1, x_row(k), zbar_k),

        optimum >= - sum_k mass_k f*(slope_k)
        if g vanishes on the intercept and on all non-reference levels and
        || (gamma_j g_j)_j || <= radius - sum_k mass_k price_k  over the numeric columns j, in the norm of the ground cost.

    A numeric column that moved to an end of its range has that end for x_j, price_k contains gamma_j times the way, and g
    vanishes on columns with a range, as it does on levels; they are no part of the norm.

    In particular g vanishes on columns with gamma_j = inf. The reason is Hoelder's inequality, g . beta >= - || (gamma_j
    g_j)_j || lambda for every model; with the l1 norm the left-hand side is sum_j gamma_j |g_j|.
    """

    row: RowArray
    moved: BoolArray
    flipped: BoolArray
    mass: FloatArray
    slope: FloatArray
    lowest: FloatArray
    highest: FloatArray

    def __repr__(self) -> str:
        return f"ShiftPlan(entries={len(self.row)}, features={self.moved.shape[-1]})"
