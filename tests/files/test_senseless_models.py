"""Model files whose parts are whole and make no sense: refused in words, by ``load`` or by ``verify``, and soon."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from forged_files import forged
from proven_models import proven_model
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import surefoot as sf


@pytest.mark.parametrize(
    ("kind", "change", "message"),
    [
        ("robust", lambda model: model[2]["outcome_"]["record"][1].update(dual=2.5), "dual of a SolveOutcome is 2.5"),
        ("robust", lambda model: model[2]["certificate_"]["record"][1].update(witness="x"), "witness of a Certificate is 'x'"),
        ("robust", lambda model: model[2]["certificate_"]["record"][1].update(claim="\ud800"), "half of a pair"),
        ("robust", lambda model: model[2]["certificate_"]["record"][1].update(model_digest="\ud800"), "half of a pair"),
        ("card", lambda model: model[1].update(n_jobs={"tuple": [1, 2]}), "n_jobs of the RiskScoreClassifier"),
        ("card", lambda model: model[1].update(n_jobs=0), "n_jobs of the RiskScoreClassifier is 0"),
        ("plane of groups", lambda model: model[2]["groups_"]["list"].pop(), "groups_ does not fit"),
        ("cost", lambda model: model[2].pop("outcome_"), "a certificate without the outcome"),
    ],
)
def test_parts_that_no_fit_leaves_are_refused(kind: str, change: Any, message: str, tmp_path: Path) -> None:
    path = forged(proven_model(kind).model, tmp_path / "model", change)
    with pytest.raises(sf.ModelFileError, match=message):
        sf.load(path)


@pytest.mark.parametrize("part", ["mean_", "scale_"])
def test_a_scaler_without_its_numbers_is_refused(part: str, tmp_path: Path) -> None:
    proven = proven_model("robust")
    pipeline = make_pipeline(StandardScaler(), sf.RobustLogisticRegression()).fit(proven.X, proven.y)

    def change(model: list[Any]) -> None:
        model[1]["standardscaler"]["model"][2][part] = None

    with pytest.raises(sf.ModelFileError, match=f"{part} is missing"):
        sf.load(forged(pipeline, tmp_path / "model", change))


def test_rules_about_enormous_points_take_no_memory(tmp_path: Path) -> None:
    proven = proven_model("card")
    rule = {"record": ["Bounds", {"columns": "x0", "lower": -(10**8), "upper": 10**8}]}

    def change(model: list[Any]) -> None:
        model[1]["constraints"] = {"list": [rule]}

    path = forged(proven.model, tmp_path / "model", change)
    tracemalloc.start()
    with pytest.raises(sf.CertificateError, match=r"too large|has changed"):
        proven.verify(sf.load(path))
    assert tracemalloc.get_traced_memory()[1] < 1 << 26
    tracemalloc.stop()
    for wrong in (sf.constraints.Bounds("x0", -1, 2**20), sf.constraints.PointSet("x0", [10**30])):
        with pytest.raises(ValueError, match="points lie between -1048576 and 1048576"):
            sf.RiskScoreClassifier(constraints=[wrong]).fit(proven.X, proven.y)


@pytest.mark.parametrize("price", [5e-324, 1e-300, 1e-100])
def test_the_worst_case_of_shifts_that_cost_nothing_is_that_of_shifts_that_cost_next_to_nothing(price: float) -> None:
    proven = proven_model("robust, mixed columns and weights")
    X, y = proven.X[1:], proven.y[1:]
    losses = []
    for each in (1e-13, price):
        model = sf.RobustLogisticRegression(radius=0.05, label_weight=1.0).fit(X, y)
        weights = np.full_like(model.ground_cost_.categorical_weights, each)
        model.ground_cost_ = replace(model.ground_cost_, categorical_weights=weights)
        losses.append(model.worst_case(X, y).expected_loss)
    assert losses[1] == pytest.approx(losses[0], rel=1e-9) and losses[1] > model.certificate_.upper_bound


def test_whatever_a_certificate_stumbles_over_is_a_refusal() -> None:
    proven = proven_model("robust")
    model = sf.RobustLogisticRegression(radius=0.05).fit(proven.X, proven.y)
    model.certificate_ = replace(model.certificate_, witness=2.5)
    model.outcome_ = replace(model.outcome_, dual=2.5)
    model._seal_proof()
    with pytest.raises(sf.CertificateError, match=r"cannot be judged|not those"):
        proven.verify(model)


@pytest.mark.parametrize("gap", [1, 1.0, 2.5])
def test_a_gap_of_1_or_more_proves_nothing_and_is_refused(gap: float) -> None:
    for kind, parameter in (("robust", "tol"), ("card", "gap"), ("plane", "tol"), ("cost", "tol")):
        proven = proven_model(kind)
        model = type(proven.model)(**{**proven.model.get_params(), parameter: gap})
        with pytest.raises(ValueError, match=f"{parameter} = .* below 1"):
            model.fit(proven.X, proven.y)


def test_limits_of_points_are_named() -> None:
    proven = proven_model("card")
    with pytest.raises(ValueError, match="max_points = 10000000 must be a whole number of at least 1 and below 1048576"):
        sf.RiskScoreClassifier(max_points=10_000_000).fit(proven.X, proven.y)
