"""Small fitted models of every kind, made once."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import surefoot as sf

# At least three of four goods; two, and not the first.
THREE = (-np.ones((1, 4)), np.array([-3.0]))
NO_TEA = (np.array([[1.0, 0, 0, 0], [-1, -1, -1, -1]]), np.array([0.0, -2.0]))


class Fitted(NamedTuple):
    """A fitted model, and rows that it can score."""

    model: Any
    rows: Any


@pytest.fixture(scope="session")
def people() -> tuple[pd.DataFrame, Any]:
    """Ages, a channel and a yes-no column, with labels that depend on them."""
    rng = np.random.default_rng(7)
    table = pd.DataFrame(
        {
            "age": rng.normal(50, 10, 80).round(1),
            "channel": rng.choice(["web", "shop", 'the "old" one'], 80),
            "member": rng.integers(0, 2, 80),
        }
    )
    score = (table.age - 50) / 10 + table.member + (table.channel == "web") + rng.normal(0, 1, 80)
    return table, np.where(score > 1, "yes", "no")


@pytest.fixture(scope="session")
def fitted(people: tuple[pd.DataFrame, Any]) -> dict[str, Fitted]:
    table, y = people
    numbers = table[["age", "member"]]
    shift = sf.ShiftModel(numeric_certainty={"age": 0.8}, categorical_certainty=0.9, noise={"age": "gaussian"})
    binarizer = sf.ThresholdBinarizer(max_thresholds=3, rare_levels=2, missing="column").fit(table)
    columns = binarizer.transform(table)
    rules = [sf.constraints.Sign("member", "+"), sf.constraints.MinProbability({"member": 1}, 0.01)]
    gram = numbers.to_numpy() @ numbers.to_numpy().T
    half = len(table) // 2
    # The five youngest and the five oldest.
    apart = np.argsort(table.age.to_numpy())[[*range(5), *range(-5, 0)]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sf.ConvergenceLimitWarning)
        return {
            "robust": Fitted(sf.RobustLogisticRegression(shift=shift).fit(table, y), table),
            "robust without names": Fitted(
                sf.RobustLogisticRegression(numeric_weights=np.array([1.0, np.inf]), label_weight=3.0).fit(
                    numbers.to_numpy(), y == "yes"
                ),
                numbers.to_numpy(),
            ),
            "robust from batches": Fitted(
                sf.RobustLogisticRegression().fit([(table[:half], y[:half]), (table[half:], y[half:])]), table
            ),
            "path": Fitted(
                sf.RobustLogisticRegressionCV(radii=[0.01, 0.1], cv=StratifiedKFold(3), missing_numeric="median").fit(table, y),
                table,
            ),
            "card": Fitted(sf.RiskScoreClassifier(max_features=2, constraints=rules).fit(columns, y), columns),
            "near cards": Fitted(
                sf.RiskScoreClassifier(max_features=2, near_optimal=0.02, scale="free", class_weight={"no": 1.0, "yes": 2}).fit(
                    columns, y
                ),
                columns,
            ),
            "rounded card": Fitted(sf.RiskScoreClassifier(max_features=2, solver="rd").fit(columns, y), columns),
            "linear svc": Fitted(
                sf.ChanceConstrainedSVC(kernel="linear", probability=True, batches="rows", random_state=0).fit(numbers, y),
                numbers,
            ),
            "rbf svc": Fitted(
                sf.ChanceConstrainedSVC(violation=0.9, batches="clusters", random_state=0).fit(numbers, y), numbers
            ),
            "poly svc": Fitted(
                sf.ChanceConstrainedSVC(kernel="poly", violation=0.9, solver="socp", batches=8, random_state=0).fit(numbers, y),
                numbers,
            ),
            "precomputed svc": Fitted(sf.ChanceConstrainedSVC(kernel="precomputed", batches="rows").fit(gram, y), gram),
            "moments svc": Fitted(
                sf.ChanceConstrainedSVC(kernel="linear", C=100.0).fit_moments(numbers.iloc[apart], np.ones((10, 2)), y[apart]),
                numbers,
            ),
            "binarizer": Fitted(binarizer, table),
            "card of a table": Fitted(
                make_pipeline(sf.ThresholdBinarizer(), sf.RiskScoreClassifier(max_features=2)).fit(table, y), table
            ),
            "incenter": Fitted(
                sf.inverse.InverseOptimizer(sf.inverse.forward.BinaryProgram(), approach="incenter").fit(
                    [THREE, NO_TEA], [[1, 1, 1, 0], [0, 1, 1, 0]]
                ),
                [THREE, NO_TEA],
            ),
            "ellipsoidal cost": Fitted(
                sf.inverse.InverseOptimizer(sf.inverse.forward.FiniteChoice(), approach="ellipsoidal-asl", kappa=0.1).fit(
                    [np.eye(2), -np.eye(2)], [0, 1]
                ),
                [np.eye(2)],
            ),
            "circumcenter": Fitted(
                sf.inverse.InverseOptimizer(
                    sf.inverse.forward.LinearProgram(upper=np.array([1.0, 2.0, 1.0])),
                    approach="circumcenter",
                    prior={"A": -np.eye(3), "b": np.zeros(3)},
                ).fit([(-np.ones((1, 3)), np.array([-1.0]))], [[0.0, 1.0, 0.0]]),
                [(-np.ones((1, 3)), np.array([-2.0]))],
            ),
            "online cost": Fitted(
                sf.inverse.InverseOptimizer(
                    sf.inverse.forward.ShortestPath([("a", "b"), ("b", "c"), ("a", "c")]), prior="simplex", distance="none"
                ).partial_fit([("a", "c"), ("a", "b")], [[0, 0, 1], [1, 0, 0]]),
                [("a", "c")],
            ),
            "scaled svc": Fitted(
                make_pipeline(StandardScaler(), sf.ChanceConstrainedSVC(batches="rows")).fit(numbers, y),
                numbers,
            ),
        }


@pytest.fixture(scope="session")
def robust(fitted: dict[str, Fitted]) -> Any:
    return fitted["robust"].model
