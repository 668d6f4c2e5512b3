"""The regularised loss by generated decisions, against all decisions at once."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
from reference.enumerated_inverse import drawn, loss, smallest_loss

from surefoot.core.outcome import Progress, Status
from surefoot.core.solve_options import SolveOptions
from surefoot.inverse import InverseOptimizer, forward
from surefoot.inverse.exact.constraint_generation import ConstraintGeneration
from surefoot.inverse.exact.exact_solver import ExactSolver
from surefoot.inverse.oracle.cut_separation import Separation
from surefoot.inverse.problem.approaches import APPROACHES
from surefoot.inverse.problem.distance import Distance
from surefoot.inverse.problem.prior_set import PriorSet
from surefoot.inverse.problem.problem import InverseProblem, Regularizer

PRIORS: dict[str, tuple[Any, Any]] = {
    "none": (None, lambda theta: []),
    "nonnegative": ("nonnegative", lambda theta: [theta >= 0]),
    "simplex": ("simplex", lambda theta: [theta >= 0, cp.sum(theta) == 1]),
    "box": ((-0.5, 2.0), lambda theta: [theta >= -0.5, theta <= 2]),
    "linear": (
        {"A": [[1.0, 1.0, 1.0, 1.0, 1.0], [-1.0, 0.0, 0.0, 0.0, 0.0]], "b": [1.5, -0.25]},
        lambda theta: [cp.sum(theta) <= 1.5, theta[0] >= 0.25],
    ),
}


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize(("regularizer", "kappa"), [("l2", 0.02), ("l1", 0.02), ("l2", 0.0)])
def test_the_optimum_is_that_of_full_enumeration(prior: str, regularizer: str, kappa: float) -> None:
    _, signals, responses = drawn(5, 3, 12, seed=1, noise=0.3, signed=True)
    given, limits = PRIORS[prior]
    center = np.array([0.5, 0.0, -0.2, 0.3, 0.1])
    model = InverseOptimizer(
        forward.BinaryProgram(), regularizer=regularizer, kappa=kappa, prior=given, center=center, tol=1e-7
    ).fit(signals, responses)
    wanted = smallest_loss(signals, responses, kappa=kappa, regularizer=regularizer, center=center, limits=limits)
    assert model.certificate_.verified
    assert model.certificate_.upper_bound == pytest.approx(wanted, abs=2e-6)
    assert model.certificate_.lower_bound <= wanted + 1e-7
    away = model.cost_ - center
    size = away @ away / 2 if regularizer == "l2" else np.abs(away).sum()
    assert kappa * size + loss(model.cost_, signals, responses, "l2").mean() == pytest.approx(wanted, abs=2e-6)


@pytest.mark.parametrize("name", ["l1", "l2", "linf", "squared-l2", "zero-one"])
def test_every_distance_is_priced_exactly(name: str) -> None:
    _, signals, responses = drawn(5, 3, 10, seed=2, noise=0.3, signed=True)
    model = InverseOptimizer(forward.BinaryProgram(), distance=name, kappa=0.05).fit(signals, responses)
    assert model.certificate_.upper_bound == pytest.approx(smallest_loss(signals, responses, name=name, kappa=0.05), abs=3e-6)


def conflicting() -> InverseProblem:
    """Three responses to one signal that no cost explains together."""
    signal = (np.zeros((1, 2)), np.zeros(1))
    responses = (np.array([1.0, 0.0]), np.array([0.0, 1.0]), np.array([0.0, 0.0]))
    examples = tuple(forward.BinaryProgram().example(i, signal, x) for i, x in enumerate(responses))
    return InverseProblem(examples, Distance.of("l2"), Regularizer("l2", np.zeros(2)), 1.0, PriorSet.of(None, 2), hard=True)


@pytest.mark.parametrize("kind", ["l1", "l2"])
def test_a_hard_problem_without_a_solution_is_called_infeasible(kind: Any) -> None:
    problem = replace(conflicting(), regularizer=Regularizer(kind, np.zeros(2)))
    found = ConstraintGeneration().solve(problem, SolveOptions())
    assert found.status is Status.INFEASIBLE
    assert found.upper_bound == np.inf


def test_a_cutting_plane_problem_with_no_cost_but_zero_is_called_infeasible() -> None:
    task = APPROACHES["cutting-plane"].pose(conflicting())
    assert ExactSolver("cutting-plane").solve(task, SolveOptions()).status is Status.INFEASIBLE


def test_bounds_of_a_run_only_get_better_and_its_status_says_how_it_ended() -> None:
    _, signals, responses = drawn(5, 3, 12, seed=1, noise=0.3, signed=True)
    lines: list[Progress] = []
    pairs = enumerate(zip(signals, responses, strict=True))
    examples = tuple(forward.BinaryProgram().example(i, s, x) for i, (s, x) in pairs)
    problem = InverseProblem(examples, Distance.of("l2"), Regularizer("l2", np.zeros(5)), 0.05, PriorSet.of(None, 5))
    found = ConstraintGeneration().solve(problem, SolveOptions(on_progress=lines.append))
    assert found.status is Status.OPTIMAL and found.history == tuple(lines)
    uppers, lowers = ([getattr(line, name) for line in lines] for name in ("upper_bound", "lower_bound"))
    assert uppers == sorted(uppers, reverse=True) and lowers == sorted(lowers)
    assert (found.upper_bound, found.lower_bound) == (uppers[-1], lowers[-1])
    stopped = ConstraintGeneration().solve(problem, SolveOptions(max_iter=1))
    assert stopped.status is Status.ITERATION_LIMIT and stopped.iterations == 1 and np.any(stopped.primal)


class _LateSeparation(Separation):
    """One whose second search ends only when time is over, without a decision."""

    searches = 0

    def losses(self, problem: InverseProblem, *args: Any, **kwargs: Any) -> Any:
        self.searches += 1
        if self.searches != 2:
            return super().losses(problem, *args, **kwargs)
        time.sleep(max(0.0, kwargs["seconds"]) + 0.01)
        return np.zeros(problem.n_examples), np.full(problem.n_examples, np.inf)


def test_a_search_that_time_ended_is_no_stall() -> None:
    options = SolveOptions(time_limit=0.2)
    assert (
        ConstraintGeneration(_LateSeparation()).solve(replace(conflicting(), hard=False), options).status is Status.TIME_LIMIT
    )
