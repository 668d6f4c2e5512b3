from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics.pairwise import linear_kernel, polynomial_kernel, rbf_kernel

from surefoot.chancesvm.problem.kernels import Kernel, centred

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


@pytest.mark.parametrize("offset", [0.0, 5.0, 1e5])
@pytest.mark.parametrize(
    "kernel",
    [
        Kernel("linear"),
        Kernel("poly", gamma=0.3, degree=1),
        Kernel("poly", gamma=0.3, degree=3, coef0=0.7),
        Kernel("poly", gamma=2.0, degree=2, coef0=0.0),
        Kernel("rbf", gamma=1e-6),
    ],
)
def test_a_centred_kernel_keeps_the_digits_that_the_offset_would_take(kernel, offset):
    flint = pytest.importorskip("flint")
    rng = np.random.default_rng(3)
    samples = rng.normal(size=(5, 2)) + np.array([offset, -offset])
    moved = centred(kernel, samples)
    assert moved.centre is not None
    with flint.ctx.workprec(500):

        def product(x, z):
            x, z = ([flint.arb(float(entry)) for entry in part] for part in (x, z))
            if kernel.name == "rbf":
                return (-flint.arb(kernel.gamma) * sum((a - b) ** 2 for a, b in zip(x, z, strict=True))).exp()
            dot = sum(a * b for a, b in zip(x, z, strict=True))
            return (
                dot if kernel.name == "linear" else (flint.arb(kernel.gamma) * dot + flint.arb(kernel.coef0)) ** kernel.degree
            )

        m = moved.centre
        exact = np.array(
            [[float(product(x, z) - product(x, m) - product(m, z) + product(m, m)) for z in samples] for x in samples]
        )
    size = np.sqrt(np.outer(np.diagonal(exact), np.diagonal(exact)))
    assert np.all(np.abs(moved.products(samples, samples) - exact) <= 1e-13 * size)
    np.testing.assert_allclose(moved.diagonal(samples), np.diagonal(exact), rtol=1e-12)
    if kernel.name != "rbf":
        features = moved.features(samples)
        assert np.all(np.abs(features @ features.T - exact) <= 1e-13 * size)
    weights = rng.normal(size=5)
    np.testing.assert_allclose(moved.combined(samples, samples, weights), exact @ weights, rtol=0, atol=1e-11 * size.max())
    assert moved.spelled() != kernel.spelled()


def test_a_kernel_is_centred_where_that_keeps_digits_only():
    samples = np.array([[0.0, 1.0], [1.0, 0.0]])
    assert centred(Kernel("linear"), samples).centre == (0.5, 0.5)
    assert centred(Kernel("rbf", gamma=1.0), samples).centre is None
    assert centred(Kernel("rbf", gamma=1e-3), samples).centre == (0.5, 0.5)
    assert centred(Kernel("precomputed"), np.eye(2)).centre is None
    assert centred(Kernel("linear"), np.array([[1e308], [1.5e308]])).centre is None
    for wrong in ({"name": "precomputed", "centre": (0.0,)}, {"name": "linear", "centre": (np.inf,)}):
        with pytest.raises(ValueError, match="a centre is finite"):
            Kernel(**wrong)
