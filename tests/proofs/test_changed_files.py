"""A sample of files with one thing changed; ``tests/changed_files.py`` tries thousands."""

from __future__ import annotations

from pathlib import Path

import pytest
from changed_files import try_changes, write_files

SAMPLE = ("robust, mixed columns and weights", "card with rules", "robust card", "plane of groups", "cost", "circumcenter")


@pytest.mark.parametrize("kind", SAMPLE)
@pytest.mark.parametrize("what", ["proof", "model"])
def test_whatever_a_file_holds_it_is_judged_or_refused_with_a_sentence(kind: str, what: str, tmp_path: Path) -> None:
    source = write_files(kind, tmp_path)[what]
    found = list(try_changes(kind, what, source, 25, seed=5))
    assert [entry for entry in found if entry[1] == "CRASH"] == []
    for _, result, reason in found:
        assert result != "refused" or len(reason) > 20
