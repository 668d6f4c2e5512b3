from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problem_bank import WHOLE_BANK
from reference.enumerated_model import solve_enumerated
from reference.random_points import random_model
from reference.worst_case import dense_numeric

from surefoot.robust.certificate.certificate import certify_robust_logistic
from surefoot.robust.conic.distance_program import robust_objective
from surefoot.robust.conic.pieces import Coordinates, Pieces
from surefoot.robust.conic.proven_plan import Multipliers, proven_plan
from surefoot.robust.problem.problem import RobustLogisticProblem, ShiftPlan
from surefoot.robust.scaling.standard_rows import StandardRows

# Every direction has a price here, so that a bound is a proof and not a claim.
PRICED = [
    name
    for name, problem in ((name, build()) for name, build in WHOLE_BANK.items())
    if problem.radius > 0 and np.isfinite([*problem.cost.numeric_weights, *problem.cost.categorical_weights]).all()
]


@cache
def optimum(name: str) -> float:
    return solve_enumerated(WHOLE_BANK[name]()).optimum


def random_multipliers(problem: RobustLogisticProblem, seed: int, busy: float) -> Multipliers:
    draw = np.random.default_rng(seed)
    pieces = Pieces.every(problem)
    mass = draw.exponential(size=pieces.row.size) * (draw.random(pieces.row.size) < busy)
    flow = mass * draw.random(pieces.row.size)
    return Multipliers.of_pieces(Coordinates(problem), pieces, mass, flow)


def residual(problem: RobustLogisticProblem, plan: ShiftPlan) -> float:
    """Largest entry of the gradient where it must vanish, from the definition of a plan."""
    final = np.where(plan.flipped, -1.0, 1.0) * problem.labels[plan.row]
    flow = plan.mass * plan.slope * -final
    gradient = [flow.sum()] if problem.fit_intercept else []
    offsets = problem.level_offsets
    for l, count in enumerate(problem.n_levels):
        own = problem.codes[plan.row, l]
        for level in range(1, int(count)):
            mix = np.where(final > 0, plan.lowest[offsets[l] + level], plan.highest[offsets[l] + level])
            gradient.append(float(flow @ np.where(plan.moved[:, l], mix, own == level)))
    return float(np.abs(gradient).max(initial=0.0))


def spending(problem: RobustLogisticProblem, plan: ShiftPlan) -> float:
    final = np.where(plan.flipped, -1.0, 1.0) * problem.labels[plan.row]
    gradient = (plan.mass * plan.slope * -final) @ dense_numeric(problem)[plan.row]
    order = {"l1": 1, "l2": 2, "linf": np.inf}[problem.cost.numeric_norm]
    numeric = np.linalg.norm(problem.cost.numeric_weights * gradient, order) if problem.n_numeric else 0.0
    moves = np.where(plan.moved, problem.cost.categorical_weights, 0.0).sum(axis=1)
    flips = np.where(plan.flipped, problem.cost.label_weight, 0.0)
    return float(numeric + plan.mass @ (moves + flips))


@settings(max_examples=120, deadline=None)
@given(st.sampled_from(PRICED), st.integers(0, 2**32 - 1), st.sampled_from([0.02, 0.3, 1.0]))
def test_any_multipliers_become_a_plan_whose_bound_is_below_the_optimum(name, seed, busy):
    # What solvers hand over: distinct rows that weigh something, centred and scaled columns.
    problem = StandardRows.of(WHOLE_BANK[name]()).problem
    coordinates = Coordinates(problem)
    model = random_model(problem, np.random.default_rng(seed), 0.3)
    proven = proven_plan(coordinates, random_multipliers(problem, seed, busy), model, robust_objective(problem, model))
    assert proven.value <= optimum(name) + 1e-7
    totals = np.bincount(proven.plan.row, weights=proven.plan.mass, minlength=problem.n_rows)
    np.testing.assert_allclose(totals, problem.weights, rtol=1e-9)
    assert ((proven.plan.slope >= 0) & (proven.plan.slope <= 1)).all()
    assert spending(problem, proven.plan) <= problem.radius * (1 + 1e-9)
    assert (np.diff(proven.plan.row) >= 0).all(), "restoring a plan relies on entries in the order of rows"


@pytest.mark.parametrize(
    "name", ["categorical_only", "mixed_with_label_price", "symmetric_board", "numeric_only", "mixed_l2", "sparse_linf"]
)
def test_slopes_are_balanced_to_the_last_digit(name):
    problem = WHOLE_BANK[name]()
    model = random_model(problem, np.random.default_rng(3), 0.1)
    multipliers = random_multipliers(problem, 3, 1.0)
    proven = proven_plan(Coordinates(problem), multipliers, model, robust_objective(problem, model))
    assert residual(problem, proven.plan) < 1e-14
    assert 0.0 < proven.value <= optimum(name)


def test_equal_shifts_become_one_entry_and_every_row_keeps_one_that_stays():
    problem = WHOLE_BANK["categorical_only"]()
    proven = proven_plan(
        Coordinates(problem), random_multipliers(problem, 5, 0.5), random_model(problem, np.random.default_rng(5)), 1.0
    )
    plan = proven.plan
    keys = np.column_stack((plan.row, plan.flipped, plan.moved))
    assert np.unique(keys, axis=0).shape[0] == keys.shape[0]
    assert np.count_nonzero(~plan.moved.any(axis=1) & ~plan.flipped) == problem.n_rows


def test_silent_multipliers_still_prove_something():
    problem = WHOLE_BANK["numeric_only"]()
    coordinates = Coordinates(problem)
    nobody = Pieces.unmoved(problem).chosen(np.zeros(0, dtype=np.int64))
    nothing = Multipliers.of_pieces(coordinates, nobody, np.zeros(0), np.zeros(0))
    model = coordinates.unpack(np.zeros(coordinates.size))
    proven = proven_plan(coordinates, nothing, model, robust_objective(problem, model))
    # Slopes of 1/2 balanced on the intercept and shrunk into the radius.
    assert 0.1 < proven.value <= optimum("numeric_only")
    certificate = certify_robust_logistic(problem, model, proven.plan, 1e-6)
    assert certificate.lower_bound >= proven.value - 1e-9
