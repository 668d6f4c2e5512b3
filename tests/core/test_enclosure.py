"""Enclosures contain what exact arithmetic gives, for every operation, also where numbers are huge, tiny or cancel."""

from __future__ import annotations

import operator
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from surefoot.core.enclosure import Enclosure, between, choose, enclose, exact_dot, join

NUMBERS = st.floats(-1e9, 1e9) | st.floats(-1e-9, 1e-9) | st.integers(-9, 9).map(float) | st.floats(-1e120, 1e120)
RADII = st.sampled_from([0.0, 1e-20, 1e-9, 0.5, 3.0])


def contains(found: Enclosure, exact: Fraction) -> bool:
    low, high = float(found.low), float(found.high)
    return (np.isinf(low) or Fraction(low) <= exact) and (np.isinf(high) or exact <= Fraction(high))


def members(value: Enclosure) -> list[Fraction]:
    mid, rad = Fraction(float(value.mid)), Fraction(float(value.rad))
    return [mid - rad, mid, mid + rad]


@pytest.mark.parametrize("operation", [operator.add, operator.sub, operator.mul, operator.truediv])
@given(a=NUMBERS, b=NUMBERS, ra=RADII, rb=RADII)
def test_the_result_of_every_pair_of_members_is_a_member(operation, a: float, b: float, ra: float, rb: float) -> None:
    first, second = Enclosure(a, ra), Enclosure(b, rb)
    found = operation(first, second)
    for x in members(first):
        for y in members(second):
            if operation is operator.truediv and y == 0:
                assert np.isinf(found.rad)
                continue
            assert contains(found, operation(x, y))


@given(st.lists(NUMBERS, min_size=1, max_size=30), st.integers(0, 10**6))
def test_sums_and_products_contain_the_exact_ones(values: list[float], seed: int) -> None:
    a = np.array(values)
    b = np.random.default_rng(seed).normal(size=a.size) * 10.0 ** np.random.default_rng(seed).integers(-9, 9, a.size)
    exact = sum((Fraction(x) * Fraction(y) for x, y in zip(values, b.tolist(), strict=True)), Fraction(0))
    assert contains(enclose(a) @ b, exact)
    assert contains(a @ enclose(b), exact)
    assert contains((enclose(a) * b).sum(), exact)
    assert contains((enclose(a) * b).cumsum(0)[-1], exact)
    assert contains((enclose(a) * b).sums_by_place(np.zeros(a.size, dtype=int), 1)[0], exact)
    assert contains(exact_dot(a, b), exact)


def test_a_long_sum_is_known_to_twelve_digits_and_its_radius_is_no_fiction() -> None:
    values = np.random.default_rng(0).random(1_000_000)
    found = enclose(values).sum()
    exact = sum(map(Fraction, values.tolist()), Fraction(0))
    assert contains(found, exact)
    assert found.rad <= 1e-12 * found.mid


def test_cancellation_is_seen_by_sums_and_undone_by_exact_products() -> None:
    a, b = np.array([1e16, 1.0, -1e16]), np.ones(3)
    assert (enclose(a) @ b).rad >= 1.0
    assert exact_dot(a, b).mid == 1.0
    assert exact_dot(a, b).rad <= 1e-290


@given(NUMBERS.filter(lambda v: abs(v) < 600), RADII)
def test_functions_contain_their_values_at_both_ends(value: float, rad: float) -> None:
    flint = pytest.importorskip("flint")
    flint.ctx.prec = 400
    whole = Enclosure(value, rad)
    for end in members(whole):
        point = flint.arb(flint.fmpq(end.numerator, end.denominator))
        pairs = [
            (whole.exp(), point.exp()),
            (whole.softplus(), point.exp().log1p()),
            (abs(whole).sqrt(), abs(point).sqrt()),
        ]
        if end > 0:
            pairs.append((whole.log(), point.log()))
        for found, exact in pairs:
            assert not exact < flint.arb(float(found.low))
            assert not exact > flint.arb(float(found.high))


def test_what_overflows_is_unknown_and_not_wrong() -> None:
    huge = enclose(np.array([1e308, 1.0]))
    for found in (huge * 1e10, huge + 1e308, huge @ np.array([1e10, 1.0]), (huge * 100).sum(), huge.exp(), huge / 0.0):
        assert np.isinf(np.atleast_1d(found.high)).any()
        assert not np.isnan(found.low).any()
        assert not np.isnan(found.high).any()


def test_parts_are_joined_chosen_and_compared_place_by_place() -> None:
    a, b = between([0.0, 2.0], [1.0, 3.0]), enclose(np.array([5.0, 1.0]))
    assert join([a, b]).shape == (4,)
    assert choose(np.array([True, False]), a, b).high.tolist() == pytest.approx([1.0, 1.0])
    assert a.maximum(b).low.tolist() == pytest.approx([5.0, 2.0])
    assert a.max().high == pytest.approx(3.0)


def test_sparse_arrays_multiply_like_dense_ones() -> None:
    from scipy import sparse

    draw = np.random.default_rng(1)
    dense = draw.normal(size=(5, 4)) * (draw.random((5, 4)) < 0.5)
    vector = Enclosure(draw.normal(size=4), 1e-9)
    found, same = sparse.csr_array(dense) @ vector, dense @ vector
    assert np.all(np.abs(found.mid - same.mid) <= found.rad)
    assert found.rad == pytest.approx(same.rad)
