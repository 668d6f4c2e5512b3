"""The list of slow tests: every entry names a test that exists, and marks it, whole or but for one case in k."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parent
# The file without its remarks; conftest reads it in its own way.
LINES = [line.partition("#")[0].strip() for line in (TESTS / "slow.txt").read_text().splitlines()]
ENTRIES = [line.split() for line in LINES if line]


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry[0])
def test_an_entry_names_a_test_that_exists(entry: list[str]) -> None:
    file, _, rest = entry[0].partition("::")
    assert (TESTS / file).is_file(), f"tests/slow.txt names tests/{file}, which is not there"
    if rest:
        name = rest.partition("[")[0].rpartition("::")[2]
        text = (TESTS / file).read_text(encoding="utf-8")
        assert re.search(rf"^ *def {re.escape(name)}\(", text, re.MULTILINE), f"tests/{file} has no {name}"
    assert not entry[1:] or re.fullmatch(r"1/[2-9]\d*|1/1\d+", entry[1]), f"tests/slow.txt: {entry[1]} is no share like 1/4"
    assert len(entry) <= 2


def test_the_list_is_sorted_and_names_nothing_twice() -> None:
    names = [entry[0] for entry in ENTRIES]
    assert sorted(set(names)) == names


def test_listed_tests_and_most_cases_of_long_tables_are_marked(request: pytest.FixtureRequest) -> None:
    """Within one session: what was collected beside this test is slow as the list says; `make quick` has taken it away."""
    marked: dict[str, list[bool]] = {}
    for item in request.session.items:
        marked.setdefault(item.nodeid.removeprefix("tests/").partition("[")[0], []).append("slow" in item.keywords)
    if request.config.getoption("-m") == "not slow":
        assert not any(map(any, marked.values()))
        return
    for test, slow in marked.items():
        listed = [share for where, *share in ENTRIES if test == where or test.startswith(f"{where}::")]
        if listed == [[]]:
            assert all(slow), test
        elif not listed and len(slow) > 15:
            assert slow == [place % 3 != 0 for place in range(len(slow))], test
        elif not listed:
            assert not any(slow), test
        elif len(slow) > int(listed[0][0][2:]):
            assert any(slow), test
            assert not all(slow), test
