"""The lower bound that a quadratic step proves, and the shift plan that proves it.

The multipliers of a step say which share of each row's mass moves where. For fixed masses and level mixes

    G(beta) = sum_k mass_k softplus(a_k . beta)

is a smooth logistic loss, and F(beta, lambda) >= G(beta) + lambda (radius - sum_k mass_k cost_k). At a point where the gradient of G
vanishes (up to what the numeric columns may carry, sum_j gamma_j |g_j| <= radius - cost) the slopes q_k = sigmoid(a_k . beta) make a
feasible :class:`ShiftPlan`, and its bound is sum_k mass_k (softplus(t_k) - q_k t_k). The step's end is nearly such a point; one Newton
correction on G squares what is left of the gradient, and the remainder is paid for with bounds on the coefficients.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg

from surefoot import _native
from surefoot.problems.arrays import FloatArray
from surefoot.problems.coefficient_bounds import coefficient_bounds
from surefoot.problems.robust_logistic import ShiftPlan
from surefoot.solvers.lifted_rows import LiftedRows


@dataclass(frozen=True)
class PlanBound:
    """A lower bound and what it takes to write its proof down."""

    rows: LiftedRows
    model: _native.RowModel
    mass: FloatArray
    lowest: FloatArray
    highest: FloatArray
    point: FloatArray
    value: float

    def plan(self) -> ShiftPlan:
        """The proof."""
        row, moved, flipped, mass, slope = _native.write_plan(self.rows.native, self.model, self.mass, self.point)
        shape = (len(row), self.rows.problem.n_categorical)
        return ShiftPlan(
            row=row,
            moved=moved.view(np.bool_).reshape(shape),
            flipped=flipped.view(np.bool_),
            mass=mass,
            slope=slope,
            lowest=self.lowest,
            highest=self.highest,
        )


def _level_mix(rows: LiftedRows, multiplier: FloatArray) -> FloatArray:
    """Multipliers of "envelope beyond level" as probabilities within each feature; the reference level where there are none."""
    mix = np.zeros(rows.level_slots.size)
    mix[rows.constrained_levels] = multiplier
    total = np.bincount(rows.feature_of_level, weights=mix, minlength=rows.problem.n_categorical)
    mix /= np.where(total > 0, total, 1.0)[rows.feature_of_level]
    mix[rows.problem.level_offsets[:-1][total <= 0]] = 1.0
    return mix


@dataclass(frozen=True)
class _Mixing:
    """The linear map between coefficients and lifted coordinates in which envelopes are mixed levels."""

    rows: LiftedRows
    lowest: FloatArray
    highest: FloatArray

    def lift(self, coefficients: FloatArray) -> FloatArray:
        """The lifted vector of the coefficients; its price is 0."""
        rows = self.rows
        x = np.zeros(rows.size + 1)
        x[: rows.n_coefficients] = coefficients
        levels = x[rows.level_slots]
        for mix, slots in ((self.lowest, rows.low_slots), (self.highest, rows.high_slots)):
            x[slots] = np.bincount(rows.feature_of_level, weights=mix * levels, minlength=rows.problem.n_categorical)
        x[rows.size] = 0.0
        return x

    def unlift(self, gradient: FloatArray) -> FloatArray:
        """A lifted gradient (or the rows of a matrix) as one in the coefficients: the transpose of ``lift``."""
        rows = self.rows
        free = np.flatnonzero((rows.level_slots < rows.size) & rows.movable[rows.feature_of_level])
        own, feature = rows.level_slots[free], rows.feature_of_level[free]
        result: FloatArray = gradient[: rows.n_coefficients].copy()
        for mix, slots in ((self.lowest, rows.low_slots), (self.highest, rows.high_slots)):
            share = mix[free] if gradient.ndim == 1 else mix[free, None]
            result[own] += share * gradient[slots[feature]]
        return result


def plan_bound(
    rows: LiftedRows, model: _native.RowModel, mass: FloatArray, multiplier: FloatArray, x: FloatArray, upper_bound: float
) -> PlanBound:
    """The bound proven by a step's multipliers, with slopes taken near the step's end ``x``."""
    problem = rows.problem
    lowest = _level_mix(rows, multiplier[rows.lowest_rows])
    highest = _level_mix(rows, multiplier[rows.highest_rows])
    mixing = _Mixing(rows, lowest, highest)
    gamma = problem.cost.numeric_weights
    priced = np.isfinite(gamma) & (problem.radius > 0)

    def missing(gradient: FloatArray, budget: float) -> FloatArray:
        """What the gradient has beyond what numeric columns may carry."""
        residual = mixing.unlift(gradient)
        numeric = residual[rows.numeric_slots]
        carried = float(gamma[priced] @ np.abs(numeric[priced]))
        numeric[priced] *= 1.0 - min(1.0, max(budget, 0.0) / carried) if carried > 0 else 0.0
        return residual

    point = mixing.lift(x[: rows.n_coefficients])
    _, cost, gradient, curvature = _native.sum_plan(rows.native, model, mass, point, True, rows.n_threads)
    symmetric = np.tril(curvature) + np.tril(curvature, -1).T
    hessian = mixing.unlift(mixing.unlift(symmetric).T)
    diagonal = np.diag_indices_from(hessian)
    hessian[diagonal] += 1e-13 * hessian[diagonal] + 1e-300
    residual = missing(gradient, problem.radius - cost)
    scale = 1.0 / np.sqrt(hessian[diagonal])
    scaled = hessian * scale * scale[:, None]
    correction = scale * scipy.linalg.lstsq(scaled, scale * residual, cond=1e-12, check_finite=False, lapack_driver="gelsy")[0]
    point = mixing.lift(x[: rows.n_coefficients] - correction)
    conjugate, cost, gradient, _ = _native.sum_plan(rows.native, model, mass, point, False, rows.n_threads)

    residual = missing(gradient, problem.radius - cost)
    bounds = coefficient_bounds(problem, upper_bound, np.zeros(problem.n_numeric))
    # Where nothing bounds the coefficients a priori (no radius, infinite weights) this is a claim, not a proof: the payment takes ten
    # times the coefficients at hand. certificates/ proves such cases by curvature.
    reach = 10.0 * (1.0 + float(np.abs(point).max()))
    payable = [bound if np.isfinite(bound) else reach for bound in (bounds.price, bounds.intercept, bounds.levels)]
    numeric = np.abs(residual[rows.numeric_slots])
    carried = float(gamma[priced] @ np.abs(mixing.unlift(gradient)[rows.numeric_slots][priced]))
    paid = payable[0] * max(0.0, carried + cost - problem.radius) if problem.radius > 0 else 0.0
    paid += reach * float(numeric[~priced].sum())
    if problem.fit_intercept:
        paid += payable[1] * abs(float(residual[0]))
    paid += payable[2] * float(np.abs(residual[rows.numeric_slots.stop :]).max(initial=0.0)) * max(1, problem.n_levels.max(initial=1))
    return PlanBound(rows, model, mass, lowest, highest, point, float(conjugate) - paid)
