"""Uncertain inputs on the command line: groups, prices, several classes, and what a person is told."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import surefoot as sf
from surefoot.reports.input_section import AnsweredInputs, input_blocks

Run = Callable[..., tuple[int, str, str]]


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


def test_prices_reach_the_model_and_columns_are_scaled_once(tmp_path: Path, run: Run) -> None:
    table = trees(tmp_path, kinds=2)
    words = ["fit", table, "--target", "kind", "--model", "svm", "--groups", "tree", "--quiet"]
    code, _, _ = run(*words, "--output", tmp_path / "a", "--C", "3", "--violation", "0.7", "--class-weight", "ash=2,birch=0.5")
    model = sf.load(tmp_path / "a")
    assert code == 0 and isinstance(model, sf.ChanceConstrainedSVC) and model.standardize
    assert (model.C, model.violation, model.class_weight) == (3.0, 0.7, {"ash": 2.0, "birch": 0.5})
    rows = pd.read_csv(table)
    same = sf.ChanceConstrainedSVC(C=3.0, violation=0.7, class_weight={"ash": 2.0, "birch": 0.5})
    same.fit(rows[["height", "girth"]], rows.kind, groups=rows.tree)
    numbers = rows[["height", "girth"]]
    np.testing.assert_allclose(model.decision_function(numbers), same.decision_function(numbers), atol=1e-9)
    assert run(*words, "--output", tmp_path / "b", "--class-weight", "balanced")[0] == 0
    assert sf.load(tmp_path / "b").class_weight == "balanced"
    code, _, err = run(*words, "--output", tmp_path / "c", "--class-weight", "elm=2")
    assert code == 1 and "names 'elm', which is no class: ash, birch" in err
    code, _, err = run(*words, "--output", tmp_path / "c", "--class-weight", "ash=much")
    assert code == 1 and "a number for each class" in err
    code, _, err = run(*words, "--output", tmp_path / "c", "--C", "-1")
    assert code == 1 and "--C -1.0 must be a positive, finite number" in err
    code, _, err = run("fit", table, "--target", "kind", "--output", tmp_path / "c", "--class-weight", "balanced")
    assert code == 1 and "--class-weight is for --model svm" in err


def test_classes_that_are_numbers_have_weights_too(tmp_path: Path, run: Run) -> None:
    rows = pd.read_csv(trees(tmp_path, kinds=2))
    rows["kind"] = (rows.kind == "birch").astype(int)
    rows.to_csv(tmp_path / "numbers.csv", index=False)
    words = ["fit", tmp_path / "numbers.csv", "--target", "kind", "--model", "svm", "--groups", "tree", "--quiet"]
    assert run(*words, "--output", tmp_path / "a", "--class-weight", "1=4")[0] == 0
    assert sf.load(tmp_path / "a").class_weight == {1: 4.0}


def test_a_column_that_is_probably_the_groups_is_named(tmp_path: Path, run: Run) -> None:
    table = trees(tmp_path)
    words = ["fit", table, "--target", "kind", "--model", "svm", "--quiet"]
    code, _, err = run(*words, "--output", tmp_path / "a")
    assert code == 0 and "column 'tree' has 18 whole numbers" in err and "--groups tree" in err
    code, _, err = run(*words, "--output", tmp_path / "b", "--groups", "tree")
    assert code == 0 and "whole numbers" not in err
    rows = pd.read_csv(table)
    rows["tree"] = np.arange(90)  # a number of each row says nothing about what belongs together
    rows.to_csv(tmp_path / "each.csv", index=False)
    code, _, err = run("fit", tmp_path / "each.csv", *words[2:], "--output", tmp_path / "c")
    assert code == 0 and "whole numbers" not in err
    rows["tree"] = [f"T{at // 5}" for at in range(90)]
    rows.to_csv(tmp_path / "text.csv", index=False)
    code, _, err = run("fit", tmp_path / "text.csv", *words[2:], "--output", tmp_path / "d")
    assert code == 1 and "name it in --groups if it says which rows are samples of one input" in err


def test_a_weak_model_is_called_so_when_fitted_explained_and_reported(tmp_path: Path, run: Run) -> None:
    table, model = trees(tmp_path, kinds=2), tmp_path / "svm"
    rows = pd.read_csv(table)
    rows[["height", "girth"]] += 30 * np.random.default_rng(0).normal(size=(90, 2))
    rows.to_csv(table, index=False)
    words = ["fit", table, "--target", "kind", "--model", "svm", "--groups", "tree", "--output", model, "--quiet"]
    code, _, err = run(*words, "--violation", "0.05", "--kernel", "linear")
    said = sf.load(model).weakness_
    assert code == 0 and said and "rows are put into one class" in said and "are put into one class" in err
    assert "Raise --violation towards 0.9" in err and "ChanceConstrainedSVCCV" not in err
    assert f"warning: {said}" in run("explain", model)[1]
    assert (
        run("report", model, table, "--target", "kind", "--output", tmp_path / "report.html", "--sets", "0", "--quiet")[0] == 0
    )
    assert "rows are put into one class" in (tmp_path / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("kinds", [2, 3])
def test_inputs_to_come_get_one_line_each_by_all_their_readings(kinds: int, tmp_path: Path, run: Run) -> None:
    table, model, answers = trees(tmp_path, kinds=kinds), tmp_path / "svm", tmp_path / "answers.csv"
    assert run("fit", table, "--target", "kind", "--model", "svm", "--groups", "tree", "--output", model, "--quiet")[0] == 0
    rows = pd.read_csv(table).sample(frac=1.0, random_state=0).assign(tree=lambda own: "T" + own.tree.astype(str))
    rows.to_csv(tmp_path / "new.csv", index=False)
    code, _, err = run("score", model, tmp_path / "new.csv", "--groups", "tree", "--output", answers)
    assert code == 0 and "18 inputs scored" in err
    told, fitted = pd.read_csv(answers), sf.load(model)
    assert told.group.tolist() == sorted(set(rows.tree)) and told.rows.tolist() == [5] * 18
    right = dict(zip(rows.tree, fitted.predict(rows[["height", "girth"]], groups=rows.tree), strict=True))
    assert told.prediction.tolist() == [right[name] for name in told.group]
    if kinds == 2:
        promised = fitted.promise(rows[["height", "girth"]], groups=rows.tree)
        assert list(told) == list(promised) and "other_class" in told
        np.testing.assert_allclose(told.flips, promised.flips)
    for more, said in (("--keep kind", "--keep writes columns of rows"), ("--groups girth", "a column that the model reads")):
        code, _, err = run("score", model, tmp_path / "new.csv", "--groups", "tree", *more.split())
        assert code == 1 and said in err
    assert run("score", model, table, "--groups", "shrub")[0] == 1


def test_rows_with_gaps_are_left_out_on_request_and_the_proof_holds_for_the_table(tmp_path: Path, run: Run) -> None:
    table, model = trees(tmp_path, kinds=2), tmp_path / "svm"
    rows = pd.read_csv(table)
    rows.loc[[3, 17], "girth"] = np.nan
    rows.to_csv(table, index=False)
    words = ["fit", table, "--target", "kind", "--output", model, "--quiet", "--missing", "drop"]
    code, _, err = run(*words, "--model", "svm", "--groups", "tree")
    assert code == 0 and "2 of 90 rows" in err and "--missing drop says" in err and "missing=" not in err
    left = rows.dropna()
    same = sf.ChanceConstrainedSVC().fit(left[["height", "girth"]], left.kind, groups=left.tree)
    assert sf.load(model).certificate_.upper_bound == pytest.approx(same.certificate_.upper_bound, rel=1e-5)
    assert run("verify", model, table, "--target", "kind", "--groups", "tree")[0] == 0
    code, _, err = run(*words[:-4], tmp_path / "robust", *words[-3:])
    assert code == 1 and "--missing drop is for --model svm" in err
    code, _, err = run("fit", table, "--target", "kind", "--output", tmp_path / "r", "--quiet", "--drop", "tree")
    assert code == 0
    code, _, err = run("score", tmp_path / "r", table, "--groups", "tree")
    assert code == 1 and "no other one has inputs of several rows" in err


def test_a_bound_near_1_is_called_no_promise() -> None:
    """It holds for every distribution with the spread, and says nothing of how often readings do say otherwise."""
    told = {"group": list("abc"), "rows": [1, 1, 1], "prediction": ["ash"] * 3, "flips": [0.9999, 0.25, np.nan]}
    listed = input_blocks(AnsweredInputs(told, ["ash"] * 3, np.ones(3, dtype=bool)))[1]
    assert "99.9%" not in listed and all(said in listed for said in ("no promise", "25.0%", "not known"))


def test_a_report_with_groups_counts_inputs_and_lists_the_least_sure(tmp_path: Path, run: Run) -> None:
    table, model, page = trees(tmp_path, kinds=2), tmp_path / "svm", tmp_path / "report.html"
    words = ["--target", "kind", "--groups", "tree", "--quiet"]
    assert run("fit", table, "--model", "svm", "--output", model, *words)[0] == 0
    assert run("report", model, table, "--output", page, "--sets", "0", *words)[0] == 0
    told, rows, fitted = page.read_text(encoding="utf-8"), pd.read_csv(table), sf.load(model)
    promised = fitted.promise(rows[["height", "girth"]], groups=rows.tree)
    right = promised.prediction.to_numpy() == rows.groupby("tree").kind.first().to_numpy()
    assert (
        f"{right.sum()} of them ({right.mean():.1%})" in told and f"Of {(promised.flips <= 0.1).sum()} the model says" in told
    )
    assert "The least sure inputs" in told and "8 others are left out" in told
    assert "a further reading says otherwise, at most" in told
    rows.loc[0, "kind"] = "birch" if rows.kind[0] == "ash" else "ash"
    rows.to_csv(table, index=False)
    code, _, err = run("report", model, table, "--output", page, "--force", *words)
    assert code == 1 and "has rows of both classes" in err
    robust = sf.RobustLogisticRegression().fit(rows[["height", "girth"]], rows.kind)
    with pytest.raises(ValueError, match="groups is for support vector machines"):
        sf.report(robust, rows[["height", "girth"]], rows.kind, tmp_path / "other.html", groups=rows.tree)
