"""The model itself: invariances it must have, special cases with an independent answer, and what fit leaves behind."""

from __future__ import annotations

import math
import pickle
import warnings
from types import SimpleNamespace
from typing import Any

import cvxpy as cp
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from threadpoolctl import threadpool_info, threadpool_limits

import surefoot as sf
from surefoot.core.certificate import rounded_down
from surefoot.core.outcome import Status
from surefoot.robust.certificate.certificate import certify_robust_logistic
from surefoot.robust.problem.ground_cost import GroundCost
from surefoot.robust.problem.problem import RobustLogisticProblem

SHARP = 1e-9


def sharp(**parameters: Any) -> sf.RobustLogisticRegression:
    """A model whose coefficients can be compared, not only its objective."""
    return sf.RobustLogisticRegression(tol=SHARP, **parameters)


def test_every_default_is_the_one_that_the_documentation_promises() -> None:
    assert sf.RobustLogisticRegression().get_params() == {
        "radius": "auto",
        "shift": None,
        "numeric_weights": None,
        "categorical_weights": None,
        "label_weight": math.inf,
        "norm": "l1",
        "numeric_range": None,
        "categorical_features": "from_dtype",
        "category_levels": None,
        "fit_intercept": True,
        "solver": "auto",
        "tol": 1e-6,
        "max_iter": None,
        "time_limit": None,
        "verbose": 0,
        "n_jobs": None,
        "missing_numeric": "error",
        "missing_categorical": "error",
        "unseen_categories": "error",
    }


def test_fit_leaves_the_documented_attributes(survey: Any) -> None:
    model = sf.RobustLogisticRegression(radius=0.05).fit(survey.X, survey.y)
    assert model.coef_.shape == (1, 5)
    assert model.intercept_.shape == (1,)
    assert model.classes_.tolist() == ["leaves", "stays"]
    assert model.n_features_in_ == 4
    assert model.feature_names_in_.tolist() == ["age", "channel", "income", "member"]
    assert model.n_iter_ == model.outcome_.iterations >= 1
    assert model.outcome_.status is Status.OPTIMAL
    assert (model.radius_, model.label_weight_) == (0.05, math.inf)
    assert model.solver_ == "sqp"
    assert model.dual_price_ == model.outcome_.primal.price > 0
    assert model.certificate_.verified
    assert model.certificate_.relative_gap <= 1e-6


def test_coef_lists_numeric_columns_and_levels_in_the_order_of_the_table(survey: Any) -> None:
    model = sf.RobustLogisticRegression().fit(survey.X, survey.y)
    primal = model.outcome_.primal
    age, income = primal.numeric
    _, shop, web, _, member = primal.levels
    assert model.coef_[0].tolist() == [age, shop, web, income, member]
    scores = model.intercept_[0] + survey.X["age"] * age + survey.X["income"] * income + survey.X["member"] * member
    scores += survey.X["channel"].map({"phone": 0.0, "shop": shop, "web": web})
    np.testing.assert_allclose(model.decision_function(survey.X), scores, rtol=1e-12)


def test_the_certificate_is_about_the_problem_that_the_parameters_describe(survey: Any) -> None:
    weights = np.linspace(0.5, 2, len(survey.y))
    model = sf.RobustLogisticRegression(radius=0.07, label_weight=2.0, categorical_weights=[0.4, 0.9]).fit(
        survey.X, survey.y, sample_weight=weights
    )
    numeric = survey.X[["age", "income"]].to_numpy()
    shares = weights / weights.sum()
    spread = np.sqrt(shares @ (numeric - shares @ numeric) ** 2)
    problem = RobustLogisticProblem(
        numeric=numeric,
        codes=np.column_stack([survey.X["channel"].map({"phone": 0, "shop": 1, "web": 2}), survey.X["member"]]),
        n_levels=np.array([3, 2]),
        labels=np.where(survey.y == "stays", 1.0, -1.0),
        weights=shares,
        cost=GroundCost(1 / spread, np.array([0.4, 0.9]), 2.0),
        radius=0.07,
    )
    judged = certify_robust_logistic(problem, model.outcome_.primal, model.outcome_.dual, 1e-6)
    assert judged.verified
    assert judged.upper_bound == pytest.approx(model.certificate_.upper_bound, rel=1e-12)


def test_probabilities_agree_with_scores_predictions_and_logarithms(survey: Any) -> None:
    model = sf.RobustLogisticRegression().fit(survey.X, survey.y)
    scores, probabilities = model.decision_function(survey.X), model.predict_proba(survey.X)
    np.testing.assert_allclose(probabilities[:, 1], 1 / (1 + np.exp(-scores)))
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    np.testing.assert_allclose(model.predict_log_proba(survey.X), np.log(probabilities))
    assert model.predict(survey.X).tolist() == np.where(scores > 0, "stays", "leaves").tolist()
    assert model.score(survey.X, survey.y) == np.mean(model.predict(survey.X) == survey.y) > 0.6


def test_log_probabilities_stay_finite_where_probabilities_vanish() -> None:
    x = np.linspace(-1, 1, 20)[:, None]
    model = sf.RobustLogisticRegression(radius=1e-3).fit(x, x[:, 0] > 0)
    far = model.predict_log_proba([[1e6]])
    assert model.predict_proba([[1e6]])[0, 0] == 0
    assert np.isfinite(far).all() and far[0, 0] < -1e5


@pytest.mark.parametrize("solver", ["sqp", "graph", "cutting-plane", "conic"])
def test_all_solvers_find_the_same_model(survey: Any, solver: str) -> None:
    X, y = survey.X[:40], survey.y[:40]
    weights = {"channel": 1.0, "member": 2.0}
    reference = sf.RobustLogisticRegression(categorical_weights=weights).fit(X, y)
    model = sf.RobustLogisticRegression(categorical_weights=weights, solver=solver).fit(X, y)
    assert model.solver_ == solver
    assert model.certificate_.verified
    assert model.certificate_.upper_bound == pytest.approx(reference.certificate_.upper_bound, rel=2e-6)


@pytest.mark.parametrize("factor", [1e-9, 1e-3, 1e9])
def test_units_of_a_column_do_not_matter_by_default(survey: Any, factor: float) -> None:
    scaled = survey.X.assign(age=survey.X["age"] * factor)
    model, other = sharp().fit(survey.X, survey.y), sharp().fit(scaled, survey.y)
    np.testing.assert_allclose(other.decision_function(scaled), model.decision_function(survey.X), rtol=1e-5, atol=1e-6)
    assert other.coef_[0, 0] * factor == pytest.approx(model.coef_[0, 0], rel=1e-4)


def test_units_do_matter_with_raw_weights(survey: Any) -> None:
    scaled = survey.X.assign(age=survey.X["age"] * 1e-3)
    model = sf.RobustLogisticRegression(radius=0.05, numeric_weights=1.0)
    before = model.fit(survey.X, survey.y).certificate_.upper_bound
    assert model.fit(scaled, survey.y).certificate_.upper_bound > before + 1e-3


def test_repeating_rows_is_weighting_them(survey: Any) -> None:
    times = np.arange(len(survey.y)) % 4
    repeated = survey.X.loc[survey.X.index.repeat(times)]
    model = sharp().fit(repeated, survey.y.repeat(times))
    other = sharp().fit(survey.X, survey.y, sample_weight=times)
    np.testing.assert_allclose(other.coef_, model.coef_, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(other.intercept_, model.intercept_, rtol=1e-5)


def test_the_order_of_the_rows_does_not_matter(survey: Any) -> None:
    order = np.random.default_rng(3).permutation(len(survey.y))
    model, other = sharp().fit(survey.X, survey.y), sharp().fit(survey.X.iloc[order], survey.y[order])
    np.testing.assert_allclose(other.coef_, model.coef_, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("label_weight", [math.inf, 0.8])
def test_exchanging_the_labels_changes_all_signs(survey: Any, label_weight: float) -> None:
    model = sharp(label_weight=label_weight).fit(survey.X, survey.y == "stays")
    other = sharp(label_weight=label_weight).fit(survey.X, survey.y == "leaves")
    np.testing.assert_allclose(other.coef_, -model.coef_, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(other.intercept_, -model.intercept_, rtol=1e-5, atol=1e-6)


def test_rows_of_weight_zero_might_as_well_be_missing(survey: Any) -> None:
    # The stray rows have a level that sorts first, so that it would become the reference, and extreme numbers.
    stray = pd.DataFrame({"age": [1e6, -1e6], "channel": ["advert", "advert"], "income": [0.0, 1e9], "member": [True, False]})
    table = pd.concat([stray, survey.X], ignore_index=True)
    labels = np.concatenate([["stays", "leaves"], survey.y])
    weights = np.concatenate([[0.0, 0.0], np.ones(len(survey.y))])
    model, other = sf.RobustLogisticRegression(), sf.RobustLogisticRegression()
    model.fit(survey.X, survey.y)
    other.fit(table, labels, sample_weight=weights)
    assert other.coefficients()["level"].tolist() == model.coefficients()["level"].tolist()
    np.testing.assert_allclose(other.coef_, model.coef_, rtol=1e-9)
    assert other.certificate_.problem_digest == model.certificate_.problem_digest
    with pytest.raises(sf.InvalidTableError, match="'advert', which no training row did"):
        other.predict(stray)


@pytest.mark.parametrize("radius", [0.01, 0.3])
def test_numeric_columns_alone_are_lasso_like_regression_with_the_largest_coefficient_as_penalty(radius: float) -> None:
    draw = np.random.default_rng(5)
    x = draw.normal(size=(80, 4)) * np.array([1.0, 3.0, 0.2, 1.0])
    y = np.where(x @ np.array([1.0, -0.2, 1.0, 0.0]) + draw.logistic(size=80) > 0, 1.0, -1.0)
    gamma = np.array([1.0, 0.5, 2.0, 0.7])
    model = sharp(radius=radius, numeric_weights=gamma).fit(x, y)
    beta, intercept = cp.Variable(4), cp.Variable()
    loss = cp.sum(cp.logistic(cp.multiply(-y, x @ beta + intercept))) / 80
    penalised = cp.Problem(cp.Minimize(loss + radius * cp.max(cp.multiply(cp.abs(beta), 1 / gamma))))
    penalised.solve(solver=cp.CLARABEL)
    assert model.certificate_.upper_bound == pytest.approx(penalised.value, rel=1e-7)
    np.testing.assert_allclose(model.coef_[0], beta.value, atol=1e-3)
    assert model.dual_price_ == pytest.approx(np.max(np.abs(model.coef_[0]) / gamma), rel=1e-6)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_radius_zero_is_unpenalised_logistic_regression(survey: Any, fit_intercept: bool) -> None:
    dense = pd.get_dummies(survey.X, columns=["channel", "member"], drop_first=True).astype(float)
    dense = dense[["age", "channel_shop", "channel_web", "income", "member_True"]]
    plain = LogisticRegression(C=np.inf, fit_intercept=fit_intercept, solver="newton-cholesky", tol=1e-12).fit(dense, survey.y)
    model = sharp(radius=0, fit_intercept=fit_intercept).fit(survey.X, survey.y)
    assert model.certificate_.verified
    np.testing.assert_allclose(model.coef_, plain.coef_, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(model.intercept_, plain.intercept_, rtol=1e-3, atol=1e-4)


@pytest.mark.filterwarnings("ignore::surefoot.exceptions.WeakModelWarning")
def test_a_huge_radius_leaves_only_the_intercept(survey: Any) -> None:
    model = sf.RobustLogisticRegression(radius=1e6).fit(survey.X, survey.y)
    share = np.mean(survey.y == "stays")
    assert np.abs(model.coef_ * np.array([80.0, 1.0, 1.0, 50.0, 1.0])).max() < 1e-6
    assert model.intercept_[0] == pytest.approx(math.log(share / (1 - share)), abs=1e-3)
    assert model.certificate_.verified


def test_a_column_that_never_shifts_keeps_its_plain_effect_better(survey: Any) -> None:
    everything = sf.RobustLogisticRegression(radius=0.2).fit(survey.X, survey.y)
    fixed = sf.RobustLogisticRegression(radius=0.2, numeric_weights={"age": np.inf}).fit(survey.X, survey.y)
    assert fixed.certificate_.upper_bound < everything.certificate_.upper_bound
    assert abs(fixed.coef_[0, 0]) > abs(everything.coef_[0, 0])


def test_a_shift_model_replaces_weights_and_radius(survey: Any) -> None:
    ambiguity = SimpleNamespace(
        numeric_weights={"age": 0.1, "income": 0.2}, categorical_weights={"channel": 0.5, "member": 3.0}, radius=0.3
    )
    seen = []
    shift = SimpleNamespace(calibrate=lambda X: seen.append(X) or ambiguity)
    model = sf.RobustLogisticRegression(shift=shift).fit(survey.X, survey.y)
    explicit = sf.RobustLogisticRegression(radius=0.3, numeric_weights=[0.1, 0.2], categorical_weights=[0.5, 3.0]).fit(
        survey.X, survey.y
    )
    assert seen[0] is survey.X
    assert model.radius_ == 0.3
    assert model.certificate_.problem_digest == explicit.certificate_.problem_digest


@pytest.mark.parametrize("limit", [{"max_iter": 1}, {"time_limit": 1e-9}])
def test_a_limit_keeps_the_model_and_a_bound_and_warns_once(survey: Any, limit: dict[str, Any]) -> None:
    best = sharp(radius=0.05).fit(survey.X, survey.y).certificate_.upper_bound
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = sf.RobustLogisticRegression(radius=0.05, tol=1e-12, **limit).fit(survey.X, survey.y)
    assert [warning.category for warning in caught] == [sf.ConvergenceLimitWarning]
    message = str(caught[0].message)
    assert f"{rounded_down(model.certificate_.lower_bound, 9)} still holds" in message
    assert model.outcome_.status.value in message and model.outcome_.status is not Status.OPTIMAL
    assert not model.certificate_.verified
    assert model.certificate_.lower_bound <= best * (1 + 1e-8)
    assert model.certificate_.upper_bound >= best * (1 - 1e-8)
    assert model.predict(survey.X).shape == survey.y.shape


class InterruptingStream:
    """A screen in front of which somebody presses Ctrl-C."""

    def write(self, text: str) -> int:
        raise KeyboardInterrupt

    def flush(self) -> None: ...


def test_an_interrupt_leaves_an_unfitted_model_unfitted(survey: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    model = sf.RobustLogisticRegression(verbose=1)
    monkeypatch.setattr("sys.stderr", InterruptingStream())
    with pytest.raises(KeyboardInterrupt):
        model.fit(survey.X, survey.y)
    assert not [name for name in vars(model) if name.endswith("_")]


@pytest.mark.parametrize("fail", ["interrupt", "bad labels"])
def test_a_failed_fit_leaves_the_fitted_model_as_it_was(survey: Any, monkeypatch: pytest.MonkeyPatch, fail: str) -> None:
    model = sf.RobustLogisticRegression().fit(survey.X, survey.y)
    before = pickle.dumps(vars(model))
    if fail == "interrupt":
        model.set_params(verbose=1)
        monkeypatch.setattr("sys.stderr", InterruptingStream())
        with pytest.raises(KeyboardInterrupt):
            model.fit(survey.X[["age"]], survey.y)
        model.set_params(verbose=0)
    else:
        with pytest.raises(ValueError, match="one class"):
            model.fit(survey.X[["age"]], ["same"] * len(survey.y))
    assert pickle.dumps(vars(model)) == before


def test_verbose_shows_the_start_and_one_line_per_iteration_with_the_gap(
    survey: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    model = sf.RobustLogisticRegression(radius=0.05, verbose=1).fit(survey.X, survey.y)
    shown = capsys.readouterr()
    lines = shown.err.splitlines()
    assert shown.out == ""
    assert lines[0] == "RobustLogisticRegression, radius 0.05"
    assert lines[1].split() == ["iteration", "objective", "lower", "bound", "gap", "seconds"]
    assert len(lines) == 3 + model.n_iter_
    assert float(lines[-1].split()[1]) == pytest.approx(model.certificate_.upper_bound, rel=1e-6)
    assert float(lines[-1].split()[3]) <= 1e-6


def test_nothing_is_printed_by_default(survey: Any, capsys: pytest.CaptureFixture[str]) -> None:
    sf.RobustLogisticRegression().fit(survey.X, survey.y)
    assert capsys.readouterr() == ("", "")


def test_a_pickled_model_predicts_and_proves_the_same(survey: Any) -> None:
    model = sf.RobustLogisticRegression(categorical_weights={"channel": 0.5}).fit(survey.X, survey.y)
    again = pickle.loads(pickle.dumps(model))
    assert again.decision_function(survey.X).tolist() == model.decision_function(survey.X).tolist()
    assert again.certificate_.problem_digest == model.certificate_.problem_digest
    assert again.certificate_.upper_bound == model.certificate_.upper_bound
    assert again.worst_case(survey.X, survey.y).expected_loss == model.worst_case(survey.X, survey.y).expected_loss


def test_a_clone_has_the_parameters_and_nothing_else(survey: Any) -> None:
    model = sf.RobustLogisticRegression(radius=0.3, categorical_weights={"channel": 0.5}).fit(survey.X, survey.y)
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    assert not hasattr(copy, "coef_")


@pytest.mark.filterwarnings("ignore::surefoot.exceptions.WeakModelWarning")
def test_a_grid_search_over_a_pipeline_finds_a_radius(survey: Any) -> None:
    pipeline = make_pipeline(FunctionTransformer(lambda table: table.drop(columns="income")), sf.RobustLogisticRegression())
    grid = {"robustlogisticregression__radius": [0.01, 10.0]}
    search = GridSearchCV(pipeline, grid, scoring="neg_log_loss", cv=3).fit(survey.X, survey.y)
    assert search.best_params_ == {"robustlogisticregression__radius": 0.01}
    assert search.best_estimator_[-1].feature_names_in_.tolist() == ["age", "channel", "member"]


@pytest.mark.parametrize("n_jobs", [2, -1])
def test_threads_do_not_change_the_model(survey: Any, n_jobs: int) -> None:
    model = sharp().fit(survey.X, survey.y)
    threaded = sharp(n_jobs=n_jobs).fit(survey.X, survey.y)
    np.testing.assert_allclose(threaded.coef_, model.coef_, rtol=1e-6, atol=1e-8)


def test_refitting_on_an_array_forgets_the_column_names(survey: Any) -> None:
    model = sf.RobustLogisticRegression().fit(survey.X, survey.y)
    model.fit(survey.X[["age", "income"]].to_numpy(), survey.y)
    assert not hasattr(model, "feature_names_in_")
    assert model.n_features_in_ == 2


@pytest.mark.parametrize(("n_jobs", "threads"), [(None, 1), (2, 2)])
def test_the_certificate_takes_no_more_threads_than_n_jobs(survey: Any, monkeypatch: Any, n_jobs: Any, threads: int) -> None:
    def most_threads() -> int:
        # Other packages may bring a BLAS that was built without threads.
        return max(pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas")

    seen = []

    def look(*parts: Any) -> Any:
        seen.append(most_threads())
        return certify_robust_logistic(*parts)

    monkeypatch.setattr("surefoot.robust.estimator.certified_outcome.certify_robust_logistic", look)
    with threadpool_limits(3, user_api="blas"):
        sf.RobustLogisticRegression(n_jobs=n_jobs).fit(survey.X, survey.y)
        # What the caller had set is back in place.
        assert most_threads() == 3
    assert seen == [threads]


def test_certificate_and_outcome_print_without_the_plan_and_the_history(survey: Any) -> None:
    model = sf.RobustLogisticRegression().fit(survey.X, survey.y)
    assert "verified=True" in repr(model.certificate_) and "witness" not in repr(model.certificate_)
    assert "RobustCoefficients(" in repr(model.outcome_) and "ShiftPlan" not in repr(model.outcome_)
    assert "Progress(" not in repr(model.outcome_)
    # Left out of the print, not of the record.
    assert model.certificate_.to_dict()["witness"]["mass"].sum() == pytest.approx(1.0)
    assert len(model.outcome_.to_dict()["history"]) == len(model.outcome_.history) >= 1
