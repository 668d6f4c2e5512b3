"""Score cards under shifts: radius and prices, as they are or from a shift model."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import pytest
from reference.ward_cards import SMALL, X, Y, fitted

from surefoot import RiskScoreClassifier
from surefoot import constraints as sc
from surefoot.riskscore.problem.score_shift import ScoreShift


class Calibrated(NamedTuple):
    """A shift model that knows its answer."""

    numeric_weights: dict[str, float]
    categorical_weights: dict[str, float]
    radius: float

    def calibrate(self, X: Any) -> Calibrated:
        return self


def test_a_radius_makes_the_loss_the_worst_one_within_it():
    table = X.drop(columns="visits")
    plain = RiskScoreClassifier(**SMALL).fit(table, Y)
    robust = RiskScoreClassifier(**SMALL, radius=0.3).fit(table, Y)
    reach = ScoreShift(0.3, np.ones(4), np.ones(4, dtype=bool))
    signs, weights = np.where(Y == "ill", 1.0, -1.0), np.full(len(Y), 1 / len(Y))

    def worst(model: RiskScoreClassifier) -> float:
        return reach.worst_loss(table.to_numpy(dtype=float), signs, weights, model.intercept_, model.coef_[0])[0]

    assert robust.outcome_.upper_bound == pytest.approx(worst(robust) + 1e-8 * len(robust.points_), abs=1e-9)
    assert plain.outcome_.upper_bound < robust.outcome_.upper_bound < worst(plain)


def test_a_shift_model_names_radius_and_prices():
    named = {"diabetes": 0.3, "smoker": math.inf}
    defaults = {"age >= 40": 1.0, "age >= 65": 1.0}
    table = X.drop(columns="visits")
    shifted = RiskScoreClassifier(**SMALL, shift=Calibrated(named, {}, 0.05)).fit(table, Y)
    spelled = RiskScoreClassifier(**SMALL, shift=Calibrated({}, {**named, **defaults}, 0.05)).fit(table, Y)
    even = RiskScoreClassifier(**SMALL, radius=0.05).fit(table, Y)
    assert shifted.outcome_.upper_bound == spelled.outcome_.upper_bound != even.outcome_.upper_bound
    calm = RiskScoreClassifier(**SMALL, shift=Calibrated({}, {}, 0.0)).fit(table, Y)
    assert calm.points_ == RiskScoreClassifier(**SMALL).fit(table, Y).points_
    with pytest.raises(ValueError, match=r"radius = 9.0 beside shift would count for nothing"):
        RiskScoreClassifier(**SMALL, radius=9.0, shift=Calibrated(named, {}, 0.05)).fit(table, Y)


def test_columns_that_move_are_priced_by_their_spread():
    spread = 1.0 / np.std(X["visits"])
    used = sc.AtLeast(1, ["visits"])
    free = fitted(used, radius=0.02)
    named, dear = (fitted(used, shift=Calibrated({"visits": price}, {}, 0.02)) for price in (spread, 2 * spread))
    assert free.outcome_.upper_bound == pytest.approx(named.outcome_.upper_bound, abs=1e-12)
    assert dear.outcome_.upper_bound < free.outcome_.upper_bound - 1e-4
