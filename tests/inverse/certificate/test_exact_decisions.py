"""Decisions that differ by little are different ones, and rows of whole unknowns are decided to rounding alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import surefoot as sf
from surefoot.inverse import InverseOptimizer, forward
from surefoot.inverse.certificate.certificate import certify_cost
from surefoot.inverse.problem.approaches import APPROACHES

KNAPSACK = [(np.array([1e9, 1.0]), 1e9)]


@pytest.mark.filterwarnings("ignore::surefoot.exceptions.ZeroCostWarning")
@pytest.mark.parametrize("apart", [1e-9, 1e-15, 1e-100])
def test_alternatives_that_differ_by_little_are_different(apart: float) -> None:
    signals = [np.array([[0.0], [apart]])] * 3
    model = InverseOptimizer(forward.FiniteChoice(), distance="zero-one", kappa=0.01).fit(signals, [[apart]] * 3)
    # With theta >= -1e-3 / apart a decision differs from the response at a loss of 1 + theta apart.
    theta = float(model.cost_[0])
    assert model.certificate_.upper_bound >= 0.005 * theta**2 + max(0.0, 1.0 + theta * apart) - 1e-12
    assert model.certificate_.verified and model.certificate_.lower_bound > 0.99


def test_a_response_that_was_rounded_is_the_alternative_beside_it() -> None:
    signals = [np.array([[0.3, 1.0], [2.0, 0.5]])]
    model = InverseOptimizer(forward.FiniteChoice(), distance="zero-one", kappa=0.1)
    first = model.fit(signals, [[0.1 + 0.2, 1.0]]).cost_
    np.testing.assert_array_equal(model.fit(signals, [[0.3, 1.0]]).cost_, first)
    with pytest.raises(sf.InvalidObservationError, match="no decision"):
        model.fit([1e-9 * signals[0]], [[0.5e-9, 1e-9]])


@pytest.mark.parametrize("approach", ["feasibility", "asl"])
def test_items_that_are_too_heavy_together_are_not_taken_together(approach: str) -> None:
    model = InverseOptimizer(forward.Knapsack(), approach=approach, distance="none", prior=(-9.0, -1.0))
    model.fit(KNAPSACK, [[1.0, 0.0]])
    assert model.certificate_.verified and model.certificate_.lower_bound == 0.0
    assert model.predict(KNAPSACK)[0].tolist() == [1.0, 0.0]
    with pytest.raises(sf.InvalidObservationError, match="no decision"):
        model.fit(KNAPSACK, [[1.0, 1.0]])


def test_rounding_alone_takes_no_item_away() -> None:
    signals = [(np.array([0.1, 0.2]), 0.3)]
    model = InverseOptimizer(forward.Knapsack(), prior=(-1.0, 1.0), kappa=0.1).fit(signals, [[1.0, 1.0]])
    assert model.certificate_.verified and model.predict(signals)[0].tolist() == [1.0, 1.0]


@pytest.mark.parametrize("n", [2, 12, 30, 45])
def test_heavy_items_in_lists_and_trees(n: int) -> None:
    weights = np.append(1e9, np.ones(n - 1))
    signals, response = [(weights, 1e9)], np.eye(n)[0]
    model = InverseOptimizer(forward.Knapsack(), approach="feasibility", prior=(-9.0 * n, -1.0)).fit(signals, [response])
    assert model.certificate_.verified
    assert weights @ model.predict(signals)[0] <= 1e9


def test_a_fit_and_its_verification_ask_the_same_question() -> None:
    unit = 1e6
    signals = [
        (unit * np.array([[-2.0, 2.0]]), np.array([[0.0]]), np.array([unit])),
        (unit * np.array([[0.0, 0.0], [3.0, -1.0]]), unit * np.array([[1.0], [-3.0]]), unit * np.array([5.0, 0.0])),
        (unit * np.array([[-3.0, 0.0], [3.0, 2.0]]), unit * np.array([[-1.0], [-3.0]]), unit * np.array([1.0, 5.0])),
    ]
    responses = np.array([[1.0, 0.0, 0.0], [1.0, 0.0, 1.0], [1.0, 0.0, 0.0]])
    model = InverseOptimizer(forward.MixedIntegerProgram(), kappa=0.01, prior="nonnegative", distance=("linf", "linf"))
    model.fit(signals, responses)
    assert model.certificate_.verified
    assert sf.verify(model, signals, responses).claim == model.certificate_.claim


def test_the_widest_angle_is_that_of_the_prior_set() -> None:
    signals = [np.array([[0.0, 0.0], [1.0, 0.2], [1.0, -0.1]]), np.array([[0.0, 0.0], [0.3, -1.0]])]
    model = InverseOptimizer(forward.FiniteChoice(), approach="incenter", prior="nonnegative").fit(signals, [0, 0])
    # Without a prior set (1.16, -0.70) has the sine 0.7396.
    assert "for no cost vector of the prior set is it above 0.28734788" in model.certificate_.claim


def test_costs_of_0_are_told() -> None:
    signals = [np.array([[0.0, 1.0], [1.0, 0.0]])] * 2
    with pytest.warns(sf.ZeroCostWarning, match="contradict each other"):
        model = InverseOptimizer(forward.FiniteChoice(), kappa=1.0).fit(signals, [0, 1])
    assert not model.cost_.any() and model.certificate_.verified
    assert "on this 1 observation;" in InverseOptimizer(forward.FiniteChoice()).fit(signals[:1], [0]).certificate_.claim


def test_fits_that_are_not_proven_warn_once() -> None:
    rng = np.random.default_rng(0)
    signals = [1e9 * rng.normal(size=(4, 3)) for _ in range(5)]
    responses = [int(rng.integers(4)) for _ in signals]
    with pytest.warns(sf.ConvergenceLimitWarning) as told:
        model = InverseOptimizer(forward.FiniteChoice(), approach="predictability").fit(signals, responses)
    assert len(told) == 1 and not model.certificate_.verified and "too many" not in model.certificate_.claim


def test_a_cost_that_explains_nothing_has_no_bound_whatever_the_witness() -> None:
    signals = [np.array([[0.0, 0.0], [1.0, 0.2], [1.0, -0.1]]), np.array([[0.0, 0.0], [0.3, -1.0]])]
    model = InverseOptimizer(forward.FiniteChoice(), approach="incenter").fit(signals, [0, 0])
    problem, proof = APPROACHES["incenter"].pose(model._pose(signals, [0, 0])), model.certificate_.witness
    for witness in (proof, replace(proof, weights=proof.weights * np.nan), None):
        assert certify_cost(problem, -model.cost_, witness, 1e-6).upper_bound == np.inf
