"""A kernel on landmarks is the original one over the combinations of few samples."""

from __future__ import annotations

from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest

from surefoot.chancesvm.certificate.certificate import certify_chance_svm
from surefoot.chancesvm.problem.kernels import Kernel
from surefoot.chancesvm.problem.landmark_kernel import LandmarkKernel, on_landmarks
from surefoot.chancesvm.problem.problem import ChanceSVMProblem, KernelPlane
from surefoot.chancesvm.solvers.ellipsoid_cuts import EllipsoidCuts
from surefoot.core.solve_options import SolveOptions

BASE = Kernel("rbf", gamma=0.3)


def small_problem(seed: int, kernel: Kernel = BASE) -> ChanceSVMProblem:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 9, 12)
    labels = np.where(np.arange(12) % 2, 1.0, -1.0)
    centres = rng.normal(size=(12, 3)) + labels[:, None]
    return ChanceSVMProblem(
        samples=np.repeat(centres, sizes, axis=0) + 0.4 * rng.normal(size=(sizes.sum(), 3)),
        starts=np.concatenate(([0], np.cumsum(sizes))),
        labels=labels,
        costs=np.full(12, 5.0),
        violation=np.full(12, 0.2),
        kernel=kernel,
    )


def solved(problem: ChanceSVMProblem) -> tuple[KernelPlane, float]:
    outcome = EllipsoidCuts().solve(problem, SolveOptions(tolerance=1e-8))
    kernel = problem.kernel
    # The certificate judges planes that combine landmarks and nothing else.
    plane = kernel.on_landmarks(problem, outcome.primal) if isinstance(kernel, LandmarkKernel) else outcome.primal
    certificate = certify_chance_svm(problem, plane, outcome.dual, 1e-8)
    assert certificate.verified
    return outcome.primal, certificate.upper_bound


def best_combination(problem: ChanceSVMProblem, places: np.ndarray) -> float:
    """The original problem over w = sum_j d_j phi(s_j), by a conic solver."""
    gram = problem.kernel.products(problem.samples, problem.samples)
    # A root of the landmarks' kernel by eigenvalues: nothing is shared with the code under test.
    values, vectors = np.linalg.eigh(gram[np.ix_(places, places)])
    w = cp.Variable(places.size)
    scores = (gram[:, places] @ vectors / np.sqrt(values)) @ w
    intercept, slack = cp.Variable(), cp.Variable(problem.n_batches, nonneg=True)
    rules = []
    for at, (start, end) in enumerate(zip(problem.starts[:-1], problem.starts[1:], strict=True)):
        own, p = scores[start:end], problem.weights[start:end]
        centred = np.sqrt(p)[:, None] * (np.eye(p.size) - p)
        margin = problem.labels[at] * (p @ own + intercept)
        rules.append(margin >= 1 - slack[at] + problem.tau[at] * cp.norm(centred @ own))
    task = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(w) + problem.costs @ slack), rules)
    return float(task.solve(solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10))


def test_optimum_is_that_of_the_original_problem_over_combinations_of_landmarks() -> None:
    problem = small_problem(0)
    _, full = solved(problem)
    optima = []
    for n_landmarks in (4, 10, 25):
        reduced = on_landmarks(problem, n_landmarks)
        kernel = reduced.kernel
        assert isinstance(kernel, LandmarkKernel) and kernel.places.size == n_landmarks
        plane, optimum = solved(reduced)
        optima.append(optimum)
        assert optimum == pytest.approx(best_combination(problem, kernel.places), rel=1e-6)
        moved = kernel.on_landmarks(reduced, plane)
        assert set(np.flatnonzero(moved.coefficients)) <= set(kernel.places)
        # The very same scores and objective, whichever kernel they are computed with.
        np.testing.assert_allclose(problem.values(moved.coefficients), reduced.values(plane.coefficients), atol=1e-8)
        assert problem.objective(moved) == pytest.approx(optimum, rel=1e-8)
    assert min(optima) >= full * (1 - 1e-8) and max(optima) > full * 1.01


def test_features_make_the_products_and_projections_are_shorter() -> None:
    problem = small_problem(1)
    reduced = on_landmarks(problem, 9)
    kernel = reduced.kernel
    features, products = kernel.features(problem.samples), kernel.products(problem.samples, problem.samples)
    assert features.shape == (problem.n_samples, 9) == (problem.n_samples, kernel.n_features(3))
    np.testing.assert_allclose(features @ features.T, products, atol=1e-12)
    np.testing.assert_allclose(kernel.diagonal(problem.samples), np.diagonal(products), atol=1e-12)
    exact = BASE.products(problem.samples, problem.samples)
    at = kernel.places
    np.testing.assert_allclose(products[:, at], exact[:, at], atol=1e-10)
    assert np.linalg.eigvalsh(exact - products)[0] > -1e-10


def test_landmarks_come_from_all_batches_and_repeated_samples_count_once() -> None:
    problem = small_problem(2)
    batches = problem.batch[on_landmarks(problem, 36).kernel.places]
    assert set(batches) == set(range(12))
    twice = replace(problem, samples=np.repeat(problem.samples[::2], 2, axis=0)[: problem.n_samples])
    distinct = len(np.unique(twice.samples, axis=0))
    assert on_landmarks(twice, problem.n_samples - 1).kernel.places.size <= distinct
    solved(on_landmarks(twice, problem.n_samples - 1))


def test_landmarks_span_more_than_samples_drawn_evenly_would() -> None:
    rng = np.random.default_rng(5)
    labels = np.where(np.arange(80) % 2, 1.0, -1.0)
    # Most inputs are near each other; a choice leaves out what others say already.
    centres = np.where(np.arange(80) % 8 < 6, 0.1, 2.0)[:, None] * rng.normal(size=(80, 3))
    samples = np.repeat(centres, 5, axis=0) + 0.1 * rng.normal(size=(400, 3))
    problem = ChanceSVMProblem(samples, np.arange(0, 401, 5), labels, np.ones(80), np.full(80, 0.2), Kernel("rbf", gamma=1.0))
    gram = problem.kernel_matrix()

    def left(places: np.ndarray) -> float:
        inner = gram[np.ix_(places, places)] + 1e-12 * np.eye(places.size)
        return float(np.trace(gram) - np.trace(gram[:, places] @ np.linalg.solve(inner, gram[places])))

    reduced = on_landmarks(problem, 30)
    assert isinstance(reduced.kernel, LandmarkKernel) and reduced.kernel.places.size == 30
    np.testing.assert_array_equal(reduced.kernel.places, on_landmarks(problem, 30).kernel.places)
    evenly = [left(np.sort(rng.choice(400, 30, replace=False))) for _ in range(20)]
    assert left(reduced.kernel.places) < 0.7 * min(evenly)


def test_every_batch_has_a_landmark_where_there_are_enough() -> None:
    problem = small_problem(3)
    reduced = on_landmarks(problem, 14)
    assert isinstance(reduced.kernel, LandmarkKernel)
    np.testing.assert_array_equal(np.unique(problem.batch[reduced.kernel.places]), np.arange(12))


def test_nothing_changes_where_landmarks_save_nothing() -> None:
    problem = small_problem(3)
    assert on_landmarks(problem, None) is problem
    assert on_landmarks(problem, problem.n_samples) is problem
    quadratic = small_problem(3, Kernel("poly", degree=2))
    assert on_landmarks(quadratic, 10) is quadratic, "ten coordinates are exact"
    assert isinstance(on_landmarks(quadratic, 9).kernel, LandmarkKernel)


def test_fingerprints_know_the_landmarks() -> None:
    problem = small_problem(4)
    marks = {on_landmarks(problem, count).digest() for count in (None, 5, 6)}
    assert len(marks) == 3
    assert on_landmarks(problem, 5).digest() in marks


def test_function_that_is_no_inner_product_is_refused() -> None:
    problem = small_problem(5, Kernel("callable", function=lambda left, right: -(left @ right.T)))
    with pytest.raises(ValueError, match="matrix of the kernel function is indefinite"):
        on_landmarks(problem, 8)
