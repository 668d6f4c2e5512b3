"""Groups of rows by probability, against plain counting, and Wilson's interval against its own equation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from surefoot.reports.reliability import reliability_of, wilson_interval


@given(st.integers(1, 400), st.data())
def test_the_ends_of_the_interval_are_where_the_share_is_just_believable(count: int, data: st.DataObject) -> None:
    hits = data.draw(st.integers(0, count))
    share = hits / count
    ends = wilson_interval(np.array([share]), np.array([float(count)]))
    for end in (float(ends[0][0]), float(ends[1][0])):
        # The score test at the end rejects with exactly 5 %: (share - end)^2 = z^2 end (1 - end) / n.
        assert (share - end) ** 2 == pytest.approx(1.959963984540054**2 * end * (1 - end) / count, rel=1e-6, abs=1e-9)
    assert ends[0][0] <= share <= ends[1][0]


def test_few_distinct_probabilities_are_groups_of_their_own() -> None:
    probability = np.array([0.1, 0.9, 0.1, 0.5, 0.1])
    bins = reliability_of(probability, np.array([True, True, False, False, False]))
    assert bins.predicted.tolist() == pytest.approx([0.1, 0.5, 0.9])
    assert bins.observed.tolist() == pytest.approx([1 / 3, 0.0, 1.0])
    assert bins.weight.tolist() == [3, 1, 1]


@pytest.mark.parametrize("weighted", [False, True])
def test_groups_hold_everybody_once_and_never_part_equal_rows(weighted: bool) -> None:
    draw = np.random.default_rng(0)
    probability = np.round(draw.beta(0.5, 2, 500), 2)
    positive = draw.random(500) < probability
    weights = draw.uniform(0, 2, 500) if weighted else np.ones(500)
    bins = reliability_of(probability, positive, weights, n_bins=7)
    assert 2 <= bins.weight.size <= 7
    assert bins.weight.sum() == pytest.approx(weights.sum())
    assert bins.weight @ bins.predicted == pytest.approx(weights @ probability)
    assert bins.weight @ bins.observed == pytest.approx(weights @ positive)
    assert np.all(np.diff(bins.predicted) > 0)
    order = np.sort(np.unique(probability))
    masses = np.cumsum([weights[probability == value].sum() for value in order])
    ends = np.cumsum(bins.weight)
    assert all(np.min(np.abs(masses - end)) < 1e-9 for end in ends)


def test_predictions_outside_their_interval_are_counted() -> None:
    probability = np.repeat([0.2, 0.5], 100)
    positive = np.concatenate([np.arange(100) < 20, np.arange(100) < 80])
    assert reliability_of(probability, positive).n_outside == 1
