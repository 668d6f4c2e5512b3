"""Is one tree slower than another? ``python benchmarks/compare_runs.py BASE HEAD [--repeats 5] [--summary FILE]``.

BASE and HEAD are folders of two checkouts, each with the environment that ``make`` built in its ``.venv``. A few benchmarks of
seconds, one per family, are run in turn by the one and by the other, so that a machine that slows down slows both. The least of
the repeated times is what the code needs; the rest is what else the machine did. Every case is then a ratio, head over base.

A case is called slower if its ratio is above ``--most`` and the difference above a hundredth of a second; the exit code is then
1. A case that one of the two does not know is named and left out: benchmarks come and go.
"""

from __future__ import annotations

import argparse
import csv
import math
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

# Ratios below this are noise of a shared machine; a lost optimization costs more.
MOST_RATIO = 1.5
# Seconds; shorter differences are those of the clock and the allocator.
LEAST_DIFFERENCE = 0.01
REPEATS = 5


@dataclass(frozen=True)
class Measured:
    """One benchmark of ``run.py`` and where its seconds stand.

    Attributes
    ----------
    options : tuple of str
        Sizes at which a fit takes between a tenth of a second and two seconds.
    table : str
        Stem of the CSV file.
    keys : tuple of str
        Columns that tell one case from another.
    seconds : str
        The column that is compared.
    """

    options: tuple[str, ...]
    table: str
    keys: tuple[str, ...]
    seconds: str


BENCHMARKS = {
    "dense_rows": Measured(
        ("--rows", "20000", "50000", "--columns", "100", "200", "--fixed-rows", "5000", "--fixed-columns", "100"),
        table="dense_rows",
        keys=("growing", "N", "n"),
        seconds="total",
    ),
    # Copies of a UCI table: where that is missing (benchmarks/README.md), the page says that nobody measured it.
    "risk_rows": Measured(
        ("--rows", "10000", "100000", "--columns", "20", "--time-limit", "60"),
        table="risk_rows",
        keys=("columns", "rows"),
        seconds="seconds",
    ),
    "chance_rows": Measured(("--rows", "5000"), table="chance_rows", keys=("kernel", "rows"), seconds="cpu_seconds"),
    "inverse_enumeration": Measured(
        ("--costs", "3", "--large-examples", "100"),
        table="inverse_enumeration_large",
        keys=("approach", "cost"),
        seconds="seconds",
    ),
}

Case = tuple[str, ...]
Times = dict[Case, list[float]]


@dataclass(frozen=True)
class Comparison:
    """The least seconds of one case in both trees."""

    case: Case
    base: float
    head: float

    @property
    def ratio(self) -> float:
        return self.head / self.base if self.base > 0 else math.inf

    def slower(self, most: float) -> bool:
        return self.ratio > most and self.head - self.base > LEAST_DIFFERENCE


def read_times(path: Path, measured: Measured, name: str) -> dict[Case, float]:
    """Seconds per case from one CSV file; a case that did not finish has none."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    found = {}
    for row in rows:
        seconds = row.get(measured.seconds) or "nan"
        if math.isfinite(float(seconds)):
            found[(name, *(f"{key} {row[key]}" for key in measured.keys))] = float(seconds)
    return found


def run_once(tree: Path, name: str, measured: Measured) -> dict[Case, float]:
    """Run one benchmark of a checkout in its own environment."""
    # Not resolved: a resolved link would leave the environment.
    python = tree.absolute() / ".venv" / "bin" / "python"
    with tempfile.TemporaryDirectory() as folder:
        command = [str(python), "benchmarks/run.py", name, *measured.options, "--output", folder]
        finished = subprocess.run(command, cwd=tree, capture_output=True, text=True, check=False)
        if finished.returncode:
            print(f"{name} failed in {tree}:\n{finished.stderr[-2000:]}", file=sys.stderr, flush=True)
            return {}
        table = Path(folder) / f"{measured.table}.csv"
        return read_times(table, measured, name) if table.exists() else {}


def alternate(base: Path, head: Path, names: Iterable[str], repeats: int) -> tuple[Times, Times]:
    """All times of both trees, measured in turn."""
    times: tuple[Times, Times] = ({}, {})
    for name in names:
        for repeat in range(repeats):
            # Who comes second finds a warm machine, so they take turns in coming first.
            order = (0, 1) if repeat % 2 == 0 else (1, 0)
            for side in order:
                for case, seconds in run_once((base, head)[side], name, BENCHMARKS[name]).items():
                    times[side].setdefault(case, []).append(seconds)
            print(f"{name}: {repeat + 1} of {repeats}", file=sys.stderr, flush=True)
    return times


def compare(base: Mapping[Case, Sequence[float]], head: Mapping[Case, Sequence[float]]) -> list[Comparison]:
    """The cases that both trees measured, in the order of head."""
    return [Comparison(case, min(base[case]), min(seconds)) for case, seconds in head.items() if case in base]


def left_out(base: Mapping[Case, object], head: Mapping[Case, object]) -> list[str]:
    """Cases of one tree only, in words."""
    return [
        *(f"only head measured {', '.join(case)}" for case in head if case not in base),
        *(f"only base measured {', '.join(case)}" for case in base if case not in head),
    ]


def geometric_mean(values: Sequence[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values)) if values else math.nan


def page(comparisons: Sequence[Comparison], missing: Sequence[str], most: float) -> str:
    """The comparison as Markdown, the slowest case first."""
    lines = ["## Runtime, head against base", "", "| case | base (s) | head (s) | ratio | |", "|---|---|---|---|---|"]
    for one in sorted(comparisons, key=lambda one: -one.ratio):
        verdict = "slower" if one.slower(most) else ""
        lines.append(f"| {', '.join(one.case)} | {one.base:.3f} | {one.head:.3f} | {one.ratio:.2f} | {verdict} |")
    slower = sum(one.slower(most) for one in comparisons)
    mean = geometric_mean([one.ratio for one in comparisons])
    lines += ["", f"{len(comparisons)} cases, ratio {mean:.2f} in the geometric mean; {slower} above {most:g}."]
    return "\n".join([*lines, *(f"- {line}" for line in missing)]) + "\n"


def main(arguments: Sequence[str]) -> int:
    """Compare two checkouts; 1 if a case became slower, 2 if nothing could be compared."""
    parser = argparse.ArgumentParser(prog="python benchmarks/compare_runs.py", description="Is one tree slower than another?")
    parser.add_argument("base", type=Path, help="checkout to compare with")
    parser.add_argument("head", type=Path, help="checkout to judge")
    parser.add_argument("--benchmarks", nargs="+", choices=list(BENCHMARKS), default=list(BENCHMARKS))
    parser.add_argument("--repeats", type=int, default=REPEATS, help=f"runs of each tree (default: {REPEATS})")
    parser.add_argument("--most", type=float, default=MOST_RATIO, help=f"largest ratio that passes (default: {MOST_RATIO})")
    parser.add_argument("--summary", type=Path, help="append the table to this file as well")
    options = parser.parse_args(arguments)
    base, head = alternate(options.base, options.head, options.benchmarks, options.repeats)
    comparisons = compare(base, head)
    measured = {case[0] for case in (*base, *head)}
    unmeasured = [f"nobody measured {name}; does it find its data?" for name in options.benchmarks if name not in measured]
    text = page(comparisons, [*unmeasured, *left_out(base, head)], options.most)
    print(text)
    if options.summary is not None:
        with options.summary.open("a", encoding="utf-8") as file:
            file.write(text)
    if not comparisons:
        return 2
    return int(any(one.slower(options.most) for one in comparisons))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
