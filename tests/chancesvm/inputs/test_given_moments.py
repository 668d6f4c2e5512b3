"""Samples in the place of moments: they have exactly these moments, and impossible moments are refused by name."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surefoot import ChanceConstrainedSVC, verify
from surefoot.chancesvm.inputs.given_moments import moment_samples, read_covariances
from surefoot.exceptions import InvalidTableError

# Columns as they are, at the violation of the references below.
PAPER: dict[str, Any] = {"standardize": False, "violation": 0.1, "covariance": "batch"}


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
        # An input without spread is one point; where an eigenvalue may be 0, every axis of the widened covariance counts.
        rank = factors[at].shape[1]
        assert len(own) == max(2 * (rank if found.widening == 0 or rank == 0 else columns), 1)
        np.testing.assert_allclose(own.mean(axis=0), means[at], atol=1e-12)
        deviations = own - means[at]
        np.testing.assert_allclose(deviations.T @ deviations / len(own), covariances[at], atol=1e-10)


def test_diagonals_are_enough_for_diagonal_covariances() -> None:
    means = np.zeros((2, 2))
    short = moment_samples(means, read_covariances(means, [[1.0, 4.0], [0.0, 9.0]]))
    full = moment_samples(means, read_covariances(means, [np.diag([1.0, 4.0]), np.diag([0.0, 9.0])]))
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
        ([np.eye(2), np.diag([1.0, -1e-12])], r"covariance of input 1 holds -1e-12 at \(1, 1\). Variances are not negative"),
    ],
)
def test_impossible_covariances_are_refused(covariances: Any, message: str) -> None:
    with pytest.raises(InvalidTableError, match=message):
        read_covariances(np.zeros((2, 2)), covariances)


def exact_objective(model: ChanceConstrainedSVC, means: Any, covariances: Any, labels: list[int]) -> float:
    """Of coef_ and intercept_, for the given moments: fractions up to the root of the variance."""
    w, b, tau = [Fraction(v) for v in model.coef_[0]], Fraction(model.intercept_[0]), math.sqrt((1 - 0.1) / 0.1)
    places, loss = range(len(w)), 0.0
    for mean, covariance, label in zip(means, covariances, labels, strict=True):
        variance = sum(w[j] * w[k] * Fraction(covariance[j][k]) for j in places for k in places)
        missed = 1 - label * (sum(w[j] * Fraction(mean[j]) for j in places) + b)
        loss += max(0.0, float(missed) + tau * math.sqrt(max(variance, Fraction(0))))
    return float(sum(v * v for v in w)) / 2 + model.C * loss


@pytest.mark.parametrize("length", [1e-4, 1.0, 100.0, 1e4, 1e6, 1e8])
def test_ill_conditioned_covariances_are_solved_and_proven(length: float) -> None:
    """The best w avoids the long axis; the root of the variance turns an error of 1e-16 in the covariance into one of 1e-8."""
    axis = np.array([1.1, 0.3])
    covariance = length * np.outer(axis, axis)
    across = np.array([-axis[1], axis[0]]) / np.hypot(*axis)
    means, covariances = np.array([-3 * across, 3 * across]), np.array([covariance, covariance])
    model = ChanceConstrainedSVC(kernel="linear", C=100.0, **PAPER).fit_moments(means, covariances, [-1, 1])
    proof = model.certificate_
    assert proof.verified
    said = re.search(r"all variances times 1 \+ (\S+)\)", proof.claim)
    assert said is not None and 0 < float(said[1]) < 1e-12
    # Margins are 1 - 3 |w| + 3 sqrt(w' T w) on both sides: |w| = 1 / (3 - 3 sqrt(least eigenvalue)).
    wide = [[Fraction(covariance[j][k]) * (1 + Fraction(float(said[1])) * (j == k)) for k in (0, 1)] for j in (0, 1)]
    trace, determinant = wide[0][0] + wide[1][1], wide[0][0] * wide[1][1] - wide[0][1] * wide[1][0]
    least = math.sqrt(determinant / trace)
    assert proof.upper_bound == pytest.approx(0.5 / (3 - 3 * least) ** 2, rel=2e-6)
    assert exact_objective(model, means, [wide, wide], [-1, 1]) <= proof.upper_bound * (1 + 1e-9)
    assert verify(model, (means, covariances), [-1, 1]).verified


@pytest.mark.parametrize("seed", range(20))
def test_covariances_of_any_rank_and_units_are_proven_by_both_solvers(seed: int) -> None:
    draw = np.random.default_rng(seed)
    count, columns = int(draw.integers(4, 8)), int(draw.integers(1, 5))
    labels, units = np.resize([-1, 1], count), 10.0 ** draw.uniform(-4, 4, size=columns)
    means = (draw.normal(size=(count, columns)) + 2.0 * labels[:, None]) * units
    factors = [draw.normal(size=(int(draw.integers(0, columns + 1)), columns)) * units * 0.3 for _ in range(count)]
    covariances = [factor.T @ factor for factor in factors]
    for solver in ("auto", "socp"):
        model = ChanceConstrainedSVC(kernel="linear", C=10.0 / float(units.max()) ** 2, solver=solver, **PAPER)
        assert model.fit_moments(means, covariances, labels).certificate_.verified
        model = ChanceConstrainedSVC(kernel="linear", C=10.0, solver=solver)
        assert model.fit_moments(means, covariances, labels).certificate_.verified


def test_well_conditioned_moments_are_proven_and_their_covariances_belong_to_the_problem() -> None:
    draw = np.random.default_rng(4)
    means = draw.normal(size=(6, 3)) + 3.0 * np.outer([-1, 1] * 3, [1.0, 0.0, 0.0])
    factors = draw.normal(size=(6, 3, 3))
    covariances = 0.1 * (factors @ factors.transpose(0, 2, 1) + np.eye(3))
    covariances[:, :, 2] = covariances[:, 2, :] = 0.0  # one column is known exactly
    labels = [-1, 1] * 3
    model = ChanceConstrainedSVC(kernel="linear", C=100.0, **PAPER).fit_moments(means, covariances, labels)
    assert model.certificate_.verified and "negative" not in model.certificate_.claim
    assert exact_objective(model, means, covariances, labels) <= model.certificate_.upper_bound * (1 + 1e-12)
    assert verify(model, (means, covariances), labels).verified
