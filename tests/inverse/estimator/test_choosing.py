"""Scores of learned costs, and the search for kappa, distance and regularizer."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold

from surefoot import verify
from surefoot.exceptions import GridEdgeWarning, InvalidObservationError
from surefoot.inverse import InverseOptimizer, InverseOptimizerCV, decision_error, forward, unpredicted_share

TASTE = np.array([1.0, 2.0, 3.0])


def offers(n: int, scale: Any = 1.0, noise: float = 0.15) -> tuple[list[Any], list[int]]:
    draw = np.random.default_rng(3)
    shown = [draw.uniform(0, 1, (5, 3)) for _ in range(n)]
    return [each * scale for each in shown], [int(np.argmin(each @ TASTE + draw.normal(0, noise, 5))) for each in shown]


def test_a_score_is_the_negative_of_its_metric() -> None:
    signals, responses = offers(24)
    model = InverseOptimizer(forward.FiniteChoice(), kappa=0.01, tol=1e-4).fit(signals[:12], responses[:12])
    seen = np.array([signals[i][responses[i]] for i in range(12, 24)])
    ours = np.array(model.predict(signals[12:]))
    assert model.score(signals[12:], responses[12:]) == pytest.approx(-decision_error(seen, ours), rel=1e-12)
    model.set_params(metric="unpredicted share")
    assert model.score(signals[12:], responses[12:]) == -unpredicted_share(seen, ours) < 0
    model.set_params(metric=lambda observed, decided: 3.0)
    assert model.score(signals[12:], responses[12:]) == -3.0
    with pytest.raises(ValueError, match="metric='share' must be one of 'decision error', 'unpredicted share'"):
        model.set_params(metric="share").score(signals, responses)
    with pytest.raises(InvalidObservationError, match="24 signals, but 1 responses"):
        model.set_params(metric="decision error").score(signals, [0])


def test_the_unpredicted_share_does_not_depend_on_units() -> None:
    signals, responses = offers(20)
    model = InverseOptimizer(forward.FiniteChoice(), kappa=0.01, metric="unpredicted share", tol=1e-4).fit(signals, responses)
    small = clone(model).set_params(kappa=1e-10)
    small.fit([each * 1e-8 for each in signals], responses)
    assert small.score([each * 1e-8 for each in signals], responses) == model.score(signals, responses) < 0


def test_decisions_of_different_sizes_are_scored() -> None:
    signals = [(-np.ones((1, n)), np.array([-1.0])) for n in (2, 3)]
    model = InverseOptimizer(forward.BinaryProgram(), features=lambda signal, x: [x[0], x[1:].sum()], distance="l1", kappa=0.1)
    model.fit(signals, [[1, 0], [1, 0, 0]])
    assert model.score(signals, [[1, 0], [1, 0, 0]]) == 0.0
    assert model.score(signals, [[1, 0], [0, 1, 0]]) == pytest.approx(-np.sqrt(2) / 2)


def test_a_grid_search_of_scikit_learn_agrees_with_the_search_of_its_own() -> None:
    signals, responses = offers(30)
    kappas, folds = [1e-3, 1e-2, 1e-1, 1.0], KFold(3)
    model = InverseOptimizer(forward.FiniteChoice(), tol=1e-4)
    theirs = GridSearchCV(model, {"kappa": kappas}, cv=folds).fit(signals, responses)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GridEdgeWarning)
        ours = InverseOptimizerCV(forward.FiniteChoice(), kappas=kappas, cv=folds, tol=1e-4).fit(signals, responses)
    np.testing.assert_allclose(ours.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"], atol=1e-12)
    assert ours.best_score_ == pytest.approx(theirs.best_score_) and np.all(ours.cv_results_["certified"] == 1)
    # The choice is fitted from the start, as by itself.
    alone = clone(model).set_params(**ours.best_params_).fit(signals, responses)
    assert ours.cost_.tolist() == alone.cost_.tolist() and verify(ours.best_estimator_, signals, responses).verified
    assert ours.score(signals, responses) == alone.score(signals, responses)


def test_grids_are_the_same_in_other_units() -> None:
    found = []
    for scale in (1.0, 1e-6):
        signals, responses = offers(20, scale)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", GridEdgeWarning)
            found.append(InverseOptimizerCV(forward.FiniteChoice(), cv=2, tol=1e-4).fit(signals, responses))
    kappas = [search.cv_results_["param_kappa"] for search in found]
    np.testing.assert_allclose(kappas[0] * 1e-6, kappas[1], rtol=0.03)
    assert len(kappas[0]) == 7 and found[0].best_params_["kappa"] * 1e-6 == pytest.approx(
        found[1].best_params_["kappa"], rel=0.03
    )


def test_distances_and_regularizers_are_chosen_too_and_the_first_wins_a_tie() -> None:
    signals, responses = offers(12, noise=0.0)
    search = InverseOptimizerCV(
        forward.FiniteChoice(), kappas=[1e-3], distances=["l1", ("none", "l2")], regularizers=["l2", "l1"], cv=2, tol=1e-4
    )
    search.fit(signals, responses)
    table = search.cv_results_
    assert len(table["params"]) == 4 and search.best_score_ == table["mean_test_score"].max()
    one = InverseOptimizerCV(forward.FiniteChoice(), kappas=[0.0], distances=["l1", "l2"], cv=2, metric=lambda a, b: 1.0)
    assert one.fit(signals, responses).best_params_ == {"kappa": 0.0, "distance": "l1", "regularizer": "l2"}


def test_groups_are_held_out_whole() -> None:
    signals, responses = offers(12)
    seen: list[set[float]] = []

    def told(observed: Any, decided: Any) -> float:
        seen[-1].add(float(observed[0]))
        return 0.0

    names = np.array(["anna", "bob", "clara"] * 4)
    search = InverseOptimizerCV(forward.FiniteChoice(), kappas=[0.1], metric=told)
    seen.append(set())
    search.fit(signals, responses, groups=names)
    assert search.cv_results_["split2_test_score"].size == 1 and "split3_test_score" not in search.cv_results_
    with pytest.raises(InvalidObservationError, match="all observations are of one group, 'anna'"):
        search.fit(signals, responses, groups=["anna"] * 12)


def test_a_choice_at_the_edge_of_the_grid_is_warned_of() -> None:
    signals, responses = offers(20, noise=0.02)
    with pytest.warns(GridEdgeWarning, match="of 2 values of the kappa, from 1 to 10, the smallest was chosen"):
        InverseOptimizerCV(forward.FiniteChoice(), kappas=[1.0, 10.0], cv=2, tol=1e-4).fit(signals, responses)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"kappas": [-1.0]}, r"kappas\[0\] = -1.0 must be a finite number at or above 0"),
        ({"kappas": 3.0}, "a single one is kappa"),
        ({"kappas": []}, "kappas is empty"),
        ({"distances": "l2"}, "distances = 'l2' must be None or a list"),
        ({"select": "best"}, "select = 'best'"),
        ({"cv": 1}, "cv = 1 must be at least 2, and at most 6"),
        ({"approach": "incenter", "kappas": [1.0]}, "approach='incenter' has no kappa"),
        ({"metric": "r2"}, "metric='r2' must be one of"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings: dict[str, Any], message: str) -> None:
    signals, responses = offers(6)
    with pytest.raises(ValueError, match=message):
        InverseOptimizerCV(forward.FiniteChoice(), **settings).fit(signals, responses)


def test_a_cost_of_zero_is_never_chosen_in_silence() -> None:
    points = np.eye(2)
    with pytest.raises(InvalidObservationError, match="every point of the grid gives a cost of 0"):
        InverseOptimizerCV(forward.FiniteChoice(), kappas=[1.0], cv=2).fit([points] * 4, [0, 1, 0, 1])
