"""Total unimodularity against the determinants of all square submatrices."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from surefoot.exceptions import InvalidObservationError
from surefoot.inverse import InverseOptimizer, forward
from surefoot.inverse.forward import total_unimodularity
from surefoot.inverse.forward.total_unimodularity import is_totally_unimodular


def by_determinants(matrix: np.ndarray) -> bool:
    m, n = matrix.shape
    for k in range(1, min(m, n) + 1):
        for rows, columns in itertools.product(itertools.combinations(range(m), k), itertools.combinations(range(n), k)):
            if abs(round(np.linalg.det(matrix[np.ix_(rows, columns)]))) > 1:
                return False
    return True


def drawn(seed: int) -> list[np.ndarray]:
    random = np.random.default_rng(seed)
    return [random.choice([-1.0, 0.0, 1.0], size=random.integers(1, 6, 2), p=[0.2, 0.6, 0.2]) for _ in range(60)]


@pytest.mark.parametrize("seed", range(3))
def test_small_matrices_are_decided_as_by_their_determinants(seed: int) -> None:
    answers = [is_totally_unimodular(matrix) for matrix in drawn(seed)]
    assert answers == [by_determinants(matrix) for matrix in drawn(seed)] and set(answers) == {True, False}


@pytest.mark.parametrize("seed", range(3))
def test_what_is_known_without_enumeration_is_right(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(total_unimodularity, "FEW_ROWS", 0)
    for matrix in drawn(seed):
        assert is_totally_unimodular(matrix) in (None, by_determinants(matrix))


def test_networks_and_intervals_of_any_size_are_recognised() -> None:
    random = np.random.default_rng(0)
    network = np.zeros((30, 80))
    for column in range(80):
        network[random.choice(30, 2, replace=False), column] = (1.0, -1.0)
    spans = np.sort(random.integers(0, 31, (80, 2)), axis=1)
    interval = np.array([(np.arange(30) >= low) & (np.arange(30) < high) for low, high in spans], dtype=np.float64)
    assert is_totally_unimodular(np.vstack((network, -network, np.eye(80)))) and is_totally_unimodular(network.T)
    assert is_totally_unimodular(interval) and is_totally_unimodular(-interval.T)
    # An odd cycle is no network of this kind, and has the determinant 2.
    assert is_totally_unimodular(np.eye(3) + np.roll(np.eye(3), 1, axis=1)) is False


def test_a_programme_that_is_not_totally_unimodular_is_refused() -> None:
    """x_1 + x_2 <= 1 around a triangle: its corner (1/2, 1/2, 1/2) is not whole."""
    triangle = (np.eye(3) + np.roll(np.eye(3), 1, axis=1), np.ones(3))
    model = InverseOptimizer(forward.LinearProgram(upper=1.0, totally_unimodular=True), kappa=0.1)
    with pytest.raises(InvalidObservationError, match="observation 0: A is not totally unimodular"):
        model.fit([triangle], [[1.0, 0.0, 0.0]])
    half = InverseOptimizer(forward.LinearProgram(upper=1.5, totally_unimodular=True), kappa=0.1)
    with pytest.raises(InvalidObservationError, match="whole numbers in b and bounds"):
        half.fit([(np.ones((1, 3)), np.ones(1))], [[1.0, 0.0, 0.0]])
    model.fit([(np.ones((1, 3)), np.ones(1))], [[1.0, 0.0, 0.0]])
    assert model.certificate_.verified and "in whole numbers" in model.certificate_.claim
