"""Counts, planes, gains and claims against the same worked out row by row, from the formulas in the docstrings alone."""

from __future__ import annotations

import dataclasses
import itertools
import math
from typing import Any

import numpy as np
import pytest
from reference.card_claims import node_claims, ways_of

from surefoot.core.enclosure import computing_in
from surefoot.riskscore.certificate.card_table import CardTable
from surefoot.riskscore.certificate.certificate import certify_risk_score
from surefoot.riskscore.certificate.claim_bounds import bounds_of
from surefoot.riskscore.certificate.counted_planes import CountedPlanes
from surefoot.riskscore.certificate.largest_gains import largest_gains
from surefoot.riskscore.certificate.proof_reader import CHILD, EXCLUDED, NOT_FIRST, boxes_of
from surefoot.riskscore.certificate.subset_counts import SubsetCounts
from surefoot.riskscore.problem.problem import RiskScore, RiskScoreProblem
from surefoot.riskscore.problem.score_shift import ScoreShift

INTERCEPTS = (-3, 4)
FORMS = ("counted", "counted, free scale", "classes weighted", "rows weighted", "numbers", "shift", "shift, free scale")


def drawn(seed: int, form: str, n: int = 90, d: int = 6, size: int = 4) -> RiskScoreProblem:
    """Binary columns unless the form says numbers; more than 64 rows of a label, so that bits fill two words."""
    rng = np.random.default_rng(seed)
    X = (rng.random((n, d)) < rng.uniform(0.2, 0.8, d)).astype(float)
    flips = np.ones(d, dtype=bool)
    if form == "numbers" or (form.startswith("shift") and seed % 2):
        X[:, 0], flips[0] = rng.normal(size=n).round(1), False
    y = np.where(rng.random(n) < 1 / (1 + np.exp(-(X @ rng.normal(size=d)))), 1.0, -1.0)
    weights = np.where(y > 0, 2.5, 1.0) if form == "classes weighted" else np.ones(n)
    weights = rng.exponential(size=n) if form == "rows weighted" or (form.startswith("shift") and seed % 3 == 0) else weights
    weights[:3] = 0.0
    shift = ScoreShift(0.05, rng.choice([0.5, 1.0, 1.7, np.inf], d), flips, float(rng.choice([0.7, np.inf])))
    return RiskScoreProblem(
        X,
        y,
        weights / weights.sum(),
        np.full(d, -2),
        np.full(d, 3),
        *INTERCEPTS,
        size,
        0.01,
        shift=shift if "shift" in form else None,
        scale="free" if "free" in form else "unit",
        multipliers=(0.5, 2.0),
    )


def entropy(share: float) -> float:
    return 0.0 if share in (0.0, 1.0) else -share * math.log(share) - (1 - share) * math.log1p(-share)


def shifts_of(
    problem: RiskScoreProblem, row: np.ndarray, label: float, support: list[int]
) -> list[tuple[np.ndarray, float, float]]:
    """Rows, labels and costs after all flips of the support's columns and of the label."""
    shift = problem.shift
    if shift is None:
        return [(row, label, 0.0)]
    found = []
    flippable = [j for j in support if shift.flips[j] and np.isfinite(shift.prices[j])]
    for count in range(len(flippable) + 1):
        for chosen in itertools.combinations(flippable, count):
            turned = row.copy()
            turned[list(chosen)] = 1 - turned[list(chosen)]
            cost = float(sum(shift.prices[j] for j in chosen))
            found.append((turned, label, cost))
            if np.isfinite(shift.label_price):
                found.append((turned, -label, cost + shift.label_price))
    return found


def plane(problem: RiskScoreProblem, support: list[int], point: np.ndarray) -> tuple[float, np.ndarray, float]:
    """Constant, slopes along the intercept and all columns, and along lambda, of the plane at a point."""
    constant, slopes, price_slope = 0.0, np.zeros(problem.n_columns + 1), 0.0
    k = len(support) + 1
    price, smoothing = (point[k], max(point[k + 1], 1e-12)) if problem.shift is not None else (0.0, 1.0)
    for row, label, weight in zip(problem.columns, problem.labels, problem.weights, strict=True):
        shifts = shifts_of(problem, row, label, support)
        scores = [point[0] + sum(point[1 + at] * turned[j] for at, j in enumerate(support)) for turned, _, _ in shifts]
        losses = [math.log1p(math.exp(-new * score)) for (_, new, _), score in zip(shifts, scores, strict=True)]
        gains = np.array([loss - price * cost for loss, (_, _, cost) in zip(losses, shifts, strict=True)]) / smoothing
        mixture = np.exp(gains - gains.max())
        for share, (turned, new, cost), score in zip(mixture / mixture.sum(), shifts, scores, strict=True):
            u = 1 / (1 + math.exp(new * score))
            constant += weight * share * entropy(u)
            slopes[0] -= weight * share * new * u
            along = row.copy()  # further columns are not shifted
            along[support] = turned[support]
            slopes[1:] -= weight * share * new * u * along
            price_slope -= weight * share * cost
    return constant, slopes, price_slope + (0.0 if problem.shift is None else problem.shift.radius)


def most_price(problem: RiskScoreProblem) -> float:
    shift = problem.shift
    assert shift is not None
    points = np.maximum(-problem.lower, problem.upper)
    found = max((p / price for p, price in zip(points, shift.prices, strict=True) if np.isfinite(price)), default=0.0)
    sizes = np.where(shift.flips, 1.0, np.abs(problem.columns).max(axis=0)) * points
    score = np.sort(sizes)[::-1][: problem.max_features].sum() + max(-INTERCEPTS[0], INTERCEPTS[1])
    return max(found, score / shift.label_price)


def least(problem: RiskScoreProblem, support: list[int], point: np.ndarray, low: Any, high: Any, gained: float = 0.0) -> float:
    """The least of the plane over a box of intercepts and points, where columns beyond it gain so much."""
    constant, slopes, price_slope = plane(problem, support, point)
    own = slopes[[0, *(1 + j for j in support)]]
    ends = np.minimum(own * low, own * high)
    total = ends.sum()
    if problem.shift is not None:
        prices, flips = problem.shift.prices[support], problem.shift.flips[support]
        moves = np.append(False, np.isfinite(prices) & ~flips)
        prices = np.append(np.inf, prices)[moves]
        smallest = max([0.0, *(np.maximum(np.maximum(low[moves], -high[moves]), 0.0) / prices)])
        largest = max(most_price(problem), smallest)
        turning = [t for end in (low, high) for t in np.abs(end[moves]) / prices if smallest < t < largest]
        values = []
        for price in [smallest, largest, *turning, *np.linspace(smallest, largest, 50)]:
            reach = price * prices
            first, last = np.maximum(low[moves], -reach), np.minimum(high[moves], reach)
            values.append(price_slope * price + np.minimum(own[moves] * first, own[moves] * last).sum())
        total = ends[~moves].sum() + min(values)
    total -= gained
    scales = (0.5, 2.0) if problem.scale == "free" else (1.0, 1.0)
    return constant + min(scales[0] * total, scales[1] * total)


def points_at(rng: np.random.Generator, problem: RiskScoreProblem, k: int) -> np.ndarray:
    point = rng.normal(size=k + 1)
    return point if problem.shift is None else np.append(point, [rng.uniform(0.1, 2.0), rng.choice([0.0, 0.01, 0.3])])


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("seed", range(2))
def test_a_box_is_bounded_by_its_plane(form: str, seed: int) -> None:
    problem = drawn(seed, form, n=140 if "shift" not in form else 12)
    ways = ways_of(CardTable(problem))
    rng = np.random.default_rng(seed)
    for size in range(5 if "shift" not in form else 4):
        support = np.sort(rng.choice(problem.n_columns, size, replace=False))
        low, high = np.sort(rng.integers(-2, 4, (2, size + 1)).astype(float), axis=0)
        point = points_at(rng, problem, size)
        claim = boxes_of(support[None, :], low[None, :], high[None, :], point[None, :])
        expected = least(problem, support.tolist(), point, low, high) + 0.01 * size
        for threshold in (-1e9, 1e9):  # above: what the counts say is not enough, and is computed in enclosures
            found = bounds_of(claim, ways, threshold)[0]
            assert found <= expected + 1e-14
            assert found == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("seed", range(2))
def test_a_node_is_bounded_by_its_plane_and_the_gains_of_what_it_may_add(form: str, seed: int) -> None:
    problem = drawn(seed, form, n=140 if "shift" not in form else 12, d=8 if "shift" not in form else 6, size=5)
    table = CardTable(problem)
    ways = ways_of(table)
    rng = np.random.default_rng(seed)
    for size in range(5 if "shift" not in form else 3):
        support = np.sort(rng.choice(problem.n_columns - 3, size, replace=False))
        after = np.setdiff1d(np.arange(problem.n_columns), support)
        candidates = after[after > support.max(initial=-1)]
        marks = rng.choice([EXCLUDED, NOT_FIRST, CHILD] if size < 4 else [EXCLUDED, CHILD], candidates.size)
        marks[-1] = EXCLUDED
        point = points_at(rng, problem, size)
        low, high = (
            np.append(end, limit[support]).astype(float)
            for end, limit in zip(INTERCEPTS, (problem.lower, problem.upper), strict=True)
        )
        _, slopes, _ = plane(problem, support.tolist(), point)
        gains = np.maximum(2 * slopes[1:], -3 * slopes[1:])[candidates]
        gained = max(
            sum(gains[j] for j in chosen)
            for count in range(1, 5 - size + 1)
            for chosen in itertools.combinations(range(candidates.size), count)
            if any(marks[j] == EXCLUDED for j in chosen) or marks[chosen[0]] == NOT_FIRST
        )
        for own in (False, True):
            names = support[None, :], np.array([0, candidates.size]), candidates, marks, point[None, :]
            claim = node_claims(table, INTERCEPTS, *names, np.array([own]))
            expected = least(problem, support.tolist(), point, low, high, gained) + 0.01 * (size + 1)
            if own:
                expected = min(expected, least(problem, support.tolist(), point, low, high) + 0.01 * size)
            for threshold in (-1e9, 1e9):
                found = bounds_of(claim, ways, threshold)[0]
                assert found <= expected + 1e-14
                # Sets too large for a table are not counted where a bound is enough without them.
                sharp = threshold > 0 or len(ways) == 1 or size < 4
                assert found == pytest.approx(expected, abs=1e-9 if sharp else 0.2)


def test_a_node_that_prunes_nothing_says_nothing_about_further_columns() -> None:
    problem = drawn(0, "counted")
    ways = ways_of(CardTable(problem))
    for own in (False, True):
        names = np.array([[0]]), np.array([0, 2]), np.array([1, 2]), np.array([CHILD, CHILD])
        claim = node_claims(ways[0].table, INTERCEPTS, *names, np.zeros((1, 2)), np.array([own]))
        assert np.isfinite(bounds_of(claim, ways, 1e9)[0]) == own


@pytest.mark.parametrize("seed", range(4))
def test_counts_are_those_of_the_rows(seed: int) -> None:
    problem = drawn(seed, "classes weighted", n=(4, 130, 200, 90)[seed], d=8, size=7)
    table, columns = CardTable(problem), np.random.default_rng(seed).permutation(8)
    counts = SubsetCounts(table, columns)
    assert counts.position[columns].tolist() == list(range(8))
    X, sides = problem.columns[:, columns] > 0, [(problem.weights > 0) & (problem.labels == y) for y in (-1.0, 1.0)]
    for size in range(7):
        sets = np.array(list(itertools.combinations(range(8), size)), dtype=np.int64).reshape(math.comb(8, size), size)
        if size:
            every = [[np.sum(side & X[:, own].all(axis=1)) for own in sets] for side in sides]
            assert counts.count(sets).tolist() == every
        cells = counts.cells(sets[:5])
        for at, own in enumerate(sets[:5]):
            for pattern in range(2**size):
                wanted = [bool(pattern >> place & 1) for place in range(size)]
                alike = np.all(X[:, own] == wanted, axis=1)
                assert cells[:, pattern, at].tolist() == [np.sum(side & alike) for side in sides]
    for side, label in enumerate((-1.0, 1.0)):
        own = problem.weights[(problem.labels == label) & (problem.weights > 0)]
        assert counts.unit[side] == own.max(initial=0.0)


def test_counts_are_used_only_where_they_decide() -> None:
    columns = np.arange(6)
    assert SubsetCounts.suits(CardTable(drawn(0, "counted")), columns)
    assert SubsetCounts.suits(CardTable(drawn(0, "classes weighted")), columns)
    assert not SubsetCounts.suits(CardTable(drawn(0, "rows weighted")), columns)
    assert not SubsetCounts.suits(CardTable(drawn(0, "numbers")), columns)
    assert not SubsetCounts.suits(CardTable(drawn(0, "shift")), columns)
    assert not SubsetCounts.suits(CardTable(drawn(0, "counted", d=9, size=8)), np.arange(9))


def test_tables_of_counts_may_be_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """With fewer tables more is counted from the bits: the same bounds."""
    problem = drawn(1, "counted", n=140, d=8, size=5)
    table, columns = CardTable(problem), np.arange(8)
    found = []
    for most in (10**6, 30):
        monkeypatch.setattr("surefoot.riskscore.certificate.subset_counts.LARGEST_TABLE", most)
        counts = SubsetCounts(table, columns)
        claim = node_claims(
            table, INTERCEPTS, np.array([[0, 1, 3, 4]]), np.array([0, 3]), np.array([5, 6, 7]),
            np.array([EXCLUDED, EXCLUDED, CHILD]), np.array([[0.3, -0.5, 0.2, 0.7, 0.1]]), np.array([True]),
        )  # fmt: skip
        found.append(bounds_of(claim, [CountedPlanes(table, counts, exact=True)], 1e9)[0])
    assert counts.tabled == 2
    assert found[0] == pytest.approx(found[1], abs=1e-14)


def test_points_far_out_bound_as_well() -> None:
    """Scores beyond the cut: the plane is another one, and holds."""
    problem = drawn(2, "counted", n=140)
    ways = ways_of(CardTable(problem))
    support = np.array([[0, 1]])
    low, high = np.array([[-3.0, -2.0, -2.0]]), np.array([[4.0, 3.0, 3.0]])
    cards = np.array(list(itertools.product(range(-3, 5), range(-2, 4), range(-2, 4))), dtype=float)
    scores = cards[:, :1] + cards[:, 1:] @ problem.columns[:, :2].T
    best = (np.logaddexp(0, -problem.labels * scores) @ problem.weights).min() + 0.02
    for point in ([1e99, -1e99, 3.0], [40.0, -80.0, 2.0], [0.0, 0.0, 0.0], [-35.0, 0.0, 70.0]):
        claim = boxes_of(support, low, high, np.array([point]))
        assert bounds_of(claim, ways, -1e9)[0] <= best + 1e-14


@pytest.mark.parametrize("form", ["counted", "counted, free scale", "classes weighted"])
def test_counted_bounds_are_below_those_in_ball_arithmetic(form: str) -> None:
    """The one error bound against balls of 128 bits: never above, and close."""
    flint = pytest.importorskip("surefoot.core.flint_enclosure", exc_type=ImportError)
    problem = drawn(3, form, n=140, d=8, size=5)
    problem = dataclasses.replace(problem, intercept_lower=-100, intercept_upper=100)
    ways = ways_of(CardTable(problem))
    assert len(ways) == 3
    rng = np.random.default_rng(0)
    support = np.sort(np.array([rng.permutation(8)[:3] for _ in range(20)]), axis=1)
    low, high = np.sort(rng.integers(-100, 100, (2, 20, 4)).astype(float), axis=0)
    claim = boxes_of(support, low, high, rng.normal(size=(20, 4)) * 3)
    found = bounds_of(claim, ways[:1], -1e9)
    with computing_in(flint.FlintEnclosure):
        balls = bounds_of(claim, ways_of(CardTable(problem))[-1:], -1e9)
    assert np.all(found <= balls)
    assert np.all(found >= balls - 1e-10)


@pytest.mark.parametrize("form", ["counted", "rows weighted"])
def test_the_smaller_of_both_bounds_of_a_node_counts(form: str) -> None:
    """A column of zeros gains nothing and costs a penalty: cards without it are the better ones."""
    problem = drawn(1, form, n=140)
    X = problem.columns.copy()
    X[:, 5] = 0.0
    problem = dataclasses.replace(problem, columns=X)
    ways = ways_of(CardTable(problem))
    low, high = np.array([-3.0, -2.0]), np.array([4.0, 3.0])
    point = np.array([0.2, -0.4])
    for own, size in ((False, 2), (True, 1)):
        names = np.array([[0]]), np.array([0, 1]), np.array([5]), np.array([EXCLUDED])
        claim = node_claims(ways[0].table, INTERCEPTS, *names, point[None, :], np.array([own]))
        expected = least(problem, [0], point, low, high) + 0.01 * size
        assert bounds_of(claim, ways, -1e9)[0] == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize("form", ["counted", "counted, free scale", "numbers", "shift"])
def test_without_a_proof_one_plane_bounds_all_cards(form: str) -> None:
    problem = drawn(2, form, n=140 if form != "shift" else 12, size=3)
    problem = dataclasses.replace(problem, lower=np.full(6, -1), upper=np.full(6, 1), penalty=0.001)
    odds = problem.weights[problem.labels > 0].sum() / problem.weights[problem.labels < 0].sum()
    point = np.append(math.log(odds), np.random.default_rng(0).normal(size=6) * 0.05)
    constant, slopes, _ = plane(dataclasses.replace(problem, shift=None), list(range(6)), point)
    gains = np.sort(np.abs(slopes[1:]))[::-1][:3]
    bounds = [
        constant + t * min(-3 * slopes[0], 4 * slopes[0]) - np.maximum(t * gains - 0.001, 0.0).sum()
        for t in ((0.5, 2.0) if problem.scale == "free" else (1.0,))
    ]
    found = certify_risk_score(problem, RiskScore(0, np.zeros(6, dtype=np.int32)), None, 1e-9, tangent=point)
    assert 0 < found.lower_bound < found.upper_bound
    assert found.lower_bound == pytest.approx(min(bounds), abs=1e-11)


def test_the_price_of_columns_that_move_is_the_best_within_the_box() -> None:
    """Their points are bounded by price and box: the least lies where one of the two is met, above or below."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(12, 2)).round(1)
    y = np.where(X[:, 0] - X[:, 1] + rng.normal(size=12) > 0, 1.0, -1.0)
    shift = ScoreShift(0.03, np.array([1.0, 1.6]), np.zeros(2, dtype=bool), 2.0)
    problem = RiskScoreProblem(X, y, np.full(12, 1 / 12), np.full(2, -2), np.full(2, 3), *INTERCEPTS, 2, 0.01, shift=shift)
    ways = ways_of(CardTable(problem))
    for low, high in ((-1.0, 2.0), (-2.0, 1.0), (1.0, 3.0), (-2.0, -1.0)):
        for _ in range(10):
            point = np.append(rng.normal(size=3), [rng.uniform(0.1, 1.0), 0.1])
            ends = np.array([-1.0, low, low]), np.array([1.0, high, high])
            claim = boxes_of(np.array([[0, 1]]), ends[0][None, :], ends[1][None, :], point[None, :])
            expected = least(problem, [0, 1], point, *ends) + 0.02
            assert bounds_of(claim, ways, 0.0)[0] == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize("budget", range(4))
@pytest.mark.parametrize("seed", range(3))
def test_a_node_counts_every_set_of_columns_that_it_may_add(budget: int, seed: int):
    """The most that a support with a pruned candidate gains, by trying all of them: one column of room less would be less."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 7, 8)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    gains = rng.normal(size=starts[-1]).round(1)
    marks = rng.integers(0, 4 if budget else 3, starts[-1])
    marks[marks == 1] = 1 if budget else 0
    if budget and seed == 2:
        marks[marks == EXCLUDED] = CHILD  # what is not excluded counts as well
    found = largest_gains(gains, marks, starts, budget)
    for k in range(8):
        own, mark = gains[starts[k] : starts[k + 1]], marks[starts[k] : starts[k + 1]]
        best = -np.inf
        for size in range(1, budget + 2):
            for chosen in itertools.combinations(range(len(own)), size):
                excluded = any(mark[j] == EXCLUDED for j in chosen)
                if excluded or mark[chosen[0]] == NOT_FIRST:
                    best = max(best, sum(own[j] for j in chosen))
        assert found[k] == pytest.approx(best, abs=1e-12)
        assert found[k] >= best
