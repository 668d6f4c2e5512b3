"""``surefoot verify``: exit codes, and the sentence that goes with them."""

from __future__ import annotations

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


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table, and models that were fitted to it from the command line."""
    place = tmp_path_factory.mktemp("visits")
    rng = np.random.default_rng(3)
    n = 80
    table = pd.DataFrame(
        {
            "age": rng.integers(18, 80, n).astype(float),
            "channel": rng.choice(["web", "phone", "shop"], n),
            "batch": np.repeat(np.arange(n // 4), 4),
        }
    )
    table["bought"] = np.where(np.repeat(rng.random(n // 4) < 0.5, 4), "yes", "no")
    table["age"] += 20.0 * (table.bought == "yes")
    table.to_csv(place / "visits.csv", index=False)
    table.assign(age=table.age + 1).to_csv(place / "other.csv", index=False)
    for name, more in {
        "robust": ["--drop", "batch"],
        "card": ["--model", "risk-score", "--max-features", "2", "--drop", "batch"],
        "svm": ["--model", "svm", "--groups", "batch", "--drop", "channel"],
    }.items():
        words = ["fit", str(place / "visits.csv"), "--target", "bought", "--output", str(place / name), "--quiet", *more]
        assert main(words) == 0
    return place


@pytest.mark.parametrize("model", ["robust", "card", "svm"])
def test_a_proof_that_holds_ends_with_0_and_its_claim(model: str, folder: Path, run: Run) -> None:
    code, out, err = run("verify", folder / model, folder / "visits.csv", "--target", "bought")
    assert code == 0 and err == ""
    last = sf.load(folder / model)
    claim = (last.steps[-1][1] if hasattr(last, "steps") else last).certificate_.claim
    assert out == f"verified on 80 rows: {claim}\n"


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
@pytest.mark.parametrize("form", [np.int64, np.float64, lambda groups: [f"g{each}" for each in groups]])
def test_groups_are_read_as_the_fit_had_them(form: Any, suffix: str, tmp_path: Path, run: Run) -> None:
    rng = np.random.default_rng(1)
    # As text, 10 comes before 2: other groups would be in other places.
    groups = np.repeat(np.arange(20)[::-1], 4)
    table = pd.DataFrame({"x": rng.normal(size=80), "z": rng.normal(size=80), "group": form(groups), "y": groups % 2})
    table["x"] += table.y
    model = sf.ChanceConstrainedSVC(kernel="rbf", n_landmarks=10)
    model.fit(table[["x", "z"]], table.y.to_numpy(), groups=table.group.to_numpy())
    assert model.certificate_.verified
    sf.save(model, tmp_path / "model")
    path = tmp_path / f"rows.{suffix}"
    (table.to_csv if suffix == "csv" else table.to_parquet)(path, index=False)
    code, out, err = run("verify", tmp_path / "model", path, "--target", "y", "--groups", "group")
    assert (code, err) == (0, "") and out.startswith("verified")


def test_groups_may_be_named(folder: Path, run: Run) -> None:
    words = folder / "svm", folder / "visits.csv", "--target", "bought", "--groups"
    assert run("verify", *words, "batch")[0] == 0
    assert run("verify", *words, "channel")[0] == 1


@pytest.mark.parametrize("model", ["robust", "card", "svm"])
def test_other_rows_end_with_1_and_the_reason(model: str, folder: Path, run: Run) -> None:
    code, out, err = run("verify", folder / model, folder / "other.csv", "--target", "bought")
    assert (code, out) == (1, "NOT verified\n") and "not the rows of the proof" in err
    code, out, _ = run("verify", folder / model, folder / "other.csv", "--target", "bought", "--json")
    assert code == 1 and json.loads(out)["verified"] is False


def test_weights_are_part_of_the_rows(folder: Path, tmp_path: Path, run: Run) -> None:
    table = pd.read_csv(folder / "visits.csv").assign(weight=np.arange(80) % 3)
    table.to_csv(tmp_path / "weighted.csv", index=False)
    model = sf.RobustLogisticRegression().fit(table[["age", "channel"]], table.bought, table.weight)
    sf.save(model, tmp_path / "model")
    words = tmp_path / "model", tmp_path / "weighted.csv", "--target", "bought"
    assert run("verify", *words, "--weights", "weight")[0] == 0
    assert run("verify", *words)[0] == 1


def test_a_changed_model_ends_with_1(folder: Path, tmp_path: Path, run: Run) -> None:
    model = sf.load(folder / "robust")
    model.coef_ = 3 * model.coef_
    with pytest.warns(sf.ChangedModelWarning):
        sf.save(model, tmp_path / "changed")
    code, _, err = run("verify", tmp_path / "changed", folder / "visits.csv", "--target", "bought")
    assert code == 1 and "has changed since it was proven" in err
    code, shown, _ = run("explain", tmp_path / "changed")
    assert code == 0
    assert "has changed since it was proven" in shown and model.certificate_.claim not in shown


def test_json_has_the_bounds_and_both_fingerprints(folder: Path, run: Run) -> None:
    _, out, _ = run("verify", folder / "robust", folder / "visits.csv", "--target", "bought", "--json")
    found = json.loads(out)
    proof = sf.load(folder / "robust").certificate_
    assert found["verified"] is True and found["rows"] == 80 and found["upper_bound"] == proof.upper_bound
    assert (found["problem_digest"], found["model_digest"]) == (proof.problem_digest, proof.model_digest)


def test_wrong_usage_ends_with_2(folder: Path) -> None:
    for words in (["verify", str(folder / "robust")], ["verify", "a", "b", "--target", "c", "--arithmetic", "decimal"]):
        with pytest.raises(SystemExit) as stop:
            main(words)
        assert stop.value.code == 2
