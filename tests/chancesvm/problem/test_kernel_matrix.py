"""Given kernel matrices: what is added to a diagonal suffices, is small, and is solved with."""

from __future__ import annotations

import dataclasses
import warnings

import numpy as np
import pytest
from reference.chance_svm import random_problem

from surefoot import ChanceConstrainedSVC, WeakModelWarning
from surefoot.chancesvm.certificate.certificate import certify_chance_svm
from surefoot.chancesvm.problem.kernel_matrix import least_addition, mended
from surefoot.chancesvm.problem.kernels import Kernel
from surefoot.chancesvm.problem.problem import ChanceSVMProblem, KernelPlane


def given(matrix: np.ndarray, kernel: Kernel | None = None) -> ChanceSVMProblem:
    count = len(matrix)
    labels = np.where(np.arange(count) % 2, 1.0, -1.0)
    return ChanceSVMProblem(
        matrix, np.arange(count + 1), labels, np.ones(count), np.full(count, 0.5), kernel or Kernel("precomputed")
    )


@pytest.mark.parametrize("count", [3, 5, 17, 60])
@pytest.mark.parametrize("rank", [0, 1, 2])
@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
def test_what_is_added_suffices_for_the_certificate(count: int, rank: int, unit: float) -> None:
    rows = unit * np.random.default_rng(count).normal(size=(count, rank))
    problem = mended(given(rows @ rows.T))
    added = problem.kernel.added
    assert 0 < added <= max(1e-12 * count * np.trace(rows @ rows.T), 1e-280)
    certificate = certify_chance_svm(problem, KernelPlane(np.zeros(count), 0.0), None, 1e-6)
    assert f"{added!r} added to the diagonal" in certificate.claim


@pytest.mark.parametrize("seed", range(8))
def test_two_samples_are_enough(seed: int) -> None:
    row = np.random.default_rng(seed).normal(size=(2, 1))
    problem = mended(given(row @ row.T))
    assert certify_chance_svm(problem, KernelPlane(np.zeros(2), 0.0), None, 1e-6).upper_bound == pytest.approx(2.0)


def test_nothing_is_added_to_a_regular_matrix_and_indefinite_ones_are_refused() -> None:
    assert least_addition(np.eye(4), "matrix") == 0.0
    assert mended(given(np.eye(4))).kernel == Kernel("precomputed")
    nearly = np.diag([1.0, 1.0, -5e-9])
    assert 5e-9 < least_addition(nearly, "matrix") < 1e-7
    with pytest.raises(ValueError, match=r"the matrix is indefinite: its smallest eigenvalue is -0\.1"):
        least_addition(np.diag([1.0, -0.1]), "matrix")
    with pytest.raises(ValueError, match="the matrix is not symmetric"):
        least_addition(np.array([[1.0, 0.5], [0.0, 1.0]]), "matrix")


def test_other_kernels_stay_as_they_are() -> None:
    problem = random_problem(0, Kernel("rbf"))
    assert mended(problem) is problem
    for wrong in (
        {"name": "rbf", "added": 1.0},
        {"name": "precomputed", "added": -1.0},
        {"name": "precomputed", "added": np.inf},
    ):
        with pytest.raises(ValueError, match="added to a diagonal"):
            Kernel(**wrong)


def test_a_function_is_called_for_all_pairs_once_and_the_matrix_kept() -> None:
    calls = []

    def kernel(left: np.ndarray, right: np.ndarray) -> np.ndarray:
        calls.append((len(left), len(right)))
        return left @ right.T

    problem = random_problem(1, Kernel("callable", function=kernel))
    posed = mended(problem)
    assert posed.kernel.added > 0
    assert calls == [(problem.n_samples, problem.n_samples)]
    coefficients = np.random.default_rng(0).normal(size=problem.n_samples)
    np.testing.assert_allclose(posed.values(coefficients), posed.kernel_matrix() @ coefficients, rtol=1e-12)
    assert len(calls) == 1
    again = dataclasses.replace(posed, costs=2 * posed.costs)
    assert again.gram is posed.gram
    assert posed.digest() != problem.digest()


@pytest.mark.parametrize("seed", range(6))
def test_singular_matrices_at_a_huge_cost_are_verified(seed: int) -> None:
    """What is added to the diagonal times the square of coefficients near C is not small: the solver must know of it."""
    rng = np.random.default_rng(seed)
    whole = rng.integers(-4, 5, size=(12, 2)).astype(float)
    y, groups = np.repeat([0, 1, 0, 1], 3), np.repeat(np.arange(4), 3)
    with warnings.catch_warnings():
        # Some of these inputs cannot be told apart.
        warnings.simplefilter("ignore", WeakModelWarning)
        model = ChanceConstrainedSVC(kernel="precomputed", C=1e6 / 3, violation=0.1).fit(whole @ whole.T, y, groups)
    assert model.certificate_.verified
    assert "added to the diagonal" in model.certificate_.claim


def test_a_matrix_of_zeros_has_an_answer() -> None:
    with pytest.warns(WeakModelWarning, match="all rows are put into one class"):
        model = ChanceConstrainedSVC(kernel="precomputed").fit(np.zeros((8, 8)), np.repeat([0, 1], 4), np.repeat(range(4), 2))
    assert model.certificate_.verified
    assert model.certificate_.upper_bound == pytest.approx(8.0)
