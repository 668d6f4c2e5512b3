"""Commands read a table as the model that they load knows it, and as data frame libraries do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import surefoot as sf
from surefoot.cli.main import main

LEVELS = np.array(["DE", "b ", "NA", None], dtype=object)


def country_table() -> tuple[pd.DataFrame, Any]:
    rng = np.random.default_rng(1)
    x = rng.normal(size=300)
    table = pd.DataFrame({"x": x, "c": rng.choice(LEVELS, 300)})
    return table, np.where(x + 2 * (table.c == "NA") - 2 * (table.c == "b ") + rng.logistic(size=300) > 0, "yes", "no")


def write(table: pd.DataFrame, path: Path) -> Path:
    table.to_parquet(path) if path.suffix == ".parquet" else table.to_csv(path, index=False)
    return path


@pytest.mark.parametrize("name", ["t.parquet", "t.csv"])
@pytest.mark.parametrize("unseen", ["error", "reference"])
def test_score_and_verify_take_the_levels_of_the_model_as_they_are(name: str, unseen: str, tmp_path: Path) -> None:
    table, y = country_table()
    model = sf.RobustLogisticRegression(radius=0.01, missing_categorical="level", unseen_categories=unseen).fit(table, y)
    sf.save(model, tmp_path / "model")
    place = write(table.assign(t=y), tmp_path / name)
    assert main(["score", str(tmp_path / "model"), str(place), "-o", str(tmp_path / "s.csv"), "-q"]) == 0
    scores = pd.read_csv(tmp_path / "s.csv")
    np.testing.assert_allclose(scores["probability of yes"], model.predict_proba(table)[:, 1], rtol=1e-15)
    assert main(["verify", str(tmp_path / "model"), str(place), "--target", "t"]) == 0


@pytest.mark.parametrize("name", ["t.parquet", "t.csv"])
def test_a_text_that_the_user_calls_a_gap_is_one(name: str, tmp_path: Path) -> None:
    table, y = country_table()
    model = sf.RobustLogisticRegression(missing_categorical="level").fit(table, y)
    sf.save(model, tmp_path / "model")
    place = write(table, tmp_path / name)
    words = ["score", str(tmp_path / "model"), str(place), "-o", str(tmp_path / "s.csv"), "-q", "--missing-values", "NA"]
    assert main(words) == 0
    expected = model.predict_proba(table.assign(c=table.c.where(table.c != "NA", None)))[:, 1]
    np.testing.assert_allclose(pd.read_csv(tmp_path / "s.csv")["probability of yes"], expected, rtol=1e-15)


def test_a_class_may_be_called_na(tmp_path: Path) -> None:
    table, y = country_table()
    y = np.where(y == "yes", "NA", "EU")
    sf.save(sf.RobustLogisticRegression().fit(table[["x"]], y), tmp_path / "model")
    for name in ("t.csv", "t.parquet"):
        assert main(["verify", str(tmp_path / "model"), str(write(table.assign(t=y), tmp_path / name)), "--target", "t"]) == 0


def test_fit_takes_text_of_a_parquet_file_as_it_is(tmp_path: Path) -> None:
    table, y = country_table()
    place = write(table.assign(t=y), tmp_path / "t.parquet")
    assert main(["fit", str(place), "--target", "t", "-o", str(tmp_path / "model"), "-q"]) == 0
    model = sf.load(tmp_path / "model")
    assert set(model.schema_.columns[1].levels) == set(LEVELS)
    assert sf.verify(model, table, y).verified


@pytest.mark.parametrize("words", [[], ["--model", "risk-score", "--max-features", "2"], ["--memory", "0.001"]])
def test_truth_values_of_a_text_file_are_those_that_pandas_reads(words: list[str], tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=300)
    table = pd.DataFrame({"x": x, "smoker": rng.random(300) < 0.5, "ill": x + rng.logistic(size=300) > 0})
    place = write(table, tmp_path / "t.csv")
    assert main(["fit", str(place), "--target", "ill", "-o", str(tmp_path / "model"), "-q", *words]) == 0
    model, read = sf.load(tmp_path / "model"), pd.read_csv(place)
    assert model.classes_.tolist() == [False, True]
    assert set(model.predict(read[["x", "smoker"]])) == {False, True}
    assert sf.verify(model, read[["x", "smoker"]], read.ill).verified
    assert main(["verify", str(tmp_path / "model"), str(place), "--target", "ill"]) == 0
    # Other spellings of the same values.
    spelled = pd.read_csv(place, dtype=str)
    for column in ("smoker", "ill"):
        spelled[column] = spelled[column].str.lower()
    assert main(["verify", str(tmp_path / "model"), str(write(spelled, tmp_path / "s.csv")), "--target", "ill"]) == 0


def test_levels_that_are_numbers_are_known_in_both_spellings(tmp_path: Path) -> None:
    table, y = country_table()
    table["c"] = np.random.default_rng(0).choice([1, 2, 3], 300)
    sf.save(sf.RobustLogisticRegression(categorical_features=["c"]).fit(table, y), tmp_path / "model")
    for kind in (int, float):
        place = write(table.assign(t=y, c=table.c.astype(kind)), tmp_path / "t.csv")
        assert main(["verify", str(tmp_path / "model"), str(place), "--target", "t"]) == 0


def test_verify_takes_columns_by_their_order_if_the_fit_knew_no_names(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 3))
    y = np.where(X @ [1.0, -0.5, 0.0] + rng.logistic(size=100) > 0, "yes", "no")
    sf.save(sf.RobustLogisticRegression().fit(X, y), tmp_path / "model")
    rows = [[*row, level] for row, level in zip(X.tolist(), rng.choice(["NA", "b"], 100).tolist(), strict=True)]
    sf.save(sf.RobustLogisticRegression().fit(rows, y), tmp_path / "mixed")
    table = pd.DataFrame(X, columns=["a", "b", "c"])
    place = write(table.assign(t=y), tmp_path / "t.csv")
    assert main(["verify", str(tmp_path / "model"), str(place), "--target", "t"]) == 0
    mixed = write(table.assign(level=[row[3] for row in rows], t=y), tmp_path / "m.csv")
    assert main(["verify", str(tmp_path / "mixed"), str(mixed), "--target", "t"]) == 0
    assert main(["verify", str(tmp_path / "model"), str(mixed), "--target", "t"]) == 1
    assert "fitted to 3 columns without names, and the file has 4" in capsys.readouterr().err
    turned = write(table[["b", "a", "c"]].assign(t=y), tmp_path / "turned.csv")
    assert main(["verify", str(tmp_path / "model"), str(turned), "--target", "t"]) == 1
    assert main(["score", str(tmp_path / "model"), str(place)]) == 1
    assert "Fit it to a data frame" in capsys.readouterr().err


def test_signals_are_no_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    three = (-np.ones((1, 4)), np.array([-3.0]))
    model = sf.inverse.InverseOptimizer(sf.inverse.forward.BinaryProgram()).fit([three], [[1, 1, 1, 0]])
    sf.save(model, tmp_path / "cost")
    for words in (["verify", tmp_path / "cost", "t.csv", "--target", "t"], ["explain", tmp_path / "cost"]):
        assert main([str(word) for word in words]) == 1
        said = capsys.readouterr().err
        assert "an InverseOptimizer" in said and "surefoot.verify(surefoot.load(" in said


def test_an_option_that_names_no_column_is_told_as_such(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table, y = country_table()
    sf.save(sf.RobustLogisticRegression().fit(table[["x"]], y), tmp_path / "model")
    place = write(table.assign(t=y), tmp_path / "t.csv")
    assert main(["verify", str(tmp_path / "model"), str(place), "--target", "t", "--weights", "weight"]) == 1
    assert "lacks the column 'weight', which --weights names" in capsys.readouterr().err
    assert main(["verify", str(tmp_path / "model"), str(place), "--target", "target"]) == 1
    assert "which --target names" in capsys.readouterr().err
