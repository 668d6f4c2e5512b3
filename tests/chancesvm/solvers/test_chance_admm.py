from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from reference.chance_svm import random_problem

from surefoot.chancesvm.certificate.certificate import certify_chance_svm
from surefoot.chancesvm.problem.kernels import Kernel
from surefoot.chancesvm.registry import make_chance_solver
from surefoot.chancesvm.solvers.chance_admm import ChanceADMM, _solve
from surefoot.chancesvm.solvers.ellipsoid_cuts import EllipsoidCuts
from surefoot.chancesvm.solvers.parameters import ChanceAdmmParameters
from surefoot.core.outcome import Status
from surefoot.core.solve_options import SolveOptions
from surefoot.exceptions import UnsupportedProblemError


@pytest.mark.parametrize("kernel", [Kernel("linear"), Kernel("rbf", gamma=0.5)], ids=lambda kernel: kernel.name)
def test_bounds_hold_and_only_a_closed_gap_is_optimal(kernel):
    problem = random_problem(3, kernel, violation=0.3)
    outcome = make_chance_solver("admm").solve(problem, SolveOptions(tolerance=1e-6))
    optimum = EllipsoidCuts().solve(problem, SolveOptions(tolerance=1e-8)).upper_bound
    assert outcome.lower_bound <= optimum * (1 + 1e-9)
    assert outcome.upper_bound >= optimum * (1 - 1e-9)
    assert problem.objective(outcome.primal) == pytest.approx(outcome.upper_bound, rel=1e-9)
    certificate = certify_chance_svm(problem, outcome.primal, outcome.dual, 1e-6)
    assert certificate.lower_bound == pytest.approx(outcome.lower_bound, rel=1e-7)
    assert (outcome.status is Status.OPTIMAL) == certificate.verified


def test_ordinary_machines_are_solved():
    # Single samples leave the points no choice: the form is convex, and the method arrives.
    problem = random_problem(2, Kernel("rbf", gamma=0.5))
    firsts = problem.starts[:-1]
    points = dataclasses.replace(
        problem, samples=problem.samples[firsts], starts=np.arange(problem.n_batches + 1), weights=np.ones(problem.n_batches)
    )
    outcome = ChanceADMM(ChanceAdmmParameters(residual_tolerance=0.0)).solve(points, SolveOptions(tolerance=1e-5))
    assert outcome.status is Status.OPTIMAL
    optimum = EllipsoidCuts().solve(points, SolveOptions(tolerance=1e-8)).upper_bound
    assert outcome.upper_bound == pytest.approx(optimum, rel=2e-5)


def test_ill_conditioned_systems_are_refined():
    rng = np.random.default_rng(0)
    factor = rng.normal(size=(20, 3))
    matrix = 1e9 * factor @ factor.T + 1e-7 * np.eye(20)
    right = matrix @ rng.normal(size=(20, 2))
    np.testing.assert_allclose(
        matrix @ _solve(matrix, right, ChanceAdmmParameters()), right, rtol=1e-6, atol=1e-6 * np.abs(right).max()
    )


def test_limits_and_refusals():
    problem = random_problem(3, Kernel("rbf", gamma=0.5))
    assert (
        ChanceADMM(ChanceAdmmParameters(residual_tolerance=0.0)).solve(problem, SolveOptions(max_iter=3)).status
        is Status.ITERATION_LIMIT
    )
    assert (
        ChanceADMM(ChanceAdmmParameters(residual_tolerance=0.0)).solve(problem, SolveOptions(time_limit=0.0)).status
        is Status.TIME_LIMIT
    )
    with pytest.raises(UnsupportedProblemError, match="no radii"):
        ChanceADMM().solve(random_problem(3, Kernel("rbf"), radii=True), SolveOptions())
