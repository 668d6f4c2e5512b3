"""The hostile inputs of ``hostile_inputs.py``, each with its message and exit code."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hostile_inputs import CASES, Case

Run = Callable[..., tuple[int, str, str]]


def test_there_are_many_cases_and_each_has_a_name_of_its_own() -> None:
    assert len({case.name for case in CASES}) == len(CASES) >= 80


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name.replace(" ", "-"))
def test_each_input_gets_its_words(case: Case, run: Run, tmp_path: Path) -> None:
    path = tmp_path / "table"
    path.write_bytes(case.content if isinstance(case.content, bytes) else case.content.encode())
    code, out, err = run("fit", path, "--target", case.target, "-o", tmp_path / "model", "--quiet", *case.options)
    assert (code, case.said in (err if code else out + err)) == (case.code, True), out + err
    assert (tmp_path / "model").exists() == (code == 0)
    assert "Traceback" not in err
