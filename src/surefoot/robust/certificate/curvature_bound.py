"""A lower bound from generalized self-concordance: the curvature of the loss around the model at hand.

``weak_duality_bound`` penalises residuals in first order, with coefficient bounds that grow like 1 / radius and do not exist
for radius 0 or infinite weights. Near the optimum the curvature of the loss does better. Take the masses and level mixes of the
plan, ignore its slopes, and let (as there) a_k = -s (1, x_i, zbar_k) and P = sum_k mass_k price_k. For every model

    F(beta, lambda) >= lambda (radius - P) + G(beta),     G(beta) = sum_k mass_k softplus(a_k . beta).

Let h be any vector on the numeric columns with || (gamma_j h_j)_j || <= max(0, radius - P) in the norm of the ground cost (0 on
columns with gamma = inf, and h = 0 if radius = 0). The dual norm of (beta_j / gamma_j)_j is at most lambda, so by Hoelder's
inequality lambda max(0, radius - P) >= -h . beta, and with L a bound on lambda

    F(beta, lambda) >= G(beta) - h . beta - L max(0, P - radius).                                                 (1)

The right-hand side is smooth and convex in beta alone. Now expand at any point b. Softplus is generalized self-concordant,
|softplus'''| <= softplus'', hence (Bach 2010, Electronic Journal of Statistics 4, Lemma 1) with q_k = 1 / (1 + exp(-a_k . b))

    softplus(a_k . (b + u)) >= softplus(a_k . b) + q_k a_k . u + q_k (1 - q_k) (exp(-S_k) + S_k - 1),     S_k = |a_k . u|.

Let H = sum_k mass_k q_k (1 - q_k) a_k a_k^T, and let e = grad G(b) - h be the residual. (exp(-S) + S - 1) / S^2 decreases
in S, so if S_k <= S for all k then

    G(b + u) - h . (b + u) >= G(b) - h . b + e . u + |u|_H^2 (exp(-S) + S - 1) / S^2,

and -|e|_{H^-1} |u|_H <= e . u. Two choices of S turn this into a bound over all u:

- Everywhere: S = R |u|_H with R = max_k |a_k|_{H^-1}. Minimising over |u|_H, with d = |e|_{H^-1} and R d < 1, the residual
  costs at most ((1 - R d) log(1 - R d) + R d) / R^2 <= d^2 / (2 (1 - R d)).
- In the box of ``coefficient_bounds``, where every better model lies: |u_j| <= box_j, S = max_k sum_j |a_kj| box_j. As
  (exp(-S) + S - 1) / S^2 >= 1 / (2 + S), the residual costs at most d^2 (2 + S) / 4. Any part of e may be penalised in
  first order instead, |e_j| box_j: here single coordinates with hardly any curvature of their own are, and then the part along
  each eigenvector of H takes the cheaper of the two.

Either way the residual costs about its square. The first needs no box, the second no curvature in all directions.

Null directions. A direction n with a_k . n = 0 for all k (equal columns, a level nobody has) changes no softplus term. H is
then singular; u is taken in the range of H, and the first choice needs e . n = 0. This is why h is chosen as follows: solve
H_ff y = g_f on the coordinates f that have no price (intercept, levels, columns with gamma = inf), where g = grad G(b); let
e' = H (y, 0), which has e'_f = g_f and lies in the range of H as g does; h = t (g - e') on the priced columns, with the
largest t <= 1 that respects the limit on h; then e = g - h = (1 - t) g + t e' lies in the range too. Directions whose
curvature cannot be told from 0 in double precision count as null directions if the residual along them cannot either;
otherwise only the second choice is left.

Columns are centred when there is an intercept (a change of variables), which keeps H well conditioned whatever the units.
Sparse columns stay as they are. Blocks of entries are made dense one at a time; the limits below bound their size.

All that is needed of the entries are sums (``expansion_sums``) and one maximum (``longest_entry``), so they may live in parts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from surefoot.core.arrays import BoolArray, FloatArray
from surefoot.core.row_blocks import UNIT_ROUNDOFF
from surefoot.robust.certificate.checked_plan import CheckedPlan
from surefoot.robust.certificate.expansion import (
    Expansion,
    ExpansionSums,
    expansion_from_sums,
    expansion_sums,
    longest_entry,
    n_coordinates,
)
from surefoot.robust.problem.coefficient_bounds import CoefficientBounds
from surefoot.robust.problem.numeric_norm import gradient_norm, norm_rounding
from surefoot.robust.problem.problem import RobustCoefficients
from surefoot.robust.problem.terms import Terms


@dataclass(frozen=True)
class CurvatureParameters:
    """Constants of this bound; not tuned. None can make it wrong: they decide whether it is worked out, and how well."""

    # Mass on a shift below this fraction of its row's weight is negligible. Interior points leave such mass on shifts that no
    # optimal plan makes. It proves nothing, but a direction that only it involves has almost no curvature and would ruin R.
    # Leaving it with its row costs at most this fraction of lambda * price.
    negligible_mass: float = 1e-7
    # Floating-point operations: about a quarter of a minute of dense products. Larger tables must do without this bound.
    max_operations: float = 4e11
    # Coordinates: the Hessian, its eigenvectors and what it takes to find them are 2 GB.
    max_coordinates: int = 8000


PARAMETERS = CurvatureParameters()


@dataclass(frozen=True)
class _Local:
    """What both choices of S need: the expansion, and the Hessian scaled to a unit diagonal, D^-1 H D^-1.

    ``eigenvalues`` of the scaled Hessian are off by at most ``error``; ``curved`` marks those that are certainly positive.
    """

    terms: Terms
    point: FloatArray
    expansion: Expansion
    scale: FloatArray
    scaled: FloatArray
    eigenvalues: FloatArray
    vectors: FloatArray
    error: float

    @property
    def curved(self) -> BoolArray:
        return self.eigenvalues > 4 * self.error


@dataclass(frozen=True)
class _Residual:
    """A choice of h, and e = grad G - h along the eigenvectors of the scaled Hessian, D^-1 e = sum_i along_i vectors_i.

    ``noise`` is what rounding can have added to or taken from ``along``; ``tilt`` is an upper bound on h . point.
    """

    along: FloatArray
    noise: FloatArray
    tilt: float


def _scale_hessian(terms: Terms, point: FloatArray, expansion: Expansion) -> _Local:
    size = len(point)
    diagonal = np.diag(expansion.hessian)
    scale = np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    scaled = expansion.hessian / scale[:, None] / scale[None, :]
    eigenvalues, vectors = np.linalg.eigh(scaled)
    # Entries of the scaled Hessian are at most 1, so ``size`` times the error of one bounds the error of every eigenvalue.
    error = size * (expansion.rounding + 8 * size * UNIT_ROUNDOFF)
    return _Local(terms, point, expansion, scale, scaled, eigenvalues, vectors, error)


def _priced_columns(terms: Terms) -> BoolArray:
    priced = np.zeros(n_coordinates(terms), dtype=np.bool_)
    start = int(terms.fit_intercept)
    priced[start : start + terms.n_numeric] = np.isfinite(terms.cost.numeric_weights) & (terms.radius > 0)
    return priced


def _priced_part(local: _Local, penalised: BoolArray) -> FloatArray:
    """The vector h of the module docstring, on all coordinates; ``penalised`` ones need no step y."""
    terms, expansion = local.terms, local.expansion
    part = np.zeros(len(local.scale))
    priced = _priced_columns(terms)
    budget = (terms.radius - expansion.price) * (1.0 - 1e-15)
    if not priced.any() or budget <= 0:
        return part
    wanted = expansion.gradient[priced].copy()
    free = ~priced & ~penalised
    if free.any():
        inverse = np.linalg.pinv(local.scaled[np.ix_(free, free)], rcond=1e-11, hermitian=True)
        step = inverse @ (expansion.gradient[free] / local.scale[free])
        wanted -= (local.scaled[np.ix_(priced, free)] @ step) * local.scale[priced]
    start = int(terms.fit_intercept)
    gamma = terms.cost.numeric_weights[priced[start : start + terms.n_numeric]]
    used = gradient_norm(wanted, gamma, terms.cost.numeric_norm) * (1.0 + norm_rounding(len(gamma)))
    part[priced] = wanted * min(1.0, budget / used) if used > 0 else 0.0
    return part


def _residual(local: _Local, penalised: BoolArray) -> _Residual:
    expansion, size = local.expansion, len(local.scale)
    part = _priced_part(local, penalised)
    residual = np.where(penalised, 0.0, (expansion.gradient - part) / local.scale)
    noise = np.where(penalised, 0.0, expansion.gradient_error / local.scale)
    return _Residual(
        along=local.vectors.T @ residual,
        # The vectors are orthonormal to working precision only.
        noise=np.abs(local.vectors).T @ noise + 8 * size * UNIT_ROUNDOFF * np.linalg.norm(residual),
        tilt=float(part @ local.point) + (size + 4) * UNIT_ROUNDOFF * float(np.abs(part) @ np.abs(local.point)),
    )


def _unboxed_cost(local: _Local, longest: Callable[[FloatArray], float]) -> float:
    """What h and its residual cost with S = R |u|_H; ``inf`` if the condition R d < 1 or e . n = 0 fails."""
    residual = _residual(local, penalised=np.zeros(len(local.scale), dtype=np.bool_))
    curved, flat = local.curved, ~local.curved
    if np.any(np.abs(residual.along[flat]) > residual.noise[flat] + 1e-8 * np.linalg.norm(residual.along)):
        return np.inf
    roots = np.sqrt(local.eigenvalues[curved] - local.error)
    whitening = local.vectors[:, curved] / roots / local.scale[:, None]
    decrement = float(np.linalg.norm((np.abs(residual.along[curved]) + residual.noise[curved]) / roots))
    scaled_decrement = float(np.sqrt(longest(whitening))) * decrement
    if not scaled_decrement < 1.0:
        return np.inf
    return residual.tilt + decrement**2 / (2.0 * (1.0 - scaled_decrement))


def _boxed_cost(local: _Local, box: FloatArray) -> float:
    """What h and its residual cost with S = max_k sum_j |a_kj| box_j; ``inf`` without a box."""
    if not np.isfinite(box).all():
        return np.inf
    expansion, curved = local.expansion, local.curved
    price_of_curvature = (2.0 + expansion.largest_move) / 4.0
    size = np.abs(expansion.gradient) + expansion.gradient_error
    diagonal = np.diag(expansion.hessian)
    # A level that hardly any mass has: its residual is small, but even smaller is the curvature along its axis.
    penalised = ~_priced_columns(local.terms) & (size * box * diagonal <= size**2 * price_of_curvature)
    residual = _residual(local, penalised)
    along = np.abs(residual.along) + residual.noise
    widths = local.scale * box
    first_order = along * (np.abs(local.vectors).T @ widths)
    second_order = np.full(len(along), np.inf)
    second_order[curved] = along[curved] ** 2 / local.eigenvalues[curved] * price_of_curvature
    # u^T H u is at least what the computed eigenvalues say, minus their error and minus computed ones below 0, times |D u|^2.
    rounding = 2.0 * local.error * float(widths @ widths) / (2.0 + expansion.largest_move)
    return residual.tilt + float((size * box)[penalised].sum() + np.minimum(first_order, second_order).sum()) + rounding


def curvature_bound(
    plan: CheckedPlan,
    coefficients: RobustCoefficients,
    centre: FloatArray,
    bounds: CoefficientBounds,
    *,
    enough: float = np.inf,
) -> float:
    """The lower bound of the module docstring, expanded at ``coefficients``; ``-inf`` where it proves nothing.

    Parameters
    ----------
    plan : CheckedPlan
        Supplies masses and level mixes; its slopes are not used.
    coefficients : RobustCoefficients
        Any finite point. The closer to the optimum, the better the bound.
    centre : ndarray of shape (n_numeric,)
        Subtracted from the numeric columns; must be 0 without an intercept.
    bounds : CoefficientBounds
        Made with the same centre; entries may be ``inf``.
    enough : float
        A bound this high is high enough: the second pass over the entries is left out once it is reached.
    """
    terms = plan.problem.terms
    if too_large(terms, plan.n_entries):
        return -np.inf
    where = expansion_place(terms, coefficients, centre, bounds)
    plan = significant_part(plan)
    sums = expansion_sums(plan, centre, where.point, where.finite_box)
    return bound_from_expansion(
        terms, sums, where, bounds, lambda whitening: longest_entry(plan, centre, where.point, whitening), enough=enough
    )


def significant_part(plan: CheckedPlan) -> CheckedPlan:
    """The plan without its negligible mass."""
    return plan.without_negligible_mass(PARAMETERS.negligible_mass)


def too_large(terms: Terms, n_entries: int) -> bool:
    """Whether this bound would take too long."""
    size = n_coordinates(terms)
    return size > PARAMETERS.max_coordinates or 4.0 * n_entries * size**2 > PARAMETERS.max_operations


@dataclass(frozen=True)
class ExpansionPlace:
    """Where a model is expanded, in the coordinates of ``expansion``, and the distance at which a better one can be."""

    point: FloatArray
    box: FloatArray

    @property
    def finite_box(self) -> FloatArray:
        """The box, or 0 where there is none: products with infinities would be NaN."""
        return self.box if np.isfinite(self.box).all() else np.zeros(len(self.box))


def expansion_place(
    terms: Terms, coefficients: RobustCoefficients, centre: FloatArray, bounds: CoefficientBounds
) -> ExpansionPlace:
    """The model in centred coordinates without the reference levels, and the box around it that holds every better one."""
    others = np.ones(int(terms.level_offsets[-1]), dtype=np.bool_)
    others[terms.level_offsets[:-1]] = False
    lead = int(terms.fit_intercept)
    centred = [coefficients.intercept + coefficients.numeric @ centre] * lead
    point = np.concatenate((centred, coefficients.numeric, coefficients.levels[others]))
    # No dual norm is below the largest |beta_j| / gamma_j.
    # 0 * inf cannot occur: a price bound of 0 would need an objective of 0.
    numeric_bounds = terms.cost.numeric_weights * bounds.price
    limits = np.concatenate(([bounds.intercept] * lead, numeric_bounds, np.full(int(others.sum()), bounds.levels)))
    return ExpansionPlace(point, np.abs(point) + limits)


def bound_from_expansion(
    terms: Terms,
    sums: ExpansionSums,
    where: ExpansionPlace,
    bounds: CoefficientBounds,
    longest: Callable[[FloatArray], float],
    *,
    enough: float = np.inf,
) -> float:
    """The bound from the sums over all entries; ``longest`` gives ``longest_entry`` of them if it is needed."""
    expansion = expansion_from_sums(sums)
    excess = expansion.price - terms.radius
    if not np.isfinite(expansion.hessian).all():
        return -np.inf
    start = expansion.value - expansion.value_error - (excess * bounds.price if excess > 0 else 0.0)
    local = _scale_hessian(terms, where.point, expansion)
    lower = start - _boxed_cost(local, where.box)
    if lower < enough:
        lower = max(lower, start - _unboxed_cost(local, longest))
    return lower
