"""Tables for the tests of the estimators, and which tests are slow."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest

SLOW_LIST = Path(__file__).resolve().parent / "slow.txt"


def slow_entries(text: str) -> list[str]:
    """The entries of the list: paths below tests, with or without ``::`` and the name of a test; # begins a remark."""
    return [line for line in (line.partition("#")[0].strip() for line in text.splitlines()) if line]


def is_listed(node: str, entry: str) -> bool:
    """Whether a test (its node id, as from the folder tests) belongs to an entry: the same file, test, or parameters of it."""
    return node == entry or node.startswith((f"{entry}::", f"{entry}["))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of the list; one place, so that a test may be rewritten without a thought about its speed."""
    entries = slow_entries(SLOW_LIST.read_text(encoding="utf-8"))
    for item in items:
        node = item.nodeid.removeprefix("tests/")
        if any(is_listed(node, entry) for entry in entries):
            item.add_marker(pytest.mark.slow)


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
