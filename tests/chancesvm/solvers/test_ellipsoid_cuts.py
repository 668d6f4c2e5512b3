from __future__ import annotations

import dataclasses
import os
import signal
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.chance_svm import KERNELS, mended_problem, paper_optimum, random_problem
from sklearn.svm import SVC

from surefoot.chancesvm.certificate.certificate import certify_chance_svm
from surefoot.chancesvm.problem.kernels import Kernel
from surefoot.chancesvm.problem.problem import ChanceSVMProblem
from surefoot.chancesvm.registry import make_chance_solver
from surefoot.chancesvm.solvers.ellipsoid_cuts import EllipsoidCuts
from surefoot.chancesvm.solvers.parameters import EllipsoidCutParameters, FeatureSpaceParameters, WholeEllipsoidParameters
from surefoot.core.outcome import Status
from surefoot.core.solve_options import SolveOptions


def solve(problem, tolerance=1e-8, **options):
    return EllipsoidCuts().solve(problem, SolveOptions(tolerance=tolerance, **options))


@pytest.mark.parametrize("violation", [0.5, 0.1, 0.01])
@pytest.mark.parametrize("kernel", [*KERNELS, Kernel("precomputed")], ids=lambda kernel: f"{kernel.name}-{kernel.degree}")
def test_objective_is_the_papers(kernel, violation):
    problem = mended_problem(3, kernel, violation=violation)
    outcome = solve(problem)
    assert outcome.status is Status.OPTIMAL
    reference = (
        paper_optimum(dataclasses.replace(problem, kernel=Kernel("precomputed")))
        if kernel.name == "precomputed"
        else paper_optimum(problem)
    )
    assert outcome.upper_bound == pytest.approx(reference, rel=1e-6)
    assert problem.objective(outcome.primal) == pytest.approx(outcome.upper_bound, rel=1e-9)
    assert certify_chance_svm(problem, outcome.primal, outcome.dual, 1e-7).verified


@pytest.mark.parametrize("kernel", KERNELS[:4], ids=lambda kernel: f"{kernel.name}-{kernel.degree}")
@pytest.mark.parametrize("violation", [0.5, 0.1])
def test_radii_widen_the_ellipsoids(kernel, violation):
    problem = random_problem(5, kernel, violation=violation, radii=True)
    outcome = solve(problem, 1e-7)
    assert outcome.upper_bound == pytest.approx(paper_optimum(problem), rel=1e-6)
    assert certify_chance_svm(problem, outcome.primal, outcome.dual, 1e-6).verified
    plain = dataclasses.replace(problem, mean_radius=None, covariance_radius=None)
    assert solve(plain).upper_bound < outcome.upper_bound


def test_single_samples_are_a_support_vector_machine():
    rng = np.random.default_rng(0)
    samples = rng.normal(size=(80, 4))
    labels = np.where(samples[:, 0] + 0.5 * rng.normal(size=80) > 0, 1.0, -1.0)
    for cost, gamma in ((1.0, 0.5), (100.0, 0.1)):
        problem = ChanceSVMProblem(
            samples, np.arange(81), labels, np.full(80, cost), np.full(80, 0.3), Kernel("rbf", gamma=gamma)
        )
        outcome = solve(problem)
        machine = SVC(C=cost, gamma=gamma, tol=1e-10).fit(samples, labels)
        alpha = np.abs(machine.dual_coef_[0])
        gram = problem.kernel.products(machine.support_vectors_, machine.support_vectors_)
        dual = alpha.sum() - 0.5 * machine.dual_coef_[0] @ gram @ machine.dual_coef_[0]
        assert outcome.upper_bound == pytest.approx(dual, rel=1e-7)
        decisions = problem.values(outcome.primal.coefficients) + outcome.primal.intercept
        np.testing.assert_allclose(decisions, machine.decision_function(samples), atol=2e-3)


def test_violation_near_1_separates_the_means():
    problem = random_problem(1, Kernel("linear"), violation=0.5)
    certain = dataclasses.replace(problem, violation=np.full(problem.n_batches, 1 - 1e-14))
    means = np.add.reduceat(problem.weights[:, None] * problem.samples, problem.starts[:-1])
    points = ChanceSVMProblem(
        means, np.arange(problem.n_batches + 1), problem.labels, problem.costs, problem.violation, Kernel("linear")
    )
    assert solve(certain).upper_bound == pytest.approx(solve(points).upper_bound, rel=1e-6)


def test_thousands_of_batches_join_as_they_are_needed():
    rng = np.random.default_rng(2)
    count = 2400
    samples = rng.normal(size=(count, 2))
    labels = np.where(samples[:, 0] ** 2 + samples[:, 1] > 0.5, 1.0, -1.0)
    # The first batch is no point, or another solver would be asked.
    samples, starts = np.vstack((samples[:1] + 0.01, samples)), np.append(0, np.arange(2, count + 2))
    problem = ChanceSVMProblem(samples, starts, labels, np.ones(count), np.full(count, 0.5), Kernel("rbf"))
    few = EllipsoidCutParameters(whole=WholeEllipsoidParameters(most_batch_samples=0, most_long_batch_samples=0))
    outcome = EllipsoidCuts(few).solve(problem, SolveOptions(tolerance=1e-5))
    assert outcome.status is Status.OPTIMAL
    assert outcome.iterations > 1
    assert certify_chance_svm(problem, outcome.primal, outcome.dual, 2e-5).verified


def with_memory(gram_memory, block_memory=1 << 22):
    return EllipsoidCuts(EllipsoidCutParameters(feature_space=FeatureSpaceParameters(gram_memory, block_memory)))


def test_gram_matrix_beyond_the_memory_limit_is_not_stored():
    problem = random_problem(4, Kernel("rbf", gamma=0.5))
    stored, anew = solve(problem), with_memory(100).solve(problem, SolveOptions(tolerance=1e-8))
    assert anew.upper_bound == pytest.approx(stored.upper_bound, rel=1e-7)


def test_time_limit_ends_a_product_that_is_computed_in_blocks():
    problem = random_problem(4, Kernel("rbf", gamma=0.5))
    for memory in (100, 1 << 31):
        outcome = with_memory(memory, block_memory=1).solve(problem, SolveOptions(time_limit=1e-9))
        assert outcome.status is Status.TIME_LIMIT and outcome.iterations == 0
        assert outcome.upper_bound == problem.objective(outcome.primal)


def test_duplicate_samples_count_like_weights():
    problem = random_problem(6, Kernel("rbf", gamma=0.5))
    twice = np.repeat(np.arange(problem.n_samples), 2)
    doubled = dataclasses.replace(
        problem, samples=problem.samples[twice], starts=2 * problem.starts, weights=problem.weights[twice] / 2
    )
    assert solve(doubled).upper_bound == pytest.approx(solve(problem).upper_bound, rel=1e-6)


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10_000), factor=st.floats(0.1, 10.0))
def test_order_scale_and_labels_do_not_matter(seed, factor):
    problem = random_problem(seed, Kernel("linear"), violation=0.3)
    optimum = solve(problem, 1e-7).upper_bound
    rng = np.random.default_rng(seed)
    order = np.concatenate([rng.permutation(np.arange(a, b)) for a, b in zip(problem.starts, problem.starts[1:], strict=False)])
    permuted = dataclasses.replace(problem, samples=problem.samples[order], weights=problem.weights[order])
    assert solve(permuted, 1e-7).upper_bound == pytest.approx(optimum, rel=1e-6)
    swapped = dataclasses.replace(problem, labels=-problem.labels)
    assert solve(swapped, 1e-7).upper_bound == pytest.approx(optimum, rel=1e-6)
    # w / f on samples times f is w on samples: objective f^-2 (1/2 ||w||^2 + f^2 C hinge).
    scaled = dataclasses.replace(problem, samples=factor * problem.samples, costs=problem.costs / factor**2)
    assert factor**2 * solve(scaled, 1e-7).upper_bound == pytest.approx(optimum, rel=1e-6)


def test_passes_and_time_limits_leave_a_valid_bound():
    problem = random_problem(7, Kernel("rbf", gamma=2.0), violation=0.05, n_batches=12)
    optimum = solve(problem).upper_bound
    for outcome, status in (
        (solve(problem, max_iter=2), Status.ITERATION_LIMIT),
        (solve(problem, time_limit=0.0), Status.TIME_LIMIT),
    ):
        assert outcome.status is status
        assert outcome.lower_bound <= optimum <= outcome.upper_bound * (1 + 1e-9)
        certificate = certify_chance_svm(problem, outcome.primal, outcome.dual, 1e-8)
        assert not certificate.verified
        assert certificate.lower_bound == pytest.approx(outcome.lower_bound, rel=1e-9)
        assert certificate.upper_bound == pytest.approx(outcome.upper_bound, rel=1e-9)


def test_ctrl_c_keeps_the_best_so_far():
    problem = random_problem(7, Kernel("rbf", gamma=2.0), violation=0.05, n_batches=12)
    assert threading.current_thread() is threading.main_thread()

    def interrupt(progress):
        if progress.iteration == 2:
            os.kill(os.getpid(), signal.SIGINT)

    outcome = solve(problem, on_progress=interrupt)
    assert outcome.status is Status.INTERRUPTED
    assert 0 < outcome.lower_bound < outcome.upper_bound
    assert problem.objective(outcome.primal) == pytest.approx(outcome.upper_bound, rel=1e-9)


def test_kernel_with_nan_is_named():
    problem = random_problem(0, Kernel("callable", function=lambda left, right: np.full((len(left), len(right)), np.nan)))
    with pytest.raises(ValueError, match="kernel of samples 0 and 0 of a block is nan"):
        solve(problem)


def test_kernel_functions_must_be_inner_products():
    problem = random_problem(0, Kernel("callable", function=lambda left, right: -left @ right.T))
    with pytest.raises(ValueError, match="matrix of the kernel function is indefinite"):
        solve(problem)


def test_unknown_solver_is_named():
    with pytest.raises(ValueError, match="'worst-points'"):
        make_chance_solver("best-points")


@pytest.mark.parametrize("kernel", [Kernel("rbf", gamma=0.1), Kernel("poly", gamma=0.3, degree=3)], ids=lambda one: one.name)
def test_small_violations_of_large_batches_take_few_passes(kernel):
    rng = np.random.default_rng(0)
    labels = np.array([1.0, -1.0, 1.0, -1.0])
    samples = np.repeat(rng.normal(size=(4, 8)) + labels[:, None], 40, axis=0) + 0.7 * rng.normal(size=(160, 8))
    for violation in (0.01, 0.03):
        problem = ChanceSVMProblem(samples, np.arange(0, 161, 40), labels, np.full(4, 50.0), np.full(4, violation), kernel)
        outcome = solve(problem, 1e-6)
        # One direction a pass takes 22 to 38 of them.
        assert outcome.status is Status.OPTIMAL and outcome.iterations <= 12
        assert outcome.upper_bound == pytest.approx(paper_optimum(problem), rel=2e-6)
        assert certify_chance_svm(problem, outcome.primal, outcome.dual, 1e-6).verified


@pytest.mark.parametrize("seed", [4, 12, 15, 16])
def test_costs_that_no_weight_comes_near_do_not_spoil_the_small_dual(seed):
    # Separable with room: a residual of the dual paid at these costs would seem to be most of the objective.
    problem = random_problem(seed, Kernel("poly", degree=2, coef0=4.0), violation=0.2, cost=1e6, n_batches=30, most=30)
    problem = dataclasses.replace(problem, samples=problem.samples + 3 * np.repeat(problem.labels, problem.sizes)[:, None])
    outcome = solve(problem, 1e-6)
    assert outcome.status is Status.OPTIMAL
    assert certify_chance_svm(problem, outcome.primal, outcome.dual, 2e-6).verified
