"""A table that is read from a Parquet file in batches: seconds, peak memory, certified gap."""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from machine import available_cores, peak_memory_bytes
from measure import in_child, say
from tables import Report, Table

from surefoot.design.read.parquet import open_parquet

DESCRIPTION = "10^7 rows x 20 numeric columns from a Parquet file: seconds, peak memory, certified gap"
ROWS = (1_000_000, 10_000_000)
QUICK_ROWS = (100_000,)
N_COLUMNS = 20
WRITTEN_ROWS = 100_000
GIGABYTE = 1e9


@dataclass(frozen=True)
class StreamedFit:
    """One fit in a process of its own; memory in gigabytes of 10^9 bytes."""

    N: int
    kappa: float
    seconds: float
    passes: int
    reading: float
    iterations: int
    objective: float
    gap: float
    verified: bool
    file_gb: float
    base_gb: float
    peak_gb: float


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--rows", nargs="+", type=int, help=f"numbers of rows (default: {ROWS})")
    parser.add_argument("--radius", type=float, default=0.1, help="radius of the ball")
    parser.add_argument("--label-weights", nargs="+", type=float, default=[1.0, float("inf")], help="prices of a label flip")
    parser.add_argument("--tolerance", type=float, default=1e-6, help="relative gap to reach and to certify")
    parser.add_argument("--threads", type=int, default=min(2, available_cores()), help="threads allowed to the solver")
    parser.add_argument("--random-state", type=int, default=0)


def run(options: argparse.Namespace) -> Report:
    """Write the files, measure, and say what was found."""
    fits: list[StreamedFit] = []
    lost: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        for rows in sorted(options.rows or (QUICK_ROWS if options.quick else ROWS)):
            path = Path(folder) / f"{rows}.parquet"
            say(f"writing {rows} rows")
            write_table(path, rows, options.random_state)
            for kappa in options.label_weights:
                say(f"{rows} rows, label weight {kappa}")
                answer = in_child(measure_fit, path, rows, kappa, options)
                if isinstance(answer, str):
                    lost.append(f"{rows} rows, label weight {kappa}: {answer}.")
                else:
                    fits.append(answer)
            path.unlink()
    return Report(
        name="streamed",
        title="Robust logistic regression on tables that are read in batches",
        tables=[Table("streamed", "Seconds and peak memory of a whole fit", [asdict(fit) for fit in fits])],
        findings=[
            f"{fit.N} rows, label weight {fit.kappa}: {fit.seconds:.0f} s ({fit.passes} passes, {100 * fit.reading:.0f} % of "
            f"the time decoding the file), peak {fit.peak_gb:.2f} GB (of which {fit.base_gb:.2f} GB before the fit), "
            f"certified gap {fit.gap:.1e}{'' if fit.verified else ', NOT verified'}."
            for fit in fits
        ],
        method=[
            f"{N_COLUMNS} standard normal columns; coefficients 2 N(0, I) / sqrt(columns), labels from the logistic model, "
            f"written {WRITTEN_ROWS} rows at a time, one row group each.",
            f"RobustLogisticRegression(radius={options.radius:g}, numeric_weights=1.0, tol={options.tolerance:g}) without an "
            f"intercept; {options.threads} threads; seed {options.random_state}. seconds: the whole of the fit, "
            "certificate included, in a fresh process; passes: how often the file was read; reading: the share of the seconds "
            "spent on decoding it; base_gb: peak resident memory with libraries loaded, before the fit.",
        ],
        not_measured=[
            *lost,
            "Writing the file; reading from a slow disk (the file may be in the page cache); variation between runs.",
        ],
    )


def write_table(path: Path, rows: int, random_state: int) -> None:
    """A Parquet file with columns x0, x1, ... and label, written without ever holding all of it."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    draw = np.random.default_rng(random_state)
    slopes = 2.0 * draw.normal(size=N_COLUMNS) / np.sqrt(N_COLUMNS)
    schema = pa.schema([*((f"x{at}", pa.float64()) for at in range(N_COLUMNS)), ("label", pa.int8())])
    with pq.ParquetWriter(path, schema) as writer:
        for start in range(0, rows, WRITTEN_ROWS):
            X = draw.normal(size=(min(WRITTEN_ROWS, rows - start), N_COLUMNS))
            y = (draw.random(len(X)) < 1.0 / (1.0 + np.exp(-X @ slopes))).astype(np.int8)
            writer.write_table(pa.table([*map(pa.array, X.T), pa.array(y)], schema=schema))


class TimedBatches:
    """The batches of a Parquet file, and how long it took to read them."""

    def __init__(self, path: Path) -> None:
        self.source = open_parquet(path, "label", None)
        self.passes = 0
        self.seconds = 0.0

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        self.passes += 1
        batches = iter(self.source)
        while True:
            start = time.perf_counter()
            batch = next(batches, None)
            self.seconds += time.perf_counter() - start
            if batch is None:
                return
            yield batch


def measure_fit(path: Path, rows: int, kappa: float, options: argparse.Namespace) -> StreamedFit:
    """One fit, in the process that calls."""
    import pyarrow.parquet  # noqa: F401  loaded before the clock starts and the base is taken

    import surefoot as sf

    base = peak_memory_bytes()
    model = sf.RobustLogisticRegression(
        radius=options.radius,
        numeric_weights=1.0,
        label_weight=kappa,
        fit_intercept=False,
        tol=options.tolerance,
        n_jobs=options.threads,
    )
    batches = TimedBatches(path)
    start = time.perf_counter()
    # joblib grants a child of multiprocessing one process; the solver's threads are none.
    with joblib.parallel_config(backend="threading"):
        model.fit(batches)
    seconds = time.perf_counter() - start
    proof = model.certificate_
    return StreamedFit(
        N=rows,
        kappa=kappa,
        seconds=seconds,
        passes=batches.passes,
        reading=batches.seconds / seconds,
        iterations=model.n_iter_,
        objective=proof.upper_bound,
        gap=proof.relative_gap,
        verified=proof.verified,
        file_gb=path.stat().st_size / GIGABYTE,
        base_gb=base / GIGABYTE,
        peak_gb=peak_memory_bytes() / GIGABYTE,
    )
