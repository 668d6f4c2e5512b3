"""Costs of no use are told, with what to do; costs of some use are not."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from surefoot.exceptions import ForwardSolveError, WeakModelWarning, ZeroCostWarning
from surefoot.inverse import InverseOptimizer, forward

CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])


def cheapest(theta: np.ndarray, signal: Any) -> np.ndarray:
    return np.asarray(CORNERS[np.argmin(CORNERS @ theta + signal @ CORNERS.T)])


@pytest.mark.parametrize("kappa", [0.0, 0.1])
def test_a_cost_of_zero_for_lack_of_a_distance_is_told(kappa: float) -> None:
    with pytest.warns(ZeroCostWarning, match="without a distance nothing is lost by that. Give a distance, a prior"):
        model = InverseOptimizer(forward.FiniteChoice(), distance="none", kappa=kappa).fit([CORNERS], [0])
    assert model.certificate_.verified and not model.cost_.any()


def test_observations_without_a_choice_are_told() -> None:
    with pytest.warns(ZeroCostWarning, match="no decision that is open is at a distance from the observed one"):
        InverseOptimizer(forward.FiniteChoice(), kappa=0.1).fit([CORNERS[:1], CORNERS[1:2]], [0, 0])


@pytest.mark.parametrize("prior", [([0.0, 0.0], [0.0, 0.0]), {"bounds": (0.0, 0.0)}])
def test_a_prior_that_holds_no_other_cost_is_told(prior: Any) -> None:
    with pytest.warns(ZeroCostWarning, match="the prior set holds no other cost. Give a wider prior"):
        InverseOptimizer(forward.FiniteChoice(), prior=prior, kappa=0.1).fit([CORNERS], [0])


@pytest.mark.parametrize("prior", [([1.0, 1.0], [0.0, 0.0]), {"A": [[1.0, 0.0], [-1.0, 0.0]], "b": [-1.0, -1.0]}])
def test_a_prior_without_any_cost_is_refused(prior: Any) -> None:
    with pytest.raises(ValueError, match="prior"):
        InverseOptimizer(forward.FiniteChoice(), prior=prior, kappa=0.1).fit([CORNERS], [0])


def test_a_cost_that_explains_nothing_is_told() -> None:
    """Somebody who always takes the dearest offer, whom a prior without negative costs cannot explain."""
    draw = np.random.default_rng(0)
    offers = [np.array([[0.1], [0.4], [0.9]]) + draw.uniform(0, 0.1, (3, 2)) for _ in range(12)]
    dearest = [2] * 12
    with pytest.warns(WeakModelWarning, match="explains nothing: none of the 12 observed decisions is a best one for it"):
        InverseOptimizer(forward.FiniteChoice(), prior="simplex", kappa=0.1).fit(offers, dearest)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        InverseOptimizer(forward.FiniteChoice(), kappa=1e-3).fit(offers, dearest)


def called(solve: Any, **settings: Any) -> Any:
    problem = forward.CallableProblem(solve, n_unknowns=2, binary=True, **settings)
    return InverseOptimizer(problem, features=None, distance="l1", kappa=0.05, tol=1e-3)


def test_a_solver_that_ignores_the_cost_is_told() -> None:
    model = called(lambda theta, signal: np.array([1.0, 1.0]))
    message = "asked at 6 different costs about 3 observations, it always returned the same"
    with pytest.warns(ZeroCostWarning), pytest.warns(WeakModelWarning, match=message):
        model.fit([0, 1, 2], [[1, 1], [1, 1], [1, 1]])


def test_a_solver_whose_decisions_cost_more_than_the_observed_ones_is_told() -> None:
    def dearest(theta: np.ndarray, signal: Any) -> np.ndarray:
        return np.asarray(CORNERS[np.argmax(CORNERS @ theta)])

    with pytest.raises(ForwardSolveError, match=r"observation 0: .* it does not solve to optimality"):
        called(dearest).fit([0, 1], [[1, 0], [1, 0]])


def test_a_solver_that_solves_is_not_doubted() -> None:
    def solve(theta: np.ndarray, signal: Any) -> np.ndarray:
        return np.asarray(CORNERS[np.argmin(CORNERS @ theta)])

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        called(solve).fit([0, 1], [[1, 0], [1, 0]])
        # Somebody without a choice cannot react.
        called(lambda theta, signal: solve(theta, signal)).fit([0, 1, 2], [[1, 0], [1, 1], [1, 0]])
