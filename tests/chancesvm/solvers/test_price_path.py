"""A path of problems on the same batches ends where separate solves end."""

from __future__ import annotations

import dataclasses
import time

import numpy as np
import pytest
from reference.chance_svm import KERNELS, random_problem

from surefoot.chancesvm.certificate.certificate import certify_chance_svm
from surefoot.chancesvm.problem.kernels import Kernel
from surefoot.chancesvm.solvers.ellipsoid_cuts import EllipsoidCuts
from surefoot.chancesvm.solvers.parameters import EllipsoidCutParameters, FeatureSpaceParameters
from surefoot.chancesvm.solvers.price_path import PricePath, solve_price_path
from surefoot.core.outcome import Status
from surefoot.core.solve_options import SolveOptions

COSTS, VIOLATIONS = (8.0, 0.02, 1e3), (0.1, 0.6)


@pytest.mark.parametrize("radii", [False, True])
@pytest.mark.parametrize("kernel", KERNELS[:4], ids=lambda kernel: f"{kernel.name}-{kernel.degree}")
def test_a_path_ends_where_separate_solves_end(kernel, radii):
    problem = random_problem(3, kernel, violation=0.5, radii=radii)
    options = SolveOptions(tolerance=1e-6)
    violations = [np.full(problem.n_batches, violation) for violation in VIOLATIONS]
    seen = set()
    for row, column, posed, outcome in solve_price_path(EllipsoidCuts(), problem, COSTS, violations, options):
        seen.add((row, column))
        np.testing.assert_array_equal(posed.costs, COSTS[column] * problem.costs)
        np.testing.assert_array_equal(posed.violation, violations[row])
        alone = EllipsoidCuts().solve(posed, options)
        assert (outcome.status, alone.status) == (Status.OPTIMAL, Status.OPTIMAL)
        assert outcome.upper_bound == pytest.approx(alone.upper_bound, rel=2e-6)
        assert certify_chance_svm(posed, outcome.primal, outcome.dual, 1e-6).verified
    assert len(seen) == len(COSTS) * len(VIOLATIONS)


def test_nothing_is_left_to_solve_once_all_slack_is_gone():
    problem = random_problem(3, Kernel("rbf", gamma=2.0), violation=0.5)
    walked = solve_price_path(EllipsoidCuts(), problem, (1e6, 1e7, 1e8), [problem.violation], SolveOptions(tolerance=1e-6))
    assert [outcome.iterations > 0 for *_, outcome in walked] == [True, False, False]


def test_every_solve_of_a_path_has_a_clock_of_its_own():
    problem, path = random_problem(3, Kernel("rbf", gamma=2.0), violation=0.5), PricePath()
    # No memory for a Gram matrix: its blocks are made anew, and each looks at the clock first.
    solver = EllipsoidCuts(EllipsoidCutParameters(feature_space=FeatureSpaceParameters(gram_memory=0)))
    solver.solve(problem, SolveOptions(time_limit=0.2), path)
    time.sleep(0.2)
    dearer = dataclasses.replace(problem, costs=100 * problem.costs)
    assert solver.solve(dearer, SolveOptions(), path).status is Status.OPTIMAL


def test_bounds_of_larger_ellipsoids_are_no_bounds_of_smaller_ones():
    problem = random_problem(3, Kernel("linear"), violation=0.1)
    path, options = PricePath(), SolveOptions(tolerance=1e-8)
    EllipsoidCuts().solve(problem, options, path)
    smaller = dataclasses.replace(problem, violation=np.full(problem.n_batches, 0.9))
    outcome = EllipsoidCuts().solve(smaller, options, path)
    assert outcome.upper_bound == pytest.approx(EllipsoidCuts().solve(smaller, options).upper_bound, rel=1e-7)


@pytest.mark.parametrize(
    ("part", "value"), [("samples", 2.0), ("mean_radius", 0.1), ("kernel", Kernel("linear")), ("labels", -1.0)]
)
def test_problems_on_other_batches_are_refused(part, value):
    problem, path = random_problem(3, Kernel("rbf"), violation=0.5), PricePath()
    EllipsoidCuts().solve(problem, SolveOptions(), path)
    other = value if part == "kernel" else (value + getattr(problem, part) if part != "labels" else value * problem.labels)
    with pytest.raises(ValueError, match=f"{part} is not the same"):
        EllipsoidCuts().solve(dataclasses.replace(problem, **{part: other}), SolveOptions(), path)
