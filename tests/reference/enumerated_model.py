"""The whole robust problem with every shift of every row written out, solved by cvxpy and Clarabel.

One constraint per row and shift: loss after the shift - lambda * ground cost <= r_row. Its multiplier is the mass that the
worst-case distribution moves there, so the model yields a shift plan as well as the optimum. Exponential in the number of
categorical columns; meant for the problem bank.
"""

from __future__ import annotations

import contextlib
import warnings
from dataclasses import dataclass

import cvxpy as cp
import numpy as np

from reference.worst_case import Shift, all_shifts, dense_numeric, needed_price, objective
from surefoot.robust.problem.problem import RobustCoefficients, RobustLogisticProblem, ShiftPlan


@dataclass(frozen=True)
class ReferenceSolution:
    """Optimal value, an optimal model and an optimal plan, all to the solver's precision (1e-10 to 1e-7)."""

    optimum: float
    coefficients: RobustCoefficients
    plan: ShiftPlan


def _plan(problem: RobustLogisticProblem, shifts: list[tuple[int, Shift]], mass: np.ndarray, slope: np.ndarray) -> ShiftPlan:
    """Merge the multipliers of all shifts into a plan whose moved features share one level mix per final label."""
    row = np.array([at for at, _ in shifts], dtype=np.int64)
    codes = np.array([shift.codes for _, shift in shifts], dtype=np.int32).reshape(len(shifts), problem.n_categorical)
    label = np.array([shift.label for _, shift in shifts])
    features = codes != problem.codes[row]
    ends = [features]
    for column in np.flatnonzero(problem.cost.ranged):
        number = np.array([shift.numeric[column] for _, shift in shifts])
        goes = number != problem.numeric[row, column]
        ends += [(goes & (number == end))[:, None] for end in problem.cost.numeric_ranges[column]]
    moved = np.hstack(ends)
    mass = np.maximum(mass, 0.0)
    totals = np.bincount(row, weights=mass, minlength=problem.n_rows)
    # A row of weight 0 has no mass to move, and a row the solver left empty keeps its weight where it is.
    stays = ~moved.any(axis=1) & (label == problem.labels[row])
    mass = np.where(
        totals[row] > 0, mass * problem.weights[row] / np.where(totals > 0, totals, 1.0)[row], stays * problem.weights[row]
    )
    mixes = []
    for sign in (1.0, -1.0):
        mix = np.zeros(int(problem.level_offsets[-1]))
        for l in range(problem.n_categorical):
            part = mix[problem.level_offsets[l] : problem.level_offsets[l + 1]]
            used = features[:, l] & (label == sign)
            part += np.bincount(codes[used, l], weights=(mass * slope)[used], minlength=len(part))
            if part.sum() > 0:
                part /= part.sum()
            else:
                part[0] = 1.0
        mixes.append(mix)
    return ShiftPlan(
        row=row, moved=moved, flipped=label != problem.labels[row], mass=mass, slope=slope, lowest=mixes[0], highest=mixes[1]
    )


# How far Clarabel gets differs from problem to problem, and small changes to its steps decide whether it stalls.
ATTEMPTS = [
    {"tol_gap_abs": tolerance, "tol_gap_rel": tolerance, "tol_feas": tolerance, **steps}
    for tolerance in (1e-10, 1e-9, 1e-8, 1e-7)
    for steps in ({"static_regularization_constant": 1e-10}, {}, {"max_step_fraction": 0.9})
]


def _solve(model: cp.Problem) -> None:
    for options in ATTEMPTS:
        with warnings.catch_warnings(), contextlib.suppress(cp.SolverError):
            warnings.filterwarnings("ignore", message="Solution may be inaccurate")
            model.solve(solver=cp.CLARABEL, **options)
            if model.status == cp.OPTIMAL:
                return
    raise RuntimeError(f"the reference model ended with status {model.status}")


def solve_enumerated(problem: RobustLogisticProblem) -> ReferenceSolution:
    """Solve the enumerated model; numeric columns are centred and scaled first so that the solver sees numbers near 1."""
    plain = problem.radius == 0
    table = dense_numeric(problem)
    spread = table.std(axis=0)
    largest = np.abs(table).max(axis=0, initial=0.0)
    scale = np.where(spread > 0, spread, np.where(largest > 0, largest, 1.0))
    centre = table.mean(axis=0) if problem.fit_intercept else np.zeros(problem.n_numeric)
    shifts = [
        (row, shift) for row in range(problem.n_rows) for shift in all_shifts(problem, row) if not plain or shift.cost == 0
    ]
    count, offsets = len(shifts), problem.level_offsets
    row = np.array([at for at, _ in shifts])
    sign = np.array([shift.label for _, shift in shifts])
    cost = np.array([shift.cost for _, shift in shifts])
    numbers = np.array([shift.numeric for _, shift in shifts]).reshape(count, problem.n_numeric)
    onehot = np.zeros((count, int(offsets[-1])))
    for l in range(problem.n_categorical):
        onehot[np.arange(count), [int(offsets[l]) + shift.codes[l] for _, shift in shifts]] = 1.0
    intercept, price, losses = cp.Variable(), cp.Variable(nonneg=True), cp.Variable(problem.n_rows)
    numeric = cp.Variable(max(problem.n_numeric, 1))
    levels = cp.Variable(max(int(offsets[-1]), 1))
    scores: cp.Expression = intercept + np.zeros(count)
    constraints = [] if problem.fit_intercept else [intercept == 0]
    if problem.n_numeric:
        scores = scores + ((numbers - centre) / scale) @ numeric
        limits = problem.cost.endless_weights * scale
        finite = np.flatnonzero(np.isfinite(limits))
        if finite.size and not plain:
            dual = {"l1": "inf", "l2": 2, "linf": 1}[problem.cost.numeric_norm]
            constraints.append(cp.norm(cp.multiply(1.0 / limits[finite], numeric[finite]), dual) <= price)
    if problem.n_categorical:
        scores = scores + onehot @ levels
        constraints.append(levels[offsets[:-1]] == 0)
    shifted_loss = cp.logistic(cp.multiply(-sign, scores)) - cost * price <= losses[row]
    constraints += [shifted_loss, price == 0] if plain else [shifted_loss]
    model = cp.Problem(cp.Minimize(price * problem.radius + problem.weights @ losses), constraints)
    _solve(model)
    beta = numeric.value[: problem.n_numeric] / scale if problem.n_numeric else np.zeros(0)
    level_values = np.array(levels.value) if problem.n_categorical else np.zeros(0)
    level_values[offsets[:-1]] = 0.0
    slope = 1.0 / (1.0 + np.exp(sign * np.asarray(scores.value)))
    needed = needed_price(problem, beta)
    coefficients = RobustCoefficients(
        intercept=float(intercept.value) - float(beta @ centre) if problem.fit_intercept else 0.0,
        numeric=np.asarray(beta, dtype=np.float64),
        levels=level_values,
        # The solver keeps the dual norm of the coefficients below the price to its precision only.
        price=max(float(price.value), needed * (1 + 1e-12), 0.0),
    )
    plan = _plan(problem, shifts, np.asarray(shifted_loss.dual_value), slope)
    # What the model attains is above the optimum, and what the solver reports may be above that.
    optimum = min(float(model.value), objective(problem, coefficients))
    return ReferenceSolution(optimum=optimum, coefficients=coefficients, plan=plan)
