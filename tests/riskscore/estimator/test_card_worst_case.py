"""The worst shift of a score card is the one its robust fit was safe against, and every line of it can be made."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import surefoot as sf


def people(rows: int = 120) -> tuple[pd.DataFrame, np.ndarray]:
    draw = np.random.default_rng(3)
    X = pd.DataFrame(draw.integers(0, 2, (rows, 4)), columns=list("abcd")).assign(visits=draw.integers(0, 6, rows))
    score = 1.5 * X["a"] - 1.2 * X["b"] + 0.3 * X["visits"] - 0.5
    return X, np.where(draw.logistic(size=rows) < score, "yes", "no")


X, Y = people()


@pytest.mark.parametrize(
    "options",
    [
        {"radius": 0.1},
        {"radius": 0.1, "scale": "free", "max_points": 3},
        {"shift": sf.ShiftModel(numeric_certainty=0.8, categorical_certainty={"a": 0.7, "b": 0.9})},
    ],
)
def test_on_the_rows_of_training_it_is_what_the_certificate_says(options: dict[str, Any]) -> None:
    model = sf.RiskScoreClassifier(max_features=3, gap=0.05, **options).fit(X, Y)
    worst = model.worst_case(X, Y)
    penalty = model.sparsity_penalty * len(model.points_)
    assert worst.expected_loss + penalty == pytest.approx(model.certificate_.upper_bound, rel=1e-9)
    assert worst.expected_loss > worst.nominal_loss


def test_its_moves_flip_columns_with_points_and_cost_the_radius() -> None:
    model = sf.RiskScoreClassifier(max_features=3).fit(X[list("abcd")], Y)
    assert model.worst_case(X[list("abcd")], Y).expected_loss == pytest.approx(
        -model.predict_log_proba(X[list("abcd")])[np.arange(len(Y)), (Y == "yes").astype(int)].mean()
    )
    worst = model.worst_case(X[list("abcd")], Y, radius=0.2)
    assert worst.table["mass"].sum() == pytest.approx(0.2)  # a flip costs 1
    for move in worst.table.to_dict("records"):
        assert move["feature"] in model.points_
        assert X.iloc[move["row"]][move["feature"]] == move["from"] == 1 - move["to"]
    shifted = X[list("abcd")].copy()
    for move in worst.table.to_dict("records"):
        shifted.loc[move["row"], move["feature"]] = move["to"]
    # Whole rows have moved, but perhaps one; mixed, they have the loss that is claimed.
    parts = worst.table.assign(shift=worst.shift).groupby("shift").first()
    losses = -model.predict_log_proba(shifted)[np.arange(len(Y)), (Y == "yes").astype(int)]
    before = -model.predict_log_proba(X[list("abcd")])[np.arange(len(Y)), (Y == "yes").astype(int)]
    gain = sum(mass * (losses[row] - before[row]) for row, mass in zip(parts["row"], parts["mass"], strict=True))
    assert before.mean() + gain == pytest.approx(worst.expected_loss)


def test_a_shift_model_without_reach_still_names_prices() -> None:
    shift = sf.ShiftModel(categorical_certainty={"a": 0.8}, robustness=1.0)
    model = sf.RiskScoreClassifier(max_features=2, shift=shift).fit(X[list("ab")], Y)
    assert set(model.points_) == {"a", "b"}
    assert len(model.worst_case(X[list("ab")], Y).table) == 0
    worst = model.worst_case(X[list("ab")], Y, radius=0.1)
    assert set(worst.table["feature"]) == {"a"}  # column b never shifts
    assert worst.table["mass"].sum() == pytest.approx(0.1 / np.log(0.8 / 0.2))


def test_a_card_without_points_has_nothing_to_lose() -> None:
    model = sf.RiskScoreClassifier(max_features=0).fit(X, Y)
    worst = model.worst_case(X, Y, radius=0.5)
    assert worst.expected_loss == pytest.approx(worst.nominal_loss)
    assert len(worst.table) == 0
