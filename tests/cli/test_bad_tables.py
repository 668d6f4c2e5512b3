"""Tables as they come: a right answer or a clear message."""

from __future__ import annotations

import json
import re
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import surefoot as sf
from surefoot.cli.main import main
from surefoot.cli.table_source import open_table
from surefoot.cli.tables.parsed_rows import ParsedRows

Fit = Callable[..., tuple[int, Any, str]]


@pytest.fixture
def fit(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Fit:
    """Write a file and fit a model to it; returns exit code, what was said as JSON, and standard error."""

    def command(content: str | bytes, *options: str, target: str = "y") -> tuple[int, Any, str]:
        path = tmp_path / "table.csv"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        words = ["fit", str(path), "--target", target, "--output", str(tmp_path / "model"), "--json", "--quiet", "--force"]
        code = main([*words, *options])
        said = capsys.readouterr()
        return code, json.loads(said.out) if said.out else None, said.err

    return command


def rows(*columns: Any, delimiter: str = ",", header: str = "") -> str:
    """A text table of 40 rows: the columns are functions of the row."""
    lines = [delimiter.join(str(column(k)) for column in columns) for k in range(40)]
    return "\n".join([header, *lines]) + "\n"


def label(k: int) -> str:
    return "yes" if (k * 7) % 10 > 4 else "no"


def kinds(said: Any) -> dict[str, str]:
    return {column["name"]: column["kind"] for column in said["columns"]}


@pytest.mark.parametrize("delimiter", [";", "\t", "|"])
def test_another_delimiter_is_found_out(delimiter: str, fit: Fit) -> None:
    text = rows(lambda k: k % 9, lambda k: "ab"[k % 2], label, delimiter=delimiter, header=delimiter.join("xcy"))
    code, said, _ = fit(text)
    assert code == 0 and kinds(said) == {"x": "numeric", "c": "categorical"}


def test_a_rare_delimiter_can_be_named(fit: Fit) -> None:
    text = rows(lambda k: k % 9, label, delimiter="~", header="x~y")
    code, _, err = fit(text)
    assert code == 1 and "no column 'y'" in err
    assert fit(text, "--delimiter", "~")[0] == 0
    assert fit(text, "--delimiter", "~~")[0] == 1


def test_other_encodings_are_read_or_named(fit: Fit) -> None:
    text = rows(lambda k: "éü"[k % 2], lambda k: k % 5, label, header="größe,x,y")
    code, _, err = fit(text.encode("latin-1"))
    assert code == 1 and "is not utf-8" in err and "--encoding latin-1" in err
    for content, options in (
        (text.encode("latin-1"), ["--encoding", "latin-1"]),
        (text.encode("utf-16"), []),
        (text.encode("utf-8-sig"), []),
    ):
        code, said, _ = fit(content, *options)
        assert code == 0 and kinds(said) == {"größe": "categorical", "x": "numeric"}
    code, _, err = fit(text, "--encoding", "klingon")
    assert code == 1 and "no encoding 'klingon'" in err


def test_names_that_repeat_or_are_blank_are_named_by_place(fit: Fit) -> None:
    code, _, err = fit(rows(lambda k: k, lambda k: k % 3, label, header="x,x,y"))
    assert code == 1 and "'x' stands over columns 1 and 2" in err
    indexed = rows(lambda k: k, lambda k: k % 3, label, header=",x,y")
    code, _, err = fit(indexed)
    assert code == 1 and "column 1 has no name" in err and "--drop-unnamed" in err
    code, said, _ = fit(indexed, "--drop-unnamed")
    assert code == 0 and kinds(said) == {"x": "numeric"}


def test_a_target_needs_two_values(fit: Fit) -> None:
    code, _, err = fit(rows(lambda k: k % 4, lambda k: "abc"[k % 3], header="x,y"))
    assert code == 1 and "holds 3 values ('a' (14 rows), 'b' (13 rows), 'c' (13 rows))" in err
    code, _, err = fit(rows(lambda k: k % 4, lambda k: "a", header="x,y"))
    assert code == 1 and "holds 1 value (" in err
    code, _, err = fit(rows(lambda k: k % 4, lambda k: k * 1.5, header="x,y"))
    assert code == 1 and "holds 40 values" in err and "threshold" in err
    code, _, err = fit(rows(lambda k: k % 4, lambda k: "" if k == 3 else label(k), header="x,y"))
    assert code == 1 and "missing in 1 of 40 rows" in err
    code, _, err = fit(rows(lambda k: k % 4, label, header="x,y"), target="z")
    assert code == 1 and "no column 'z', which --target names. Its columns are 'x', 'y'" in err


def test_labels_that_are_numbers_stay_numbers(fit: Fit, tmp_path: Path) -> None:
    code, said, _ = fit(rows(lambda k: k % 4, lambda k: int(label(k) == "yes"), header="x,y"))
    assert code == 0 and said["classes"] == [0, 1]
    assert (
        main(["stress", str(tmp_path / "model"), str(tmp_path / "table.csv"), "--target", "y", "--sets", "3", "--quiet"]) == 0
    )


@pytest.mark.parametrize(
    ("write", "first"),
    [
        (lambda k: f'"{1000 * k + 1234:,}.50"', 1234.5),
        (lambda k: f'"{1.5 + k}"'.replace(".", ","), 1.5),
        (lambda k: f'" {k} "', 0.0),
        (lambda k: f"{k}e-3", 0.0),
        (lambda k: f'"{k + 1}.234,5"', 1234.5),
    ],
)
def test_numbers_stored_as_text_are_numbers(write: Any, first: float, fit: Fit, tmp_path: Path) -> None:
    code, said, _ = fit(rows(write, lambda k: k % 3, label, header="x,z,y"))
    assert code == 0 and kinds(said)["x"] == "numeric"
    source = open_table(str(tmp_path / "table.csv"))
    assert source.load([source.column("x", "numeric")])["x"][0] == first


def test_numbers_that_can_be_read_in_two_ways_are_asked_about(fit: Fit, tmp_path: Path) -> None:
    text = rows(lambda k: f'"{k + 1},250"', lambda k: k % 3, label, header="x,z,y")
    code, _, err = fit(text)
    assert code == 1 and "'x' holds" in err and "--decimal" in err
    assert fit(text, "--decimal", ",")[0] == 0
    assert sf.load(tmp_path / "model").schema_.columns[0].median == 20.75
    assert fit(text, "--decimal", ".")[0] == 0
    assert sf.load(tmp_path / "model").schema_.columns[0].median == 20750.0


def test_text_among_numbers_is_named_by_row(fit: Fit) -> None:
    many = "x,y\n" + "".join(f"{'unknown' if k == 7 else k * 0.37},{label(k)}\n" for k in range(200))
    code, _, err = fit(many)
    assert code == 1 and "numbers in 199 of 200 rows, but 'unknown' in line 9" in err
    code, said, _ = fit(many, "--missing-values", "unknown")
    assert code == 0 and said["columns"] == [{"name": "x", "kind": "numeric", "missing": 1}]
    few = rows(lambda k: "A" if k == 5 else k % 4, label, header="x,y")
    code, said, err = fit(few)
    assert code == 0 and kinds(said) == {"x": "categorical"} and "'A' in line 7" in err
    code, _, err = fit(few, "--numeric", "x")
    assert code == 1 and "line 7: 'A' is not a number" in err


def test_dates_are_left_out_with_a_reason(fit: Fit) -> None:
    code, said, _ = fit(
        rows(
            lambda k: f"2024-01-{k % 28 + 1:02d}",
            lambda k: f"{k % 28 + 1}.3.2024",
            lambda k: "2024-01-01T10:00:00Z" if k else "2024-01-02 11:30",
            lambda k: k % 5,
            label,
            header="iso,german,time,x,y",
        )
    )
    assert code == 0 and kinds(said) == {"x": "numeric"}
    assert {entry["name"]: entry["kind"] for entry in said["left_out"]} == {"iso": "date", "german": "date", "time": "date"}
    assert "neither numbers nor categories" in said["left_out"][0]["reason"]


def test_dates_of_a_parquet_file_are_left_out_too(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {"when": pd.date_range("2024-01-01", periods=40), "x": np.arange(40) % 7, "flag": np.arange(40) % 3 == 0}
    )
    frame.assign(y=[label(k) for k in range(40)]).to_parquet(tmp_path / "table.parquet")
    words = ["fit", str(tmp_path / "table.parquet"), "--target", "y", "--output", str(tmp_path / "model"), "--json", "--quiet"]
    assert main(words) == 0
    said = json.loads(capsys.readouterr().out)
    assert kinds(said) == {"x": "numeric", "flag": "categorical"} and said["left_out"][0]["kind"] == "date"
    assert main(["score", str(tmp_path / "model"), str(tmp_path / "table.parquet")]) == 0
    frame.drop(columns="when").to_csv(tmp_path / "table.csv", index=False)  # truth values as text
    parquet = capsys.readouterr().out
    assert main(["score", str(tmp_path / "model"), str(tmp_path / "table.csv")]) == 0
    assert capsys.readouterr().out == parquet


def test_a_hundred_thousand_identifiers_are_left_out_or_warned_about(fit: Fit) -> None:
    count = 100_000
    text = "id,x,y\n" + "".join(f"id-{k},{k % 13},{label(k)}\n" for k in range(count))
    code, said, _ = fit(text)
    assert code == 0 and kinds(said) == {"x": "numeric"}
    assert "100,000 levels in 100,000 rows" in said["left_out"][0]["reason"]
    assert "learned by heart" in said["left_out"][0]["reason"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"\n\n", "is empty"),
        (b"x,y\n", "a header but no rows"),
        (b",,\n1,2,3\n", "no column has a name|has no name"),
        (b"PK\x03\x04\0\0\0\0", "looks like a zip file but cannot be unpacked"),
        (b"PAR1 but not really", "not a Parquet file"),
        (b'x,y\n1,"yes\n2,no\n', "line"),
        (b"x,y\n1,yes\n2,no,more\n", "line 3: 3 values, but the header has 2"),
        (b"y\nyes\nno\n", "no column of .* is left"),
        (b"x,y\n5,yes\n5,no\n", "no column of .* is left"),
    ],
)
def test_files_that_are_no_tables_are_refused_in_words(content: bytes, message: str, fit: Fit) -> None:
    code, said, err = fit(content)
    assert code == 1 and said is None
    assert re.search(message, err), err


def test_other_files_are_refused_in_words(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    words = ["--target", "y", "--output", str(tmp_path / "model")]
    assert main(["fit", str(tmp_path / "absent.csv"), *words]) == 1
    assert "there is no file" in capsys.readouterr().err
    (tmp_path / "book.xlsx").write_bytes(b"PK\x03\x04")
    assert main(["fit", str(tmp_path / "book.xlsx"), *words]) == 1
    assert "looks like a zip file but cannot be unpacked" in capsys.readouterr().err
    (tmp_path / "t.csv").write_text("x,y\n1,yes\n2,no\n")
    assert main(["fit", str(tmp_path / "t.csv"), "--target", "y", "--output", str(tmp_path / "no" / "model")]) == 1
    assert "no folder" in capsys.readouterr().err


def test_gaps_are_filled_or_refused_as_the_user_says(fit: Fit) -> None:
    text = rows(lambda k: "" if k == 4 else k % 9, lambda k: "NA" if k == 6 else "ab"[k % 2], label, header="x,c,y")
    code, said, _ = fit(text)
    assert code == 0 and [column["missing"] for column in said["columns"]] == [1, 1]
    code, _, err = fit(text, "--missing", "error")
    assert code == 1 and "line 6" in err


def test_gaps_are_refused_in_words_where_no_model_fills_them(fit: Fit) -> None:
    rows = "".join(f"{k % 7},{'' if k == 3 else k % 5},{'yn'[k % 2]}\n" for k in range(40))
    code, _, err = fit(f"a,b,t\n{rows}", "--target", "t", "--model", "svm")
    assert code == 1 and "--model svm does not fill gaps, and there are some in 'b' (1)" in err


def test_a_long_file_is_looked_through_in_little_memory(tmp_path: Path) -> None:
    path = tmp_path / "long.csv"
    path.write_text("x,z,y\n" + "".join(f"{k * 0.001:.3f},{'abc'[k % 3]},{k % 2}\n" for k in range(60_000)))
    tracemalloc.start()
    source = open_table(str(path))
    columns = [source.column("x", "numeric"), source.column("z", "categorical")]
    seen = sum(len(chunk["x"]) for chunk in source.chunks(columns))
    with ParsedRows(source, columns, source.column("y", "numeric")) as batches:
        passes = [sum(X.n_rows for X, _ in batches) for _ in range(2)]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert [seen, *passes] == [source.n_rows] * 3 == [60_000] * 3
    assert peak < 9e6  # all rows at once, as texts, would take thirty million bytes


def test_control_characters_of_names_and_levels_are_not_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"a\n\x1b[31mred": rng.normal(size=40), "b\x07\x9b2J": rng.normal(size=40)})
    table.assign(y=rng.random(40) < 0.5).to_csv(tmp_path / "t.csv", index=False)
    assert main(["compare", str(tmp_path / "t.csv"), str(tmp_path / "t.csv"), "--drop", "y"]) == 0
    main(["fit", str(tmp_path / "t.csv"), "--target", "y", "-o", str(tmp_path / "m.surefoot"), "--quiet"])
    written = "".join(capsys.readouterr())
    assert "[31mred" in written and not {"\x1b", "\x07", "\x9b"} & set(written)
    assert "  a [31mred  numeric" in written


def test_a_folder_in_place_of_a_model_is_wrong_usage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", str(tmp_path), "t.csv", "--target", "y"]) == 2
    assert "Is a directory" in capsys.readouterr().err
