"""The list of slow tests: every entry names a test that exists, and marks it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parent
# The file without its header of remarks; conftest reads it in the same way.
ENTRIES = [line for line in (line.partition("#")[0].strip() for line in (TESTS / "slow.txt").read_text().splitlines()) if line]


@pytest.mark.parametrize("entry", ENTRIES)
def test_an_entry_names_a_test_that_exists(entry: str) -> None:
    file, _, rest = entry.partition("::")
    assert (TESTS / file).is_file(), f"tests/slow.txt names tests/{file}, which is not there"
    if rest:
        name = rest.partition("[")[0].rpartition("::")[2]
        text = (TESTS / file).read_text(encoding="utf-8")
        assert re.search(rf"^ *def {re.escape(name)}\(", text, re.MULTILINE), f"tests/{file} has no {name}"


def test_the_list_is_sorted_and_names_nothing_twice() -> None:
    assert sorted(set(ENTRIES)) == ENTRIES


def test_a_listed_test_is_marked(request: pytest.FixtureRequest) -> None:
    """Within one session: what was collected beside this test carries the marker if and only if it is listed."""
    for item in request.session.items:
        node = item.nodeid.removeprefix("tests/")
        listed = any(node == entry or node.startswith((f"{entry}::", f"{entry}[")) for entry in ENTRIES)
        assert (item.get_closest_marker("slow") is not None) == listed, item.nodeid
