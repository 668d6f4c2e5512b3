"""Rows in the partitions of a Dask cluster: what a question costs beside the work on the rows, and what travels."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from machine import available_cores
from measure import say
from tables import Report, Table

import surefoot as sf
from surefoot.design.read.dask_partitions import ClusterPartitions
from surefoot.robust.streaming.partitioned_rows import evaluate

DESCRIPTION = "tables in the partitions of a local cluster: seconds, overhead per step, bytes on the wire"
ROWS, PARTITIONS, CATEGORIES = (10_000, 1_000_000), (2, 8, 32), (0, 4)
QUICK_ROWS, QUICK_PARTITIONS = (4_000,), (2, 4)
N_COLUMNS = 20
LEVELS = ("a", "b", "c", "d")
RADIUS = 0.02


@dataclass(frozen=True)
class DaskFit:
    """One fit on the cluster, and the same in memory; overheads are those of the solver's questions."""

    N: int
    categories: int
    partitions: int
    memory_seconds: float
    dask_seconds: float
    iterations: int
    steps: int
    questions: int
    solver_questions: int
    overhead_ms_per_question: float
    overhead_ms_per_step: float
    kilobytes_per_step: float
    share_of_rows_sent: float
    largest_difference: float
    gap: float
    verified: bool


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--rows", nargs="+", type=int, help=f"numbers of rows (default: {ROWS})")
    parser.add_argument("--partitions", nargs="+", type=int, help=f"numbers of partitions (default: {PARTITIONS})")
    parser.add_argument("--categories", nargs="+", type=int, default=CATEGORIES, help="numbers of categorical columns")
    parser.add_argument("--workers", type=int, default=min(2, available_cores()), help="processes of the cluster")
    parser.add_argument("--tolerance", type=float, default=1e-6, help="relative gap to reach and to certify")
    parser.add_argument("--random-state", type=int, default=0)


def run(options: argparse.Namespace) -> Report:
    """Measure, and say what was found."""
    from distributed import Client, LocalCluster

    rows = sorted(options.rows or (QUICK_ROWS if options.quick else ROWS))
    partitions = sorted(options.partitions or (QUICK_PARTITIONS if options.quick else PARTITIONS))
    fits = []
    with (
        LocalCluster(n_workers=options.workers, threads_per_worker=1, processes=True, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        for n_rows in rows:
            for n_categories in options.categories:
                for count in partitions:
                    say(f"{n_rows} rows, {n_categories} categories, {count} partitions")
                    fits.append(measure_fit(client, n_rows, n_categories, count, options))
    per_step = [fit.overhead_ms_per_step for fit in fits]
    return Report(
        name="dask",
        title="Robust logistic regression on a Dask cluster",
        tables=[Table("dask", "Seconds, overhead and bytes of a whole fit", [asdict(fit) for fit in fits])],
        findings=[
            f"Overhead per step: {min(per_step):.0f} to {max(per_step):.0f} ms, "
            f"{min(fit.overhead_ms_per_question for fit in fits):.0f} to "
            f"{max(fit.overhead_ms_per_question for fit in fits):.0f} ms per question.",
            *(
                f"{fit.N} rows, {fit.categories} categories, {fit.partitions} partitions: {fit.dask_seconds:.1f} s "
                f"({fit.memory_seconds:.1f} s in memory on one thread), {fit.kilobytes_per_step:.0f} kB per step, in "
                f"all {fit.share_of_rows_sent:.1%} of the bytes of the rows."
                for fit in fits
                if max(rows) == fit.N
            ),
            f"Certified: {sum(fit.verified for fit in fits)} of {len(fits)} fits; coefficients differ from those in memory by "
            f"{max(fit.largest_difference for fit in fits):.1e} at most.",
        ],
        method=[
            f"{N_COLUMNS} standard normal columns and so many categories of {len(LEVELS)} levels, drawn on the workers and "
            f"persisted there; labels from a logistic model; seed {options.random_state}. RobustLogisticRegression(radius="
            f"{RADIUS:g}, tol={options.tolerance:g}), one thread. {options.workers} worker processes of one thread and the "
            "scheduler on one machine.",
            "dask_seconds and memory_seconds: the whole of fit, certificate included, after a small fit that loads the "
            "libraries. A question is one piece of work brought to all partitions: several to learn the table and to "
            "certify it, two to five per step of the solver. Steps are its iterations and those before and after, on a sample "
            "and to polish the coefficients. The overhead of a question is its time at the client less the time that the "
            "busiest worker spent on rows. "
            "kilobytes: all that any process of the cluster wrote to a socket, "
            "in the whole fit, counted at every hop (client, scheduler, worker), heartbeats included.",
        ],
        not_measured=["Networks: all processes share one machine, and its cores. Reading the rows. Variation between runs."],
    )


def drawn(number: int, n_rows: int, n_categories: int, random_state: int) -> pd.DataFrame:
    """One partition."""
    shared, own = np.random.default_rng(random_state), np.random.default_rng([random_state, number])
    slopes = 2.0 * shared.normal(size=N_COLUMNS) / np.sqrt(N_COLUMNS)
    effects = shared.normal(size=(n_categories, len(LEVELS)))
    X = own.normal(size=(n_rows, N_COLUMNS))
    codes = own.integers(0, len(LEVELS), size=(n_rows, n_categories))
    table = pd.DataFrame(X, columns=[f"x{at}" for at in range(N_COLUMNS)])
    for l in range(n_categories):
        table[f"z{l}"] = pd.Categorical.from_codes(codes[:, l], LEVELS)
    scores = X @ slopes + effects[np.arange(n_categories), codes].sum(axis=1)
    return table.assign(label=(scores + own.logistic(size=n_rows) > 0).astype(np.int8))


def measure_fit(client: Any, n_rows: int, n_categories: int, n_partitions: int, options: argparse.Namespace) -> DaskFit:
    """Fit on the cluster and in memory."""
    import dask.dataframe as dd
    from distributed import wait

    def table(rows: int) -> Any:
        sizes = [rows // n_partitions] * n_partitions
        made = dd.from_map(drawn, range(n_partitions), sizes, n_categories=n_categories, random_state=options.random_state)
        made = made.persist()
        wait(made)
        return made

    def model() -> sf.RobustLogisticRegression:
        return sf.RobustLogisticRegression(radius=RADIUS, tol=options.tolerance)

    model().fit(table(40 * n_partitions), "label")
    rows = table(n_rows)
    with _watched(client) as watch:
        start = time.perf_counter()
        on_dask = model().fit(rows, "label")
        dask_seconds = time.perf_counter() - start
    whole = rows.compute()
    start = time.perf_counter()
    in_memory = model().fit(whole.drop(columns="label"), whole["label"])
    memory_seconds = time.perf_counter() - start
    return DaskFit(
        N=len(whole),
        categories=n_categories,
        partitions=n_partitions,
        memory_seconds=memory_seconds,
        dask_seconds=dask_seconds,
        iterations=on_dask.n_iter_,
        steps=watch.steps,
        questions=watch.questions,
        solver_questions=len(watch.overheads),
        overhead_ms_per_question=1e3 * float(np.mean(watch.overheads)),
        overhead_ms_per_step=1e3 * float(np.sum(watch.overheads)) / watch.steps,
        kilobytes_per_step=1e-3 * watch.bytes / watch.steps,
        share_of_rows_sent=watch.bytes / (len(whole) * (8 * N_COLUMNS + 4 * n_categories + 8)),
        largest_difference=float(np.abs(on_dask.coef_ - in_memory.coef_).max()),
        gap=on_dask.certificate_.relative_gap,
        verified=on_dask.certificate_.verified,
    )


@dataclass
class Watch:
    """Numbers of questions and steps, seconds of overhead of each question of the solver, bytes written by all processes."""

    questions: int = 0
    steps: int = 0
    overheads: list[float] = field(default_factory=list)
    bytes: int = 0


@contextmanager
def _watched(client: Any) -> Iterator[Watch]:
    watch = Watch()
    original = ClusterPartitions.each

    def each(self: ClusterPartitions, work: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        start = time.perf_counter()
        timed = original(self, timed_work, [(work, *given) for given in arguments])
        elapsed = time.perf_counter() - start
        busy = {home: 0.0 for home in self.homes}
        for home, (_, seconds) in zip(self.homes, timed, strict=True):
            busy[home] += seconds
        watch.questions += 1
        if work is evaluate:
            watch.steps += arguments[0][0] == "row_model"
            watch.overheads.append(elapsed - max(busy.values()))
        return [answer for answer, _ in timed]

    before = written_everywhere(client)
    ClusterPartitions.each = each  # type: ignore[assignment, method-assign]
    try:
        yield watch
    finally:
        ClusterPartitions.each = original  # type: ignore[method-assign]
    watch.bytes = written_everywhere(client) - before


def timed_work(state: Any, work: Callable[..., Any], *arguments: Any) -> tuple[Any, float]:
    """The answer of a partition, and its seconds."""
    start = time.perf_counter()
    answer = work(state, *arguments)
    return answer, time.perf_counter() - start


def written_everywhere(client: Any) -> int:
    return written_here() + sum(client.run(written_here).values())


def written_here() -> int:
    """Bytes that this process has written to sockets since it was first asked."""
    from distributed.comm.tcp import TCP

    if not hasattr(TCP, "written"):
        TCP.written, original = 0, TCP.write

        async def write(self: Any, *arguments: Any, **given: Any) -> int:
            size: int = await original(self, *arguments, **given)
            TCP.written += size
            return size

        TCP.write = write
    return int(TCP.written)
