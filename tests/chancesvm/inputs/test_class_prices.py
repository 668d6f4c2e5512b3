"""``class_weight``: what slack of a class costs, in the problem that is solved, proven, searched, saved and verified."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.svm import SVC

import surefoot as sf
from surefoot import CertificateError, ChanceConstrainedSVC, ChanceConstrainedSVCCV, SingleSampleWarning, WeakModelWarning


def rare_class(seed: int = 0, n: int = 60) -> tuple[np.ndarray, np.ndarray]:
    """Overlapping classes of which one is four times as frequent."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 5 == 0, "rare", "usual")
    return rng.normal(size=(n, 2)) + 1.2 * (y == "rare")[:, None], y


def costs(model: ChanceConstrainedSVC, X: Any, y: Any, **others: Any) -> np.ndarray:
    found: np.ndarray = model._proof_parts(X, y, others.get("weight"), others.get("groups")).arguments["problem"].costs
    return found


@pytest.mark.parametrize("class_weight", ["balanced", {"rare": 5.0, "usual": 0.5}, {"rare": 3}])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_on_rows_the_model_is_that_of_scikit_learn(kernel: str, class_weight: Any) -> None:
    X, y = rare_class()
    own = ChanceConstrainedSVC(
        kernel=kernel, gamma=0.5, batches="rows", standardize=False, tol=1e-8, class_weight=class_weight
    ).fit(X, y)
    other = SVC(kernel=kernel, gamma=0.5, class_weight=class_weight, tol=1e-9).fit(X, y)
    np.testing.assert_allclose(own.decision_function(X), other.decision_function(X), atol=1e-3)
    assert own.certificate_.verified and sf.verify(own, X, y).verified


def test_balanced_classes_cost_the_same_and_together_what_they_would_otherwise() -> None:
    X, y = rare_class()
    groups = np.where(y == "rare", 100 + np.arange(60) % 3, np.arange(60) % 7)
    weights = np.random.default_rng(1).integers(1, 4, 60).astype(float)
    for batches, named in (("auto", groups), ("rows", None), ("clusters", None)):
        model = ChanceConstrainedSVC(C=2.0, batches=batches, violation=0.9, class_weight="balanced", random_state=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SingleSampleWarning)
            model.fit(X, y, named, sample_weight=weights)
        found = costs(model, X, y, weight=weights, groups=named)
        rare = np.asarray(model.input_columns()["label"]) == "rare"
        assert found[rare].sum() == pytest.approx(found[~rare].sum(), rel=1e-12)
        assert found.sum() == pytest.approx(2.0 * weights.sum(), rel=1e-12)
        if named is not None:
            # Named inputs are counted, not their rows: 3 against 7.
            np.testing.assert_allclose(found[rare] / found[~rare][:3], 7 / 3, rtol=1e-12)


def test_given_moments_are_counted_one_by_one() -> None:
    means, variances, y = np.array([[0.0], [1.0], [2.0], [4.0]]), np.full((4, 1), 0.01), [0, 0, 0, 1]
    model = ChanceConstrainedSVC(kernel="linear", C=3.0, class_weight="balanced").fit_moments(means, variances, y)
    np.testing.assert_allclose(costs(model, (means, variances), y), [2.0, 2.0, 2.0, 6.0])
    assert sf.verify(model, (means, variances), y).verified


def test_a_weight_moves_the_boundary_away_from_its_class() -> None:
    X, y = rare_class()
    groups = np.where(y == "rare", 100 + np.arange(60) // 10, np.arange(60) // 6)
    found = []
    for class_weight in (None, "balanced", {"rare": 50.0}):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", WeakModelWarning)
            warnings.simplefilter("ignore", SingleSampleWarning)
            model = ChanceConstrainedSVC(kernel="linear", class_weight=class_weight).fit(X, y, groups=groups)
        found.append(int(np.sum(model.predict(X) == "rare")))
    assert found[0] < found[1] < found[2]


def test_paths_and_searches_have_the_prices_of_single_fits() -> None:
    X, y = rare_class()
    groups = np.where(y == "rare", 100 + np.arange(60) // 10, np.arange(60) // 6)
    single = {"kernel": "linear", "class_weight": "balanced"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SingleSampleWarning)
        warnings.simplefilter("ignore", WeakModelWarning)
        path = ChanceConstrainedSVC(**single).fit_path(X, y, costs=[0.5, 5.0], violations=[0.9], groups=groups)
        for model, C in zip(path[0], (0.5, 5.0), strict=True):
            alone = ChanceConstrainedSVC(C=C, violation=0.9, **single).fit(X, y, groups=groups)
            np.testing.assert_allclose(costs(model, X, y), costs(alone, X, y))
            assert model.certificate_.upper_bound == pytest.approx(alone.certificate_.upper_bound, rel=3e-6)
        search = ChanceConstrainedSVCCV(costs=[1.0], violations=[0.9], cv=3, random_state=0, **single).fit(X, y, groups=groups)
    assert search.best_estimator_.class_weight == "balanced"
    assert sf.verify(search, X, y, groups=groups).verified


def test_a_weight_that_is_changed_after_the_fit_is_noticed_also_in_a_file(tmp_path: Path) -> None:
    X, y = rare_class()
    model = ChanceConstrainedSVC(kernel="linear", batches="rows", class_weight={"rare": 4.0}).fit(X, y)
    sf.save(model, tmp_path / "model.surefoot")
    read = sf.load(tmp_path / "model.surefoot")
    assert read.class_weight == {"rare": 4.0}
    assert sf.verify(read, X, y).verified
    read.class_weight = None
    with pytest.raises(CertificateError, match="its parameter class_weight is not that of the fit"):
        sf.verify(read, X, y)


@pytest.mark.parametrize(
    ("class_weight", "told"),
    [
        ("even", "class_weight = 'even' must be None, 'balanced', or a mapping"),
        ([1.0, 2.0], "must be None, 'balanced', or a mapping"),
        ({"rare": 0.0}, "class_weight of class 'rare' = 0.0 must be a positive, finite number"),
        ({"rare": np.nan}, "must be a positive, finite number"),
        ({"rare": "much"}, "class_weight of class 'rare' = 'much'"),
        ({"Rare": 2.0, "usual": 1.0}, "names class 'Rare', which y does not hold, and not 'rare', which it does"),
        ({"rare": 1e-320}, None),
        ({"rare": 1e-200}, None),
    ],
)
def test_weights_that_make_no_sense_are_refused_in_words(class_weight: Any, told: str | None) -> None:
    X, y = rare_class()
    model = ChanceConstrainedSVC(kernel="linear", C=1e-200, batches="rows", class_weight=class_weight)
    with pytest.raises(ValueError, match=told or "C times sample_weight times class_weight is no price of slack"):
        model.fit(X, y)


def test_weights_of_classes_that_are_not_there_are_left_alone_beside_those_that_are() -> None:
    X, y = rare_class()
    weights = {"rare": 2.0, "usual": 1.0, "never": 7.0}
    model = ChanceConstrainedSVC(kernel="linear", batches="rows", class_weight=weights).fit(X, y)
    assert set(costs(model, X, y).tolist()) == {1.0, 2.0}
