"""Cuts against trying all of them, and thresholds that never move a row."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from surefoot.design.binarize import cuts
from surefoot.design.binarize.cuts import quantile_cuts, readable_threshold, spelled, supervised_cuts

Counts = list[tuple[int, int]]
counts = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)).filter(any), min_size=2, max_size=9)
finite = st.floats(allow_nan=False, allow_infinity=False)


def loss(table: np.ndarray, chosen: tuple[int, ...]) -> float:
    """Negative log-likelihood of a step function, term by term."""
    total = 0.0
    for part in np.split(table, [cut + 1 for cut in chosen]):
        up, down = part.sum(axis=0)
        total -= sum(own * math.log(own / (up + down)) for own in (up, down) if own)
    return total


@given(counts, st.integers(1, 4), st.sampled_from([0.0, 0.1, 0.2, 0.3]))
def test_supervised_cuts_are_the_best_of_all_under_the_criterion(found: Counts, most: int, share: float) -> None:
    table = np.array(found, dtype=float)
    price = math.log(table.sum())
    values = {
        chosen: loss(table, chosen) + k * price
        for k in range(1, min(most, len(table) - 1) + 1)
        for chosen in combinations(range(len(table) - 1), k)
    }
    allowed = {
        chosen: value
        for chosen, value in values.items()
        if min(part.sum() for part in np.split(table, [cut + 1 for cut in chosen])) >= share * table.sum() - 1e-9
    }
    if not allowed:
        allowed = {chosen: value for chosen, value in values.items() if len(chosen) == 1}
    chosen = tuple(supervised_cuts(table[:, 0], table[:, 1], most, share).tolist())
    assert chosen in allowed
    assert allowed[chosen] == pytest.approx(min(allowed.values()), rel=1e-12, abs=1e-12)


def test_a_step_in_the_labels_is_found_where_it_is() -> None:
    up = np.where(np.arange(100) < 37, 1.0, 9.0)
    assert supervised_cuts(up, 10 - up, 5).tolist() == [36]


def test_two_steps_take_two_cuts_although_five_are_allowed() -> None:
    at = np.arange(60)
    up = np.where((at >= 20) & (at < 45), 18.0, 2.0)
    assert supervised_cuts(up, 20 - up, 5).tolist() == [19, 44]


@pytest.mark.parametrize("share", [0.0, 0.05])
def test_many_distinct_values_are_thinned_to_candidates_and_cuts_then_refined(
    monkeypatch: pytest.MonkeyPatch, share: float
) -> None:
    draw = np.random.default_rng(0)
    up = (draw.random(600) < np.where(np.arange(600) < 220, 0.1, 0.9)).astype(float)
    exact = supervised_cuts(up, 1 - up, 1, share)
    values = [loss(np.column_stack([up, 1 - up]), (cut,)) for cut in range(599)]
    assert values[exact[0]] == pytest.approx(min(values), rel=1e-12)
    monkeypatch.setattr(cuts, "PARAMETERS", cuts.CutParameters(max_candidates=30))
    np.testing.assert_array_equal(supervised_cuts(up, 1 - up, 1, share), exact)
    several = supervised_cuts(up, 1 - up, 4, share)
    parts = np.diff(np.concatenate([[0], several + 1, [600]]))
    assert np.all(np.diff(several) > 0) and parts.min() >= share * 600


def test_labels_that_say_nothing_leave_one_cut() -> None:
    assert supervised_cuts(np.ones(4), np.ones(4), 3).size == 1


@given(st.lists(st.integers(1, 20), min_size=2, max_size=12), st.integers(1, 5))
def test_each_quantile_has_the_cut_nearest_to_it(weights: list[int], most: int) -> None:
    found = quantile_cuts(np.array(weights, dtype=float), most)
    assert np.all(np.diff(found) > 0) and found.min() >= 0 and found.max() <= len(weights) - 2
    if len(weights) - 1 <= most:
        assert found.size == len(weights) - 1
        return
    below = np.cumsum(weights)[:-1]
    for j in range(1, most + 1):
        gaps = np.abs(below * (most + 1) - j * sum(weights))
        assert gaps[found].min() == gaps.min()


@given(finite, finite)
@example(0.1, 0.3)
@example(0.29999999999999993, 0.3)
@example(5e-324, 1e-323)
@example(-1.7e308, -1.6e308)
@example(1.0, math.nextafter(1.0, 2.0))
def test_a_readable_threshold_parts_the_same_two_values(one: float, other: float) -> None:
    low, high = sorted((one, other))
    if low == high:
        return
    assert low < readable_threshold(low, high) <= high


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (71.3, 78.0, 75.0),
        (74.0, 75.0, 75.0),
        (37.0, 38.0, 38.0),
        (0.1234, 0.1239, 0.1235),
        (-3.0, 8.0, 0.0),
        (-3.0, 0.0, 0.0),
        (-8.0, -3.0, -5.0),
        (99.0, 101.0, 100.0),
        (1234.0, 98765.0, 50000.0),
        (61.0, 64.0, 62.0),
        (60.0, 80.0, 70.0),
        (0.0, 1.0, 1.0),
    ],
)
def test_thresholds_are_the_numbers_people_would_choose(low: float, high: float, expected: float) -> None:
    assert readable_threshold(low, high) == expected


@given(finite)
def test_a_number_is_spelled_so_that_reading_gives_it_back(number: float) -> None:
    assert float(spelled(number)) == number


def test_whole_numbers_are_spelled_without_a_point() -> None:
    assert [spelled(x) for x in (75.0, -3.0, 0.5, 1e300)] == ["75", "-3", "0.5", "1e+300"]
