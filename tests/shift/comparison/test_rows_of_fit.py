"""The first table of a comparison is most often the one that the model was fitted to, whose loss there is too low."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import surefoot as sf
from surefoot.shift.comparison import compare as comparing
from surefoot.sklearn_api.rows_of_fit import rows_of_fit


@pytest.fixture(autouse=True)
def few_matched_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparing, "PARAMETERS", replace(comparing.PARAMETERS, matched_rows=10, priced_exchanges=2))


def noisy(seed: int, n: int, sign: float = 1.0) -> tuple[pd.DataFrame, np.ndarray]:
    """Two columns of thirty say something."""
    rng = np.random.default_rng([77, seed])
    X = pd.DataFrame(rng.normal(size=(n, 30)), columns=[f"v{i}" for i in range(30)])
    return X, np.where(sign * (X["v0"] + X["v1"]) + rng.logistic(size=n) > 0, "p", "q")


def parts(A: Any, B: Any, a: Any, b: Any, model: Any) -> Any:
    return sf.compare(A, B, a, b, model, n_permutations=39, n_resamples=79, max_rows=1).decomposition


X, Y = noisy(0, 150)


@pytest.fixture(scope="module")
def model() -> Any:
    return sf.RobustLogisticRegression(radius=0.02).fit(X, Y)


def test_the_optimism_of_the_training_rows_is_no_change_of_the_answers(model: Any) -> None:
    B, b = noisy(1, 400)
    found = parts(X, B, Y, b, model)
    assert found.rows_of_fit == ("held out", "")
    assert not found.answers_changed
    assert found.loss_a > model.worst_case(X, Y).nominal_loss + 0.05
    assert "judged by a model fitted without the row" in str(found)


def test_answers_that_did_change_are_found_beside_the_training_rows(model: Any) -> None:
    B, b = noisy(2, 400, sign=-1.0)
    assert parts(X, B, Y, b, model).answers_changed


def test_rows_of_the_fit_are_recognised_in_any_order_and_behind_a_scaler(model: Any) -> None:
    order = np.random.default_rng(0).permutation(len(X))
    fitted = rows_of_fit(model, X, Y)
    shuffled = rows_of_fit(model, X.iloc[order], Y[order])
    assert fitted is not None and shuffled is not None
    np.testing.assert_allclose(shuffled.held_out, fitted.held_out[order], atol=1e-4)
    scaled = make_pipeline(StandardScaler(), sf.RobustLogisticRegression(radius=0.02)).fit(X, Y)
    assert rows_of_fit(scaled, X, Y) is not None
    assert rows_of_fit(model, X.iloc[1:], Y[1:]) is None
    assert rows_of_fit(model, *noisy(1, 150)) is None


def test_a_model_whose_rows_are_unknown_says_what_its_verdict_takes_for_granted() -> None:
    B, b = noisy(1, 400)
    found = parts(X, B, Y, b, LogisticRegression(C=100.0).fit(X, Y))
    assert found.rows_of_fit == ("", "")
    assert found.answers_changed and "takes for granted that the model was fitted to other rows" in str(found)


def test_without_models_for_held_out_rows_nothing_is_said_of_the_answers() -> None:
    rows, answers = X[["v0", "v1"]] > 0, Y
    card = sf.RiskScoreClassifier(max_features=2).fit(rows, answers)
    B, b = noisy(1, 300)
    found = parts(rows, B[["v0", "v1"]] > 0, answers, b, card)
    assert found.rows_of_fit == ("in sample", "")
    assert found.answers_changed is None and "cannot be told" in str(found)


def test_too_few_resamples_for_the_level_are_refused() -> None:
    for level, least in ((0.05, 79), (0.2, 19)):
        with pytest.raises(ValueError, match=f"n_resamples = {least - 1} must be a whole number of at least {least}, or inter"):
            sf.compare(X, X, level=level, n_permutations=79, n_resamples=least - 1)
