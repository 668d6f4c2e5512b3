"""Scores of models with large intercepts, against fractions."""

from __future__ import annotations

import warnings
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import surefoot as sf
from surefoot.robust.estimator.linear_scores import linear_scores


@pytest.mark.parametrize("offset", [0.0, 1.7e9, 1e15, -3e11])
def test_scores_are_right_to_the_last_digits_however_large_their_terms(offset: float) -> None:
    draw = np.random.default_rng(5)
    X = draw.normal(size=(30, 3)) + np.array([offset, 0.0, 1e3])
    coefficients = draw.normal(size=3)
    intercept = float(-coefficients @ np.array([offset, 0.0, 1e3]))
    found = linear_scores(X, coefficients, intercept)
    for score, row in zip(found, X, strict=True):
        terms = (Fraction(x) * Fraction(b) for x, b in zip(row.tolist(), coefficients.tolist(), strict=True))
        assert score == pytest.approx(float(sum(terms, Fraction(intercept))), rel=1e-12, abs=1e-10)


def test_numbers_too_large_to_be_split_are_summed_as_they_are() -> None:
    X = np.array([[1e305, 1.0], [-1e305, 2.0]])
    np.testing.assert_allclose(linear_scores(X, np.array([1e-300, 1.0]), 2.0**30), 2.0**30 + np.array([1e5 + 1, -1e5 + 2]))


@pytest.mark.parametrize("seed", [1, 5, 26, 94])
def test_columns_that_vary_in_their_last_digits_only_are_used_proven_and_predicted_from(seed: int) -> None:
    """A spread of 1e-13 times the offset and below: the solver had taken such columns for constant."""
    draw = np.random.default_rng(seed)
    X = draw.normal(size=(60, 2))
    y = (X.sum(axis=1) + draw.normal(size=60) > 0).astype(int)
    scale = 10.0 ** draw.uniform(-9, 9, size=2)
    moved = X * scale + scale * 10.0 ** draw.uniform(13, 15, size=2)
    assert (moved.std(axis=0) < 1e-12 * np.abs(moved.mean(axis=0))).all()
    with pytest.warns(sf.RoundedInterceptWarning, match="plain sums"):
        model = sf.RobustLogisticRegression(radius=0.01).fit(moved, y)
    assert model.certificate_.verified, model.certificate_.claim
    # The same columns without their offset, which are differences of neighbouring numbers and exact.
    near = sf.RobustLogisticRegression(radius=0.01).fit(moved - moved[0], y)
    assert near.certificate_.verified
    assert model.certificate_.upper_bound == pytest.approx(near.certificate_.upper_bound, rel=2e-6)
    np.testing.assert_allclose(model.decision_function(moved), near.decision_function(moved - moved[0]), atol=0.02)
    with pytest.warns(sf.RoundedInterceptWarning, match="plain sums"):
        batches = sf.RobustLogisticRegression(radius=0.01).fit([(moved[:25], y[:25]), (moved[25:], y[25:])])
    assert batches.certificate_.verified, batches.certificate_.claim


@pytest.mark.parametrize("seed", range(6))
def test_flips_beside_such_columns_are_priced_to_the_digits_that_are_left(seed: int) -> None:
    """Labels that are just too dear to flip: rows that lose 0.01 feel the last digit of an intercept of 1e15, which is 0.1."""
    draw = np.random.default_rng(seed)
    X = draw.normal(size=(12, 2))
    y = (X.sum(axis=1) + 0.5 * draw.normal(size=12) > 0).astype(int)
    X[:, 0] += 3e14
    with pytest.warns(sf.RoundedInterceptWarning, match="plain sums"):
        model = sf.RobustLogisticRegression(radius=0.002, label_weight=1.0).fit(X, y)
    assert model.certificate_.verified, model.certificate_.claim


@pytest.mark.parametrize("offset", [1.7e9, 1e12, 3e15])
def test_models_whose_public_numbers_lose_digits_in_plain_sums_say_so(offset: float, tmp_path: Path) -> None:
    draw = np.random.default_rng(3)
    X = pd.DataFrame(draw.normal(size=(40, 2)), columns=["when", "what"])
    y = (X.sum(axis=1) + draw.normal(size=40) > 0).astype(int)
    X["when"] += offset
    fits = [sf.RobustLogisticRegression(radius=0.01), sf.RobustLogisticRegressionCV(radii=[0.01, 0.1], cv=2)]
    for unfitted in fits:
        with warnings.catch_warnings(record=True) as met:
            warnings.simplefilter("always")
            model = unfitted.fit(X, y)
            sf.export.to_sql(model)
            sf.report(model, X, y, tmp_path / f"{type(model).__name__}.html")
        page = (tmp_path / f"{type(model).__name__}.html").read_text(encoding="utf-8")
        said = [warning for warning in met if issubclass(warning.category, sf.RoundedInterceptWarning)]
        rows = X.to_numpy()
        plain = rows @ model.coef_[0] + model.intercept_[0]
        loss, told = (np.logaddexp(0.0, np.where(y == 1, -s, s)) for s in (model.decision_function(X), plain))
        lost = np.abs(told - loss).mean() > model.tol * loss.mean()
        assert lost == (offset > 1e10)
        assert len(said) == (2 if lost else 0), [str(warning.message) for warning in met]
        assert all(warning.filename == __file__ for warning in said[:1])
        assert ("lose about" in page) == lost


def test_predictions_lose_no_more_than_the_last_digits_of_a_score() -> None:
    rng = np.random.default_rng(0)
    for far in (1e4, 1e6, 1e9):
        X = rng.normal(size=(30, 1)) - far
        y = X[:, 0] + far + rng.logistic(size=30) > 0
        model = sf.RobustLogisticRegression(radius=0.01).fit(X, y)
        intercept, coefficient = Fraction(float(model.intercept_[0])), Fraction(float(model.coef_[0, 0]))
        exact = [float(intercept + coefficient * Fraction(float(value))) for value in X[:, 0]]
        np.testing.assert_allclose(model.decision_function(X), exact, rtol=1e-14, atol=1e-15)
