"""Run a benchmark, or all of them: ``python benchmarks/run.py [NAME] [--quick] [--output DIR]``.

Prints the tables and saves them, one CSV file each and one Markdown page, with the command, the versions and the machine. A
full run writes to ``benchmarks/results/published``, a quick one (a few small cases) to ``benchmarks/results/local``.
"""

from __future__ import annotations

import argparse
import importlib
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol, cast

from machine import facts
from tables import Report

RESULTS = Path(__file__).resolve().parent / "results"
BENCHMARKS = {
    "data": "bench_data",
    "sqp_vs_graph": "bench_sqp_vs_graph",
    "mixed_table_1": "bench_mixed_table_1",
    "mixed_headlines": "bench_mixed_headlines",
    "real_weights": "bench_real_weights",
    "large": "bench_large",
    "parameters": "bench_parameters",
    "ranges": "bench_ranges",
    "label_shift": "bench_label_shift",
    "adult_series": "bench_adult_series",
    "beta_subproblem": "bench_beta_subproblem",
    "dense_rows": "bench_dense_rows",
    "wide": "bench_wide",
    "streamed": "bench_streamed",
    "dask": "bench_dask",
    "risk_scores": "bench_risk_scores",
    "risk_rows": "bench_risk_rows",
    "risk_table": "bench_risk_table",
    "risk_size": "bench_risk_size",
    "stress": "bench_stress",
    "shift_evaluation": "bench_shift_evaluation",
    "real_shift": "bench_real_shift",
    "default_radius": "bench_default_radius",
    "chance_paper": "bench_chance_paper",
    "chance_rows": "bench_chance_rows",
    "chance_scale": "bench_chance_scale",
    "uncertain_accuracy": "bench_uncertain_accuracy",
    "chance_promises": "bench_chance_promises",
    "chance_defaults": "bench_chance_defaults",
    "chance_verdicts": "bench_chance_verdicts",
    "inverse_approaches": "bench_inverse_approaches",
    "inverse_enumeration": "bench_inverse_enumeration",
    "inverse_samd": "bench_inverse_samd",
    "inverse_problems": "bench_inverse_problems",
    "inverse_prognoses": "bench_inverse_prognoses",
    "inverse_speed": "bench_inverse_speed",
    "inverse_limits": "bench_inverse_limits",
    "verdicts": "bench_verdicts",
    "verify_cost": "bench_verify_cost",
    "doors": "bench_doors",
}
ALL = "all"
HELP = ("-h", "--help")
PATHS = ("--output", "--dro-python", "--skwdro-python", "--rivals-python", "--kept", "--cod-rna", "--instances")


class Benchmark(Protocol):
    """What a module ``bench_<name>`` offers."""

    DESCRIPTION: str

    def add_options(self, parser: argparse.ArgumentParser) -> None: ...

    def run(self, options: argparse.Namespace) -> Report: ...


def main(arguments: Sequence[str]) -> None:
    """Run the benchmark named first in ``arguments``, or all of them one after the other."""
    # The options depend on the benchmark, so its name is read first, and help waits for the options.
    chosen, _ = _parser(add_help=False).parse_known_args([argument for argument in arguments if argument not in HELP])
    if chosen.name == ALL:
        _parser(description=f"Every benchmark with its default options: {', '.join(BENCHMARKS)}.").parse_args(arguments)
        for name in BENCHMARKS:
            main([name, *(argument for argument in arguments if argument != ALL)])
        return
    # Imported on demand: the data table needs no solver, and a benchmark should not load what another one needs.
    benchmark = cast(Benchmark, importlib.import_module(BENCHMARKS[chosen.name]))
    parser = _parser(description=f"{chosen.name}: {benchmark.DESCRIPTION}.")
    benchmark.add_options(parser)
    options = parser.parse_args(arguments)
    # Long runs save there what they have as they go.
    options.output = options.output or RESULTS / ("local" if options.quick else "published")
    report = benchmark.run(options)
    print(report.text())
    for path in report.save(options.output, _command(arguments), facts()):
        print(f"saved {path}")


def _parser(*, add_help: bool = True, description: str | None = None) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python benchmarks/run.py",
        description=description or "Run a benchmark.",
        add_help=add_help,
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument("name", nargs="?", choices=[*BENCHMARKS, ALL], default=ALL, help="which benchmark")
    parser.add_argument("--quick", action="store_true", help="a few small cases, to see that it runs")
    parser.add_argument("--output", type=Path, metavar="DIR", help="where to save, instead of benchmarks/results")
    return parser


def _command(arguments: Sequence[str]) -> str:
    """The command as published, without paths of one machine, which change no result."""
    kept = list(arguments)
    for option in PATHS:
        while option in kept:
            at = kept.index(option)
            del kept[at : at + 2]
        kept = [argument for argument in kept if not argument.startswith(f"{option}=")]
    return shlex.join(["python", "benchmarks/run.py", *kept])


if __name__ == "__main__":
    main(sys.argv[1:])
