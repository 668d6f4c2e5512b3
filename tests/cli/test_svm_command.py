"""Uncertain inputs on the command line: groups, prices, several classes, and what a person is told."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import surefoot as sf
from surefoot.cli.main import main

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command, given as words; returns exit code, standard output and standard error."""

    def command(*words: Any) -> tuple[int, str, str]:
        capsys.readouterr()
        code = main([str(word) for word in words])
        said = capsys.readouterr()
        return code, said.out, said.err

    return command


def trees(place: Path, kinds: int = 3) -> Path:
    """A table of trees that were measured five times each."""
    rng = np.random.default_rng(3)
    tree = np.repeat(np.arange(18), 5)
    kind = tree % kinds
    centres = rng.normal(size=(18, 2)) + 3 * np.array([[0, 0], [1, 0], [0, 1]])[np.arange(18) % kinds]
    readings = centres[tree] + 0.2 * rng.normal(size=(90, 2))
    table = pd.DataFrame(readings, columns=["height", "girth"]).assign(tree=tree, kind=np.array(["ash", "birch", "oak"])[kind])
    table.to_csv(place / "trees.csv", index=False)
    return place / "trees.csv"


def test_several_classes_are_fitted_scored_explained_verified_and_reported(tmp_path: Path, run: Run) -> None:
    table, model = trees(tmp_path), tmp_path / "svm"
    options = ["--target", "kind", "--model", "svm", "--groups", "tree", "--output", model]
    code, out, _ = run("fit", table, *options, "--quiet")
    assert code == 0 and "No set of 3 planes" in out
    code, out, _ = run("explain", model)
    assert code == 0 and "ash, birch or oak" in out and "birch or oak" in out
    assert run("score", model, table, "--output", tmp_path / "scores.csv", "--quiet")[0] == 0
    with open(tmp_path / "scores.csv", encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    assert list(lines[0]) == ["prediction", "probability of ash", "probability of birch", "probability of oak"]
    assert sum(float(lines[0][name]) for name in list(lines[0])[1:]) == pytest.approx(1.0)
    rows = pd.read_csv(table)
    assert [line["prediction"] for line in lines] == sf.load(model).predict(rows[["height", "girth"]]).tolist()
    code, out, _ = run("verify", model, table, "--target", "kind", "--groups", "tree")
    assert code == 0 and out.startswith("verified on 90 rows")
    code, _, _ = run("report", model, table, "--target", "kind", "--output", tmp_path / "report.html", "--quiet")
    assert code == 0 and "true class" in (tmp_path / "report.html").read_text(encoding="utf-8")
    code, out, _ = run("fit", table, *options, "--quiet", "--json", "--force")
    assert code == 0 and json.loads(out)["classes"] == ["ash", "birch", "oak"]
    code, _, err = run("fit", table, "--target", "kind", "--output", tmp_path / "robust")
    assert code == 1 and "holds 3 values" in err and "--model svm several" in err
