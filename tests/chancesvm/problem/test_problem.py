from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from reference.chance_svm import random_problem

from surefoot.chancesvm.problem.kernels import Kernel
from surefoot.chancesvm.problem.problem import ChanceSVMProblem


def test_best_intercept_beats_a_grid():
    rng = np.random.default_rng(0)
    problem = random_problem(0, Kernel("linear"))
    for _ in range(50):
        demands = rng.normal(size=problem.n_batches)
        best = problem.hinge(demands, problem.best_intercept(demands))
        assert best <= min(problem.hinge(demands, b) for b in np.linspace(-5, 5, 2001)) + 1e-12


def test_best_intercept_is_the_middle_of_an_interval():
    problem = ChanceSVMProblem(
        np.array([[1.0], [-1.0]]), np.array([0, 1, 2]), np.array([1.0, -1.0]), np.ones(2), np.full(2, 0.5), Kernel("linear")
    )
    # max(0, 1 - b) + max(0, 3 + b) is least on [-3, 1].
    assert problem.best_intercept(np.array([1.0, 3.0])) == pytest.approx(-1.0)


def test_values_in_blocks_are_those_of_the_gram_matrix():
    problem = random_problem(1, Kernel("rbf", gamma=0.3))
    coefficients = np.random.default_rng(0).normal(size=(problem.n_samples, 2))
    coefficients[3] = 0.0
    expected = problem.kernel.products(problem.samples, problem.samples) @ coefficients
    for memory in (1, 200, 1 << 20):
        np.testing.assert_allclose(problem.values(coefficients, memory), expected, atol=1e-12)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"violation": np.full(8, 0.0)}, r"violation\[0\] = 0.0"),
        ({"violation": np.full(8, 1.0)}, r"violation\[0\] = 1.0"),
        ({"costs": np.full(8, -1.0)}, r"costs\[0\] = -1.0"),
        ({"labels": np.ones(8)}, r"all batches have the label \+1"),
        ({"labels": np.full(8, 0.5)}, r"labels\[0\] = 0.5"),
        ({"labels": np.ones(7)}, "labels has 7 entries, but 8"),
        ({"mean_radius": np.full(8, -0.1)}, r"mean_radius\[0\]"),
        ({"covariance_radius": np.full(8, np.nan)}, r"covariance_radius\[0\]"),
        ({"starts": np.array([0, 3])}, "at least 2"),
    ],
)
def test_bad_parts_are_named(change, message):
    problem = random_problem(0, Kernel("linear"))
    with pytest.raises(ValueError, match=message):
        dataclasses.replace(problem, **change)


def test_bad_samples_are_named():
    problem = random_problem(0, Kernel("linear"))
    samples = problem.samples.copy()
    samples[4, 1] = np.inf
    with pytest.raises(ValueError, match="sample 4 holds inf in column 1"):
        dataclasses.replace(problem, samples=samples)
    with pytest.raises(ValueError, match="the weights of batch 0 sum to 2"):
        dataclasses.replace(problem, weights=2 * problem.weights)
    starts = problem.starts.copy()
    starts[1] = 0
    with pytest.raises(ValueError, match="batch 0 holds no samples"):
        dataclasses.replace(problem, starts=starts)


def test_precomputed_kernels_must_be_inner_products():
    problem = random_problem(0, Kernel("precomputed"))
    indefinite = problem.samples - 0.5 * np.eye(problem.n_samples)
    with pytest.raises(ValueError, match="indefinite: its smallest eigenvalue is -0"):
        dataclasses.replace(problem, samples=indefinite)
    skew = problem.samples.copy()
    skew[0, 1] += 0.5
    with pytest.raises(ValueError, match=r"not symmetric.*\(0, 1\)|not symmetric.*\(1, 0\)"):
        dataclasses.replace(problem, samples=skew)
    with pytest.raises(ValueError, match="square"):
        dataclasses.replace(problem, samples=problem.samples[:, :-1])


def test_digest_tells_problems_apart():
    problem = random_problem(0, Kernel("rbf", gamma=0.5))
    again = random_problem(0, Kernel("rbf", gamma=0.5))
    assert problem.digest() == again.digest()
    assert problem.digest() != dataclasses.replace(problem, kernel=Kernel("rbf", gamma=0.6)).digest()
    assert problem.digest() != dataclasses.replace(problem, mean_radius=np.full(8, 0.1)).digest()
