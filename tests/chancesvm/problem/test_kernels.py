from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics.pairwise import linear_kernel, polynomial_kernel, rbf_kernel

from surefoot.chancesvm.problem.kernels import Kernel

ROWS = np.random.default_rng(0).normal(size=(30, 4))
OTHERS = np.random.default_rng(1).normal(size=(20, 4))


def test_products_are_those_of_scikit_learn():
    for kernel, expected in (
        (Kernel("linear"), linear_kernel(ROWS, OTHERS)),
        (Kernel("poly", gamma=0.3, degree=3, coef0=2.0), polynomial_kernel(ROWS, OTHERS, degree=3, gamma=0.3, coef0=2.0)),
        (Kernel("rbf", gamma=0.7), rbf_kernel(ROWS, OTHERS, gamma=0.7)),
    ):
        np.testing.assert_allclose(kernel.products(ROWS, OTHERS), expected, atol=1e-12)
        np.testing.assert_allclose(kernel.diagonal(ROWS), np.diagonal(kernel.products(ROWS, ROWS)), atol=1e-12)


def test_distances_far_from_the_origin_keep_their_digits():
    far = ROWS + 1e6
    np.testing.assert_allclose(Kernel("rbf").products(far, far), rbf_kernel(ROWS, ROWS, gamma=1.0), atol=1e-8)


@pytest.mark.parametrize(("degree", "coef0"), [(1, 0.0), (1, 1.0), (2, 0.0), (2, 4.0), (3, 0.5), (4, 0.0)])
def test_features_reproduce_the_polynomial_kernel(degree, coef0):
    kernel = Kernel("poly", gamma=0.6, degree=degree, coef0=coef0)
    left, right = kernel.features(ROWS), kernel.features(OTHERS)
    assert left.shape[1] == kernel.n_features(4)
    np.testing.assert_allclose(left @ right.T, kernel.products(ROWS, OTHERS), rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("kernel", [Kernel("linear"), Kernel("poly", coef0=0.5), Kernel("poly", degree=3), Kernel("rbf")])
def test_combinations_are_products_in_blocks_whether_by_features_or_not(kernel):
    weights = np.random.default_rng(2).normal(size=(20, 2))
    looks = []
    found = kernel.combined(ROWS, OTHERS, weights, memory=8 * 20 * 7, on_block=lambda: looks.append(1))
    np.testing.assert_allclose(found, kernel.products(ROWS, OTHERS) @ weights, rtol=1e-10, atol=1e-10)
    assert len(looks) > 1 or kernel.name == "linear"
    np.testing.assert_allclose(kernel.combined(ROWS, OTHERS, weights[:, 0]), found[:, 0], rtol=1e-10, atol=1e-10)
    np.testing.assert_array_equal(kernel.combined(ROWS, OTHERS[:0], weights[:0]), np.zeros((30, 2)))


def test_combinations_by_features_name_what_overflows():
    kernel = Kernel("poly", degree=2)
    with np.errstate(over="ignore"), pytest.raises(ValueError, match="the poly kernel of samples 1 and 0"):
        kernel.combined(np.vstack((ROWS[:1], 1e200 * ROWS[1:2])), OTHERS, np.ones(20))


def test_callable_kernels_have_a_diagonal():
    kernel = Kernel("callable", function=lambda left, right: (left @ right.T) ** 2)
    many = np.random.default_rng(2).normal(size=(150, 3))
    np.testing.assert_allclose(kernel.diagonal(many), np.einsum("ij,ij->i", many, many) ** 2)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"name": "sigmoid"}, "'sigmoid' is not known"),
        ({"name": "rbf", "gamma": 0.0}, "gamma = 0.0"),
        ({"name": "poly", "degree": 0}, "degree = 0"),
        ({"name": "poly", "coef0": -1.0}, "coef0 = -1.0"),
        ({"name": "callable"}, "needs a function"),
        ({"name": "rbf", "function": np.dot}, "only it takes one"),
    ],
)
def test_bad_parameters_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        Kernel(**options)


def test_overflow_and_wrong_shapes_are_named():
    with np.errstate(over="ignore"), pytest.raises(ValueError, match="kernels must be finite"):
        Kernel("poly", degree=400).products(100 * ROWS, OTHERS)
    with pytest.raises(ValueError, match=r"returned shape \(4, 4\)"):
        Kernel("callable", function=lambda left, right: left.T @ left).products(ROWS, OTHERS)
