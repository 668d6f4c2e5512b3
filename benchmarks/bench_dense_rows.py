"""Dense numeric rows with label flips: seconds and peak memory from 10^4 to 10^6 rows and from 50 to 800 columns."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np
from machine import available_cores
from measure import Account, account, in_child, say
from numeric_problems import LABEL_PRICE, RADIUS, gaussian_problem
from tables import Cell, Report, Table

from surefoot.robust.sqp.sqp import SQP

DESCRIPTION = "10^4, 10^5 and 10^6 rows x 100 columns, and 50 to 800 columns: seconds, peak memory, growth"
ROWS, COLUMNS = (10_000, 100_000, 1_000_000), (50, 100, 200, 400, 800)
FIXED_ROWS, FIXED_COLUMNS = 5_000, 100
QUICK_ROWS, QUICK_COLUMNS = (1_000, 4_000), (10, 20)
QUICK_FIXED_ROWS, QUICK_FIXED_COLUMNS = 2_000, 20
STAGES = ("solve", "certify", "total", "peak_gb")


@dataclass(frozen=True)
class DenseFit:
    """One fit in a process of its own; ``account`` is None where there is no answer, and ``answer`` says why."""

    growing: str
    rows: int
    columns: int
    account: Account | None
    answer: str = ""

    def row(self) -> dict[str, Cell]:
        figures = asdict(self.account) if self.account else {name: None for name in Account.__dataclass_fields__}
        return {"growing": self.growing, "N": self.rows, "n": self.columns, **figures, "answer": self.answer}


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--rows", nargs="+", type=int, help=f"numbers of rows (default: {ROWS})")
    parser.add_argument("--columns", nargs="+", type=int, help=f"numbers of columns (default: {COLUMNS})")
    parser.add_argument("--fixed-rows", type=int, help=f"rows while the columns grow (default: {FIXED_ROWS})")
    parser.add_argument("--fixed-columns", type=int, help=f"columns while the rows grow (default: {FIXED_COLUMNS})")
    parser.add_argument("--tolerance", type=float, default=1e-6, help="relative gap to reach and to certify")
    parser.add_argument("--time-limit", type=float, default=600.0, help="seconds until a fit is given up")
    parser.add_argument("--threads", type=int, default=min(2, available_cores()), help="threads allowed to the solver")
    parser.add_argument("--random-state", type=int, default=0)


def run(options: argparse.Namespace) -> Report:
    """Measure, and say what was found."""
    quick = options.quick
    fixed_rows = options.fixed_rows or (QUICK_FIXED_ROWS if quick else FIXED_ROWS)
    fixed_columns = options.fixed_columns or (QUICK_FIXED_COLUMNS if quick else FIXED_COLUMNS)
    sizes = [
        *(("N", rows, fixed_columns) for rows in sorted(options.rows or (QUICK_ROWS if quick else ROWS))),
        *(("n", fixed_rows, columns) for columns in sorted(options.columns or (QUICK_COLUMNS if quick else COLUMNS))),
    ]
    fits = [_fit_in_child(growing, rows, columns, options) for growing, rows, columns in sizes]
    slopes = [slope for growing in ("N", "n") for slope in _slopes(growing, fits)]
    return Report(
        name="dense_rows",
        title="Robust logistic regression with label flips on dense rows",
        tables=[
            Table("dense_rows", "Seconds and peak memory", [fit.row() for fit in fits]),
            *([Table("dense_rows_growth", "Slope of the logarithms (1 is linear, 2 quadratic)", slopes)] if slopes else []),
        ],
        findings=_findings(fits, slopes),
        method=[
            f"Standard normal columns, labels from a logistic model; no intercept, radius {RADIUS:g}, label price "
            f"{LABEL_PRICE:g}, l1 metric in raw units; seed {options.random_state}. Solver sqp, relative gap "
            f"{options.tolerance:g}, {options.threads} threads.",
            "Each fit runs once, in a fresh process. solve: cold fit; certify: both bounds from the raw arrays; total: their "
            "sum. table_gb: peak resident memory before the fit, libraries and table included; peak_gb: after certify.",
        ],
        not_measured=[
            "Making the rows; reading them from a file; the estimator around the solver, which checks and encodes a table.",
            "Variation between runs and seeds; sparse rows (see adult_series and wide).",
        ],
    )


def measure_fit(rows: int, columns: int, tolerance: float, n_threads: int, time_limit: float, random_state: int) -> Account:
    """Make the rows, solve and certify once in this process."""
    problem = gaussian_problem(rows, columns, random_state=random_state)
    return account(SQP(), problem, tolerance=tolerance, n_threads=n_threads, time_limit=time_limit)


def _fit_in_child(growing: str, rows: int, columns: int, options: argparse.Namespace) -> DenseFit:
    say(f"{rows} rows x {columns} columns")
    answer = in_child(measure_fit, rows, columns, options.tolerance, options.threads, options.time_limit, options.random_state)
    if isinstance(answer, str):
        return DenseFit(growing, rows, columns, None, answer)
    return DenseFit(growing, rows, columns, answer)


def _slopes(growing: str, fits: Sequence[DenseFit]) -> list[dict[str, Cell]]:
    """One row with the growth over N or n, or none where fewer than two sizes were measured."""
    measured = [(fit, fit.account) for fit in fits if fit.growing == growing and fit.account is not None]
    sizes = [fit.rows if growing == "N" else fit.columns for fit, _ in measured]
    if len(set(sizes)) < 2:
        return []
    figures = {stage: [getattr(figure, stage) for _, figure in measured] for stage in STAGES}
    slopes = {stage: float(np.polyfit(np.log(sizes), np.log(values), 1)[0]) for stage, values in figures.items()}
    return [{"growing": growing, "smallest": min(sizes), "largest": max(sizes), **slopes}]


def _findings(fits: Sequence[DenseFit], slopes: Sequence[dict[str, Cell]]) -> list[str]:
    largest = max(fits, key=lambda fit: fit.rows * fit.columns)
    figures = largest.account
    said = largest.answer
    if figures is not None:
        said = (
            f"{figures.solve:.1f} s to solve and {figures.certify:.1f} s to certify, peak {figures.peak_gb:.2f} GB, certified "
            f"gap {figures.gap:.1e}{'' if figures.verified else ', NOT verified'}"
        )
    verified = sum(fit.account.verified for fit in fits if fit.account)
    return [
        f"{largest.rows} x {largest.columns}: {said}.",
        *(f"Seconds to solve grow like {row['growing']}^{row['solve']:.2f}." for row in slopes),
        f"Certified: {verified} of {len(fits)} fits.",
    ]
