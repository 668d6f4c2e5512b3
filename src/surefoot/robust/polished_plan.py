"""A shift plan polished to the last digit: nothing in it that only rounding put there, and a gradient that vanishes in doubles.

Solvers stop once their own bound is good enough, and where nothing limits the coefficients (radius 0, infinite weights) that
bound is a claim: what is left of the gradient may be worth anything. A proof needs it to be next to nothing in the units of
each column. Masses and mixes remain as they are, but for those that no bound could tell from 0; the slopes q_k = expit(t_k)
become expit(t_k + a_k . v) with the v that minimises

    sum_k mass_k softplus(t_k + a_k . v) - h . v,

so that the gradient is h: 0 but for numeric columns that spend the budget, which keep what they spend, cut to what there is.
Newton's method; in directions without end (separable ones) it drives slopes towards 0, and those that reach it are set to 0.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.special

from surefoot.core.arrays import FloatArray
from surefoot.robust.problem.numeric_columns import column_sizes
from surefoot.robust.problem.numeric_norm import gradient_norm
from surefoot.robust.problem.problem import RobustLogisticProblem, ShiftPlan


@dataclass(frozen=True)
class SettlingParameters:
    """Constants of this module; not tuned."""

    max_entries: int = 50_000_000  # of the dense matrix of entries times coefficients: 400 megabytes
    negligible: float = 1e-10  # of a row's mass, of the radius
    negligible_share: float = 1e-9  # of a level in a feature's mix
    negligible_flow: float = 1e-12  # mass that goes to a level
    too_dear: float = 1e7  # weight of a column over the radius from which on its gradient is to vanish like that of others
    max_steps: int = 60
    max_failures: int = 10  # steps in a row that leave a residual no smaller
    longest_step: float = 3.0  # change of an argument t_k in one Newton step
    least_eigenvalue: float = 1e-14  # relative; of the Hessian scaled to a unit diagonal
    negligible_loss: float = 1e-11  # of what a plan proves: flows that are this small together are set to 0


PARAMETERS = SettlingParameters()


def polished_plan(
    problem: RobustLogisticProblem, plan: ShiftPlan, spare: float = 0.0, coarseness: float = 1.0
) -> ShiftPlan | None:
    """The same plan, polished; None if it is too large for a dense matrix.

    Numeric columns leave the fraction ``spare`` of the budget, at the cost of as much of price times radius: sums over many
    rows round by more than a proof with a tiny radius may overspend. What an interior point leaves where there should be
    nothing weighs as much as whole rows where their weights differ by many powers of ten: ``coarseness`` multiplies what is
    negligible.
    """
    width = 1 + problem.n_numeric + int(problem.n_levels.sum())
    if plan.row.size * width > PARAMETERS.max_entries:
        return None
    plan = _swept(problem, plan, coarseness)
    centre = (
        problem.weights @ problem.numeric if problem.fit_intercept and not problem.is_sparse else np.zeros(problem.n_numeric)
    )
    scale = column_sizes(problem.numeric if problem.is_sparse else problem.numeric - centre)
    scale[scale == 0] = 1.0
    directions = _directions(problem, plan, centre, scale)
    columns = slice(int(problem.fit_intercept), int(problem.fit_intercept) + problem.n_numeric)
    target = np.zeros(directions.shape[1])
    budget = max(0.0, problem.radius - float(plan.mass @ _prices(problem, plan)))
    gamma = problem.cost.endless_weights * scale
    dear = ~(gamma <= PARAMETERS.too_dear * problem.radius)
    target[columns] = _target(
        problem, np.where(dear, np.inf, gamma), directions[:, columns].T @ (plan.mass * plan.slope), (1.0 - spare) * budget
    )
    # Columns that may spend something need no exact gradient, and where there are few rows no slopes have one: a last time
    # without them.
    exact = np.ones(target.size, dtype=np.bool_)
    exact[columns] = dear
    slope = _polished_slopes(directions, plan.mass, plan.slope, target)
    return replace(plan, slope=_polished_slopes(directions[:, exact], plan.mass, slope, target[exact]))


def _prices(problem: RobustLogisticProblem, plan: ShiftPlan) -> FloatArray:
    features = plan.moved[:, : problem.n_categorical]
    moves = np.where(features, problem.cost.categorical_weights, 0.0).sum(axis=1)
    ways, ranged = _ways(problem, plan), problem.cost.ranged
    prices: FloatArray = moves + np.where(plan.flipped, problem.cost.label_weight, 0.0)
    prices += np.abs(ways) @ problem.cost.numeric_weights[ranged]
    return prices


def _ways(problem: RobustLogisticProblem, plan: ShiftPlan) -> FloatArray:
    """How far each entry moves along each column with a range."""
    if plan.moved.shape[1] == problem.n_categorical or problem.cost.numeric_ranges is None:
        return np.zeros((plan.row.size, 0))
    ranged = problem.cost.ranged
    own = problem.numeric[plan.row][:, ranged]
    low, high = problem.cost.numeric_ranges[ranged].T
    to_low, to_high = plan.moved[:, problem.n_categorical :: 2], plan.moved[:, problem.n_categorical + 1 :: 2]
    ways: FloatArray = to_low * (low - own) + to_high * (high - own)
    return ways


def _swept(problem: RobustLogisticProblem, plan: ShiftPlan, coarseness: float) -> ShiftPlan:
    """One entry per shift of a row; negligible mass stays with the row, and negligible levels leave their mix."""
    dust, price = coarseness * PARAMETERS.negligible, _prices(problem, plan)
    small = (plan.mass <= dust * problem.weights[plan.row]) & (plan.mass * price <= dust * problem.radius)
    moved, flipped = plan.moved & ~small[:, None], plan.flipped & ~small
    keys = np.column_stack((plan.row, flipped, np.packbits(moved, axis=1)))
    _, first, group = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    group = group.ravel()
    mass: FloatArray = np.bincount(group, weights=np.maximum(plan.mass, 0.0)).astype(np.float64, copy=False)
    flow = np.bincount(group, weights=np.maximum(plan.mass, 0.0) * plan.slope)
    row = plan.row[first]
    total = np.bincount(row, weights=mass, minlength=problem.n_rows)
    slope = flow / np.where(mass > 0, mass, 1.0)
    mass = mass * (problem.weights / np.where(total > 0, total, 1.0))[row]
    moved, flipped = moved[first], flipped[first]
    final = problem.labels[row] * np.where(flipped, -1.0, 1.0)
    lowest, highest = (
        _without_small(problem, mix, (mass * (final == label)) @ moved[:, : problem.n_categorical], coarseness)
        for mix, label in ((plan.lowest, 1.0), (plan.highest, -1.0))
    )
    return ShiftPlan(row, moved, flipped, mass, slope, lowest, highest)


def _without_small(problem: RobustLogisticProblem, mix: FloatArray, moving: FloatArray, coarseness: float) -> FloatArray:
    """The mix of each feature without levels to which hardly any of the moving mass goes."""
    feature = np.repeat(np.arange(problem.n_categorical), problem.n_levels)
    largest = np.maximum.reduceat(mix, problem.level_offsets[:-1])[feature] if mix.size else mix
    share, flow = coarseness * PARAMETERS.negligible_share, coarseness * PARAMETERS.negligible_flow
    counts = (mix > share) & (mix * moving[feature] > flow)
    mix = np.where(counts | (mix == largest), mix, 0.0)
    whole: FloatArray = mix / np.bincount(feature, weights=mix, minlength=problem.n_categorical)[feature]
    return whole


def _directions(problem: RobustLogisticProblem, plan: ShiftPlan, centre: FloatArray, scale: FloatArray) -> FloatArray:
    """One row -s (1, x, mixed z) per entry."""
    sign = problem.labels[plan.row] * np.where(plan.flipped, -1.0, 1.0)
    numeric = problem.numeric if isinstance(problem.numeric, np.ndarray) else problem.numeric.toarray()
    numeric = numeric[plan.row]
    numeric[:, problem.cost.ranged] += _ways(problem, plan)
    parts = [np.ones((plan.row.size, int(problem.fit_intercept))), (numeric - centre) / scale]
    for l, count in enumerate(problem.n_levels):
        levels = slice(problem.level_offsets[l], problem.level_offsets[l + 1])
        own = problem.codes[plan.row, l, None] == np.arange(count)
        mixed = np.where(sign[:, None] > 0, plan.lowest[levels], plan.highest[levels])
        parts.append(np.where(plan.moved[:, l, None], mixed, own)[:, 1:])
    directions: FloatArray = np.column_stack(parts) * -sign[:, None]
    return directions


def _target(problem: RobustLogisticProblem, gamma: FloatArray, gradient: FloatArray, budget: float) -> FloatArray:
    """What the gradient of numeric columns is to be: 0, or for columns with a price what they spend of the budget.

    Where they spend too much, the dearest columns spend less: per unit of their own it saves most, and moves slopes least.
    """
    priced, norm = np.isfinite(gamma), problem.cost.numeric_norm
    target = np.where(priced, gradient, 0.0)
    target[priced] = np.where(np.abs(gradient[priced]) * gamma[priced] > PARAMETERS.negligible * budget, gradient[priced], 0.0)

    def spent(columns: FloatArray) -> float:
        return gradient_norm(columns[priced], gamma[priced], norm)

    most = (1.0 - 1e-12) * budget
    if norm == "linf":  # every column has the whole budget
        return np.clip(target, -most / gamma, most / gamma)
    for at in np.argsort(-np.where(priced, gamma, -np.inf))[: np.count_nonzero(priced)]:
        if spent(target) <= most:
            break
        rest = target.copy()
        rest[at] = 0.0
        # Norms are convex: along a chord from what fits to what does not, this much fits for certain.
        less, more = spent(rest), spent(target)
        fraction = (most - less) / (more - less) if less < most else 0.0
        target[at] *= fraction
    return target


def _polished_slopes(directions: FloatArray, mass: FloatArray, slope: FloatArray, target: FloatArray) -> FloatArray:
    p = PARAMETERS
    proven = float(mass @ (scipy.special.entr(slope) + scipy.special.entr(1.0 - slope)))
    least_flow = p.negligible_loss * proven / mass.size
    alive = mass * slope > least_flow
    arguments = scipy.special.logit(np.clip(slope, 1e-290, 1.0 - 2.0**-53))
    best, least, failures = slope, np.inf, 0
    for _ in range(p.max_steps):
        slope = np.where(alive, scipy.special.expit(arguments), 0.0)
        hessian = directions.T @ (directions * (mass * slope * (1.0 - slope))[:, None])
        scale = 1.0 / np.sqrt(np.maximum(np.diag(hessian), 1e-290))
        values, axes = np.linalg.eigh(hessian * scale[:, None] * scale)
        curved = values > p.least_eigenvalue * values.max(initial=0.0)
        along = axes[:, curved].T @ ((directions.T @ (mass * slope) - target) * scale)
        size = float(np.sum(along * along / values[curved]))
        failures = 0 if size < least else failures + 1
        best, least = (slope, size) if size < least else (best, least)
        if size == 0 or failures > p.max_failures:
            break
        change = directions @ (scale * (axes[:, curved] @ (along / values[curved])))
        arguments = arguments - change * min(1.0, p.longest_step / max(float(np.abs(change[alive]).max(initial=0.0)), 1e-300))
        alive &= mass * scipy.special.expit(arguments) > least_flow
    return best
