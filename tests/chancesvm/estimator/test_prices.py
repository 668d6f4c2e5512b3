"""What slack costs: as much for all inputs together as for their rows, however these are put together; and who is told what."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import GridSearchCV, StratifiedGroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import surefoot as sf
from surefoot import ChanceConstrainedSVC, ConvergenceLimitWarning, SingleSampleWarning, WeakModelWarning


def inputs(sizes: list[int], spread: float = 0.2, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Inputs of two kinds, with so many rows each."""
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(len(sizes)), sizes)
    kind = np.arange(len(sizes)) % 2
    centres = rng.normal(size=(len(sizes), 2)) + 2.0 * kind[:, None]
    return centres[groups] + spread * rng.normal(size=(groups.size, 2)), kind[groups], groups


def costs(model: ChanceConstrainedSVC, X: Any, y: Any, weight: Any = None, groups: Any = None) -> np.ndarray:
    """The prices of the problem that was solved."""
    found: np.ndarray = model._proof_parts(X, y, weight, groups).arguments["problem"].costs
    return found


@pytest.mark.parametrize("C", [1.0, 0.3])
def test_all_inputs_together_cost_what_their_rows_would(C: float) -> None:
    X, y, groups = inputs([1, 2, 3, 4, 9, 11])
    weights = np.random.default_rng(1).integers(0, 4, groups.size).astype(float)
    weights[groups == 0] = 1.0
    for weight in (None, weights, 0.5):
        counts = np.broadcast_to(np.asarray(1.0 if weight is None else weight), groups.size)
        for batches, named in (("auto", groups), ("rows", None), ("clusters", None), (4, None)):
            model = ChanceConstrainedSVC(C=C, batches=batches, violation=0.9, random_state=0)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", SingleSampleWarning)
                model.fit(X, y, named, sample_weight=weight)
            found = costs(model, X, y, weight, named)
            assert found.sum() == pytest.approx(C * counts.sum(), rel=1e-12)
            if named is not None:
                np.testing.assert_allclose(found, C * counts.sum() / 6, rtol=1e-12)
            else:
                used = model.row_groups_ >= 0
                own = np.bincount(model.row_groups_[used], counts[used])
                np.testing.assert_allclose(found, C * own, rtol=1e-12)


def test_given_moments_cost_c_each() -> None:
    means, labels = np.array([[0.0], [1.0], [3.0], [4.0]]), [0, 0, 1, 1]
    model = ChanceConstrainedSVC(kernel="linear", C=2.5).fit_moments(means, np.full((4, 1), 0.01), labels)
    np.testing.assert_array_equal(costs(model, (means, np.full((4, 1), 0.01)), labels), 2.5)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_measuring_everything_twice_changes_nothing_that_half_the_price_would_not(kernel: str) -> None:
    X, y, groups = inputs([3, 4, 5, 6, 7, 8])
    models = {}
    for covariance in ("batch", "shrunk"):
        asked = {"kernel": kernel, "covariance": covariance}
        once = ChanceConstrainedSVC(C=2.0, **asked).fit(X, y, groups)
        twice = ChanceConstrainedSVC(C=1.0, **asked).fit(np.vstack((X, X)), np.append(y, y), np.append(groups, groups))
        weighted = ChanceConstrainedSVC(C=1.0, **asked).fit(X, y, groups, sample_weight=2.0)
        models[covariance] = once, twice, weighted
    # That more measurements tell more is what sets shrunk covariances apart; a weight of 2 is a second measurement.
    once, twice, weighted = models["batch"]
    for one, other in ((once, twice), (once, weighted), models["shrunk"][1:]):
        assert other.certificate_.upper_bound == pytest.approx(one.certificate_.upper_bound, rel=3e-6)
        np.testing.assert_allclose(other.decision_function(X), one.decision_function(X), atol=5e-3)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_splitting_inputs_that_are_known_exactly_changes_nothing(kernel: str) -> None:
    """Rows that repeat one value: as one input, as several, or as rows, they are the same points at the same price."""
    X, y, groups = inputs([4] * 8, spread=0.0)
    halves = 2 * groups + np.arange(groups.size) % 2
    whole, split = (ChanceConstrainedSVC(kernel=kernel, tol=1e-8).fit(X, y, named) for named in (groups, halves))
    rows = ChanceConstrainedSVC(kernel=kernel, tol=1e-8, batches="rows").fit(X, y)
    for other in (split, rows):
        assert other.certificate_.upper_bound == pytest.approx(whole.certificate_.upper_bound, rel=3e-8)
        np.testing.assert_allclose(other.decision_function(X), whole.decision_function(X), atol=1e-3)


def test_repeated_rows_and_a_weight_of_2_are_one_problem_for_rows_and_clusters() -> None:
    X, y, _ = inputs([6] * 6, spread=0.5)
    for batches in ("rows", "clusters"):
        model = ChanceConstrainedSVC(batches=batches, random_state=0, tol=1e-8, violation=0.9)
        twice = ChanceConstrainedSVC(**model.get_params()).fit(np.vstack((X, X)), np.append(y, y))
        weighted = model.fit(X, y, sample_weight=np.full(y.size, 2.0))
        assert weighted.certificate_.upper_bound == pytest.approx(twice.certificate_.upper_bound, rel=3e-8)


@pytest.mark.parametrize("units", ["as they come", "standard"])
def test_defaults_are_as_good_as_svc_on_diagnoses(units: str) -> None:
    X, y = load_breast_cancer(return_X_y=True)
    if units == "standard":
        X = (X - X.mean(axis=0)) / X.std(axis=0)
    ours = ChanceConstrainedSVC(batches="rows").fit(X[::2], y[::2])
    theirs = make_pipeline(StandardScaler(), SVC()).fit(X[::2], y[::2])
    assert ours.certificate_.verified
    assert ours.score(X[1::2], y[1::2]) >= theirs.score(X[1::2], y[1::2]) - 0.01
    assert ours.score(X[1::2], y[1::2]) > 0.95


def test_no_groups_are_said_once_unless_rows_are_meant() -> None:
    X, y, groups = inputs([5] * 6)
    with pytest.warns(SingleSampleWarning, match=r"no groups were given.*plain support vector machine.*batches='rows'") as said:
        told = ChanceConstrainedSVC().fit(X, y)
    assert len(said) == 1
    with pytest.warns(SingleSampleWarning, match=r"fit_path: no groups were given"):
        ((first,),) = ChanceConstrainedSVC().fit_path(X, y, costs=[1.0], violations=[0.5])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        meant = ChanceConstrainedSVC(batches="rows").fit(X, y)
        ChanceConstrainedSVC(batches="rows").fit_path(X, y, costs=[1.0], violations=[0.5])
        ChanceConstrainedSVC().fit(X, y, groups)
        ChanceConstrainedSVC(batches="clusters", random_state=0).fit(X, y)
    np.testing.assert_array_equal(told.decision_function(X), meant.decision_function(X))
    np.testing.assert_allclose(first.decision_function(X), meant.decision_function(X), atol=5e-3)
    assert meant.inputs()["samples"].tolist() == [1] * 30 and told.groups_ == list(range(30))


def test_one_class_for_all_is_told_and_what_to_change_helps() -> None:
    X, y, groups = inputs([5] * 6, spread=0.1)
    with pytest.warns(WeakModelWarning, match=r"fit: all rows are put into one class, .*no plane is better.*Raise violation"):
        weak = ChanceConstrainedSVC(kernel="linear", violation=1e-6).fit(X, y, groups)
    assert weak.certificate_.verified and np.unique(weak.predict(X)).size == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        good = ChanceConstrainedSVC(kernel="linear").fit(X, y, groups)
    assert np.unique(good.predict(X)).size == 2
    means = np.array([[0.0], [1.0], [3.0], [4.0]])
    with pytest.warns(WeakModelWarning, match=r"fit_moments: all rows are put into one class.*Then try a larger C\.$"):
        # From 0.9 on there is little left to raise, and the default is 0.95.
        ChanceConstrainedSVC(kernel="linear", violation=0.8).fit_moments(means, np.full((4, 1), 100.0), [0, 0, 1, 1])
    with pytest.warns(WeakModelWarning, match=r"no plane is better, but it is of little use\. Try a larger C\.$"):
        ChanceConstrainedSVC(kernel="linear").fit_moments(means, np.full((4, 1), 100.0), [0, 0, 1, 1])


def test_rows_without_spread_are_not_told_to_tolerate_more() -> None:
    X, y = np.zeros((20, 1)), np.arange(20) % 4 == 0
    with pytest.warns(WeakModelWarning, match=r"all rows are put into one class, False\..* Try a larger C, or another kernel"):
        ChanceConstrainedSVC(batches="rows").fit(X, y)


def test_broken_promises_are_told_where_somebody_named_the_inputs() -> None:
    rng = np.random.default_rng(3)
    groups = np.repeat(np.arange(20), 5)
    y = groups % 2
    # Eight inputs lie far apart, and twelve in the middle, where nothing keeps a promise.
    sides = np.where(y > 0, 1.0, -1.0) * np.where(groups < 8, 3.0, 0.01)
    X = sides[:, None] + np.where(groups < 8, 0.1, 0.5)[:, None] * rng.normal(size=(100, 1))
    expected = r"\d+ of 20 inputs may be misclassified more often than their violation allows.*Raise violation towards 0.9"
    with pytest.warns(WeakModelWarning, match=expected) as said:
        model = ChanceConstrainedSVC(kernel="linear", violation=0.3).fit(X, y, groups)
    table = model.inputs()
    missed = int((table["misclassified"] > 0.3 + 1e-9).sum())
    assert len(said) == 1 and f"fit: {missed} of 20 inputs" in str(said[0].message) and missed > 10
    assert np.unique(model.predict(X)).size == 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # Clusters that nobody named break no promise that anybody asked for.
        unnamed = ChanceConstrainedSVC(kernel="linear", violation=0.05, batches=8, random_state=0).fit(X, y)
        assert (unnamed.inputs()["misclassified"] > 0.051).sum() > 4 and np.unique(unnamed.predict(X)).size == 2
        ChanceConstrainedSVC(kernel="linear", C=100.0, violation=0.9).fit(X[groups < 8], y[groups < 8], groups[groups < 8])


def test_a_solve_that_was_cut_short_is_not_called_weak() -> None:
    X, y, groups = inputs([5] * 6)
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        model = ChanceConstrainedSVC(time_limit=1e-9).fit(X, y, groups)
    assert not model.certificate_.verified
    assert {entry.category for entry in heard} == {ConvergenceLimitWarning}


def test_searches_without_groups_hear_of_it() -> None:
    X, y, groups = inputs([5] * 8)
    for _ in range(2):
        with pytest.warns(SingleSampleWarning, match="metadata routing") as said:
            found = GridSearchCV(ChanceConstrainedSVC(), {"C": [1.0, 2.0]}, cv=StratifiedGroupKFold(2)).fit(X, y, groups=groups)
        # Once for the search, not for each of its five fits.
        assert len(said) == 1
    assert len(found.best_estimator_.groups_) == 40
    assert isinstance(found.best_estimator_, sf.ChanceConstrainedSVC)


def test_a_clone_that_warns_does_so_at_each_of_its_fits_and_survives_copies() -> None:
    X, y, _ = inputs([5] * 8)
    model = ChanceConstrainedSVC(kernel="linear")
    first, second = clone(model), clone(model)
    fits = [(first, 1), (first, 1), (second, 0), (clone(first), 0), (model, 1), (model, 1)]
    for one, times in [*fits, (pickle.loads(pickle.dumps(first)), 1)]:
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            one.fit(X, y)
        assert [entry.category for entry in heard].count(SingleSampleWarning) == times
        assert [entry.filename for entry in heard if entry.category is SingleSampleWarning] == [__file__] * times
