"""Whole numbers that a double cannot hold are refused: two of them would become one value, and a proof would be about that."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

import surefoot as sf
from surefoot.design.read.table import read_table

BEYOND = 2**53 + 1
WAYS: dict[str, Callable[[list[int]], Any]] = {
    "frame": lambda column: pd.DataFrame({"t": column, "u": 0}),
    "frame with gaps": lambda column: pd.DataFrame({"t": pd.array([*column[:-1], None], dtype="Int64"), "u": 0}),
    "array": lambda column: np.column_stack([column, np.zeros_like(column)]),
    "objects": lambda column: pd.DataFrame({"t": np.array(column, dtype=object), "u": 0}),
    "sparse": lambda column: scipy.sparse.csr_array(np.column_stack([column, np.zeros_like(column)])),
}


def numbers(X: Any) -> Any:
    table = read_table(X)
    return table.numbers(range(len(table.columns)))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("sign", [1, -1])
def test_a_whole_number_that_would_be_rounded_is_refused_by_name(way: str, sign: int) -> None:
    with pytest.raises(sf.InvalidTableError, match=rf"row 1: {sign * BEYOND} is a whole number that 64-bit") as told:
        numbers(WAYS[way]([1, sign * BEYOND, 3]))
    assert ("'t'" if "frame" in way or way == "objects" else "column 0") in str(told.value)


@pytest.mark.parametrize("way", WAYS)
def test_large_whole_numbers_that_doubles_hold_are_read(way: str) -> None:
    exact = [2**53, -(2**60), 2**62]
    found = numbers(WAYS[way](exact))
    column = (found.toarray() if scipy.sparse.issparse(found) else found)[:, 0]
    assert column[:2].tolist() == [float(value) for value in exact[:2]]


def test_what_a_mask_hides_is_not_looked_at() -> None:
    hidden = pd.arrays.IntegerArray(np.array([1, BEYOND]), np.array([False, True]))
    found = numbers(pd.DataFrame({"t": hidden}))
    assert found[0, 0] == 1.0 and np.isnan(found[1, 0])


@pytest.mark.parametrize("model", [sf.RobustLogisticRegression(), sf.RiskScoreClassifier(), sf.ChanceConstrainedSVC()])
def test_no_family_proves_anything_about_rounded_rows(model: Any) -> None:
    y = np.arange(20) % 2
    with pytest.raises(sf.InvalidTableError, match="9007199254740993 is a whole number"):
        model.fit(pd.DataFrame({"t": 2**53 + y}), y)
