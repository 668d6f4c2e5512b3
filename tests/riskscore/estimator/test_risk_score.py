"""The score card estimator: the best card by names, weights, labels of any kind, and what it refuses."""

from __future__ import annotations

import contextlib
import itertools
import pickle
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
from reference.ward_cards import SMALL, X, Y, fitted, mean_loss
from sklearn.base import clone
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

import surefoot as sf
from surefoot import RiskScoreClassifier
from surefoot import constraints as sc
from surefoot.core.outcome import Status


def test_the_card_is_the_best_of_all_cards_on_three_columns():
    model = fitted(sparsity_penalty=0.0)
    chosen = list(model.points_)
    assert len(chosen) == 3
    best = min(
        mean_loss(dict(zip(chosen, points, strict=True)), intercept)
        for points in itertools.product(range(-3, 4), repeat=3)
        for intercept in range(-10, 11)
    )
    assert mean_loss(model.points_, model.intercept_) == pytest.approx(best, abs=1e-12)
    assert model.outcome_.upper_bound == pytest.approx(best, abs=1e-12)
    assert model.outcome_.status is Status.OPTIMAL


def test_the_certificate_proves_what_the_search_claims():
    for model in (fitted(), fitted(sc.MaxThresholds(1, "age"), sc.TruePositiveRate(0.7), sc.Monotone("age"))):
        certificate = model.certificate_
        assert certificate.verified
        assert certificate.upper_bound == pytest.approx(mean_loss(model.points_, model.intercept_), abs=1e-7)
        assert certificate.lower_bound == pytest.approx(certificate.upper_bound, abs=1e-6)
        assert model.score_card().proof.verified


def test_predictions_follow_from_the_printed_points():
    model = fitted()
    score = model.intercept_ + sum(X[name] * points for name, points in model.points_.items())
    np.testing.assert_array_equal(model.decision_function(X), score)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], 1 / (1 + np.exp(-score)), rtol=1e-14)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0, rtol=1e-15)
    np.testing.assert_allclose(model.predict_log_proba(X), np.log(model.predict_proba(X)), rtol=1e-12)
    np.testing.assert_array_equal(model.predict(X), np.where(score > 0, "ill", "healthy"))
    assert model.classes_.tolist() == ["healthy", "ill"]
    assert all(isinstance(points, int) and points != 0 for points in model.points_.values())
    assert isinstance(model.intercept_, int)
    np.testing.assert_array_equal(model.coef_[0], [model.points_.get(name, 0) for name in X.columns])


@pytest.mark.parametrize(
    "convert",
    [pl.from_pandas, pa.Table.from_pandas, lambda X: X.to_numpy(), lambda X: X.to_numpy().tolist(), lambda X: X.astype(bool)],
)
def test_every_kind_of_table_gives_the_same_card(convert: Any):
    binary = X.drop(columns="visits")
    reference = RiskScoreClassifier(**SMALL).fit(binary, Y)
    table = convert(binary)
    model = RiskScoreClassifier(**SMALL).fit(table, Y)
    np.testing.assert_array_equal(model.coef_, reference.coef_)
    assert model.intercept_ == reference.intercept_
    np.testing.assert_array_equal(model.decision_function(table), reference.decision_function(binary))
    named = hasattr(table, "columns")
    assert hasattr(model, "feature_names_in_") is named
    expected = list(binary.columns) if named else ["x0", "x1", "x2", "x3"]
    assert set(model.points_) <= set(expected)


def test_sparse_tables_are_read():
    sparse = RiskScoreClassifier(**SMALL).fit(scipy.sparse.csr_array(X.to_numpy(dtype=float)), Y)
    np.testing.assert_array_equal(sparse.coef_, fitted().coef_)
    np.testing.assert_array_equal(sparse.decision_function(scipy.sparse.csc_array(X)), fitted().decision_function(X))


def test_weights_are_repetitions_and_zero_leaves_a_row_out():
    counts = np.random.default_rng(1).integers(0, 4, len(X))
    weighted = RiskScoreClassifier(**SMALL).fit(X, Y, sample_weight=counts)
    repeated = RiskScoreClassifier(**SMALL).fit(X.loc[np.repeat(X.index, counts)], np.repeat(Y, counts))
    np.testing.assert_array_equal(weighted.coef_, repeated.coef_)
    assert weighted.intercept_ == repeated.intercept_
    assert weighted.outcome_.upper_bound == pytest.approx(repeated.outcome_.upper_bound, abs=1e-12)


@pytest.mark.parametrize("given", ["balanced", {"ill": 6.0, "healthy": 1.0}])
def test_class_weights_multiply_row_weights(given: Any):
    share = given
    if given == "balanced":
        share = {"ill": 0.5 / np.mean(Y == "ill"), "healthy": 0.5 / np.mean(Y == "healthy")}
    by_class = fitted(class_weight=given)
    by_rows = RiskScoreClassifier(**SMALL).fit(X, Y, sample_weight=np.where(Y == "ill", share["ill"], share["healthy"]))
    assert by_class.points_ == by_rows.points_
    assert by_class.intercept_ == by_rows.intercept_
    assert by_class.outcome_.upper_bound == pytest.approx(by_rows.outcome_.upper_bound, abs=1e-12)
    plain = fitted()
    assert (by_class.points_, by_class.intercept_) != (plain.points_, plain.intercept_)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"max_points": 0}, "max_points = 0 must be a whole number of at least 1"),
        ({"max_points": 2.5}, "max_points = 2.5"),
        ({"intercept_bound": -1}, "intercept_bound = -1"),
        ({"max_features": -1}, "max_features = -1"),
        ({"max_features": True}, "max_features = True"),
        ({"sparsity_penalty": -0.1}, "sparsity_penalty = -0.1"),
        ({"gap": float("nan")}, "gap = nan"),
        ({"time_limit": 0}, "time_limit = 0 must be None or a positive number of seconds"),
        ({"solver": "cplex"}, "solver='cplex' is not known"),
        ({"solver": None}, "solver = None must be the name"),
        ({"constraints": "AtMost"}, "must be a list of rules"),
        ({"constraints": [sc.Sign("smoker", 1), "AtMost"]}, r"constraints\[1\] = 'AtMost' is not a rule"),
        ({"constraints": [sc.Sign("smokr", 1)]}, "Did you mean 'smoker'"),
        ({"constraints": [sc.Monotone(["visits", "smoker"])]}, "column 'visits' holds other values"),
        ({"radius": -0.1}, "radius = -0.1"),
        ({"shift": "covid"}, "shift = 'covid' must be None or a shift model"),
        ({"class_weight": {"ill": -1, "healthy": 1}}, "class_weight"),
    ],
)
def test_what_makes_no_sense_is_refused(changes: dict[str, Any], message: str):
    with pytest.raises(ValueError, match=message):
        RiskScoreClassifier(**changes).fit(X, Y)


def test_text_and_gaps_point_to_the_binarizer():
    mixed = X.assign(ward=np.where(X["smoker"] == 1, "north", "south"))
    with pytest.raises(sf.InvalidTableError, match=r"column 'ward', row 0: '\w+' is not a number.*ThresholdBinarizer"):
        RiskScoreClassifier().fit(mixed, Y)
    gaps = X.astype(float)
    gaps.loc[7, "visits"] = np.nan
    with pytest.raises(sf.InvalidTableError, match=r"column 'visits' has 1 missing value.*row 7.*ThresholdBinarizer"):
        RiskScoreClassifier().fit(gaps, Y)
    with pytest.raises(sf.InvalidTableError, match=r"row 7.*ThresholdBinarizer"):
        fitted().predict(gaps)
    with pytest.raises(sf.InvalidTableError, match="only one class"):
        RiskScoreClassifier().fit(X, np.full(len(X), "ill"))


def test_pipeline_grid_search_clone_and_pickle():
    rng = np.random.default_rng(3)
    raw = pd.DataFrame({"age": rng.integers(20, 90, 200), "ward": rng.choice(["a", "b", "c"], 200)})
    y = raw["age"] + 20 * (raw["ward"] == "a") + 20 * rng.logistic(size=200) > 60
    pipeline = make_pipeline(sf.ThresholdBinarizer(), RiskScoreClassifier(constraints=[sc.Monotone("age")]))
    search = GridSearchCV(pipeline, {"riskscoreclassifier__max_features": [1, 3]}, cv=3, scoring="neg_log_loss").fit(raw, y)
    card = search.best_estimator_[-1]
    assert set(card.points_) <= set(search.best_estimator_[0].get_feature_names_out())
    assert len(card.points_) == search.best_params_["riskscoreclassifier__max_features"]
    assert log_loss(y, search.predict_proba(raw)) < log_loss(y, np.full(200, y.mean()))
    again = clone(card).fit(search.best_estimator_[0].transform(raw), y)
    assert again.points_ == card.points_
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(search)).predict(raw), search.predict(raw))


@pytest.mark.parametrize("solver", ["auto", "exact", "lcpa", "cpa"])
def test_exact_and_published_searches_find_the_same_card_and_only_ours_prove_it(solver: str):
    rules = (sc.MaxThresholds(1, "age"), sc.Sign("visits", 1))
    published = solver in ("lcpa", "cpa")
    said = (
        pytest.warns(sf.ConvergenceLimitWarning, match="This solver leaves no proof") if published else contextlib.nullcontext()
    )
    with said:
        model = fitted(*rules, solver=solver)
    assert model.points_ == fitted(*rules).points_
    assert model.outcome_.status is Status.OPTIMAL
    assert model.certificate_.verified is not published


@pytest.mark.parametrize("solver", ["rd", "rsrd", "seqrd", "rd*", "rsrd*", "seqrd*"])
def test_baselines_are_no_better_and_say_that_nothing_is_proven(solver: str):
    best = fitted().outcome_.upper_bound
    with pytest.warns(sf.ConvergenceLimitWarning, match=r"Not proven optimal: no score card .* below 0\.\d+ on these rows"):
        model = fitted(solver=solver)
    assert model.outcome_.lower_bound <= best <= model.outcome_.upper_bound + 1e-12
    assert len(model.points_) <= 3
    with pytest.raises(ValueError, match="near_optimal needs solver='exact'"):
        fitted(solver=solver, near_optimal=0.01)


def test_near_optimal_cards_come_with_names_best_first():
    model = fitted(near_optimal=0.01, max_features=2)
    near = model.near_optimal_
    assert near[0].points == model.points_ and near[0].intercept == model.intercept_
    assert near.complete and near.n_found == len(near) > 1
    for card in near:
        assert mean_loss(card.points, card.intercept) + 1e-8 * len(card.points) == pytest.approx(card.objective, abs=1e-12)
        assert card.objective <= 1.01 * near[0].objective + 1e-12
    table = near.table()
    assert isinstance(table, pd.DataFrame) and len(table) == len(near)
    assert table["intercept"].tolist() == [card.intercept for card in near]
    assert table["age >= 65"].tolist() == [card.points.get("age >= 65", 0) for card in near]
    assert repr(near) == f"{len(near)} score cards within 1.000% of the best"
    assert fitted().near_optimal_ is None
    for wrong in (-1, "all"):
        with pytest.raises(ValueError, match="near_optimal ="):
            fitted(near_optimal=wrong)


def test_the_printed_card_says_what_predict_proba_says():
    model = fitted()
    card = model.score_card(title="Ward 4")
    assert card.heading == "Ward 4" and model.score_card().heading == "Risk of ill"
    assert {line.feature: line.points for line in card.lines} == model.points_
    for row, risk in zip(X.to_dict("records"), model.predict_proba(X)[:, 1], strict=True):
        assert card.risk(card.total(row)) == risk
    kinds = {line.feature: line.kind for line in fitted(sc.AtLeast(1, ["visits"])).score_card().lines}
    assert kinds["visits"] == "integer" and set(kinds.values()) == {"binary", "integer"}
    assert card.proof.rows == 300 and card.proof.objective == model.certificate_.upper_bound


def test_the_printed_card_knows_what_the_binarizer_made():
    raw = pd.DataFrame({"age": np.random.default_rng(3).integers(20, 90, 300)})
    y = np.where(raw["age"] + np.random.default_rng(4).normal(0, 20, 300) > 60, "ill", "well")
    binarizer = sf.ThresholdBinarizer()
    model = RiskScoreClassifier(max_features=3).fit(binarizer.fit_transform(raw), y)
    plain, told = model.score_card(), model.score_card(meanings=binarizer.columns_)
    assert len(told.table.rows) < len(plain.table.rows)
    assert all(line.meaning is not None and line.meaning.feature == "age" for line in told.lines)


def test_a_failed_fit_leaves_the_model_as_it_was():
    model = fitted()
    before = dict(model.points_)
    model.set_params(constraints=[sc.MinFeatures(5)])
    with pytest.raises(sf.InfeasibleProblemError):
        model.fit(X, Y)
    assert model.points_ == before


def test_no_card_far_from_the_best_is_called_near():
    rng = np.random.default_rng(0)
    q = rng.integers(0, 2, 200)
    y = (q * 1.5 - 0.7 + rng.logistic(size=200) > 0).astype(int)
    income = np.random.default_rng(1).normal(size=200).round(2)
    for scale in (1e5, 1e7):
        near = (
            sf.RiskScoreClassifier(max_points=2, near_optimal=0.01).fit(np.column_stack([q, income * scale]), y).near_optimal_
        )
        objectives = [card.objective for card in near]
        assert near.n_found == len(objectives) >= 1
        assert max(objectives) <= min(objectives) * 1.01 + 1e-12


def test_what_a_card_prints_is_sealed():
    rng = np.random.default_rng(0)
    X = (rng.random((60, 4)) < 0.5).astype(int)
    y = (X[:, 0] + rng.logistic(size=60) > 0.5).astype(int)
    for name, value in (("_n_rows", 10**6), ("_ranges", {})):
        model = sf.RiskScoreClassifier().fit(X, y)
        setattr(model, name, value)
        with pytest.raises(sf.CertificateError):
            sf.verify(model, X, y)


def test_balanced_classes_count_their_sample_weights():
    """A row of weight 3 is three rows."""
    rng = np.random.default_rng(3)
    X = (rng.random((80, 4)) < 0.5).astype(int)
    y = (X[:, 0] + rng.logistic(size=80) > 1.0).astype(int)
    counts = rng.integers(1, 4, size=80)
    weighted = sf.RiskScoreClassifier(class_weight="balanced").fit(X, y, sample_weight=counts)
    repeated = sf.RiskScoreClassifier(class_weight="balanced").fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    assert weighted.certificate_.upper_bound == pytest.approx(repeated.certificate_.upper_bound, rel=1e-12)
