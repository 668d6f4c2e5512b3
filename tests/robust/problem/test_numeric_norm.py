from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from surefoot.robust.problem.numeric_norm import NUMERIC_NORMS, coefficient_norm, gradient_norm, norm_rounding

vectors = hnp.arrays(np.float64, 5, elements=st.floats(-1e3, 1e3))
prices = hnp.arrays(np.float64, 5, elements=st.floats(1e-3, 1e3))
norms = st.sampled_from(NUMERIC_NORMS)


def steepest(ratios: np.ndarray, gamma: np.ndarray, norm: str) -> np.ndarray:
    """A shift of price 1 along which the score rises fastest, from the shape of each unit ball."""
    if norm == "l1":  # a corner of the cross-polytope
        direction = np.where(np.arange(ratios.size) == np.argmax(np.abs(ratios)), np.sign(ratios), 0.0)
    elif norm == "l2":  # the normal of the ball
        direction = ratios / np.linalg.norm(ratios)
    else:  # a corner of the cube
        direction = np.sign(ratios)
    return direction / gamma


def test_three_norms_of_a_vector_worked_out_by_hand():
    vector, gamma = np.array([3.0, -2.0, 0.0]), np.array([1.0, 2.0, 7.0])
    assert gradient_norm(vector, gamma, "l1") == 7.0
    assert gradient_norm(vector, gamma, "l2") == 5.0
    assert gradient_norm(vector, gamma, "linf") == 4.0
    assert coefficient_norm(vector, gamma, "l1") == 3.0
    assert coefficient_norm(vector, gamma, "l2") == pytest.approx(math.sqrt(10.0), rel=1e-15)
    assert coefficient_norm(vector, gamma, "linf") == 4.0


@settings(deadline=None)
@given(vectors, vectors, prices, norms)
def test_hoelder_bounds_every_product(beta, shift, gamma, norm):
    bound = coefficient_norm(beta, gamma, norm) * gradient_norm(shift, gamma, norm)
    assert abs(float(beta @ shift)) <= bound * (1 + 1e-12) + 1e-300


@settings(deadline=None)
@given(vectors.filter(lambda beta: np.abs(beta).max() > 1e-100), prices, norms)
def test_dual_norm_is_the_fastest_rise_of_the_score_per_unit_of_price(beta, gamma, norm):
    shift = steepest(beta / gamma, gamma, norm)
    assert gradient_norm(shift, gamma, norm) == pytest.approx(1.0, rel=1e-12)
    assert float(beta @ shift) == pytest.approx(coefficient_norm(beta, gamma, norm), rel=1e-12)


@settings(deadline=None)
@given(vectors, prices)
def test_norms_are_ordered_and_their_duals_the_other_way_round(vector, gamma):
    l1, l2, linf = (gradient_norm(vector, gamma, norm) for norm in NUMERIC_NORMS)
    assert l1 * (1 + 1e-12) >= l2 >= linf * (1 - 1e-12)
    l1, l2, linf = (coefficient_norm(vector, gamma, norm) for norm in NUMERIC_NORMS)
    assert l1 * (1 - 1e-12) <= l2 <= linf * (1 + 1e-12)


@pytest.mark.parametrize("norm", NUMERIC_NORMS)
def test_a_column_that_never_moves_is_free_for_the_model_and_closed_to_the_adversary(norm):
    gamma = np.array([2.0, np.inf, 1.0])
    beta = np.array([1.0, 1e9, -3.0])
    assert coefficient_norm(beta, gamma, norm) == coefficient_norm(beta[[0, 2]], gamma[[0, 2]], norm)
    moves = np.array([1.0, 0.0, -3.0])
    assert gradient_norm(moves, gamma, norm) == gradient_norm(moves[[0, 2]], gamma[[0, 2]], norm)
    for tiny in (1e-300, -5e-324, np.nan):
        assert gradient_norm(np.array([0.0, tiny, 0.0]), gamma, norm) == np.inf


@pytest.mark.parametrize("norm", NUMERIC_NORMS)
def test_no_columns_cost_nothing(norm):
    assert coefficient_norm(np.zeros(0), np.zeros(0), norm) == 0.0
    assert gradient_norm(np.zeros(0), np.zeros(0), norm) == 0.0
    assert coefficient_norm(np.ones(2), np.full(2, np.inf), norm) == 0.0


@pytest.mark.parametrize("size", [1e-200, 5e-324, 1e200, 1e307])
@pytest.mark.parametrize("norm", NUMERIC_NORMS)
def test_sizes_whose_squares_overflow_or_vanish_are_measured(norm, size):
    both = np.full(4, size)
    expected = {"l1": 4.0, "l2": 2.0, "linf": 1.0}[norm] * size
    assert gradient_norm(both, np.ones(4), norm) == pytest.approx(expected, rel=1e-14)
    dual = {"l1": 1.0, "l2": 2.0, "linf": 4.0}[norm] * size
    assert coefficient_norm(both, np.ones(4), norm) == pytest.approx(dual, rel=1e-14)


@pytest.mark.parametrize("norm", NUMERIC_NORMS)
def test_what_is_not_a_number_has_no_norm(norm):
    assert math.isnan(gradient_norm(np.array([1.0, np.nan]), np.ones(2), norm))
    assert math.isnan(coefficient_norm(np.array([1.0, np.nan]), np.ones(2), norm))


@pytest.mark.parametrize("norm", NUMERIC_NORMS)
def test_rounding_allowance_covers_the_distance_to_exact_summation(norm):
    draw = np.random.default_rng(0)
    vector, gamma = draw.normal(size=5000) * 10.0 ** draw.uniform(-8, 8, size=5000), draw.uniform(0.1, 10.0, size=5000)
    sizes = [abs(float(v)) * float(g) for v, g in zip(vector, gamma, strict=True)]
    exact = {"l1": math.fsum(sizes), "l2": math.hypot(*sizes), "linf": max(sizes)}[norm]
    assert abs(gradient_norm(vector, gamma, norm) - exact) <= norm_rounding(5000) * exact
