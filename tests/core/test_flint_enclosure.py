"""Ball arithmetic and doubles tell the same story, and ball arithmetic the more precise one."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from surefoot.core.enclosure import Enclosure, between, choose, computing_in, enclose, exact_dot, join

flint = pytest.importorskip("flint")
FlintEnclosure = pytest.importorskip("surefoot.core.flint_enclosure").FlintEnclosure

Formula = Callable[[np.ndarray, np.ndarray, np.ndarray], Enclosure]
PLACES = np.array([0, 2, 0, 1, 2])

# Of a table of 5 x 3, 3 coefficients and 5 weights: the operations one by one, and what certificates make of them.
FORMULAS: dict[str, Formula] = {
    "sum": lambda A, b, w: enclose(w).sum(),
    "sums of rows": lambda A, b, w: enclose(A).sum(axis=1),
    "running sums": lambda A, b, w: enclose(A).cumsum(axis=0),
    "sums by place": lambda A, b, w: (enclose(w) * w).sums_by_place(PLACES, 4),
    "difference": lambda A, b, w: enclose(w) - w[::-1],
    "reflected": lambda A, b, w: 1.0 - (2.0 / (3.0 + abs(enclose(w)))),
    "quotient": lambda A, b, w: enclose(w) / (1.0 + enclose(w) * w),
    "dense product": lambda A, b, w: A @ enclose(b),
    "products of products": lambda A, b, w: (enclose(A) @ (A.T @ enclose(w))) @ A,
    "sparse product": lambda A, b, w: sparse.csr_array(A * (np.abs(A) > 0.5)) @ enclose(b),
    "sparse product by columns": lambda A, b, w: sparse.csr_array(A).T @ enclose(A),
    "exact product": lambda A, b, w: exact_dot(w, w[::-1]),
    "greatest": lambda A, b, w: (enclose(A) * 3.0).max(axis=0).maximum(b) - enclose(A).max(),
    "chosen": lambda A, b, w: choose(w > 0, enclose(w) * w, -w),
    "joined": lambda A, b, w: join([enclose(w) / 3.0, b, enclose(A)[:, 1]]).sum(),
    "norm": lambda A, b, w: (enclose(b) * b).sum().sqrt(),
    "distances": lambda A, b, w: ((enclose(A) - b) * (enclose(A) - b)).sum(axis=1).sqrt().max(),
    "mean loss": lambda A, b, w: (np.abs(w) @ (-(A @ enclose(b) / 9.0)).softplus()) / enclose(np.abs(w) + 1.0).sum(),
    "entropy": lambda A, b, w: (enclose(1.0 + np.abs(w)).log() * (1.0 + np.abs(w))).sum(),
    "kernel": lambda A, b, w: (-((enclose(A)[:, None, :] - A) * (enclose(A)[:, None, :] - A)).sum(axis=2)).exp(),
    "log of a sum of exponentials": lambda A, b, w: ((enclose(w) - enclose(w).max()).exp().sum()).log() + enclose(w).max(),
    "binary entropy": lambda A, b, w: (1.0 / (2.0 + abs(enclose(A)))).entropy(),
    "reshaped": lambda A, b, w: (enclose(A) * b).reshape(3, 5).sum(axis=0),
    "transposed": lambda A, b, w: enclose(A).transposed @ w,
}


def arrays(seed: int, exponent: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    draw = np.random.default_rng(seed)
    scales = 10.0 ** draw.integers(-exponent, exponent + 1, 13)
    values = np.where(draw.random(23) < 0.2, 0.0, draw.normal(size=23)) * np.append(scales, scales[:10])
    return values[:15].reshape(5, 3), values[15:18], values[18:]


def both(formula: Formula, *given: np.ndarray) -> tuple[Enclosure, Enclosure]:
    doubles = formula(*given)
    with computing_in(FlintEnclosure):
        balls = formula(*given)
    assert type(doubles) is Enclosure
    assert type(balls) is FlintEnclosure
    assert doubles.shape == balls.shape
    return doubles, balls


@given(seed=st.integers(0, 10**6), exponent=st.sampled_from([0, 0, 3, 12, 120]))
def test_every_formula_gives_a_narrower_enclosure_inside_that_of_doubles(seed: int, exponent: int) -> None:
    for name, formula in FORMULAS.items():
        doubles, balls = both(formula, *arrays(seed, exponent))
        assert np.all(doubles.low <= balls.low), (name, doubles, balls)
        assert np.all(balls.high <= doubles.high), (name, doubles, balls)
        assert np.all((balls.low <= balls.mid) & (balls.mid <= balls.high)), name


@pytest.mark.parametrize("name", ["quotient", "greatest", "norm", "mean loss", "entropy", "kernel"])
def test_in_ordinary_units_a_ball_is_one_or_two_doubles_wide(name: str) -> None:
    doubles, balls = both(FORMULAS[name], *arrays(1, 0))
    one = np.spacing(np.abs(balls.mid))
    assert np.all(balls.high - balls.low <= 2 * one)
    assert np.sum(balls.high - balls.low) < np.sum(doubles.high - doubles.low)


@given(seed=st.integers(0, 10**6), wide=st.sampled_from([1e-12, 1e-3, 0.5]))
def test_enclosures_that_are_wide_from_the_start_stay_as_wide(seed: int, wide: float) -> None:
    A, b, w = arrays(seed, 0)
    formulas = {
        "root": lambda x: abs(x).sqrt(),
        "exponential": lambda x: x.exp(),
        "logarithm": lambda x: (abs(x) + 1.0 + wide).log(),
        "loss": lambda x: x.softplus(),
        "growth": lambda x: x.expm1(),
        "square": lambda x: x * x,
        "quotient": lambda x: x / (abs(x) + 2.0),
        "greatest": lambda x: x.max(),
        "positive part": lambda x: x.maximum(0.0).sum(),
    }
    for name, formula in formulas.items():
        doubles, balls = both(lambda A, b, w, formula=formula: formula(between(w - wide, w + wide)), A, b, w)
        assert np.all((doubles.low <= balls.high) & (balls.low <= doubles.high)), name
        last_places = 2 * np.spacing(balls.size)
        assert np.all(balls.high - balls.low <= 1.01 * (doubles.high - doubles.low) + last_places), name


@given(st.lists(st.floats(-1e120, 1e120), min_size=1, max_size=12), st.integers(0, 10**6))
def test_sums_and_products_contain_the_exact_ones(values: list[float], seed: int) -> None:
    a = np.array(values)
    b = np.random.default_rng(seed).normal(size=a.size)
    exact = sum((Fraction(x) * Fraction(y) for x, y in zip(values, b.tolist(), strict=True)), Fraction(0))
    with computing_in(FlintEnclosure):
        found = [enclose(a) @ b, a @ enclose(b), (enclose(a) * b).sum(), (enclose(a) * b).cumsum(0)[-1], exact_dot(a, b)]
    for each in found:
        assert Fraction(float(each.low)) <= exact <= Fraction(float(each.high))
        assert abs(Fraction(float(each.mid)) - exact) <= Fraction(float(each.rad))
    assert found[-1].mid == float(exact)


@pytest.mark.parametrize("kind", [Enclosure, FlintEnclosure])
def test_the_entropy_of_shares_that_are_not_exact_contains_that_of_all_shares(kind: type[Enclosure]) -> None:
    with computing_in(kind):
        found = between([-1e-3, 0.2, 0.4, 0.5], [0.1, 0.3, 0.6, 0.5]).entropy()
    shares = np.array([[0.0, 0.05, 0.1], [0.2, 0.25, 0.3], [0.4, 0.45, 0.5], [0.5, 0.5, 0.5]])
    with np.errstate(all="ignore"):
        exact = np.where(shares > 0, -shares * np.log(shares), 0.0) - (1 - shares) * np.log1p(-shares)
    assert np.all((found.low[:, None] <= exact) & (exact <= found.high[:, None]))
    assert found.high.tolist() == pytest.approx(exact.max(axis=1))
    assert found.low.tolist() == pytest.approx(exact.min(axis=1), abs=1e-9)


def test_ends_are_rounded_outward_and_the_middle_to_the_nearest_double() -> None:
    with computing_in(FlintEnclosure):
        third, tiny, huge = enclose(1.0) / 3.0, enclose(1e-200) * 1e-200, enclose(1e200) * 1e200
        cancelled = huge / 1e200 / 1e200 - 1.0
    assert third.mid == 1 / 3
    assert Fraction(float(third.low)) < Fraction(1, 3) < Fraction(float(third.high))
    assert third.high == np.nextafter(third.low, 1.0)
    assert (tiny.low, tiny.mid, tiny.high) == (0.0, 0.0, 5e-324)
    assert ((-tiny).low, (-tiny).high, (-tiny).size) == (-5e-324, 0.0, 5e-324)
    assert (huge.low, huge.high, huge.size) == (np.finfo(float).max, np.inf, np.inf)
    assert (huge.mid, huge.rad) == (np.finfo(float).max, np.inf)
    assert ((-huge).low, (-huge).high) == (-np.inf, -np.finfo(float).max)
    assert cancelled.size <= 1e-30


UNKNOWN = {
    "sum that cancels": lambda: enclose(np.array([np.inf, -np.inf])).sum(),
    "difference": lambda: between(-np.inf, np.inf) - between(-np.inf, np.inf),
    "zero times": lambda: enclose(0.0) * between(0.0, np.inf),
    "quotient": lambda: enclose(1.0) / between(-1.0, 1.0),
    "by zero": lambda: enclose(1.0) / 0.0,
    "not a number": lambda: enclose(np.nan) + 1.0,
    "maximum": lambda: enclose(np.nan).maximum(1.0),
    "max": lambda: enclose(np.array([np.nan, 1.0])).max(),
    "exp": lambda: enclose(1e300).exp(),
    "log": lambda: between(-1.0, 1.0).log(),
    "log of nothing": lambda: enclose(-1.0).log(),
    "root of nothing": lambda: enclose(-1.0).sqrt(),
    "softplus": lambda: between(-np.inf, np.inf).softplus(),
    "exact product": lambda: exact_dot(np.array([np.inf]), np.array([0.0])),
    "half a line": lambda: between(5.0, np.inf),
}


def test_what_is_not_known_has_infinite_ends() -> None:
    for name, unknown in UNKNOWN.items():
        with computing_in(FlintEnclosure):
            found = unknown()
        assert (found.low, found.mid, found.high, found.size, found.rad) == (-np.inf, 0.0, np.inf, np.inf, np.inf), name


def test_functions_of_huge_and_tiny_numbers_are_known_as_far_as_they_go() -> None:
    with computing_in(FlintEnclosure):
        values = enclose(np.array([-1e300, -800.0, 800.0, 1e300]))
        losses, powers = values.softplus(), values[:3].exp()
    assert losses.low.tolist() == [-5e-324, 0.0, np.nextafter(800.0, 0.0), np.nextafter(1e300, 0.0)]
    assert losses.high[2:].tolist() == [800.0 + 2.0**-43, np.nextafter(1e300, np.inf)]
    assert powers.high.tolist() == [5e-324, 5e-324, np.inf]
    assert powers.low[2] == np.finfo(float).max


def test_shapes_follow_numpy() -> None:
    with computing_in(FlintEnclosure):
        a, empty = enclose(np.arange(6.0).reshape(2, 3)), enclose(np.zeros((0, 3)))
        assert (a + np.ones((4, 1, 3))).shape == (4, 2, 3)
        assert a.transposed.shape == (3, 2)
        assert a.sum().shape == a.max().shape == a[0, 1].shape == a[0, 1].exp().shape == (-a[0, 1]).shape == ()
        assert a.sum(axis=-1).shape == a.max(axis=-1).shape == (2,)
        assert a.cumsum(axis=1).low[1].tolist() == [3, 7, 12]
        assert (enclose(np.ones((4, 2, 3))) @ a.transposed).shape == (4, 2, 2)
        assert empty.sum(axis=0).high.tolist() == [0, 0, 0]
        assert empty.sum().high == 0
        assert empty.exp().low.shape == empty.cumsum(axis=0).shape == (0, 3)
        assert (empty @ np.ones(3)).shape == (0,)
        assert (np.ones((2, 0)) @ empty + 1.0).low.tolist() == np.ones((2, 3)).tolist()
        assert (sparse.csr_array((2, 0)) @ empty + 1.0).low.tolist() == np.ones((2, 3)).tolist()
        assert empty[:, 0].sums_by_place(np.zeros(0, dtype=int), 2).high.tolist() == [0, 0]
        with pytest.raises(ValueError, match="zero-size"):
            empty.max()


def test_integers_stay_exact_and_what_is_no_double_is_refused() -> None:
    with computing_in(FlintEnclosure):
        assert (enclose(np.array([2**53 + 1, 2**62 + 1])) - 2**53).low.tolist() == [1.0, float(2**62 + 1 - 2**53 - 1)]
        assert enclose(np.array([True, False])).high.tolist() == [1.0, 0.0]
        for value in ("1.5", Fraction(1, 3), np.longdouble(1)):
            with pytest.raises(TypeError, match="doubles or integers"):
                enclose(value)


def test_places_that_are_not_there_are_refused() -> None:
    with computing_in(FlintEnclosure):
        for place, error in ((2, IndexError), (-1, ValueError)):
            with pytest.raises(error):
                enclose(np.ones(2)).sums_by_place(np.array([0, place]), 2)


def test_enclosures_of_both_kinds_may_meet() -> None:
    doubles = Enclosure(np.array([1.0, 2.0]), 0.25)
    with computing_in(FlintEnclosure):
        balls = enclose(np.array([3.0, 4.0])) / 3.0
        met = [
            doubles + balls,
            balls + doubles,
            doubles * balls,
            balls - doubles,
            doubles - balls,
            doubles / balls,
            doubles @ balls,
        ]
        met += [join([doubles, balls]), choose(np.array([True, False]), doubles, balls), balls.maximum(doubles)]
    assert all(type(found) is FlintEnclosure for found in met)
    assert (met[0].low[0], met[0].high[0]) == pytest.approx((1.75, 2.25))
    outside = [join([doubles, balls]), choose(np.array([True, False]), doubles, balls), doubles.maximum(balls)]
    assert all(type(found) is Enclosure for found in outside)
    assert outside[0].high[3] == pytest.approx(4 / 3)


def test_the_precision_of_other_users_of_flint_is_left_alone() -> None:
    before = flint.ctx.prec
    with flint.ctx.workprec(20), computing_in(FlintEnclosure):
        found = (enclose(1.0) / 3.0).exp().max()
        assert flint.ctx.prec == 20
        assert found.high - found.low <= 2.3e-16
    assert flint.ctx.prec == before


def test_without_the_extra_a_sentence_names_it() -> None:
    code = "import sys; sys.modules['flint'] = None; import surefoot.core.flint_enclosure"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert found.returncode != 0
    assert "pip install 'surefoot[proof]'" in found.stderr
