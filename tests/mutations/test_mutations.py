"""The lists of bugs fit the code: every one can still be put in, changes the file and leaves it readable."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from mutations.mutate import PACKAGE, ROOT, Bug, Copy, Family, families

FAMILIES = families()


@pytest.mark.parametrize("name", FAMILIES)
def test_every_bug_still_applies(name: str) -> None:
    """The text stands exactly once in the file, what takes its place is another programme, and both can be compiled."""
    for bug in FAMILIES[name].bugs:
        text = (PACKAGE / bug.file).read_text(encoding="utf-8")
        assert ast.dump(ast.parse(bug.applied(text))) != ast.dump(ast.parse(text)), f"{bug} changes nothing"


@pytest.mark.parametrize("name", FAMILIES)
def test_no_bug_is_listed_twice_and_all_are_explained(name: str) -> None:
    bugs = FAMILIES[name].bugs
    assert len({(bug.file, bug.old, bug.new) for bug in bugs}) == len(bugs)
    assert len({bug.does for bug in bugs}) == len(bugs)
    assert all(bug.does.strip() for bug in bugs)
    assert all((ROOT / test).exists() for test in FAMILIES[name].tests)


@pytest.mark.parametrize(("text", "times"), [("", 0), ("x = 1\nx = 1\n", 2)])
def test_a_text_that_does_not_stand_there_once_is_refused(text: str, times: int) -> None:
    with pytest.raises(ValueError, match=f"{times} times, not once"):
        Bug("core", 1, "core/enclosure.py", "x = 1", "x = 2", "counts wrongly").applied(text)


def test_bugs_are_caught_or_survive_in_a_copy_and_the_package_stays_as_it_is(tmp_path: Path) -> None:
    """A test that looks at one number notices a bug in it, and no other one."""
    before = (PACKAGE / "exceptions.py").read_text(encoding="utf-8")
    test = tmp_path / "test_one_number.py"
    source = "from surefoot.core.certificate import DIGITS\n\n\ndef test_it():\n    assert DIGITS == 10\n"
    test.write_text(source, encoding="utf-8")
    bugs = [
        Bug("core", 1, "core/certificate.py", "DIGITS = 10", "DIGITS = 11", "prints a digit too many"),
        Bug("core", 2, "core/certificate.py", "import hashlib", "import hashlibs", "cannot be imported"),
        Bug("core", 3, "core/enclosure.py", "BLOCK_TERMS = 4096", "BLOCK_TERMS = 4095", "adds in other blocks"),
    ]
    copy = Copy(tmp_path / "copy")
    found = list(copy.judged(Family("core", (str(test),), ()), bugs, limit=60.0))
    assert [(bug.number, survived) for bug, survived, _ in found] == [(1, False), (2, False), (3, True)]
    assert found[0][2].endswith("::test_it")
    assert (copy.package / "core/certificate.py").read_text() == (PACKAGE / "core/certificate.py").read_text()
    assert (PACKAGE / "exceptions.py").read_text(encoding="utf-8") == before
