"""One table in every format that the command reads: the same model, and rows by the names that a person finds them by."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import surefoot as sf
from surefoot.design.stored import delimited
from surefoot.design.stored.open_stored import open_stored

openpyxl = pytest.importorskip("openpyxl", reason="workbooks are read by openpyxl, which the extra surefoot[excel] brings")

Run = Callable[..., tuple[int, str, str]]


def frame() -> pd.DataFrame:
    rng = np.random.default_rng(3)
    table = pd.DataFrame({"x": rng.normal(size=60).round(3), "c": rng.choice(["a", "b"], 60), "n": rng.integers(0, 9, 60)})
    return table.assign(y=np.where(table.x + (table.c == "a") + rng.normal(size=60) > 0.5, "yes", "no"))


def write(table: pd.DataFrame, path: Path) -> None:
    if path.suffix == ".xlsx":
        table.to_excel(path, index=False)
    elif path.suffix == ".feather":
        table.to_feather(path)
    elif path.suffix == ".parquet":
        table.to_parquet(path)
    elif ".jsonl" in path.suffixes:
        table.to_json(path, orient="records", lines=True)
    else:
        table.to_csv(path, index=False)


NAMES = ["t.csv", "t.csv.gz", "t.csv.bz2", "t.csv.xz", "t.csv.zip", "t.jsonl", "t.jsonl.gz", "t.xlsx", "t.feather", "t.parquet"]


def test_every_format_gives_the_same_model_and_the_same_scores(run: Run, tmp_path: Path) -> None:
    table = frame()
    answers = {}
    for name in NAMES:
        write(table, tmp_path / name)
        fit = [
            "fit",
            tmp_path / name,
            "--target",
            "y",
            "-o",
            tmp_path / "m",
            "--radius",
            "0.05",
            "--quiet",
            "--force",
            "--json",
        ]
        assert run(*fit)[0] == 0, name
        code, out, _ = run("score", tmp_path / "m", tmp_path / name)
        assert code == 0
        answers[name] = (sf.load(tmp_path / "m").coef_.tolist(), out)
    assert all(answer == answers["t.csv"] for answer in answers.values())


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("t.csv", "line 9"),
        ("t.csv.gz", "line 9"),
        ("t.jsonl", "line 8"),
        ("t.xlsx", "row 9 of the sheet"),
        ("t.parquet", "row 8"),
    ],
)
def test_a_row_is_called_by_the_name_that_it_is_found_by(name: str, place: str, run: Run, tmp_path: Path) -> None:
    write(frame(), tmp_path / "m.csv")
    assert run("fit", tmp_path / "m.csv", "--target", "y", "-o", tmp_path / "m", "--quiet")[0] == 0
    table = frame()
    table.loc[7, "c"] = "fax"
    write(table, tmp_path / name)
    code, _, err = run("score", tmp_path / "m", tmp_path / name)
    assert code == 1 and f"'c', {place} holds 'fax'" in err


def test_lines_count_what_is_no_row_and_what_lies_beyond_the_first_batch(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = frame()
    write(table, tmp_path / "t.csv")
    assert run("fit", tmp_path / "t.csv", "--target", "y", "-o", tmp_path / "m", "--quiet")[0] == 0
    lines = (tmp_path / "t.csv").read_text().splitlines()
    lines[3] = ""  # a blank line in the place of a row
    lines[20] = lines[20].replace("yes", '"y\nes"').replace("no", '"n\no"')  # a row of two lines
    lines[50] = lines[50].replace(",a,", ",fax,").replace(",b,", ",fax,")
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    for rows in (7, 1 << 14):
        monkeypatch.setattr("surefoot.cli.table_source.TableSource.chunks.__defaults__", (rows,))
        code, _, err = run("score", tmp_path / "m", tmp_path / "t.csv", "--output", tmp_path / "s.csv")
        assert code == 1 and "line 52 holds 'fax'" in err
    assert (tmp_path / "t.csv").read_text().split("\n")[51].count("fax") == 1


def test_a_workbook_of_several_sheets_is_asked_about(run: Run, tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    book.active.append([None])
    for name in ("data", "notes"):
        sheet = book.create_sheet(name)
        sheet.append([])  # a blank row above the header
        sheet.append(["x", "y"])
        for k in range(40):
            sheet.append([k % 7, "yes" if (k * 7) % 10 > 4 else "no"])
    book["notes"].append([1, "no", "more"])
    book.save(tmp_path / "book.xlsx")
    fit = ["fit", tmp_path / "book.xlsx", "--target", "y", "-o", tmp_path / "m", "--quiet"]
    code, _, err = run(*fit)
    assert code == 1 and "has 2 sheets with values, 'data', 'notes'. Say which one: --sheet 'data'." in err
    assert "has no sheet 'dta'; it has 'Sheet', 'data', 'notes'" in run(*fit, "--sheet", "dta")[2]
    assert "row 43 of the sheet has a value beyond the 2 columns" in run(*fit, "--sheet", "notes")[2]
    code, out, _ = run(*fit, "--sheet", "data")
    assert code == 0 and "Excel, sheet 'data'" in out


def test_text_is_read_alike_with_and_without_pyarrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.csv"
    path.write_text('x,c\n1,"a, b"\n2.5,é\n,"say ""so"""\n-3e2,\n')
    found = []
    for known in (True, False):
        monkeypatch.setattr(delimited, "_has_arrow", lambda known=known: known)
        (chunk,) = open_stored(path).chunks(["c", "x"], 10)
        found.append({name: list(values) for name, values in chunk.items()})
    assert found[0] == found[1] == {"c": ["a, b", "é", 'say "so"', ""], "x": ["1", "2.5", "", "-3e2"]}


def test_json_lines_may_leave_names_out(run: Run, tmp_path: Path) -> None:
    rows = [{"x": k % 7, "late": k, "y": k % 2} for k in range(40)]
    del rows[0]["late"], rows[9]["x"]
    (tmp_path / "t.jsonl").write_text("\n\n".join(map(json.dumps, rows)))
    code, out, _ = run("fit", tmp_path / "t.jsonl", "--target", "y", "-o", tmp_path / "m", "--quiet", "--json")
    assert code == 0
    assert {one["name"]: one["missing"] for one in json.loads(out)["columns"]} == {"x": 1, "late": 1}
