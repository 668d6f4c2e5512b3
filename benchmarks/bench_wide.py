"""A text-like table: 100,000 sparse rows, 50,000 columns, 50 entries a row, certified to 1e-4."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict

from machine import available_cores
from measure import Account, account, in_child, say
from numeric_problems import ZIPF_OFFSET, text_problem
from tables import Cell, Report, Table

from surefoot.robust.problem.numeric_norm import NumericNorm
from surefoot.robust.registry import make_solver

DESCRIPTION = "100,000 rows x 50,000 sparse columns, 50 entries a row: solver 'wide', seconds, steps, certified gap, memory"
SOLVER = "wide"
SIZE, QUICK_SIZE = (100_000, 50_000, 50), (2_000, 1_000, 20)
NORMS: tuple[NumericNorm, ...] = ("l1", "l2", "linf")
LABEL_PRICES = (1.0, float("inf"))


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--size", nargs=3, type=int, metavar=("N", "n", "K"), help=f"rows, columns, entries (default: {SIZE})")
    parser.add_argument("--norms", nargs="+", choices=NORMS, help=f"metrics (default: {NORMS}; quick: the first)")
    parser.add_argument("--label-prices", nargs="+", type=float, help=f"(default: {LABEL_PRICES}; quick: the first)")
    parser.add_argument("--robustness", type=float, default=0.1, help="radius in units of the largest that makes sense")
    parser.add_argument("--tolerance", type=float, default=1e-4, help="relative gap to reach and to certify")
    parser.add_argument("--time-limit", type=float, default=300.0, help="seconds until a solve is ended")
    parser.add_argument("--threads", type=int, default=min(2, available_cores()), help="threads allowed to the solver")
    parser.add_argument("--random-state", type=int, default=0)


def run(options: argparse.Namespace) -> Report:
    """Measure, and say what was found."""
    title = "Robust logistic regression on a wide sparse table"
    try:
        make_solver(SOLVER)
    except ValueError as error:
        return Report("wide", title, tables=[], not_measured=[f"Everything: this version has no solver {SOLVER!r} ({error})"])
    size = tuple(options.size or (QUICK_SIZE if options.quick else SIZE))
    rows = []
    for norm in options.norms or (NORMS[:1] if options.quick else NORMS):
        for label_price in options.label_prices or (LABEL_PRICES[:1] if options.quick else LABEL_PRICES):
            say(f"{size[0]} rows x {size[1]} columns, {norm}, label price {label_price:g}")
            rows.append(_row(size, norm, label_price, options))
    return Report(
        name="wide",
        title=title,
        tables=[Table("wide", f"Solver {SOLVER} on {size[0]} x {size[1]} with {size[2]} entries a row", rows)],
        findings=_findings(rows, options.tolerance),
        method=[
            f"Columns drawn with popularity 1 / (rank + {ZIPF_OFFSET:g}), {size[2]} different ones a row, exponential values; "
            "labels from a logistic model of all columns whose scores have deviation 2; with intercept; weights 1 in raw "
            f"units; seed {options.random_state}.",
            f"radius: {options.robustness:g} times the smaller of the radius at which no column is of use (labels fixed) and "
            "half the label price.",
            f"Relative gap {options.tolerance:g}, {options.threads} threads, limit {options.time_limit:g} s. Each fit runs "
            "once, in a fresh process. solve: cold fit; certify: both bounds from the raw arrays. table_gb: peak resident "
            "memory before the fit, libraries and table included; peak_gb: after certify.",
        ],
        not_measured=[
            "Solver sqp, whose Hessian would have n squared entries; cvxpy and dro.",
            "Real texts, whose columns are correlated; making the table; the estimator around the solver.",
        ],
    )


def measure_fit(
    size: Sequence[int],
    norm: NumericNorm,
    label_price: float,
    robustness: float,
    tolerance: float,
    n_threads: int,
    time_limit: float,
    random_state: int,
) -> tuple[float, Account]:
    """Make the table, solve and certify once in this process; its radius and the account."""
    problem = text_problem(
        *size, norm=norm, label_price=label_price, robustness=robustness, random_state=random_state
    )  # fmt: skip
    solver = make_solver(SOLVER)
    return problem.radius, account(solver, problem, tolerance=tolerance, n_threads=n_threads, time_limit=time_limit)


def _row(size: Sequence[int], norm: NumericNorm, label_price: float, options: argparse.Namespace) -> dict[str, Cell]:
    answer = in_child(
        measure_fit, size, norm, label_price, options.robustness, options.tolerance, options.threads, options.time_limit,
        options.random_state,
    )  # fmt: skip
    radius: float | None = None
    figures: dict[str, Cell] = {name: None for name in Account.__dataclass_fields__}
    if not isinstance(answer, str):
        radius, figures = answer[0], asdict(answer[1])
    said = answer if isinstance(answer, str) else ""
    return {"norm": norm, "label_price": label_price, "radius": radius, **figures, "answer": said}


def _findings(rows: Sequence[dict[str, Cell]], tolerance: float) -> list[str]:
    ended = [row for row in rows if not row["answer"]]
    return [
        f"Certified to {tolerance:g}: {sum(bool(row['verified']) for row in rows)} of {len(rows)} problems.",
        *(
            f"{row['norm']}, label price {row['label_price']:g}: {row['solve']:.1f} s, {row['iterations']} steps, certified "
            f"gap {row['gap']:.1e}, peak {row['peak_gb']:.2f} GB."
            for row in ended
        ),
    ]
