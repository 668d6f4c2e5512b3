"""Groups of rows: names in sorted order, whatever sequence they come in; gaps and mixed labels are refused by name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from surefoot.design.encode.row_groups import read_row_groups
from surefoot.exceptions import InvalidTableError

TEXT = ["b", "a", "b", "c"]


@pytest.mark.parametrize(
    "groups",
    [TEXT, np.array(TEXT), np.array(TEXT, dtype=object), pd.Series(TEXT), pd.Series(TEXT, dtype="category"), pl.Series(TEXT),
     pa.chunked_array([TEXT])],
    ids=["list", "text array", "objects", "pandas", "categorical", "polars", "pyarrow"],
)  # fmt: skip
def test_names_are_sorted_whatever_the_sequence(groups: Any) -> None:
    read = read_row_groups(groups, 4)
    assert read.names == ("a", "b", "c")
    assert read.codes.tolist() == [1, 0, 1, 2]


def test_numbers_are_names_too() -> None:
    read = read_row_groups(np.array([10, 2, 10]), 3)
    assert read.names == (2, 10) and read.codes.tolist() == [1, 0, 1]


@pytest.mark.parametrize(
    "groups", [["a", None, "b"], np.array([1.0, np.nan, 2.0]), pd.Series(["a", pd.NA, "b"]), pl.Series(["a", None, "b"])]
)
def test_a_missing_group_is_refused_with_its_row(groups: Any) -> None:
    with pytest.raises(InvalidTableError, match=r"groups has 1 missing value\(s\), the first in row 1"):
        read_row_groups(groups, 3)


def test_every_row_needs_a_group() -> None:
    with pytest.raises(InvalidTableError, match="X has 4 rows, groups has 3 entries"):
        read_row_groups([1, 2, 3], 4)


def test_a_group_has_the_label_of_its_rows() -> None:
    groups = read_row_groups(["b", "a", "b"], 3)
    assert groups.labels(np.array([1.0, -1.0, 1.0]), np.array(["no", "yes"])).tolist() == [-1.0, 1.0]


def test_a_group_with_two_labels_is_refused_with_its_name_and_two_rows() -> None:
    groups = read_row_groups(["b", "a", "b", "b"], 4)
    with pytest.raises(InvalidTableError, match="group 'b' has rows of both classes: row 0 is 'yes', row 3 is 'no'"):
        groups.labels(np.array([1.0, -1.0, 1.0, -1.0]), np.array(["no", "yes"]))


def test_some_rows_keep_their_groups_and_their_numbers() -> None:
    some = read_row_groups(["b", "a", "c", "b", "c"], 5).take(np.array([2, 3, 4]))
    assert some.names == ("b", "c") and some.codes.tolist() == [1, 0, 1]
    with pytest.raises(InvalidTableError, match="group 'c' has rows of both classes: row 2 is 'no', row 4 is 'yes'"):
        some.labels(np.array([-1.0, -1.0, 1.0]), np.array(["no", "yes"]))
