"""Fits that are cut short, and what they leave: Ctrl-C, limits, files; and errors that are true."""

from __future__ import annotations

import contextlib
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import surefoot as sf
from surefoot.core.outcome import Status
from surefoot.core.solve_options import SolveOptions
from surefoot.exceptions import InconsistentDataError, UnsupportedProblemError
from surefoot.inverse import InverseOptimizer, forward
from surefoot.inverse.cone.minimum_ellipsoid import ellipsoid_center
from surefoot.inverse.exact.parameters import MinimumEllipsoidParameters
from surefoot.inverse.forward import FiniteChoice, Knapsack, ShortestPath
from surefoot.inverse.oracle.boxed_batch import BoxedBatch
from surefoot.inverse.oracle.cut_separation import Separation
from surefoot.inverse.oracle.forward_oracle import ForwardOracle
from surefoot.inverse.oracle.milp_branch_and_bound import BranchAndBound
from surefoot.inverse.problem.distance import Distance


def noisy_choices(n: int = 6) -> tuple[list[Any], list[int]]:
    random = np.random.default_rng(0)
    return [random.normal(size=(4, 3)) for _ in range(n)], [int(random.integers(4)) for _ in range(n)]


@pytest.mark.parametrize("approach", ["predictability", "ellipsoidal-asl", "asl", "suboptimality", "incenter", "cutting-plane"])
@pytest.mark.parametrize("at", [1, 2, 5])
def test_ctrl_c_ends_every_approach(approach: str, at: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a master is interrupted, what called it must not go on."""
    calls = [0]
    real = Separation.losses

    def interrupted(*args: Any, **kwargs: Any) -> Any:
        calls[0] += 1
        if calls[0] == at:
            raise KeyboardInterrupt
        return real(*args, **kwargs)

    monkeypatch.setattr(Separation, "losses", interrupted)
    signals, responses = noisy_choices()
    model = InverseOptimizer(FiniteChoice(), approach=approach, kappa=0.1)
    try:
        model.fit(signals, responses)
    except KeyboardInterrupt:
        return
    except InconsistentDataError:
        assert calls[0] < at
        return
    assert calls[0] < at


def test_a_step_limit_is_no_optimum() -> None:
    points = np.random.default_rng(1).normal(size=(20, 3))
    few = MinimumEllipsoidParameters(max_steps=2)
    assert ellipsoid_center(points, None, few)[2] is Status.ITERATION_LIMIT
    assert ellipsoid_center(points)[2] is Status.OPTIMAL
    assert ellipsoid_center(points, SolveOptions(time_limit=1e-9))[2] is Status.TIME_LIMIT


def test_paths_over_a_grid_are_saved(tmp_path: Path) -> None:
    edges = [((0, 0), (0, 1)), ((0, 1), (1, 1)), ((0, 0), (1, 0)), ((1, 0), (1, 1))]
    model = InverseOptimizer(ShortestPath(edges), prior="nonnegative", kappa=0.1).fit([((0, 0), (1, 1))], [[1, 1, 0, 0]])
    sf.save(model, tmp_path / "paths.surefoot")
    again = sf.load(tmp_path / "paths.surefoot")
    assert again.forward.edges == edges
    assert sf.verify(again, [((0, 0), (1, 1))], [[1, 1, 0, 0]]).verified


def test_bounded_priors_are_called_inconsistent_only_if_they_are() -> None:
    """A box without the scale that a distance needs, and one with it."""
    signal = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    small = InverseOptimizer(FiniteChoice(), approach="incenter", distance="l1", prior=(-0.5, 0.5))
    with pytest.raises(InconsistentDataError, match="by the distance asked for"):
        small.fit([signal], [0])
    assert small.set_params(prior=(-1.0, 1.0)).fit([signal], [0]).certificate_.verified


@pytest.mark.parametrize("approach", ["asl", "suboptimality", "circumcenter", "ellipsoidal-circumcenter", "predictability"])
def test_every_approach_keeps_its_time_limit(approach: str) -> None:
    random = np.random.default_rng(2)
    signals = [random.normal(size=(8, 7)) for _ in range(40)]
    responses = [int(np.argmin(s @ np.ones(7))) for s in signals]
    model = InverseOptimizer(FiniteChoice(), approach=approach, time_limit=0.2)
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with contextlib.suppress(UnsupportedProblemError):
            model.fit(signals, responses)
    assert time.process_time() - start < 3.0


def heavy_item(n: int = 45) -> tuple[list[Any], list[Any]]:
    """An item that fills the knapsack, taken: too many unknowns for any but the branch and bound on relaxations."""
    return [(np.append(1e9, np.ones(n - 1)), 1e9)], [np.eye(n)[0]]


@pytest.mark.filterwarnings("ignore::surefoot.exceptions.WeakModelWarning")
def test_searches_for_worst_decisions_get_the_time_that_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """One search may take longer than all the rest of a fit."""
    given: list[float] = []
    real = BranchAndBound.search

    def looked_at(*args: Any, **kwargs: Any) -> Any:
        given.append(kwargs["seconds"])
        return real(*args, **kwargs)

    monkeypatch.setattr(BranchAndBound, "search", looked_at)
    signals, response = heavy_item()
    InverseOptimizer(Knapsack(), prior=(-9.0, -1.0), kappa=0.1, time_limit=50.0, max_iter=1).fit(signals, response)
    in_fit = [seconds for seconds in given if np.isfinite(seconds)]
    assert in_fit and max(in_fit) < 50.0


def test_a_search_without_time_leaves_a_bound_that_says_nothing_and_no_error() -> None:
    signals, response = heavy_item()
    with pytest.warns(sf.ConvergenceLimitWarning):
        model = InverseOptimizer(Knapsack(), prior=(-9.0, -1.0), kappa=0.1, time_limit=1e-6).fit(signals, response)
    assert not model.certificate_.verified and model.outcome_.status is Status.TIME_LIMIT


def _two_machines() -> tuple[list[Any], list[Any]]:
    """(y, z): as much as is ordered is made, by a machine that has no end and by others that are used or not."""
    orders = [1.0, 2.0, 2.5]
    signals = [(np.array([[-1.0]]), np.array([[-1.0, -1.5]]), np.array([-order])) for order in orders]
    return signals, [[0.0, 1.0, 0.0], [0.5, 0.0, 1.0], [0.0, 1.0, 1.0]]


@pytest.mark.parametrize(
    "approach", ["asl", "incenter", "suboptimality", "feasibility", "cutting-plane", "circumcenter", "predictability"]
)
def test_every_search_of_every_approach_has_an_end(monkeypatch: pytest.MonkeyPatch, approach: str) -> None:
    given: list[float] = []

    def looked_at(real: Any) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            given.append(kwargs["seconds"] if "seconds" in kwargs else args[3])
            return real(*args, **kwargs)

        return call

    for kind, name in ((BranchAndBound, "search"), (BoxedBatch, "worst"), (BoxedBatch, "proofs")):
        monkeypatch.setattr(kind, name, looked_at(getattr(kind, name)))
    signals, responses = _two_machines()
    model = InverseOptimizer(
        forward.MixedIntegerProgram(continuous_bounds=(0.0, 3.0)), approach=approach, distance=("none", "l1"), time_limit=50.0
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sf.ConvergenceLimitWarning)
        with contextlib.suppress(sf.UnsupportedProblemError, sf.InconsistentDataError):
            model.fit(signals, responses)
    assert given and max(given) <= 50.0


def test_searches_for_extreme_rays_say_what_ended_them() -> None:
    signals, responses = _two_machines()
    model = InverseOptimizer(
        forward.MixedIntegerProgram(continuous_bounds=(0.0, 3.0)), approach="circumcenter", time_limit=1e-9
    )
    with pytest.raises(sf.UnsupportedProblemError, match="the time limit ended the search for the extreme rays"):
        model.fit(signals, responses)


def test_a_quadratic_decision_that_there_was_no_time_for_has_no_bound() -> None:
    program = forward.QuadraticProgram(continuous_bounds=(0.0, 1.0))
    example = program.example(0, (np.ones((1, 2)), np.array([1.0])), [0.5, 0.5])
    cost = np.concatenate((np.eye(2).ravel(), [-1.0, -2.0]))
    found = ForwardOracle().augmented(example, cost, Distance("none", "linf"), seconds=0.0)
    assert found.bound == np.inf and found.value == 0.0
    assert np.isfinite(ForwardOracle().augmented(example, cost, Distance("none", "linf")).bound)
    with pytest.raises(sf.ForwardSolveError, match="observation 0: no decision was found in time"):
        ForwardOracle().decide(example.instance, cost, seconds=0.0)
