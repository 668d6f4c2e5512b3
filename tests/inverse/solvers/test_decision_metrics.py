"""Measures of a learned cost: known values, invariances, and refusals."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from surefoot.exceptions import InvalidTableError
from surefoot.inverse.measures.decision_metrics import (
    cost_angle,
    cost_difference,
    decision_error,
    relative_cost_difference,
    unpredicted_share,
)


@pytest.mark.parametrize("angle", [0.0, 1e-9, 1e-3, 0.7, math.pi / 2, 3.0, math.pi - 1e-9])
def test_angles_in_a_plane_are_found_even_where_their_cosine_is_one(angle: float) -> None:
    turned = np.array([math.cos(angle), math.sin(angle), 0.0])
    assert cost_angle([1.0, 0.0, 0.0], turned) == pytest.approx(angle, rel=1e-6, abs=1e-15)
    assert cost_difference([1.0, 0.0, 0.0], turned) == pytest.approx(2 * math.sin(angle / 2), rel=1e-6, abs=1e-15)


@given(st.floats(1e-200, 1e200), st.integers(0, 100))
def test_the_length_of_a_cost_does_not_matter(scale: float, seed: int) -> None:
    first, second = np.random.default_rng(seed).normal(size=(2, 4))
    assert cost_angle(first, scale * second) == pytest.approx(cost_angle(first, second), rel=1e-9)
    assert cost_angle(first, scale * first) == pytest.approx(0.0, abs=1e-12)


def test_decision_errors_are_means_of_the_named_norm() -> None:
    truth, ours = [[0.0, 0.0], [1.0, 1.0]], [[3.0, 4.0], [1.0, 1.0]]
    assert decision_error(truth, ours) == 2.5
    assert decision_error(truth, ours, norm="l1") == 3.5
    assert decision_error(truth, ours, norm="linf") == 2.0
    with pytest.raises(ValueError, match="norm='l3' is not known"):
        decision_error(truth, ours, norm="l3")


def test_relative_cost_difference_is_what_the_expert_would_pay_more() -> None:
    assert relative_cost_difference([1.0, 2.0], [[1, 0], [1, 0]], [[0, 1], [1, 0]]) == pytest.approx(0.5)
    # A cost below zero (a gain): a decision that gains less is still a positive difference.
    assert relative_cost_difference([-1.0, -2.0], [[0, 1], [0, 1]], [[1, 0], [0, 1]]) == pytest.approx(0.25)
    with pytest.raises(InvalidTableError, match="cost 0 in total"):
        relative_cost_difference([1.0, 0.0], [[0, 1]], [[1, 0]])
    with pytest.raises(InvalidTableError, match=r"cost has shape \(3,\), but examples have 2 features"):
        relative_cost_difference([1.0, 0.0, 1.0], [[0, 1]], [[1, 0]])


def test_the_unpredicted_share_counts_decisions_that_differ() -> None:
    truth = [[0.0, 1.0], [1.0, 0.0], [1.0, 1.0], [0.0, 0.0]]
    ours = [[0.0, 1.0], [1.0, 1e-9], [0.0, 1.0], [1e-3, 0.0]]
    assert unpredicted_share(truth, ours) == 0.5
    assert unpredicted_share(truth, ours, tolerance=1e-2) == 0.25
    assert unpredicted_share(truth, ours, tolerance=0.0) == 0.75


def test_what_cannot_be_compared_is_refused() -> None:
    with pytest.raises(InvalidTableError, match=r"learned cost \[0.0, 0.0\] has no direction"):
        cost_angle([1.0, 0.0], [0.0, 0.0])
    with pytest.raises(InvalidTableError, match=r"true cost \[nan, 0.0\] has no direction"):
        cost_angle([math.nan, 0.0], [0.0, 1.0])
    with pytest.raises(InvalidTableError, match=r"shapes \(2,\) and \(3,\)"):
        cost_angle([1.0, 0.0], [0.0, 0.0, 1.0])
    with pytest.raises(InvalidTableError, match=r"shapes \(1, 2\) and \(2, 2\) cannot be compared"):
        decision_error([[0, 1]], [[0, 1], [1, 0]])
