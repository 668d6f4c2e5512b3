"""A fitted model in a comparison: its prices, whether its radius covers a shift, and what changed its loss."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from sklearn.compose import make_column_transformer
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import surefoot as sf
from surefoot.shift.comparison import compare as comparing
from surefoot.shift.comparison.decomposition import Calibration, Decomposition, Part


@pytest.fixture(autouse=True)
def few_matched_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparing, "PARAMETERS", replace(comparing.PARAMETERS, matched_rows=50))


def applications(seed: int, n: int, income: float = 32.0, harder: float = 0.0) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng([31, seed])
    X = pd.DataFrame(
        {
            "age": rng.uniform(20, 70, n),
            "income": rng.gamma(4, income / 4, n),
            "channel": rng.choice(["branch", "phone", "web"], n),
        }
    )
    score = 0.03 * (X["age"] - 45) + 0.05 * (X["income"] - 32) + 1.2 * (X["channel"] == "branch") - 0.4 - harder
    return X, np.where(rng.logistic(size=n) < score, "repaid", "default")


X, Y = applications(0, 800)


@pytest.fixture(scope="module")
def robust() -> Any:
    return sf.RobustLogisticRegression(radius=0.2, numeric_weights={"income": 0.05}, categorical_weights=0.5).fit(X, Y)


def quick(*tables: Any, **options: Any) -> Any:
    return sf.compare(*tables, **{"n_permutations": 79, "n_resamples": 79, **options})


def line(found: Any, name: str) -> Any:
    return next(own for own in found.lines if own.name == name)


def test_prices_are_those_of_the_model(robust: Any) -> None:
    found = quick(X, applications(1, 600, income=35.0)[0], model=robust)
    assert line(found, "income").price == 0.05 and line(found, "channel").price == 0.5
    assert line(found, "age").price == pytest.approx(1 / X["age"].std(ddof=0), rel=1e-9)
    assert "prices of the RobustLogisticRegression" in repr(found)


def test_the_radius_of_the_model_covers_small_shifts_and_not_large_ones(robust: Any) -> None:
    small = quick(X, applications(1, 800, income=34.0)[0], model=robust).radius
    large = quick(X, applications(1, 800, income=60.0)[0], model=robust).radius
    assert small.covered is True and large.covered is False
    assert "covers that" in str(small) or "stands" in str(small)
    assert "does not cover that" in str(large) and large.estimate == pytest.approx(0.05 * 28, rel=0.1)
    assert quick(X, X.head(400)).radius.covered is None


def test_a_table_within_the_radius_is_proven_to_be_and_its_loss_is_bounded(robust: Any) -> None:
    moved = X.assign(income=X["income"] + 1.5)
    radius = quick(X, moved, model=robust).radius
    assert radius.upper <= 0.2 and radius.covered and "Proven: the rows of the second table lie within" in str(radius)
    # What the radius promises: no table within it has a greater loss than the worst case.
    worst = robust.worst_case(X, Y).expected_loss
    loss = -np.log(robust.predict_proba(moved)[np.arange(len(Y)), (Y == "repaid").astype(int)]).mean()
    assert loss <= worst + 1e-6


def test_a_shift_of_a_column_that_never_shifts_is_covered_by_no_radius() -> None:
    model = sf.RobustLogisticRegression(radius=0.2, numeric_weights={"income": np.inf}).fit(X, Y)
    quiet = quick(X, applications(1, 600)[0], model=model)
    assert quiet.radius.estimate == 0 and "never shifts, says the model" in line(quiet, "income").note
    found = quick(X, applications(1, 600, income=40.0)[0], model=model)
    assert found.radius.estimate == np.inf and found.radius.covered is False and found.beyond_chance
    assert np.isnan(found.radius.upper), "without that column no plan is one between the tables"
    assert "No radius of this model covers the shift of 'income'" in str(found.radius)


def test_values_beyond_the_range_of_the_model_are_covered_by_no_radius(robust: Any) -> None:
    model = copy.copy(robust)
    model.ground_cost_ = copy.copy(robust.ground_cost_)
    ends = np.array([[20.0, 70.0], [-np.inf, np.inf]])
    object.__setattr__(model.ground_cost_, "numeric_ranges", ends)
    within = quick(X, X.assign(age=X["age"].clip(25, 65)), model=model).radius
    assert within.outside == () and within.covered and within.upper < 0.2
    older = X.assign(age=np.where(np.arange(len(X)) < 8, 71.0, X["age"]))
    found = quick(X, older, model=model)
    assert found.radius.outside == ("age",) and found.radius.covered is False and np.isnan(found.radius.upper)
    assert "beyond the range of the model in 1.0% of the rows" in line(found, "age").note
    assert "covers the values of 'age' beyond the range" in str(found.radius)


def test_labels_count_at_the_label_weight_of_the_model() -> None:
    model = sf.RobustLogisticRegression(radius=0.2, label_weight=2.0).fit(X, Y)
    X_b, y_b = applications(1, 800, harder=1.5)
    found = quick(X, X_b, Y, y_b, model)
    label = line(found, "(label)")
    moved = abs(float(np.mean(Y == "repaid") - np.mean(y_b == "repaid")))
    assert label.price == 2.0 and label.note == "" and label.distance == pytest.approx(2 * moved)
    assert found.radius.estimate >= 0.9 * label.shift


def test_a_model_behind_other_steps_is_compared_in_the_columns_that_it_sees() -> None:
    numbers = X[["age", "income"]]
    model = make_pipeline(StandardScaler(), sf.RobustLogisticRegression(radius=0.1, numeric_weights=3.0)).fit(numbers, Y)
    found = quick(numbers, numbers.assign(age=numbers["age"] + 10), model=model)
    assert [own.price for own in found.lines] == [3.0, 3.0]
    assert max(own.distance for own in found.lines) == pytest.approx(3 * 10 / X["age"].std(ddof=0))


def test_gaps_that_the_model_fills_have_no_price_and_are_named() -> None:
    model = sf.RobustLogisticRegression(radius=0.1, missing_numeric="median").fit(X, Y)
    some = X.assign(age=np.where(np.arange(len(X)) % 5 == 0, np.nan, X["age"]))
    found = quick(X, some, model=model)
    expected = np.abs(X["age"] - X["age"].median())[np.arange(len(X)) % 5 == 0].sum() / len(X) / X["age"].std(ddof=0)
    assert line(found, "age").distance <= expected + 1e-9
    assert line(found, "age").note == "missing 0.0% to 20.0%"


def test_any_classifier_with_probabilities_is_decomposed() -> None:
    X_b, y_b = applications(1, 600, income=36.0)
    encode = make_column_transformer((OneHotEncoder(), ["channel"]), remainder="passthrough")
    pipeline = make_pipeline(encode, GradientBoostingClassifier(n_estimators=10)).fit(X, Y)
    search = GridSearchCV(make_pipeline(encode, LogisticRegression(max_iter=2000)), {"logisticregression__C": [1.0]}, cv=2)
    three = LogisticRegression().fit(X[["age"]], np.digitize(X["age"], [30, 50]))
    for model in (pipeline, search.fit(X, Y)):
        found = quick(X, X_b, Y, y_b, model)
        parts = found.decomposition
        assert parts.change.value == pytest.approx(parts.loss_b - parts.loss_a)
        assert parts.inputs.value + parts.relation.value == pytest.approx(parts.change.value)
        assert parts.rows_of_a.value + parts.rows_of_b.value == pytest.approx(parts.inputs.value)
        assert parts.calibration.observed[1] == pytest.approx(np.mean(y_b == "repaid"))
        assert found.radius.model_radius is None and "Mean log loss" in repr(found)
    ages = [table[["age"]] for table in (X, X_b)]
    found = quick(*ages, *(np.digitize(own["age"], [30, 50]) for own in ages), three)
    assert found.decomposition.calibration is None and found.decomposition.told_apart
    assert set(found.to_frame()["part"]) == {"column", "radius", "loss"}


def test_a_table_that_the_model_refuses_is_still_compared_and_the_reason_said(robust: Any) -> None:
    X_b, y_b = applications(1, 100)
    found = quick(X, X_b.drop(columns="income"), Y, y_b, robust)
    assert found.missing == ("income",) and found.decomposition is None
    assert "The model cannot judge both tables without 'income'." in repr(found)
    found = quick(X, X_b.assign(channel=X_b["channel"].replace({"web": "app"})), Y, y_b, robust)
    assert "channel" in found.shifted and found.decomposition is None
    assert "The model cannot judge the second table: column 'channel', row" in repr(found) and "'app'" in found.unjudged
    assert quick(X, X_b, model=robust).unjudged == ""


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_columns_that_the_model_was_not_fitted_to_are_named_and_do_not_stop_it(robust: Any, library: str) -> None:
    X_b, y_b = applications(1, 300)
    tables = X.assign(repaid=Y, month=3), X_b.assign(branch="A", month=4)
    if library == "polars":
        tables = tuple(map(pytest.importorskip("polars").from_pandas, tables))
    elif library == "pyarrow":
        tables = tuple(map(pytest.importorskip("pyarrow").Table.from_pandas, tables))
    found, plain = quick(*tables, Y, y_b, robust), quick(X, X_b, Y, y_b, robust)
    assert found.unknown == ("repaid", "month", "branch") and found.extra == ()
    assert "the model was not fitted to the columns 'repaid', 'month', 'branch'." in repr(found)
    assert found.decomposition == plain.decomposition and found.lines == plain.lines
    encode = make_column_transformer((OneHotEncoder(), ["channel"]), remainder="passthrough")
    pipeline = make_pipeline(encode, sf.RobustLogisticRegression(radius=0.02))
    behind = quick(*(X.assign(month=3), X_b.assign(month=4)), Y, y_b, pipeline.fit(X, Y))
    assert behind.decomposition is not None and behind.unknown == ("month",)


def test_labels_that_the_model_does_not_know_and_models_that_are_not_fitted_are_refused(robust: Any) -> None:
    X_b, _ = applications(1, 100)
    with pytest.raises(sf.InvalidTableError, match="y_b, row 0: 'late' is none of the classes"):
        quick(X, X_b, Y, np.full(100, "late"), robust)
    with pytest.raises(ValueError, match="not fitted"):
        quick(X, X_b, model=LogisticRegression())


def normal_rows(seed: int, n: int, centre: float, slope: float, level: float) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng([41, seed])
    rows = rng.normal(size=(n, 2))
    rows[:, 0] += centre
    return rows, (rng.random(n) < expit(level + slope * rows[:, 0] + 0.5 * rows[:, 1])).astype(int)


@pytest.fixture(scope="module")
def fitted() -> Any:
    return LogisticRegression().fit(*normal_rows(0, 4000, 0.0, 2.0, 0.0))


def weighted_parts(model: Any, tables: Any, centre: float) -> tuple[float, float]:
    """Inputs and relation of some rows with the densities that they were drawn from."""
    means, shared = [], []
    for at, (rows, y) in enumerate(tables):
        losses = -np.log(model.predict_proba(rows)[np.arange(len(y)), y])
        second = expit(centre * rows[:, 0] - centre**2 / 2)
        means.append(losses.mean())
        shared.append(np.average(losses, weights=second if at == 0 else 1 - second))
    return shared[0] - means[0] + means[1] - shared[1], shared[1] - shared[0]


@pytest.mark.parametrize(
    ("centre", "slope", "level", "inputs", "answers"),
    [
        (0.0, 2.0, 0.0, False, False),
        (-1.2, 2.0, 0.0, True, False),
        (0.0, 0.3, 0.0, False, True),
        (0.0, 2.0, 1.0, False, True),
        (-1.2, 0.3, 0.5, True, True),
    ],
    ids=["nothing", "inputs", "relation", "level", "both"],
)
def test_what_changed_is_what_is_found(
    fitted: Any, centre: float, slope: float, level: float, inputs: bool, answers: bool
) -> None:
    a, b = normal_rows(1, 3000, 0.0, 2.0, 0.0), normal_rows(2, 2500, centre, slope, level)
    found = quick(a[0], b[0], a[1], b[1], fitted).decomposition
    own = weighted_parts(fitted, (a, b), centre)
    ideal = (normal_rows(5, 100_000, 0.0, 2.0, 0.0), normal_rows(6, 100_000, centre, slope, level))
    for part, same_rows, true in zip((found.inputs, found.relation), own, weighted_parts(fitted, ideal, centre), strict=True):
        assert part.value == pytest.approx(same_rows, abs=0.02)
        assert part.low - 0.03 <= true <= part.high + 0.03
    assert found.inputs.told is inputs
    assert found.answers_changed is answers


def test_without_overlap_no_answer_is_given(fitted: Any) -> None:
    a, b = normal_rows(1, 600, 0, 2.0, 0.0), normal_rows(2, 600, 7.0, 2.0, 0.0)
    found = quick(a[0], b[0], a[1], b[1], fitted).decomposition
    assert found.inputs is None and found.relation is None and not found.told_apart and found.answers_changed is None
    assert "cannot be told apart" in str(found) and found.overlap < 0.05
    few = quick(a[0], a[0][:5], a[1], a[1][:5], fitted).decomposition
    assert not few.told_apart and few.overlap <= 1 and "worth" in str(few)
    # Few rows are no lack of overlap.
    small = quick(a[0][:40], a[0][40:70], a[1][:40], a[1][40:70], fitted).decomposition
    assert small.overlap > 0.5 and "the tables are small (40 and 30 rows; what they share is worth" in str(small)
    assert "share too few" not in str(small) and "share too few" in str(found)


def test_a_model_and_tables_that_were_never_named_go_by_order() -> None:
    rows, y = normal_rows(1, 200, 0.0, 2.0, 0.0)
    model = sf.RobustLogisticRegression(numeric_weights=[2.0, 0.5]).fit(rows, y)
    for table in (rows, pd.DataFrame(rows, columns=["u", "v"])):
        found = quick(table, table, model=model)
        assert {own.name: own.price for own in found.lines} == {"x0": 2.0, "x1": 0.5}


def test_an_automatic_radius_is_not_judged_by_shifts_and_chance_stands_beside_the_proven_cost() -> None:
    model = sf.RobustLogisticRegression().fit(X, Y)
    for income, told in ((32.0, "No shift beyond chance"), (60.0, "The shift amounts to")):
        radius = quick(X, applications(1, 700, income)[0], model=model).radius
        assert radius.automatic and radius.covered is None and told in str(radius)
        assert "never meant to cover shifts. Name what may shift: radius or shift=." in str(radius)
        assert "stands." not in str(radius) and "cover that" not in str(radius)
    same = quick(X, applications(1, 700)[0], model=model)
    # Three columns: samples of one population are about as far apart row by row as these two.
    assert same.radius.by_chance == pytest.approx(same.radius.lower, rel=0.15)
    shown = f"of this size cost at least about {same.radius.by_chance:.3g}."
    assert shown in repr(same) and shown in same._repr_html_()
    named = sf.RobustLogisticRegression(radius=0.2).fit(X, Y)
    assert not quick(X, X, model=named).radius.automatic and quick(X, X, model=named).radius.covered


def test_a_loss_that_hardly_changed_is_not_said_to_have_changed() -> None:
    def told(change: Part, inputs: Part, relation: Part, drift: Part | None = None) -> str:
        calibration = None if drift is None else Calibration("yes", (0.5, 0.5), (0.5, 0.5), drift)
        parts = (change, inputs, relation, None, None, calibration, 0.9, (300.0, 300.0), 0.05, (400, 400))
        return Decomposition(0.5, 0.5 + change.value, *parts).in_words[1]

    still, up, down = Part(-0.0007, -0.029, 0.029), Part(0.0171, 0.004, 0.03), Part(-0.0178, -0.031, 0.002)
    beyond = Part(-0.0178, -0.031, -0.002)
    said = told(still, up, down)
    assert "The mean loss hardly changed (-0.0007, no more than chance): other rows +0.0171 and other answers" in said
    assert "same rows -0.0178 (no more than chance). Answers to the same rows have not changed" in said
    assert "Other rows changed the loss" not in said
    said = told(still, up, beyond)
    assert said.startswith("Answers to the same rows have changed. The mean loss hardly changed") and said.endswith("-0.0178.")
    assert "Other rows changed the loss, too" not in told(still, up, down, Part(0.1, 0.05, 0.15))
    # Where the loss did change, other rows did change it.
    assert told(up, up, still).startswith("Other rows changed the loss;")
    assert told(up, up, Part(0.01, 0.005, 0.02)).endswith("Other rows changed the loss, too.")
    assert told(still, still, still).startswith("Neither other rows nor other answers")
