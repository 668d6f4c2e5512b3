"""Rows whose weight vanishes beside that of the others: no error that is not theirs, and never a model of NaN."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import surefoot as sf

SIZES = [1e-250, 1e-300, 1e-310, 5e-324]
X, Y = np.array([[0.0], [1.0], [-2.0], [1.0], [2.0]]), [0, 1, 0, 1, 1]


@pytest.mark.filterwarnings("ignore::surefoot.exceptions.WeakModelWarning")  # one row decides, and the radius is large
@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("label_weight", [1.0, np.inf])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("weights", [[1, 0, 0, 1e12, 1], [1, 1, 1, 1, 0], [0, 1, 1, 0, 0]])
def test_rows_of_vanishing_weight_leave_a_proven_model(size: float, weights: list[float], label_weight: float) -> None:
    given = np.where(np.array(weights) == 0, size, weights)
    model = sf.RobustLogisticRegression(radius=0.05, label_weight=label_weight).fit(X, Y, sample_weight=given)
    assert np.isfinite(model.coef_).all() and np.isfinite(model.intercept_).all()
    assert model.certificate_.verified
    assert sf.verify(model, X, Y, sample_weight=given).verified


@pytest.mark.filterwarnings("ignore::surefoot.exceptions.ConvergenceLimitWarning")
@pytest.mark.parametrize("label_weight", [1.0, np.inf])
@pytest.mark.parametrize("size", SIZES[:3])
def test_label_of_vanishing_weight_gives_finite_numbers(size: float, label_weight: float) -> None:
    model = sf.RobustLogisticRegression(radius=0.05, label_weight=label_weight)
    model.fit(X, Y, sample_weight=np.where(np.array(Y) == 1, size, 1.0))
    assert np.isfinite(model.coef_).all() and np.isfinite(model.intercept_).all()
    assert np.isfinite(model.certificate_.upper_bound)
    assert model.certificate_.verified or label_weight == np.inf


@pytest.mark.parametrize("size", SIZES)
def test_batches_with_rows_of_vanishing_weight(size: float) -> None:
    weights = np.array([1.0, size, 1.0, 1.0, size])
    batches = [(X[rows], np.array(Y)[rows], weights[rows]) for rows in (slice(0, 3), slice(3, 5))]
    model = sf.RobustLogisticRegression(radius=0.05, label_weight=1.0).fit(batches)
    assert np.isfinite(model.coef_).all() and model.certificate_.verified


def test_worst_case_leaves_out_rows_without_weight_as_the_fit_does() -> None:
    table = pd.DataFrame({"kind": ["z", "x", "y", "x", "y"], "size": [4.0, 0.0, 1.0, 2.0, 3.0]})
    labels, weights = [1, 0, 1, 0, 1], [0, 1, 1, 1, 1]
    model = sf.RobustLogisticRegression(radius=0.05, label_weight=1.0).fit(table, labels, sample_weight=weights)
    worst = model.worst_case(table, labels, weights)
    alone = model.worst_case(table[1:], labels[1:])
    assert worst.expected_loss == alone.expected_loss
    assert worst.table["row"].size > 0
    assert worst.table["row"].tolist() == (alone.table["row"] + 1).tolist()
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.worst_case(pd.concat((table, table)), labels, weights)


@pytest.mark.parametrize("numeric_weights", [None, 1e-300])
def test_message_about_columns_too_small_for_doubles_says_what_to_do(numeric_weights: float | None) -> None:
    columns = np.array([[0.0, 1.0], [1e-310, 2.0], [3e-310, 5.0], [2e-310, 0.0]])
    with pytest.raises(ValueError, match=r"numeric column 0.*Measure the column in a smaller unit"):
        sf.RobustLogisticRegression(radius=0.05, numeric_weights=numeric_weights).fit(columns, [0, 1, 0, 1])


@pytest.mark.filterwarnings("ignore::surefoot.exceptions.ConvergenceLimitWarning")
def test_column_of_the_smallest_doubles_gives_finite_numbers() -> None:
    column = np.array([[0.0], [5e-324], [5e-324], [1e-323]])
    assert np.isfinite(sf.RobustLogisticRegression(radius=0.05).fit(column, [0, 1, 0, 1]).coef_).all()
