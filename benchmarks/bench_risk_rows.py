"""Seconds of the exact search for score cards against the number of rows (Figures 3 and 6 of Ustun and Rudin, JMLR 2019).

Tables are those of the paper's Algorithm 7: noisy copies of the rows and columns of breastcancer, whole numbers from 0 to 10,
so that hardly any two rows of a wide table are equal. What is linear in the rows: merging equal rows, each pass of the
heuristic, and the fit of each support. What is not: the number of supports, which depends on columns and on the size of a card.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Sequence

import numpy as np
from bench_risk_scores import load, pose
from machine import available_cores
from measure import in_child, say
from tables import Cell, Report, Table

from surefoot.core.solve_options import SolveOptions
from surefoot.datasets.score_rows import replicate_table
from surefoot.riskscore.search.exact_score import ExactScore

DESCRIPTION = "simulated tables of up to 5,000,000 rows x 30 columns: exact search, parts of its time, bound"
ROWS, QUICK_ROWS = (10_000, 100_000, 1_000_000, 5_000_000), (1_000, 10_000)
COLUMNS, QUICK_COLUMNS = (10, 20, 30), (10,)
FIGURES = (
    "loss", "bound", "gap", "seconds", "merging", "heuristic", "search",
    "cpu_seconds", "microseconds_a_row", "supports", "ended",
)  # fmt: skip
# Memory of a child that solves a simulated table.
MEMORY_BYTES = 12 * 10**9


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--rows", nargs="+", type=int, help=f"rows (default: {ROWS})")
    parser.add_argument("--columns", nargs="+", type=int, help=f"columns (default: {COLUMNS})")
    parser.add_argument("--size", type=int, default=3, help="most columns of a card")
    parser.add_argument("--time-limit", type=float, default=300.0, help="seconds until a search is ended (quick: at most 10)")
    parser.add_argument("--threads", type=int, default=min(2, available_cores()), help="threads allowed to the search")


def run(options: argparse.Namespace) -> Report:
    """Measure, and say what was found."""
    limit = min(options.time_limit, 10.0) if options.quick else options.time_limit
    rows: list[dict[str, Cell]] = []
    for width in options.columns or (QUICK_COLUMNS if options.quick else COLUMNS):
        for count in options.rows or (QUICK_ROWS if options.quick else ROWS):
            say(f"{count} rows x {width} columns")
            found = in_child(simulated_row, width, count, options.size, limit, options.threads, seconds=limit + 600)
            if isinstance(found, str):
                found = {**dict.fromkeys(FIGURES), "ended": found}
            rows.append({"columns": width, "rows": count, **{key: found[key] for key in FIGURES}})
    return Report(
        name="risk_rows",
        title="Score cards: exact search against rows",
        tables=[Table("risk_rows", "Simulated tables (Algorithm 7)", rows)],
        findings=[*_growth(rows), *_stopped(rows, limit)],
        method=[
            f"Noisy copies of breastcancer, points -10..10 as in the paper's Appendix C, intercept -100..100, at most "
            f"{options.size} columns, gap 0 asked for, limit {limit:g} s, {options.threads} threads, each in a process of its "
            f"own that may take {MEMORY_BYTES / 1e9:g} GB. Making the table is not in the time.",
            "seconds = merging equal rows + heuristic + search, in wall time; the search proves the card the best, or replaces "
            "it. cpu_seconds is the time of all threads of the process, which other work on the machine does not stretch.",
            "Linear in the rows are merging, the passes of the heuristic, and the fit of each support. The number of supports "
            "is not a matter of rows, but of columns and of the size of a card.",
            "Of a search that was stopped, bound is the least that its open parts can still reach; 0 where none was known.",
        ],
        not_measured=["Certificates of these fits; larger cards."],
    )


def simulated_row(width: int, count: int, size: int, limit: float, n_threads: int) -> dict[str, Cell]:
    """The exact search on a simulated table, in this process, whose memory is limited from here on."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    drawn = replicate_table(*load("breastcancer"), n_rows=count, n_columns=width)
    problem = pose(drawn.columns, drawn.labels, points=10, size=size)
    worked = time.process_time()
    outcome = ExactScore().solve(problem, SolveOptions(tolerance=0.0, time_limit=limit, n_threads=n_threads))
    worked = time.process_time() - worked
    tally = outcome.dual
    return {
        "loss": f"{problem.loss(outcome.primal):.6f}",
        "bound": f"{outcome.lower_bound:.6f}",
        "gap": (outcome.upper_bound - outcome.lower_bound) / outcome.upper_bound,
        "seconds": outcome.seconds,
        "merging": tally.merging_seconds,
        "heuristic": tally.heuristic_seconds - tally.merging_seconds,
        "search": outcome.seconds - tally.heuristic_seconds,
        "cpu_seconds": worked,
        "microseconds_a_row": 1e6 * worked / count,
        "supports": tally.supports_fitted,
        "ended": outcome.status.value,
    }


def _growth(rows: Sequence[dict[str, Cell]]) -> list[str]:
    """Slope of log CPU seconds over log rows, among searches that were finished."""
    lines = []
    for width in dict.fromkeys(row["columns"] for row in rows):
        done = [row for row in rows if row["columns"] == width and row["ended"] == "optimal"]
        if len(done) < 2:
            continue
        first, last = done[0], done[-1]
        work = np.log(float(last["cpu_seconds"] or 0) / float(first["cpu_seconds"] or 1))
        slope = work / np.log(float(last["rows"] or 0) / float(first["rows"] or 1))
        lines.append(f"{width} columns: CPU seconds grow as rows^{slope:.2f} from {first['rows']} to {last['rows']} rows.")
    return lines


def _stopped(rows: Sequence[dict[str, Cell]], limit: float) -> list[str]:
    return [
        f"{row['columns']} columns, {row['rows']} rows: not finished after {limit:g} s; gap {row['gap']:.1%}."
        for row in rows
        if row["ended"] == "time limit"
    ]
