"""The search over prices, violations and widths: held-out inputs decide, nothing leaks, and the choice is proven."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GroupKFold, KFold

import surefoot as sf
from surefoot.exceptions import InvalidTableError, SingleSampleWarning

Readings = tuple[np.ndarray, np.ndarray, np.ndarray]


def readings(seed: int = 0, inputs: int = 24, repeats: int = 4, gap: float = 1.5) -> Readings:
    """Two columns of sensors of two kinds, the second of which is little but noise."""
    rng = np.random.default_rng(seed)
    kind = np.arange(inputs) % 2
    centres = np.column_stack(((2 * kind - 1) * gap / 2 + 0.3 * rng.normal(size=inputs), rng.normal(size=inputs)))
    rows = np.repeat(centres, repeats, axis=0) + rng.normal(size=(inputs * repeats, 2)) * [0.2, 2.0]
    return rows, np.repeat(kind, repeats), np.repeat(np.arange(inputs), repeats)


def search(**params: Any) -> sf.ChanceConstrainedSVCCV:
    return sf.ChanceConstrainedSVCCV(**{"costs": [0.1, 10.0], "violations": [0.3, 0.8], "random_state": 0, **params})


def test_the_choice_is_fitted_to_all_rows_and_proven() -> None:
    X, y, groups = readings()
    found = search().fit(X, y, groups=groups)
    alone = sf.ChanceConstrainedSVC(**found.best_params_, random_state=0).fit(X, y, groups=groups)
    np.testing.assert_allclose(found.decision_function(X), alone.decision_function(X), atol=1e-5)
    assert found.certificate_.verified and sf.verify(found, X, y).verified
    assert found.classes_.tolist() == [0, 1] and found.n_features_in_ == 2


def test_what_is_tried_where_nothing_is_named_has_the_defaults_of_a_single_model_in_it() -> None:
    X, y, groups = readings(inputs=12, repeats=3)
    found = sf.ChanceConstrainedSVCCV(cv=2, gammas=["scale"], random_state=0).fit(X, y, groups=groups).cv_results_
    defaults = sf.ChanceConstrainedSVC()
    assert defaults.C in found["param_C"] and defaults.violation in found["param_violation"]


def test_results_name_every_triple_once_with_its_folds() -> None:
    X, y, groups = readings()
    found = search(gammas=["scale", 0.1], cv=3).fit(X, y, groups=groups)
    table = pd.DataFrame(found.cv_results_)
    assert len(table) == 8 and not table[["param_C", "param_violation", "param_gamma"]].duplicated().any()
    folds = table[["split0_test_score", "split1_test_score", "split2_test_score"]]
    np.testing.assert_allclose(table["mean_test_score"], folds.mean(axis=1))
    best = table[table["mean_test_score"] == table["mean_test_score"].max()]
    assert found.best_score_ == best["mean_test_score"].iloc[0]
    assert found.best_params_["violation"] == best["param_violation"].min()
    assert (table["certified"] == 1.0).all()


def test_scores_are_those_of_models_that_saw_none_of_the_held_out_inputs() -> None:
    """Labels of inputs are drawn, so that nothing can be learned but by rows of the same input on both sides."""
    rng = np.random.default_rng(3)
    groups = np.repeat(np.arange(40), 5)
    X = np.repeat(rng.normal(size=(40, 6)), 5, axis=0) + 0.01 * rng.normal(size=(200, 6))
    y = np.repeat(rng.permutation(np.arange(40) % 2), 5)
    found = search(costs=[100.0], violations=[0.9], gammas=[1.0]).fit(X, y, groups=groups)
    assert found.best_estimator_.score(X, y) == 1.0
    assert found.best_score_ < 0.75


def test_a_splitter_that_parts_an_input_is_refused_and_one_of_groups_is_taken() -> None:
    X, y, groups = readings()
    with pytest.raises(InvalidTableError, match=r"fold 1 of cv has rows of group .* on both sides"):
        search(cv=KFold(3, shuffle=True, random_state=0)).fit(X, y, groups=groups)
    assert search(cv=GroupKFold(3)).fit(X, y, groups=groups).certificate_.verified


def test_rows_without_groups_have_no_violation_to_choose() -> None:
    X, y, _ = readings(repeats=1, inputs=40)
    with pytest.warns(SingleSampleWarning, match="no groups were given"):
        found = search().fit(X, y)
    assert set(found.cv_results_["param_violation"]) == {0.8}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        search(batches="rows").fit(X, y)


def test_weights_count_in_fitting_and_scoring() -> None:
    X, y, groups = readings()
    weight = np.where(groups < 12, 1.0, 0.0)
    kept = weight > 0
    left_out = search().fit(X, y, groups=groups, sample_weight=weight)
    fewer = search().fit(X[kept], y[kept], groups=groups[kept])
    np.testing.assert_allclose(left_out.cv_results_["mean_test_score"], fewer.cv_results_["mean_test_score"])
    np.testing.assert_allclose(left_out.decision_function(X), fewer.decision_function(X), atol=1e-5)


def test_a_precomputed_kernel_is_cut_to_the_rows_of_each_fold() -> None:
    X, y, groups = readings()
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    gram = X @ X.T
    matrix = search(kernel="precomputed", gammas=["scale"]).fit(gram, y, groups=groups)
    asked = {"standardize": False, "covariance": "batch", "gammas": ["scale"]}
    rows = search(kernel="linear", **asked).fit(X, y, groups=groups)
    np.testing.assert_allclose(matrix.cv_results_["mean_test_score"], rows.cv_results_["mean_test_score"])


def test_a_failed_search_leaves_the_one_before() -> None:
    X, y, groups = readings()
    found = search().fit(X, y, groups=groups)
    before = found.decision_function(X)
    with pytest.raises(ValueError):
        found.fit(X, np.zeros(len(X)), groups=groups)
    np.testing.assert_array_equal(found.decision_function(X), before)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"costs": []}, "costs is empty"),
        ({"costs": 1.0}, "costs = 1.0 must be None or a list"),
        ({"costs": [0.0]}, r"costs\[0\] = 0.0 must be positive"),
        ({"violations": [0.5, 1.0]}, r"violations\[1\] = 1.0 must be above 0 and below 1"),
        ({"gammas": "scale"}, "gammas = 'scale' must be None or a list"),
        ({"cv": 1}, "cv = 1 must be at least 2"),
        ({"solver": "socp"}, "a path needs solver='worst-points'"),
    ],
)
def test_senseless_grids_are_refused(params: dict[str, Any], message: str) -> None:
    X, y, groups = readings()
    with pytest.raises(ValueError, match=message):
        search(**params).fit(X, y, groups=groups)


def test_a_search_is_an_estimator_of_scikit_learn() -> None:
    model = search(probability=True)
    assert clone(model).get_params() == model.get_params()
    X, y, groups = readings()
    probabilities = model.fit(X, y, groups=groups).predict_proba(X)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    assert not hasattr(search(), "predict_proba")
