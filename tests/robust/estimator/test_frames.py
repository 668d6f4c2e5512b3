"""Tables of every kind lead to the same model, and results come back in the kind that came in."""

from __future__ import annotations

from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import surefoot as sf

KINDS: dict[str, Any] = {
    "pandas": lambda table: table,
    "polars": pl.from_pandas,
    "pyarrow": pa.Table.from_pandas,
    "object array": lambda table: table.to_numpy(dtype=object),
    "list of rows": lambda table: table.to_numpy(dtype=object).tolist(),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_table_gives_the_same_model(survey: Any, kind: str) -> None:
    reference = sf.RobustLogisticRegression().fit(survey.X, survey.y)
    table = KINDS[kind](survey.X)
    model = sf.RobustLogisticRegression().fit(table, survey.y)
    assert model.certificate_.problem_digest == reference.certificate_.problem_digest
    assert model.coef_.tolist() == reference.coef_.tolist()
    assert model.decision_function(table).tolist() == reference.decision_function(survey.X).tolist()
    assert hasattr(model, "feature_names_in_") == (kind in ("pandas", "polars", "pyarrow"))


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_labels_may_be_a_series_of_any_library(survey: Any, kind: str) -> None:
    reference = sf.RobustLogisticRegression().fit(survey.X, survey.y)
    labels = {"pandas": pd.Series, "polars": pl.Series, "pyarrow": pa.array}[kind](survey.y.tolist())
    model = sf.RobustLogisticRegression().fit(survey.X, labels)
    assert model.classes_.tolist() == ["leaves", "stays"]
    assert model.coef_.tolist() == reference.coef_.tolist()


def rows_of(table: Any) -> list[tuple[Any, ...]]:
    if isinstance(table, pd.DataFrame):
        return list(table.itertuples(index=False, name=None))
    if isinstance(table, pl.DataFrame):
        return table.rows()
    return [tuple(row.values()) for row in table.to_pylist()]


@pytest.mark.parametrize(("kind", "expected"), [("pandas", pd.DataFrame), ("polars", pl.DataFrame), ("pyarrow", pa.Table)])
def test_coefficients_come_back_in_the_library_of_the_table(survey: Any, kind: str, expected: type) -> None:
    model = sf.RobustLogisticRegression().fit(KINDS[kind](survey.X[["age", "channel"]]), survey.y)
    table = model.coefficients()
    assert isinstance(table, expected)
    age, shop, web = model.coef_[0]
    assert rows_of(table) == [
        ("age", None, age),
        ("channel", "phone", 0.0),
        ("channel", "shop", shop),
        ("channel", "web", web),
    ]


def test_levels_keep_their_type_in_pandas_and_become_text_where_columns_have_one_type(survey: Any) -> None:
    model = sf.RobustLogisticRegression().fit(survey.X, survey.y)
    assert model.coefficients()["level"].tolist() == [None, "phone", "shop", "web", None, False, True]
    model.fit(pl.from_pandas(survey.X), survey.y)
    assert model.coefficients()["level"].to_list() == [None, "phone", "shop", "web", None, "False", "True"]


def test_levels_of_one_type_keep_it_everywhere(survey: Any) -> None:
    model = sf.RobustLogisticRegression(categorical_features=["grade"])
    table = pl.DataFrame({"grade": (survey.X["age"] // 20).astype(int).to_numpy()})
    assert model.fit(table, survey.y).coefficients()["level"].to_list() == [0, 1, 2, 3]


@pytest.mark.parametrize(("kind", "expected"), [("pandas", pd.DataFrame), ("polars", pl.DataFrame), ("pyarrow", pa.Table)])
def test_the_worst_case_comes_back_in_the_library_of_its_table(survey: Any, kind: str, expected: type) -> None:
    table = KINDS[kind](survey.X)
    worst = sf.RobustLogisticRegression().fit(table, survey.y).worst_case(table, survey.y)
    assert isinstance(worst.table, expected)
    assert isinstance(worst.summary(), expected)
    reference = sf.RobustLogisticRegression().fit(survey.X, survey.y).worst_case(survey.X, survey.y)
    as_text = [[str(value) for value in row] for row in rows_of(worst.table)]
    assert as_text == [[str(value) for value in row] for row in rows_of(reference.table)]


def test_without_any_move_the_tables_are_empty_but_whole(survey: Any) -> None:
    for kind in ("pandas", "polars"):
        table = KINDS[kind](survey.X)
        worst = sf.RobustLogisticRegression().fit(table, survey.y).worst_case(table, survey.y, radius=0.0)
        assert list(worst.table.columns) == ["row", "mass", "feature", "from", "to"]
        assert list(worst.summary().columns) == ["feature", "from", "to", "mass", "budget"]
        assert len(worst.table) == len(worst.summary()) == 0
        assert worst.expected_loss == pytest.approx(worst.nominal_loss)
        assert "No shift within the radius raises it." in str(worst)
