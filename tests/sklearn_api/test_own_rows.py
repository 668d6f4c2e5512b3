"""What the caller hands over stays as it is, whatever the steps of a pipeline do to the rows that they get."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from proven_models import KINDS, proven_model
from scipy import sparse
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

import surefoot as sf

RNG = np.random.default_rng(2)
ROWS = 5 * RNG.normal(size=(80, 3)) + 3
LABELS = (ROWS[:, 0] > 3) ^ (RNG.random(80) > 0.8)


def scaled(model: Any, X: Any, scaler: Any = None) -> Pipeline:
    """A pipeline that writes over what it is asked about; its fit had rows of its own."""
    step = StandardScaler(copy=False) if scaler is None else scaler
    return make_pipeline(step, model).fit(X.copy(), LABELS)


@pytest.mark.parametrize("form", [np.asarray, pd.DataFrame, sparse.csr_array])
def test_verify_leaves_the_rows_alone(form: Any) -> None:
    X = form(ROWS.copy())
    scaler = MaxAbsScaler(copy=False) if sparse.issparse(X) else None
    model = scaled(sf.RobustLogisticRegression(), X, scaler)
    assert sf.verify(model, X, LABELS).verified
    assert sf.verify(model, X, LABELS).verified
    assert np.array_equal(X.toarray() if sparse.issparse(X) else np.asarray(X), ROWS)


def test_reports_and_stress_tests_leave_the_rows_alone(tmp_path: Path) -> None:
    X = ROWS.copy()
    models = {"first": scaled(sf.RobustLogisticRegression(), X), "second": scaled(sf.RobustLogisticRegression(), X)}
    sf.report(models["first"], X, LABELS, tmp_path / "report.html")
    assert np.array_equal(X, ROWS)
    found = sf.stress_test(models, X, LABELS, sf.ShiftModel(0.9), n_sets=3, random_state=0)
    assert np.array_equal(X, ROWS)
    # Both models saw the same tables: the first did not write over those of the second.
    assert np.array_equal(found.values[:, 0], found.values[:, 1])
    sf.ReliabilityDisplay.from_estimator(models["first"], X, LABELS)
    assert np.array_equal(X, ROWS)


def test_a_pipeline_from_a_file_leaves_the_rows_of_its_predictions_alone(tmp_path: Path) -> None:
    X = ROWS.copy()
    model = scaled(sf.RobustLogisticRegression(), X)
    sf.save(model, tmp_path / "model")
    loaded = sf.load(tmp_path / "model")
    assert np.array_equal(loaded.predict_proba(X), model.predict_proba(ROWS.copy()))
    assert np.array_equal(X, ROWS)


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_rows_that_cannot_be_written_to_can_be_verified(kind: str) -> None:
    proven = proven_model(kind)
    X = proven.X
    if not isinstance(X, np.ndarray):
        pytest.skip("only arrays can be locked")
    before = X.copy()
    X.setflags(write=False)
    try:
        assert proven.verify().verified
        if hasattr(proven.model, "predict"):
            proven.model.predict(X)
    finally:
        X.setflags(write=True)
    assert np.array_equal(X, before)
