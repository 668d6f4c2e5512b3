"""Would the tests notice? Small plausible bugs, put into a copy of the package one at a time.

    python tests/mutations/mutate.py              all families
    python tests/mutations/mutate.py core robust  those
    python tests/mutations/mutate.py core --only 3 17   single bugs, by their number

A family's bugs stand in ``<family>.toml`` beside this file: the tests that must notice them, and for each bug a file of the
package, the text that stands there exactly once, what a tired hand would have written instead, and what that does:

    tests = ["tests/core/test_enclosure.py"]

    [[bug]]
    file = "core/enclosure.py"
    old = "self.rad + b.rad"
    new = "self.rad"
    does = "forgets the second radius"

The package is copied to a scratch folder and changed there, never in the working tree. The family's fast tests (not those of
``slow.txt``) then run against the copy, those that are named after the file first, until one fails. A bug that none of them
notices has survived, and the exit code is 1.
What takes much longer than the unchanged package counts as noticed: a test that hangs is not green.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PACKAGE = ROOT / "src" / "surefoot"
# Beyond this many times the tests' own time, and this many seconds more, a run is ended.
PATIENCE, SPARE_SECONDS = 5.0, 60.0

# An editable installation finds the package by an import hook of its own, whatever the path says: the copy comes first.
LAUNCH = """
import sys
copy = sys.argv.pop(1)
sys.meta_path[:] = [finder for finder in sys.meta_path if "editable" not in type(finder).__module__]
sys.path.insert(0, copy)
import surefoot
assert surefoot.__file__.startswith(copy), surefoot.__file__
import pytest
sys.exit(pytest.main(sys.argv[1:]))
"""


@dataclass(frozen=True)
class Bug:
    """A text of one file of the package, and the wrong one that takes its place."""

    family: str
    number: int
    file: str
    old: str
    new: str
    does: str

    def __str__(self) -> str:
        return f"{self.family} {self.number:>3}  {self.file}: {self.does}"

    def applied(self, text: str) -> str:
        """The file with the bug in it."""
        found = text.count(self.old)
        if found != 1:
            raise ValueError(f"{self}: the text stands there {found} times, not once: {self.old!r}")
        return text.replace(self.old, self.new)


@dataclass(frozen=True)
class Family:
    """The bugs of one file, and the tests that must notice them."""

    name: str
    tests: tuple[str, ...]
    bugs: tuple[Bug, ...]

    def tests_from(self, bug: Bug) -> list[str]:
        """Its tests one by one, those that are named after the file with the bug first: they notice it soonest."""
        files = [path for name in self.tests for path in sorted((ROOT / name).rglob("test_*.py")) or [ROOT / name]]
        return sorted(map(str, files), key=lambda name: Path(bug.file).stem not in Path(name).stem)


def families() -> dict[str, Family]:
    """All of them, by name."""
    found = {}
    for path in sorted(HERE.glob("*.toml")):
        content = tomllib.loads(path.read_text(encoding="utf-8"))
        bugs = tuple(Bug(path.stem, number, **bug) for number, bug in enumerate(content["bug"], start=1))
        found[path.stem] = Family(path.stem, tuple(content["tests"]), bugs)
    return found


class Copy:
    """A copy of the package in which one bug at a time is put, and the tests run against it."""

    def __init__(self, folder: Path) -> None:
        self.package = folder / "surefoot"
        shutil.copytree(PACKAGE, self.package, ignore=shutil.ignore_patterns("__pycache__"))
        native = importlib.util.find_spec("surefoot._native")
        if native is None or native.origin is None:
            raise SystemExit("The compiled part of surefoot was not found: install the package first.")
        if not list(self.package.glob("_native*.so")):  # an editable installation keeps it elsewhere
            shutil.copy(native.origin, self.package)

    def passes(self, tests: Sequence[str], limit: float | None = None) -> tuple[bool, str]:
        """Whether the fast ones of some tests pass, and the first that does not."""
        # Bytecode is recognised by the time and size of its source, which a bug of the same length need not change.
        environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": str(self.package.parent)}
        options = ["-q", "-x", "-m", "not slow", "-p", "no:cacheprovider", "--hypothesis-profile=ci", "--no-header", "--tb=no"]
        command = [sys.executable, "-c", LAUNCH, str(self.package.parent), *options, *tests]
        try:
            done = subprocess.run(
                command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=limit, check=False
            )
        except subprocess.TimeoutExpired:
            return False, f"no end after {limit:.0f} s"
        if done.returncode not in (0, 1, 2):  # 1: a test has failed; 2: the package could not even be imported
            raise SystemExit(f"pytest ended with {done.returncode}:\n{done.stdout}{done.stderr}")
        failed = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
        return done.returncode == 0, failed[0].partition(" - ")[0] if failed else ""

    def judged(self, family: Family, bugs: list[Bug], limit: float) -> Iterator[tuple[Bug, bool, str]]:
        """For every bug: whether it survived, and the test that noticed it."""
        for bug in bugs:
            path = self.package / bug.file
            right = path.read_text(encoding="utf-8")
            path.write_text(bug.applied(right), encoding="utf-8")
            try:
                yield bug, *self.passes(family.tests_from(bug), limit)
            finally:
                path.write_text(right, encoding="utf-8")


def run(family: Family, only: list[int]) -> list[Bug]:
    """Put the bugs of a family in, one after the other, and tell which survived."""
    bugs = [bug for bug in family.bugs if not only or bug.number in only]
    with tempfile.TemporaryDirectory() as folder:
        copy = Copy(Path(folder))
        start = time.perf_counter()
        green, failed = copy.passes(family.tests)
        seconds = time.perf_counter() - start
        if not green:
            raise SystemExit(f"The tests of {family.name} fail without any bug: {failed}")
        print(f"{family.name}: {len(bugs)} bugs; the tests take {seconds:.0f} s", flush=True)
        survivors = []
        for bug, survived, by in copy.judged(family, bugs, PATIENCE * seconds + SPARE_SECONDS):
            print(f"{'SURVIVED' if survived else 'caught  '}  {bug}{f'  [{by}]' if by else ''}", flush=True)
            survivors += [bug] if survived else []
    return survivors


def main() -> None:
    known = families()
    parser = argparse.ArgumentParser(description="Put small bugs into a copy of the package and see whether tests notice.")
    parser.add_argument("families", nargs="*", choices=[[], *known], help="all, unless some are named")
    parser.add_argument("--only", nargs="+", type=int, default=[], metavar="N", help="single bugs of these families")
    given = parser.parse_args()
    chosen = [known[name] for name in given.families or known]
    survivors = [bug for family in chosen for bug in run(family, given.only)]
    print(f"{len(survivors)} survived" if survivors else "all were caught")
    for bug in survivors:
        print(f"    {bug}")
    sys.exit(bool(survivors))


if __name__ == "__main__":
    main()
