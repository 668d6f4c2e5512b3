"""Input that no model can be made of: a right answer, or an error that says what is wrong and where."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest

import surefoot as sf

ESTIMATORS = [sf.RobustLogisticRegression, sf.RobustLogisticRegressionCV]


def with_cell(table: pd.DataFrame, row: int, column: str, value: Any) -> pd.DataFrame:
    changed = table.copy()
    changed.loc[row, column] = value
    return changed


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_one_class_is_refused_by_name(survey: Any, estimator: Any) -> None:
    with pytest.raises(
        sf.InvalidTableError, match="at least 2 classes in the data, but the data contains only one class: 'stays'"
    ):
        estimator().fit(survey.X, ["stays"] * len(survey.y))


def test_one_class_among_the_rows_that_count_is_refused(survey: Any) -> None:
    with pytest.raises(sf.InvalidTableError, match=r"only one class: 'leaves' \(counting rows with positive sample_weight\)"):
        sf.RobustLogisticRegression().fit(survey.X, survey.y, sample_weight=survey.y == "leaves")


def test_a_single_row_is_refused(survey: Any) -> None:
    with pytest.raises(sf.InvalidTableError, match="only one class"):
        sf.RobustLogisticRegression().fit(survey.X[:1], survey.y[:1])


def test_three_classes_are_refused(survey: Any) -> None:
    with pytest.raises(sf.InvalidTableError, match=r"Only binary classification is supported.*3 classes \('a', 'b', 'c'\)"):
        sf.RobustLogisticRegression().fit(survey.X[:6], ["a", "b", "c", "a", "b", "c"])


@pytest.mark.parametrize("table", [np.empty((8, 0)), pd.DataFrame(index=range(8))])
def test_a_table_without_columns_is_refused(table: Any) -> None:
    with pytest.raises(sf.InvalidTableError, match=r"0 feature\(s\)"):
        sf.RobustLogisticRegression().fit(table, [0, 1] * 4)


def test_a_table_without_rows_is_refused(survey: Any) -> None:
    with pytest.raises(sf.InvalidTableError, match=r"0 sample\(s\)"):
        sf.RobustLogisticRegression().fit(survey.X[:0], survey.y[:0])


def test_more_labels_than_rows_are_refused(survey: Any) -> None:
    with pytest.raises(sf.InvalidTableError, match="X has 119 rows, y has 120 labels"):
        sf.RobustLogisticRegression().fit(survey.X[1:], survey.y)


def test_missing_labels_are_refused_with_their_row(survey: Any) -> None:
    labels = survey.y.astype(object)
    labels[7] = None
    with pytest.raises(sf.InvalidTableError, match=r"Input y contains NaN: 1 label.* row 7"):
        sf.RobustLogisticRegression().fit(survey.X, labels)


def test_a_category_with_one_level_has_no_influence(survey: Any) -> None:
    model = sf.RobustLogisticRegression().fit(survey.X.assign(country="here"), survey.y)
    without = sf.RobustLogisticRegression().fit(survey.X, survey.y)
    np.testing.assert_allclose(model.coef_, without.coef_, rtol=1e-4, atol=1e-6)
    last = model.coefficients().iloc[-1]
    assert (last["feature"], last["level"], last["coefficient"]) == ("country", "here", 0.0)


def test_a_table_with_nothing_but_one_level_gives_the_share_of_the_classes(survey: Any) -> None:
    model = sf.RobustLogisticRegression().fit(pd.DataFrame({"country": ["here"] * 120}), survey.y)
    assert model.coef_.shape == (1, 0)
    assert model.predict_proba(pd.DataFrame({"country": ["here"]}))[0, 1] == pytest.approx(
        np.mean(survey.y == "stays"), abs=1e-4
    )


@pytest.mark.parametrize("radius", [0.0, 0.05])
def test_equal_rows_with_both_labels_give_the_share_of_the_classes(survey: Any, radius: float) -> None:
    table = pd.concat([survey.X[:1]] * 10, ignore_index=True)
    model = sf.RobustLogisticRegression(radius=radius).fit(table, ["leaves"] * 3 + ["stays"] * 7)
    np.testing.assert_allclose(model.predict_proba(table)[:, 1], 0.7, atol=1e-4)
    assert model.certificate_.verified


def test_separable_data_have_a_finite_model_at_a_positive_radius(survey: Any) -> None:
    model = sf.RobustLogisticRegression(radius=0.01).fit(survey.X, survey.X["age"] > 50)
    assert model.certificate_.verified
    assert np.isfinite(model.coef_).all()
    assert model.score(survey.X, survey.X["age"] > 50) > 0.98


@pytest.mark.parametrize("solver", ["sqp", "conic"])
def test_separable_data_at_radius_zero_are_called_separable(survey: Any, solver: str) -> None:
    with pytest.raises(sf.SeparableDataError, match=r"radius=0.* separated .* grow without end.* Use a radius above 0"):
        sf.RobustLogisticRegression(radius=0, solver=solver).fit(survey.X, survey.X["age"] > 50)


def test_missing_numbers_are_refused_with_column_and_row(survey: Any) -> None:
    with pytest.raises(sf.InvalidTableError, match=r"column 'age' has 1 missing value\(s\), the first in row 11"):
        sf.RobustLogisticRegression().fit(with_cell(survey.X, 11, "age", np.nan), survey.y)


def test_missing_categories_are_refused_with_column_and_row(survey: Any) -> None:
    with pytest.raises(sf.InvalidTableError, match=r"column 'channel' has 1 missing value\(s\), the first in row 5"):
        sf.RobustLogisticRegression().fit(with_cell(survey.X, 5, "channel", None), survey.y)


@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_infinite_numbers_are_refused_with_column_row_and_value(survey: Any, value: float) -> None:
    with pytest.raises(sf.InvalidTableError, match=f"infinity: column 'income', row 3 holds {value}"):
        sf.RobustLogisticRegression().fit(with_cell(survey.X, 3, "income", value), survey.y)


def test_gaps_can_be_filled_or_become_a_level(survey: Any) -> None:
    table = with_cell(with_cell(survey.X, 11, "age", np.nan), 5, "channel", None)
    model = sf.RobustLogisticRegression(missing_numeric="median", missing_categorical="level").fit(table, survey.y)
    levels = model.coefficients()
    assert levels.loc[levels["feature"] == "channel", "level"].tolist() == ["phone", "shop", "web", "(missing)"]
    median = float(table["age"].median())
    filled = table.assign(age=table["age"].fillna(median))
    assert model.decision_function(table).tolist() == model.decision_function(filled).tolist()


def test_unseen_levels_are_refused_or_count_as_the_reference(survey: Any) -> None:
    stranger = with_cell(survey.X[:2], 1, "channel", "letter")
    with pytest.raises(sf.InvalidTableError, match="column 'channel', row 1 holds 'letter'"):
        sf.RobustLogisticRegression().fit(survey.X, survey.y).predict(stranger)
    lenient = sf.RobustLogisticRegression(unseen_categories="reference").fit(survey.X, survey.y)
    assert (
        lenient.decision_function(stranger)[1] == lenient.decision_function(with_cell(survey.X[:2], 1, "channel", "phone"))[1]
    )


@pytest.mark.parametrize(
    ("parameter", "value"), [("missing_numeric", "mean"), ("missing_categorical", "drop"), ("unseen_categories", "ignore")]
)
def test_unknown_policies_are_refused_with_the_known_ones(survey: Any, parameter: str, value: str) -> None:
    with pytest.raises(ValueError, match=f"{value!r} is not a policy; use one of 'error', "):
        sf.RobustLogisticRegression(**{parameter: value}).fit(survey.X, survey.y)


def test_huge_and_tiny_columns_fit_in_one_table(survey: Any) -> None:
    draw = np.random.default_rng(1)
    table = survey.X.assign(huge=draw.normal(size=120) * 1e9, tiny=draw.normal(size=120) * 1e-9)
    model = sf.RobustLogisticRegression().fit(table, survey.y)
    same = sf.RobustLogisticRegression().fit(table.assign(huge=table["huge"] / 1e9, tiny=table["tiny"] * 1e9), survey.y)
    assert model.certificate_.verified
    assert model.certificate_.upper_bound == pytest.approx(same.certificate_.upper_bound, rel=2e-6)


@pytest.mark.parametrize("kind", ["boolean", "Int64", "string", "category"])
def test_nullable_and_extension_columns_are_read_as_what_they_hold(survey: Any, kind: str) -> None:
    plain = (
        (survey.X["age"] > 40) if kind == "boolean" else survey.X["age"].astype(int) if kind == "Int64" else survey.X["channel"]
    )
    model = sf.RobustLogisticRegression().fit(pd.DataFrame({"column": plain}), survey.y)
    other = sf.RobustLogisticRegression().fit(pd.DataFrame({"column": plain.astype(kind)}), survey.y)
    assert other.coef_.tolist() == model.coef_.tolist()


def test_dates_are_refused_with_advice(survey: Any) -> None:
    table = survey.X.assign(day=pd.Timestamp("2024-01-01"))
    with pytest.raises(sf.InvalidTableError, match=r"column 'day'.* is a date or a time.*days since a fixed date"):
        sf.RobustLogisticRegression().fit(table, survey.y)


@pytest.mark.parametrize("radius", [-0.1, math.nan, math.inf, "large", None, True])
def test_a_radius_that_is_none_is_refused_with_its_value(survey: Any, radius: Any) -> None:
    with pytest.raises(ValueError, match=f"radius = {radius!r} must be ('auto' or )?a finite number at or above 0"):
        sf.RobustLogisticRegression(radius=radius).fit(survey.X, survey.y)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"label_weight": 0}, "label_weight = 0 must be a positive number"),
        ({"label_weight": math.nan}, "label_weight = nan must be a positive number"),
        ({"norm": "l3"}, "norm='l3' is not known. Choose one of 'l1', 'l2', 'linf'"),
        ({"norm": 2}, "norm=2 is not known"),
        ({"solver": "simplex"}, "'simplex' is not known. Choose one of 'auto', 'sqp', "),
        ({"solver": 3}, "solver = 3 must be the name of a solver"),
        ({"tol": 0}, "tol = 0 must be a positive number"),
        ({"max_iter": 0}, "max_iter = 0 must be None or a whole number"),
        ({"max_iter": 2.5}, "max_iter = 2.5 must be None or a whole number"),
        ({"time_limit": -1}, "time_limit = -1 must be None or a positive number of seconds"),
        ({"shift": "much"}, "shift = 'much' must be None or a shift model"),
        ({"categorical_features": ["colour"]}, "categorical_features names 'colour'"),
    ],
)
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_parameters_without_meaning_are_refused(survey: Any, estimator: Any, parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        estimator(**parameters).fit(survey.X, survey.y)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.zeros(120), "at least one non-zero number"),
        (0.0, "at least one non-zero number"),
        (np.where(np.arange(120) == 4, -2.0, 1.0), "Negative values.*row 4 has weight -2.0"),
        (np.where(np.arange(120) == 6, np.nan, 1.0), "NaN or infinity: row 6 has weight nan"),
        (np.where(np.arange(120) == 6, np.inf, 1.0), "NaN or infinity: row 6 has weight inf"),
        (np.ones(119), r"sample_weight.shape == \(119,\), expected \(120,\)"),
        (np.ones((120, 2)), r"must be 1D array or scalar, got an array of shape \(120, 2\)"),
    ],
)
def test_sample_weights_without_meaning_are_refused(survey: Any, weights: Any, message: str) -> None:
    with pytest.raises(sf.InvalidTableError, match=message):
        sf.RobustLogisticRegression().fit(survey.X, survey.y, sample_weight=weights)


def test_huge_sample_weights_do_not_overflow(survey: Any) -> None:
    model = sf.RobustLogisticRegression().fit(survey.X, survey.y, sample_weight=np.full(120, 1e308))
    assert model.coef_.tolist() == sf.RobustLogisticRegression().fit(survey.X, survey.y).coef_.tolist()


def test_columns_in_another_order_are_refused_at_prediction(survey: Any) -> None:
    model = sf.RobustLogisticRegression().fit(survey.X, survey.y)
    with pytest.raises(ValueError, match="Feature names must be in the same order as they were in fit"):
        model.predict(survey.X[["channel", "age", "income", "member"]])
