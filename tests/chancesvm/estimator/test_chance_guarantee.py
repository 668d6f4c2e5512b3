"""What a chance-constrained model promises: on fresh samples of known distributions, for given moments, with confidence."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

from surefoot.chancesvm.estimator.chance_svc import ChanceConstrainedSVC
from surefoot.chancesvm.estimator.input_table import largest_error
from surefoot.exceptions import InvalidTableError, WeakModelWarning

CENTRES = np.array([[0, 0], [1, 0.3], [-0.6, 0.8], [0.2, 1.2], [3.5, 3.2], [4, 1], [3.2, -1.5], [1.5, 4.0]])
LABELS = np.array([0, 0, 0, 0, 1, 1, 1, 1])
SPREAD = 0.2

# Noise of unit variance.
NOISES: dict[str, Any] = {
    "normal": lambda draw, shape: draw.normal(size=shape),
    "uniform": lambda draw, shape: draw.uniform(-math.sqrt(3), math.sqrt(3), size=shape),
    "t": lambda draw, shape: draw.standard_t(3, size=shape) / math.sqrt(3),
}


def draw_samples(noise: str, count: int, seed: int, spread: float = SPREAD) -> tuple[np.ndarray, np.ndarray]:
    codes = np.repeat(np.arange(8), count)
    return CENTRES[codes] + spread * NOISES[noise](np.random.default_rng(seed), (8 * count, 2)), codes


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("kernel", [{"kernel": "rbf", "gamma": 0.3}, {"kernel": "poly", "gamma": 0.5}, {"kernel": "linear"}])
@pytest.mark.parametrize(("violation", "spread"), [(0.3, 0.2), (0.1, 0.2), (0.05, 0.15), (0.01, 0.05)])
def test_fresh_samples_violate_the_margin_less_often_than_tolerated(
    noise: str, kernel: dict[str, Any], violation: float, spread: float
) -> None:
    # Ellipsoids grow as one over the root of the violation: what is to be kept without slack must scatter less.
    X, codes = draw_samples(noise, 50, 0, spread)
    model = ChanceConstrainedSVC(C=100.0, violation=violation, tol=1e-5, **kernel).fit(X, LABELS[codes], groups=codes)
    assert model.inputs()["slack"].max() <= 1e-3, "the promise is about models without slack"
    careless = ChanceConstrainedSVC(C=100.0, violation=0.999, tol=1e-5, **kernel).fit(X, LABELS[codes], groups=codes)
    fresh, codes = draw_samples(noise, 4000, 1, spread)
    signs = np.where(LABELS[codes] == 1, 1.0, -1.0)
    frequencies, others = (
        np.bincount(codes, signs * classifier.decision_function(fresh) < 1) / 4000 for classifier in (model, careless)
    )
    assert frequencies.max() <= violation < others.max()


@pytest.mark.parametrize("noise", NOISES)
def test_given_moments_are_kept_by_every_distribution_that_has_them(noise: str) -> None:
    covariances = np.full((8, 2), SPREAD**2)
    model = ChanceConstrainedSVC(kernel="linear", C=100.0, violation=0.1).fit_moments(CENTRES, covariances, LABELS)
    assert model.inputs()["slack"].max() <= 1e-3
    fresh, codes = draw_samples(noise, 4000, 2)
    margins = np.where(LABELS[codes] == 1, 1.0, -1.0) * model.decision_function(fresh)
    assert (np.bincount(codes, margins < 1) / 4000).max() <= 0.1


def test_the_largest_error_is_that_of_the_worst_two_points() -> None:
    draw = np.random.default_rng(0)
    for margin, variance in draw.uniform(0.1, 3, (20, 2)):
        error = largest_error(np.array([margin]), np.array([variance]))[0]
        # Mass error at a score of 0, the rest at margin + variance / margin: these are the moments, and no more can be wrong.
        points, masses = np.array([0.0, margin + variance / margin]), np.array([error, 1 - error])
        assert masses @ points == pytest.approx(margin) and masses @ (points - margin) ** 2 == pytest.approx(variance)
    assert largest_error(np.array([-0.1, 0.0, 1.0]), np.array([1.0, 0.0, 0.0])).tolist() == [1.0, 1.0, 0.0]


def test_given_moments_give_the_model_of_samples_with_these_moments() -> None:
    X, codes = draw_samples("normal", 12, 3)
    parts = [X[codes == at] for at in range(8)]
    means = pd.DataFrame([part.mean(axis=0) for part in parts], columns=["vibration", "noise"])
    covariances = [np.cov(part.T, bias=True) for part in parts]
    given = {"kernel": "linear", "violation": [0.05, 0.1, 0.2, 0.3, 0.05, 0.1, 0.2, 0.3]}
    # Inputs of twelve rows cost 12 C, those of moments C.
    sampled = ChanceConstrainedSVC(C=2.0 / 12, covariance="batch", **given).fit(X, LABELS[codes], groups=codes)
    model = ChanceConstrainedSVC(C=2.0, **given).fit_moments(means, covariances, LABELS)
    assert model.certificate_.verified
    assert model.certificate_.upper_bound == pytest.approx(sampled.certificate_.upper_bound, rel=3e-6)
    np.testing.assert_allclose(model.coef_, sampled.coef_, rtol=5e-3)
    assert model.feature_names_in_.tolist() == ["vibration", "noise"] and model.groups_ == list(range(8))
    assert not hasattr(model, "row_groups_")


def product_map(rows: np.ndarray) -> np.ndarray:
    return np.column_stack([rows, rows[:, 0] * rows[:, 1]])


def test_example_1_of_the_paper_is_separated_by_its_feature_map() -> None:
    means, variances = np.array([[2.0, 2.0], [-2.0, -2.0], [0.0, 0.0]]), np.array([[0.5, 0.5], [0.5, 0.5], [4.0, 0.01]])
    mapped = product_map(means)
    covariances = np.zeros((3, 3, 3))
    for at, ((m1, m2), (v1, v2)) in enumerate(zip(means, variances, strict=True)):
        # Of independent columns: Var(x1 x2) = v1 v2 + v1 m2^2 + v2 m1^2.
        covariances[at] = [[v1, 0, v1 * m2], [0, v2, v2 * m1], [v1 * m2, v2 * m1, v1 * v2 + v1 * m2**2 + v2 * m1**2]]
    model = ChanceConstrainedSVC(kernel="linear", C=1e4, violation=0.5)
    model.fit_moments(mapped, covariances, [1, 1, -1], feature_map=product_map)
    assert model.inputs()["slack"].max() <= 1e-3
    assert model.predict(means).tolist() == [1, 1, -1]
    draw = np.random.default_rng(0)
    rows = means[2] + np.sqrt(variances[2]) * draw.normal(size=(2000, 2))
    assert np.mean(model.predict(rows) == 1) <= 0.5
    with pytest.raises(ValueError, match=r"feature_map returned shape \(3, 2\) for 3 rows, but the means have 3 columns"):
        model.fit_moments(mapped, covariances, [1, 1, -1], feature_map=lambda rows: rows).predict(means)


def test_confidence_widens_the_ellipsoids_and_says_what_it_buys() -> None:
    X, codes = draw_samples("uniform", 100, 4)
    asked = {"C": 0.05, "gamma": 0.3, "violation": 0.3, "standardize": False}
    plain = ChanceConstrainedSVC(**asked).fit(X, LABELS[codes], groups=codes)
    with pytest.warns(WeakModelWarning, match="all rows are put into one class"):
        sure = ChanceConstrainedSVC(**asked, confidence=0.95).fit(X, LABELS[codes], groups=codes)
    assert plain.moment_radii_ is None
    assert sure.certificate_.verified and sure.certificate_.lower_bound > plain.certificate_.upper_bound
    radii = sure.moment_radii_
    assert radii is not None and radii.joint_confidence == pytest.approx(1 - 8 * 0.05)
    np.testing.assert_allclose(radii.mean, (2 + math.sqrt(2 * math.log(40))) / 10)
    shorter = ChanceConstrainedSVC(**asked, confidence=0.95, kernel_bound=0.1)
    between = shorter.fit(X, LABELS[codes], groups=codes)
    assert plain.certificate_.upper_bound < between.certificate_.lower_bound < sure.certificate_.upper_bound


def test_what_confidence_needs_is_said() -> None:
    X, codes = draw_samples("normal", 20, 5)
    y = LABELS[codes]
    with pytest.raises(ValueError, match="confidence needs groups"):
        ChanceConstrainedSVC(confidence=0.9).fit(X, y)
    with pytest.raises(ValueError, match="known for kernel='rbf' only, not for 'linear'"):
        ChanceConstrainedSVC(confidence=0.9, kernel="linear").fit(X, y, groups=codes)
    with pytest.raises(ValueError, match="confidence needs rows of equal weight"):
        ChanceConstrainedSVC(confidence=0.5).fit(X, y, groups=codes, sample_weight=np.arange(1, 161))
    with pytest.raises(InvalidTableError, match=r"needs at least 32 rows in every group, but group 0 has 20"):
        ChanceConstrainedSVC(confidence=0.995).fit(X, y, groups=codes)
    with pytest.raises(ValueError, match=r"confidence = 1\.5 must be None or a number above 0 and below 1"):
        ChanceConstrainedSVC(confidence=1.5).fit(X, y, groups=codes)


def overlapping(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Forty inputs whose class is a matter of chance, with a risk that is known for every row."""
    draw = np.random.default_rng(seed)
    centres = draw.uniform(-2, 2, 40)
    labels = draw.random(40) < expit(2 * centres)
    codes = np.repeat(np.arange(40), 5)
    return centres[codes, None] + 0.1 * draw.normal(size=(200, 1)), labels[codes], codes


def test_probabilities_rise_with_the_score_and_are_about_right() -> None:
    X, y, codes = overlapping(0)
    model = ChanceConstrainedSVC(kernel="linear", probability=True, random_state=0).fit(X, y, groups=codes)
    grid = np.linspace(-2, 2, 9)[:, None]
    risks = model.predict_proba(grid)
    np.testing.assert_allclose(risks.sum(axis=1), 1.0)
    assert (np.diff(risks[:, 1]) > 0).all()
    assert np.abs(risks[:, 1] - expit(2 * grid[:, 0])).max() < 0.2
    np.testing.assert_allclose(model.predict_log_proba(grid), np.log(risks))
    plain = ChanceConstrainedSVC(kernel="linear", random_state=0).fit(X, y, groups=codes)
    np.testing.assert_array_equal(plain.decision_function(grid), model.decision_function(grid))


def test_scores_for_probabilities_come_from_models_that_have_not_seen_the_group(monkeypatch: pytest.MonkeyPatch) -> None:
    from surefoot.chancesvm.estimator import calibration_folds

    X, y, codes = overlapping(1)
    seen: list[tuple[set[Any], set[float]]] = []
    pose = calibration_folds.pose_rows

    def spy(rows: Any, given: Any, settings: Any, *, named: bool) -> Any:
        assert named
        seen.append((set(given.names), set(np.unique(rows.labels).tolist())))
        return pose(rows, given, settings, named=named)

    monkeypatch.setattr(calibration_folds, "pose_rows", spy)
    ChanceConstrainedSVC(kernel="linear", probability=True, violation=[0.2] * 40).fit(X, y, groups=codes)
    assert len(seen) == 5 and all(labels == {-1.0, 1.0} for _, labels in seen)
    held = [set(range(40)) - names for names, _ in seen]
    assert sorted(name for names in held for name in names) == list(range(40))


def test_probabilities_without_groups_and_with_a_precomputed_kernel() -> None:
    X, y, _ = overlapping(2)
    for batches in ("clusters", "rows"):
        given = {"violation": 0.8, "probability": True, "random_state": 0, "batches": batches}
        risks = ChanceConstrainedSVC(**given).fit(X, y).predict_proba(X)
        assert risks[y, 1].mean() > risks[~y, 1].mean() + 0.2
        gram = X @ X.T
        same = ChanceConstrainedSVC(kernel="precomputed", **given).fit(gram, y).predict_proba(gram)
        assert same[y, 1].mean() > same[~y, 1].mean() + 0.2


def test_probabilities_that_were_not_asked_for_or_cannot_be_had_are_refused() -> None:
    X, codes = draw_samples("normal", 5, 6)
    model = ChanceConstrainedSVC().fit(X, LABELS[codes], groups=codes)
    assert not hasattr(model, "predict_proba")
    with pytest.raises(AttributeError):
        model.predict_proba(X)
    with pytest.raises(ValueError, match="fitted with probability=False"):
        model.set_params(probability=True).predict_proba(X)
    with pytest.raises(InvalidTableError, match="holds out groups of each class, but class 1 has only 1 group"):
        ChanceConstrainedSVC(probability=True).fit(X[codes < 5], LABELS[codes[codes < 5]], groups=codes[codes < 5])
    with pytest.raises(ValueError, match="probability, confidence and n_landmarks need samples"):
        ChanceConstrainedSVC(kernel="linear", probability=True).fit_moments(CENTRES, np.ones((8, 2)), LABELS)
