"""The worst case as a table: every line can be made, all lines together cost the radius, and no distribution is worse."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from reference.worst_case import worst_case_loss

import surefoot as sf
from surefoot.design.encode.table_encoder import TableEncoder
from surefoot.robust.problem.problem import RobustCoefficients, RobustLogisticProblem


def log_losses(model: Any, X: pd.DataFrame, y: np.ndarray) -> np.ndarray:
    return -model.predict_log_proba(X)[np.arange(len(y)), (y == model.classes_[1]).astype(int)]


def apply(worst: Any, X: pd.DataFrame, y: np.ndarray) -> tuple[pd.DataFrame, np.ndarray, np.ndarray, np.ndarray]:
    """Rows after the shift, their labels and masses, and where each came from; the last ones are the rows that stay."""
    shifts = worst.table.assign(shift=worst.shift).groupby("shift", sort=True)
    first = shifts.first()
    rows, mass = first["row"].to_numpy(), first["mass"].to_numpy()
    moved, labels = X.iloc[rows].reset_index(drop=True), y[rows].copy()
    for at, (_, moves) in enumerate(shifts):
        assert moves["mass"].nunique() == moves["row"].nunique() == 1
        for move in moves.to_dict("records"):
            if move["feature"] == "(label)":
                assert labels[at] == move["from"]
                labels[at] = move["to"]
            else:
                assert moved.loc[at, move["feature"]] == move["from"]
                moved.loc[at, move["feature"]] = move["to"]
    return moved, labels, mass, rows


def moving_cost(model: Any, before: pd.DataFrame, after: pd.DataFrame, flipped: np.ndarray) -> np.ndarray:
    cost = flipped * (model.label_weight if flipped.any() else 0.0)
    gamma, delta = iter(model.ground_cost_.numeric_weights), iter(model.ground_cost_.categorical_weights)
    distances = [np.zeros(len(before))]
    for column in model.schema_.columns:
        old, new = before[column.name].to_numpy(), after[column.name].to_numpy()
        if column.kind == "numeric":
            distances.append(np.abs(old - new) * next(gamma))
        else:
            cost = cost + (old != new) * next(delta)
    return cost + np.linalg.norm(np.column_stack(distances), {"l1": 1, "l2": 2, "linf": np.inf}[model.norm], axis=1)


PARAMETERS = {
    "mixed": {"radius": 0.05},
    "cheap categories": {"radius": 0.05, "categorical_weights": 0.2},
    "cheap numbers": {"radius": 0.05, "numeric_weights": [0.002, 0.1], "categorical_weights": 20.0},
    "labels": {"radius": 0.05, "label_weight": 0.5, "categorical_weights": 0.7},
    "large radius": {"radius": 0.2, "categorical_weights": {"channel": 0.4, "member": 1.3}},
}


@pytest.mark.parametrize("name", PARAMETERS)
@pytest.mark.parametrize("norm", ["l1", "l2", "linf"])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_table_is_a_distribution_within_the_radius_that_reaches_the_expected_loss(
    survey: Any, name: str, norm: str, weighted: bool
) -> None:
    weights = np.linspace(0.0, 2.0, len(survey.y)) if weighted else np.ones(len(survey.y))
    model = sf.RobustLogisticRegression(norm=norm, **PARAMETERS[name]).fit(survey.X, survey.y, sample_weight=weights)
    worst = model.worst_case(survey.X, survey.y, sample_weight=weights)
    shares = weights / weights.sum()
    moved, labels, mass, rows = apply(worst, survey.X, survey.y)

    stays = shares - np.bincount(rows, weights=mass, minlength=len(shares))
    assert stays.min() >= -1e-12
    spent = mass @ moving_cost(model, survey.X.iloc[rows].reset_index(drop=True), moved, labels != survey.y[rows])
    assert spent == pytest.approx(worst.radius, rel=1e-9)

    reached = mass @ log_losses(model, moved, labels) + stays @ log_losses(model, survey.X, survey.y)
    assert reached == pytest.approx(worst.expected_loss, rel=3e-6)
    assert worst.nominal_loss == pytest.approx(shares @ log_losses(model, survey.X, survey.y), rel=1e-12)
    assert worst.expected_loss > worst.nominal_loss
    assert worst.expected_loss == pytest.approx(model.certificate_.upper_bound, rel=1e-5)


@pytest.mark.filterwarnings("ignore::surefoot.exceptions.WeakModelWarning")
def test_a_model_without_features_cannot_be_hurt_by_any_shift(survey: Any) -> None:
    model = sf.RobustLogisticRegression(radius=5.0).fit(survey.X, survey.y)
    assert not model.coef_.any()
    worst = model.worst_case(survey.X, survey.y)
    assert worst.expected_loss == pytest.approx(worst.nominal_loss, rel=1e-12)
    assert len(worst.table) == 0


@pytest.mark.parametrize("name", PARAMETERS)
@pytest.mark.parametrize("radius", [0.01, 0.3])
def test_no_distribution_is_worse(survey: Any, name: str, radius: float) -> None:
    model = sf.RobustLogisticRegression(**PARAMETERS[name]).fit(survey.X, survey.y)
    X, y = survey.X[:25], survey.y[:25]
    worst = model.worst_case(X, y, radius=radius)
    design = TableEncoder.from_schema(model.schema_).encode(X)
    numeric, levels = model.schema_.split_coefficients(model.coef_[0])
    coefficients = RobustCoefficients(float(model.intercept_[0]), numeric, levels, worst.price)
    problem = RobustLogisticProblem(
        numeric=design.numeric,
        codes=design.codes,
        n_levels=design.n_levels,
        labels=np.where(y == "stays", 1.0, -1.0),
        weights=np.full(25, 1 / 25),
        cost=model.ground_cost_,
        radius=radius,
    )
    # Weak duality: at any price that stops numeric moves, price * radius + mean worst loss bounds every distribution.
    assert worst.price >= np.max(np.abs(numeric) / model.ground_cost_.numeric_weights) * (1 - 1e-12)
    bound = worst.price * radius + np.mean([worst_case_loss(problem, coefficients, row, worst.price) for row in range(25)])
    assert worst.expected_loss == pytest.approx(bound, rel=1e-9)


def test_the_summary_adds_up_to_the_radius(survey: Any) -> None:
    model = sf.RobustLogisticRegression(radius=0.05, label_weight=0.5, categorical_weights=0.7).fit(survey.X, survey.y)
    worst = model.worst_case(survey.X, survey.y)
    summary = worst.summary()
    assert list(summary.columns) == ["feature", "from", "to", "mass", "budget"]
    assert summary["budget"].sum() == pytest.approx(0.05, rel=1e-9)
    assert summary["budget"].is_monotonic_decreasing
    assert summary["mass"].sum() == pytest.approx(worst.table["mass"].sum())
    assert not summary.duplicated(["feature", "from", "to"]).any()
    channel = worst.table[worst.table["feature"] == "channel"].groupby(["from", "to"])["mass"].sum()
    listed = summary[summary["feature"] == "channel"].set_index(["from", "to"])["mass"]
    assert listed.to_dict() == pytest.approx(channel.to_dict())


def test_the_numeric_move_takes_the_column_whose_coefficient_is_dearest(survey: Any) -> None:
    x = survey.X[["age", "income"]]
    model = sf.RobustLogisticRegression(radius=0).fit(x, survey.y)
    worst = model.worst_case(x, survey.y, radius=0.05)
    dearest = np.argmax(np.abs(model.coef_[0]) * x.std(ddof=0))
    assert worst.numeric_budget == pytest.approx(0.05)
    assert worst.table["feature"].tolist() == [x.columns[dearest]]
    assert worst.summary()[["from", "to"]].isna().all(axis=None)
    assert "(any value)" in str(worst) and "(far away)" in str(worst)


@pytest.mark.parametrize("norm", ["l2", "linf"])
def test_in_other_norms_all_numeric_columns_move_together_and_share_the_bill(survey: Any, norm: str) -> None:
    x = survey.X[["age", "income"]].assign(fixed=np.arange(120.0) / 2, still=0.0)
    gamma = np.array([0.05, 0.1, np.inf, 1.0])
    model = sf.RobustLogisticRegression(radius=0, norm=norm, numeric_weights=gamma).fit(x, survey.y)
    model.coef_[0, 3] = 0.0  # the column is constant, so that any coefficient is as good
    beta = model.coef_[0]
    worst = model.worst_case(x, survey.y, radius=0.05)
    ratio = np.abs(beta[:2]) / gamma[:2]
    assert worst.numeric_budget == pytest.approx(0.05)
    assert worst.price == pytest.approx(np.linalg.norm(ratio, {"l2": 2, "linf": 1}[norm]), rel=1e-12)
    assert worst.table["feature"].tolist() == ["age", "income"]
    assert worst.table["mass"].nunique() == len(set(worst.shift)) == 1
    moved = (worst.table["to"].astype(float) - worst.table["from"].astype(float)).to_numpy()
    # Straight down the gradient in l2, equally far in the units of the prices in linf.
    expected = beta[:2] / gamma[:2] ** 2 if norm == "l2" else np.sign(beta[:2]) / gamma[:2]
    np.testing.assert_allclose(np.abs(moved / moved[0]), np.abs(expected / expected[0]), rtol=1e-9)
    assert np.sign(moved[0] * moved[1]) == np.sign(beta[0] * beta[1])
    budget = worst.summary().set_index("feature")["budget"]
    gain = ratio**2 if norm == "l2" else ratio
    np.testing.assert_allclose(budget[["age", "income"]], 0.05 * gain / gain.sum(), rtol=1e-9)
    assert worst.summary()[["from", "to"]].isna().all(axis=None)
    assert str(worst).count("(far away)") == 2


def test_label_flips_are_named_by_the_classes(survey: Any) -> None:
    model = sf.RobustLogisticRegression(radius=0.05, label_weight=0.5, categorical_weights=50.0, numeric_weights=50.0)
    moves = model.fit(survey.X, survey.y).worst_case(survey.X, survey.y).table
    flips = moves[moves["feature"] == "(label)"]
    assert flips["mass"].sum() == pytest.approx(0.05 / 0.5, rel=0.1)
    assert set(zip(flips["from"], flips["to"], strict=True)) <= {("stays", "leaves"), ("leaves", "stays")}
    assert (survey.y[flips["row"]] == flips["from"]).all()


def test_the_printed_form_lists_at_most_ten_moves() -> None:
    draw = np.random.default_rng(0)
    table = pd.DataFrame({f"c{k}": draw.choice(list("uvw"), 200) for k in range(8)})
    labels = (table == "u").sum(axis=1) + draw.normal(size=200) > 2.7
    model = sf.RobustLogisticRegression(radius=0.01).fit(table, labels)
    worst = model.worst_case(table, labels, radius=0.8)
    lines = str(worst).splitlines()
    assert repr(worst) == str(worst)
    assert lines[0].startswith("Worst case within radius 0.8: expected log loss ")
    assert lines[1].split() == ["feature", "from", "to", "mass", "budget"]
    assert len(worst.summary()) > 10
    assert lines[-1] == f"  ... and {len(worst.summary()) - 10} more"
    assert len(lines) == 13


def test_other_tables_and_other_radii_can_be_asked_about(survey: Any) -> None:
    model = sf.RobustLogisticRegression(radius=0.05).fit(survey.X, survey.y)
    losses = [model.worst_case(survey.X[:30], survey.y[:30], radius=radius).expected_loss for radius in (0.0, 0.05, 0.5)]
    assert losses == sorted(losses) and losses[0] < losses[1] < losses[2]
    assert losses[0] == pytest.approx(log_losses(model, survey.X[:30], survey.y[:30]).mean())
    assert model.worst_case(survey.X[:30], survey.y[:30]).expected_loss == losses[1]


@pytest.mark.parametrize(
    ("labels", "radius", "message"),
    [
        (["stays", "goes"], None, "row 1: 'goes' is not one of the classes that the model knows, 'leaves' and 'stays'"),
        (["stays"], None, "X has 2 rows, y has 1 labels"),
        (["stays", "leaves"], -1.0, "radius = -1.0 must be a finite number"),
        (["stays", "leaves"], math.nan, "radius = nan must be a finite number"),
    ],
)
def test_questions_without_meaning_are_refused(survey: Any, labels: list[str], radius: Any, message: str) -> None:
    model = sf.RobustLogisticRegression().fit(survey.X, survey.y)
    with pytest.raises(ValueError, match=message):
        model.worst_case(survey.X[:2], labels, radius=radius)


def test_a_column_of_0_and_1_that_moves_without_end_is_said_to_need_a_price_as_a_category() -> None:
    rng = np.random.default_rng(1)
    table = pd.DataFrame({"smoker": rng.integers(0, 2, 300).astype(float), "age": rng.normal(50, 10, 300)})
    ill = rng.logistic(size=300) < 2.0 * table["smoker"] - 1.0
    model = sf.RobustLogisticRegression(radius=0.05).fit(table, ill)
    worst = model.worst_case(table, ill)
    assert worst.endless_binary == ("smoker",)
    assert "categorical_weights={'smoker': 1}" in str(worst) and "no numeric_range" not in str(worst)
    priced = sf.RobustLogisticRegression(radius=0.05, categorical_weights={"smoker": 1}).fit(table, ill)
    assert priced.worst_case(table, ill).endless_binary == ()
    assert "far away" not in str(priced.worst_case(table, ill))
    other = model.worst_case(table.assign(smoker=2.0 * table["smoker"]), ill)
    assert "smoker: no numeric_range says how far" in str(other)


def test_moves_that_raise_the_loss_by_less_than_its_rounding_are_none():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"inc": rng.normal(size=60), "age": rng.normal(size=60)})
    y = (X["age"] + rng.normal(size=60) > 0).astype(int).to_numpy()
    # Solvers may leave a trace of a coefficient where the best one is 0.
    model = sf.RobustLogisticRegression(radius=0.05).fit(X, y)
    model.coef_ = np.array([[1e-28, 0.0]])
    worst = model.worst_case(X, y)
    assert str(worst).endswith("No shift within the radius raises it.")
    assert len(worst.table) == 0
    assert worst.numeric_budget == 0
    # A raise that can be told is told, small as it is.
    model.coef_ = np.array([[1e-9, 0.0]])
    assert "inc" in str(model.worst_case(X, y, radius=1e-3))
