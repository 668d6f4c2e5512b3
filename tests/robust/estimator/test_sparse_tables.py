"""Sparse tables: the model of the dense table, and predictions and worst cases that never make it dense."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import surefoot as sf
from surefoot.core.outcome import SolveOutcome, Status


def draw_sparse(rows: int = 90, columns: int = 4, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    draw = np.random.default_rng(seed)
    x = draw.normal(1.0, 1.0, size=(rows, columns)) * (draw.random((rows, columns)) > 0.6)
    return x, np.where(x[:, 0] - x[:, 1] + draw.logistic(size=rows) > 0, "yes", "no")


@pytest.mark.parametrize("container", [sparse.csr_array, sparse.csc_matrix, sparse.coo_array, sparse.lil_matrix])
@pytest.mark.parametrize(
    "estimator", [sf.RobustLogisticRegression(tol=1e-9), sf.RobustLogisticRegressionCV(radii=[0.1, 0.01], cv=3, tol=1e-9)]
)
def test_sparse_numbers_give_the_model_of_dense_ones(estimator: Any, container: Any) -> None:
    x, y = draw_sparse()
    dense = estimator.fit(x, y)
    expected = dense.coef_, dense.certificate_.upper_bound, dense.predict_proba(x)
    model = estimator.fit(container(x), y)
    assert model.certificate_.verified
    assert model.certificate_.upper_bound == pytest.approx(expected[1], rel=1e-8)
    np.testing.assert_allclose(model.coef_, expected[0], rtol=1e-4, atol=1e-5)
    assert model.n_features_in_ == 4 and not hasattr(model, "feature_names_in_")
    np.testing.assert_allclose(model.predict_proba(container(x)), expected[2], atol=1e-5)


def test_predictions_do_not_depend_on_how_rows_are_stored() -> None:
    x, y = draw_sparse()
    model = sf.RobustLogisticRegression().fit(x, y)
    for container in (sparse.csr_array, sparse.csc_array, sparse.coo_matrix):
        np.testing.assert_allclose(model.decision_function(container(x)), model.decision_function(x), rtol=1e-12)
        assert model.predict(container(x)).tolist() == model.predict(x).tolist()
        np.testing.assert_allclose(model.predict_log_proba(container(x)), model.predict_log_proba(x), rtol=1e-12)
        assert model.score(container(x), y) == model.score(x, y)


def test_sample_weights_and_rows_of_weight_zero_count_alike() -> None:
    x, y = draw_sparse()
    weights = np.arange(len(y)) % 3
    model = sf.RobustLogisticRegression(tol=1e-9).fit(sparse.csr_array(x), y, sample_weight=weights)
    other = sf.RobustLogisticRegression(tol=1e-9).fit(sparse.csr_array(x.repeat(weights, axis=0)), y.repeat(weights))
    np.testing.assert_allclose(model.ground_cost_.numeric_weights, other.ground_cost_.numeric_weights, rtol=1e-12)
    np.testing.assert_allclose(model.coef_, other.coef_, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("norm", ["l1", "l2", "linf"])
@pytest.mark.parametrize("label_weight", [math.inf, 0.5])
def test_the_worst_case_of_a_sparse_table_is_that_of_the_dense_one(norm: str, label_weight: float) -> None:
    x, y = draw_sparse()
    model = sf.RobustLogisticRegression(norm=norm, label_weight=label_weight).fit(x, y)
    dense, found = model.worst_case(x, y), model.worst_case(sparse.coo_array(x), y)
    assert found.expected_loss == pytest.approx(dense.expected_loss, rel=1e-12)
    pd.testing.assert_frame_equal(found.table, dense.table)


@pytest.mark.parametrize("estimator", [sf.RobustLogisticRegression, sf.RobustLogisticRegressionCV])
def test_stored_gaps_are_refused_with_column_and_row_or_filled(estimator: Any) -> None:
    x, y = draw_sparse()
    x[17, 2] = np.nan
    with pytest.raises(sf.InvalidTableError, match=r"column 2 has 1 missing value\(s\), the first in row 17"):
        estimator().fit(sparse.csc_array(x), y)
    model = sf.RobustLogisticRegression(missing_numeric="median").fit(sparse.csc_array(x), y)
    dense = sf.RobustLogisticRegression(missing_numeric="median").fit(x, y)
    assert model.schema_ == dense.schema_
    assert model.certificate_.upper_bound == pytest.approx(dense.certificate_.upper_bound, rel=2e-6)


def test_another_number_of_columns_is_refused_in_the_words_of_scikit_learn() -> None:
    x, y = draw_sparse()
    model = sf.RobustLogisticRegression().fit(x, y)
    with pytest.raises(ValueError, match="X has 3 features, but RobustLogisticRegression is expecting 4 features as input"):
        model.predict(sparse.csr_array(x[:, :3]))


def test_columns_of_a_sparse_table_can_be_categories_and_have_prices() -> None:
    x, y = draw_sparse()
    x[:, 3] = np.arange(90) % 3
    parameters: dict[str, Any] = {"categorical_features": [3], "numeric_weights": {0: 2.0, "x1": math.inf}, "tol": 1e-8}
    dense = sf.RobustLogisticRegression(**parameters).fit(x, y)
    model = sf.RobustLogisticRegression(**parameters).fit(sparse.csr_array(x), y)
    assert model.ground_cost_.numeric_weights[:2].tolist() == [2.0, math.inf]
    assert model.coefficients()["level"].tolist() == dense.coefficients()["level"].tolist()
    assert model.certificate_.upper_bound == pytest.approx(dense.certificate_.upper_bound, rel=2e-8)


class GivenAnswer:
    """A solver that answers every problem with a few coefficients and no proof: how it gets there is not the question here."""

    name = "given"

    def solve(self, problem: Any, options: Any, warm_start: Any = None) -> Any:
        numeric = np.zeros(problem.n_numeric)
        numeric[::200] = np.random.default_rng(4).normal(size=numeric[::200].size) / 100
        model = sf.RobustCoefficients(0.1, numeric, np.zeros(0), problem.cost.admitting_price(numeric))
        return SolveOutcome(Status.ITERATION_LIMIT, model, None, math.nan, math.nan, iterations=1, seconds=0.0)


def test_a_wide_table_is_never_made_dense(monkeypatch: pytest.MonkeyPatch) -> None:
    columns = 60_000
    draw = np.random.default_rng(3)
    places = draw.integers(0, columns, size=(200, 30)).ravel()
    wide = sparse.csr_array((draw.normal(size=places.size), places, np.arange(201) * 30), shape=(200, columns))
    y = draw.random(200) > 0.5
    whole = sparse.csr_array.toarray

    def one_row_at_most(self: Any, *arguments: Any, **named: Any) -> Any:
        if self.shape[0] > 1:
            raise MemoryError("a sparse table was made dense")
        return whole(self, *arguments, **named)

    monkeypatch.setattr(sparse.csr_array, "toarray", one_row_at_most)
    monkeypatch.setattr("surefoot.robust.estimator.robust_logistic_model.make_solver", lambda name: GivenAnswer())
    model = sf.RobustLogisticRegression(radius=0.05, norm="linf")
    with pytest.warns(sf.ConvergenceLimitWarning, match="still holds for every model"):
        model.fit(wide, y)
    assert model.solver_ == "given"
    np.testing.assert_allclose(model.decision_function(wide), wide @ model.coef_[0] + 0.1, rtol=1e-12)
    worst = model.worst_case(wide, y)
    assert worst.numeric_budget == pytest.approx(0.05)
    assert len(worst.table) == np.count_nonzero(model.coef_)
    assert worst.expected_loss == pytest.approx(model.certificate_.upper_bound, rel=1e-9)
