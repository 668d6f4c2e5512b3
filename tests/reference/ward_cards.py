"""A drawn ward of patients, small cards for it, and the loss of a card by its definition."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from surefoot import RiskScoreClassifier
from surefoot import constraints as sc


def ward(rows: int = 300, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(seed)
    age = rng.integers(20, 95, rows)
    table = pd.DataFrame(
        {
            "age >= 40": (age >= 40).astype(int),
            "age >= 65": (age >= 65).astype(int),
            "diabetes": (rng.random(rows) < 0.25).astype(int),
            "smoker": (rng.random(rows) < 0.35).astype(int),
            "visits": rng.integers(0, 4, rows),
        }
    )
    score = -2.2 + 1.1 * table["age >= 65"] + 1.6 * table["diabetes"] + 0.6 * table["smoker"] + 0.3 * table["visits"]
    return table, np.where(score + rng.logistic(size=rows) > 0, "ill", "healthy")


X, Y = ward()
SMALL = {"max_features": 3, "max_points": 3, "intercept_bound": 10}


def fitted(*rules: sc.Constraint, **changes: Any) -> RiskScoreClassifier:
    return RiskScoreClassifier(**{**SMALL, "constraints": rules, **changes}).fit(X, Y)


def mean_loss(points: dict[str, int], intercept: int, weights: np.ndarray | None = None) -> float:
    score = intercept + sum(X[name].to_numpy() * value for name, value in points.items())
    losses = np.logaddexp(0.0, np.where(Y == "ill", -1.0, 1.0) * score)
    return float(np.average(losses, weights=weights))
