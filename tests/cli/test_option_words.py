"""What commands say about settings: their own options, and nothing of Python's."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import surefoot as sf
from surefoot.cli.main import main
from surefoot.cli.option_words import in_options

Run = Callable[..., tuple[int, str, str]]

PYTHON = re.compile(r"\b(time_limit|max_iter|max_features|n_jobs|tol|missing_\w+|unseen_\w+)\b|\.fit\b|None or")


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = np.random.default_rng(8)
    n = 120
    frame = pd.DataFrame(
        {
            "patient_id": np.arange(n) + 5000,
            "age": rng.integers(20, 90, n),
            "bmi": rng.normal(27, 4, n).round(1),
            "visits": rng.integers(1, 5, n),
            "holes": np.where(np.arange(n) % 7 == 0, np.nan, 1.0),
            "ward": rng.choice(["a", "b"], n),
        }
    )
    frame["outcome"] = np.where(rng.random(n) < 1 / (1 + np.exp(4 - 0.07 * frame.age)), "ill", "healthy")
    path = tmp_path_factory.mktemp("patients") / "patients.csv"
    frame.to_csv(path, index=False)
    return path


@pytest.mark.parametrize(
    ("settings", "code", "said"),
    [
        (
            "--model risk-score --time-limit 1e-6",
            4,
            "Allow more with --time-limit, or ask for less with --gap or --max-features",
        ),
        ("--model robust --time-limit 1e-6", 4, "Allow more with --time-limit, or ask for less with --gap."),
        ("--model svm --time-limit 1e-6 --drop ward,holes", 4, "Allow more with --time-limit, or ask for less with --gap."),
        ("--time-limit 0", 1, "--time-limit 0.0 must be a positive number of seconds"),
        ("--model risk-score --max-features -2", 1, "--max-features -2 must be a whole number"),
        ("--radius -1", 1, "--radius -1.0 must be a finite number"),
        ("--gap 2", 1, "--gap 2.0 must be"),
        ("--model risk-score --gap 2", 1, "--gap 2.0 must be"),
        ("--missing error", 1, "--missing fill"),
        ("--model risk-score --missing error", 1, "--missing fill"),
        ("--weights holes", 1, "the column 'holes' of --weights is missing in 18 of 120 rows"),
        ("--weights ward", 1, "the column 'ward' of --weights holds other than numbers"),
        ("--weights nobody", 1, "--weights"),
    ],
)
def test_messages_name_options(settings: str, code: int, said: str, table: Path, tmp_path: Path, run: Run) -> None:
    words = ["fit", table, "--target", "outcome", "--output", tmp_path / "model", "--quiet", *settings.split()]
    found, _, errors = run(*words)
    assert found == code
    assert said in errors
    assert not PYTHON.search(errors), errors


def test_names_of_columns_and_plain_words_stay() -> None:
    said = "column 'time_limit' lacks rows; its gap was closed within a radius of 2, relative gap 0.1."
    assert in_options(said) == said


@pytest.mark.parametrize("model", ["robust", "risk-score", "svm"])
def test_fit_verify_and_report_take_the_same_weights(model: str, table: Path, tmp_path: Path, run: Run) -> None:
    place, weights = tmp_path / "model", ["--weights", "visits"]
    words = ["fit", table, "--target", "outcome", "--output", place, "--model", model, "--drop", "patient_id,ward,holes"]
    code, out, _ = run(*words, *weights, "--quiet", "--json")
    assert code == 0
    told = json.loads(out)
    assert told["weights"] == "visits"
    assert [column["name"] for column in told["columns"]] == ["age", "bmi"]
    assert run("verify", place, table, "--target", "outcome", *weights)[0] == 0
    code, _, errors = run("verify", place, table, "--target", "outcome")
    assert code == 1
    assert "weights" in errors
    pages = []
    for name, more in (("plain.html", []), ("weighted.html", weights)):
        words = ["report", place, table, "--target", "outcome", "--output", tmp_path / name, "--sets", "0", "--quiet", *more]
        assert run(*words)[0] == 0
        pages.append((tmp_path / name).read_text())
    assert ["which are those of training" in page for page in pages] == [False, True]
    if model == "robust":
        frame = pd.read_csv(table)
        direct = sf.RobustLogisticRegression().fit(frame[["age", "bmi"]], frame.outcome, frame.visits)
        assert direct.certificate_.upper_bound == pytest.approx(told["certificate"]["upper_bound"], rel=1e-6)


def test_the_gap_of_a_fit_is_what_its_claim_says(table: Path, tmp_path: Path, run: Run) -> None:
    for model in ("robust", "risk-score"):
        words = [
            "fit",
            table,
            "--target",
            "outcome",
            "--output",
            tmp_path / model,
            "--model",
            model,
            "--gap",
            "0.03",
            "--quiet",
        ]
        code, out, _ = run(*words)
        assert code == 0
        assert "asked for: 3.0e-02" in out


def test_a_number_that_is_called_an_identifier_is_pointed_out(table: Path, tmp_path: Path, run: Run) -> None:
    words = ["fit", table, "--target", "outcome", "--output", tmp_path / "model", "--quiet"]
    told = run(*words)[2]
    assert "'patient_id' is left out" in told and "--numeric patient_id" in told
    assert "identifier" not in run(*words, "--force", "--numeric", "patient_id")[2]


@pytest.mark.parametrize("model", ["robust", "risk-score"])
def test_whole_numbers_that_differ_in_every_row_are_pointed_out_once(table: Path, tmp_path: Path, run: Run, model: str) -> None:
    named = pd.read_csv(table).rename(columns={"patient_id": "case"})
    named.to_csv(tmp_path / "cases.csv", index=False)
    words = ["fit", tmp_path / "cases.csv", "--target", "outcome", "--output", tmp_path / "model", "--quiet"]
    words += ["--model", model] + (["--max-features", "1", "--max-points", "2"] if model == "risk-score" else [])
    told = run(*words)[2]
    assert told.count("column 'case' holds another whole number in every row") == 1 and "--numeric case" in told
    assert "whole number" not in run(*words, "--force", "--numeric", "case")[2]


def test_amounts_with_a_sign_are_numbers_unless_they_are_named(table: Path, tmp_path: Path, run: Run) -> None:
    rows = pd.read_csv(table)
    rows.assign(rate=[f"{k % 40 / 4:.2f}%" for k in range(len(rows))]).to_csv(tmp_path / "rates.csv", index=False)
    words = ["fit", tmp_path / "rates.csv", "--target", "outcome", "--output", tmp_path / "model", "--quiet"]
    _, out, told = run(*words)
    assert "rate        numeric (%)" in out and "numbers as text" not in told
    assert "numbers as text" not in run(*words, "--force", "--categorical", "rate")[2]


def test_no_threads_are_wrong_usage(table: Path, tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["fit", str(table), "--target", "outcome", "--output", str(tmp_path / "model"), "--jobs", "0"])
