"""The score card estimator: the best card by names, weights, labels of any kind, and what it refuses."""

from __future__ import annotations

import contextlib
import itertools
import math
import pickle
import signal
import threading
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

import surefoot as sf
from surefoot import RiskScoreClassifier
from surefoot import constraints as sc
from surefoot.core.outcome import Progress, Status
from surefoot.riskscore.estimator.parameters import FitParameters
from surefoot.riskscore.problem.score_shift import ScoreShift
from surefoot.sklearn_api.progress import ProgressPrinter


def ward(rows: int = 300, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(seed)
    age = rng.integers(20, 95, rows)
    table = pd.DataFrame(
        {
            "age >= 40": (age >= 40).astype(int),
            "age >= 65": (age >= 65).astype(int),
            "diabetes": (rng.random(rows) < 0.25).astype(int),
            "smoker": (rng.random(rows) < 0.35).astype(int),
            "visits": rng.integers(0, 4, rows),
        }
    )
    score = -2.2 + 1.1 * table["age >= 65"] + 1.6 * table["diabetes"] + 0.6 * table["smoker"] + 0.3 * table["visits"]
    return table, np.where(score + rng.logistic(size=rows) > 0, "ill", "healthy")


X, Y = ward()
SMALL = {"max_features": 3, "max_points": 3, "intercept_bound": 10}


def fitted(*rules: sc.Constraint, **changes: Any) -> RiskScoreClassifier:
    return RiskScoreClassifier(**{**SMALL, "constraints": rules, **changes}).fit(X, Y)


def mean_loss(points: dict[str, int], intercept: int, weights: np.ndarray | None = None) -> float:
    score = intercept + sum(X[name].to_numpy() * value for name, value in points.items())
    losses = np.logaddexp(0.0, np.where(Y == "ill", -1.0, 1.0) * score)
    return float(np.average(losses, weights=weights))


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


RULES = [
    (sc.MaxFeatures(1), lambda m: len(m.points_) <= 1),
    (sc.Fixed("smoker", -2), lambda m: m.points_["smoker"] == -2),
    (sc.Fixed("diabetes", 7), lambda m: m.points_["diabetes"] == 7),
    (sc.PointSet("diabetes", [5, 10]), lambda m: m.points_.get("diabetes", 0) in (0, 5, 10)),
    (sc.Bounds(["diabetes", "age >= 65"], -9, 0), lambda m: m.points_.get("age >= 65", 0) <= 0),
    (sc.Sign("diabetes", "-"), lambda m: m.points_.get("diabetes", 0) <= 0),
    (sc.AtMost(1, ["age >= 65", "diabetes"]), lambda m: not {"age >= 65", "diabetes"} <= set(m.points_)),
    (sc.AtLeast(2, ["age >= 40", "smoker"]), lambda m: {"age >= 40", "smoker"} <= set(m.points_)),
    (sc.Choose(1, ["age >= 65", "diabetes"]), lambda m: len({"age >= 65", "diabetes"} & set(m.points_)) == 1),
    (sc.Implies("diabetes", "age >= 40"), lambda m: "diabetes" not in m.points_ or "age >= 40" in m.points_),
    (sc.MaxThresholds(0, "age"), lambda m: not {"age >= 40", "age >= 65"} & set(m.points_)),
    (sc.Monotone("age", "decreasing"), lambda m: all(m.points_.get(c, 0) <= 0 for c in ("age >= 40", "age >= 65"))),
    (sc.MinProbability({"smoker": 1}, 0.4), lambda m: person_risk(m, "smoker") >= 0.4),
    (sc.MaxProbability({"diabetes": 1}, 0.2), lambda m: person_risk(m, "diabetes") <= 0.2),
    (sc.FalsePositiveRate(0.008), lambda m: np.mean(m.predict(X[Y == "healthy"]) == "ill") <= 0.008),
    (sc.TruePositiveRate(0.95), lambda m: np.mean(m.predict(X[Y == "ill"]) == "ill") >= 0.95),
    (sc.TruePositiveRate(0.99, risk=0.2), lambda m: np.mean(m.predict_proba(X[Y == "ill"])[:, 1] > 0.2) >= 0.99),
]


def person_risk(model: RiskScoreClassifier, *columns: str) -> float:
    person = pd.DataFrame([{name: int(name in columns) for name in X.columns}])
    return float(model.predict_proba(person)[0, 1])


@pytest.mark.parametrize(("rule", "kept"), RULES, ids=[repr(rule) for rule, _ in RULES])
def test_a_rule_by_name_changes_the_card_and_is_kept(rule: sc.Constraint, kept: Any):
    free, ruled = fitted(), fitted(rule)
    assert not kept(free), "a rule that the best card keeps anyway tests nothing"
    assert kept(ruled)
    assert ruled.outcome_.upper_bound > free.outcome_.upper_bound


def test_columns_may_be_given_by_position_where_there_are_no_names():
    model = RiskScoreClassifier(**SMALL, constraints=sc.Fixed(2, 0)).fit(X.to_numpy(), Y)
    assert model.coef_[0, 2] == 0
    by_name = RiskScoreClassifier(**SMALL, constraints=[sc.Fixed("x2", 0)]).fit(X.to_numpy(), Y)
    np.testing.assert_array_equal(model.coef_, by_name.coef_)


def test_contradicting_rules_are_named_and_bystanders_are_not():
    rules = (
        sc.AtMost(1, ["smoker", "diabetes"]),
        sc.Sign("visits", "+"),
        sc.Fixed("smoker", 2),
        sc.MaxProbability({"visits": 1}, 0.9),
        sc.AtLeast(1, ["diabetes"]),
        sc.TruePositiveRate(0.1),
    )
    with pytest.raises(sf.InfeasibleProblemError) as refusal:
        fitted(*rules)
    message = str(refusal.value)
    for rule in (rules[0], rules[2], rules[4]):
        assert repr(rule) in message
    for rule in (rules[1], rules[3], rules[5]):
        assert repr(rule) not in message
    assert "these 3 rules" in message and "Without any one of them" in message


def test_a_rule_that_the_limits_forbid_is_named_with_them():
    with pytest.raises(sf.InfeasibleProblemError, match=r"obeys MinFeatures\(count=4, columns=None\) within max_features=3"):
        fitted(sc.MinFeatures(4))


def test_rates_that_no_card_reaches_are_named():
    rules = (sc.FalsePositiveRate(0.0), sc.TruePositiveRate(1.0), sc.Sign("smoker", 1))
    with pytest.raises(sf.InfeasibleProblemError) as refusal:
        fitted(*rules)
    assert repr(rules[0]) in str(refusal.value) and repr(rules[1]) in str(refusal.value)
    assert "Sign" not in str(refusal.value)


def test_rules_are_listed_where_no_card_was_found_and_no_conflict_proven(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("surefoot.riskscore.estimator.posed_card.FIT_PARAMETERS", FitParameters(conflict_seconds=0.0))
    rules = (sc.FalsePositiveRate(0.0), sc.TruePositiveRate(1.0))
    with pytest.raises(sf.InfeasibleProblemError) as refusal:
        fitted(*rules)
    assert all(repr(rule) in str(refusal.value) for rule in rules)


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


class Calibrated(NamedTuple):
    """A shift model that knows its answer."""

    numeric_weights: dict[str, float]
    categorical_weights: dict[str, float]
    radius: float

    def calibrate(self, X: Any) -> Calibrated:
        return self


def test_a_radius_makes_the_loss_the_worst_one_within_it():
    table = X.drop(columns="visits")
    plain = RiskScoreClassifier(**SMALL).fit(table, Y)
    robust = RiskScoreClassifier(**SMALL, radius=0.3).fit(table, Y)
    reach = ScoreShift(0.3, np.ones(4), np.ones(4, dtype=bool))
    signs, weights = np.where(Y == "ill", 1.0, -1.0), np.full(len(Y), 1 / len(Y))

    def worst(model: RiskScoreClassifier) -> float:
        return reach.worst_loss(table.to_numpy(dtype=float), signs, weights, model.intercept_, model.coef_[0])[0]

    assert robust.outcome_.upper_bound == pytest.approx(worst(robust) + 1e-8 * len(robust.points_), abs=1e-9)
    assert plain.outcome_.upper_bound < robust.outcome_.upper_bound < worst(plain)


def test_a_shift_model_names_radius_and_prices():
    named = {"diabetes": 0.3, "smoker": math.inf}
    defaults = {"age >= 40": 1.0, "age >= 65": 1.0}
    table = X.drop(columns="visits")
    shifted = RiskScoreClassifier(**SMALL, radius=9.0, shift=Calibrated(named, {}, 0.05)).fit(table, Y)
    spelled = RiskScoreClassifier(**SMALL, shift=Calibrated({}, {**named, **defaults}, 0.05)).fit(table, Y)
    even = RiskScoreClassifier(**SMALL, radius=0.05).fit(table, Y)
    assert shifted.outcome_.upper_bound == spelled.outcome_.upper_bound != even.outcome_.upper_bound
    calm = RiskScoreClassifier(**SMALL, shift=Calibrated({}, {}, 0.0)).fit(table, Y)
    assert calm.points_ == RiskScoreClassifier(**SMALL).fit(table, Y).points_


def test_columns_that_move_are_priced_by_their_spread():
    spread = 1.0 / np.std(X["visits"])
    used = sc.AtLeast(1, ["visits"])
    free = fitted(used, radius=0.02)
    named, dear = (fitted(used, shift=Calibrated({"visits": price}, {}, 0.02)) for price in (spread, 2 * spread))
    assert free.outcome_.upper_bound == pytest.approx(named.outcome_.upper_bound, abs=1e-12)
    assert dear.outcome_.upper_bound < free.outcome_.upper_bound - 1e-4


def test_a_stopped_search_warns_and_keeps_a_valid_bound():
    rng = np.random.default_rng(0)
    table = (rng.random((4000, 60)) < 0.4).astype(float)
    y = table @ rng.normal(size=60) + rng.logistic(size=4000) > 0
    with pytest.warns(sf.ConvergenceLimitWarning, match=r"\(time limit\). Not proven optimal: no score card"):
        model = RiskScoreClassifier(max_features=8, time_limit=0.3).fit(table, y)
    assert model.outcome_.status is Status.TIME_LIMIT
    assert 0 <= model.outcome_.lower_bound <= model.outcome_.upper_bound
    assert len(model.points_) <= 8


def test_a_search_goes_on_from_its_checkpoint_and_refuses_that_of_other_data(tmp_path: Path):
    rng = np.random.default_rng(0)
    table = (rng.random((4000, 30)) < 0.4).astype(float)
    y = table @ rng.normal(size=30) + rng.logistic(size=4000) > 0
    given: dict[str, Any] = {"max_features": 4, "checkpoint": tmp_path / "search"}
    first = RiskScoreClassifier(**given).fit(table, y)
    assert (tmp_path / "search").exists()
    assert RiskScoreClassifier(**given).fit(table, y).points_ == first.points_
    with pytest.raises(ValueError, match="search"):
        RiskScoreClassifier(**given).fit(table, ~y)
    with pytest.raises(ValueError, match="checkpoint needs solver='exact'"):
        RiskScoreClassifier(**given, solver="rd").fit(table, y)


def test_ctrl_c_ends_the_fit_and_leaves_the_best_card(monkeypatch: pytest.MonkeyPatch):
    rng = np.random.default_rng(0)
    table = (rng.random((4000, 60)) < 0.4).astype(float)
    y = table @ rng.normal(size=60) + rng.logistic(size=4000) > 0
    model = RiskScoreClassifier(max_features=8, time_limit=60, verbose=1)
    timer = threading.Timer(0.05, signal.raise_signal, [signal.SIGINT])

    def press_soon(self: Any, progress: Progress) -> None:
        # Not before there is a card, however slow the machine.
        if np.isfinite(progress.upper_bound) and not timer.ident:
            timer.start()

    monkeypatch.setattr(ProgressPrinter, "__call__", press_soon)
    with pytest.raises(KeyboardInterrupt):
        model.fit(table, y)
    timer.join()
    assert 0 < len(model.points_) <= 8
    assert model.outcome_.status is Status.INTERRUPTED
    assert 0 <= model.outcome_.lower_bound <= model.outcome_.upper_bound
    assert model.predict(table).shape == (4000,)


def test_progress_shows_bounds_and_goes_to_standard_error(capsys: pytest.CaptureFixture[str]):
    rng = np.random.default_rng(0)
    table = (rng.random((3000, 40)) < 0.4).astype(float)
    y = table @ rng.normal(size=40) + rng.logistic(size=3000) > 0
    with pytest.warns(sf.ConvergenceLimitWarning):
        RiskScoreClassifier(max_features=7, time_limit=0.5, verbose=1).fit(table, y)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "RiskScoreClassifier, up to 7 of 40 columns" in shown.err and "lower bound" in shown.err


def test_a_failed_fit_leaves_the_model_as_it_was():
    model = fitted()
    before = dict(model.points_)
    model.set_params(constraints=[sc.MinFeatures(5)])
    with pytest.raises(sf.InfeasibleProblemError):
        model.fit(X, Y)
    assert model.points_ == before


def test_every_fit_without_a_proof_warns_and_says_why():
    rng = np.random.default_rng(0)
    X = (rng.random((200, 6)) < 0.5).astype(int)
    y = (X[:, 0] + rng.logistic(size=200) > 0.5).astype(int)
    for solver in ("heuristic", "lcpa"):
        with pytest.warns(sf.ConvergenceLimitWarning, match="leaves no proof") as caught:
            model = sf.RiskScoreClassifier(solver=solver).fit(X, y)
        assert len(caught) == 1
        assert model.certificate_.claim in str(caught[0].message)
        assert "numbers" not in str(caught[0].message)


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


def test_ctrl_c_while_the_proof_is_checked_keeps_the_card(monkeypatch):
    rng = np.random.default_rng(0)
    X = (rng.random((60, 4)) < 0.5).astype(int)
    y = (X[:, 0] + rng.logistic(size=60) > 0.5).astype(int)
    certify = sf.RiskScoreClassifier._certify

    def interrupted(self, posed, outcome, max_seconds=np.inf):
        if max_seconds > 0:
            raise KeyboardInterrupt
        return certify(self, posed, outcome, max_seconds)

    model = sf.RiskScoreClassifier()
    monkeypatch.setattr(sf.RiskScoreClassifier, "_certify", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    monkeypatch.undo()
    assert not model.certificate_.verified
    assert model.certificate_.lower_bound == 0.0
    assert "Recomputed were 0 of" in model.certificate_.claim
    assert sf.verify(model, X, y).verified


def test_what_a_card_prints_is_sealed():
    rng = np.random.default_rng(0)
    X = (rng.random((60, 4)) < 0.5).astype(int)
    y = (X[:, 0] + rng.logistic(size=60) > 0.5).astype(int)
    for name, value in (("_n_rows", 10**6), ("_ranges", {})):
        model = sf.RiskScoreClassifier().fit(X, y)
        setattr(model, name, value)
        with pytest.raises(sf.CertificateError):
            sf.verify(model, X, y)
