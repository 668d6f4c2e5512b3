"""Native and MILP branch and bound, against all 0/1 vectors."""

from __future__ import annotations

import numpy as np
import pytest
from reference.enumerated_inverse import binary_vectors

from surefoot.core.outcome import Status
from surefoot.inverse.oracle.binary_search import BinarySearch
from surefoot.inverse.oracle.milp_branch_and_bound import BranchAndBound
from surefoot.inverse.problem.decision_set import LinearSet

TABLES = {"none": None, "l2": lambda n: np.sqrt(np.arange(n + 1.0)), "zero-one": lambda n: np.minimum(np.arange(n + 1.0), 1.0)}


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("seed", range(25))
def test_both_searches_find_the_best_vector(table: str, seed: int) -> None:
    random = np.random.default_rng(seed)
    n, m = int(random.integers(1, 9)), int(random.integers(0, 5))
    matrix, high = random.uniform(-1, 1, (m, n)), random.uniform(-1, 1, m)
    low = np.where(random.uniform(size=m) < 0.3, high - random.uniform(0, 2, m), -np.inf)
    decisions = LinearSet(matrix, low, high, np.zeros(n), np.ones(n), np.ones(n, dtype=bool))
    response, cost = random.integers(0, 2, n).astype(float), random.normal(size=n)
    maker = TABLES[table]
    prices = None if maker is None else maker(n)
    points = binary_vectors(n)
    sides = points @ matrix.T
    points = points[np.all((sides <= high) & (sides >= low), axis=1)]
    for search in (BinarySearch(decisions, response), BranchAndBound(decisions, response)):
        found = search.search(cost, prices)
        if len(points) == 0:
            assert found.point is None
            assert found.status is Status.INFEASIBLE
            continue
        count = np.abs(points - response).sum(axis=1).astype(int)
        best = np.max(-points @ cost + (0.0 if prices is None else prices[count]))
        assert found.value == pytest.approx(best, abs=1e-7)
        assert found.bound >= best - 1e-12
        assert found.bound <= best + 1e-7
        assert any(np.array_equal(found.point, point) for point in points)
        # Nothing exceeds the best.
        assert search.search(cost, prices, cutoff=best + 1e-6).point is None


def test_programmes_forget_the_limits_and_tables_of_earlier_searches() -> None:
    random = np.random.default_rng(7)
    matrix, high = random.uniform(-1, 1, (4, 7)), random.uniform(0, 1, 4)
    decisions = LinearSet(matrix, np.full(4, -np.inf), high, np.zeros(7), np.ones(7), np.ones(7, dtype=bool))
    response = np.zeros(7)
    tree = BranchAndBound(decisions, response)
    for k in range(6):
        cost, table = random.normal(size=7), np.sqrt(np.arange(8.0)) if k % 2 else None
        assert tree.search(cost, table).value == pytest.approx(
            BinarySearch(decisions, response).search(cost, table).value, abs=1e-7
        )
