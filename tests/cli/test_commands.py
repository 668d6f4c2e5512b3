"""The commands as a person would type them."""

from __future__ import annotations

import csv
import importlib
import json
import math
import sqlite3
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import surefoot as sf
from surefoot.cli.main import main
from surefoot.cli.progress_bar import bar
from surefoot.core.outcome import Progress

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a table and models that were fitted to it from the command line."""
    place = tmp_path_factory.mktemp("visits")
    rng = np.random.default_rng(5)
    n = 120
    table = pd.DataFrame(
        {
            "age": rng.integers(18, 80, n).astype(float),
            "channel": rng.choice(["web", "phone", "shop"], n),
            "visits": rng.integers(0, 9, n),
            "customer": [f"C-{k:05d}" for k in range(n)],
            "opened": pd.date_range("2020-01-01", periods=n).strftime("%Y-%m-%d"),
            "batch": np.arange(n) // 10,
        }
    )
    score = (table.age - 50) / 12 + 1.5 * (table.channel == "web") + rng.normal(0, 1, n)
    table["bought"] = np.where(score > 0.5, "yes", "no")
    table.loc[[4, 9], "age"] = np.nan
    table.to_csv(place / "visits.csv", index=False)
    table.drop(columns=["opened", "customer"]).to_parquet(place / "visits.parquet")
    common = ["--target", "bought", "--quiet"]
    assert main(["fit", str(place / "visits.csv"), "--output", str(place / "robust.sf"), *common]) == 0
    card = ["--model", "risk-score", "--max-features", "2", "--output", str(place / "card.sf")]
    assert main(["fit", str(place / "visits.parquet"), *card, *common]) == 0
    return place


def test_fit_shows_its_guesses_and_proves_its_model(run: Run, folder: Path, tmp_path: Path) -> None:
    code, out, err = run("fit", folder / "visits.csv", "--target", "bought", "--output", tmp_path / "model")
    assert code == 0
    lines = {line.split()[0]: line.split() for line in out.splitlines() if line.startswith("  ")}
    assert lines["age"] == ["age", "numeric", "2"]
    assert lines["channel"] == ["channel", "categorical", "3", "0"]
    assert lines["customer"][1:4] == ["identifier:", "left", "out"]
    assert lines["opened"][1:4] == ["date:", "left", "out"]
    assert "'customer' is left out" in err and "learned by heart" in err
    assert "gap" in err and "lower bound" in err  # progress
    assert "No linear logistic model with these columns" in out and str(tmp_path / "model") in out
    model = sf.load(tmp_path / "model")
    table = pd.read_csv(folder / "visits.csv")
    assert list(model.feature_names_in_) == ["age", "channel", "visits", "batch"]
    direct = sf.RobustLogisticRegression(missing_numeric="median", missing_categorical="level").fit(
        table[list(model.feature_names_in_)], table.bought
    )
    np.testing.assert_array_equal(
        model.predict_proba(table[list(model.feature_names_in_)]), direct.predict_proba(table[list(model.feature_names_in_)])
    )


def test_a_terminal_shows_a_bar_that_fills_as_the_gap_closes(
    run: Run, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    code, _, err = run("fit", folder / "visits.csv", "--target", "bought", "--output", tmp_path / "model")
    steps = [line for line in err.split("\r") if line.startswith("[")]
    assert code == 0 and len(steps) > 1
    filled = [line.count("#") for line in steps]
    assert filled[0] < filled[-1] == 24 and filled == sorted(filled)
    assert "gap" in steps[-1] and "RobustLogisticRegression" in steps[-1] and steps[-1].endswith("\n")
    assert bar(Progress(3, 0.5, -math.inf, 1.0)).startswith(f"[{'-' * 24}] gap unknown")
    assert bar(Progress(3, 0.5, 0.5, 1.0)).startswith(f"[{'#' * 24}] gap 0.0e+00")


def test_the_name_of_the_program_leads_to_it() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    module, name = project["scripts"]["surefoot"].split(":")
    assert getattr(importlib.import_module(module), name) is main


def test_what_the_user_says_about_columns_overrules_the_guess(run: Run, folder: Path, tmp_path: Path) -> None:
    words = ["fit", folder / "visits.csv", "--target", "bought", "--output", tmp_path / "model", "--json", "--quiet"]
    code, out, err = run(*words, "--categorical", "visits,customer", "--drop", "batch,opened", "--numeric", "age")
    said = json.loads(out)
    assert code == 0
    assert {column["name"]: column["kind"] for column in said["columns"]} == {
        "age": "numeric",
        "channel": "categorical",
        "visits": "categorical",
        "customer": "categorical",
    }
    assert said["left_out"] == [] and said["certificate"]["verified"] is True
    assert "120 levels in 120 rows" in err and "learned by heart" in err


def test_a_file_is_not_replaced_without_force(run: Run, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "model").write_text("precious")
    words = ["fit", folder / "visits.csv", "--target", "bought", "--output", tmp_path / "model", "--quiet"]
    code, _, err = run(*words)
    assert code == 3 and "--force" in err
    assert (tmp_path / "model").read_text() == "precious"
    assert run(*words, "--force")[0] == 0
    assert sf.load(tmp_path / "model").certificate_.verified


def test_score_writes_what_the_model_predicts(run: Run, folder: Path, tmp_path: Path) -> None:
    code, _, err = run(
        "score", folder / "robust.sf", folder / "visits.csv", "--keep", "customer,age", "--output", tmp_path / "scores.csv"
    )
    assert code == 0 and "120 rows scored" in err
    with (tmp_path / "scores.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    model, table = sf.load(folder / "robust.sf"), pd.read_csv(folder / "visits.csv")
    X = table[list(model.feature_names_in_)]
    assert [row["customer"] for row in rows] == table.customer.tolist()
    assert [row["prediction"] for row in rows] == model.predict(X).tolist()
    assert [float(row["probability of yes"]) for row in rows] == model.predict_proba(X)[:, 1].tolist()
    code, out, _ = run("score", folder / "robust.sf", folder / "visits.csv")
    assert code == 0 and out.splitlines()[0] == "prediction,probability of yes" and len(out.splitlines()) == 121
    assert run("score", folder / "robust.sf", folder / "visits.csv", "--output", tmp_path / "scores.csv")[0] == 3


def test_score_finds_columns_by_name_and_says_which_are_missing(run: Run, folder: Path, tmp_path: Path) -> None:
    table = pd.read_csv(folder / "visits.csv")
    table[["bought", "channel", "batch", "age", "visits"]].to_csv(tmp_path / "other.csv", sep=";", index=False)
    assert (
        run("score", folder / "robust.sf", tmp_path / "other.csv")[1]
        == run("score", folder / "robust.sf", folder / "visits.csv")[1]
    )
    table[["channel", "visits"]].to_csv(tmp_path / "short.csv", index=False)
    code, _, err = run("score", folder / "robust.sf", tmp_path / "short.csv", "--output", tmp_path / "none.csv")
    assert code == 1 and "lacks the column 'age'" in err and not (tmp_path / "none.csv").exists()
    table.replace({"channel": {"web": "fax"}}).to_csv(tmp_path / "new.csv", index=False)
    code, _, err = run("score", folder / "robust.sf", tmp_path / "new.csv", "--output", tmp_path / "none.csv")
    assert code == 1 and "'fax'" in err and "'channel'" in err and not (tmp_path / "none.csv").exists()


def test_levels_that_training_never_held_can_be_ignored(run: Run, folder: Path, tmp_path: Path) -> None:
    pd.read_csv(folder / "visits.csv").replace({"channel": {"web": "fax"}}).to_csv(tmp_path / "new.csv", index=False)
    for kind in ("robust", "risk-score"):
        words = ["--target", "bought", "--model", kind, "--unseen", "ignore", "--quiet"]
        words += ["--max-features", "2"] if kind == "risk-score" else []
        assert run("fit", folder / "visits.csv", "--output", tmp_path / kind, *words)[0] == 0
        assert run("score", tmp_path / kind, tmp_path / "new.csv")[0] == 0


def test_stress_reports_worst_and_mean(run: Run, folder: Path) -> None:
    words = ["stress", folder / "robust.sf", folder / "visits.csv", "--target", "bought", "--sets", "20", "--quiet"]
    code, out, _ = run(*words)
    assert code == 0 and "20 shifted tables" in out and "auc" in out
    code, out, _ = run(*words, "--json", "--certainty", "0.7", "--interval", "2", "--scenarios", "all")
    results = json.loads(out)["results"]
    assert len({line["scenario"] for line in results}) == 8
    auc = next(line for line in results if line["metric"] == "auc")
    assert 0.5 < auc["worst"] <= auc["mean"] < auc["unshifted"] <= 1
    code, _, err = run(*words, "--certainty", "0.2")
    assert code == 1 and "0.2" in err


def test_report_writes_one_page(run: Run, folder: Path, tmp_path: Path) -> None:
    words = ["report", folder / "card.sf", folder / "visits.csv", "--target", "bought", "--sets", "10", "--quiet"]
    code, out, _ = run(*words, "--output", tmp_path / "report.html", "--title", "Visits & more")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert code == 0 and str(tmp_path / "report.html") in out
    assert page.lstrip().lower().startswith("<!doctype html") and "Visits &amp; more" in page
    assert run(*words, "--output", tmp_path / "report.html")[0] == 3
    code, out, _ = run(*words, "--output", tmp_path / "report.html", "--force", "--json")
    assert code == 0 and json.loads(out)["rows"] == 120


def test_explain_shows_coefficients_cards_and_formulas(run: Run, folder: Path, tmp_path: Path) -> None:
    code, out, _ = run("explain", folder / "robust.sf")
    assert code == 0 and "channel" in out and "web" in out and "Certificate (verified)" in out
    code, out, _ = run("explain", folder / "card.sf")
    assert code == 0 and "points" in out and "Risk of yes" in out
    code, out, _ = run("explain", folder / "robust.sf", "--json")
    assert code == 0 and {term["feature"] for term in json.loads(out)["terms"]} <= {"age", "channel", "visits", "batch"}
    assert run("explain", folder / "card.sf", "--format", "pmml", "--output", tmp_path / "card.xml")[0] == 0
    assert (tmp_path / "card.xml").read_text(encoding="utf-8").startswith("<?xml")
    assert run("explain", folder / "card.sf", "--format", "pmml", "--output", tmp_path / "card.xml")[0] == 3
    code, out, _ = run("explain", folder / "card.sf", "--format", "sql")
    with sqlite3.connect(":memory:") as database:
        assert database.execute(
            f"EXPLAIN SELECT {out.replace('EXP(', 'ABS(')} FROM (SELECT 1 AS age, 'web' AS channel, 2 AS visits, 3 AS batch)"
        )


def test_a_support_vector_machine_from_groups(run: Run, folder: Path, tmp_path: Path) -> None:
    table = pd.read_csv(folder / "visits.csv").dropna().drop(columns=["customer", "opened"])
    table["batch"] = table.bought + table.batch.astype(str)
    table.to_csv(tmp_path / "samples.csv", index=False)
    words = ["fit", tmp_path / "samples.csv", "--target", "bought", "--model", "svm", "--output", tmp_path / "svm", "--quiet"]
    code, _, err = run(*words, "--groups", "batch")
    assert code == 1 and "'channel' holds text" in err
    code, out, _ = run(*words, "--groups", "batch", "--drop", "channel", "--kernel", "linear")
    assert code == 0
    code, out, _ = run("explain", tmp_path / "svm")
    assert code == 0 and "kernel linear" in out and "margin of yes" in out
    assert run("score", tmp_path / "svm", tmp_path / "samples.csv", "--output", tmp_path / "scores.csv")[0] == 0
    assert "probability of yes" in (tmp_path / "scores.csv").read_text()
    code, _, err = run("fit", tmp_path / "samples.csv", "--target", "bought", "--groups", "batch", "--output", tmp_path / "x")
    assert code == 1 and "--groups is for --model svm" in err


def test_the_radius_can_be_chosen_by_cross_validation(run: Run, folder: Path, tmp_path: Path) -> None:
    words = ["fit", folder / "visits.parquet", "--target", "bought", "--output", tmp_path / "model", "--quiet"]
    assert run(*words, "--radius", "cv")[0] == 0
    assert isinstance(sf.load(tmp_path / "model"), sf.RobustLogisticRegressionCV)
    code, _, err = run(*words, "--radius", "far", "--force")
    assert code == 1 and "--radius far must be a number" in err


@pytest.mark.filterwarnings("ignore::surefoot.exceptions.GridEdgeWarning")
def test_the_radius_can_be_chosen_by_leaving_sites_out(run: Run, folder: Path, tmp_path: Path) -> None:
    words = ["fit", folder / "visits.parquet", "--target", "bought", "--output", tmp_path / "model", "--quiet"]
    assert run(*words, "--groups", "batch", "--select", "worst")[0] == 0
    model = sf.load(tmp_path / "model")
    assert model.path_.select == "worst" and len(model.path_.environments) == 12
    assert "batch" not in model.feature_names_in_
    assert run(*words, "--groups", "batch", "--radius", "cv", "--force")[0] == 0
    assert sf.load(tmp_path / "model").select == "mean"
    assert "or --select" in run(*words, "--groups", "batch", "--force")[2]
    assert (
        "--select chooses the radius, but --radius is 0.1" in run(*words, "--select", "mean", "--radius", "0.1", "--force")[2]
    )
    assert "--select is for --model robust" in run(*words, "--select", "mean", "--model", "svm", "--force")[2]


def test_a_limit_before_the_proof_has_its_own_exit_code(run: Run, folder: Path, tmp_path: Path) -> None:
    words = ["fit", folder / "visits.csv", "--target", "bought", "--output", tmp_path / "model", "--quiet"]
    code, out, err = run(*words, "--model", "risk-score", "--max-features", "4", "--time-limit", "1e-6")
    assert code == 4 and "Not proven" in out and "warning:" in err
    assert sf.load(tmp_path / "model")


def test_rows_that_do_not_fit_into_memory_are_read_in_batches(run: Run, folder: Path, tmp_path: Path) -> None:
    table = pd.read_csv(folder / "visits.csv").dropna()
    # A gap of a category is a level of its own, in batches as well.
    table.loc[table.index[::7], "channel"] = None
    table.to_csv(tmp_path / "whole.csv", index=False)
    words = ["fit", tmp_path / "whole.csv", "--target", "bought", "--quiet"]
    assert run(*words, "--output", tmp_path / "one")[0] == 0
    code, _, err = run(*words, "--output", tmp_path / "two", "--memory", "0.01")
    assert code == 0 and "fitted in batches" in err
    whole, batches = sf.load(tmp_path / "one"), sf.load(tmp_path / "two")
    assert whole.schema_.names == batches.schema_.names and None in batches.schema_.categorical_columns[0].levels
    np.testing.assert_allclose(whole.coef_, batches.coef_, atol=1e-6)
    again = ["verify", tmp_path / "two", tmp_path / "whole.csv", "--target", "bought"]
    code, out, err = run(*again)
    assert code == 0 and out.startswith("verified on") and "in batches" not in err
    code, out, err = run(*again, "--memory", "0.01")
    assert code == 0 and out.startswith("verified on") and "verified in batches" in err
    table.iloc[:-1].to_csv(tmp_path / "fewer.csv", index=False)
    for memory, reason in (("2048", "not the rows of the proof"), ("0.01", "not those of the fit")):
        code, out, err = run("verify", tmp_path / "two", tmp_path / "fewer.csv", "--target", "bought", "--memory", memory)
        assert code == 1 and out == "NOT verified\n" and reason in err
    code, _, err = run(*words, "--output", tmp_path / "three", "--memory", "0.01", "--model", "risk-score")
    assert code == 1 and "only --model robust" in err and "take a sample" in err
    code, _, err = run("fit", folder / "visits.csv", "--target", "bought", "--output", tmp_path / "four", "--memory", "0.01")
    assert code == 1 and "gaps of numbers ('age')" in err


def test_a_file_that_is_no_model_is_refused(run: Run, folder: Path, tmp_path: Path) -> None:
    for command in (["score"], ["explain"]):
        rest = [folder / "visits.csv"] if command == ["score"] else []
        code, _, err = run(*command, folder / "visits.csv", *rest)
        assert code == 1 and "cannot be read as a model" in err
    code, _, err = run("explain", tmp_path / "absent")
    assert code == 1 and "absent" in err


def test_the_program_as_a_program(folder: Path, tmp_path: Path) -> None:
    words = ["score", str(folder / "robust.sf"), str(folder / "visits.csv")]
    scored = subprocess.run(
        [sys.executable, "-m", "surefoot.cli", *words], cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False
    )
    assert scored.returncode == 0 and len(scored.stdout.splitlines()) == 121 and scored.stderr == ""


def test_wrong_usage_has_its_own_exit_code(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words in ([], ["fit", str(folder / "visits.csv")], ["guess"]):
        with pytest.raises(SystemExit) as stop:
            main(words)
        assert stop.value.code == 2
    assert "usage: surefoot" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["fit", "score", "stress", "report", "explain", "demo"])
def test_every_command_has_help_with_examples(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main([command, "--help"])
    said = capsys.readouterr().out
    assert stop.value.code == 0 and f"surefoot {command} " in said.split("examples:")[1]


def test_the_demo_runs_every_other_command(run: Run, tmp_path: Path) -> None:
    code, out, _ = run("demo", "--folder", tmp_path / "demo")
    assert code == 0
    assert all(f"$ surefoot {command} " in out for command in ("fit", "explain", "verify", "score", "stress", "report"))
    assert {path.name for path in (tmp_path / "demo").iterdir()} == {
        "train.csv",
        "test.csv",
        "model.surefoot",
        "scores.csv",
        "report.html",
    }
    code, _, err = run("demo", "--folder", tmp_path / "demo")
    assert code == 3 and "--force" in err
