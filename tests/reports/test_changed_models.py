"""What is printed about a model that has changed since it was proven: that, and no claim."""

from __future__ import annotations

import copy
import datetime
import json
from pathlib import Path

import pytest
from proven_models import CHANGES, proven_model

import surefoot as sf

PRINTED = ["robust", "robust, cross-validated", "card", "plane"]


def page(model: object, X: object, y: object, folder: Path) -> str:
    return sf.report(model, X, y, folder / "report.html", n_sets=0, overwrite=True).read_text(encoding="utf-8")


@pytest.mark.parametrize("kind", PRINTED)
def test_a_report_on_the_training_rows_says_when_and_on_which_rows_it_checked_the_proof(kind: str, tmp_path: Path) -> None:
    proven = proven_model(kind)
    text = page(proven.model, proven.X, proven.y, tmp_path)
    assert f"checked once more on {datetime.date.today().isoformat()}, on the 120 rows of this report" in text
    assert proven.model.certificate_.problem_digest[:16] in text


@pytest.mark.parametrize("kind", PRINTED)
def test_a_report_on_other_rows_says_that_the_proof_is_about_those_of_training(kind: str, tmp_path: Path) -> None:
    proven = proven_model(kind)
    text = page(proven.model, proven.X[:100], proven.y[:100], tmp_path)
    assert "which are not those of this report" in text and "checked once more" not in text


@pytest.mark.parametrize("kind", PRINTED)
def test_a_report_on_a_changed_model_claims_nothing(kind: str, tmp_path: Path) -> None:
    proven = proven_model(kind)
    model = copy.deepcopy(proven.model)
    CHANGES[kind]["intercept_"](model)
    for rows in (120, 100):
        text = page(model, proven.X[:rows], proven.y[:rows], tmp_path)
        assert "The model has changed since it was proven" in text
        assert "no model is below" not in text and ">proven<" not in text and "Best possible card" not in text
        assert proven.model.certificate_.claim not in text


@pytest.mark.parametrize("kind", ["robust", "card", "plane"])
def test_an_export_of_a_changed_model_claims_nothing(kind: str) -> None:
    proven = proven_model(kind)
    assert json.loads(sf.export.to_json(proven.model))["certificate"]["verified"] is True
    model = copy.deepcopy(proven.model)
    CHANGES[kind]["intercept_"](model)
    found = json.loads(sf.export.to_json(model))["certificate"]
    assert found["verified"] is False and found["lower_bound"] is None and "has changed" in found["claim"]


def test_a_changed_card_prints_without_proof() -> None:
    proven = proven_model("card")
    assert "Best possible card" in str(proven.model.score_card())
    model = copy.deepcopy(proven.model)
    model.intercept_ += 1
    card = model.score_card()
    assert card.proof is None and "possible" not in str(card) and "below" not in card.html


def test_a_model_from_before_there_were_seals_is_said_to_be_one(tmp_path: Path) -> None:
    proven = proven_model("robust")
    model = copy.deepcopy(proven.model)
    del model._proof_seal
    model.certificate_ = type(model.certificate_)(**{**vars(model.certificate_), "model_digest": ""})
    assert "predates fingerprints" in page(model, proven.X[:100], proven.y[:100], tmp_path)


@pytest.mark.parametrize(
    ("kind", "setting"), [("robust", {"radius": 0.5}), ("card", {"max_features": 1}), ("plane", {"C": 3.0})]
)
def test_a_parameter_that_was_set_after_the_fit_voids_what_is_printed(
    kind: str, setting: dict[str, float], tmp_path: Path
) -> None:
    proven = proven_model(kind)
    model = copy.deepcopy(proven.model).set_params(**setting)
    text = page(model, proven.X, proven.y, tmp_path)
    assert f"its parameter {next(iter(setting))} is not that of the fit" in text
    assert ">proven<" not in text and "Best possible card" not in text
    assert json.loads(sf.export.to_json(model))["certificate"]["verified"] is False
