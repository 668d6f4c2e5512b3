"""Two trees under the clock, with programs in the place of benchmarks whose seconds are known."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

# What benchmarks/run.py of a planted tree does: write one table with the seconds of the tree, twice as many the first time.
PROGRAM = """
import pathlib, sys
output = pathlib.Path(sys.argv[sys.argv.index("--output") + 1])
count = pathlib.Path("runs.txt")
runs = len(count.read_text()) if count.exists() else 0
count.write_text("x" * (runs + 1))
factor = 2.0 if runs == 0 else 1.0
rows = [f"{columns},{rows},{seconds and factor * seconds or ''},optimal" for columns, rows, seconds in CASES]
output.joinpath("risk_rows.csv").write_text("\\n".join(["columns,rows,seconds,status", *rows]) + "\\n")
"""


@pytest.fixture
def compare_runs() -> ModuleType:
    return import_module("compare_runs")


def plant(folder: Path, cases: list[tuple[int, int, object]], *, fails: bool = False) -> Path:
    """A checkout whose benchmark claims these seconds."""
    (folder / "benchmarks").mkdir(parents=True)
    (folder / ".venv" / "bin").mkdir(parents=True)
    (folder / ".venv" / "bin" / "python").symlink_to(sys.executable)
    text = "raise SystemExit('no such benchmark')" if fails else f"CASES = {cases!r}\n{PROGRAM}"
    (folder / "benchmarks" / "run.py").write_text(text, encoding="utf-8")
    return folder


def test_the_least_of_the_repeated_times_is_compared(compare_runs: ModuleType, tmp_path: Path) -> None:
    base = plant(tmp_path / "base", [(10, 1000, 1.0), (20, 1000, 2.0)])
    head = plant(tmp_path / "head", [(10, 1000, 1.2), (20, 1000, 1.0)])
    summary = tmp_path / "summary.md"
    arguments = [str(base), str(head), "--benchmarks", "risk_rows", "--repeats", "2", "--summary", str(summary)]
    assert compare_runs.main(arguments) == 0
    page = summary.read_text(encoding="utf-8")
    assert "| risk_rows, columns 10, rows 1000 | 1.000 | 1.200 | 1.20 |  |" in page
    assert "| risk_rows, columns 20, rows 1000 | 2.000 | 1.000 | 0.50 |  |" in page
    assert page.index("columns 10") < page.index("columns 20")
    assert (base / "runs.txt").read_text() == (head / "runs.txt").read_text() == "xx"


def test_a_slower_tree_fails(compare_runs: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    base = plant(tmp_path / "base", [(10, 1000, 1.0)])
    head = plant(tmp_path / "head", [(10, 1000, 1.6)])
    assert compare_runs.main([str(base), str(head), "--benchmarks", "risk_rows", "--repeats", "2"]) == 1
    assert "| 1.60 | slower |" in capsys.readouterr().out
    assert compare_runs.main([str(base), str(head), "--benchmarks", "risk_rows", "--repeats", "1", "--most", "2"]) == 0


def test_a_ratio_of_two_short_times_is_no_verdict(compare_runs: ModuleType) -> None:
    assert not compare_runs.Comparison(("a",), 0.001, 0.005).slower(1.5)
    assert compare_runs.Comparison(("a",), 0.1, 0.5).slower(1.5)


def test_cases_of_one_tree_only_are_named_and_left_out(compare_runs: ModuleType, tmp_path: Path) -> None:
    base = {("a",): [1.0], ("b",): [1.0]}
    head = {("c",): [1.0], ("a",): [3.0, 2.0]}
    assert compare_runs.compare(base, head) == [compare_runs.Comparison(("a",), 1.0, 2.0)]
    assert compare_runs.left_out(base, head) == ["only head measured c", "only base measured b"]


def test_trees_with_nothing_in_common_are_no_success(
    compare_runs: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    base = plant(tmp_path / "base", [], fails=True)
    head = plant(tmp_path / "head", [(10, 1000, 1.0), (20, 1000, None)])
    assert compare_runs.main([str(base), str(head), "--benchmarks", "risk_rows", "--repeats", "1"]) == 2
    captured = capsys.readouterr()
    assert "no such benchmark" in captured.err
    assert "only head measured risk_rows, columns 10, rows 1000" in captured.out


def test_a_benchmark_that_measured_nothing_in_either_tree_is_named(
    compare_runs: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    base = plant(tmp_path / "base", [(10, 1000, None)])
    head = plant(tmp_path / "head", [(10, 1000, None)])
    assert compare_runs.main([str(base), str(head), "--benchmarks", "risk_rows", "--repeats", "1"]) == 2
    assert "nobody measured risk_rows" in capsys.readouterr().out


def test_every_compared_benchmark_exists(compare_runs: ModuleType) -> None:
    run = import_module("run")
    for name in compare_runs.BENCHMARKS:
        assert name in run.BENCHMARKS
