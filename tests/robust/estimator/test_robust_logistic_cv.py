"""Choosing the radius: the path, the scores along it, and the model at its end."""

from __future__ import annotations

import math
import pickle
import warnings
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, LeaveOneOut, StratifiedKFold, cross_val_score

import surefoot as sf
from surefoot.robust.registry import make_solver

RADII = [0.4, 0.01, 0.1]


def test_parameters_are_those_of_the_model_with_a_grid_for_the_radius() -> None:
    own, model = sf.RobustLogisticRegressionCV().get_params(), sf.RobustLogisticRegression().get_params()
    searched = {
        "radii": None,
        "label_weights": None,
        "certainty_scales": None,
        "select": "mean",
        "cv": 5,
        "scoring": "neg_log_loss",
    }
    assert {name: own[name] for name in own if name not in searched} == {
        name: model[name] for name in model if name != "radius"
    }
    assert {name: own[name] for name in searched} == searched


@pytest.mark.filterwarnings("ignore::surefoot.exceptions.WeakModelWarning")
def test_the_path_holds_the_scores_of_cold_fits_and_certified_models(survey: Any) -> None:
    folds = StratifiedKFold(4)
    model = sf.RobustLogisticRegressionCV(radii=RADII, cv=folds, tol=1e-9).fit(survey.X, survey.y)
    assert model.path_.radii.tolist() == [0.01, 0.1, 0.4]
    for point in model.path_:
        single = sf.RobustLogisticRegression(radius=point.radius, tol=1e-9)
        scores = cross_val_score(single, survey.X, survey.y, cv=folds, scoring="neg_log_loss")
        np.testing.assert_allclose(point.scores, scores, rtol=1e-4)
        assert point.mean_score == pytest.approx(scores.mean(), rel=1e-4)
        assert point.std_score == pytest.approx(scores.std(), rel=1e-3)
        single.fit(survey.X, survey.y)
        np.testing.assert_allclose(point.coef, single.coef_[0], rtol=1e-4, atol=1e-6)
        assert point.certificate.verified
        assert point.certificate.problem_digest == single.certificate_.problem_digest
        assert point.price == pytest.approx(single.dual_price_, rel=1e-3)


def test_the_model_is_the_one_with_the_best_score_on_all_rows(survey: Any) -> None:
    model = sf.RobustLogisticRegressionCV(radii=RADII, tol=1e-9).fit(survey.X, survey.y)
    best = max(model.path_, key=lambda point: point.mean_score)
    assert model.radius_ == best.radius
    assert model.coef_[0].tolist() == best.coef.tolist()
    assert model.intercept_[0] == best.intercept
    assert model.certificate_.verified and model.certificate_.witness is not None
    single = sf.RobustLogisticRegression(radius=model.radius_, tol=1e-9).fit(survey.X, survey.y)
    np.testing.assert_allclose(model.decision_function(survey.X), single.decision_function(survey.X), rtol=1e-4, atol=1e-6)
    assert model.worst_case(survey.X, survey.y).radius == model.radius_


def test_equally_good_radii_are_settled_in_favour_of_caution(survey: Any) -> None:
    model = sf.RobustLogisticRegressionCV(radii=RADII, scoring=lambda estimator, X, y: 1.0, cv=3).fit(survey.X, survey.y)
    assert model.radius_ == 0.4


def test_scoring_decides(survey: Any) -> None:
    seen = []

    def prefer_small(estimator: Any, X: Any, y: Any) -> float:
        seen.append((type(X), len(X), estimator.radius_))
        return -estimator.radius_

    model = sf.RobustLogisticRegressionCV(radii=RADII, scoring=prefer_small, cv=3).fit(survey.X, survey.y)
    assert model.radius_ == 0.01
    assert seen == [(type(survey.X), 40, radius) for radius in (0.4, 0.1, 0.01)] * 3
    assert model.score(survey.X, survey.y) == -0.01


def test_score_is_what_the_radius_was_chosen_by(survey: Any) -> None:
    model = sf.RobustLogisticRegressionCV(radii=RADII).fit(survey.X, survey.y)
    assert model.score(survey.X, survey.y) == pytest.approx(-log_loss(survey.y, model.predict_proba(survey.X)))
    weights = np.arange(120.0)
    expected = -log_loss(survey.y, model.predict_proba(survey.X), sample_weight=weights)
    assert model.score(survey.X, survey.y, sample_weight=weights) == pytest.approx(expected)
    accuracy = sf.RobustLogisticRegressionCV(radii=RADII, scoring="accuracy").fit(survey.X, survey.y)
    assert accuracy.score(survey.X, survey.y) == np.mean(accuracy.predict(survey.X) == survey.y)


def test_sample_weights_count_in_fitting_and_in_scoring(survey: Any) -> None:
    times = 1 + np.arange(120) % 2
    half = np.arange(120) < 60
    folds = [(np.flatnonzero(half), np.flatnonzero(~half)), (np.flatnonzero(~half), np.flatnonzero(half))]
    weighted = sf.RobustLogisticRegressionCV(radii=RADII, cv=folds, tol=1e-9).fit(survey.X, survey.y, sample_weight=times)
    repeated_half = half.repeat(times)
    folds = [
        (np.flatnonzero(repeated_half), np.flatnonzero(~repeated_half)),
        (np.flatnonzero(~repeated_half), np.flatnonzero(repeated_half)),
    ]
    repeated = sf.RobustLogisticRegressionCV(radii=RADII, cv=folds, tol=1e-9)
    repeated.fit(survey.X.loc[survey.X.index.repeat(times)], survey.y.repeat(times))
    for point, other in zip(weighted.path_, repeated.path_, strict=True):
        np.testing.assert_allclose(point.scores, other.scores, rtol=1e-5)
        np.testing.assert_allclose(point.coef, other.coef, rtol=1e-4, atol=1e-6)


def test_a_level_that_a_fold_never_trains_on_can_still_be_scored(survey: Any) -> None:
    table = survey.X.copy()
    table.loc[7, "channel"] = "letter"
    model = sf.RobustLogisticRegressionCV(radii=RADII).fit(table, survey.y)
    assert np.isfinite([point.scores for point in model.path_]).all()
    assert "letter" in model.coefficients()["level"].tolist()


def test_folds_of_single_rows_can_be_scored_although_they_hold_one_class(survey: Any) -> None:
    model = sf.RobustLogisticRegressionCV(radii=[0.1], cv=LeaveOneOut()).fit(survey.X[:15], survey.y[:15])
    assert model.path_[0].scores.shape == (15,)
    assert (model.path_[0].scores < 0).all()


@pytest.mark.parametrize(
    ("radii", "expected"),
    [
        (4, [0.001, 0.01, 0.1, 1.0]),
        (np.array([0.3, 0.1, 0.3]), [0.1, 0.3]),
    ],
)
def test_the_grid_can_be_left_open_counted_or_listed(survey: Any, radii: Any, expected: list[float]) -> None:
    model = sf.RobustLogisticRegressionCV(radii=radii, cv=2).fit(survey.X, survey.y)
    np.testing.assert_allclose(model.path_.radii, expected, rtol=1e-12)


def test_a_grid_left_open_lies_around_the_automatic_radius(survey: Any) -> None:
    model = sf.RobustLogisticRegressionCV(cv=2).fit(survey.X, survey.y)
    automatic = sf.RobustLogisticRegression().fit(survey.X, survey.y).radius_
    around = [float(f"{radius:.3g}") for radius in automatic * 10.0 ** np.linspace(-1, 1, 9)]
    np.testing.assert_allclose(model.path_.radii, around, rtol=1e-12)
    assert model.radius_reason_ == "the best of 9 by cross-validation"
    assert sf.verify(model, survey.X, survey.y).verified


def test_a_grid_left_open_with_a_shift_model_is_that_of_the_paper(survey: Any) -> None:
    shift = sf.ShiftModel(numeric_certainty=0.8, categorical_certainty=0.9)
    model = sf.RobustLogisticRegressionCV(cv=2, shift=shift).fit(survey.X, survey.y)
    thetas = (0.99, 0.96, 0.93, 0.9, 0.85, 0.8, 0.75, 0.65, 0.5)
    np.testing.assert_allclose(model.path_.radii, [-math.log(theta) for theta in thetas], rtol=1e-12)


@pytest.mark.parametrize(
    ("radii", "message"),
    [
        ([0.1, -0.1], r"radii\[1\] = -0.1 must be a finite number at or above 0"),
        ([0.1, math.nan], r"radii\[1\] = nan must be a finite number"),
        ([], "radii is empty"),
        (0, "radii = 0 must be at least 1"),
        (0.5, "radii = 0.5 must be None, the number of radii, or a list"),
        ("many", "radii = 'many' must be None"),
    ],
)
def test_grids_without_meaning_are_refused(survey: Any, radii: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        sf.RobustLogisticRegressionCV(radii=radii).fit(survey.X, survey.y)


def test_a_score_that_is_no_number_is_refused(survey: Any) -> None:
    def scoring(estimator: Any, X: Any, y: Any) -> float:
        return math.nan if estimator.radius_ == 0.1 else 0.0

    with pytest.raises(ValueError, match=r"gave NaN for radius 0.1 in fold 1"):
        sf.RobustLogisticRegressionCV(radii=RADII, scoring=scoring).fit(survey.X, survey.y)


def test_a_fold_without_rows_that_count_is_refused(survey: Any) -> None:
    weights = (np.arange(120) >= 40).astype(float)
    folds = [(np.arange(40, 120), np.arange(40))]
    with pytest.raises(sf.InvalidTableError, match="Fold 1 has no held-out row of positive sample_weight"):
        sf.RobustLogisticRegressionCV(radii=RADII, cv=folds).fit(survey.X, survey.y, sample_weight=weights)


def test_a_limit_along_the_path_warns_once(survey: Any) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = sf.RobustLogisticRegressionCV(radii=RADII, cv=3, tol=1e-13, max_iter=1).fit(survey.X, survey.y)
    assert [warning.category for warning in caught] == [sf.ConvergenceLimitWarning]
    assert f"at the chosen radius {model.radius_:g}" in str(caught[0].message)
    assert not model.certificate_.verified


class WatchedSolver:
    """The default solver, with a record of what it was asked and what it answered."""

    def __init__(self) -> None:
        self.inner = make_solver("sqp")
        self.name = self.inner.name
        self.calls: list[tuple[Any, Any, Any, Any]] = []

    def refuses(self, problem: Any) -> None:
        return None

    def solve(self, problem: Any, options: Any, warm_start: Any = None) -> Any:
        outcome = self.inner.solve(problem, options, warm_start=warm_start)
        self.calls.append((problem, options, warm_start, outcome.primal))
        return outcome


def test_every_solve_starts_where_the_one_with_the_next_larger_radius_ended(
    survey: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    solver = WatchedSolver()
    monkeypatch.setattr("surefoot.robust.estimator.robust_logistic_model.make_solver", lambda name: solver)
    sf.RobustLogisticRegressionCV(radii=RADII, cv=3, n_jobs=2).fit(survey.X, survey.y)
    assert len(solver.calls) == 3 * (3 + 1)
    assert [problem.radius for problem, _, _, _ in solver.calls] == [0.4, 0.1, 0.01] * 4
    assert {options.n_threads for _, options, _, _ in solver.calls} == {2}
    for at, (_, _, warm_start, _) in enumerate(solver.calls):
        assert warm_start is (None if at % 3 == 0 else solver.calls[at - 1][3])


KAPPAS = [0.5, math.inf, 2.0]


@pytest.mark.filterwarnings("ignore::surefoot.exceptions.WeakModelWarning")
def test_every_radius_meets_every_label_weight_and_the_path_rises_in_caution(survey: Any) -> None:
    folds = StratifiedKFold(3)
    search = sf.RobustLogisticRegressionCV(radii=[0.2, 0.02], label_weights=KAPPAS, cv=folds, tol=1e-9)
    model = search.fit(survey.X, survey.y)
    expected = [(radius, weight) for radius in (0.02, 0.2) for weight in (math.inf, 2.0, 0.5)]
    assert [(point.radius, point.label_weight) for point in model.path_] == expected
    assert (model.path_.radii.tolist(), model.path_.label_weights.tolist()) == tuple(map(list, zip(*expected, strict=True)))
    for point in model.path_:
        single = sf.RobustLogisticRegression(radius=point.radius, label_weight=point.label_weight, tol=1e-9)
        scores = cross_val_score(single, survey.X, survey.y, cv=folds, scoring="neg_log_loss")
        np.testing.assert_allclose(point.scores, scores, rtol=1e-4)
        assert point.certificate.verified
        assert point.certificate.problem_digest == single.fit(survey.X, survey.y).certificate_.problem_digest
    best = max(model.path_, key=lambda point: point.mean_score)
    assert (model.radius_, model.label_weight_) == (best.radius, best.label_weight)
    assert model.ground_cost_.label_weight == best.label_weight
    assert model.coef_[0].tolist() == best.coef.tolist()


@pytest.mark.filterwarnings("ignore::surefoot.exceptions.WeakModelWarning")
def test_label_weights_are_chosen_by_the_score_and_ties_by_caution(survey: Any) -> None:
    def count_on_flips(estimator: Any, X: Any, y: Any) -> float:
        assert estimator.label_weight == estimator.label_weight_ == estimator.ground_cost_.label_weight
        return float(estimator.label_weight_ <= 2.0)

    search = sf.RobustLogisticRegressionCV(radii=[0.2, 0.02], label_weights=KAPPAS, scoring=count_on_flips, cv=2)
    model = search.fit(survey.X, survey.y)
    assert (model.radius_, model.label_weight_) == (0.2, 0.5)
    # The label weight of the model itself plays no part where others are listed.
    search.set_params(label_weight=7.0).fit(survey.X, survey.y)
    assert set(search.path_.label_weights) == set(KAPPAS)


@pytest.mark.filterwarnings("ignore::surefoot.exceptions.WeakModelWarning")
def test_without_label_weights_the_one_of_the_model_is_used(survey: Any) -> None:
    model = sf.RobustLogisticRegressionCV(radii=[0.1], label_weight=0.5, cv=2).fit(survey.X, survey.y)
    assert model.label_weight_ == model.path_[0].label_weight == 0.5
    listed = sf.RobustLogisticRegressionCV(radii=[0.1], label_weights=(0.5, 0.5), cv=2).fit(survey.X, survey.y)
    assert len(listed.path_) == 1
    assert listed.certificate_.problem_digest == model.certificate_.problem_digest


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0, 0.0], r"label_weights\[1\] = 0.0 must be a positive number"),
        ([math.nan], r"label_weights\[0\] = nan must be a positive number"),
        (["cheap"], r"label_weights\[0\] = 'cheap' must be a positive number"),
        ([], "label_weights is empty"),
        (2.0, "label_weights = 2.0 must be None or a list of prices; a single one is label_weight"),
    ],
)
def test_label_weights_without_meaning_are_refused(survey: Any, weights: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        sf.RobustLogisticRegressionCV(radii=[0.1], label_weights=weights).fit(survey.X, survey.y)


def test_every_solve_on_the_grid_starts_from_a_neighbour(survey: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    solver = WatchedSolver()
    monkeypatch.setattr("surefoot.robust.estimator.robust_logistic_model.make_solver", lambda name: solver)
    sf.RobustLogisticRegressionCV(radii=RADII, label_weights=KAPPAS, cv=2).fit(survey.X, survey.y)
    assert len(solver.calls) == 9 * (2 + 1)
    visited = [(weight, radius) for weight in (math.inf, 2.0, 0.5) for radius in (0.4, 0.1, 0.01)]
    for start in range(0, 27, 9):
        calls = solver.calls[start : start + 9]
        assert [(problem.cost.label_weight, problem.radius) for problem, _, _, _ in calls] == visited
        # A path along the radii begins where the one of the next larger label weight began.
        origins = [None, 0, 1, 0, 3, 4, 3, 6, 7]
        for (_, _, warm_start, _), origin in zip(calls, origins, strict=True):
            assert warm_start is (None if origin is None else calls[origin][3])


def test_messages_name_the_label_weight_to_those_who_listed_some(survey: Any, capsys: pytest.CaptureFixture[str]) -> None:
    search = sf.RobustLogisticRegressionCV(radii=[0.1], label_weights=[0.5, math.inf], cv=2, verbose=1).fit(survey.X, survey.y)
    titles = [line for line in capsys.readouterr().err.splitlines() if line.startswith("RobustLogisticRegressionCV")]
    assert titles[:2] == [
        f"RobustLogisticRegressionCV, fold 1 of 2, radius 0.1, label weight {kappa}" for kappa in ("inf", "0.5")
    ]
    assert [line.split()[1] for line in repr(search.path_).splitlines()[1:]] == ["inf", "0.5"]

    def scoring(estimator: Any, X: Any, y: Any) -> float:
        return math.nan if estimator.label_weight_ == 0.5 else 0.0

    with pytest.raises(ValueError, match=r"gave NaN for radius 0.1, label weight 0.5 in fold 1"):
        search.set_params(scoring=scoring, verbose=0).fit(survey.X, survey.y)


def test_the_path_prints_and_tabulates_itself_in_the_library_of_the_table(survey: Any) -> None:
    model = sf.RobustLogisticRegressionCV(radii=RADII, cv=3).fit(pl.from_pandas(survey.X), survey.y)
    table = model.path_.table
    assert isinstance(table, pl.DataFrame)
    assert table.columns == ["radius", "label_weight", "mean_score", "std_score", "objective", "lower_bound", "verified"]
    assert table["mean_score"].to_list() == [point.mean_score for point in model.path_]
    assert table["verified"].to_list() == [True] * 3
    assert table["label_weight"].to_list() == [math.inf] * 3
    lines = repr(model.path_).splitlines()
    assert len(lines) == 4
    assert [line.split()[0] for line in lines if "best" in line] == [f"{model.radius_:g}"]


def test_verbose_names_fold_and_radius(survey: Any, capsys: pytest.CaptureFixture[str]) -> None:
    sf.RobustLogisticRegressionCV(radii=[0.1, 0.01], cv=2, verbose=1).fit(survey.X, survey.y)
    titles = [line for line in capsys.readouterr().err.splitlines() if line.startswith("RobustLogisticRegressionCV")]
    assert titles == [
        f"RobustLogisticRegressionCV, {what}, radius {radius}"
        for what in ("fold 1 of 2", "fold 2 of 2", "all rows")
        for radius in ("0.1", "0.01")
    ]


def test_a_pickled_search_keeps_its_path(survey: Any) -> None:
    model = sf.RobustLogisticRegressionCV(radii=RADII, cv=3).fit(survey.X, survey.y)
    again = pickle.loads(pickle.dumps(model))
    assert again.path_.mean_scores.tolist() == model.path_.mean_scores.tolist()
    assert again.predict(survey.X).tolist() == model.predict(survey.X).tolist()


@pytest.mark.filterwarnings("ignore::surefoot.exceptions.WeakModelWarning")
def test_it_can_be_searched_over_itself(survey: Any) -> None:
    grid = {"radii": [[0.05, 0.1], [50.0, 100.0]]}
    search = GridSearchCV(sf.RobustLogisticRegressionCV(cv=2), grid, scoring="neg_log_loss", cv=2).fit(survey.X, survey.y)
    assert search.best_params_ == {"radii": [0.05, 0.1]}
    assert search.best_estimator_.radius_ in (0.05, 0.1)
