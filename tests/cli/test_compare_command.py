"""``surefoot compare`` says what ``surefoot.compare`` says, reads both files alike, and has the exit code it promises."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import surefoot as sf

Run = Callable[..., tuple[int, str, str]]


def visits(n: int, older: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "customer": [f"C-{k:05d}" for k in range(n)],
            "age": rng.integers(18, 80, n) + older,
            "channel": rng.choice(["web", "phone", "NA"], n),
            "opened": pd.date_range("2020-01-01", periods=n).strftime("%Y-%m-%d"),
        }
    )
    score = (table["age"] - 50) / 12 + 1.5 * (table["channel"] == "web")
    table["bought"] = np.where(rng.logistic(size=n) < score, "yes", "no")
    return table


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("months")
    visits(150, 0, 0).to_csv(place / "before.csv", index=False)
    visits(120, 15, 1).to_csv(place / "after.csv", sep=";", index=False)
    visits(120, 0, 2).drop(columns="bought").to_parquet(place / "same.parquet")
    X = visits(150, 0, 0)
    sf.save(sf.RobustLogisticRegression(radius=0.05).fit(X[["age", "channel"]], X["bought"]), place / "model.sf")
    return place


def test_two_files_are_read_alike_and_what_cannot_be_compared_is_said(run: Run, folder: Path) -> None:
    code, out, err = run("compare", folder / "before.csv", folder / "after.csv")
    assert code == 0
    assert "'customer' has a value of its own" in err and "'opened' holds dates" in err
    assert "*  age" in out and "channel" in out and "customer" not in out
    direct = sf.compare(*(table.drop(columns=["customer", "opened"]) for table in (visits(150, 0, 0), visits(120, 15, 1))))
    age = next(line for line in direct.lines if line.name == "age")
    said = json.loads(run("compare", folder / "before.csv", folder / "after.csv", "--json", "--quiet")[1])
    assert said["columns"][0]["name"] == "age" and said["columns"][0]["distance"] == pytest.approx(age.distance)
    assert said["rows"] == [150, 120] and said["shift_beyond_chance"] is True and said["radius"]["model"] is None


def test_a_model_judges_both_tables_and_a_shift_may_fail(run: Run, folder: Path) -> None:
    words = ["compare", folder / "before.csv", folder / "after.csv", "--model", folder / "model.sf", "--target", "bought"]
    code, out, _ = run(*words, "--fail-on-shift")
    assert code == 1 and "does not cover that" in out and "Mean log loss" in out
    code, out, _ = run(*words, "--json")
    said = json.loads(out)
    assert code == 0 and said["radius"]["covered"] is False and said["radius"]["model"] == 0.05
    assert [line["name"] for line in said["columns"]] != [] and "answers_changed" in said["loss"]
    assert {line["name"] for line in said["columns"]} == {"age", "channel", "(label)"}


def test_a_table_without_answers_is_compared_without_them(run: Run, folder: Path) -> None:
    words = ["compare", folder / "before.csv", folder / "same.parquet", "--model", folder / "model.sf"]
    code, out, err = run(*words, "--target", "bought", "--fail-on-shift")
    assert code == 0 and "stands" in out and "Mean log loss" not in out
    assert "has no column 'bought'" in err
    # A level that the model calls NA is a level in both files.
    assert "missing" not in out


def test_a_report_compares_with_the_table_that_is_named(run: Run, folder: Path, tmp_path: Path) -> None:
    words = ["report", folder / "model.sf", folder / "after.csv", "--target", "bought", "--output", tmp_path / "r.html"]
    code, _, err = run(*words, "--sets", "0", "--compare-with", folder / "before.csv")
    assert code == 0, err
    assert "What has shifted" in (tmp_path / "r.html").read_text(encoding="utf-8")


def test_what_the_user_says_about_columns_holds_and_errors_name_the_file(run: Run, folder: Path) -> None:
    words = ["compare", folder / "before.csv", folder / "after.csv"]
    code, out, _ = run(*words, "--drop", "age,opened", "--categorical", "customer", "--level", "0.1")
    assert code == 0 and "customer" in out and "age" not in out and "level 0.1" in out
    code, _, err = run(*words, "--drop", "wage")
    assert code == 1 and "has no column 'wage', which --drop names" in err
    code, _, err = run("compare", folder / "before.csv", folder / "nowhere.csv")
    assert code == 1 and "nowhere.csv" in err
    code, _, err = run(*words, "--target", "wage")
    assert code == 1 and "no column 'wage', which --target names" in err


@pytest.mark.filterwarnings("ignore::surefoot.exceptions.WeakModelWarning")  # a radius that covers everything
@pytest.mark.parametrize("model", [False, True])
def test_a_column_whose_type_changed_is_named_and_fails_the_night(run: Run, tmp_path: Path, model: bool) -> None:
    a, b = visits(150, 0, 0)[["age", "channel", "bought"]], visits(120, 0, 1)[["age", "channel", "bought"]]
    a["smoker"], b["smoker"] = np.arange(150) % 2, np.where(np.arange(120) % 2, "yes", "no")
    a.to_csv(tmp_path / "a.csv", index=False)
    b.to_csv(tmp_path / "b.csv", index=False)
    words = ["compare", tmp_path / "a.csv", tmp_path / "b.csv", "--target", "bought", "--fail-on-shift"]
    if model:
        sf.save(sf.RobustLogisticRegression(radius=5.0).fit(a.drop(columns="bought"), a["bought"]), tmp_path / "model.sf")
        words += ["--model", tmp_path / "model.sf"]
    code, out, err = run(*words)
    assert code == 1 and "the type changed" in out and "'smoker'" in out and "age" in out, err
    said = json.loads(run(*words, "--json")[1])
    assert said["retyped"] == ["smoker"] and {"age", "channel"} < {line["name"] for line in said["columns"]}


def test_a_growing_number_of_rows_does_not_fail_the_night(run: Run, tmp_path: Path) -> None:
    tables = (visits(150, 0, 0).assign(number=np.arange(150)), visits(120, 0, 1).assign(number=np.arange(150, 270)))
    for name, table in zip(("a.csv", "b.csv"), tables, strict=True):
        table[["age", "channel", "number"]].to_csv(tmp_path / name, index=False)
    words = ["compare", tmp_path / "a.csv", tmp_path / "b.csv", "--fail-on-shift"]
    code, out, err = run(*words)
    assert code == 0 and "as in an identifier: the column 'number'" in out, err
    assert json.loads(run(*words, "--json")[1])["identifiers"] == ["number"]
    code, out, _ = run(*words, "--categorical", "number")
    assert code == 0 and "an identifier" not in out and "number" in out
