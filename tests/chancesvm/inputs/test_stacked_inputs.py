"""Arrays of inputs, repeats and columns, and one covariance for all inputs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import surefoot as sf
from surefoot import ChanceConstrainedSVC, ChanceConstrainedSVCCV


def stack(inputs: int = 12, repeats: int = 4, seed: int = 0) -> tuple[np.ndarray, list[str]]:
    rng = np.random.default_rng(seed)
    kinds = np.arange(inputs) % 2
    X = rng.normal(size=(inputs, 1, 2)) + 2.0 * kinds[:, None, None] + 0.3 * rng.normal(size=(inputs, repeats, 2))
    return X, [("new", "worn")[kind] for kind in kinds]


def rows_of(X: np.ndarray, y: list[str]) -> tuple[np.ndarray, list[str], np.ndarray]:
    groups = np.repeat(np.arange(len(X)), X.shape[1])
    return X.reshape(-1, X.shape[2]), [y[at] for at in groups], groups


def test_a_stack_is_its_rows_with_the_first_index_as_groups() -> None:
    X, y = stack()
    rows, labels, groups = rows_of(X, y)
    model, same = ChanceConstrainedSVC().fit(X, y), ChanceConstrainedSVC().fit(rows, labels, groups=groups)
    np.testing.assert_array_equal(model.decision_function(rows), same.decision_function(rows))
    assert model.groups_ == list(range(12)) and model.classes_.tolist() == ["new", "worn"]
    assert model.certificate_.problem_digest == same.certificate_.problem_digest
    assert sf.verify(model, X, y).verified and sf.verify(model, rows, labels, groups=groups).verified


def test_repeats_of_nan_are_no_repeats_and_neither_are_those_that_a_list_does_not_have() -> None:
    X, y = stack()
    X[0, 2:] = np.nan
    X[5, 0] = np.nan
    ragged = [block[~np.isnan(block[:, 0])] for block in X]
    rows, groups = np.vstack(ragged), np.repeat(np.arange(12), [len(block) for block in ragged])
    same = ChanceConstrainedSVC().fit(rows, [y[at] for at in groups], groups=groups)
    for given in (X, ragged, [block.tolist() for block in ragged]):
        model = ChanceConstrainedSVC().fit(given, np.array(y))
        np.testing.assert_array_equal(model.decision_function(rows), same.decision_function(rows))
        assert model.input_columns()["samples"][:2].tolist() == [2, 4]
        assert sf.verify(model, given, y).verified


def test_weights_of_repeats() -> None:
    X, y = stack()
    weights = np.random.default_rng(1).integers(1, 4, X.shape[:2]).astype(float)
    rows, labels, groups = rows_of(X, y)
    model = ChanceConstrainedSVC().fit(X, y, sample_weight=weights)
    same = ChanceConstrainedSVC().fit(rows, labels, groups=groups, sample_weight=weights.ravel())
    np.testing.assert_array_equal(model.decision_function(rows), same.decision_function(rows))
    assert sf.verify(model, X, y, sample_weight=weights).verified


def test_paths_searches_and_several_classes_take_stacks() -> None:
    X, y = stack()
    ((model,),) = ChanceConstrainedSVC(kernel="linear").fit_path(X, y, costs=[1.0], violations=[0.8])
    assert sf.verify(model, X, y).verified
    search = ChanceConstrainedSVCCV(costs=[1.0], violations=[0.8], gammas=["scale"], cv=3, random_state=0).fit(X, y)
    assert sf.verify(search, X, y).verified
    kinds = np.arange(12) % 3
    several = ChanceConstrainedSVC().fit(X + 3 * kinds[:, None, None], kinds)
    assert len(several.machines_) == 3 and sf.verify(several, X + 3 * kinds[:, None, None], kinds).verified


def _with_gap(X: np.ndarray) -> np.ndarray:
    X[3, 1, 0] = np.nan
    return X


def _without(X: np.ndarray) -> np.ndarray:
    X[3] = np.nan
    return X


@pytest.mark.parametrize(
    ("change", "labels", "others", "told"),
    [
        (lambda X: X, 11, {}, "X of three dimensions has 12 inputs, y has 11 labels"),
        (lambda X: X, 12, {"groups": np.arange(12)}, "has its inputs along the first one: leave groups out"),
        (lambda X: X, 12, {"sample_weight": np.ones(12)}, "sample_weight needs a weight for each repeat of each input"),
        (_without, 12, {}, "input 3 of X has no repeats, or none but NaN"),
        (_with_gap, 12, {}, "contains NaN"),
        (lambda X: [*X[:11], X[11, :, :1]], 12, {}, "input 11 of X has 1 columns, and input 0 has 2"),
        (lambda X: [*X[:11].tolist(), [["a", "b"]]], 12, {}, "input 11 of X is no table of numbers"),
    ],
)
def test_stacks_that_do_not_fit_are_refused_in_words(change: Any, labels: int, others: dict[str, Any], told: str) -> None:
    X, y = stack()
    with pytest.raises(ValueError, match=told):
        ChanceConstrainedSVC().fit(change(X), y[:labels], **others)


MEANS = np.array([[0.0, 0.0], [3.0, 1.0], [3.5, 1.0]])
SHARED = np.array([[0.04, 0.01], [0.01, 0.09]])


def test_one_covariance_for_all_inputs_is_that_of_each() -> None:
    y, each = ["new", "worn", "worn"], np.broadcast_to(SHARED, (3, 2, 2))
    same = ChanceConstrainedSVC(kernel="linear").fit_moments(MEANS, each, y)
    model = ChanceConstrainedSVC(kernel="linear").fit_moments(MEANS, None, y, shared_covariance=SHARED)
    np.testing.assert_array_equal(model.coef_, same.coef_)
    assert model.certificate_.problem_digest == same.certificate_.problem_digest
    assert sf.verify(model, (MEANS, each), y).verified
    diagonal = ChanceConstrainedSVC(kernel="linear").fit_moments(MEANS, None, y, shared_covariance=[0.04, 0.09])
    rows = ChanceConstrainedSVC(kernel="linear").fit_moments(MEANS, [[0.04, 0.09]] * 3, y)
    np.testing.assert_array_equal(diagonal.coef_, rows.coef_)


def test_means_of_a_data_frame_name_the_columns() -> None:
    frame = pd.DataFrame(MEANS, columns=["heat", "noise"])
    model = ChanceConstrainedSVC(kernel="linear").fit_moments(frame, None, [0, 1, 1], shared_covariance=SHARED)
    assert model.feature_names_in_.tolist() == ["heat", "noise"]
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame.rename(columns={"heat": "cold"}))


@pytest.mark.parametrize(
    ("covariances", "shared", "told"),
    [
        (SHARED, None, "it may be the variances of each input, or one covariance for all. Pass shared_covariance="),
        (np.eye(2), None, "may be the variances of each input"),
        (np.full((2, 2), 0.01), SHARED, "pass one of them"),
        (None, None, "covariances are missing"),
        (None, np.eye(3), r"shared_covariance has shape \(3, 3\), but means of 2 columns need \(2, 2\)"),
        (None, [[1.0, 2.0], [0.0, 1.0]], "not symmetric"),
    ],
)
def test_covariances_that_may_mean_two_things_are_refused(covariances: Any, shared: Any, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        ChanceConstrainedSVC(kernel="linear").fit_moments(MEANS[:2], covariances, [0, 1], shared_covariance=shared)


def test_variances_of_as_many_inputs_as_columns_stay_what_they_were() -> None:
    """Tables that cannot be a covariance are rows of variances, as ever; so are equal numbers."""
    for variances in ([[0.01, 0.02], [0.03, 0.04]], np.full((2, 2), 0.01)):
        full = np.stack([np.diag(row) for row in np.asarray(variances)])
        model = ChanceConstrainedSVC(kernel="linear").fit_moments(MEANS[:2], variances, [0, 1])
        same = ChanceConstrainedSVC(kernel="linear").fit_moments(MEANS[:2], full, [0, 1])
        np.testing.assert_array_equal(model.coef_, same.coef_)
