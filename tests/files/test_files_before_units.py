"""Support vector machines from before columns were put into standard units and prices were shared: they stay what they were.

The files and ``answers.json`` were made at the last commit at which every input cost C and columns were taken as they came.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import surefoot as sf
from surefoot.sklearn_api.proven_model import changed_parameters, has_changed

FILES = Path(__file__).resolve().parent / "before_units"
ANSWERS: dict[str, list[float]] = json.loads((FILES / "answers.json").read_text(encoding="utf-8"))
# Inputs of the file that was fitted to moments.
COUNT = 8


def table() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(20)
    groups = np.repeat(np.arange(12), 5)
    labels = groups % 2
    rows = np.repeat(rng.normal(size=(12, 2)), 5, axis=0) + 0.3 * rng.normal(size=(60, 2)) + 2 * labels[:, None]
    return rows * [1.0, 30.0] + [5.0, 0.0], labels, groups


def training(name: str) -> dict[str, Any]:
    X, y, groups = table()
    if name == "moments":
        return {"X": (X[:COUNT], np.tile(0.1 * np.eye(2), (COUNT, 1, 1))), "y": np.arange(COUNT) % 2}
    return {"X": X, "y": y} | ({"groups": groups} if name == "linear_groups" else {})


@pytest.mark.parametrize("name", sorted(ANSWERS))
def test_they_answer_as_they_did_and_their_proof_is_recomputed_at_the_prices_of_their_time(name: str) -> None:
    model = sf.load(FILES / f"{name}.surefoot")
    np.testing.assert_allclose(model.decision_function(table()[0][::6]), ANSWERS[name], rtol=1e-12, atol=1e-12)
    assert model.standardize is False and model.column_means_ is None and model.column_scales_ is None
    assert has_changed(model) is False
    fresh = sf.verify(model, **training(name))
    assert fresh.verified and fresh.problem_digest == model.certificate_.problem_digest
    assert "standard units" not in fresh.claim


@pytest.mark.parametrize("name", sorted(ANSWERS))
def test_a_parameter_that_came_later_cannot_be_set_unnoticed(name: str) -> None:
    model = sf.load(FILES / f"{name}.surefoot").set_params(standardize=True)
    assert changed_parameters(model) == ["standardize"]
    with pytest.raises(sf.CertificateError, match="its parameter standardize is not that of the fit"):
        sf.verify(model, **training(name))


def test_they_can_be_saved_again(tmp_path: Path) -> None:
    sf.save(sf.load(FILES / "linear_groups.surefoot"), tmp_path / "again.surefoot")
    again = sf.load(tmp_path / "again.surefoot")
    assert again.standardize is False and not hasattr(again, "_named_groups")
    assert sf.verify(again, **training("linear_groups")).verified
