from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from reference.chance_svm import random_problem

from surefoot.chancesvm.certificate.certificate import certify_chance_svm
from surefoot.chancesvm.problem.kernels import Kernel
from surefoot.chancesvm.problem.problem import ChanceSVMProblem, KernelPlane
from surefoot.chancesvm.registry import make_chance_solver
from surefoot.chancesvm.solvers.chance_admm import ChanceADMM, _AdmmIterate, _solve
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


def test_the_iterate_is_returned_even_where_no_plane_at_all_would_be_better():
    rng = np.random.default_rng(0)
    means = np.array([[0.0, 0.0], [0.5, 0.0], [1.5, 0.0], [0.0, 1.5]])
    problem = ChanceSVMProblem(
        samples=np.repeat(means, 20, axis=0) + 0.3 * rng.normal(size=(80, 2)),
        starts=20 * np.arange(5),
        labels=np.array([1.0, 1.0, -1.0, -1.0]),
        costs=np.full(4, 1000.0),
        violation=np.full(4, 0.2),
        kernel=Kernel("rbf", gamma=8.0),
    )
    outcome = ChanceADMM(ChanceAdmmParameters(penalty=1.0)).solve(problem, SolveOptions(tolerance=1e-6))
    nothing = KernelPlane(np.zeros(80), 0.0)
    assert outcome.upper_bound > problem.objective(nothing) == 4000.0
    assert outcome.upper_bound == pytest.approx(problem.objective(outcome.primal), rel=1e-9)
    scores = problem.values(outcome.primal.coefficients) + outcome.primal.intercept
    assert np.mean(np.sign(scores) == np.repeat(problem.labels, 20)) > 0.8


def test_the_iterate_is_a_stationary_point_of_the_augmented_lagrangian_with_its_penalty():
    """Lemma 4 and the updates around it, against the gradient of (14) at the end."""
    problem = random_problem(5, Kernel("rbf", gamma=0.5), violation=0.3)
    for penalty in (1.0, 100.0):
        state = _AdmmIterate(problem, ChanceAdmmParameters(penalty=penalty), SolveOptions())
        for _ in range(3000):
            residual, _ = state.advance()
        assert residual < 1e-6
        # The multipliers are those of the hinge: -beta_i is its slope at a_i, between 0 and C_i.
        assert np.all(-state.beta >= -1e-6) and np.all(-state.beta <= problem.costs * (1 + 1e-6))
        # w is the multipliers' combination of the points, and b balances them.
        np.testing.assert_allclose(state.coefficients, state.points.T @ -state.beta, atol=1e-4 * np.abs(state.beta).max())
        assert abs(problem.labels @ state.beta) < 1e-5 * np.abs(state.beta).sum() + 1e-9
