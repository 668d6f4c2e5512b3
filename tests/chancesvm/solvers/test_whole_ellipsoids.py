"""Whole ellipsoids at once: the optimum of cutting planes and of the paper's programme, by products with the Gram matrix."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.chance_svm import paper_optimum

from surefoot.chancesvm.certificate.certificate import certify_chance_svm
from surefoot.chancesvm.interior.cone_barrier import Barrier
from surefoot.chancesvm.interior.cone_scaling import Scaling
from surefoot.chancesvm.interior.ellipsoid_cones import Cones
from surefoot.chancesvm.interior.gram_objective import GramObjective
from surefoot.chancesvm.problem.kernels import Kernel
from surefoot.chancesvm.problem.problem import ChanceSVMProblem
from surefoot.chancesvm.solvers.ellipsoid_cuts import EllipsoidCuts
from surefoot.chancesvm.solvers.feature_space import GramFeatureSpace
from surefoot.chancesvm.solvers.parameters import (
    EllipsoidCutParameters,
    EllipsoidDualParameters,
    FeatureSpaceParameters,
    GramObjectiveParameters,
    WholeEllipsoidParameters,
)
from surefoot.chancesvm.solvers.plane_run import PlaneRun
from surefoot.chancesvm.solvers.price_path import solve_price_path
from surefoot.chancesvm.solvers.whole_ellipsoids import whole_ellipsoids
from surefoot.core.outcome import Status
from surefoot.core.solve_options import SolveOptions

ALWAYS = EllipsoidCutParameters(whole=WholeEllipsoidParameters(least_samples=0))
NEVER = EllipsoidCutParameters(whole=WholeEllipsoidParameters(most_batch_samples=0, most_long_batch_samples=0))


def uneven_inputs(seed: int, count: int = 24, violation: float = 0.3, cost: float = 3.0) -> ChanceSVMProblem:
    """Batches of four to eight samples with weights, whose classes overlap."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(4, 9, count)
    starts = np.concatenate(([0], np.cumsum(sizes)))
    labels = np.where(np.arange(count) % 2 == 0, 1.0, -1.0)
    samples = np.repeat(rng.normal(size=(count, 3)) + 0.5 * labels[:, None], sizes, axis=0)
    samples += 0.5 * rng.normal(size=samples.shape)
    weights = rng.uniform(0.5, 2.0, len(samples))
    weights /= np.repeat(np.add.reduceat(weights, starts[:-1]), sizes)
    kernel = Kernel("rbf", gamma=0.3)
    return ChanceSVMProblem(samples, starts, labels, np.full(count, cost), np.full(count, violation), kernel, weights=weights)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 100_000), spread=st.floats(0.0, 3.0))
def test_conjugate_gradients_solve_newtons_system(seed: int, spread: float) -> None:
    rng = np.random.default_rng(seed)
    problem = uneven_inputs(seed, count=10)
    parameters = GramObjectiveParameters(most_landmarks=12, samples_a_landmark=1, residual_fraction=1e-4, max_steps=200)
    objective = GramObjective(problem, problem.kernel_matrix(), parameters)
    size = problem.n_samples
    quadratic = np.stack([objective.at(row)[1] for row in np.eye(size)])
    np.testing.assert_allclose(quadratic, quadratic.T, atol=1e-12)
    np.testing.assert_allclose(np.diagonal(quadratic), objective.diagonal(), atol=1e-12)
    # T' K T, column by column from the definition of a mix.
    v = np.zeros(size)
    v[0] = 1.0
    mean = np.where(problem.batch == 0, problem.labels[0] * problem.weights, 0.0)
    np.testing.assert_allclose(objective.coefficients(v), mean, atol=1e-15)
    cones = Cones(problem.n_batches, objective.batch)

    def inside() -> np.ndarray:
        tail = rng.normal(size=objective.batch.size)
        lengths = np.sqrt(np.bincount(objective.batch, tail * tail, problem.n_batches))
        return np.concatenate((lengths * (1 + 10.0 ** -rng.uniform(0, 1 + spread, lengths.size)), tail))

    scaling = Scaling.of(cones, inside(), inside())
    barrier = Barrier(scaling, 10.0 ** rng.uniform(-spread, spread, problem.n_batches), EllipsoidDualParameters.diagonal_lifts)
    matrix = barrier.matrix_added_to(quadratic.copy())
    right = rng.normal(size=(2, size))
    system = objective.newton(v, barrier)
    assert system is not None
    left = system.solve(right) - np.linalg.solve(matrix, right.T).T
    size_of = np.einsum("ij,ij->i", right, np.linalg.solve(matrix, right.T).T)
    assert (np.einsum("ij,jk,ik->i", left, matrix, left) <= 1e-5 * size_of).all()


def test_conjugate_gradients_end_when_the_time_is_over() -> None:
    problem = uneven_inputs(7)
    asked: list[int] = []
    parameters = GramObjectiveParameters(most_landmarks=3, samples_a_landmark=1, residual_fraction=1e-6)
    objective = GramObjective(problem, problem.kernel_matrix(), parameters, lambda: bool(asked.append(1)) or len(asked) > 3)
    cones = Cones(problem.n_batches, objective.batch)
    centre = np.concatenate((np.ones(problem.n_batches), np.zeros(objective.batch.size)))
    barrier = Barrier(Scaling.of(cones, centre, centre), np.zeros(problem.n_batches), EllipsoidDualParameters.diagonal_lifts)
    system = objective.newton(centre, barrier)
    assert system is not None
    system.solve(np.ones((1, problem.n_samples)))
    assert len(asked) == 4


@pytest.mark.parametrize("violation", [0.05, 0.3, 0.8])
def test_optimum_is_that_of_the_paper_and_certified_in_one_solve(violation: float) -> None:
    problem = uneven_inputs(1, violation=violation)
    outcome = EllipsoidCuts(ALWAYS).solve(problem, SolveOptions(tolerance=1e-6))
    assert outcome.status is Status.OPTIMAL and outcome.iterations == 1
    assert certify_chance_svm(problem, outcome.primal, outcome.dual, 2e-6).verified
    assert outcome.upper_bound == pytest.approx(paper_optimum(problem), rel=3e-6)


@pytest.mark.parametrize("cost", [1e-6, 1.0, 1e5])
def test_both_methods_agree_at_any_price(cost: float) -> None:
    problem = uneven_inputs(2, cost=cost)
    whole, cuts = (EllipsoidCuts(kind).solve(problem, SolveOptions(tolerance=1e-6)) for kind in (ALWAYS, NEVER))
    assert whole.status is cuts.status is Status.OPTIMAL
    assert max(whole.lower_bound, cuts.lower_bound) <= min(whole.upper_bound, cuts.upper_bound)


def test_cutting_planes_finish_what_rounding_ends() -> None:
    problem = uneven_inputs(3)
    rough = replace(ALWAYS, whole=replace(ALWAYS.whole, max_iterations=2))
    outcome = EllipsoidCuts(rough).solve(problem, SolveOptions(tolerance=1e-7))
    assert outcome.status is Status.OPTIMAL and outcome.iterations > 1
    assert certify_chance_svm(problem, outcome.primal, outcome.dual, 2e-7).verified


def test_radii_large_batches_and_kernels_of_zeros_are_left_to_cutting_planes() -> None:
    problem = uneven_inputs(4)

    def taken(posed: ChanceSVMProblem, parameters: WholeEllipsoidParameters = ALWAYS.whole) -> bool:
        options = SolveOptions()
        space = GramFeatureSpace(posed, FeatureSpaceParameters(), options)
        return whole_ellipsoids(PlaneRun(posed, options), space, parameters) is not None

    assert taken(problem)
    assert not taken(problem, WholeEllipsoidParameters())
    assert not taken(problem, replace(ALWAYS.whole, most_batch_samples=4, most_long_batch_samples=4))
    # Long ellipsoids need most of their directions, so that larger batches are taken whole.
    only_long = replace(ALWAYS.whole, most_batch_samples=4)
    assert taken(problem, only_long)
    assert not taken(replace(problem, violation=np.full(24, 0.5)), only_long)
    assert not taken(replace(problem, mean_radius=np.full(24, 0.1)))
    zeros = replace(problem, samples=np.zeros((problem.n_samples,) * 2), kernel=Kernel("precomputed"))
    assert not taken(zeros)
    assert EllipsoidCuts(ALWAYS).solve(zeros, SolveOptions()).status is Status.OPTIMAL


def test_time_limit_ends_it_with_bounds_that_hold() -> None:
    problem = uneven_inputs(5)
    best = EllipsoidCuts(NEVER).solve(problem, SolveOptions(tolerance=1e-8))
    outcome = EllipsoidCuts(ALWAYS).solve(problem, SolveOptions(tolerance=1e-8, time_limit=0.02))
    assert outcome.status in (Status.TIME_LIMIT, Status.OPTIMAL)
    assert outcome.lower_bound <= best.upper_bound and best.lower_bound <= outcome.upper_bound


def test_paths_are_solved_by_either_method_alike() -> None:
    problem = uneven_inputs(6)
    violations = [np.full(24, 0.2), np.full(24, 0.6)]
    found = [
        {
            (row, column): outcome.upper_bound
            for row, column, _, outcome in solve_price_path(
                EllipsoidCuts(kind), problem, [0.1, 1.0], violations, SolveOptions()
            )
        }
        for kind in (ALWAYS, NEVER)
    ]
    assert len(found[0]) == 4
    for place, value in found[0].items():
        assert value == pytest.approx(found[1][place], rel=1e-5)
