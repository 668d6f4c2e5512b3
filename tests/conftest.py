"""Tables for the tests of the estimators."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest


class Survey(NamedTuple):
    """A mixed table with overlapping classes, large enough that plain logistic regression exists."""

    X: pd.DataFrame
    y: np.ndarray


def draw_survey(rows: int = 120, seed: int = 0) -> Survey:
    draw = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "age": draw.integers(18, 80, rows).astype(float),
            "channel": draw.choice(["web", "phone", "shop"], rows),
            "income": draw.lognormal(3, 0.4, rows),
            "member": draw.random(rows) > 0.5,
        }
    )
    score = 0.04 * (table["age"] - 50) + 1.2 * (table["channel"] == "web") - 0.8 * table["member"]
    return Survey(table, np.where(score + draw.logistic(size=rows) > 0, "stays", "leaves"))


@pytest.fixture
def survey() -> Survey:
    return draw_survey()
