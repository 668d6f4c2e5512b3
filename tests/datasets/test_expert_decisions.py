"""Simulated experts: every decision is feasible and the best of all under the cost that took it."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest
from scipy.optimize import linprog

from surefoot.core.arrays import FloatArray
from surefoot.datasets.expert_decisions import (
    ExpertDecisions,
    consistent_decisions,
    inconsistent_decisions,
    large_decisions,
    mixed_integer_decisions,
)

SIMULATORS: list[Callable[..., ExpertDecisions]] = [
    consistent_decisions,
    inconsistent_decisions,
    mixed_integer_decisions,
    large_decisions,
]


def feasible_points(signal: tuple[FloatArray, ...]) -> FloatArray:
    points = np.array(list(itertools.product([0.0, 1.0], repeat=signal[0].shape[1])))
    return points[np.all(points @ signal[0].T <= signal[1], axis=1)]


def test_the_defaults_are_the_sizes_and_ranges_of_the_paper() -> None:
    small = consistent_decisions(random_state=0)
    assert (len(small), small.signals[0][0].shape, small.responses.shape) == (100, (4, 6), (100, 6))
    noisy = inconsistent_decisions(random_state=0)
    assert (len(noisy), noisy.signals[0][0].shape, noisy.responses.shape) == (100, (8, 10), (100, 10))
    assert noisy.cost.min() < 0 and max(a.max() for a, _ in noisy.signals) > 0.9
    mixed = mixed_integer_decisions(3, random_state=0)
    assert [part.shape for part in mixed.signals[0]] == [(4, 6), (4, 6), (4,)] and mixed.responses.shape == (3, 12)
    large = large_decisions(3, random_state=0)
    assert (large.signals[0][0].shape, large.responses.shape) == ((15, 20), (3, 20))
    assert min(b.min() for _, b in large.signals) < -4.0
    for drawn in (small, mixed, large):
        assert np.all((drawn.cost >= 0) & (drawn.cost <= 1))
        assert all(part.max() <= 0 for signal in drawn.signals for part in signal)


@pytest.mark.parametrize(("simulate", "n"), [(consistent_decisions, 6), (consistent_decisions, 13), (large_decisions, 14)])
def test_consistent_decisions_are_the_best_of_all(simulate: Callable[..., ExpertDecisions], n: int) -> None:
    # 13 variables are counted in halves, 6 at once.
    drawn = simulate(6, n_variables=n, random_state=1)
    for signal, response in zip(drawn.signals, drawn.responses, strict=True):
        points = feasible_points(signal)
        assert np.any(np.all(points == response, axis=1))
        assert drawn.cost @ response == pytest.approx(np.min(points @ drawn.cost), abs=1e-12)


def test_noise_makes_some_decisions_worse_than_the_best_and_none_without_it() -> None:
    noisy = inconsistent_decisions(60, n_variables=6, n_constraints=3, noise=0.3, random_state=2)
    plain = inconsistent_decisions(60, n_variables=6, n_constraints=3, noise=0.0, cost=noisy.cost, random_state=3)
    excess = {
        name: [
            noisy.cost @ x - np.min(feasible_points(signal) @ noisy.cost)
            for signal, x in zip(d.signals, d.responses, strict=True)
        ]
        for name, d in (("noisy", noisy), ("plain", plain))
    }
    assert max(excess["noisy"]) > 1e-3 and min(excess["noisy"]) > -1e-12
    assert max(np.abs(excess["plain"])) < 1e-12


def test_mixed_integer_decisions_are_the_best_over_all_whole_parts() -> None:
    drawn = mixed_integer_decisions(5, n_continuous=2, n_binary=3, n_constraints=3, random_state=4)
    for (a, b, c), response in zip(drawn.signals, drawn.responses, strict=True):
        assert np.all(a @ response[:2] + b @ response[2:] <= c + 1e-8)
        assert np.all((response >= 0) & (response <= 1)) and np.all(response[2:] == np.rint(response[2:]))
        values = []
        for z in itertools.product([0.0, 1.0], repeat=3):
            part = linprog(drawn.cost[:2], A_ub=a, b_ub=c - b @ np.array(z), bounds=(0, 1))
            values.append(part.fun + drawn.cost[2:] @ np.array(z) if part.success else np.inf)
        assert drawn.cost @ response == pytest.approx(min(values), abs=1e-7)


@pytest.mark.parametrize("simulate", SIMULATORS)
def test_a_random_state_draws_the_same_again_and_another_does_not(simulate: Callable[..., ExpertDecisions]) -> None:
    first, again, other = (simulate(3, random_state=state) for state in (5, 5, 6))
    np.testing.assert_array_equal(first.responses, again.responses)
    np.testing.assert_array_equal(first.signals[2][0], again.signals[2][0])
    np.testing.assert_array_equal(first.cost, again.cost)
    assert not np.array_equal(first.signals[2][0], other.signals[2][0])


def test_test_examples_keep_the_cost_of_the_training_examples() -> None:
    train = consistent_decisions(4, random_state=np.random.default_rng(7))
    test = consistent_decisions(4, cost=train.cost, random_state=8)
    np.testing.assert_array_equal(test.cost, train.cost)
    part = train.first(2)
    assert len(part) == 2 and part.responses.shape == (2, 6)
    with pytest.raises(ValueError, match="count = 5 must lie between 1 and the number of examples, 4"):
        train.first(5)


def test_sizes_that_make_no_sense_are_refused() -> None:
    with pytest.raises(ValueError, match="n_examples = 0 must be a whole number of at least 1"):
        consistent_decisions(0)
    with pytest.raises(ValueError, match="n_variables = 13 is more than can be counted through"):
        inconsistent_decisions(2, n_variables=13)
    with pytest.raises(ValueError, match="n_variables = 25 is more than can be counted through"):
        large_decisions(2, n_variables=25)
    with pytest.raises(ValueError, match="cost must hold 6 finite numbers"):
        consistent_decisions(2, cost=np.ones(5))
    with pytest.raises(ValueError, match="noise = -1 must be at least 0"):
        inconsistent_decisions(2, noise=-1)
