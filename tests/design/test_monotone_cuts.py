"""Cuts of rising and falling shares against trying all of them, and bounds that no cuts go below."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from surefoot.design.binarize import cuts
from surefoot.design.binarize.cut_bound import _isotonic_bound, cut_bound, cut_objective
from surefoot.design.binarize.cuts import Direction, supervised_cuts

counts = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)).filter(any), min_size=2, max_size=9)
directions = st.sampled_from(["increasing", "decreasing", "either"])
shares = st.sampled_from([0.0, 0.1, 0.2, 0.3])


def shares_of(table: np.ndarray, chosen: tuple[int, ...]) -> list[float]:
    return [part[:, 0].sum() / part.sum() for part in np.split(table, [cut + 1 for cut in chosen])]


def obeys(found: list[float], direction: Direction | None) -> bool:
    rises, falls = found == sorted(found), found == sorted(found, reverse=True)
    return {None: True, "increasing": rises, "decreasing": falls, "either": rises or falls}[direction]


def objective(table: np.ndarray, chosen: tuple[int, ...]) -> float:
    total = len(chosen) * math.log(table.sum())
    for part in np.split(table, [cut + 1 for cut in chosen]):
        total -= sum(own * math.log(own / part.sum()) for own in part.sum(axis=0) if own)
    return total


def best_of_all(table: np.ndarray, most: int, share: float, direction: Direction | None) -> float:
    """Objective of the best cuts; infinite where a direction leaves none."""
    values = {
        chosen: objective(table, chosen)
        for k in range(1, min(most, len(table) - 1) + 1)
        for chosen in combinations(range(len(table) - 1), k)
    }
    heavy = {
        chosen: value
        for chosen, value in values.items()
        if min(part.sum() for part in np.split(table, [cut + 1 for cut in chosen])) >= share * table.sum() - 1e-9
    }
    allowed = heavy or {one: value for one, value in values.items() if len(one) == 1}
    return min((value for one, value in allowed.items() if obeys(shares_of(table, one), direction)), default=math.inf)


@given(counts, st.integers(1, 4), shares, directions)
def test_cuts_under_a_direction_are_the_best_of_all(found: list, most: int, share: float, direction: Direction) -> None:
    table = np.array(found, dtype=float)
    best = best_of_all(table, most, share, direction)
    chosen = tuple(supervised_cuts(table[:, 0], table[:, 1], most, share, direction).tolist())
    if best == math.inf:
        assert chosen == ()
        return
    assert obeys(shares_of(table, chosen), direction)
    assert objective(table, chosen) == pytest.approx(best, rel=1e-12, abs=1e-12)
    assert cut_objective(table[:, 0], table[:, 1], np.array(chosen)) == pytest.approx(best, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("most_values", [4, 1500])
@given(found=counts, most=st.integers(1, 4), share=shares, direction=st.none() | directions)
def test_no_cuts_are_below_the_bound(
    found: list, most: int, share: float, direction: Direction | None, most_values: int
) -> None:
    """With few values to try, the bounds are those of the relaxations."""
    table = np.array(found, dtype=float)
    best = best_of_all(table, most, share, direction)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("surefoot.design.binarize.cut_bound.PARAMETERS", cuts.CutParameters(most_values=most_values))
        bound = cut_bound(table[:, 0], table[:, 1], most, share, direction)
    assert bound <= best
    if most_values == 1500 and best < math.inf:
        assert bound == pytest.approx(best, rel=1e-8, abs=1e-8)


@given(counts, st.integers(1, 4), st.sampled_from(["increasing", "decreasing"]))
def test_without_a_least_share_the_bound_of_isotonic_regression_is_the_best_objective(
    found: list, most: int, direction: Direction
) -> None:
    table = np.array(found, dtype=float)
    best = best_of_all(table, most, 0.0, direction)
    exact = _isotonic_bound(table[:, 0], table[:, 1], most, rising=direction == "increasing")
    if best < math.inf:
        assert exact == pytest.approx(best, rel=1e-8, abs=1e-8)


@pytest.mark.parametrize("direction", [None, "increasing"])
def test_of_many_distinct_values_cuts_are_near_the_bound_and_obey(direction: Direction | None) -> None:
    draw = np.random.default_rng(0)
    up = (draw.random(4000) < 0.1 + 0.6 * (np.arange(4000) > 1500) + 0.2 * (np.arange(4000) > 3000)).astype(float)
    chosen = supervised_cuts(up, 1 - up, 4, 0.05, direction)
    found = shares_of(np.column_stack([up, 1 - up]), tuple(chosen.tolist()))
    assert obeys(found, direction)
    bound, value = cut_bound(up, 1 - up, 4, 0.05, direction), cut_objective(up, 1 - up, chosen)
    assert bound <= value <= 1.01 * bound
