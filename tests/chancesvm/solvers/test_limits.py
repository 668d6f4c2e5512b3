"""Limits are kept by every solver: on time, on iterations, and by Ctrl-C."""

from __future__ import annotations

import os
import signal
from typing import Any

import numpy as np
import pytest
from reference.chance_svm import mended_problem, random_problem

from surefoot.chancesvm.interior.dual_objective import DenseObjective
from surefoot.chancesvm.interior.ellipsoid_dual import solve_ellipsoid_dual
from surefoot.chancesvm.problem.kernels import Kernel
from surefoot.chancesvm.problem.landmark_kernel import on_landmarks
from surefoot.chancesvm.problem.problem import ChanceSVMProblem
from surefoot.chancesvm.registry import make_chance_solver
from surefoot.chancesvm.solvers.chance_socp import ChanceSOCP
from surefoot.core import solve_options
from surefoot.core.backends.clarabel import _StallMonitor
from surefoot.core.outcome import Status
from surefoot.core.solve_options import SolveOptions
from surefoot.exceptions import UnsupportedProblemError

PROBLEMS = {
    "linear": random_problem(0, Kernel("linear"), n_batches=20, most=12),
    "poly": random_problem(0, Kernel("poly", degree=3), n_batches=20, most=12),
    "rbf": random_problem(0, Kernel("rbf"), n_batches=20, most=12),
    "precomputed": mended_problem(0, Kernel("precomputed"), n_batches=20, most=12),
    "callable": mended_problem(0, Kernel("callable", function=lambda left, right: left @ right.T), n_batches=20, most=12),
    "landmarks": on_landmarks(random_problem(0, Kernel("rbf"), n_batches=20, most=12), 30),
}


def rows(count: int, columns: int) -> ChanceSVMProblem:
    """A problem too large to be solved here."""
    samples, half = np.zeros((count, columns)), count // 2
    return ChanceSVMProblem(
        samples, np.array([0, half, count]), np.array([1.0, -1.0]), np.ones(2), np.full(2, 0.5), Kernel("rbf")
    )


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("solver", ["auto", "socp", "admm"])
@pytest.mark.parametrize("limit", [0, 1, 3, 7, 15])
def test_few_looks_at_the_clock_come_after_the_end(monkeypatch: pytest.MonkeyPatch, name: str, solver: str, limit: int) -> None:
    """A clock that goes by a second whenever it is looked at: a loop that does not look, or goes on, is noticed."""
    looks = [0]

    class Clock:
        @staticmethod
        def perf_counter() -> float:
            looks[0] += 1
            return float(looks[0])

    monkeypatch.setattr(solve_options, "time", Clock)
    outcome = make_chance_solver(solver).solve(PROBLEMS[name], SolveOptions(tolerance=1e-12, time_limit=limit, started=0.0))
    if outcome.status is Status.TIME_LIMIT:
        # Interior points and loops around them each look once more before they return.
        assert looks[0] <= limit + 5
    assert 0 <= outcome.lower_bound <= outcome.upper_bound < np.inf
    assert limit > 0 or outcome.status is Status.TIME_LIMIT


def test_a_cone_programme_is_refused_if_its_iterations_outlast_the_limit() -> None:
    large = rows(2400, 3)
    with pytest.raises(UnsupportedProblemError, match=r"time limit of 15 s: .* 2400 x 2400 entries.*solver='worst-points'"):
        ChanceSOCP().solve(large, SolveOptions(time_limit=15.0))
    assert ChanceSOCP().refuses(large) is None
    with pytest.raises(UnsupportedProblemError, match="10 iterations take about 184 s"):
        ChanceSOCP("full").solve(large, SolveOptions(time_limit=180.0))
    # Ten of its iterations are over in a second, and whoever asks for less is given what there is by then.
    assert ChanceSOCP().solve(PROBLEMS["rbf"], SolveOptions(time_limit=1e-6)).status is Status.TIME_LIMIT


def test_a_master_that_is_out_of_time_returns_a_bound_that_holds() -> None:
    rng = np.random.default_rng(0)
    points = rng.normal(size=(12, 4)) * np.repeat([1.0, -1.0], 6)[:, None] + 1.0
    labels, batch = np.repeat([1.0, -1.0], 6), np.zeros(0, dtype=np.int64)
    objective = DenseObjective(points @ points.T)
    optimum = solve_ellipsoid_dual(objective, labels, np.ones(12), batch, 1e-10).bound
    before = -np.inf
    for allowed in (0, 2, 4, 30):
        asked = iter(range(allowed))
        found = solve_ellipsoid_dual(objective, labels, np.ones(12), batch, 1e-10, is_over=lambda: next(asked, None) is None)  # noqa: B023
        assert found.bound <= optimum * (1 + 1e-12)
        assert found.v.min() >= 0 and abs(found.v @ labels) < 1e-12
        before = max(before, found.bound)
    assert before == pytest.approx(optimum, rel=1e-9)


@pytest.mark.parametrize("solver", ["auto", "socp", "admm"])
@pytest.mark.parametrize("most", [1, 2, 6])
def test_iterations_are_counted_over_all_programmes(solver: str, most: int) -> None:
    # At this cost the cone programme is posed twice.
    problem = random_problem(3, Kernel("rbf", gamma=0.5), cost=1e7)
    outcome = make_chance_solver(solver).solve(problem, SolveOptions(tolerance=1e-13, max_iter=most))
    assert outcome.iterations <= most
    assert outcome.status in (Status.ITERATION_LIMIT, Status.STALLED)


@pytest.mark.parametrize("solver", ["auto", "admm"])
def test_ctrl_c_ends_a_solve_and_leaves_what_was_found(solver: str) -> None:
    problem = random_problem(1, Kernel("rbf", gamma=0.5))
    told = SolveOptions(tolerance=1e-15, on_progress=lambda line: os.kill(os.getpid(), signal.SIGINT))
    outcome = make_chance_solver(solver).solve(problem, told)
    assert outcome.status is Status.INTERRUPTED
    assert outcome.lower_bound <= outcome.upper_bound == pytest.approx(problem.objective(outcome.primal), rel=1e-9)


def test_ctrl_c_reaches_the_cone_programme(monkeypatch: pytest.MonkeyPatch) -> None:
    """The signal comes in the middle of an iteration, so it does not depend on how fast the machine is."""
    problem = random_problem(1, Kernel("rbf", gamma=0.5), n_batches=40, most=12)
    enough = _StallMonitor._enough

    def interrupted(monitor: _StallMonitor, info: Any) -> bool:
        os.kill(os.getpid(), signal.SIGINT)
        return enough(monitor, info)

    monkeypatch.setattr(_StallMonitor, "_enough", interrupted)
    outcome = ChanceSOCP().solve(problem, SolveOptions(tolerance=1e-15))
    assert outcome.status is Status.INTERRUPTED
    assert outcome.lower_bound <= outcome.upper_bound
