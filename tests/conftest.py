"""Tables for the tests of the estimators, and which tests are slow."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest

SLOW_LIST = Path(__file__).resolve().parent / "slow.txt"
MANY_CASES = 15


class SlowEntry(NamedTuple):
    """Tests that `make quick` leaves out: all of ``where``, or all but one case in ``keep``."""

    where: str
    keep: int = 0

    def covers(self, node: str) -> bool:
        """Whether a test (its node id, as from the folder tests) is meant: the same file, test, or parameters of it."""
        return node == self.where or node.startswith((f"{self.where}::", f"{self.where}["))


def slow_entries(text: str) -> list[SlowEntry]:
    """The entries of the list: a path below tests, with or without ``::`` and a test, and ``1/k``; # begins a remark."""
    lines = (line.partition("#")[0].split() for line in text.splitlines())
    return [SlowEntry(line[0], int(line[1].removeprefix("1/")) if line[1:] else 0) for line in lines if line]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the slow tests; one place, so that a test may be rewritten without a thought about its speed.

    They are those of the list, and two of every three cases of a test with more than MANY_CASES.
    """
    entries = slow_entries(SLOW_LIST.read_text(encoding="utf-8"))
    cases = Counter(item.nodeid.partition("[")[0] for item in items)
    seen: Counter[SlowEntry] = Counter()
    for item in items:
        test = item.nodeid.partition("[")[0]
        node = item.nodeid.removeprefix("tests/")
        entry = next((entry for entry in entries if entry.covers(node)), None)
        if entry is None and cases[test] > MANY_CASES:
            entry = SlowEntry(test, 3)
        if entry is None:
            continue
        if not entry.keep or seen[entry] % entry.keep:
            item.add_marker(pytest.mark.slow)
        seen[entry] += 1


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
