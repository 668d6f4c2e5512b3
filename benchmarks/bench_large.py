"""Synthetic tables of 10^4, 10^5 and 10^6 rows: seconds of every stage of a fit, peak memory, and how they grow."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from machine import available_cores, peak_memory_bytes
from measure import GIGABYTE, certified, in_child, say, timed_fit
from tables import Cell, Report, Table

from surefoot.core.arrays import AnyArray
from surefoot.design.encode.labels import encode_labels
from surefoot.design.encode.table_encoder import TableEncoder
from surefoot.robust.problem.ground_cost import GroundCost
from surefoot.robust.problem.problem import RobustLogisticProblem
from surefoot.robust.sqp.sqp import SQP

DESCRIPTION = "10^4, 10^5 and 10^6 rows x (10 numeric + 10 categorical) columns: seconds per stage, peak memory, growth"
ROWS = (10_000, 100_000, 1_000_000)
QUICK_ROWS = (1_000, 10_000)
N_NUMERIC = 10
N_LEVELS = (2, 3, 4, 5, 6, 7, 8, 9, 10, 5)


@dataclass(frozen=True)
class LargeFit:
    """One fit in a process of its own; seconds per stage, memory in gigabytes of 10^9 bytes."""

    N: int
    radius: float
    encode: float
    solve: float
    certify: float
    total: float
    iterations: int
    status: str
    objective: float
    gap: float
    verified: bool
    table_gb: float
    peak_gb: float


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--rows", nargs="+", type=int, help=f"numbers of rows (default: {ROWS})")
    parser.add_argument("--radii", nargs="+", type=float, default=[0.01, 0.05], help="radii of the ball")
    parser.add_argument("--tolerance", type=float, default=1e-5, help="relative gap to reach and to certify")
    parser.add_argument("--threads", type=int, default=min(2, available_cores()), help="threads allowed to the solver")
    parser.add_argument("--random-state", type=int, default=0)


def run(options: argparse.Namespace) -> Report:
    """Measure, and say what was found."""
    sizes = sorted(options.rows or (QUICK_ROWS if options.quick else ROWS))
    fits = []
    for radius in options.radii:
        for size in sizes:
            say(f"{size} rows, radius {radius}")
            fits.append(_fit_in_child(size, radius, options))
    slopes = [_slopes(radius, [fit for fit in fits if fit.radius == radius]) for radius in options.radii]
    return Report(
        name="large",
        title="Robust logistic regression on large tables",
        tables=[
            Table("large", "Seconds per stage and peak memory", [asdict(fit) for fit in fits]),
            *([Table("large_growth", "Slope of log seconds over log rows (1 is linear)", slopes)] if len(sizes) > 1 else []),
        ],
        findings=_findings(fits),
        method=[
            f"{N_NUMERIC} normal columns of different scales and {len(N_LEVELS)} text columns of {min(N_LEVELS)} to "
            f"{max(N_LEVELS)} levels in a pandas frame (categorical dtype); labels drawn from a logistic model of all columns.",
            "Default weights: 1/(standard deviation) for numeric, 1 for categorical columns; no label flips; "
            f"relative gap {options.tolerance:g}; {options.threads} threads; seed {options.random_state}.",
            "Each fit runs once, in a fresh process. encode: from the data frame to arrays; solve: cold fit by sqp; certify: "
            "both bounds from the raw arrays; total: their sum. table_gb: peak resident memory with libraries and table, "
            "before encode; peak_gb: after certify, table included.",
        ],
        not_measured=[
            "Making the table; reading it from a file; prediction; other solvers, which are not meant for this size.",
            "Text columns that are not of a categorical dtype; tables with many equal rows, which collapse.",
            "Variation between runs and seeds.",
        ],
    )


def make_table(rows: int, random_state: int) -> tuple[Any, AnyArray]:
    """A pandas frame and labels "no" and "yes" from a logistic model with noise; the model is the same for all sizes."""
    import pandas as pd  # a benchmark's table, and no dependency of surefoot: imported where it is made

    model, generator = np.random.default_rng(random_state), np.random.default_rng((random_state, rows))
    slopes, shares = model.normal(scale=0.4, size=N_NUMERIC), [model.dirichlet(np.full(k, 4.0)) for k in N_LEVELS]
    effects = [model.normal(scale=0.5, size=k) for k in N_LEVELS]
    scores = np.full(rows, -0.3)
    columns: dict[str, Any] = {}
    for at, slope in enumerate(slopes):
        values = generator.normal(size=rows)
        scores += slope * values
        columns[f"number {at}"] = values * 10.0 ** (at % 5 - 2)
    for at, (share, effect) in enumerate(zip(shares, effects, strict=True)):
        codes = generator.choice(len(share), size=rows, p=share)
        scores += effect[codes]
        columns[f"category {at}"] = pd.Categorical.from_codes(codes, categories=[f"level {k}" for k in range(len(share))])
    positive = generator.uniform(size=rows) < 1.0 / (1.0 + np.exp(-scores))
    return pd.DataFrame(columns), np.where(positive, "yes", "no")


def measure_fit(rows: int, radius: float, *, tolerance: float, n_threads: int, random_state: int) -> LargeFit:
    """Encode, solve and certify once in this process."""
    frame, answers = make_table(rows, random_state)
    table_bytes = peak_memory_bytes()

    start = time.perf_counter()
    design = TableEncoder().fit_encode(frame)
    labels = encode_labels(answers).signs
    cost = GroundCost(1.0 / design.numeric.std(axis=0), np.ones(design.n_categorical))
    weights = np.full(rows, 1.0 / rows)
    problem = RobustLogisticProblem(design.numeric, design.codes, design.n_levels, labels, weights, cost, radius)
    encode = time.perf_counter() - start

    fit = timed_fit(SQP(), problem, tolerance=tolerance, n_threads=n_threads)

    start = time.perf_counter()
    proof = certified(problem, fit.outcome, tolerance)
    certify = time.perf_counter() - start
    return LargeFit(
        N=rows,
        radius=radius,
        encode=encode,
        solve=fit.seconds,
        certify=certify,
        total=encode + fit.seconds + certify,
        iterations=fit.outcome.iterations,
        status=fit.outcome.status.value,
        objective=proof.upper_bound,
        gap=proof.relative_gap,
        verified=proof.verified,
        table_gb=table_bytes / GIGABYTE,
        peak_gb=peak_memory_bytes() / GIGABYTE,
    )


def _fit_in_child(rows: int, radius: float, options: argparse.Namespace) -> LargeFit:
    answer = in_child(_measure_with_options, rows, radius, options)
    if isinstance(answer, str):
        raise RuntimeError(f"the process that fits {rows} rows gave no answer: {answer}.")
    return answer


def _measure_with_options(rows: int, radius: float, options: argparse.Namespace) -> LargeFit:
    return measure_fit(rows, radius, tolerance=options.tolerance, n_threads=options.threads, random_state=options.random_state)


def _slopes(radius: float, fits: Sequence[LargeFit]) -> dict[str, Cell]:
    rows = np.log([fit.N for fit in fits])
    stages = ("encode", "solve", "certify", "total", "peak_gb")
    slopes = {stage: float(np.polyfit(rows, np.log([getattr(fit, stage) for fit in fits]), 1)[0]) for stage in stages}
    return {"radius": radius, **slopes}


def _findings(fits: Sequence[LargeFit]) -> list[str]:
    most = max(fit.N for fit in fits)
    largest = [fit for fit in fits if most == fit.N]
    return [
        *(
            f"{fit.N} rows, radius {fit.radius}: {fit.total:.1f} s (solve {fit.solve:.1f} s), peak {fit.peak_gb:.2f} GB, "
            f"certified gap {fit.gap:.1e}{'' if fit.verified else ', NOT verified'}."
            for fit in largest
        ),
        f"Certified: {sum(fit.verified for fit in fits)} of {len(fits)} fits.",
    ]
