"""Samples in the place of moments: they have exactly these moments, and impossible moments are refused by name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surefoot.chancesvm.estimator.given_moments import moment_samples
from surefoot.exceptions import InvalidTableError


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10_000), columns=st.integers(1, 5), inputs=st.integers(1, 4))
def test_the_samples_have_the_given_moments_whatever_the_rank(seed: int, columns: int, inputs: int) -> None:
    draw = np.random.default_rng(seed)
    means = draw.normal(size=(inputs, columns))
    factors = [draw.normal(size=(columns, draw.integers(0, columns + 1))) for _ in range(inputs)]
    covariances = np.stack([factor @ factor.T for factor in factors])
    found = moment_samples(means, covariances)
    assert found.starts[0] == 0 and found.starts[-1] == len(found.samples)
    for at, (first, last) in enumerate(zip(found.starts[:-1], found.starts[1:], strict=True)):
        own = found.samples[first:last]
        assert len(own) == max(2 * factors[at].shape[1], 1)
        np.testing.assert_allclose(own.mean(axis=0), means[at], atol=1e-12)
        deviations = own - means[at]
        np.testing.assert_allclose(deviations.T @ deviations / len(own), covariances[at], atol=1e-10)


def test_diagonals_are_enough_for_diagonal_covariances() -> None:
    short = moment_samples(np.zeros((2, 2)), [[1.0, 4.0], [0.0, 9.0]])
    full = moment_samples(np.zeros((2, 2)), [np.diag([1.0, 4.0]), np.diag([0.0, 9.0])])
    np.testing.assert_array_equal(short.samples, full.samples)
    assert short.starts.tolist() == [0, 4, 6]


@pytest.mark.parametrize(
    ("covariances", "message"),
    [
        (np.zeros((3, 2, 2)), r"covariances has shape \(3, 2, 2\), but 2 means of 2 columns need \(2, 2, 2\), or \(2, 2\)"),
        ([np.eye(2), [[1.0, 0.5], [0.2, 1.0]]], r"covariance of input 1 is not symmetric: it holds 0.5 at \(0, 1\), but 0.2"),
        (
            [np.eye(2), [[1.0, 2.0], [2.0, 1.0]]],
            "covariance of input 1 is not positive semidefinite: its smallest eigenvalue is -1",
        ),
        ([[[np.nan, 0.0], [0.0, 1.0]], np.eye(2)], r"covariance of input 0 holds nan at \(0, 0\)"),
    ],
)
def test_impossible_covariances_are_refused(covariances: Any, message: str) -> None:
    with pytest.raises(InvalidTableError, match=message):
        moment_samples(np.zeros((2, 2)), covariances)
