"""The best size of a plane, beside a grid of sizes."""

from __future__ import annotations

import numpy as np
import pytest
from reference.chance_svm import random_problem

from surefoot.chancesvm.problem.kernels import Kernel
from surefoot.chancesvm.solvers.best_plane import BestPlane


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("cost", [0.01, 10.0, 1e5])
@pytest.mark.parametrize("sizes", [(0.0, 64.0), (0.5, 2.0)])
def test_no_size_between_the_two_is_better(seed, cost, sizes):
    problem = random_problem(seed, Kernel("linear"), cost=cost, n_batches=12)
    coefficients = np.random.default_rng(seed).normal(size=problem.n_samples)
    if seed % 2 == 0:
        coefficients = np.repeat(problem.labels, problem.sizes) * np.abs(coefficients) / 30.0
    values = problem.values(coefficients)
    squared_length = float(coefficients @ values)
    slopes = problem.demands(values, squared_length) - 1.0

    def objective(size):
        demands = 1.0 + size * slopes
        return 0.5 * size**2 * squared_length + problem.hinge(demands, problem.best_intercept(demands))

    best = BestPlane(problem)
    best.upper = np.inf
    best.offer(coefficients, values, squared_length, sizes)
    assert best.upper <= min(map(objective, np.linspace(*sizes, 500))) * (1 + 1e-12)
    used = np.flatnonzero(coefficients)[0]
    size = best.plane.coefficients[used] / coefficients[used]
    assert sizes[0] <= size <= sizes[1]
    assert best.upper == pytest.approx(objective(size), rel=1e-12)
    assert problem.objective(best.plane) == pytest.approx(best.upper, rel=1e-9)


def test_a_plane_that_is_no_better_is_not_taken():
    problem = random_problem(0, Kernel("linear"))
    best = BestPlane(problem)
    before = best.plane
    best.offer(np.zeros(problem.n_samples), np.zeros(problem.n_samples), 0.0)
    assert best.plane is before
