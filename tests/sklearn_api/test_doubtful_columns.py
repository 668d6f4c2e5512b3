"""Identifiers, dates and numbers of text are read as they come, and never without a word."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import surefoot as sf

N = 200


def table(name: str, values: Any) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(3)
    x = rng.normal(size=N)
    return pd.DataFrame({"x": x.round(2), name: values}), (x + rng.logistic(size=N) > 0).astype(int)


def told(fit: Callable[..., Any], name: str, values: Any) -> list[str]:
    X, y = table(name, values)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        fit(X, y)
    own = [warning for warning in found if issubclass(warning.category, sf.DoubtfulColumnWarning)]
    assert all(warning.filename == __file__ for warning in own)
    return [str(warning.message) for warning in own]


def robust(X: Any, y: Any) -> Any:
    return sf.RobustLogisticRegression(radius=0.1).fit(X, y)


DATES = pd.date_range("2021-03-01", periods=N).strftime("%Y-%m-%d")
DOSES = [f"{k / 4:.2f}" for k in range(100)] * 2
DRAWN = np.random.default_rng(0)


@pytest.mark.parametrize(
    ("name", "values", "words"),
    [
        ("row", np.arange(N) + 7, "another whole number in each of 200 rows"),
        ("patient_id", DRAWN.choice(10**9, N, replace=False), "as an identifier does"),
        ("who", [f"person {k}" for k in range(N)], "has 200 levels in 200 rows"),
        ("seen", DATES, "holds dates as text ('2021-03-01')"),
        ("dose", DOSES, "holds numbers as text ('0.00')"),
        ("dose", [*DOSES[1:], "?"], "holds numbers as text"),
        ("dose", [*DOSES[1:], "none left"], "but for 'none left'"),
        ("rate", [f"{dose} %" for dose in DOSES], "Convert it, without what is no digit, for example with"),
        ("price", [f"€{dose}" for dose in DOSES], "holds numbers as text ('€0.00')"),
    ],
)
def test_one_warning_names_the_column_and_what_to_do(name: str, values: Any, words: str) -> None:
    (message,) = told(robust, name, values)
    assert message.startswith(f"RobustLogisticRegression.fit: column '{name}'") and words in message
    assert "leave it out" in message.lower() or "Convert it" in message


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("income", DRAWN.choice(10**6, N, replace=False)),  # amounts that happen to differ
        ("age", DRAWN.integers(18, 90, N)),
        ("store_id", DRAWN.integers(0, 60, N)),  # numbers that repeat may stand for stores
        ("share", DRAWN.random(N)),
        ("month", [str(k % 12 + 1) for k in range(N)]),
        ("zip", [f"0{k % 90 + 1000}" for k in range(N)]),  # codes that begin with 0
        ("town", [f"town {k % 90}" for k in range(N)]),
        ("answer", ["yes", "no"] * (N // 2)),
    ],
)
def test_numbers_and_categories_are_not_doubted(name: str, values: Any) -> None:
    assert told(robust, name, values) == []


def test_who_names_the_categories_knows_what_they_are() -> None:
    listed = lambda X, y: sf.RobustLogisticRegression(radius=0.3, categorical_features=["seen"]).fit(X, y)  # noqa: E731
    assert told(listed, "seen", DATES) == []


@pytest.mark.parametrize(
    "fit",
    [
        lambda X, y: sf.RobustLogisticRegression(radius=0.1, numeric_weights={"row": 0.01}).fit(X, y),
        lambda X, y: sf.RobustLogisticRegression(radius=0.1, numeric_range={"row": (0, 300)}).fit(X, y),
        lambda X, y: sf.ThresholdBinarizer(thresholds={"row": [50]}).fit(X, y),
    ],
)
def test_who_names_a_column_in_a_setting_means_it(fit: Callable[..., Any]) -> None:
    assert told(fit, "row", np.arange(N)) == []


def test_all_doubtful_columns_are_in_one_warning_in_their_order() -> None:
    X, y = table("seen", DATES)
    X["row"] = np.arange(N)
    with pytest.warns(sf.DoubtfulColumnWarning) as found:
        robust(X, y)
    (message,) = [str(warning.message) for warning in found]
    assert message.index("'seen'") < message.index("'row'")


@pytest.mark.parametrize(
    ("fit", "who"),
    [
        (lambda X, y: sf.RobustLogisticRegressionCV(radii=[0.1], cv=2).fit(X, y), "RobustLogisticRegressionCV"),
        (lambda X, y: sf.RiskScoreClassifier(max_features=1, max_points=2).fit(X.round(0), y), "RiskScoreClassifier"),
        (lambda X, y: sf.ChanceConstrainedSVC(kernel="linear").fit(X, y), "ChanceConstrainedSVC"),
        (lambda X, y: sf.ThresholdBinarizer().fit(X, y), "ThresholdBinarizer"),
    ],
)
def test_every_family_that_reads_tables_says_so(fit: Callable[..., Any], who: str) -> None:
    (message,) = told(fit, "row", np.arange(N))
    assert message.startswith(f"{who}.fit: column 'row' holds another whole number in each of 200 rows")


def test_batches_tell_of_text() -> None:
    X, y = table("seen", DATES)
    with pytest.warns(sf.DoubtfulColumnWarning, match="'seen' holds dates as text"):
        sf.RobustLogisticRegression(radius=0.3).fit([(X[:120], y[:120]), (X[120:], y[120:])])


def test_arrays_hold_numbers_that_somebody_has_put_there() -> None:
    X, y = table("row", np.arange(N))
    with warnings.catch_warnings():
        warnings.simplefilter("error", sf.DoubtfulColumnWarning)
        robust(X.to_numpy(), y)


def test_checking_a_proof_does_not_warn_again() -> None:
    X, y = table("row", np.arange(N))
    with pytest.warns(sf.DoubtfulColumnWarning):
        model = robust(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert sf.verify(model, X, y).verified
