"""Kernels as users name them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel

from surefoot.chancesvm.estimator.svm_kernel import make_kernel

BLOCK = np.random.default_rng(0).normal(size=(6, 3))
EQUAL = np.full(6, 1 / 6)


def test_gamma_means_what_it_means_in_scikit_learn() -> None:
    scale = make_kernel("rbf", "scale", 2, 1.0, BLOCK, EQUAL)
    assert scale.gamma == pytest.approx(1 / (3 * BLOCK.var()))
    assert make_kernel("poly", "auto", 3, 0.5, BLOCK, EQUAL).gamma == pytest.approx(1 / 3)
    np.testing.assert_allclose(scale.products(BLOCK, BLOCK), rbf_kernel(BLOCK, gamma=scale.gamma), atol=1e-12)
    poly = make_kernel("poly", 0.2, 3, 0.5, BLOCK, EQUAL)
    np.testing.assert_allclose(poly.products(BLOCK, BLOCK), polynomial_kernel(BLOCK, degree=3, gamma=0.2, coef0=0.5))


def test_the_scale_counts_rows_by_their_weights() -> None:
    counts = np.array([1, 2, 1, 3, 1, 2])
    weighted = make_kernel("rbf", "scale", 2, 1.0, BLOCK, counts / counts.sum())
    repeated = make_kernel("rbf", "scale", 2, 1.0, BLOCK.repeat(counts, axis=0), np.full(10, 0.1))
    assert weighted.gamma == pytest.approx(repeated.gamma)


def test_a_constant_table_has_a_gamma() -> None:
    assert make_kernel("rbf", "scale", 2, 1.0, np.ones((4, 2)), np.full(4, 0.25)).gamma == 1.0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kernel": "cubic"}, "kernel = 'cubic' is not known"),
        ({"kernel": 3}, "kernel = 3 is not known"),
        ({"gamma": "wide"}, "gamma = 'wide' is not known"),
        ({"gamma": -1.0}, r"gamma = -1\.0 must be"),
        ({"gamma": None}, "gamma = None must be a number"),
        ({"kernel": "poly", "degree": 1.5}, r"degree = 1\.5 must be a whole number"),
        ({"kernel": "poly", "degree": "two"}, "degree = 'two' must be a number"),
        ({"kernel": "poly", "coef0": -1}, "coef0 = -1 must be"),
    ],
)
def test_senseless_kernels_are_refused(change: dict[str, Any], message: str) -> None:
    given = {"kernel": "rbf", "gamma": 1.0, "degree": 2, "coef0": 1.0, **change}
    with pytest.raises(ValueError, match=message):
        make_kernel(given["kernel"], given["gamma"], given["degree"], given["coef0"], BLOCK, EQUAL)
