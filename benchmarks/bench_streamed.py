"""A table that is read from a Parquet file in batches: seconds, peak memory, certified gap."""

from __future__ import annotations

import argparse
import multiprocessing
import tempfile
import time
from dataclasses import asdict, dataclass
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np
from machine import available_cores, peak_memory_bytes
from measure import say
from tables import Report, Table

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
    fits = []
    with tempfile.TemporaryDirectory() as folder:
        for rows in sorted(options.rows or (QUICK_ROWS if options.quick else ROWS)):
            path = Path(folder) / f"{rows}.parquet"
            say(f"writing {rows} rows")
            write_table(path, rows, options.random_state)
            for kappa in options.label_weights:
                say(f"{rows} rows, label weight {kappa}")
                fits.append(_fit_in_child(path, rows, kappa, options))
            path.unlink()
    return Report(
        name="streamed",
        title="Robust logistic regression on tables that are read in batches",
        tables=[Table("streamed", "Seconds and peak memory of a whole fit", [asdict(fit) for fit in fits])],
        findings=[
            f"{fit.N} rows, label weight {fit.kappa}: {fit.seconds:.0f} s, peak {fit.peak_gb:.2f} GB (of which "
            f"{fit.base_gb:.2f} GB before the fit), certified gap {fit.gap:.1e}{'' if fit.verified else ', NOT verified'}."
            for fit in fits
        ],
        method=[
            f"{N_COLUMNS} standard normal columns; coefficients 2 N(0, I) / sqrt(columns), labels from the logistic model, "
            f"written {WRITTEN_ROWS} rows at a time, one row group each.",
            f"RobustLogisticRegression(radius={options.radius:g}, numeric_weights=1.0, tol={options.tolerance:g}) without an "
            f"intercept; {options.threads} threads; seed {options.random_state}. seconds: the whole of fit(path, y), "
            "certificate included, in a fresh process; base_gb: peak resident memory with libraries loaded, before the fit.",
        ],
        not_measured=[
            "Writing the file; reading from a slow disk (the file may be in the page cache); variation between runs."
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


def _fit_in_child(path: Path, rows: int, kappa: float, options: argparse.Namespace) -> StreamedFit:
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=_measure_and_send, args=(sender, path, rows, kappa, options))
    child.start()
    sender.close()
    try:
        fit: StreamedFit = receiver.recv()
    except EOFError as error:
        child.join()
        raise RuntimeError(f"the process that fits {rows} rows ended with exit code {child.exitcode} and no answer.") from error
    finally:
        receiver.close()
    child.join()
    return fit


def _measure_and_send(sender: Connection, path: Path, rows: int, kappa: float, options: argparse.Namespace) -> None:
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
    start = time.perf_counter()
    model.fit(path, y="label")
    seconds = time.perf_counter() - start
    proof = model.certificate_
    sender.send(
        StreamedFit(
            N=rows,
            kappa=kappa,
            seconds=seconds,
            iterations=model.n_iter_,
            objective=proof.upper_bound,
            gap=proof.relative_gap,
            verified=proof.verified,
            file_gb=path.stat().st_size / GIGABYTE,
            base_gb=base / GIGABYTE,
            peak_gb=peak_memory_bytes() / GIGABYTE,
        )
    )
