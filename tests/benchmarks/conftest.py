"""The benchmarks are scripts that import each other by file name, so their directory must be importable."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
NAMES = [path.stem for path in BENCHMARKS.glob("*.py")]


@pytest.fixture(autouse=True)
def importable_benchmarks(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Put the directory first, and forget what else goes by these names: tests/problems is a folder on the path as well."""
    for name in NAMES:
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    yield
    for name in NAMES:
        sys.modules.pop(name, None)
