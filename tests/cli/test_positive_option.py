"""``surefoot fit --positive``: the class whose probability a model gives, one of two or one against all others."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import surefoot as sf

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def irises(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = np.random.default_rng(0)
    kinds = np.array(["setosa", "versicolor", "virginica"])[np.arange(90) % 3]
    widths = rng.normal(size=90) + 1.5 * (kinds == "virginica")
    path = tmp_path_factory.mktemp("irises") / "irises.csv"
    pd.DataFrame({"width": widths, "length": rng.normal(size=90), "kind": kinds, "code": np.arange(90) % 3}).to_csv(
        path, index=False
    )
    return path


@pytest.mark.parametrize("model", ["robust", "risk-score", "svm"])
def test_one_class_is_told_from_all_others_from_fit_to_verify(model: str, run: Run, irises: Path, tmp_path: Path) -> None:
    fit = ["fit", irises, "--target", "kind", "--drop", "code", "--model", model, "-o", tmp_path / "m", "--quiet"]
    assert run(*fit)[0] == (0 if model == "svm" else 1)
    assert run(*fit, "--positive", "virginica", "--force")[0] == 0
    code, out, _ = run("score", tmp_path / "m", irises)
    found = list(csv.DictReader(out.splitlines()))
    assert code == 0 and {row["prediction"] for row in found} == {"virginica", "(not virginica)"}
    kinds = pd.read_csv(irises).kind.to_numpy()
    probability = np.array([float(row["probability of virginica"]) for row in found])
    assert probability[kinds == "virginica"].mean() > probability[kinds != "virginica"].mean() + 0.1
    assert run("verify", tmp_path / "m", irises, "--target", "kind")[0] == 0
    assert run("stress", tmp_path / "m", irises, "--target", "kind", "--sets", "3", "--quiet")[0] == 0


def test_a_number_may_be_the_class(run: Run, irises: Path, tmp_path: Path) -> None:
    pd.read_csv(irises).drop(columns="kind").to_parquet(tmp_path / "t.parquet")
    for path, drop in ((irises, "kind"), (tmp_path / "t.parquet", "")):
        words = ["fit", path, "--target", "code", "--drop", drop, "--positive", "2", "-o", tmp_path / "m", "--quiet", "--force"]
        assert run(*words)[0] == 0
        assert sf.load(tmp_path / "m").classes_.tolist() == ["(not 2)", "2"]
        assert run("verify", tmp_path / "m", path, "--target", "code")[0] == 0


def test_of_two_classes_either_may_be_the_positive_one(run: Run, irises: Path, tmp_path: Path) -> None:
    table = pd.read_csv(irises)
    table[table.kind != "versicolor"].drop(columns="code").to_csv(tmp_path / "two.csv", index=False)
    fit = ["fit", tmp_path / "two.csv", "--target", "kind", "-o", tmp_path / "m", "--quiet", "--force", "--json"]
    said = json.loads(run(*fit, "--positive", "virginica")[1])
    assert said["classes"] == ["setosa", "virginica"] and said["positive"] == "virginica"
    assert json.loads(run(*fit, "--positive", "setosa")[1])["classes"] == ["(not setosa)", "setosa"]
    code, out, _ = run(*fit[:-1], "--positive", "setosa", "--model", "risk-score")
    assert code == 0 and "setosa" in out
    assert sf.load(tmp_path / "m").steps[-1][1].pos_label_ == "setosa"


def test_a_fit_of_a_card_prints_it(run: Run, irises: Path, tmp_path: Path) -> None:
    words = ["fit", irises, "--target", "kind", "--drop", "code", "--model", "risk-score", "-o", tmp_path / "m", "--quiet"]
    code, out, _ = run(*words, "--positive", "virginica")
    model = sf.load(tmp_path / "m")
    assert code == 0 and str(model.steps[-1][1].score_card(meanings=model.steps[0][1].columns_)) in out
