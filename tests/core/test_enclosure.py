"""Enclosures contain what exact arithmetic gives, for every operation, also where numbers are huge, tiny or cancel."""

from __future__ import annotations

import math
import operator
from decimal import Decimal, localcontext
from fractions import Fraction
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from surefoot.core.enclosure import Enclosure, between, choose, close_product, computing_in, enclose, exact_dot, join

NUMBERS = st.floats(-1e9, 1e9) | st.floats(-1e-9, 1e-9) | st.integers(-9, 9).map(float) | st.floats(-1e120, 1e120)
RADII = st.sampled_from([0.0, 1e-20, 1e-9, 0.5, 3.0])


def contains(found: Enclosure, exact: Fraction) -> bool:
    low, high, rad = float(found.low), float(found.high), float(found.rad)
    # The pair itself must contain the number: its ends are rounded outward once more, which could hide an error of one place.
    inside = np.isinf(rad) or abs(exact - Fraction(float(found.mid))) <= Fraction(rad)
    return inside and (np.isinf(low) or Fraction(low) <= exact) and (np.isinf(high) or exact <= Fraction(high))


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
    exact = Fraction(sum((values * 2.0**53).astype(np.int64).tolist()), 2**53)  # they are multiples of 2**-53
    assert contains(found, exact)
    assert found.rad <= 1e-12 * found.mid


def test_cancellation_is_seen_by_sums_and_undone_by_exact_products() -> None:
    a, b = np.array([1e16, 1.0, -1e16]), np.ones(3)
    assert (enclose(a) @ b).rad >= 1.0
    assert exact_dot(a, b).mid == 1.0
    assert exact_dot(a, b).rad <= 1e-290


@pytest.mark.parametrize("spread", [0, 30, 900])
@pytest.mark.parametrize("arithmetic", ["double", "ball"])
def test_close_products_contain_the_exact_ones_where_these_cancel(spread: int, arithmetic: str) -> None:
    """Sums that are some 1e-16 of their terms; rows and columns of zeros; entries from 2**-900 to 2**900."""
    random = np.random.default_rng(spread)
    left = random.normal(size=(6, 40)) * 2.0 ** random.integers(-spread, spread + 1, (6, 1))
    right = random.normal(size=(40, 3)) * 2.0 ** random.integers(-spread, spread + 1, 3)
    left[5], right[:, 2] = 0.0, 0.0
    for at in (0, 1):  # the last term takes back what the others add up to, to the last digit
        left[at, -1] = -(left[at, :-1] @ right[:-1, 0]) / right[-1, 0]
    kind = Enclosure if arithmetic == "double" else pytest.importorskip("surefoot.core.flint_enclosure").FlintEnclosure
    with computing_in(kind):
        found = close_product(left, right)
    for i, row in enumerate(left):
        for j, column in enumerate(right.T):
            exact = sum((Fraction(a) * Fraction(b) for a, b in zip(row.tolist(), column.tolist(), strict=True)), Fraction(0))
            low, high = float(found.low[i, j]), float(found.high[i, j])
            assert (np.isinf(low) or Fraction(low) <= exact) and (np.isinf(high) or exact <= Fraction(high))
            if spread < 900:
                terms = float(np.abs(row) @ np.abs(column))
                assert high - low <= 1e-19 * terms + 1e-15 * abs(float(exact)) + 1e-280


@pytest.fixture(scope="module")
def flint() -> ModuleType:
    return pytest.importorskip("flint")


@given(value=NUMBERS.filter(lambda v: abs(v) < 600), rad=RADII)
def test_functions_contain_their_values_at_both_ends(flint: ModuleType, value: float, rad: float) -> None:
    whole = Enclosure(value, rad)
    with flint.ctx.workprec(400):
        for end in members(whole):
            point = flint.arb(flint.fmpq(end.numerator, end.denominator))
            pairs = [
                (whole.exp(), point.exp()),
                (whole.expm1(), point.expm1()),
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


def test_a_radius_does_not_vanish_where_its_parts_underflow() -> None:
    # A subnormal entry times a large one: the product is rounded like any other.
    left, right = np.full(3, 1e300), np.array([3e-310, 1.1e-320, -3e-310])
    exact = sum((Fraction(a) * Fraction(b) for a, b in zip(left.tolist(), right.tolist(), strict=True)), Fraction(0))
    assert contains(left @ enclose(right), exact)
    assert contains(enclose(left) @ right, exact)
    # A subnormal numerator: the radius of the quotient is a product that is subnormal too.
    over, under = Enclosure(5e-324), Enclosure(1e-200, 3e-201)
    assert contains(over / under, members(over)[0] / members(under)[0])


def test_products_of_stacks_count_the_terms_of_each_product() -> None:
    left, right = np.full((1, 1, 4000), 0.1), np.full((1, 4000, 1), 0.7)
    found = enclose(left) @ right
    exact = 4000 * Fraction(0.1) * Fraction(0.7)
    assert found.rad[0, 0, 0] >= 4000 * 2.0**-53 * found.mid[0, 0, 0]
    assert contains(found[0, 0, 0], exact)


def test_a_radius_covers_every_order_of_addition() -> None:
    from scipy import sparse

    n_terms = 4000
    terms, ones = np.full(n_terms, 0.1), np.ones(n_terms)
    places = np.zeros(n_terms, dtype=int)
    found = {
        "sum": enclose(terms).sum(),
        "sum of columns": enclose(terms[:, None]).sum(axis=0)[0],
        "running sum": enclose(terms).cumsum(0)[-1],
        "sum by place": enclose(terms).sums_by_place(places, 3)[0],
        "product": terms @ enclose(ones),
        "product with a matrix": (terms[None] @ enclose(ones))[0],
        "sparse product by rows": (sparse.csr_array(terms[None]) @ enclose(ones))[0],
        "sparse product by columns": (sparse.csc_array(terms[None]) @ enclose(ones))[0],
    }
    for name, total in found.items():
        assert total.rad >= (n_terms - 1) * 2.0**-53 * 400, name
        assert contains(total, n_terms * Fraction(0.1)), name
    # What counts is the size of the terms, however they cancel.
    signs = np.where(np.arange(n_terms) % 2, 1.0, -1.0)
    for total in (
        enclose(terms * signs).sum(),
        enclose(terms * signs).cumsum(0)[-1],
        enclose(terms * signs).sums_by_place(places, 1)[0],
        terms @ enclose(signs),
        signs @ enclose(terms),
    ):
        assert total.rad >= (n_terms - 1) * 2.0**-53 * 400


def test_the_radii_of_the_terms_enter_every_sum_and_product() -> None:
    wide = Enclosure(np.array([1.0, -2.0, 3.0]), np.array([0.5, 0.25, 0.125]))
    ones = np.ones(3)
    for total in (
        wide.sum(),
        wide.cumsum(0)[-1],
        wide.sums_by_place(np.zeros(3, dtype=int), 1)[0],
        ones @ wide,
        wide @ ones,
    ):
        assert total.rad == pytest.approx(0.875)
    assert wide.cumsum(0).rad.tolist() == pytest.approx([0.5, 0.75, 0.875])
    assert wide.sums_by_place(np.array([1, 0, 1]), 2).rad.tolist() == pytest.approx([0.25, 0.625])
    # |1| 0.5 + 0.5 (|1| + 0.5), and so on: the radii of both factors, and their products.
    assert (wide @ wide).rad == pytest.approx(1.25 + 1.0625 + 0.765625)
    assert (wide * wide).sum().rad == pytest.approx(1.25 + 1.0625 + 0.765625)


def test_ends_and_sizes_of_every_entry_are_its_own() -> None:
    table = Enclosure(np.array([[-3.0, 2.0], [0.5, -0.25]]), np.array([[0.5, 1.0], [2.0, 0.125]]))
    assert table.size.tolist() == pytest.approx(np.array([[3.5, 3.0], [2.5, 0.375]]))
    assert abs(table).high.tolist() == pytest.approx(np.array([[3.5, 3.0], [2.5, 0.375]]))
    assert table.transposed.low.tolist() == pytest.approx(np.array([[-3.5, -1.5], [1.0, -0.375]]))
    assert (-table).low.tolist() == pytest.approx(np.array([[2.5, -3.0], [-2.5, 0.125]]))
    assert table[:, 1].high.tolist() == pytest.approx([3.0, -0.125])
    assert table.max().high == pytest.approx(3.0)
    assert table.max(axis=0).high.tolist() == pytest.approx([2.5, 3.0])
    assert table.max(axis=0).low.tolist() == pytest.approx([-1.5, 1.0])
    assert (1.0 - table).low.tolist() == pytest.approx(np.array([[3.5, -2.0], [-1.5, 1.125]]))


@given(NUMBERS.filter(lambda v: 1e-9 < abs(v) < 600))
def test_functions_allow_for_four_units_in_the_last_place(value: float) -> None:
    """Whatever the library on this machine does: what is assumed of it is no more than this."""
    point = enclose(value)
    four = 8 * Fraction(1, 2**53)
    for found in (point.exp(), abs(point).log()):
        assert Fraction(float(found.rad)) >= four * abs(Fraction(float(found.mid)))
    # Of softplus(v) = max(v, 0) + log(1 + exp(-|v|)) the second term has two functions in it.
    tail = Fraction(math.log1p(math.exp(-abs(value)))) * (1 - four)
    assert Fraction(float(point.softplus().rad)) >= 2 * four * tail


@pytest.mark.parametrize("value", [5.3, 9.7, 17.1, 24.9, 30.3, 33.3])
def test_a_large_loss_lies_in_its_enclosure_though_its_sum_was_rounded(value: float) -> None:
    """The tail log(1 + exp(-v)) has digits below the last one of v, so that the sum of both is rounded."""
    with localcontext(prec=60):
        exact = (1 + Decimal(value).exp()).ln()
        found = enclose(value).softplus()
        assert Decimal(float(found.low)) <= exact <= Decimal(float(found.high))
        assert Decimal(float(found.high)) - Decimal(float(found.low)) <= Decimal("4e-15") * exact


def test_entries_of_a_sparse_array_that_share_a_place_all_count() -> None:
    from scipy import sparse

    entries = np.array([1e16, 1.0, -1e16, 1.0, 1.0, 1.0, 1.0])
    for kind in (sparse.csr_array, sparse.csc_array):
        twice = kind((entries, np.zeros(7, dtype=np.int32), np.array([0, 7], dtype=np.int32)), shape=(1, 1))
        assert contains((twice @ enclose(np.ones(1)))[0], Fraction(5))
        assert twice.nnz == 7


@pytest.mark.parametrize("integer", [2**53 + 1, -(2**60) - 1, 2**63 - 1])
def test_integers_that_are_no_doubles_are_enclosed(integer: int) -> None:
    from scipy import sparse

    whole = np.array([integer])
    one = enclose(np.ones(1))
    for found in (
        enclose(whole)[0],
        enclose(integer),
        whole @ one,
        (sparse.csr_array(whole[:, None]) @ one)[0],
        (one * whole)[0],
    ):
        assert contains(found, Fraction(integer))
    assert contains(exact_dot(whole, np.ones(1)), Fraction(integer))


@pytest.mark.parametrize("value", ["1.5", Fraction(1, 3), 1j, np.longdouble(1), 2**70, None])
def test_what_is_no_double_is_refused(value: object) -> None:
    with pytest.raises(TypeError, match="doubles or integers"):
        enclose(value)


UNKNOWN = {
    "sum": lambda: enclose(np.full(3, 1.7e308)).sum(),
    "cumsum": lambda: enclose(np.full(3, 1.7e308)).cumsum(0)[-1],
    "sums by place": lambda: enclose(np.full(3, 1.7e308)).sums_by_place(np.zeros(3, dtype=int), 1)[0],
    "product": lambda: np.full(3, 1.7e308) @ enclose(np.array([1.0, 1.0, -1.0])),
    "sum that cancels": lambda: enclose(np.array([np.inf, -np.inf])).sum(),
    "difference": lambda: between(-np.inf, np.inf) - between(-np.inf, np.inf),
    "zero times": lambda: enclose(0.0) * between(0.0, np.inf),
    "quotient": lambda: enclose(1.0) / between(-1.0, 1.0),
    "not a number": lambda: enclose(np.nan) + 1.0,
    "maximum": lambda: enclose(np.nan).maximum(1.0),
    "max": lambda: enclose(np.array([np.nan, 1.0])).max(),
    "exp": lambda: between(0.0, 800.0).exp(),
    "log": lambda: between(-1.0, 1.0).log(),
    "log of nothing": lambda: enclose(-1.0).log(),
    "root of nothing": lambda: enclose(-1.0).sqrt(),
    "softplus": lambda: between(-np.inf, np.inf).softplus(),
    "exact product": lambda: exact_dot(np.array([np.inf]), np.array([0.0])),
    "exact product the other way": lambda: exact_dot(np.array([0.0]), np.array([np.nan])),
    "exact product of huge numbers": lambda: exact_dot(np.array([1e200]), np.array([1e200])),
    "half a line": lambda: between(5.0, np.inf),
}


def test_what_is_not_known_has_infinite_ends_and_no_warning() -> None:
    for name, unknown in UNKNOWN.items():
        with np.errstate(all="raise"):
            found = unknown()
            assert (found.low, found.high, found.size) == (-np.inf, np.inf, np.inf), name


def test_ends_beyond_the_largest_double_are_infinite() -> None:
    with np.errstate(all="raise"):
        wide = Enclosure(1.7e308, 1.7e308)
        assert wide.high == wide.size == np.inf
        assert (-wide).low == -np.inf
        assert enclose(np.finfo(float).max).high == np.inf
        assert between(1.6e308, 1.7e308).low == pytest.approx(1.6e308)


def test_ends_may_come_in_any_order() -> None:
    found = between([2.0, 1.0], [1.0, 2.0])
    assert np.all(found.low <= 1.0) and np.all(found.high >= 2.0)


def test_a_place_that_is_not_there_is_refused() -> None:
    with pytest.raises(IndexError, match="Place 2 is not one of 2"):
        enclose(np.ones(2)).sums_by_place(np.array([0, 2]), 2)


def test_shapes_follow_numpy() -> None:
    a = Enclosure(np.arange(6.0).reshape(2, 3), 0.5)
    empty = enclose(np.zeros((0, 3)))
    assert (a + np.ones((4, 1, 3))).shape == (4, 2, 3)
    assert (a * enclose(np.ones(2))[:, None]).shape == (2, 3)
    assert a.transposed.shape == (3, 2)
    assert a.sum().shape == a.max().shape == a[0, 1].shape == ()
    assert a.sum(axis=-1).shape == a.max(axis=-1).shape == (2,)
    assert a.cumsum(axis=1).shape == (2, 3)
    assert empty.sum(axis=0).high.tolist() == pytest.approx([0, 0, 0])
    assert empty.sum().shape == ()
    assert empty.cumsum(axis=0).shape == (0, 3)
    assert (empty @ np.ones(3)).shape == (0,)
    assert (np.ones((2, 0)) @ empty).low.shape == (2, 3)
    assert empty[:, 0].sums_by_place(np.zeros(0, dtype=int), 2).shape == (2,)
    with pytest.raises(ValueError, match="zero-size"):
        empty.max()


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


@pytest.mark.parametrize("share", [0.0, 5e-324, 1e-300, 1e-17, 0.1, 0.25, 0.5])
def test_the_entropy_of_a_share_is_known_to_a_relative_error(share: float) -> None:
    flint = pytest.importorskip("flint")
    found = enclose(share).entropy()
    with flint.ctx.workprec(1200):
        u = flint.arb(share)
        exact = -u * u.log() - (1 - u) * (1 - u).log() if share > 0 else flint.arb(0)
        assert not exact < flint.arb(float(found.low))
        assert not exact > flint.arb(float(found.high))
        assert float(found.high) - float(found.low) <= 1e-14 * float(exact) + 1e-299
