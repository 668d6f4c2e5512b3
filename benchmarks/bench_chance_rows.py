"""Seconds and memory of chance-constrained SVMs against the number of rows, up to those of cod-rna (59,535 x 8).

The estimator as a whole: k-means of the rows, since no batches are given, the solve and the certificate.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Sequence

import numpy as np
from machine import peak_memory_bytes
from measure import GIGABYTE, GRACE_SECONDS, in_child, say
from tables import Cell, Report, Table
from threadpoolctl import threadpool_limits

from surefoot import ChanceConstrainedSVC, WeakModelWarning
from surefoot.core.arrays import AnyArray, FloatArray

DESCRIPTION = "simulated tables of up to 59,535 rows x 8 columns: quadratic kernel (exact), RBF kernel with landmarks"
ROWS, QUICK_ROWS = (5_000, 20_000, 59_535), (500, 1_000)
N_COLUMNS, N_SHIFTED, SHIFT, POSITIVE_SHARE = 8, 3, 1.3, 1 / 3
COST, VIOLATION, N_BATCHES = 100.0, 0.3, 8
FIGURES = (
    "seconds", "cpu_seconds", "solve", "peak_gb", "iterations",
    "objective", "gap", "verified", "accuracy", "ended",
)  # fmt: skip


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--rows", nargs="+", type=int, help=f"rows (default: {ROWS})")
    parser.add_argument("--landmarks", type=int, default=500, help="of the RBF kernel")
    parser.add_argument("--time-limit", type=float, default=60.0, help="seconds until a solve is ended")
    parser.add_argument("--random-state", type=int, default=0)


def run(options: argparse.Namespace) -> Report:
    """Measure, and say what was found."""
    rows: list[dict[str, Cell]] = []
    for kernel, landmarks in (("quadratic", None), ("rbf", options.landmarks)):
        for count in options.rows or (QUICK_ROWS if options.quick else ROWS):
            say(f"{kernel}, {count} rows")
            found = in_child(
                simulated_fit, kernel, landmarks, count, options.time_limit, options.random_state,
                seconds=3 * options.time_limit + GRACE_SECONDS,
            )  # fmt: skip
            if isinstance(found, str):
                found = {**dict.fromkeys(FIGURES), "ended": found}
            rows.append({"kernel": kernel, "landmarks": landmarks, "rows": count, **{key: found[key] for key in FIGURES}})
    return Report(
        name="chance_rows",
        title="Chance-constrained SVM against rows",
        tables=[Table("chance_rows", f"{N_COLUMNS} columns, C = {COST:g} a batch, eps = {VIOLATION:g}, k-means batches", rows)],
        findings=_findings(rows),
        method=[
            f"Simulated: {N_COLUMNS} normal columns, of which {N_SHIFTED} are moved by +-{SHIFT:g} with the class; a third of "
            f"the rows is positive; seed {options.random_state}. The shape is that of cod-rna, the rows are not.",
            "seconds: ChanceConstrainedSVC.fit on one thread, which is k-means, the solve and the certificate; cpu_seconds is "
            "what other work on the machine does not stretch; solve is the solver's own share of seconds. peak_gb is that of "
            "the process, libraries and table included. accuracy: of the rows of training.",
            "quadratic: (gamma x . z + 1)^2, solved exactly in its 45 coordinates. rbf: the best combination of landmarks, so "
            "gap and verified are about these combinations; objective counts all rows. gamma is 'scale' for both.",
        ],
        not_measured=[
            "The RBF kernel without landmarks, whose kernel matrix has 3.5e9 entries at 59,535 rows; cod-rna itself."
        ],
    )


def simulated_table(count: int, random_state: int) -> tuple[FloatArray, AnyArray]:
    """Rows of two classes that overlap a little."""
    draw = np.random.default_rng(random_state)
    positive = draw.random(count) < POSITIVE_SHARE
    table = draw.normal(size=(count, N_COLUMNS))
    table[:, :N_SHIFTED] += SHIFT * np.where(positive, 1.0, -1.0)[:, None]
    return table, positive


def simulated_fit(kernel: str, landmarks: int | None, count: int, time_limit: float, random_state: int) -> dict[str, Cell]:
    """One fit in this process, which should be a fresh one: memory is counted from its start."""
    table, positive = simulated_table(count, random_state)
    model = ChanceConstrainedSVC(
        # As the paper's: COST for each of its eight batches on average, and columns as they are.
        C=COST * N_BATCHES / count,
        violation=VIOLATION,
        batches="clusters",
        standardize=False,
        kernel="poly" if kernel == "quadratic" else kernel,
        n_landmarks=landmarks,
        time_limit=time_limit,
        random_state=random_state,
    )
    with threadpool_limits(limits=1):
        start, worked = time.perf_counter(), time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", WeakModelWarning)
            model.fit(table, positive)
        seconds, worked = time.perf_counter() - start, time.process_time() - worked
    peak = peak_memory_bytes()
    return {
        "seconds": seconds,
        "cpu_seconds": worked,
        "solve": model.outcome_.seconds,
        "peak_gb": peak / GIGABYTE,
        "iterations": model.n_iter_,
        "objective": model.certificate_.upper_bound,
        "gap": model.certificate_.relative_gap,
        "verified": model.certificate_.verified,
        "accuracy": float(np.mean(model.predict(table) == positive)),
        "ended": model.outcome_.status.value,
    }


def _findings(rows: Sequence[dict[str, Cell]]) -> list[str]:
    """Slope of log CPU seconds over log rows between the ends, and the memory there."""
    lines = []
    for kernel in dict.fromkeys(row["kernel"] for row in rows):
        done = [row for row in rows if row["kernel"] == kernel and row["verified"]]
        if len(done) < 2:
            continue
        first, last = done[0], done[-1]
        work = np.log(float(last["cpu_seconds"] or 0) / float(first["cpu_seconds"] or 1))
        slope = work / np.log(float(last["rows"] or 0) / float(first["rows"] or 1))
        lines.append(
            f"{kernel}: {last['rows']} rows in {last['cpu_seconds']:.1f} CPU seconds and {last['peak_gb']:.2f} GB, certified "
            f"to {last['gap']:.1e}; from {first['rows']} rows on CPU seconds grow as rows^{slope:.2f}."
        )
    return lines
