"""Symmetric matrices: bounds on eigenvalues and inverse forms, against matrices whose own are known by construction."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from surefoot.core.definite import inverse_form, least_eigenvalue, least_of, length, square_near
from surefoot.core.enclosure import between, computing_in, enclose
from surefoot.exceptions import CertificateError


def with_eigenvalues(values: list[float], seed: int) -> np.ndarray:
    axes = np.linalg.qr(np.random.default_rng(seed).normal(size=(len(values), len(values))))[0]
    return (axes * values) @ axes.T


def test_an_eigenvalue_is_bounded_by_less_than_the_shift_that_was_tried() -> None:
    for count in (1, 4, 40):
        found = least_eigenvalue(np.eye(count), 0.75)
        # The rounding of Cholesky's method on a matrix with 0.25 on its diagonal: at least (n + 1) u times its trace.
        assert 0.75 - 1e-12 < found <= 0.75 - (count + 1) * 2.0**-53 * 0.25 * count
    assert least_eigenvalue(np.eye(3), 1.5) == -np.inf


@pytest.mark.parametrize("seed", range(5))
def test_no_enclosed_matrix_has_a_smaller_eigenvalue_than_the_bound(seed: int) -> None:
    matrix = with_eigenvalues([0.5, 1.0, 3.0, 8.0], seed)
    middle, least = least_of(enclose(matrix))
    np.testing.assert_allclose(middle, matrix, atol=1e-15)
    assert 0.25 - 1e-12 < least <= 0.25
    # A radius of r in every entry lowers an eigenvalue by up to 4 r, along a vector of equal entries.
    wide = least_of(between(matrix - 0.01, matrix + 0.01))[1]
    assert wide <= least - 4 * 0.01 + 1e-12
    assert least_of(enclose(with_eigenvalues([-1.0, 2.0, 2.0, 2.0], seed)))[1] <= -0.5


@pytest.mark.parametrize("least", [1.0, 1e-6, 1e-9])
def test_forms_of_the_inverse_are_exceeded_by_little(least: float) -> None:
    matrix = with_eigenvalues([least, 0.5, 2.0], seed=1)
    sides = np.random.default_rng(2).normal(size=(3, 2))
    found = inverse_form(enclose(matrix), enclose(sides))
    exact = np.sum(sides * np.linalg.solve(matrix, sides), axis=0)
    np.testing.assert_allclose(found.high, exact, rtol=1e-15 / least**1.5 + 1e-12)
    assert np.all(found.high >= exact * (1 - 1e-15 / least))


def test_a_form_that_a_wide_side_leaves_open_is_enclosed_to_its_far_end() -> None:
    matrix, width = np.diag([2.0, 0.5]), 0.125
    found = inverse_form(enclose(matrix), between(np.full((2, 1), 1.0 - width), np.full((2, 1), 1.0 + width)))
    assert found.high[0] >= (1.0 + width) ** 2 * 2.5


def test_nothing_is_known_of_the_inverse_of_a_matrix_that_may_be_singular() -> None:
    for values in ([0.0, 1.0, 2.0], [-1e-7, 1.0, 1.0]):
        assert np.isinf(inverse_form(enclose(with_eigenvalues(values, 3)), enclose(np.ones((3, 1)))).high).all()


def test_a_square_near_a_matrix_is_the_matrix_itself_unless_that_is_indefinite() -> None:
    matrix = with_eigenvalues([0.0, 1.0, 3.0], seed=4)
    assert abs(square_near(matrix) - matrix).high.max() < 1e-14
    # Without the negative part, and about the symmetric part alone.
    skew = np.array([[0.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    assert length(square_near(np.diag([-2.0, 1.0, 3.0]) + skew) - np.diag([0.0, 1.0, 3.0])) < 1e-14


def test_a_length_is_that_of_the_longest_member() -> None:
    assert length(enclose(np.array([[3.0, 0.0], [0.0, -4.0]]))) == pytest.approx(5.0, rel=1e-14)
    assert length(between(np.array([2.0, -4.0]), np.array([3.0, 1.0]))) >= 5.0


def test_what_the_solution_of_the_equations_misses_is_made_up_for() -> None:
    """In balls the rounding of the solution is all that is left, so that its sign counts."""
    pytest.importorskip("flint")
    from surefoot.core.flint_enclosure import FlintEnclosure

    # M = [[1, s], [s, 1]] with f = (1, 0) has f' M^-1 f = 1 / (1 - s^2).
    s = 1.0 - 2.0**-30
    exact = 1 / (1 - Fraction(s) ** 2)
    with computing_in(FlintEnclosure):
        found = inverse_form(enclose(np.array([[1.0, s], [s, 1.0]])), enclose(np.array([[1.0], [0.0]])))
        assert Fraction(float(found.low[0])) <= exact <= Fraction(float(found.high[0]))
        assert found.high[0] - found.low[0] < 1e-12 * found.high[0]


def test_a_factor_that_overflowed_proves_nothing() -> None:
    """After an overflow the factorization may go on with NaN and end without an error."""
    tiny = 1e-290
    matrix = np.array([[tiny, 0.0, 1e200], [0.0, tiny, 0.0], [1e200, 0.0, tiny]])
    assert least_eigenvalue(matrix, 0.0) == -np.inf


def test_only_matrices_have_squares_near_them() -> None:
    with pytest.raises(CertificateError, match="square matrix"):
        square_near(np.zeros((4, 4, 4)))
