"""Score cards of the six tables of Ustun and Rudin: loss, time and bound of each method; and seconds against rows."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from machine import available_cores
from measure import say
from tables import Cell, Report, Table

from surefoot.datasets.score_rows import replicate_table
from surefoot.problems.risk_score import RiskScoreProblem
from surefoot.solvers.registry import SolveOptions
from surefoot.solvers.score_registry import make_score_solver

DESCRIPTION = "size <= 5, points -5..5 on six tables: exact, lcpa, heuristic, FasterRisk, imodels; seconds against rows"
SETS = ("mammo", "breastcancer", "adult", "bank", "mushroom", "spambase")
QUICK_SETS = ("mammo", "adult")
METHODS = ("exact", "lcpa", "heuristic")
RIVALS = ("fasterrisk", "imodels")
ROWS, QUICK_ROWS = (10_000, 100_000, 1_000_000, 5_000_000), (1_000, 10_000)
COLUMNS, QUICK_COLUMNS = (10, 20, 30), (10,)


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--sets", nargs="+", choices=SETS, help=f"tables (default: all; quick: {QUICK_SETS})")
    parser.add_argument("--methods", nargs="+", default=METHODS, help="solvers of surefoot, by name")
    parser.add_argument("--time-limit", type=float, default=1200.0, help="seconds until a solve is ended (quick: at most 10)")
    parser.add_argument("--threads", type=int, default=min(2, available_cores()), help="threads allowed to the exact search")
    parser.add_argument("--rows", nargs="*", type=int, help=f"rows of the series (default: {ROWS}; none: no series)")
    parser.add_argument("--columns", nargs="+", type=int, help=f"columns of the series (default: {COLUMNS})")
    parser.add_argument("--rivals-python", type=Path, help="a Python with imodels and fasterrisk; without it they are left out")


def data_directory() -> Path:
    """Where the tables are: ``$SUREFOOT_DATA/riskslim``, or beside the repository."""
    root = os.environ.get("SUREFOOT_DATA")
    return (Path(root) if root else Path(__file__).resolve().parents[2] / "shared" / "data") / "riskslim"


def load(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Columns and labels (-1, +1) of a table; the first column of the file is the label."""
    found = sorted(data_directory().glob(f"{name}_data.csv*"))
    if not found:
        raise FileNotFoundError(f"{name}_data.csv or {name}_data.csv.gz is not in {data_directory()}.")
    table = pd.read_csv(found[0])
    return table.iloc[:, 1:].to_numpy(np.float64), np.where(table.iloc[:, 0].to_numpy() > 0, 1.0, -1.0)


def pose(X: np.ndarray, y: np.ndarray, *, points: int = 5, size: int = 5) -> RiskScoreProblem:
    """The paper's problem: intercept -100..100, penalty 1e-8."""
    n, d = X.shape
    return RiskScoreProblem(X, y, np.full(n, 1 / n), np.full(d, -points), np.full(d, points), -100, 100, size, 1e-8)


def run(options: argparse.Namespace) -> Report:
    """Measure, and say what was found."""
    limit = min(options.time_limit, 10.0) if options.quick else options.time_limit
    rows: list[dict[str, Cell]] = []
    for name in options.sets or (QUICK_SETS if options.quick else SETS):
        X, y = load(name)
        for method in options.methods:
            say(f"{name}: {method}")
            rows.append(_row(name, method, pose(X, y), limit, options.threads))
        if options.rivals_python is not None:
            for rival in RIVALS:
                say(f"{name}: {rival}")
                rows.append(_rival_row(name, rival, X, y, options.rivals_python, limit + 300))
    tables = [Table("risk_scores", "Score cards of up to 5 columns, points -5 to 5", rows)]
    counts = options.rows if options.rows is not None else (QUICK_ROWS if options.quick else ROWS)
    series = _series(counts, options.columns or (QUICK_COLUMNS if options.quick else COLUMNS), limit, options.threads)
    if series:
        tables.append(Table("risk_scores_rows", "Simulated tables (Algorithm 7): exact search against rows", series))
    return Report(
        name="risk_scores",
        title="Score cards: loss, time and bound",
        tables=tables,
        findings=_findings(rows),
        method=[
            f"Intercept -100..100, penalty 1e-8, limit {limit:g} s, gap 0 asked for, {options.threads} threads for the exact "
            "search. The clock runs around the solve: reading the file is not in it. Each fit runs once.",
            "Rivals run in a process of their own; the clock runs inside it, after compiled code was loaded. Their losses are "
            "those of the free scale (imodels: real scale and intercept, FasterRisk: real multiplier).",
            "Series: noisy copies of breastcancer, points -10..10 as in the paper's Appendix C, at most 5 columns.",
        ],
        not_measured=[
            "Time to compile the code of imodels; test loss; the estimator around the solver.",
            "A free-scale card of surefoot."
            if options.rivals_python is not None
            else "FasterRisk and imodels: no Python given.",
        ],
    )


def _row(name: str, method: str, problem: RiskScoreProblem, limit: float, n_threads: int) -> dict[str, Cell]:
    solver = make_score_solver(method)
    options = SolveOptions(tolerance=0.0, time_limit=None if method == "heuristic" else limit, n_threads=n_threads)
    outcome = solver.solve(problem, options)
    gap = (outcome.upper_bound - outcome.lower_bound) / outcome.upper_bound
    return _figures(name, method, outcome.upper_bound, outcome.seconds, outcome.lower_bound, gap, outcome.status.value)


def _rival_row(name: str, rival: str, X: np.ndarray, y: np.ndarray, python: Path, seconds: float) -> dict[str, Cell]:
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "table.npz"
        np.savez(table, X=X, y=(y > 0).astype(np.int64))
        script = Path(__file__).resolve().parent / "rival_cards.py"
        try:
            done = subprocess.run(
                [python, script, rival, table], capture_output=True, text=True, check=True, timeout=seconds
            )  # fmt: skip
        except (OSError, subprocess.SubprocessError) as error:
            return _figures(name, rival, None, None, None, None, type(error).__name__)
    loss, taken = json.loads(done.stdout.strip().splitlines()[-1])
    return _figures(name, rival, loss, taken, None, None, "no bound")


def _figures(
    data: str, method: str, loss: float | None, seconds: float | None, bound: float | None, gap: float | None, ended: str
) -> dict[str, Cell]:
    return {
        "data": data,
        "method": method,
        "loss": None if loss is None else f"{loss:.6f}",
        "seconds": seconds,
        "bound": None if bound is None else f"{bound:.6f}",
        "gap": gap,
        "ended": ended,
    }


def _series(counts: Sequence[int], widths: Sequence[int], limit: float, n_threads: int) -> list[dict[str, Cell]]:
    if not counts:
        return []
    X, y = load("breastcancer")
    rows: list[dict[str, Cell]] = []
    for width in widths:
        for count in counts:
            say(f"simulated: {count} rows x {width} columns")
            drawn = replicate_table(X, y, n_rows=count, n_columns=width)
            problem = pose(np.asarray(drawn.columns, dtype=np.float64), np.asarray(drawn.labels, dtype=np.float64), points=10)
            rows.append({"columns": width, "rows": count, **_row("simulated", "exact", problem, limit, n_threads)})
    return rows


def _findings(rows: Sequence[dict[str, Cell]]) -> list[str]:
    exact = [row for row in rows if row["method"] == "exact"]
    proven = [str(row["data"]) for row in exact if row["ended"] == "optimal"]
    return [
        f"Proven optimal by the exact search: {', '.join(proven) or 'none'} ({len(proven)} of {len(exact)}).",
        *(f"{row['data']}: {row['loss']} in {row['seconds']:.2f} s." for row in exact),
    ]
