"""Problems on public tables whose optimum other programs have computed; absent tables skip the test that asks for one."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from surefoot.robust.problem.ground_cost import GroundCost
from surefoot.robust.problem.problem import RobustLogisticProblem

TABLES = Path(__file__).resolve().parents[3] / "shared" / "data" / "uci"


def categorical_table(
    file: str, positive: str, weights: tuple[float, ...], theta: float, dropped: str = ""
) -> RobustLogisticProblem:
    """All columns categorical, every distinct text a level; radius -log(theta), equal row weights, no label flips."""
    path = TABLES / file
    if not path.exists():
        pytest.skip(f"{file} is not at hand")
    with path.open(newline="", encoding="utf-8") as stream:
        records = [record for record in csv.DictReader(stream) if record["class"] != dropped]
    names = [name for name in records[0] if name != "class"]
    columns = [np.unique([record[name] for record in records], return_inverse=True) for name in names]
    rows = len(records)
    return RobustLogisticProblem(
        numeric=np.zeros((rows, 0)),
        codes=np.column_stack([codes for _, codes in columns]),
        n_levels=np.array([len(levels) for levels, _ in columns]),
        labels=np.array([1.0 if record["class"] == positive else -1.0 for record in records]),
        weights=np.full(rows, 1.0 / rows),
        cost=GroundCost(numeric_weights=np.zeros(0), categorical_weights=np.array(weights)),
        radius=float(-np.log(theta)),
    )


def balance_scale(theta: float) -> RobustLogisticProblem:
    return categorical_table("balance_scale.csv", "L", (0.9, 1.4, 2.3, 0.6), theta, dropped="B")


def car(theta: float) -> RobustLogisticProblem:
    return categorical_table("car.csv", "unacc", (1.0, 2.0, 3.0, 1.0, 2.0, 1.0), theta)


def tic_tac_toe(theta: float) -> RobustLogisticProblem:
    return categorical_table("tic_tac_toe.csv", "positive", (1.0, 2.0, 1.0, 3.0, 1.0, 2.0, 1.0, 2.0, 1.0), theta)
