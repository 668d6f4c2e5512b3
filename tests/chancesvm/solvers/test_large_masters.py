"""Masters of many inputs: systems by the coordinates of the feature space, and directions that are merged."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.chance_svm import paper_optimum

from surefoot.chancesvm.certificate.certificate import certify_chance_svm
from surefoot.chancesvm.interior.cone_barrier import Barrier
from surefoot.chancesvm.interior.cone_scaling import Scaling
from surefoot.chancesvm.interior.dual_objective import DenseObjective, FactoredObjective
from surefoot.chancesvm.interior.ellipsoid_cones import Cones
from surefoot.chancesvm.interior.ellipsoid_dual import solve_ellipsoid_dual
from surefoot.chancesvm.problem.kernels import Kernel
from surefoot.chancesvm.problem.problem import ChanceSVMProblem
from surefoot.chancesvm.solvers.ellipsoid_cuts import EllipsoidCuts
from surefoot.chancesvm.solvers.ellipsoid_master import EllipsoidMaster
from surefoot.chancesvm.solvers.feature_space import make_feature_space
from surefoot.chancesvm.solvers.parameters import EllipsoidCutParameters, EllipsoidDualParameters
from surefoot.core.outcome import Status
from surefoot.core.solve_options import SolveOptions

LIFTS = EllipsoidDualParameters().diagonal_lifts


def in_cones(rng: np.random.Generator, cones: Cones, near: float) -> np.ndarray:
    """A point inside all cones, some of them as near to the boundary as ``near``."""
    tail = rng.normal(size=cones.batch.size)
    length = np.sqrt(cones.sums(tail * tail))
    head = length * (1.0 + rng.choice([near, 1.0], cones.n_batches)) + rng.choice([1e-3, 1.0], cones.n_batches)
    return np.concatenate((head, tail))


@settings(max_examples=80, deadline=None)
@given(
    seed=st.integers(0, 100_000),
    n_batches=st.integers(1, 8),
    directions=st.integers(0, 10),
    width=st.integers(1, 6),
    near=st.sampled_from([1.0, 1e-2, 1e-4]),
    ceiling=st.sampled_from([0.0, 1.0, 1e4]),
)
def test_a_factored_step_is_the_dense_one(
    seed: int, n_batches: int, directions: int, width: int, near: float, ceiling: float
) -> None:
    rng = np.random.default_rng(seed)
    cones = Cones(n_batches, rng.integers(0, n_batches, directions))
    columns = rng.normal(size=(width, cones.size))
    v, u = in_cones(rng, cones, near), in_cones(rng, cones, near)
    barrier = Barrier(Scaling.of(cones, v, u), ceiling * rng.uniform(size=n_batches), LIFTS)
    right = rng.normal(size=(2, cones.size))
    dense, factored = DenseObjective(columns.T @ columns), FactoredObjective(columns)
    # B is P'P inverted, whatever is made of it.
    np.testing.assert_allclose(barrier.times(barrier.root_transposed(barrier.root(right))), right, rtol=1e-6, atol=1e-6)
    matrix = barrier.matrix_added_to(columns.T @ columns)
    exact = np.linalg.solve(matrix, right.T).T
    size = np.abs(exact).max()
    for objective in (dense, factored):
        system = objective.newton(v, barrier)
        assert system is not None
        np.testing.assert_allclose(system.solve(right), exact, atol=1e-7 * size, rtol=1e-7)
    assert dense.at(v)[0] == pytest.approx(factored.at(v)[0], rel=1e-9)
    np.testing.assert_allclose(dense.at(v)[1], factored.at(v)[1], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(dense.diagonal(), factored.diagonal(), rtol=1e-12)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 100_000), n_batches=st.integers(2, 12), directions=st.integers(0, 20), width=st.integers(1, 5))
def test_both_forms_have_one_optimum(seed: int, n_batches: int, directions: int, width: int) -> None:
    rng = np.random.default_rng(seed)
    labels = np.where(np.arange(n_batches) % 2 == 0, 1.0, -1.0)
    batch = rng.integers(0, n_batches, directions)
    columns = np.concatenate(
        (labels * (rng.normal(size=(width, n_batches)) + labels), 0.3 * rng.normal(size=(width, directions))), axis=1
    )
    ceilings = 10.0 ** rng.uniform(-1, 2, n_batches)
    dense, factored = (
        solve_ellipsoid_dual(objective, labels, ceilings, batch, 1e-9)
        for objective in (DenseObjective(columns.T @ columns), FactoredObjective(columns))
    )
    assert factored.bound == pytest.approx(dense.bound, rel=1e-7)
    heads, tails = factored.v[:n_batches], factored.v[n_batches:]
    assert (heads >= 0).all() and (heads <= ceilings * (1 + 1e-12)).all()
    assert abs(labels @ heads) <= 1e-9 * heads.sum()
    assert (np.sqrt(np.bincount(batch, tails * tails, n_batches)) <= heads * (1 + 1e-9)).all()


def inputs(kernel: Kernel, seed: int = 0, count: int = 24, size: int = 8, violation: float = 0.05) -> ChanceSVMProblem:
    rng = np.random.default_rng(seed)
    labels = np.where(np.arange(count) % 2 == 0, 1.0, -1.0)
    centres = rng.normal(size=(count, 4)) + labels[:, None]
    samples = np.repeat(centres, size, axis=0) + 0.6 * rng.normal(size=(count * size, 4))
    starts = np.arange(0, count * size + 1, size)
    return ChanceSVMProblem(samples, starts, labels, np.full(count, 3.0), np.full(count, violation), kernel)


@pytest.mark.parametrize("name", ["linear", "poly"])
def test_few_coordinates_give_the_optimum_of_the_paper_by_either_system(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = inputs(Kernel(name, gamma=0.3, degree=2, coef0=1.0), violation=0.4)
    used = []
    newton = FactoredObjective.newton
    monkeypatch.setattr(FactoredObjective, "newton", lambda self, *given: used.append(1) or newton(self, *given))
    best = paper_optimum(problem)
    for ratio, factored in ((0.0, True), (1e9, False)):
        used.clear()
        found = EllipsoidCuts(EllipsoidCutParameters(factored_ratio=ratio)).solve(problem, SolveOptions(tolerance=1e-8))
        assert found.status is Status.OPTIMAL and bool(used) is factored
        assert found.upper_bound == pytest.approx(best, rel=1e-6)
        assert certify_chance_svm(problem, found.primal, found.dual, 1e-6).verified


def test_separation_raises_the_bound_and_keeps_an_orthonormal_basis() -> None:
    problem, options = inputs(Kernel("rbf", gamma=0.1), count=12, size=6), SolveOptions()
    parameters = EllipsoidCutParameters()
    master = EllipsoidMaster(problem, make_feature_space(problem, parameters.feature_space, options), parameters)
    bounds: list[float] = []
    for step in range(5):
        master.solve(1e-9, options)
        bounds.append(master.bound)
        if step < 4:
            assert master.separate(1, options)
    assert all(later >= earlier * (1 - 1e-8) for earlier, later in itertools.pairwise(bounds))
    _require_consistent(master, problem)
    # And it goes on from there.
    for _ in range(40):
        if not master.separate(1, options):
            break
        master.solve(1e-9, options)
    best = EllipsoidCuts().solve(problem, SolveOptions(tolerance=1e-8))
    assert master.bound == pytest.approx(best.upper_bound, rel=1e-6)


def _require_consistent(master: Any, problem: ChanceSVMProblem) -> None:
    """Directions are unit vectors at right angles, and inner products those of the combinations."""
    for batch in range(problem.n_batches):
        own = slice(problem.starts[batch], problem.starts[batch + 1])
        rows = np.concatenate([block[:, own] for block in master.directions])
        rows = rows[np.abs(rows).max(axis=1) > 0]
        np.testing.assert_allclose(rows @ rows.T, np.eye(len(rows)), atol=1e-9)
    gram = problem.kernel.products(problem.samples, problem.samples)
    combinations = master.combinations.toarray()
    np.testing.assert_allclose(combinations @ gram @ combinations.T, master.inner, atol=1e-9)
    np.testing.assert_allclose(gram @ combinations.T, master.image, atol=1e-9)
