"""Columns that nearly decide the label alone are told of, with figures, and others are not."""

from __future__ import annotations

import gzip
import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import surefoot as sf

DATA = Path(os.environ.get("SUREFOOT_DATA", Path(__file__).resolve().parents[3] / "shared" / "data"))
rng = np.random.default_rng(0)


def table(n: int = 400, errors: float = 0.02) -> tuple[pd.DataFrame, Any]:
    X = pd.DataFrame({"age": rng.normal(50, 10, n), "site": rng.choice(list("abc"), n)})
    y = np.where(X.age + rng.normal(0, 8, n) > 50, "ill", "well")
    wrong = rng.random(n) < errors
    return X.assign(outcome_code=np.where((y == "ill") ^ wrong, 1, 0)), y


def told(model: Any, X: Any, y: Any) -> str:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        model.fit(X, y)
    return " ".join(str(one.message) for one in found if issubclass(one.category, sf.DecidingColumnWarning))


@pytest.mark.parametrize(
    "model",
    [sf.RobustLogisticRegression(radius=0.01), sf.RiskScoreClassifier(max_features=1, max_points=1)],
    ids=lambda m: type(m).__name__,
)
def test_a_copy_of_the_label_is_told_with_its_figure(model: Any) -> None:
    X, y = table()
    if isinstance(model, sf.RiskScoreClassifier):
        X = X[["outcome_code"]].assign(old=(X.age > 60).astype(int))
    said = told(model, X, y)
    right = np.mean((X.outcome_code == 1) == (y == "ill"))
    assert "column 'outcome_code' alone nearly decides the label" in said and f"right in {100 * right:.1f} % of rows" in said
    assert "'age'" not in said
    assert told(model, X.drop(columns="outcome_code").assign(one=0.0), y) == ""


def test_a_level_that_only_one_class_has_counts_like_a_number() -> None:
    X, y = table()
    X = X.drop(columns="outcome_code").assign(charge=np.where(y == "ill", rng.choice(["F", "M"], y.size), "none"))
    assert "column 'charge' alone nearly decides" in told(sf.RobustLogisticRegression(radius=0.01), X, y)


def test_batches_are_watched_too() -> None:
    X, y = table()
    assert "'outcome_code' alone" in told(sf.RobustLogisticRegression(radius=0.01), [(X, y), (X, y)], None)


def test_few_rows_rare_classes_and_arrays_say_nothing() -> None:
    X, y = table(60, 0.0)
    model = sf.RobustLogisticRegression(radius=0.05)
    assert told(model, X, y) == ""
    X, y = table(300, 0.0)
    assert told(model, X[["age", "outcome_code"]].to_numpy(), y) == ""
    y = np.where(np.arange(300) < 10, "ill", "well")
    assert told(model, X.assign(outcome_code=(y == "ill").astype(int)), y) == ""


def test_a_level_for_every_row_says_nothing_of_others() -> None:
    X, y = table()
    assert "'name'" not in told(
        sf.RobustLogisticRegression(radius=0.05), X[["age"]].assign(name=[f"n{k}" for k in range(400)]), y
    )


def share_of_best(path: Path, target: str, positive: Any) -> str:
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
        X = pd.read_csv(file)
    y = X.pop(target).to_numpy() == positive
    texts = X.select_dtypes(exclude="number").columns
    X[texts] = X[texts].fillna("gap").astype(str)
    X = X.dropna(axis="columns", how="all")
    few = [name for name in X if not (name in texts and X[name].nunique() > 60)]
    return told(sf.RobustLogisticRegression(radius=1.0, missing_numeric="median", time_limit=1e-3), X[few], y)


@pytest.mark.skipif(not DATA.exists(), reason="the public tables are not beside the repository (set SUREFOOT_DATA)")
@pytest.mark.parametrize(
    ("file", "target", "positive", "expected"),
    [
        ("uci/wdbc.csv", "diagnosis", "M", ""),
        ("uci/voting.csv", "class", "republican", ""),
        ("uci/german_credit.csv", "class", 1, ""),
        ("uci/credit_approval.csv", "A16", "+", ""),
        ("uci/mammographic_masses.csv", "severity", 1, ""),
        ("shift/compas_two_years.csv.gz", "two_year_recid", 1, "column 'is_recid' alone nearly decides"),
    ],
)
def test_public_tables_are_honest_but_for_known_leaks(file: str, target: str, positive: Any, expected: str) -> None:
    said = share_of_best(DATA / file, target, positive)
    assert (expected in said) if expected else said == ""
    if expected:
        assert "'event' (5" in said, "what decides much of the label is named beside"
