"""Rows held out in turn correct the automatic radius of small tables, without a seed and whatever the order of the rows."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

import surefoot as sf
from surefoot.robust.estimator.held_out_radius import PARAMETERS, HeldOut, dealt
from surefoot.sklearn_api.parameter_marks import sealed_fields


def decided(rows: int, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """One column that nearly decides the label beside eight that say nothing."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({f"c{k}": rng.choice(list("abcd"), rows) for k in range(8)})
    strong = rng.random(rows) < 0.4
    table.insert(3, "strong", np.where(strong, "yes", "no"))
    return table, strong ^ (rng.random(rows) < 0.02)


def test_rows_are_dealt_class_by_class_and_a_weight_is_so_many_rows() -> None:
    rng = np.random.default_rng(4)
    labels, counts = rng.choice([-1.0, 1.0], 40), rng.integers(1, 5, 40).astype(float)
    parts = dealt(labels, counts, 5)
    np.testing.assert_array_equal(parts.sum(axis=0), counts)
    for label in (-1.0, 1.0):
        shares = parts[:, labels == label].sum(axis=1)
        assert shares.max() - shares.min() <= 1
    times = counts.astype(int)
    repeated = dealt(labels.repeat(times), np.ones(times.sum()), 5)
    of_row = np.add.reduceat(repeated, np.cumsum(times) - times, axis=1)
    np.testing.assert_array_equal(of_row, parts)
    # Other weights stay together.
    halves = dealt(labels, counts / 2, 5)
    assert np.all((halves == 0) | (halves == counts / 2)) and np.all(halves.sum(axis=0) == counts / 2)


def test_it_is_the_multiple_next_to_the_rule_within_an_error_of_the_best_by_a_loop_over_fits(survey: Any) -> None:
    rows = pd.concat([survey.X, pd.Series(survey.y, name="y")], axis=1)[:60]
    model = sf.RobustLogisticRegression().fit(rows.drop(columns="y"), rows["y"])
    told = model.sampling_error_.held_out
    # The folds by hand: rows sorted by label, last number first, then by level, and dealt to five folds within each class.
    names = ["y", *(c.name for c in reversed(model.schema_.numeric_columns))]
    names += [c.name for c in reversed(model.schema_.categorical_columns)]
    rows = rows.sort_values(names, kind="stable").reset_index(drop=True)
    fold = rows.groupby("y").cumcount() % 5
    prices = dict(zip((c.name for c in model.schema_.numeric_columns), model.ground_cost_.numeric_weights, strict=True))
    losses = np.empty((len(PARAMETERS.multiples), len(rows)))
    for at, multiple in enumerate(PARAMETERS.multiples):
        for k in range(5):
            train, test = rows[fold != k], rows[fold == k]
            one = sf.RobustLogisticRegression(radius=multiple * told.rule, numeric_weights=prices, tol=1e-4)
            chance = one.fit(train.drop(columns="y"), train["y"]).predict_proba(test.drop(columns="y"))
            of_label = np.where(test["y"] == one.classes_[1], chance[:, 1], chance[:, 0])
            losses[at, test.index] = -np.log(of_label)
    means = losses.mean(axis=1)
    apart = losses - losses[means.argmin()]
    good = apart.mean(axis=1) <= apart.std(axis=1) / math.sqrt(len(rows) - 1)
    expected = min((abs(math.log(m)), -m) for m, is_good in zip(PARAMETERS.multiples, good, strict=True) if is_good)
    assert told.multiple == -expected[1]
    assert told.loss == pytest.approx(means[PARAMETERS.multiples.index(told.multiple)], abs=2e-3)
    assert told.rule_loss == pytest.approx(means[PARAMETERS.multiples.index(1.0)], abs=2e-3)
    assert model.radius_ == pytest.approx(told.rule * told.multiple, rel=0.05)


def test_one_strong_column_is_not_shrunk_for_the_others() -> None:
    X, y = decided(60)
    model = sf.RobustLogisticRegression().fit(X, y)
    told = model.sampling_error_.held_out
    assert told.multiple < 1 and told.loss < told.rule_loss
    assert f"1/{1 / told.multiple:g} of {told.rule:g}" in model.radius_reason_
    new, answers = decided(2000, seed=1)
    ruled = sf.RobustLogisticRegression(radius=told.rule).fit(X, y)
    loss = lambda fitted: -np.log(fitted.predict_proba(new)[np.arange(2000), answers.astype(int)]).mean()  # noqa: E731
    assert loss(model) < 0.8 * loss(ruled)


def test_the_order_of_the_rows_does_not_matter() -> None:
    X, y = decided(60)
    order = np.random.default_rng(1).permutation(60)
    first, second = (sf.RobustLogisticRegression().fit(*rows) for rows in ((X, y), (X.iloc[order], y[order])))
    assert first.radius_ == second.radius_
    assert first.sampling_error_.held_out.loss == pytest.approx(second.sampling_error_.held_out.loss, rel=1e-9)


@pytest.mark.filterwarnings("ignore:.*nearly decides the label")  # a table made to be told apart
def test_more_rows_than_the_rule_needs_are_not_asked() -> None:
    X, y = decided(PARAMETERS.most_rows + 1)
    model = sf.RobustLogisticRegression().fit(X[["strong", "c0"]], y)
    assert model.sampling_error_.held_out is None
    twice = sf.RobustLogisticRegression().fit(X[["strong", "c0"]][:300], y[:300], sample_weight=np.full(300, 2))
    assert twice.sampling_error_.held_out is None


@pytest.mark.filterwarnings("ignore:.*nearly decides the label")  # a table made to be told apart
def test_a_premium_beyond_the_whole_loss_is_doubted_with_more_rows_too() -> None:
    X, _ = decided(700)
    told_apart = X["strong"] == "yes"
    model = sf.RobustLogisticRegression().fit(X, told_apart)
    told = model.sampling_error_.held_out
    assert told is not None and told.multiple < 1 and told.loss < 0.5 * told.rule_loss
    assert "rows held out in turn" in model.radius_reason_ and model.certificate_.verified


def test_a_class_of_one_row_cannot_be_held_out() -> None:
    X, y = decided(40)
    y[:] = False
    y[7] = True
    assert sf.RobustLogisticRegression().fit(X, y).sampling_error_.held_out is None


def test_the_grid_of_the_search_lies_around_the_radius_that_was_corrected() -> None:
    X, y = decided(60)
    centre = sf.RobustLogisticRegression().fit(X, y).radius_
    radii = sf.RobustLogisticRegressionCV(cv=2).fit(X, y).path_.radii
    assert radii[len(radii) // 2] == pytest.approx(centre)


def test_seals_from_before_rows_were_held_out_still_fit(survey: Any) -> None:
    error = sf.RobustLogisticRegression().fit(survey.X, survey.y).sampling_error_
    assert isinstance(error.held_out, HeldOut)
    assert "held_out" in sealed_fields(error)
    assert "held_out" not in sealed_fields(replace(error, held_out=None))


def test_sparse_rows_in_memory_and_in_batches_are_asked_alike() -> None:
    rng = np.random.default_rng(5)
    dense = rng.normal(size=(90, 6)) * (rng.random((90, 6)) < 0.4)
    labels = dense[:, 0] > 0
    model = sf.RobustLogisticRegression().fit(dense, labels)
    whole = sf.RobustLogisticRegression().fit(scipy.sparse.csr_array(dense), labels)
    parts = [(scipy.sparse.csr_array(dense[at]), labels[at]) for at in (slice(0, 50), slice(50, 90))]
    batches = sf.RobustLogisticRegression().fit(parts)
    told = model.sampling_error_.held_out
    assert told is not None
    for other in (whole, batches):
        assert other.radius_ == model.radius_
        assert other.sampling_error_.held_out.loss == pytest.approx(told.loss, rel=1e-4)
