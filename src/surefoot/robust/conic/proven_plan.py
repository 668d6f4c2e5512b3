"""Dual repair: from the multipliers of a cone programme to a shift plan that is feasible, and the lower bound it proves.

The multipliers say which mass of each row goes where and with which slope, up to the accuracy of an interior point. Any plan
proves

    optimum >= - sum_k mass_k f*(slope_k)      f*(q) = q log q + (1 - q) log(1 - q)

once it is feasible (see :class:`surefoot.robust.problem.problem.ShiftPlan`), so the plan is repaired rather than its error
ignored:

1. The masses of a row are scaled to its weight.
2. The slopes q_k = expit(t_k) are moved to expit(t_k + a_k . v), v on the coordinates where the gradient g must vanish. The
   v that makes it vanish minimises the convex function sum_k mass_k softplus(t_k + a_k . v): a few Newton steps from v = 0.
3. If numeric gradient and moves spend more than the radius, moved mass returns to where it came from and the slopes are
   balanced again, with a numeric gradient that is smaller by the same factor. If that fails (a plan from an early iterate),
   everything is combined with the plan that moves nothing and has slopes 0: it spends nothing and has g = 0, and the bound
   loses no more than the weight of that plan.
4. What is left of g costs a residual penalty: its size times bounds on the coefficients.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg
import scipy.sparse
import scipy.special

from surefoot.core.arrays import BoolArray, FloatArray, RowArray
from surefoot.robust.conic.distance_program import own_scores
from surefoot.robust.conic.parameters import PlanRepairParameters
from surefoot.robust.conic.pieces import Coordinates, Pieces
from surefoot.robust.problem.coefficient_bounds import coefficient_bounds
from surefoot.robust.problem.numeric_norm import gradient_norm
from surefoot.robust.problem.problem import RobustCoefficients, ShiftPlan

PARAMETERS = PlanRepairParameters()


@dataclass(frozen=True)
class Multipliers:
    """What a cone programme says about the adversary: entries as in a :class:`ShiftPlan`, but not yet feasible.

    ``flow`` is mass times slope. ``to_lowest[c]`` is the flow that moves to level c with final label +1, ``to_highest[c]`` with
    -1.
    """

    row: RowArray
    moved: BoolArray
    flipped: BoolArray
    mass: FloatArray
    flow: FloatArray
    to_lowest: FloatArray
    to_highest: FloatArray

    @classmethod
    def of_pieces(cls, coordinates: Coordinates, pieces: Pieces, mass: FloatArray, flow: FloatArray) -> Multipliers:
        problem = coordinates.problem
        moved = pieces.codes != problem.codes[pieces.row]
        final = pieces.final_labels(problem)
        targets = [np.zeros(problem.level_offsets[-1]) for _ in range(2)]
        for l, count in enumerate(problem.n_levels):
            for label, target in zip((1.0, -1.0), targets, strict=True):
                held = moved[:, l] & (final == label)
                first = problem.level_offsets[l]
                target[first : first + count] = np.bincount(pieces.codes[held, l], weights=flow[held], minlength=count)
        return cls(pieces.row, moved, pieces.flipped, mass, flow, targets[0], targets[1])


@dataclass(frozen=True)
class ProvenPlan:
    """A plan for the problem of the coordinates, and the lower bound it proves."""

    plan: ShiftPlan
    value: float


def proven_plan(
    coordinates: Coordinates, multipliers: Multipliers, coefficients: RobustCoefficients, upper_bound: float
) -> ProvenPlan:
    """Repair a cone programme's multipliers into a plan; the model at hand helps out where they are silent."""
    problem = coordinates.problem
    row, moved, flipped, mass, flow = _one_entry_per_shift(coordinates, multipliers, coefficients)
    lowest = _level_mix(coordinates, multipliers.to_lowest)
    highest = _level_mix(coordinates, multipliers.to_highest)
    final = np.where(flipped, -1.0, 1.0) * problem.labels[row]
    directions = _directions(coordinates, row, moved, final, lowest, highest)
    gamma = problem.cost.numeric_weights
    carried = np.zeros(coordinates.n_coefficients, dtype=np.bool_)
    carried[coordinates.numeric] = np.isfinite(gamma) & (problem.radius > 0)
    # How large coefficients may be, where nothing better is known.
    assumed = PARAMETERS.assumed_multiple * (1.0 + float(np.abs(coordinates.pack(coefficients)).max(initial=0.0)))
    nothing = np.zeros(np.count_nonzero(~carried))
    slope = _balanced_slopes(directions[:, ~carried], mass, flow / np.where(mass > 0, mass, 1.0), nothing, assumed)

    price = np.where(moved, problem.cost.categorical_weights, 0.0).sum(axis=1) + np.where(
        flipped, problem.cost.label_weight, 0.0
    )
    stays = price == 0

    def gradient_and_spending() -> tuple[FloatArray, float]:
        gradient = directions.T @ (mass * slope)
        # What is left on columns that never move is no spending; it is penalised below.
        movable = gradient[coordinates.numeric][coordinates.priced]
        return gradient, gradient_norm(movable, gamma[coordinates.priced], problem.cost.numeric_norm) + float(mass @ price)

    gradient, spent = gradient_and_spending()
    if 0 < problem.radius < spent:
        fraction = problem.radius / spent
        mass = _move_less(problem.weights, row, stays, mass, fraction)
        slope = _balanced_slopes(directions, mass, slope, fraction * np.where(carried, gradient, 0.0), assumed)
        gradient, spent = gradient_and_spending()
    if 0 < problem.radius < spent:
        mass, slope = _combined_with_null_plan(problem.weights, row, stays, mass, slope, problem.radius / spent)
        gradient, spent = gradient_and_spending()
    entropy = scipy.special.xlogy(slope, slope) + scipy.special.xlogy(1.0 - slope, 1.0 - slope)
    value = -float(mass @ entropy) - _residual_penalty(coordinates, np.where(carried, 0.0, gradient), assumed, upper_bound)
    return ProvenPlan(ShiftPlan(row, moved, flipped, mass, slope, lowest, highest), value)


def _one_entry_per_shift(
    coordinates: Coordinates, multipliers: Multipliers, coefficients: RobustCoefficients
) -> tuple[RowArray, BoolArray, BoolArray, FloatArray, FloatArray]:
    """One entry per (row, features moved, label), sorted by row, the unmoved one always there, masses scaled to the weights."""
    problem = coordinates.problem
    mass = np.maximum(multipliers.mass, 0.0)
    held = np.flatnonzero(mass > PARAMETERS.negligible_mass * problem.weights[multipliers.row])
    unmoved = Pieces.unmoved(problem)
    row = np.concatenate((unmoved.row, multipliers.row[held]))
    moved = np.concatenate((np.zeros((problem.n_rows, problem.n_categorical), dtype=np.bool_), multipliers.moved[held]))
    flipped = np.concatenate((unmoved.flipped, multipliers.flipped[held]))
    nothing = np.zeros(problem.n_rows)
    mass = np.concatenate((nothing, mass[held]))
    flow = np.concatenate((nothing, np.clip(multipliers.flow[held], 0.0, mass[problem.n_rows :])))
    # Equal shifts lie next to each other once sorted by row and by the bytes of their flags.
    flags = np.packbits(np.column_stack((flipped, moved)), axis=1)
    order = np.lexsort((*flags.T[::-1], row))
    begins = np.ones(row.size, dtype=np.bool_)
    begins[1:] = (np.diff(row[order]) != 0) | (flags[order][1:] != flags[order][:-1]).any(axis=1)
    entry = np.cumsum(begins) - 1
    mass, flow = (np.bincount(entry, weights=part[order]).astype(np.float64, copy=False) for part in (mass, flow))
    first = order[begins]
    row, moved, flipped = row[first], moved[first], flipped[first]
    total = np.bincount(row, weights=mass, minlength=problem.n_rows)
    # A row that the programme gave nothing (its slope is next to 0, or time ran out) stays where it is, with the model's slope.
    idle = ~moved.any(axis=1) & ~flipped & (total[row] <= 0)
    mass[idle] = 1.0
    flow[idle] = scipy.special.expit(-problem.labels * own_scores(problem, coefficients))[row[idle]]
    total = np.where(total > 0, total, 1.0)
    scale = (problem.weights / total)[row]
    return row, moved, flipped, mass * scale, flow * scale


def _level_mix(coordinates: Coordinates, flow: FloatArray) -> FloatArray:
    """Flow into each level as probabilities within its feature; the reference level where nothing flows."""
    problem = coordinates.problem
    flow = np.maximum(flow, 0.0)
    feature = np.repeat(np.arange(problem.n_categorical), problem.n_levels)
    total = np.bincount(feature, weights=flow, minlength=problem.n_categorical)
    flow = np.where(flow > PARAMETERS.negligible_mass * total[feature], flow, 0.0)
    total = np.bincount(feature, weights=flow, minlength=problem.n_categorical)
    mix = flow / np.where(total > 0, total, 1.0)[feature]
    mix[problem.level_offsets[:-1][total <= 0]] = 1.0
    return mix


def _directions(
    coordinates: Coordinates, row: RowArray, moved: BoolArray, final: FloatArray, lowest: FloatArray, highest: FloatArray
) -> scipy.sparse.csc_array:
    """One row -s (1, x, mixed z) per entry, on the coefficients."""
    problem = coordinates.problem
    width = coordinates.n_coefficients
    stays = coordinates.score_rows(row, problem.codes[row], np.empty(0, dtype=np.int64), -final).tocsr()[:, :width]
    feature = np.repeat(np.arange(problem.n_categorical), problem.n_levels)
    free = np.flatnonzero(coordinates.level >= 0)
    slots = coordinates.level[free]
    own = problem.codes[row] + problem.level_offsets[:-1]
    entry, which = np.nonzero(~moved)
    one_hot = scipy.sparse.csr_array((-final[entry], (entry, own[entry, which])), shape=(row.size, feature.size))
    for label, mix in ((1.0, lowest), (-1.0, highest)):
        held = np.flatnonzero(mix > 0)
        spread = scipy.sparse.csr_array((mix[held], (feature[held], held)), shape=(problem.n_categorical, feature.size))
        chosen = scipy.sparse.csr_array(np.where(final[:, None] == label, -final[:, None] * moved, 0.0))
        one_hot = one_hot + chosen @ spread
    place = scipy.sparse.csr_array((np.ones(free.size), (free, slots)), shape=(feature.size, width))
    return scipy.sparse.csc_array(stays + one_hot @ place)


def _balanced_slopes(
    directions: scipy.sparse.csc_array, mass: FloatArray, slope: FloatArray, target: FloatArray, assumed: float
) -> FloatArray:
    """The nearest slopes (in the sense of step 2 above) whose gradient is the target.

    Along a direction of curvature h, a residual e costs the bound e^2 / (2 h) if it is removed and |e| times the size of the
    coefficients (``assumed``) if it is left. Levels that hardly any mass moves to have next to no curvature: theirs is left.
    """
    if directions.shape[1] == 0:
        return slope
    # Slopes of exactly 0 or 1 could not move; these are too small to change a bound.
    start = scipy.special.logit(np.clip(slope, 1e-15, 1.0 - 1e-15))
    shift = np.zeros(directions.shape[1])

    def loss(v: FloatArray) -> float:
        return float(mass @ np.logaddexp(0.0, start + directions @ v) - target @ v)

    value = loss(shift)
    for _ in range(PARAMETERS.max_newton_steps):
        slope = scipy.special.expit(start + directions @ shift)
        gradient = directions.T @ (mass * slope) - target
        weight = scipy.sparse.diags_array(mass * slope * (1.0 - slope))
        curvature, axes = scipy.linalg.eigh((directions.T @ (weight @ directions)).toarray())
        along = axes.T @ gradient
        removable = np.abs(along) < 2.0 * assumed * curvature
        step = -axes[:, removable] @ (along[removable] / curvature[removable])
        length = 1.0
        while (moved := loss(shift + length * step)) > value and length > 1e-4:
            length *= 0.5
        predicted = 0.5 * float(along[removable] @ (along[removable] / curvature[removable]))
        if moved > value and predicted < PARAMETERS.loss_rounding * abs(value):
            # Near the minimum the loss is all rounding, but a full Newton step is still right.
            length = 1.0
        elif moved > value:
            break
        shift = shift + length * step
        value = min(value, moved)
        if float(np.abs(directions @ step).max(initial=0.0)) < 1e-12:
            break
    balanced: FloatArray = scipy.special.expit(start + directions @ shift)
    return balanced


def _move_less(weights: FloatArray, row: RowArray, stays: BoolArray, mass: FloatArray, fraction: float) -> FloatArray:
    """Move only a fraction of the moved mass; the rest stays with the rows as they were."""
    scaled = np.where(stays, mass, fraction * mass)
    returned = weights - np.bincount(row, weights=scaled, minlength=weights.size)
    scaled[stays] += np.maximum(returned, 0.0)[row[stays]]
    return scaled


def _combined_with_null_plan(
    weights: FloatArray, row: RowArray, stays: BoolArray, mass: FloatArray, slope: FloatArray, fraction: float
) -> tuple[FloatArray, FloatArray]:
    """The convex combination with the plan that moves nothing and has slopes 0."""
    # A little less than allowed: rounding must not put the sum above the radius again.
    fraction = max(0.0, fraction - 1e-14)
    scaled = fraction * mass
    flow = scaled * slope
    scaled[stays] += (1.0 - fraction) * weights[row[stays]]
    return scaled, flow / np.where(scaled > 0, scaled, 1.0)


def _residual_penalty(coordinates: Coordinates, residual: FloatArray, assumed: float, upper_bound: float) -> float:
    """What is left of the gradient where it should vanish, times how large the coefficients can be.

    Without finite bounds (radius 0, infinite weights) this is a claim, not a proof: it takes the coefficients to be at
    most ``assumed``.
    """
    problem = coordinates.problem
    residual = np.abs(residual)
    bounds = coefficient_bounds(problem, upper_bound, np.zeros(problem.n_numeric))
    penalty = float(residual[coordinates.numeric].sum()) * assumed
    levels = residual[coordinates.numeric.stop :]
    # The bound on levels is on the sum over features of the largest coefficient: a feature's bound covers all of its levels at
    # once.
    for left, bound in (
        (float(residual[: int(problem.fit_intercept)].sum()), bounds.intercept),
        (float(levels.max(initial=0.0)) * float(problem.n_levels.max(initial=1)), bounds.levels),
    ):
        penalty += left * (bound if np.isfinite(bound) else assumed)
    return penalty
