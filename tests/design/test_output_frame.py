"""Tables on their way out."""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from surefoot.design.write.output_frame import build_frame, frame_library

COLUMNS: dict[str, Any] = {
    "place": np.array([3, 5]),
    "share": np.array([0.5, 0.25]),
    "sure": np.array([True, False]),
    "text": ["a", None],
    "number": [None, 7],
    "mixed": ["a", 1.5],
}


@pytest.mark.parametrize(
    ("table", "name"),
    [
        (pd.DataFrame({"a": [1]}), "pandas"),
        (pl.DataFrame({"a": [1]}), "polars"),
        (pa.table({"a": [1]}), "pyarrow"),
        (np.ones((2, 2)), None),
        ([[1, 2]], None),
    ],
)
def test_a_library_is_remembered_by_its_name(table: Any, name: str | None) -> None:
    assert frame_library(table) == name


def test_pandas_keeps_every_value_as_it_is() -> None:
    table = build_frame(COLUMNS, "pandas")
    assert isinstance(table, pd.DataFrame)
    assert {name: table[name].tolist() for name in table} == {name: list(values) for name, values in COLUMNS.items()}
    assert table["text"][1] is None
    assert table.dtypes[["place", "share", "sure"]].astype(str).tolist() == ["int64", "float64", "bool"]


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_typed_libraries_get_one_type_per_column(library: str) -> None:
    table = build_frame(COLUMNS, library)
    content = table.to_dict(as_series=False) if library == "polars" else table.to_pydict()
    assert content == {**{name: list(values) for name, values in COLUMNS.items()}, "mixed": ["a", "1.5"]}


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_empty_columns_and_columns_of_gaps_are_columns(library: str) -> None:
    table = build_frame({"text": [], "number": np.zeros(0)}, library)
    assert table.shape == (0, 2)
    assert build_frame({"text": [None, None]}, library).shape == (2, 1)


def test_arrays_get_pandas_if_it_is_there_and_records_if_not(monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(build_frame(COLUMNS, None), pd.DataFrame)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    records = build_frame(COLUMNS, None)
    assert isinstance(records, np.recarray)
    assert records.place.tolist() == [3, 5]
    assert records["mixed"].tolist() == ["a", 1.5]
    assert records["text"].tolist() == ["a", None]
