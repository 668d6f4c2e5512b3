"""What is printed about a model that has changed since it was proven: that, and no claim."""

from __future__ import annotations

import copy
import datetime
import json
import re
from pathlib import Path

import pandas as pd
import pytest
from proven_models import CHANGES, proven_model
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import surefoot as sf
from surefoot.sklearn_api.proven_model import has_changed, standing_certificate

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
        assert "no model of its class is below" not in text and ">proven<" not in text and "Best possible card" not in text
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
    assert not card.proof.verified
    for text in (str(card), card.html, card.svg, card.latex, card.calculator()):
        assert "possible" not in text and "below" not in text
        assert "Nothing is proven about this card: the model has changed since it was proven" in " ".join(
            re.sub(r"<[^>]+>", " ", text).split()
        )
    assert type(card).from_json(card.json).proof.sentence == card.proof.sentence


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


def test_a_report_does_not_call_the_training_rows_other_rows_when_a_step_has_changed(tmp_path: Path) -> None:
    proven = proven_model("robust")
    model = make_pipeline(StandardScaler(), sf.RobustLogisticRegression()).fit(proven.X, proven.y)
    text = page(model, proven.X, proven.y, tmp_path)
    assert "on the 120 rows of this report, which are those of training" in text and "not confirmed" not in text
    model[0].fit(1000 * proven.X)
    text = page(model, proven.X, proven.y, tmp_path)
    assert "which are not those of this report" not in text and "a step has changed since" in text
    assert "of the last step as it was fitted, not confirmed on these rows" in text
    with pytest.raises(sf.CertificateError, match="no step before the last one may have been fitted again"):
        sf.verify(model, proven.X, proven.y)


def test_exports_of_a_pipeline_say_that_the_proof_is_about_its_last_step() -> None:
    proven = proven_model("robust")
    assert "about" not in json.loads(sf.export.to_json(proven.model))["certificate"]
    model = make_pipeline(StandardScaler(), sf.RobustLogisticRegression()).fit(proven.X, proven.y)
    assert "the last step of a pipeline" in json.loads(sf.export.to_json(model))["certificate"]["about"]
    assert "the last step of a pipeline" in sf.export.to_pmml(model)


def test_columns_that_a_binarizer_no_longer_makes_void_the_card_behind_it(tmp_path: Path) -> None:
    proven = proven_model("robust")
    table = pd.DataFrame(proven.X, columns=["a", "b", "c"])
    model = make_pipeline(sf.ThresholdBinarizer(max_thresholds=2), sf.RiskScoreClassifier(max_features=2)).fit(table, proven.y)
    assert has_changed(model) is False and sf.verify(model, table, proven.y).verified
    model[0].fit(3 * table + 1)
    assert has_changed(model) and not standing_certificate(model).verified
    with pytest.raises(sf.CertificateError, match="the step before it makes the column"):
        sf.verify(model, table, proven.y)
    with pytest.warns(sf.ChangedModelWarning, match="the step before it makes the column"):
        sf.save(model, tmp_path / "changed")
    for export in (sf.export.to_json, sf.export.to_pmml, sf.export.to_sql):
        with pytest.raises(ValueError, match="no longer fit together"):
            export(model)
    # A file of it claims nothing either.
    assert has_changed(sf.load(tmp_path / "changed"))


def test_a_report_that_was_stopped_by_its_limit_knows_the_training_rows(tmp_path: Path) -> None:
    proven = proven_model("robust")
    with pytest.warns(sf.ConvergenceLimitWarning):
        model = sf.RobustLogisticRegression(radius=0.05, max_iter=1, solver="lp-admm").fit(proven.X, proven.y)
    text = page(model, proven.X, proven.y, tmp_path)
    assert "which are those of training" in text and "These are the rows the model was fitted to" in text
