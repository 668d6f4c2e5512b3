"""The norms of the numeric cost: each is the regularised model it is said to be, on tables of every kind."""

from __future__ import annotations

import math
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
from reference.enumerated_model import solve_enumerated
from scipy import sparse
from sklearn.linear_model import LogisticRegression

import surefoot as sf
from surefoot.design.encode.table_encoder import TableEncoder
from surefoot.robust.problem.problem import RobustLogisticProblem

NORMS = ["l1", "l2", "linf"]
# The norm of beta / gamma that the model pays for.
PENALTY: dict[str, Any] = {"l1": "inf", "l2": 2, "linf": 1}


def draw_numbers(rows: int = 80, seed: int = 5) -> tuple[np.ndarray, np.ndarray]:
    draw = np.random.default_rng(seed)
    x = draw.normal(size=(rows, 4)) * np.array([1.0, 3.0, 0.2, 1.0])
    return x, np.where(x @ np.array([1.0, -0.2, 1.0, 0.0]) + draw.logistic(size=rows) > 0, 1.0, -1.0)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_numbers_alone_are_penalised_by_the_dual_norm(norm: str, fit_intercept: bool) -> None:
    x, y = draw_numbers()
    gamma = np.array([1.0, 0.5, 2.0, 0.7])
    model = sf.RobustLogisticRegression(
        radius=0.05, numeric_weights=gamma, norm=norm, fit_intercept=fit_intercept, tol=1e-8
    ).fit(x, y)
    beta, intercept = cp.Variable(4), cp.Variable()
    loss = cp.sum(cp.logistic(cp.multiply(-y, x @ beta + intercept))) / y.size
    penalised = cp.Problem(
        cp.Minimize(loss + 0.05 * cp.norm(cp.multiply(beta, 1 / gamma), PENALTY[norm])),
        [] if fit_intercept else [intercept == 0],
    )
    penalised.solve(solver=cp.CLARABEL)
    assert model.certificate_.verified
    assert model.certificate_.upper_bound == pytest.approx(penalised.value, rel=1e-6)
    np.testing.assert_allclose(model.coef_[0], beta.value, atol=2e-3)
    assert model.ground_cost_.numeric_norm == norm
    needed = np.linalg.norm(model.coef_[0] / gamma, {"l1": np.inf, "l2": 2, "linf": 1}[norm])
    assert model.dual_price_ == pytest.approx(needed, rel=1e-5)


def test_linf_with_sure_labels_is_the_lasso_of_scikit_learn() -> None:
    x, y = draw_numbers(200)
    radius = 0.08
    lasso = {"penalty": "l1"} if LogisticRegression().penalty == "l2" else {"l1_ratio": 1.0}
    reference = LogisticRegression(C=1 / (radius * y.size), solver="saga", tol=1e-10, max_iter=20_000, **lasso).fit(x, y)
    model = sf.RobustLogisticRegression(radius=radius, norm="linf", numeric_weights=1.0, tol=1e-9).fit(x, y)
    assert (reference.coef_ == 0).any()
    np.testing.assert_allclose(model.coef_, reference.coef_, atol=1e-5)
    np.testing.assert_allclose(model.intercept_, reference.intercept_, atol=1e-5)


def problem_of(model: Any, X: Any, y: np.ndarray) -> RobustLogisticProblem:
    design = TableEncoder.from_schema(model.schema_).encode(X)
    return RobustLogisticProblem(
        numeric=design.numeric,
        codes=design.codes,
        n_levels=design.n_levels,
        labels=np.where(y == model.classes_[1], 1.0, -1.0),
        weights=np.full(y.size, 1 / y.size),
        cost=model.ground_cost_,
        radius=model.radius_,
        fit_intercept=model.fit_intercept,
    )


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("label_weight", [math.inf, 0.6])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("categories", [[], [0, 3]], ids=["numbers", "mixed"])
def test_every_combination_reaches_the_optimum_of_the_enumerated_model(
    norm: str, label_weight: float, container: Any, categories: list[int]
) -> None:
    draw = np.random.default_rng(11)
    x = np.column_stack(
        [draw.integers(0, 3, 30), draw.normal(size=(30, 2)) * (draw.random((30, 2)) < 0.6), draw.integers(0, 2, 30)]
    )
    y = x @ np.array([0.5, 1.0, -0.7, 0.5]) + draw.logistic(size=30) > 0.8
    model = sf.RobustLogisticRegression(
        radius=0.05, norm=norm, label_weight=label_weight, categorical_features=categories, categorical_weights=0.8
    ).fit(container(x), y)
    problem = problem_of(model, x, y)
    spread = np.delete(x, categories, axis=1).std(axis=0)
    np.testing.assert_allclose(problem.cost.numeric_weights, 1 / spread, rtol=1e-9)
    assert (problem.cost.numeric_norm, problem.cost.label_weight) == (norm, label_weight)
    assert model.certificate_.verified
    assert model.certificate_.upper_bound == pytest.approx(solve_enumerated(problem).optimum, rel=2e-6)


@pytest.mark.parametrize("norm", NORMS)
def test_units_do_not_matter_in_any_norm(norm: str) -> None:
    x, y = draw_numbers()
    unit = np.array([1e3, 1e-3, 7.0, 1.0])
    model = sf.RobustLogisticRegression(norm=norm, tol=1e-8).fit(x, y)
    other = sf.RobustLogisticRegression(norm=norm, tol=1e-8).fit(x * unit, y)
    assert other.certificate_.upper_bound == pytest.approx(model.certificate_.upper_bound, rel=2e-8)
    np.testing.assert_allclose(other.coef_ * unit, model.coef_, atol=1e-3)


def test_dearer_norms_give_better_objectives(survey: Any) -> None:
    # The same move costs most in l1 and least in linf, so that the adversary of l1 can do the least.
    models = [sf.RobustLogisticRegression(radius=0.05, norm=norm).fit(survey.X, survey.y) for norm in NORMS]
    found = [model.certificate_.upper_bound for model in models]
    assert found[0] < found[1] - 1e-4 < found[2] - 2e-4


@pytest.mark.parametrize("norm", NORMS)
def test_the_search_passes_the_norm_on(survey: Any, norm: str) -> None:
    search = sf.RobustLogisticRegressionCV(radii=[0.05], cv=2, norm=norm).fit(survey.X, survey.y)
    single = sf.RobustLogisticRegression(radius=0.05, norm=norm).fit(survey.X, survey.y)
    assert search.ground_cost_.numeric_norm == norm
    assert search.certificate_.problem_digest == single.certificate_.problem_digest
