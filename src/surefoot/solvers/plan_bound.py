"""The lower bound that a quadratic step proves, and the shift plan that proves it.

The multipliers of a step say which share of each row's mass moves where. For fixed masses and level mixes

    G(beta) = sum_k mass_k softplus(a_k . beta)

is a smooth logistic loss, and F(beta, lambda) >= G(beta) + lambda (radius - sum_k mass_k cost_k). At a point where the gradient
of G vanishes (up to what the numeric columns may carry, norm of (gamma_j g_j)_j <= radius - cost) the slopes q_k = sigmoid(a_k
. beta) make a feasible :class:`ShiftPlan`, and its bound is sum_k mass_k (softplus(t_k) - q_k t_k). The step's end is nearly
such a point; a Newton correction on G squares what is left of the gradient, and the remainder is paid for with bounds on the
coefficients. Corrections cost far less than a step, so they go on while the payment is what holds the bound back.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg

from surefoot import _native
from surefoot.problems.arrays import FloatArray
from surefoot.problems.coefficient_bounds import CoefficientBounds
from surefoot.problems.numeric_norm import gradient_norm
from surefoot.problems.robust_logistic import ShiftPlan
from surefoot.solvers.lifted_coordinates import LiftedCoordinates
from surefoot.solvers.lifted_rows import LiftedRows, RowSums

# Rows far on the right side have slopes that fall by a factor of e with each correction.
MOST_CORRECTIONS = 20


@dataclass(frozen=True)
class PlanBound:
    """A lower bound and what it takes to write its proof down."""

    native_plan: _native.Plan
    lowest: FloatArray
    highest: FloatArray
    point: FloatArray
    value: float

    def plan(self, rows: LiftedRows, first_row: int = 0) -> ShiftPlan:
        """The proof, for all rows or for a part of them that starts at ``first_row``."""
        part = self.native_plan.of_rows(first_row, first_row + rows.n_rows, rows.mask_words)
        row, moved, flipped, mass, slope = _native.write_plan(rows.native, part, self.point)
        shape = (len(row), rows.terms.n_categorical)
        return ShiftPlan(
            row=row,
            moved=moved.view(np.bool_).reshape(shape),
            flipped=flipped.view(np.bool_),
            mass=mass,
            slope=slope,
            lowest=self.lowest,
            highest=self.highest,
        )


def _level_mix(rows: LiftedCoordinates, multiplier: FloatArray) -> FloatArray:
    """Multipliers of "envelope beyond level" as probabilities within each feature; the reference level where there are none."""
    mix = np.zeros(rows.level_slots.size)
    mix[rows.constrained_levels] = multiplier
    total = np.bincount(rows.feature_of_level, weights=mix, minlength=rows.terms.n_categorical)
    mix /= np.where(total > 0, total, 1.0)[rows.feature_of_level]
    mix[rows.terms.level_offsets[:-1][total <= 0]] = 1.0
    return mix


@dataclass(frozen=True)
class _Mixing:
    """The linear map between coefficients and lifted coordinates in which envelopes are mixed levels."""

    rows: LiftedCoordinates
    lowest: FloatArray
    highest: FloatArray

    def lift(self, coefficients: FloatArray) -> FloatArray:
        """The lifted vector of the coefficients; its price is 0."""
        rows = self.rows
        x = np.zeros(rows.size + 1)
        x[: rows.n_coefficients] = coefficients
        levels = x[rows.level_slots]
        for mix, slots in ((self.lowest, rows.low_slots), (self.highest, rows.high_slots)):
            x[slots] = np.bincount(rows.feature_of_level, weights=mix * levels, minlength=rows.terms.n_categorical)
        x[rows.size] = 0.0
        return x

    def unlift(self, gradient: FloatArray) -> FloatArray:
        """A lifted gradient (or the rows of a matrix) as one in the coefficients: the transpose of ``lift``."""
        rows = self.rows
        free, feature = rows.mixed_levels, rows.mixed_features
        own = rows.level_slots[free]
        result: FloatArray = gradient[: rows.n_coefficients].copy()
        for mix, slots in ((self.lowest, rows.low_slots), (self.highest, rows.high_slots)):
            share = mix[free] if gradient.ndim == 1 else mix[free, None]
            result[own] += share * gradient[slots[feature]]
        return result


def _within_budget(plan: _native.Plan, excess: float) -> _native.Plan:
    """A plan whose cost is less by ``excess``, if its rows allow: a share of every piece goes to its row's cheapest one."""
    row, cost, mass = plan.row, plan.cost, plan.mass
    if mass.size == 0:
        return plan
    first = np.flatnonzero(np.concatenate(([True], row[1:] != row[:-1])))
    group = np.cumsum(np.concatenate(([0], row[1:] != row[:-1])))
    cheapest = np.minimum.reduceat(cost, first)
    saving = float(mass @ (cost - cheapest[group]))
    share = min(1.0, 1.000001 * excess / saving) if saving > 0 else 0.0
    home = np.lexsort((cost, group))[first]
    reduced = mass * (1.0 - share)
    reduced[home] += share * np.add.reduceat(mass, first)
    return plan.with_mass(reduced)


class _Sums:
    """Sums over one plan's pieces, in the coefficients instead of lifted coordinates."""

    def __init__(self, rows: RowSums, plan: _native.Plan, mixing: _Mixing) -> None:
        self.rows = rows
        self.plan = plan
        self.mixing = mixing

    def at(self, coefficients: FloatArray, *, with_curvature: bool = False) -> tuple[float, float, FloatArray, FloatArray]:
        """(conjugate, cost, gradient, curvature) at a point."""
        point = self.mixing.lift(coefficients)
        conjugate, cost, gradient, curvature = self.rows.plan_sums(self.plan, point, with_curvature)
        if with_curvature:
            # Only the lower triangle is told.
            symmetric = curvature + curvature.T
            np.fill_diagonal(symmetric, curvature.diagonal())
            curvature = self.mixing.unlift(self.mixing.unlift(symmetric).T)
        return float(conjugate), float(cost), self.mixing.unlift(gradient), curvature

    def missing(self, gradient: FloatArray, cost: float) -> tuple[FloatArray, float]:
        """What the gradient has beyond what numeric columns may carry, and by how much the plan exceeds the radius."""
        residual = gradient.copy()
        numeric = residual[self.rows.numeric_slots]
        cost_of = self.rows.terms.cost
        carried = gradient_norm(numeric[self.rows.priced], cost_of.numeric_weights[self.rows.priced], cost_of.numeric_norm)
        budget = self.rows.terms.radius - cost
        numeric[self.rows.priced] *= 1.0 - min(1.0, max(budget, 0.0) / carried) if carried > 0 else 0.0
        return residual, max(0.0, carried - budget)


def plan_bound(
    rows: RowSums, plan: _native.Plan, multiplier: FloatArray, x: FloatArray, upper_bound: float, tolerance: float
) -> PlanBound:
    """The bound proven by a step's multipliers, with slopes taken near the step's end ``x``."""
    lowest = _level_mix(rows, multiplier[rows.lowest_rows])
    highest = _level_mix(rows, multiplier[rows.highest_rows])
    mixing = _Mixing(rows, lowest, highest)
    at = x[: rows.n_coefficients]
    sums = _Sums(rows, plan, mixing)
    conjugate, cost, gradient, curvature = sums.at(at, with_curvature=True)
    if rows.terms.radius > 0 and cost > rows.terms.radius:
        plan = _within_budget(plan, cost - rows.terms.radius)
        sums = _Sums(rows, plan, mixing)
        # A little mass has moved; the curvature is needed for a direction only, and stays as it was.
        conjugate, cost, gradient, _ = sums.at(at)
    bounds = rows.coefficient_bounds(upper_bound)
    residual, excess = sums.missing(gradient, cost)
    payment = _payment(rows, bounds, at, residual, excess)
    point, value = at, conjugate - payment
    for _ in range(MOST_CORRECTIONS):
        scale = float(np.trace(curvature)) / max(rows.n_coefficients, 1)
        # Directions that only crumbs of mass can see have next to no curvature, and Newton's step along them goes astray; a
        # correction that does not shrink the residual is tried again with more of a ridge.
        for ridge in (1e-10, 1e-6, 1e-2):
            corrected = at - _newton_step(curvature, ridge * scale + 1e-300, residual)
            conjugate, cost, gradient, _ = sums.at(corrected)
            left, excess = sums.missing(gradient, cost)
            paid = _payment(rows, bounds, corrected, left, excess)
            if conjugate - paid > value:
                point, value = corrected, conjugate - paid
            if np.abs(left).sum() <= 0.5 * np.abs(residual).sum():
                break
        # Once masses and mixes, not the slopes, hold the bound back, only another step can raise it.
        if paid <= 0.1 * max(upper_bound - conjugate, 0.1 * tolerance * upper_bound) or paid >= 0.7 * payment:
            break
        at, residual, payment = corrected, left, paid
        curvature = sums.at(at, with_curvature=True)[3]
    return PlanBound(plan, lowest, highest, mixing.lift(point), value)


def _newton_step(curvature: FloatArray, ridge: float, residual: FloatArray) -> FloatArray:
    """The solution of (curvature + ridge) step = residual; no step where rounding has left the matrix without a root."""
    if residual.size == 0:
        return residual
    damped = curvature.copy()
    damped.flat[:: residual.size + 1] += ridge
    _, step, failed = scipy.linalg.lapack.dposv(damped, residual)
    return np.zeros(residual.size) if failed else step


def _payment(
    rows: LiftedCoordinates, bounds: CoefficientBounds, point: FloatArray, residual: FloatArray, excess: float
) -> float:
    """What a residual and an overspent radius cost, at most, over all models at least as good as the one at hand."""
    terms = rows.terms
    # Where nothing bounds the coefficients a priori (no radius, infinite weights) this is a claim, not a proof: the payment
    # takes ten times the coefficients at hand. certificates/ proves such cases by curvature.
    reach = 10.0 * (1.0 + float(np.abs(point).max(initial=0.0)))
    price, intercept, levels = (b if np.isfinite(b) else reach for b in (bounds.price, bounds.intercept, bounds.levels))
    paid = price * excess
    unpriced = ~np.isfinite(terms.cost.numeric_weights) | (terms.radius == 0)
    paid += reach * float(np.abs(residual[rows.numeric_slots][unpriced]).sum())
    if terms.fit_intercept:
        paid += intercept * abs(float(residual[0]))
    by_level = np.zeros(rows.size + 1)
    by_level[rows.numeric_slots.stop : rows.n_coefficients] = np.abs(residual[rows.numeric_slots.stop :])
    by_feature = np.bincount(rows.feature_of_level, weights=by_level[rows.level_slots], minlength=terms.n_categorical)
    return paid + levels * float(by_feature.max(initial=0.0))
