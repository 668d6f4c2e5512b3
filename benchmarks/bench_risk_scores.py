"""Score cards of the six tables of Ustun and Rudin: loss, time and bound of each method."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from machine import available_cores
from measure import say
from tables import Cell, Report, Table

from surefoot.core.solve_options import SolveOptions
from surefoot.riskscore.problem.problem import RiskScoreProblem
from surefoot.riskscore.registry import make_score_solver

DESCRIPTION = "size <= 5, points -5..5 on six tables: exact, lcpa, heuristic, FasterRisk, imodels"
SETS = ("mammo", "breastcancer", "adult", "bank", "mushroom", "spambase")
QUICK_SETS = ("mammo", "adult")
METHODS = ("exact", "lcpa")
RIVALS = ("fasterrisk", "imodels")
# imodels leaves the intercept real; steps of this share of a point come as close as the digits shown.
INTERCEPT_STEPS = 1024
# Of the free scale: imodels knows no limits, and its steepest card on these tables has a multiplier of 0.14.
MULTIPLIERS = (0.1, 20.0)
# Losses are compared by the six digits that are shown.
SAME_LOSS = 1e-6


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--sets", nargs="+", choices=SETS, help=f"tables (default: all; quick: {QUICK_SETS})")
    parser.add_argument("--methods", nargs="+", default=METHODS, help="solvers of surefoot, by name")
    parser.add_argument("--time-limit", type=float, default=300.0, help="seconds until a solve is ended (quick: at most 10)")
    parser.add_argument("--spambase-limit", type=float, default=1200.0, help="the same for the exact search on spambase")
    parser.add_argument("--lcpa-limit", type=float, default=60.0, help="the same for lcpa")
    parser.add_argument("--heuristic-limit", type=float, default=0.9, help="the same for the heuristic at free scale")
    parser.add_argument("--threads", type=int, default=min(2, available_cores()), help="threads allowed to the exact search")
    parser.add_argument("--rivals-python", type=Path, help="a Python with imodels and fasterrisk; without it they are left out")


def data_directory() -> Path:
    """Where the tables are: ``$SUREFOOT_DATA/riskslim``, or beside the repository."""
    root = os.environ.get("SUREFOOT_DATA")
    return (Path(root) if root else Path(__file__).resolve().parents[2] / "shared" / "data") / "riskslim"


def load(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Columns and labels (-1, +1) of a table; the first column of the file is the label."""
    table = pd.read_csv(_path(name))
    return table.iloc[:, 1:].to_numpy(np.float64), np.where(table.iloc[:, 0].to_numpy() > 0, 1.0, -1.0)


def column_names(name: str) -> list[str]:
    """Names of the columns of a table, the label left out."""
    return [str(column) for column in pd.read_csv(_path(name), nrows=0).columns[1:]]


def _path(name: str) -> Path:
    found = sorted(data_directory().glob(f"{name}_data.csv*"))
    if not found:
        raise FileNotFoundError(f"{name}_data.csv or {name}_data.csv.gz is not in {data_directory()}.")
    return found[0]


def pose(X: np.ndarray, y: np.ndarray, *, points: int = 5, size: int = 5) -> RiskScoreProblem:
    """The paper's problem: intercept -100..100, penalty 1e-8."""
    n, d = X.shape
    return RiskScoreProblem(X, y, np.full(n, 1 / n), np.full(d, -points), np.full(d, points), -100, 100, size, 1e-8)


def pose_free(X: np.ndarray, y: np.ndarray) -> RiskScoreProblem:
    """The same at a free scale, with an intercept in small steps: points count INTERCEPT_STEPS of them."""
    n, d = X.shape
    low, high = (multiplier * INTERCEPT_STEPS for multiplier in MULTIPLIERS)
    reach = 100 * INTERCEPT_STEPS
    return RiskScoreProblem(
        X * INTERCEPT_STEPS, y, np.full(n, 1 / n), np.full(d, -5), np.full(d, 5), -reach, reach, 5, 1e-8,
        scale="free", multipliers=(low, high),
    )  # fmt: skip


def run(options: argparse.Namespace) -> Report:
    """Measure, and say what was found."""
    limit = min(options.time_limit, 10.0) if options.quick else options.time_limit
    rows: list[dict[str, Cell]] = []
    free: list[dict[str, Cell]] = []
    for name in options.sets or (QUICK_SETS if options.quick else SETS):
        X, y = load(name)
        for method in options.methods:
            say(f"{name}: {method}")
            rows.append(_row(name, method, pose(X, y), _limit(name, method, limit, options), options.threads))
        rivals = {rival: rival_row(name, rival, X, y, options.rivals_python, limit + 300) for rival in RIVALS}
        rows += [row for row in rivals.values() if row]
        say(f"{name}: heuristic at free scale")
        free.append(
            _against(_row(name, "heuristic", pose_free(X, y), options.heuristic_limit, options.threads), rivals["imodels"])
        )
    tables = [
        Table("risk_scores", "Score cards of up to 5 columns, points -5 to 5", rows),
        Table("risk_scores_free", "Heuristic at free scale against imodels", free),
    ]
    return Report(
        name="risk_scores",
        title="Score cards: loss, time and bound",
        tables=tables,
        findings=_findings(rows, free),
        method=_method(options, limit),
        not_measured=[
            "Time to compile the code of imodels; test loss; the estimator around the solver.",
            *(() if options.rivals_python is not None else ("FasterRisk and imodels: no Python given.",)),
        ],
    )


def _method(options: argparse.Namespace, limit: float) -> list[str]:
    return [
        f"Intercept -100..100, penalty 1e-8, gap 0 asked for, {options.threads} threads. Limits: {limit:g} s, lcpa "
        f"{options.lcpa_limit:g} s, exact search on spambase {options.spambase_limit:g} s. The clock runs around the "
        "solve: reading the file is not in it. Each fit runs once.",
        "seconds is wall time; cpu_seconds is the time of all threads of the process, which other work on the machine does "
        "not stretch.",
        "Rivals run in a process of their own; the clock runs inside it, after compiled code was loaded. Their losses are "
        "those of the free scale (imodels: real scale and intercept, FasterRisk: real multiplier), which the best card of "
        "unit scale need not reach.",
        f"Heuristic at free scale: intercept in steps of 1/{INTERCEPT_STEPS} point, as that of imodels is real; multiplier "
        f"from {MULTIPLIERS[0]:g} to {MULTIPLIERS[1]:g}. It stops after {options.heuristic_limit:g} s of wall time.",
    ]


def _limit(name: str, method: str, limit: float, options: argparse.Namespace) -> float:
    if options.quick:
        return limit
    if method == "lcpa":
        return float(options.lcpa_limit)
    return float(options.spambase_limit) if name == "spambase" else limit


def _row(name: str, method: str, problem: RiskScoreProblem, limit: float, n_threads: int) -> dict[str, Cell]:
    solver = make_score_solver(method)
    worked = time.process_time()
    outcome = solver.solve(problem, SolveOptions(tolerance=0.0, time_limit=limit, n_threads=n_threads))
    worked = time.process_time() - worked
    gap = (outcome.upper_bound - outcome.lower_bound) / outcome.upper_bound
    bounds = outcome.upper_bound, outcome.lower_bound
    return _figures(name, method, problem.loss(outcome.primal), outcome.seconds, worked, bounds[1], gap, outcome.status.value)


def rival_row(
    name: str, rival: str, X: np.ndarray, y: np.ndarray, python: Path | None, seconds: float, *, size: int = 5
) -> dict[str, Cell]:
    """What a rival finds, in a process of its own; nothing without a Python that has it."""
    if python is None:
        return {}
    say(f"{name}: {rival}")
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "table.npz"
        np.savez(table, X=X, y=(y > 0).astype(np.int64))
        script = Path(__file__).resolve().parent / "rival_cards.py"
        try:
            done = subprocess.run(
                [python, script, rival, table, str(size)], capture_output=True, text=True, check=True, timeout=seconds
            )  # fmt: skip
        except (OSError, subprocess.SubprocessError) as error:
            return _figures(name, rival, None, None, None, None, None, type(error).__name__)
    loss, taken, worked = json.loads(done.stdout.strip().splitlines()[-1])
    return _figures(name, rival, loss, taken, worked, None, None, "no bound")


def _figures(
    data: str,
    method: str,
    loss: float | None,
    seconds: float | None,
    cpu_seconds: float | None,
    bound: float | None,
    gap: float | None,
    ended: str,
) -> dict[str, Cell]:
    return {
        "data": data,
        "method": method,
        "loss": None if loss is None else f"{loss:.6f}",
        "seconds": seconds,
        "cpu_seconds": cpu_seconds,
        "bound": None if bound is None else f"{bound:.6f}",
        "gap": gap,
        "ended": ended,
    }


def _against(ours: dict[str, Cell], theirs: dict[str, Cell]) -> dict[str, Cell]:
    loss, rival = ours["loss"], theirs.get("loss")
    return {
        **{key: ours[key] for key in ("data", "loss", "seconds", "cpu_seconds")},
        "imodels_loss": rival,
        "imodels_seconds": theirs.get("seconds"),
        "imodels_cpu_seconds": theirs.get("cpu_seconds"),
        "no_worse": None if loss is None or rival is None else float(loss) <= float(rival) + SAME_LOSS / 2,
    }


def _findings(rows: Sequence[dict[str, Cell]], free: Sequence[dict[str, Cell]]) -> list[str]:
    exact = [row for row in rows if row["method"] == "exact"]
    proven = [str(row["data"]) for row in exact if row["ended"] == "optimal"]
    compared = [row for row in free if row["no_worse"] is not None]
    worse = [str(row["data"]) for row in compared if not row["no_worse"]]
    lines = [
        f"Proven optimal by the exact search: {', '.join(proven) or 'none'} ({len(proven)} of {len(exact)}).",
        *(f"{row['data']}: {row['loss']} in {row['seconds']:.2f} s ({row['cpu_seconds']:.2f} s of CPU)." for row in exact),
    ]
    if compared:
        slowest = max(float(row["seconds"] or 0) for row in free)
        lines.append(
            f"Heuristic at free scale: loss no worse than that of imodels on {len(compared) - len(worse)} of {len(compared)} "
            f"tables{' (worse: ' + ', '.join(worse) + ')' if worse else ''}, {slowest:.2f} s at most."
        )
    return lines
