"""Programmes in the words of scipy.optimize learn what the same arrays learn."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, linprog, milp

import surefoot as sf
from surefoot.exceptions import InvalidObservationError
from surefoot.inverse import InverseOptimizer, InverseOptimizerCV, forward


def menus(count: int) -> tuple[np.ndarray, list[np.ndarray], list[Any]]:
    """Rows of nutrients, needs that change, and what SciPy buys at prices that nobody tells."""
    random = np.random.default_rng(3)
    rows, prices = random.uniform(0.2, 1.0, (3, 4)), np.array([2.0, 1.0, 3.0, 1.5])
    needs = [random.uniform(1.0, 2.0, 3) for _ in range(count)]
    return rows, needs, [linprog(prices, -rows, -need, bounds=(0, 9)) for need in needs]


def test_linprog_data_learn_what_the_arrays_learn() -> None:
    rows, needs, bought = menus(6)
    ours = InverseOptimizer(forward.from_scipy(-rows, bounds=(0, 9)), prior="nonnegative", kappa=0.01)
    ours.fit([{"b_ub": -need} for need in needs], bought)
    plain = InverseOptimizer(forward.LinearProgram(upper=9.0), prior="nonnegative", kappa=0.01)
    plain.fit([(-rows, -need) for need in needs], [each.x for each in bought])
    assert np.allclose(ours.cost_, plain.cost_, rtol=0, atol=1e-8)
    assert ours.certificate_.verified


def crews(count: int) -> tuple[np.ndarray, np.ndarray, list[np.ndarray], np.ndarray]:
    """Shifts that cover four hours, two of which are linked by an equality, and the crews of a planner."""
    random = np.random.default_rng(5)
    cover = np.array([[1.0, 1, 0, 0, 1], [0, 1, 1, 0, 0], [0, 0, 1, 1, 0], [1, 0, 0, 1, 1]])
    hidden, level = np.array([3.0, 2.0, 2.5, 1.0, 2.2]), np.array([[1.0, 0, 0, -1, 0]])
    needs, found = [], []
    while len(needs) < count:
        need = random.integers(0, 2, 4).astype(float)
        rules = [LinearConstraint(sparse.csr_array(cover), need, np.inf), LinearConstraint(level, 0, 0)]
        found.append(milp(hidden, integrality=np.ones(5), bounds=Bounds(0, 1), constraints=rules).x)
        needs.append(need)
    return cover, level, needs, np.array(found)


def test_milp_data_learn_what_a_binary_programme_learns() -> None:
    cover, level, needs, found = crews(8)
    rules = (LinearConstraint(sparse.csr_array(cover), 0, np.inf), LinearConstraint(level, 0, 0))
    planner = forward.from_scipy(constraints=rules, integrality=1, bounds=Bounds(0, 1))
    assert repr(planner) == "ArrayProgram(5 unknowns, 5 of them whole, 5 rows)"
    ours = InverseOptimizer(planner, kappa=0.1).fit([{"b_ub": -need} for need in needs], found)
    rows = np.vstack((-cover, level, -level))
    signals = [(rows, np.concatenate((-need, [0.0, 0.0]))) for need in needs]
    plain = InverseOptimizer(forward.BinaryProgram(), kappa=0.1).fit(signals, found)
    assert np.allclose(ours.cost_, plain.cost_, rtol=0, atol=1e-8)
    assert ours.certificate_.verified


def test_a_cost_may_price_sums_of_unknowns() -> None:
    rows, needs, bought = menus(6)
    sums = np.array([[1.0, 1, 0, 0], [0, 0, 1, 1]])
    program = forward.from_scipy(-rows, bounds=(0, 9), cost=sums, cost_names=["fresh", "tinned"])
    ours = InverseOptimizer(program, prior="simplex", kappa=0.01, distance="none", approach="suboptimality")
    ours.fit([{"b_ub": -need} for need in needs], bought)
    plain = InverseOptimizer(
        forward.LinearProgram(upper=9.0), prior="simplex", kappa=0.01, distance="none", approach="suboptimality",
        features=lambda _, x: sums @ x,
    )  # fmt: skip
    plain.fit([(-rows, -need) for need in needs], [each.x for each in bought])
    assert np.allclose(ours.cost_, plain.cost_, rtol=0, atol=1e-8)
    assert program.priced_by_name(ours.cost_) == dict(zip(("fresh", "tinned"), ours.cost_.tolist(), strict=True))


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_a_data_frame_of_responses_is_read_by_its_column_names(frame: Any) -> None:
    rows, needs, bought = menus(5)
    names = ["oats", "milk", "beef", "figs"]
    program = forward.from_scipy(-rows, bounds=(0, 9), names=names)
    signals = [{"b_ub": -need} for need in needs]
    table = frame({name: [each.x[k] for each in bought] for k, name in reversed(list(enumerate(names)))})
    ours = InverseOptimizer(program, prior="simplex", kappa=0.01).fit(signals, table)
    plain = InverseOptimizer(program, prior="simplex", kappa=0.01).fit(signals, [each.x for each in bought])
    assert ours.cost_.tolist() == plain.cost_.tolist()
    assert ours.score(signals, table) == plain.score(signals, [each.x for each in bought])
    search = InverseOptimizerCV(program, prior="simplex", kappas=[0.01], cv=2).fit(signals, table)
    assert search.cost_.tolist() == plain.cost_.tolist() and search.score(signals, table) == plain.score(signals, table)
    assert program.readable(bought[0].x)["figs"] == bought[0].x[3]
    with pytest.raises(InvalidObservationError, match="observation 0: the response does not name 'figs'"):
        InverseOptimizer(program).fit(signals, [{"oats": 1, "milk": 1, "beef": 1}] * 5)
    with pytest.raises(InvalidObservationError, match="observation 0: the response names 'salt', which is not there"):
        InverseOptimizer(program).fit(signals, [dict.fromkeys([*names, "salt"], 1.0)] * 5)


def test_a_saved_programme_decides_as_before(tmp_path: Path) -> None:
    cover, level, needs, found = crews(4)
    program = forward.from_scipy(
        -cover, np.zeros(4), level, [0.0], bounds=Bounds(0, 1), integrality=np.ones(5), names=list("abcde")
    )
    signals = [{"b_ub": -need} for need in needs]
    model = InverseOptimizer(program, kappa=0.1).fit(signals, found)
    sf.save(model, tmp_path / "planner")
    again = sf.load(tmp_path / "planner")
    assert np.array_equal(again.predict(signals), model.predict(signals))
    assert sf.verify(again, signals, found).verified
    assert repr(again.forward) == repr(program)


def test_arrays_of_other_problems_may_be_sparse_and_signals_mappings() -> None:
    cover, _, needs, _ = crews(6)
    found = [milp([3.0, 2, 2.5, 1, 2.2], integrality=1, bounds=(0, 1), constraints=(cover, need, np.inf)).x for need in needs]
    plain = InverseOptimizer(forward.BinaryProgram(), kappa=0.1).fit([(-cover, -need) for need in needs], found)
    signals = [{"A": sparse.csr_matrix(-cover), "b": -need} for need in needs]
    ours = InverseOptimizer(forward.BinaryProgram(), kappa=0.1).fit(signals, sparse.csr_array(np.array(found)))
    assert ours.cost_.tolist() == plain.cost_.tolist()
    with pytest.raises(InvalidObservationError, match="observation 0: the signal lacks 'b'"):
        plain.predict([{"A": cover}])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"A_ub": [[1.0, 1]], "b_ub": [1.0, 2]}, "A_ub has 1 rows, but b_ub has 2 entries"),
        ({"A_ub": [[1.0, 1]], "b_ub": [1.0], "bounds": [(0, 1)] * 3}, "one pair, or 2 pairs, and there are 3"),
        ({"A_ub": [[1.0, 1]], "b_ub": [1.0], "bounds": (2, 1)}, r"bounds of unknown 0 are \(2.0, 1.0\)"),
        ({"A_ub": [[1.0, 1]], "b_ub": [1.0], "integrality": [0, 2]}, "semi-continuous"),
        ({"A_ub": [[1.0, np.nan]], "b_ub": [1.0]}, r"A_ub holds nan at \[0, 1\]"),
        ({"A_ub": [[1.0]], "b_ub": [1.0], "constraints": ([[1.0]], 0, 1)}, "and not both"),
    ],
)
def test_what_makes_no_programme_is_refused_by_name(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        forward.from_scipy(**given)


def test_a_signal_with_an_unknown_part_is_refused() -> None:
    with pytest.raises(InvalidObservationError, match="observation 0: the signal has 'b'; it can have A_ub, b_ub"):
        InverseOptimizer(forward.from_scipy([[1.0, 1.0]], [1.0])).fit([{"b": [1.0]}], [[0.0, 1.0]])
