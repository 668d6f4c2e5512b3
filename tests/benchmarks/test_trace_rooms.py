"""The trace of a fit: planted packages whose calls are known, and the default fits of all families."""

from __future__ import annotations

import importlib.util
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture
def trace_rooms() -> ModuleType:
    return import_module("trace_rooms")


def load(folder: Path, name: str, text: str) -> ModuleType:
    path = folder / f"{name.replace('.', '/')}.py"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(f"planted_{name.replace('.', '_')}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_first_visits_files_and_crossings_are_counted(trace_rooms: ModuleType, tmp_path: Path) -> None:
    low = load(tmp_path, "core.low", "def twice(x):\n    return 2 * x\n")
    # Sorting calls back: the call of ``twice`` counts as one from ``top``, whoever stands between them.
    text = "def top(twice):\n    return sorted([3, 1, 2], key=twice) + [inner()]\ndef inner():\n    return 1\n"
    top = load(tmp_path, "robust.top", text)
    found = trace_rooms.trace(lambda: top.top(low.twice), tmp_path)
    assert [str(visit) for visit in found.visits] == ["robust/top.py: top", "  core/low.py: twice", "  robust/top.py: inner"]
    assert found.files == ["robust/top.py", "core/low.py"]
    assert found.rooms == ["robust", "core"]
    assert found.calls == 5
    assert found.crossings == {("robust", "core"): 3}
    assert "5 calls, 3 of them between rooms: robust -> core 3" in found.summary()


def test_an_earlier_profiler_is_put_back_even_after_an_error(trace_rooms: ModuleType, tmp_path: Path) -> None:
    before = sys.getprofile()
    with pytest.raises(ZeroDivisionError):
        trace_rooms.trace(lambda: 1 / 0, tmp_path)
    assert sys.getprofile() is before


@pytest.mark.parametrize("family", ["robust", "riskscore", "chancesvm", "inverse"])
def test_a_default_fit_walks_from_its_estimator_to_its_certificate(trace_rooms: ModuleType, family: str) -> None:
    found = trace_rooms.trace_family(family)
    assert found.visits[0].file.startswith(f"{family}/estimator/")
    assert found.rooms[0] == family
    folders = {"/".join(file.split("/")[:2]) for file in found.files}
    assert {f"{family}/problem", f"{family}/certificate", f"{family}/estimator"} <= folders
    # Nothing comes back up: neither files nor reports take part in a fit.
    assert not {"files", "reports", "cli", "datasets"} & set(found.rooms)


def test_an_unknown_family_is_refused(trace_rooms: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        trace_rooms.main(["forest"])
    assert "robust, riskscore, chancesvm, inverse" in capsys.readouterr().err
