"""Text files by the fast path and by the careful one: the same cells, and errors at the same line."""

from __future__ import annotations

import csv
import io
import math
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surefoot.design.read.column_guess import ColumnTally
from surefoot.design.read.written_values import MISSING_TOKENS, Gaps, parse_levels, parse_numbers
from surefoot.design.stored.delimited import open_delimited
from surefoot.exceptions import InvalidTableError

CELLS = st.text(alphabet='ab1 ."\n\r,;é', max_size=4)


@settings(max_examples=80, deadline=None)
@given(
    rows=st.lists(st.tuples(CELLS, CELLS, CELLS), min_size=1, max_size=12),
    end=st.sampled_from(["\n", "\r\n"]),
    last=st.booleans(),
    blank=st.integers(0, 11),
    size=st.integers(1, 5),
)
def test_cells_are_those_of_the_csv_module(
    rows: list[tuple[str, str, str]], end: str, last: bool, blank: int, size: int
) -> None:
    text = io.StringIO(newline="")
    minimal, quoted = (csv.writer(text, lineterminator=end, quoting=how) for how in (csv.QUOTE_MINIMAL, csv.QUOTE_ALL))
    minimal.writerow(["x", "y", "z"])
    for at, row in enumerate(rows):
        # A lone carriage return ends a line for whoever reads, but is nothing special to the writer.
        (quoted if "\r" in "".join(row) else minimal).writerow(row)
        if at == blank:
            text.write(end)
    content = text.getvalue() if last else text.getvalue().removesuffix(end)
    expected = [row for row in csv.reader(io.StringIO(content, newline="")) if row][1:]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        path.write_bytes(content.encode())
        chunks = list(open_delimited(path, delimiter=",").chunks(["z", "x"], size))
    found = [row for chunk in chunks for row in zip(chunk["z"], chunk["x"], strict=True)]
    assert found == [(row[2], row[0]) for row in expected]


@pytest.mark.parametrize("before", [0, 1, 7, 20])
def test_a_row_of_another_length_is_named_by_its_line_however_many_came_before(tmp_path: Path, before: int) -> None:
    path = tmp_path / "table.csv"
    path.write_text("a,b\n" + "1,2\n" * before + "1,2,3\n" + "1,2\n" * 5)
    with pytest.raises(InvalidTableError, match=rf"line {before + 2}: 3 values, but the header has 2 names"):
        list(open_delimited(path, delimiter=",").chunks(["a"], 4))
    path.write_text("a,b\n" + "1,2\n" * before + '1,"2"x\n')
    with pytest.raises(InvalidTableError, match=rf"line {before + 2}: .* quotation marks"):
        list(open_delimited(path, delimiter=",").chunks(["a"], 4))


def test_one_row_too_long_does_not_make_up_for_one_too_short(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("a,b\n1,2\n1,2,3\n1\n1,2\n")
    with pytest.raises(InvalidTableError, match="line 3: 3 values"):
        list(open_delimited(path, delimiter=",").chunks(["a"], 100))


@pytest.mark.parametrize("value", ["1_000", "nan", "inf", "1.2.3", "0x1", "", "1e", "--1", "1 2"])
def test_what_only_python_calls_a_number_is_none(value: str) -> None:
    with pytest.raises(InvalidTableError, match=r"column 'x', row 11: .* is not a number"):
        parse_numbers(["5"] * 4 + [value], "plain", frozenset(), "x", 7)


def test_plain_numbers_and_others_are_read_alike() -> None:
    plain = ["1", "-2.5", "+3.", ".5", "6e2", "7E-1"]
    assert parse_numbers(plain, "plain", MISSING_TOKENS, "x", 0).tolist() == [1.0, -2.5, 3.0, 0.5, 600.0, 0.7]
    with_gaps = parse_numbers([*plain, " 8 ", "NA"], "plain", MISSING_TOKENS, "x", 0).tolist()
    assert with_gaps[:7] == [1.0, -2.5, 3.0, 0.5, 600.0, 0.7, 8.0] and math.isnan(with_gaps[7])


def test_a_number_that_stands_for_a_gap_is_a_gap_also_among_plain_numbers() -> None:
    missing = MISSING_TOKENS | {"-999"}
    assert np.isnan(parse_numbers(["1", "-999", "3"], "plain", missing, "x", 0)).tolist() == [False, True, False]
    tally = ColumnTally("x")
    for _ in range(3):
        tally.add([*map(str, range(200)), "-999"], missing)
    assert (tally.n_rows, tally.n_missing, tally.guess()) == (603, 3, "numeric")


def test_a_tally_of_many_numbers_counts_as_if_it_had_looked_at_each() -> None:
    quick, slow = ColumnTally("x"), ColumnTally("x")
    for start in range(0, 1000, 250):
        values = ["7", *(f"{at / 2}" if at % 3 else f"{at}" for at in range(start, start + 250))]
        quick.add(values, MISSING_TOKENS)
        slow.add([f" {value}" for value in values], MISSING_TOKENS)
    assert (
        (quick.n_rows, quick.n_missing, quick._styles)
        == (slow.n_rows, slow.n_missing, slow._styles)
        == (1004, 0, quick._styles)
    )
    assert quick.truncated and quick.guess() == slow.guess() == "numeric" and [*quick.levels] == [*slow.levels]
    quick.add([*map(str, range(100)), "x"], MISSING_TOKENS)
    with pytest.raises(InvalidTableError, match=r"column 'x' holds numbers in 1,104 of 1,105 rows, but 'x' in row 1104"):
        quick.remark()


def test_levels_are_stripped_and_gaps_are_none() -> None:
    assert parse_levels(["a ", "?", "b", "a"], None, Gaps()) == ["a", None, "b", "a"]
    assert parse_levels(["1", "2"], {"1": 1}, Gaps()) == [1, "2"]


def test_what_a_model_knows_is_a_level_and_no_gap_unless_the_user_says_so() -> None:
    known = {"NA": "NA", "b ": "b ", "c": "c"}
    assert parse_levels(["NA", " NA", "b ", "b", " c", "?", ""], known, Gaps()) == ["NA", "NA", "b ", "b", "c", None, None]
    assert parse_levels(["NA", "c"], known, Gaps(named=frozenset({"NA"}))) == [None, "c"]


def test_text_of_a_file_with_types_is_taken_as_it_is() -> None:
    values = ["NA", " a", "", None, float("nan"), "-"]
    assert parse_levels(values, None, Gaps(named=frozenset({"-"})), typed=True) == ["NA", " a", "", None, None, None]
    tally = ColumnTally("x")
    tally.add(values, Gaps().among(typed=True), typed=True)
    assert tally.n_missing == 2 and list(tally.levels) == ["NA", " a", "", "-"]


def test_truth_values_of_text_files_are_such() -> None:
    for values, expected in ((["True", "false", "NA", "TRUE "], True), (["True", "no"], False)):
        tally = ColumnTally("x")
        tally.add(values, MISSING_TOKENS)
        assert tally.all_truths is expected and tally.guess() == "categorical"
