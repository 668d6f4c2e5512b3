"""The exact line search over the scale of a plane, beside a grid of scales."""

from __future__ import annotations

import numpy as np
import pytest
from reference.chance_svm import random_problem

from surefoot.chancesvm.problem.kernels import Kernel
from surefoot.chancesvm.solvers.ellipsoid_cuts import EllipsoidCuts
from surefoot.chancesvm.solvers.parameters import PlaneScaleParameters
from surefoot.chancesvm.solvers.plane_run import PlaneRun
from surefoot.core.solve_options import SolveOptions


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("cost", [0.01, 10.0, 1e5])
@pytest.mark.parametrize("wide", [True, False])
def test_no_scale_in_the_bracket_is_better(seed, cost, wide):
    problem = random_problem(seed, Kernel("linear"), cost=cost, n_batches=12)
    coefficients = np.random.default_rng(seed).normal(size=problem.n_samples)
    if seed % 2 == 0:
        coefficients = np.repeat(problem.labels, problem.sizes) * np.abs(coefficients) / 30.0
    values = problem.values(coefficients)
    squared_norm = float(coefficients @ values)
    slopes = problem.demands(values, squared_norm) - 1.0

    def objective(scale):
        demands = 1.0 + scale * slopes
        return 0.5 * scale**2 * squared_norm + problem.hinge(demands, problem.best_intercept(demands))

    run = PlaneRun(problem, SolveOptions(), PlaneScaleParameters(reserve=0.0))
    run.upper_bound = np.inf
    run.improve_along(coefficients, values, squared_norm, wide=wide)
    bracket = (0.0, 64.0) if wide else (0.5, 2.0)
    assert run.upper_bound <= min(map(objective, np.linspace(*bracket, 500))) * (1 + 1e-12)
    used = np.flatnonzero(coefficients)[0]
    scale = run.primal.coefficients[used] / coefficients[used]
    assert bracket[0] <= scale <= bracket[1]
    assert run.upper_bound == pytest.approx(objective(scale), rel=1e-12)
    assert problem.objective(run.primal) == pytest.approx(run.upper_bound, rel=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_margins_have_a_reserve_that_costs_a_fraction_of_the_tolerance(seed):
    problem = random_problem(seed, Kernel("rbf", gamma=0.5), cost=1e6, violation=0.5)
    coefficients = EllipsoidCuts().solve(problem, SolveOptions(tolerance=1e-9)).primal.coefficients
    values = problem.values(coefficients)
    squared_norm = float(coefficients @ values)
    found = {}
    for reserve in (0.0, 0.02):
        run = PlaneRun(problem, SolveOptions(tolerance=1e-6), PlaneScaleParameters(reserve=reserve))
        run.improve_along(coefficients, values, squared_norm)
        demands = problem.demands(problem.values(run.primal.coefficients), 0.0)
        found[reserve] = run.upper_bound, float((demands - problem.labels * run.primal.intercept).max())
    assert found[0.02][1] < -1e-8 < -1e-12 < found[0.0][1], "no margin is missed in its last digits"
    assert found[0.0][0] < found[0.02][0] <= found[0.0][0] * (1 + 5e-8)


def test_a_plane_that_is_no_better_is_not_taken():
    problem = random_problem(0, Kernel("linear"))
    run = PlaneRun(problem, SolveOptions())
    before = run.primal
    run.improve_along(np.zeros(problem.n_samples), np.zeros(problem.n_samples), 0.0)
    assert run.primal is before
