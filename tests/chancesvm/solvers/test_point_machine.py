"""Inputs that are points: the plain support vector machine, against scikit-learn's and an independent programme."""

from __future__ import annotations

import time
import warnings
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.chance_svm import random_problem
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from surefoot import ChanceConstrainedSVC, ConvergenceLimitWarning, verify
from surefoot.chancesvm.certificate.certificate import certify_chance_svm
from surefoot.chancesvm.problem.feasible_mix import feasible_mix
from surefoot.chancesvm.problem.kernels import Kernel
from surefoot.chancesvm.problem.problem import ChanceSVMProblem
from surefoot.chancesvm.solvers import point_machine
from surefoot.chancesvm.solvers.ellipsoid_cuts import EllipsoidCuts
from surefoot.chancesvm.solvers.feature_space import GramFeatureSpace
from surefoot.chancesvm.solvers.parameters import FeatureSpaceParameters, PointMachineParameters
from surefoot.core.backends.libsvm import PointDual
from surefoot.core.outcome import Status
from surefoot.core.solve_options import SolveOptions


def points(seed: int, count: int = 60, noise: float = 0.8) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(count, 3))
    y = (X[:, 0] + X[:, 1] ** 2 - 0.7 + noise * rng.normal(size=count) > 0).astype(int)
    y[:2] = 0, 1
    return X, y


def posed(X: np.ndarray, y: np.ndarray, costs: Any, kernel: Kernel) -> ChanceSVMProblem:
    count = len(X)
    prices = np.broadcast_to(np.asarray(costs, dtype=float), count)
    labels = np.where(y > 0, 1.0, -1.0)
    gram = X if kernel.name == "precomputed" else None
    return ChanceSVMProblem(X, np.arange(count + 1), labels, prices, np.full(count, 0.5), kernel, gram=gram)


def dual_optimum(gram: np.ndarray, labels: np.ndarray, costs: np.ndarray) -> float:
    """max sum a - 1/2 ||F' (y a)||^2, by a conic solver."""
    values, vectors = np.linalg.eigh(gram)
    factor = vectors * np.sqrt(np.maximum(values, 0.0))
    a = cp.Variable(labels.size)
    task = cp.Problem(
        cp.Maximize(cp.sum(a) - 0.5 * cp.sum_squares(factor.T @ cp.multiply(labels, a))),
        [a >= 0, a <= costs, labels @ a == 0],
    )
    return float(task.solve(solver=cp.CLARABEL, tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11))


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    C=st.sampled_from([1e-3, 0.1, 1.0, 100.0, 1e4]),
    duplicates=st.sampled_from([0, 5, 30]),
    weighted=st.booleans(),
    stored=st.booleans(),
)
def test_coefficients_are_optimal_without_a_pass(seed: int, C: float, duplicates: int, weighted: bool, stored: bool) -> None:
    X, y = points(seed, 40)
    rng = np.random.default_rng(seed)
    again = rng.integers(0, 40, duplicates)
    X = np.vstack((X, X[again]))
    # Half of the duplicates contradict the row that they repeat.
    y = np.concatenate((y, np.where(np.arange(duplicates) % 2 == 0, y[again], 1 - y[again])))
    costs = C * (10.0 ** rng.uniform(-1, 1, y.size) if weighted else np.ones(y.size))
    problem = posed(X, y, costs, Kernel("rbf", gamma=0.5))
    space = GramFeatureSpace(problem, FeatureSpaceParameters(1 << 31 if stored else 0), SolveOptions())
    assert point_machine.is_of_points(problem) and (space.gram is not None) is stored
    found = point_machine.solve_points(problem, space, SolveOptions(), PointMachineParameters())
    assert found is not None
    assert (problem.labels * found >= 0).all() and (problem.labels * found <= costs).all()
    gram = rbf_kernel(X, gamma=0.5)
    mix = feasible_mix(problem, found)
    assert mix.bound(gram @ mix.coefficients) == pytest.approx(dual_optimum(gram, problem.labels, costs), rel=1e-6, abs=1e-12)
    outcome = EllipsoidCuts().solve(problem, SolveOptions(tolerance=1e-6))
    assert outcome.status is Status.OPTIMAL and outcome.iterations >= 1
    assert certify_chance_svm(problem, outcome.primal, outcome.dual, 2e-6).verified


def test_prices_at_which_steps_are_not_enough_go_to_the_masters() -> None:
    """Sequential minimal optimisation takes millions of steps here, and looks at no clock; masters take three."""
    X, y = points(9, 400, noise=1.5)
    problem = posed(X, y, 1e6, Kernel("rbf", gamma=0.2))
    taken = []
    solve = PointDual.solve
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(PointDual, "solve", lambda self, most: taken.append(most) or solve(self, most))
        outcome = EllipsoidCuts().solve(problem, SolveOptions(tolerance=1e-6))
    assert taken == [400 * PointMachineParameters().steps_a_point]
    assert outcome.status is Status.OPTIMAL and outcome.iterations > 1


def test_the_active_set_returns_the_digits_that_single_precision_loses() -> None:
    X, y = points(3, 150, noise=0.3)
    problem = posed(X, y, 1e4, Kernel("rbf", gamma=0.5))
    space = GramFeatureSpace(problem, FeatureSpaceParameters(), SolveOptions())
    gaps = []
    for polishes in (0, 10):
        found = point_machine.solve_points(problem, space, SolveOptions(), PointMachineParameters(max_polishes=polishes))
        mix = feasible_mix(problem, found)
        values = space.gram @ mix.coefficients
        demands = problem.demands(values, float(mix.coefficients @ values))
        hinge = problem.hinge(demands, problem.best_intercept(demands))
        upper = 0.5 * float(mix.coefficients @ values) + hinge
        gaps.append((upper - mix.bound(values)) / upper)
    assert gaps[1] < 1e-9 < gaps[0]


@pytest.mark.parametrize("kernel", ["rbf", "callable", "precomputed", "poly", "linear"])
@pytest.mark.parametrize("C", [0.1, 3.0, 1e3])
def test_rows_as_inputs_are_the_machine_of_scikit_learn(kernel: str, C: float) -> None:
    X, y = points(5)
    # scikit-learn mixes up the rows of a matrix where some have no weight.
    least = 1 if kernel in ("callable", "precomputed") else 0
    weights = np.random.default_rng(5).integers(least, 4, len(y)).astype(float)
    fresh = np.random.default_rng(6).normal(size=(40, 3))

    def function(left: np.ndarray, right: np.ndarray) -> np.ndarray:
        return np.asarray(rbf_kernel(left, right, gamma=0.5))

    gram = function(X, X)
    shape = {"kernel": {"callable": function}.get(kernel, kernel), "gamma": 0.5, "degree": 2, "coef0": 1.0}
    table, rows = (gram, function(fresh, X)) if kernel == "precomputed" else (X, fresh)
    rival = SVC(C=C, tol=1e-9, **shape).fit(table, y, sample_weight=weights)
    model = ChanceConstrainedSVC(C=C, tol=1e-8, batches="rows", standardize=False, **shape).fit(table, y, sample_weight=weights)
    assert model.certificate_.verified
    scale = np.abs(rival.decision_function(rows)).max()
    np.testing.assert_allclose(model.decision_function(rows), rival.decision_function(rows), atol=2e-3 * scale)
    assert verify(model, table, y, sample_weight=weights).verified
    assert model.groups_ == list(range(int((weights > 0).sum())))


def test_a_batch_or_a_radius_is_no_point() -> None:
    X, y = points(1)
    problem = posed(X, y, 1.0, Kernel("rbf"))
    assert point_machine.is_of_points(problem)
    wide = ChanceSVMProblem(
        X, problem.starts, problem.labels, problem.costs, problem.violation, Kernel("rbf"), mean_radius=np.full(y.size, 0.1)
    )
    assert not point_machine.is_of_points(wide)
    assert not point_machine.is_of_points(random_problem(1, Kernel("rbf")))


def test_steps_are_limited_by_the_time_that_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = points(2, 200)
    problem = posed(X, y, 10.0, Kernel("rbf", gamma=0.5))
    asked = []
    monkeypatch.setattr(PointDual, "seconds_a_step", lambda self, steps: 0.01)
    monkeypatch.setattr(PointDual, "solve", lambda self, most: asked.append(most) or np.zeros(200))
    space = GramFeatureSpace(problem, FeatureSpaceParameters(), SolveOptions())
    for limit in (None, 20.0):
        point_machine.solve_points(problem, space, SolveOptions(time_limit=limit), PointMachineParameters())
    assert asked[0] == 200 * PointMachineParameters().steps_a_point and 900 <= asked[1] <= 1000
    gone = SolveOptions(time_limit=1e-9, started=time.perf_counter() - 1.0)
    assert point_machine.solve_points(problem, space, gone, PointMachineParameters()) is None


@pytest.mark.parametrize("limit", [1e-9, 0.02, 0.2])
def test_a_time_limit_leaves_a_model_and_a_bound_that_holds(limit: float) -> None:
    X, y = points(7, 1500)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceLimitWarning)
        started = time.perf_counter()
        model = ChanceConstrainedSVC(C=1e3, batches="rows", time_limit=limit).fit(X, y)
        spent = time.perf_counter() - started
    best = ChanceConstrainedSVC(C=1e3, batches="rows").fit(X, y)
    assert best.certificate_.verified
    assert model.certificate_.lower_bound <= best.certificate_.upper_bound <= model.certificate_.upper_bound * (1 + 2e-6)
    assert spent < limit + 5.0


def test_coefficients_that_are_not_finite_are_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = points(8)
    monkeypatch.setattr(PointDual, "solve", lambda self, most: np.full(60, np.nan))
    problem = posed(X, y, 1.0, Kernel("rbf", gamma=0.5))
    outcome = EllipsoidCuts().solve(problem, SolveOptions(tolerance=1e-6))
    assert outcome.status is Status.OPTIMAL and outcome.iterations > 0
