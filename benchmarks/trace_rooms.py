"""Which functions a row visits: ``python benchmarks/trace_rooms.py [FAMILY ...] [--all]``.

One default fit per family, of a table with a few rows, is run under :func:`sys.setprofile`. Printed are surefoot's functions
in the order of their first calls, indented by their depth, and two numbers per fit: how many files it enters, and how often a
call crosses from one room into another. A room is a folder of ``src/surefoot``; a function that a library calls back counts as
called by the function of surefoot that called the library. Without ``--all``, only calls that enter another file are printed.

The C++ core is not Python, so its functions are not seen; a function that names it is marked with ``C++``.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType
from typing import Protocol

import numpy as np

import surefoot as sf
from surefoot.core.certificate import Certificate

PACKAGE = Path(sf.__file__).parent
NATIVE = "_native"
# Comprehensions are functions of their own before Python 3.12, and lambdas have no name worth a line.
ANONYMOUS = {"<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>", "<lambda>"}


class Fitted(Protocol):
    """What every estimator is after a fit."""

    certificate_: Certificate


@dataclass(frozen=True)
class Visit:
    """The first call of a function."""

    depth: int
    file: str  # relative to the package, with forward slashes
    function: str
    native: bool

    @property
    def room(self) -> str:
        return room_of(self.file)

    def __str__(self) -> str:
        return f"{'  ' * self.depth}{self.file}: {self.function}{'  C++' if self.native else ''}"


@dataclass
class Trace:
    """What one call visited."""

    visits: list[Visit] = field(default_factory=list)
    calls: int = 0
    crossings: dict[tuple[str, str], int] = field(default_factory=dict)

    @property
    def files(self) -> list[str]:
        return list(dict.fromkeys(visit.file for visit in self.visits))

    @property
    def rooms(self) -> list[str]:
        return list(dict.fromkeys(visit.room for visit in self.visits))

    @property
    def doorways(self) -> list[Visit]:
        """First visits that enter a file."""
        seen: set[str] = set()
        found = []
        for visit in self.visits:
            if visit.file not in seen:
                seen.add(visit.file)
                found.append(visit)
        return found

    def summary(self) -> str:
        crossings = sum(self.crossings.values())
        ways = ", ".join(f"{a} -> {b} {n}" for (a, b), n in sorted(self.crossings.items(), key=lambda item: -item[1]))
        return (
            f"{len(self.visits)} functions in {len(self.files)} files of {len(self.rooms)} rooms ({', '.join(self.rooms)}); "
            f"{self.calls} calls, {crossings} of them between rooms: {ways or 'none'}"
        )


def room_of(file: str) -> str:
    """The first folder of a path below the package, or the file's own name if it lies in none."""
    return file.split("/")[0].removesuffix(".py")


def trace(call: Callable[[], object], package: Path = PACKAGE) -> Trace:
    """Run ``call`` and note the functions of ``package`` that it enters."""
    found = Trace()
    root = f"{package}/"
    files: dict[CodeType, str | None] = {}
    seen: set[CodeType] = set()

    def own_file(code: CodeType) -> str | None:
        if code not in files:
            name = code.co_filename
            inside = name.startswith(root) and code.co_name != "<module>"
            files[code] = name[len(root) :] if inside else None
        return files[code]

    def callers(frame: FrameType) -> Iterator[str]:
        above = frame.f_back
        while above is not None:
            file = own_file(above.f_code)
            if file is not None and above.f_code.co_name not in ANONYMOUS:
                yield file
            above = above.f_back

    def listen(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event != "call" or code.co_name in ANONYMOUS:
            return
        file = own_file(code)
        if file is None:
            return
        found.calls += 1
        caller = next(callers(frame), None)
        if caller is not None and room_of(caller) != room_of(file):
            way = room_of(caller), room_of(file)
            found.crossings[way] = found.crossings.get(way, 0) + 1
        if code not in seen:
            seen.add(code)
            depth = sum(1 for _ in callers(frame))
            found.visits.append(Visit(depth, file, code.co_qualname, NATIVE in code.co_names))

    before = sys.getprofile()
    sys.setprofile(listen)
    try:
        call()
    finally:
        sys.setprofile(before)
    return found


def robust_fit() -> Callable[[], Fitted]:
    """A default robust logistic regression of two numeric columns and one categorical."""
    draw = np.random.default_rng(0)
    X = np.column_stack([draw.normal(size=(40, 2)).round(2).astype(object), draw.choice(["web", "shop"], 40)])
    y = np.where(X[:, 0].astype(float) + draw.logistic(size=40) > 0, "stays", "leaves")
    return lambda: sf.RobustLogisticRegression(categorical_features=[2]).fit(X, y)


def risk_score_fit() -> Callable[[], Fitted]:
    """A default score card of four questions."""
    draw = np.random.default_rng(0)
    X = draw.integers(0, 2, (60, 4)).astype(float)
    y = X[:, 0] + X[:, 1] - X[:, 2] + draw.logistic(size=60) > 0.5
    return lambda: sf.RiskScoreClassifier().fit(X, y)


def chance_svm_fit() -> Callable[[], Fitted]:
    """A default chance-constrained machine of ten inputs, each measured four times."""
    draw = np.random.default_rng(0)
    groups = np.repeat(np.arange(10), 4)
    y = np.where(groups % 2 == 0, 1, -1)
    X = draw.normal(size=(40, 2)) + 1.5 * y[:, None]
    return lambda: sf.ChanceConstrainedSVC().fit(X, y, groups=groups)


def inverse_fit() -> Callable[[], Fitted]:
    """A default inverse optimizer that sees twelve baskets bought within a budget."""
    draw = np.random.default_rng(0)
    taste = -draw.uniform(0.2, 1.0, 4)
    baskets = np.array([[(k >> j) & 1 for j in range(4)] for k in range(16)], dtype=float)
    signals = [(draw.uniform(0.2, 1.0, (1, 4)), np.array([1.5])) for _ in range(12)]
    bought = np.array([min(baskets[baskets @ A[0] <= b[0]], key=lambda x: float(x @ taste)) for A, b in signals])
    return lambda: sf.inverse.InverseOptimizer(sf.inverse.forward.BinaryProgram()).fit(signals, bought)


FITS = {"robust": robust_fit, "riskscore": risk_score_fit, "chancesvm": chance_svm_fit, "inverse": inverse_fit}


def trace_family(family: str) -> Trace:
    """The trace of a family's default fit; an untraced fit comes first, because modules are imported when they are needed."""
    fit = FITS[family]()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if not fit().certificate_.verified:
            raise RuntimeError(f"the default fit of {family} is not proven.")
        return trace(fit)


def main(arguments: Sequence[str]) -> None:
    """Print the traces of the families named in ``arguments``, or of all."""
    parser = argparse.ArgumentParser(prog="python benchmarks/trace_rooms.py", description="Which functions a row visits.")
    parser.add_argument("family", nargs="*", help=f"which of {', '.join(FITS)}; all if none is named")
    parser.add_argument("--all", action="store_true", help="every function, not only the first of each file")
    options = parser.parse_args(arguments)
    for family in options.family:
        if family not in FITS:
            parser.error(f"{family!r} is no family; choose from {', '.join(FITS)}.")
    for family in options.family or FITS:
        found = trace_family(family)
        print(f"{family}: {found.summary()}")
        for visit in found.visits if options.all else found.doorways:
            print(f"  {visit}")
        print()


if __name__ == "__main__":
    main(sys.argv[1:])
