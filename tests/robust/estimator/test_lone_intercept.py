"""A model that its radius has left without coefficients says so, unless its columns say nothing anyway."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
import pytest

import surefoot as sf
from surefoot.exceptions import GridEdgeWarning, WeakModelWarning


def patients(n_rows: int = 300) -> tuple[pd.DataFrame, Any]:
    rng = np.random.default_rng(3)
    age, ward = rng.normal(60, 12, n_rows), rng.choice(["a", "b", "c"], n_rows)
    score = 0.08 * (age - 60) + 1.2 * (ward == "b")
    return pd.DataFrame({"age": age, "ward": ward}), rng.logistic(size=n_rows) < score


def test_the_named_radius_is_the_largest_that_leaves_more() -> None:
    X, y = patients()
    with pytest.warns(WeakModelWarning, match=r"fit: the radius, 2, .*only the intercept .*radius=\"auto\"\.$") as said:
        assert not sf.RobustLogisticRegression(radius=2).fit(X, y).coef_.any()
    assert len(said) == 1 and said[0].filename == __file__
    critical = float(re.findall(r"leaves more is about ([0-9.]+)\.", str(said[0].message))[0])
    assert sf.RobustLogisticRegression(radius=0.95 * critical).fit(X, y).coef_.any()
    with pytest.warns(WeakModelWarning):
        assert not sf.RobustLogisticRegression(radius=1.05 * critical).fit(X, y).coef_.any()
    assert sf.RobustLogisticRegression().fit(X, y).coef_.any()


@pytest.mark.parametrize(
    "parameters",
    [{"label_weight": 1.0}, {"numeric_range": "observed"}, {"fit_intercept": False}],
    ids=lambda parameters: next(iter(parameters)),
)
def test_where_there_is_no_closed_form_no_radius_is_named(parameters: Any) -> None:
    X, y = patients()
    with pytest.warns(WeakModelWarning, match=r"left[^.]*\. Lower the radius"):
        sf.RobustLogisticRegression(radius=20.0, **parameters).fit(X, y)


def test_rows_in_batches_are_warned_of_alike() -> None:
    X, y = patients()
    with pytest.warns(WeakModelWarning) as whole:
        sf.RobustLogisticRegression(radius=2).fit(X, y)
    with pytest.warns(WeakModelWarning) as parts:
        sf.RobustLogisticRegression(radius=2).fit([(X[:150], y[:150]), (X[150:], y[150:])])
    assert [str(one.message) for one in parts] == [str(one.message) for one in whole]


def test_a_shift_model_that_leaves_nothing_is_told_to_be_surer() -> None:
    X, y = patients()
    shift = sf.ShiftModel(numeric_certainty={"age": 0.05}, categorical_certainty={"ward": 0.34})
    with pytest.warns(WeakModelWarning, match="Raise the certainties"):
        sf.RobustLogisticRegression(shift=shift).fit(X, y)


def test_columns_that_say_nothing_leave_nothing_without_a_word() -> None:
    alike = np.repeat(np.random.default_rng(0).normal(size=100), 2)[:, None]
    y = np.arange(200) % 2
    for X in (alike, np.ones((200, 2))):
        for radius in (2.0, "auto"):
            assert not sf.RobustLogisticRegression(radius=radius).fit(X, y).coef_.any()


def test_a_search_warns_once_and_only_of_the_model_it_chose() -> None:
    X, y = patients()
    with pytest.warns(WeakModelWarning, match="Add smaller radii") as said:
        sf.RobustLogisticRegressionCV(radii=[2.0, 3.0], cv=3).fit(X, y)
    assert len(said) == 1
    assert sf.RobustLogisticRegressionCV(radii=[0.01, 2.0], cv=3).fit(X, y).coef_.any()


def test_a_search_in_which_the_columns_do_not_carry_over_says_that_once() -> None:
    rng = np.random.default_rng(5)
    north = np.arange(400) < 200
    x = rng.normal(size=(400, 1))
    # What raises the odds in the north lowers them, and more steeply, in the south.
    y = rng.logistic(size=400) < np.where(north, 1.0, -2.5) * x[:, 0]
    search = sf.RobustLogisticRegressionCV(radii=[0.01, 2.0], cv=[(north.nonzero()[0], (~north).nonzero()[0])])
    with pytest.warns(WeakModelWarning, match="scored worse on the rows held out"):
        search.fit(x, y)
    with pytest.warns(GridEdgeWarning, match="no model that leans on the columns") as said:
        sf.RobustLogisticRegressionCV(radii=[0.01, 2.0]).fit(x, y, groups=np.where(north, "north", "south"))
    assert len(said) == 1
