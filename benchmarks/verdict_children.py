"""Trials in child processes, so that an abort of one is a finding and not the end of the campaign.

A child runs trials one after the other and sends each record as it comes. If it dies or hangs, the trial it was at is
noted as a crash or an overrun, and another child goes on with the next one.
"""

from __future__ import annotations

import importlib
import json
import multiprocessing
import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path

from verdict_record import CRASH, EXTREME, ORDINARY, OVERRUN, Record

# A trial takes some 20 ms; one that takes this long is not coming back.
PATIENCE = 120.0
BATCH = 200


@dataclass(frozen=True)
class Job:
    """One trial at a seed: "trial" of module ``verdict_<family>``, "tampering" or "balls"."""

    family: str
    function: str
    seed: int


def run_jobs(jobs: Sequence[Job], n_children: int, keep: Path | None, on_record: Callable[[Record], None]) -> list[Record]:
    """The records of all jobs, in any order.

    Parameters
    ----------
    jobs : sequence of Job
    n_children : int
        How many run at a time.
    keep : path or None
        Where each record is written as it comes, one line each, so that a run that was cut can go on.
    on_record : callable
    """
    batches = [list(jobs[at : at + BATCH]) for at in range(0, len(jobs), BATCH)]
    records: list[Record] = []
    lock = threading.Lock()

    def note(job: Job, record: Record) -> None:
        with lock:
            records.append(record)
            if keep is not None:
                with keep.open("a", encoding="utf-8") as file:
                    file.write(json.dumps({"function": job.function, **record.plain()}) + "\n")
            on_record(record)

    def work() -> None:
        while True:
            with lock:
                if not batches:
                    return
                batch = batches.pop(0)
            while batch:
                batch = _run_batch(batch, note)

    with ThreadPoolExecutor(max(1, n_children)) as pool:
        for ended in [pool.submit(work) for _ in range(max(1, n_children))]:
            ended.result()
    return records


def kept_records(path: Path) -> dict[tuple[str, str, int], Record]:
    """What an earlier run wrote, by family, function and seed."""
    found = {}
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        entry = json.loads(line)
        function = entry.pop("function")
        found[entry["family"], function, entry["seed"]] = Record(**entry)
    return found


def _run_batch(batch: list[Job], note: Callable[[Job, Record], None]) -> list[Job]:
    """Run trials in one child; return those that it did not come to."""
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=_child, args=(sender, batch), daemon=True)
    child.start()
    sender.close()
    done = 0
    try:
        for done, job in enumerate(batch):
            if not receiver.poll(PATIENCE if done else 2 * PATIENCE):
                note(job, _lost(job, OVERRUN, f"no answer within {PATIENCE:.0f} s"))
                return batch[done + 1 :]
            try:
                note(job, receiver.recv())
            except EOFError:
                child.join(10.0)
                note(job, _lost(job, CRASH, f"the process died with exit code {child.exitcode}"))
                return batch[done + 1 :]
        return []
    finally:
        if child.is_alive():
            child.kill()
        child.join()
        receiver.close()


def _lost(job: Job, kind: str, detail: str) -> Record:
    record = Record(job.family, job.seed, EXTREME if job.seed % 2 else ORDINARY)
    if job.function == "tampering":
        record.tampered = "unknown"
    record.balls = job.function == "balls"
    record.add(kind, detail)
    return record


def _child(sender: Connection, batch: Sequence[Job]) -> None:
    # An abort writes to the error stream, where its trace would drown everything else.
    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 2)
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=1):
        # Once for nothing: the first fit of a process imports what it needs, which is no overrun.
        run_job(batch[0])
        for job in batch:
            sender.send(run_job(job))
    sender.close()


def run_job(job: Job) -> Record:
    """One trial in this process; an error of the campaign itself is a crash too, so that it cannot be overlooked."""
    try:
        if job.function == "tampering":
            run = getattr(importlib.import_module("verdict_tampering"), f"tampered_{job.family}")
        elif job.function == "balls":
            run = partial(importlib.import_module("verdict_balls").compared, job.family)
        else:
            run = importlib.import_module(f"verdict_{job.family}").trial
        record: Record = run(job.seed)
    except Exception as error:
        record = _lost(job, CRASH, f"the trial itself: {type(error).__name__}: {error}")
    return record
