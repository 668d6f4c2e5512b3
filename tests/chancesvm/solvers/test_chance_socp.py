from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from reference.chance_svm import KERNELS, mended_problem, random_problem

from surefoot.chancesvm.certificate.certificate import certify_chance_svm
from surefoot.chancesvm.problem.kernels import Kernel
from surefoot.chancesvm.problem.problem import ChanceSVMProblem
from surefoot.chancesvm.registry import make_chance_solver
from surefoot.chancesvm.solvers.chance_socp import ChanceSOCP
from surefoot.chancesvm.solvers.ellipsoid_cuts import EllipsoidCuts
from surefoot.core.outcome import Status
from surefoot.core.solve_options import SolveOptions
from surefoot.exceptions import UnsupportedProblemError


@pytest.mark.parametrize("radii", [False, True])
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: f"{kernel.name}-{kernel.degree}")
def test_agrees_with_ellipsoid_cuts(kernel, radii):
    problem = mended_problem(3, kernel, violation=0.2, radii=radii)
    outcome = make_chance_solver("socp").solve(problem, SolveOptions(tolerance=1e-5))
    assert outcome.status is Status.OPTIMAL
    optimum = EllipsoidCuts().solve(problem, SolveOptions(tolerance=1e-8)).upper_bound
    assert outcome.lower_bound <= optimum * (1 + 1e-9)
    assert outcome.upper_bound == pytest.approx(optimum, rel=2e-6)
    assert certify_chance_svm(problem, outcome.primal, outcome.dual, 1e-5).verified


def test_full_form_is_the_same_problem():
    problem = random_problem(4, Kernel("rbf", gamma=0.5), violation=0.2)
    reduced, full = (ChanceSOCP(form).solve(problem, SolveOptions(tolerance=1e-5)) for form in ("reduced", "full"))
    assert full.status is Status.OPTIMAL
    assert full.upper_bound == pytest.approx(reduced.upper_bound, rel=1e-6)


def test_refusals_say_what_to_do():
    problem = random_problem(0, Kernel("rbf"), radii=True)
    with pytest.raises(UnsupportedProblemError, match="reduced form"):
        ChanceSOCP("full").solve(problem, SolveOptions())
    many = np.zeros((4002, 1))
    large = ChanceSVMProblem(many, np.array([0, 2001, 4002]), np.array([1.0, -1.0]), np.ones(2), np.full(2, 0.5), Kernel("rbf"))
    with pytest.raises(UnsupportedProblemError, match="4002 rows"):
        ChanceSOCP().solve(large, SolveOptions())
    assert ChanceSOCP().refuses(dataclasses.replace(large, kernel=Kernel("linear"))) is None


def test_limits_leave_a_valid_bound():
    problem = random_problem(1, Kernel("rbf", gamma=0.5))
    optimum = EllipsoidCuts().solve(problem, SolveOptions(tolerance=1e-8)).upper_bound
    for options, status in (
        (SolveOptions(max_iter=2), Status.ITERATION_LIMIT),
        (SolveOptions(time_limit=0.0), Status.TIME_LIMIT),
    ):
        outcome = ChanceSOCP().solve(problem, options)
        assert outcome.status is status
        assert outcome.lower_bound <= optimum * (1 + 1e-9)
        assert outcome.upper_bound >= optimum * (1 - 1e-9)
