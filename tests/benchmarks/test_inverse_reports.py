"""The benchmarks of inverse optimization run in quick mode, and save what they promise."""

from __future__ import annotations

import csv
import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGNOSES = ROOT.parent / "shared" / "data" / "uci" / "wpbc_invopt.csv"


def _run(output: Path, *arguments: str) -> str:
    """Run a benchmark by its command line, in this process, and return its Markdown page."""
    importlib.import_module("run").main([*arguments, "--quick", "--output", str(output)])
    return (output / f"{arguments[0]}.md").read_text(encoding="utf-8")


def _rows(file: Path) -> list[dict[str, str]]:
    with file.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def test_approaches_are_set_beside_the_papers_seconds(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    page = _run(tmp_path, "inverse_approaches", "--scenarios", "consistent", "--costs", "1", "--tests", "10")
    times = {row["approach"]: row for row in _rows(tmp_path / "inverse_approaches.csv")}
    assert len(times) == 7 and (times["incenter"]["paper_seconds"], times["circumcenter"]["paper_seconds"]) == ("98", "1323")
    assert all(row["solved"] == row["certified"] == "2" for row in times.values())
    curves = _rows(tmp_path / "inverse_approaches_curves.csv")
    assert len(curves) == 7 * 5 * 2 and {row["examples"] for row in curves} == {"5", "10"}
    for row in curves:
        assert float(row["percentile_5"]) <= float(row["mean"]) + 1e-12
    picture = tmp_path / "inverse_consistent_decision_error.png"
    assert picture.read_bytes().startswith(b"\x89PNG") and "(inverse_consistent_decision_error.png)" in page


def test_generated_decisions_reach_the_objective_of_enumeration(tmp_path: Path) -> None:
    page = _run(tmp_path, "inverse_enumeration", "--examples", "6", "--large-examples", "3")
    races = _rows(tmp_path / "inverse_enumeration.csv")
    assert [row["approach"] for row in races] == ["incenter", "ASL", "ASL, few decisions"]
    for row in races:
        assert abs(float(row["excess"])) <= 1e-6 * float(row["objective"])
        assert int(row["generated"]) <= int(row["decisions"])
    larges = _rows(tmp_path / "inverse_enumeration_large.csv")
    assert len(larges) == 3 and all(float(row["relative_gap"]) <= 1e-4 for row in larges)
    assert "certified to 0.0001" in page


def test_mirror_descent_meets_its_seven_relatives(tmp_path: Path) -> None:
    _run(tmp_path, "inverse_samd", "--seconds", "0.01", "--examples", "4", "--batches", "2")
    rows = _rows(tmp_path / "inverse_samd.csv")
    names = {"SM", "MD", "ASM", "AMD", "SSM", "SMD", "SASM", "SAMD", "SAMD-2"}
    for rule in ("paper's rule", "tuned"):
        assert {row["variant"] for row in rows if row["steps_by"] == rule} == names
    assert all(float(row["gap"]) >= -1e-6 and float(row["steps"]) >= 1 for row in rows)


def test_the_variants_are_all_combinations_by_the_papers_names() -> None:
    found = {one.name: (one.update, one.batch, one.limited) for one in importlib.import_module("bench_inverse_samd").variants()}
    assert len(found) == 8
    assert found["SAMD"] == ("exponentiated", 1, True) and found["SM"] == ("euclidean", None, False)
    assert found["AMD"] == ("exponentiated", None, True) and found["SSM"] == ("euclidean", 1, False)


@pytest.mark.skipif(not PROGNOSES.exists(), reason="the WPBC table is not beside the repository")
def test_prognoses_stand_beside_table_4(tmp_path: Path) -> None:
    _run(tmp_path, "inverse_prognoses")
    rows = {row["approach"]: row for row in _rows(tmp_path / "inverse_prognoses.csv")}
    assert set(rows) == {"ASL-z", "ASL-yz", "regression + classification"}
    assert rows["ASL-yz"]["paper_months"] == "27.33" and rows["ASL-yz"]["splits"] == "1"
    assert rows["ASL-z"]["certified"] == rows["ASL-yz"]["certified"] == "1"
    assert all(0 <= float(row["recurrence"]) <= 1 and 0 < float(row["months"]) < 100 for row in rows.values())
