"""Distances and bounds of transport against linear programmes, and what cannot matter to them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import linprog

import surefoot as sf
from surefoot.shift.comparison import compare as comparing
from surefoot.shift.comparison.column_distance import pooled_column
from surefoot.shift.comparison.column_pairs import CategoricalPair, NumericPair, scaled_values
from surefoot.shift.comparison.observed_radius import column_bound
from surefoot.shift.comparison.transport import priced_rows, transport_bounds

NORMS = ("l1", "l2", "linf")


@pytest.fixture(autouse=True)
def few_matched_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparing, "PARAMETERS", replace(comparing.PARAMETERS, matched_rows=100))


def cheapest_plan(costs: np.ndarray) -> float:
    """The optimum of the transport problem as a linear programme with all its variables."""
    n_a, n_b = costs.shape
    sums = np.vstack([np.kron(np.eye(n_a), np.ones(n_b)), np.kron(np.ones(n_a), np.eye(n_b))])
    sides = np.concatenate([np.full(n_a, 1 / n_a), np.full(n_b, 1 / n_b)])
    found = linprog(costs.ravel(), A_eq=sums, b_eq=sides, method="highs")
    assert found.status == 0
    return float(found.fun)


def random_pairs(seed: int) -> tuple[Any, Any, Any]:
    """Columns of two small tables, and the cost of every pair of rows for each norm, row by row."""
    draw = np.random.default_rng(seed)
    n_a, n_b = draw.integers(1, 9, 2).tolist()
    numbers = [(draw.integers(-3, 4, n_a) * 1.5, draw.normal(size=n_b)) for _ in range(int(draw.integers(1, 3)))]
    gaps = [(draw.random(n_a) < 0.2, draw.random(n_b) < 0.2) for _ in numbers]
    codes = [(draw.integers(0, 3, n_a), draw.integers(0, 3, n_b)) for _ in range(int(draw.integers(0, 3)))]
    prices = draw.uniform(0.2, 2, len(numbers) + len(codes))
    columns: list[Any] = []
    for at, (pair, missing) in enumerate(zip(numbers, gaps, strict=True)):
        scaled, centre, unit = scaled_values(*pair)
        columns.append(NumericPair(f"x{at}", scaled, missing, centre, unit, float(prices[at]), gap_price=0.7))
    for at, pair in enumerate(codes):
        columns.append(CategoricalPair(f"z{at}", pair, ("a", "b", "c"), float(prices[len(numbers) + at])))
    costs = {norm: np.empty((n_a, n_b)) for norm in NORMS}
    order = {"l1": 1, "l2": 2, "linf": np.inf}
    for i in range(n_a):
        for j in range(n_b):
            moved = [price * abs(pair[0][i] - pair[1][j]) for price, pair in zip(prices, numbers, strict=False)]
            changed = sum(0.7 for missing in gaps if missing[0][i] != missing[1][j])
            changed += sum(
                float(price) for price, pair in zip(prices[len(numbers) :], codes, strict=True) if pair[0][i] != pair[1][j]
            )
            for norm in NORMS:
                costs[norm][i, j] = np.linalg.norm(moved, order[norm]) + changed
    return tuple(columns), (n_a, n_b), costs


@pytest.mark.parametrize("seed", range(12))
def test_the_optimal_cost_lies_between_the_bounds(seed: int) -> None:
    columns, (n_a, n_b), costs = random_pairs(seed)
    for norm in NORMS:
        best = cheapest_plan(costs[norm])
        cost, first, second = priced_rows(columns, norm)  # type: ignore[arg-type]
        np.testing.assert_allclose(cost.matrix(first, second), costs[norm], atol=1e-12)
        bounds = transport_bounds(cost, first, second)
        assert bounds.lower <= best + 1e-12 and best <= bounds.upper + 1e-12
        if n_a == n_b:
            assert bounds.upper - bounds.lower < 1e-9, "as many rows of each table make an assignment problem, which is solved"
        alone = np.array([pooled_column(column).distance(np.arange(n_a)) for column in columns])
        assert column_bound(columns, alone, norm) <= best + 1e-12  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", range(6))
def test_the_distance_of_one_column_is_the_cheapest_plan(seed: int) -> None:
    columns, (n_a, _), _ = random_pairs(seed)
    for column in columns:
        if isinstance(column, NumericPair):
            apart = np.abs(column.values[0][:, None] - column.values[1][None, :]) * column.scaled_price
            gaps = 0.7 * abs(column.gaps[0].mean() - column.gaps[1].mean())
            expected = cheapest_plan(apart) + gaps
        else:
            expected = cheapest_plan(column.price * (column.codes[0][:, None] != column.codes[1][None, :]))
        assert pooled_column(column).distance(np.arange(n_a)) == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize("norm", NORMS)
def test_what_columns_pay_adds_up_to_what_the_rows_pay(norm: Any) -> None:
    columns, _, costs = random_pairs(3)
    cost, first, second = priced_rows(columns, norm)
    n = min(len(first.codes), len(second.codes))
    rows = np.arange(n)
    parts = cost.parts(first[rows], second[rows])
    np.testing.assert_allclose(parts.sum(axis=1), costs[norm][rows, rows], atol=1e-12)
    assert np.all(parts >= 0)


def tables(n_a: int = 60, n_b: int = 45) -> tuple[pd.DataFrame, pd.DataFrame]:
    draw = np.random.default_rng(1)

    def one(n: int, centre: float) -> pd.DataFrame:
        return pd.DataFrame({"x": draw.normal(centre, 2.0, n), "w": draw.normal(size=n), "z": draw.choice(["a", "b", "c"], n)})

    return one(n_a, 0.0), one(n_b, 3.0)


def numbers(found: Any) -> list[tuple[Any, ...]]:
    return [(line.name, line.distance, line.by_chance, line.p_value, line.joint_by_chance) for line in found.lines]


def test_a_table_is_at_no_distance_from_itself_in_any_order() -> None:
    X, _ = tables()
    for other in (X, X.sample(frac=1, random_state=0)):
        found = sf.compare(X, other, n_permutations=39)
        assert [line.distance for line in found.lines] == [0.0, 0.0, 0.0]
        assert found.radius.estimate == found.radius.upper - found.radius.upper == 0 and found.radius.lower == 0
        assert found.radius.upper < 1e-12
        assert found.joint.cost == 0 and not found.beyond_chance and found.radius.p_value == 1


def test_units_and_offsets_do_not_matter() -> None:
    a, b = tables()
    plain = numbers(sf.compare(a, b, n_permutations=39))
    for scale, offset in ((1000.0, 0.0), (1e-6, 0.0), (1.0, 1e9), (2.0**40, -(2.0**60))):
        moved = [table.assign(x=table["x"] * scale + offset) for table in (a, b)]
        for before, after in zip(plain, numbers(sf.compare(*moved, n_permutations=39)), strict=True):
            # Numbers around 2^60 keep 13 of the 53 bits below 2^13 times their spread.
            np.testing.assert_allclose(after[1:], before[1:], rtol=1e-5)
            assert after[0] == before[0]


def test_values_at_the_ends_of_the_floating_point_numbers_are_compared() -> None:
    a = np.array([[-1.7e308], [1.7e308], [0.0], [1e300]])
    found = sf.compare(a, a[::-1], n_permutations=39)
    assert found.lines[0].distance == 0
    far = sf.compare(a, -np.abs(a), n_permutations=39)
    assert 0 < far.lines[0].distance < 3


def test_longer_tables_have_no_upper_bound_and_say_so() -> None:
    a, b = tables()
    whole, part = sf.compare(a, b, n_permutations=39), sf.compare(a, b, n_permutations=39, max_rows=50)
    assert "and at most" in repr(whole) and whole.radius.lower <= whole.radius.upper
    assert np.isnan(part.radius.upper) and "and at most" not in repr(part)
    assert part.radius.lower <= whole.radius.lower
